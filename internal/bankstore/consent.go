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

// ConsentTimes returns the time at which the user agreed to share each account of a connection. It
// leaves out accounts that are not shared now.
func (r Reader) ConsentTimes(ctx context.Context, domain passerelle.DomainID, connection passerelle.ConnectionID) (map[passerelle.AccountID]time.Time, error) {
	type consent struct {
		account passerelle.AccountID
		granted int64
	}
	all, err := database.Collect(ctx, r.rows, func(row database.Row) (consent, error) {
		var c consent
		err := row.Scan(&c.account, &c.granted)
		return c, err
	},
		`SELECT account_id, max(given) FROM consent WHERE +domain_id = $1 AND connection_id = $2 AND account_id IS NOT NULL AND withdrawn IS NULL GROUP BY account_id`,
		int64(domain), int64(connection))
	granted := map[passerelle.AccountID]time.Time{}
	for _, c := range all {
		granted[c.account] = database.Instant(c.granted)
	}
	return granted, err
}
