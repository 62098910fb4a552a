package store

import (
	"context"
	"time"

	"passerelle"
)

// Consent is what a person agreed to share, in which words and where.
type Consent struct {
	ID           int64
	User         passerelle.UserID
	Connection   passerelle.ConnectionID
	Account      passerelle.AccountID
	Subscription passerelle.SubscriptionID
	TextVersion  string
	Origin       string
	Given        time.Time
	Withdrawn    *time.Time
}

// RecordConsent stores a consent.
func (tx *Tx) RecordConsent(domain passerelle.DomainID, c Consent) error {
	id, err := tx.newID("consent")
	if err != nil {
		return err
	}
	tx.execOne(ErrConflict, `INSERT INTO consent (id, domain_id, user_id, connection_id, account_id, subscription_id, text_version, origin, given)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		id, int64(domain), int64(c.User), int64(c.Connection), optionalID(c.Account), optionalID(c.Subscription), c.TextVersion, c.Origin, micros(c.Given))
	return nil
}

// WithdrawConsent ends the consent to share an account.
func (tx *Tx) WithdrawConsent(domain passerelle.DomainID, account passerelle.AccountID, now time.Time) {
	tx.exec(`UPDATE consent SET withdrawn = $1 WHERE domain_id = $2 AND account_id = $3 AND withdrawn IS NULL`, micros(now), int64(domain), int64(account))
}

func scanConsent(row scanner) (Consent, error) {
	var (
		c                     Consent
		account, subscription *int64
		given                 int64
		withdrawn             *int64
	)
	err := row.Scan(&c.ID, &c.User, &c.Connection, &account, &subscription, &c.TextVersion, &c.Origin, &given, &withdrawn)
	c.Account, c.Subscription = owner[passerelle.AccountID](account), owner[passerelle.SubscriptionID](subscription)
	c.Given, c.Withdrawn = instant(given), optionalInstant(withdrawn)
	return c, err
}

// Consents lists what a user agreed to, oldest first.
func (r *Reader) Consents(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, w Window) ([]Consent, error) {
	p := idPlace(w)
	return collect(ctx, r, scanConsent, `SELECT id, user_id, connection_id, account_id, subscription_id, text_version, origin, given, withdrawn FROM consent
		WHERE domain_id = $1 AND user_id = $2 AND id `+p.sign+` $3 ORDER BY id `+p.order+` LIMIT $4 OFFSET $5`, int64(domain), int64(user), p.from, w.Limit, w.Offset)
}

// ReadSoon has a connection read in the background at the next occasion, on
// behalf of its person, unless it waits for them.
func (tx *Tx) ReadSoon(domain passerelle.DomainID, id passerelle.ConnectionID, now time.Time) {
	tx.exec(`UPDATE connection SET next_try = $1, read_soon = TRUE WHERE domain_id = $2 AND id = $3 AND active AND state IS NULL AND deleted IS NULL`, micros(now), int64(domain), int64(id))
}
