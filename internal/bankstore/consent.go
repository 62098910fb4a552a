package bankstore

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// Consent is a consent of a user. It includes the version of the text to which the user agreed, and
// the place where the user agreed.
type Consent struct {
	ID           int64
	User         passerelle.UserID
	Connection   passerelle.ConnectionID
	Account      passerelle.AccountID
	Subscription passerelle.SubscriptionID
	TextVersion  string
	Origin       string
	Granted      time.Time
	Withdrawn    *time.Time
}

// RecordConsent stores a consent.
func (tx Tx) RecordConsent(domain passerelle.DomainID, c Consent) error {
	id, err := tx.unit.NewID("consent")
	if err != nil {
		return err
	}
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO consent (id, domain_id, user_id, connection_id, account_id, subscription_id, text_version, origin, given)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		id, int64(domain), int64(c.User), int64(c.Connection), database.OptionalID(c.Account), database.OptionalID(c.Subscription), c.TextVersion, c.Origin, database.Micros(c.Granted))
	return nil
}

// WithdrawConsent ends the consent to share an account.
func (tx Tx) WithdrawConsent(domain passerelle.DomainID, account passerelle.AccountID, now time.Time) {
	tx.unit.Exec(`UPDATE consent SET withdrawn = $1 WHERE +domain_id = $2 AND account_id = $3 AND withdrawn IS NULL`, database.Micros(now), int64(domain), int64(account))
}

func scanConsent(row database.Row) (Consent, error) {
	var (
		c                     Consent
		account, subscription *int64
		granted               int64
		withdrawn             *int64
	)
	err := row.Scan(&c.ID, &c.User, &c.Connection, &account, &subscription, &c.TextVersion, &c.Origin, &granted, &withdrawn)
	c.Account, c.Subscription = database.ID[passerelle.AccountID](account), database.ID[passerelle.SubscriptionID](subscription)
	c.Granted, c.Withdrawn = database.Instant(granted), database.OptionalInstant(withdrawn)
	return c, err
}

// ConsentFilter selects the consents of a user, including withdrawn consents. User is required: the
// filter selects nothing without it.
type ConsentFilter struct {
	Domain passerelle.DomainID
	User   passerelle.UserID
}

func (f ConsentFilter) selection() database.Selection {
	return database.Selection{From: "consent"}.And("domain_id = $%d", int64(f.Domain)).And("user_id = $%d", int64(f.User))
}

// Consents reads a window of a user's consents, the newest first. A position consists of the
// instant and the id.
func (r Reader) Consents(ctx context.Context, f ConsentFilter, w store.Window) ([]Consent, error) {
	sql, args := f.selection().Newest(`id, user_id, connection_id, account_id, subscription_id, text_version, origin, given, withdrawn`, "given", "id", w)
	return database.Collect(ctx, r.rows, scanConsent, sql, args...)
}

// CountConsents returns the exact number of consents that a filter selects.
func (r Reader) CountConsents(ctx context.Context, f ConsentFilter) (int64, error) {
	return f.selection().Count(ctx, r.rows)
}

// Place returns the position of a consent in the list.
func (c Consent) Place() []any { return []any{database.Micros(c.Granted), c.ID} }

// HastenRead makes a healthy connection due at the instant now. If the user is at the institution,
// the connection is due at the instant later. It does not change a connection that is due earlier,
// inactive or in a different state.
func (tx Tx) HastenRead(domain passerelle.DomainID, id passerelle.ConnectionID, now, later time.Time) {
	for states, at := range map[string]time.Time{"state IS NULL": now, "state IN ('webauthRequired', 'decoupled')": later} {
		tx.unit.Exec(`UPDATE connection SET next_try = $1 WHERE +domain_id = $2 AND id = $3 AND active AND (next_try IS NULL OR next_try > $1) AND `+database.Opaque(states+" AND deleted IS NULL"), database.Micros(at), int64(domain), int64(id))
	}
}

// ReadSoon makes the service read a connection soon, in the background, on behalf of its user. It
// does nothing when the connection is inactive or has a state.
func (tx Tx) ReadSoon(domain passerelle.DomainID, id passerelle.ConnectionID, now time.Time) {
	tx.unit.Exec(`UPDATE connection SET next_try = $1, read_soon = TRUE WHERE +domain_id = $2 AND id = $3 AND active AND `+database.Opaque("state IS NULL AND deleted IS NULL"), database.Micros(now), int64(domain), int64(id))
}
