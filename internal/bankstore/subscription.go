package bankstore

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// StoredSubscription is a subscription with its counters and state in the store.
type StoredSubscription struct {
	passerelle.Subscription
	Digest    int64
	Documents int64
	Changed   int64
	// Readings counts the complete reads of the subscription's documents, like the field Readings
	// of StoredAccount.
	Readings int64
}

// NextReading returns the number of the next complete read of the subscription. A document that a
// sync changes gets this number.
func (s StoredSubscription) NextReading() int64 { return s.Readings + 1 }

const subscriptionColumns = `s.id, s.user_id, s.connection_id, s.source_id, s.key, s.details, s.digest, s.disabled, s.deleted, s.last_update, s.error, s.epoch, s.readings, s.documents, s.changed`

func scanSubscription(row database.Row) (StoredSubscription, error) {
	var (
		s                         StoredSubscription
		key, details              string
		source                    *int64
		disabled, deleted, update *int64
		state                     *string
	)
	err := row.Scan(&s.ID, &s.User, &s.Connection, &source, &key, &details, &s.Digest, &disabled, &deleted, &update, &state, &s.Epoch, &s.Readings, &s.Documents, &s.Changed)
	if err != nil {
		return s, err
	}
	if err := decodeDetails(details, &s.SubscriptionDetails); err != nil {
		return s, fmt.Errorf("read the details of subscription %d: %w", s.ID, err)
	}
	s.Key, s.Source, s.Error = key, database.ID[passerelle.SourceID](source), database.Text[passerelle.ConnectionState](state)
	s.Disabled, s.Deleted, s.LastUpdate = database.OptionalInstant(disabled), database.OptionalInstant(deleted), database.OptionalInstant(update)
	return s, nil
}

// SubscriptionFilter selects subscriptions of a user. User is required: the filter selects nothing
// without it.
type SubscriptionFilter struct {
	Domain     passerelle.DomainID
	User       passerelle.UserID
	Connection passerelle.ConnectionID // zero for all
	// Connections selects several connections. Nil means all.
	Connections []passerelle.ConnectionID
	IDs         []passerelle.SubscriptionID // nil for all
	// Disabled includes disabled subscriptions. All also includes deleted subscriptions.
	Disabled, All bool
}

func (f SubscriptionFilter) where(c *database.Clauses) {
	if f.Connection == 0 {
		c.And("s.domain_id = %s AND s.user_id = %s", int64(f.Domain), int64(f.User))
	} else { // without +, SQLite can read all subscriptions of the user
		c.And("s.connection_id = %s AND +s.domain_id = %s AND +s.user_id = %s", int64(f.Connection), int64(f.Domain), int64(f.User))
	}
	c.And(standing("s.connection_id"))
	if !f.Disabled && !f.All {
		c.And("s.disabled IS NULL")
	}
	if !f.All {
		c.And("s.deleted IS NULL")
	}
	if f.Connections != nil {
		c.All = append(c.All, "s.connection_id IN ("+database.AnyOf(c, f.Connections)+")")
	}
	if f.IDs != nil {
		c.All = append(c.All, "s.id IN ("+database.AnyOf(c, f.IDs)+")")
	}
}

// Subscriptions lists subscriptions, ordered by id.
func (r Reader) Subscriptions(ctx context.Context, f SubscriptionFilter, w store.Window) ([]StoredSubscription, error) {
	var c database.Clauses
	f.where(&c)
	p := w.ByID()
	c.And("s.id "+p.Sign+" %s", p.From)
	return database.Collect(ctx, r.rows, scanSubscription, fmt.Sprintf(`SELECT %s FROM subscription s WHERE %s ORDER BY s.id %s LIMIT %s OFFSET %s`,
		subscriptionColumns, c.String(), p.Order, c.Bind(w.Limit), c.Bind(w.Offset)), c.Args...)
}

// CountSubscriptions returns the number of subscriptions that a filter selects.
func (r Reader) CountSubscriptions(ctx context.Context, f SubscriptionFilter) (int64, error) {
	var c database.Clauses
	f.where(&c)
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM subscription s WHERE `+c.String(), c.Args...)
}

// SubscriptionsOf lists all subscriptions of a connection, including disabled and deleted
// subscriptions.
func (r Reader) SubscriptionsOf(ctx context.Context, domain passerelle.DomainID, connection passerelle.ConnectionID) ([]StoredSubscription, error) {
	return database.Collect(ctx, r.rows, scanSubscription, `SELECT `+subscriptionColumns+` FROM subscription s WHERE s.domain_id = $1 AND s.connection_id = $2 ORDER BY s.id`,
		int64(domain), int64(connection))
}

// NewSubscriptionID reserves the id of a new subscription.
func NewSubscriptionID(ctx context.Context, db *store.DB) (passerelle.SubscriptionID, error) {
	var id passerelle.SubscriptionID
	err := db.Write(ctx, func(tx *store.Tx) error {
		next, err := tx.Unit().NewID("subscription")
		id = passerelle.SubscriptionID(next)
		return err
	})
	return id, err
}

// CreateSubscription stores a newly found subscription under its reserved id.
func (tx Tx) CreateSubscription(domain passerelle.DomainID, s *StoredSubscription) error {
	details, err := EncodeDetails(s.SubscriptionDetails)
	if err != nil {
		return err
	}
	s.Digest = details.Digest
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO subscription (id, domain_id, user_id, connection_id, source_id, key, details, digest, disabled, last_update, changed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		int64(s.ID), int64(domain), int64(s.User), int64(s.Connection), database.OptionalID(s.Source), s.Key, details.text, details.Digest, database.OptionalMicros(s.Disabled), database.OptionalMicros(s.LastUpdate), s.Changed)
	return nil
}

// UpdateSubscription stores a provider's new details of a subscription.
func (tx Tx) UpdateSubscription(domain passerelle.DomainID, s *StoredSubscription) error {
	details, err := EncodeDetails(s.SubscriptionDetails)
	if err != nil {
		return err
	}
	s.Digest = details.Digest
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE subscription SET details = $1, digest = $2, deleted = $3, last_update = $4, changed = $5 WHERE +domain_id = $6 AND id = $7`,
		details.text, details.Digest, database.OptionalMicros(s.Deleted), database.OptionalMicros(s.LastUpdate), s.Changed, int64(domain), int64(s.ID))
	return nil
}

// TouchSubscription records that a subscription was read completely.
func (tx Tx) TouchSubscription(domain passerelle.DomainID, id passerelle.SubscriptionID, at time.Time) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE subscription SET last_update = $1, error = NULL WHERE +domain_id = $2 AND id = $3`, database.Micros(at), int64(domain), int64(id))
}

// EnableSubscription records that the user shares a subscription. Write fails with ErrConflict
// when the subscription is already enabled.
func (tx Tx) EnableSubscription(domain passerelle.DomainID, user passerelle.UserID, id passerelle.SubscriptionID) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE subscription SET disabled = NULL WHERE +domain_id = $1 AND +user_id = $2 AND id = $3 AND disabled IS NOT NULL`,
		int64(domain), int64(user), int64(id))
}

// DisableSubscriptions records that the user stops sharing subscriptions of a connection. It hides
// the documents immediately. EraseWithdrawn then erases the documents in small steps. Write fails
// with ErrConflict when one of the subscriptions is already disabled.
func (tx Tx) DisableSubscriptions(domain passerelle.DomainID, user passerelle.UserID, now time.Time, all ...StoredSubscription) {
	gone := make([]withdrawal, len(all))
	for i, s := range all {
		tx.unit.ExecOne(store.ErrConflict, `UPDATE subscription SET disabled = $1, error = NULL, epoch = epoch + 1, documents = 0 WHERE +domain_id = $2 AND +user_id = $3 AND id = $4 AND disabled IS NULL`,
			database.Micros(now), int64(domain), int64(user), int64(s.ID))
		gone[i] = withdrawal{domain: int64(domain), user: int64(user), kind: "subscription", subject: int64(s.ID), epoch: &s.Epoch, at: database.Micros(now)}
		tx.unit.Exec(`UPDATE consent SET withdrawn = $1 WHERE +domain_id = $2 AND subscription_id = $3 AND withdrawn IS NULL`, database.Micros(now), int64(domain), int64(s.ID))
	}
	tx.withdrawAll(gone)
}
