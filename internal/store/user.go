package store

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

const userColumns = `id, domain_id, platform, created, permanent, expires, version`

func scanUser(row database.Row) (passerelle.User, error) {
	var (
		u                  passerelle.User
		created            int64
		permanent, expires *int64
	)
	err := row.Scan(&u.ID, &u.Domain, &u.Platform, &created, &permanent, &expires, &u.Version)
	u.Created, u.Permanent, u.Expires = database.Instant(created), database.OptionalInstant(permanent), database.OptionalInstant(expires)
	return u, err
}

// User loads a permanent or temporary user. It fails with ErrNotFound when the user does not exist.
func (r *Reader) User(ctx context.Context, domain passerelle.DomainID, id passerelle.UserID) (passerelle.User, error) {
	return database.One(ctx, r.rows, scanUser, `SELECT `+userColumns+` FROM end_user WHERE +domain_id = $1 AND id = $2`, int64(domain), int64(id))
}

// UserWindow selects part of the list of users: the users after From, or the users before From if
// Backward is set. The users nearest to From come first.
type UserWindow struct {
	Limit    int
	Offset   int64
	From     passerelle.UserID
	Backward bool
}

// Users lists the users of a domain by id.
func (r *Reader) Users(ctx context.Context, domain passerelle.DomainID, w UserWindow) ([]passerelle.User, error) {
	beyond := `id > $2 ORDER BY id`
	if w.Backward {
		beyond = `id < $2 ORDER BY id DESC`
	}
	return database.Collect(ctx, r.rows, scanUser, `SELECT `+userColumns+` FROM end_user WHERE domain_id = $1 AND `+beyond+` LIMIT $3 OFFSET $4`,
		int64(domain), int64(w.From), w.Limit, w.Offset)
}

// CountUsers returns the number of users of a domain.
func (r *Reader) CountUsers(ctx context.Context, domain passerelle.DomainID) (int64, error) {
	return r.rows.Total(ctx, int64(domain), countedUsers)
}

const countedUsers = "user"

// ExpiredUsers lists the temporary users of a domain who have expired by the instant `before`, in
// real time. It leaves out the first `skip` users and returns at most `limit` users.
func (r *Reader) ExpiredUsers(ctx context.Context, domain passerelle.DomainID, before time.Time, skip, limit int) ([]passerelle.User, error) {
	return database.Collect(ctx, r.rows, scanUser, `SELECT `+userColumns+` FROM end_user WHERE domain_id = $1 AND expires <= $2 ORDER BY expires LIMIT $3 OFFSET $4`,
		int64(domain), database.Micros(before), limit, skip)
}

// CreateUser stores a user and sets the user's id.
func (tx *Tx) CreateUser(u *passerelle.User) error {
	id, err := tx.unit.NewID("end_user")
	if err != nil {
		return err
	}
	u.ID = passerelle.UserID(id)
	tx.unit.ExecOne(ErrConflict, `INSERT INTO end_user (id, domain_id, platform, created, permanent, expires, version) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		id, int64(u.Domain), string(u.Platform), database.Micros(u.Created), database.OptionalMicros(u.Permanent), database.OptionalMicros(u.Expires), u.Version)
	tx.unit.Count(int64(u.Domain), countedUsers, id, 1)
	return nil
}

// KeepUser makes a temporary user permanent. The argument `at` is in the domain's time, and realNow
// is real time. Write fails with ErrConflict when the user is already permanent, has expired at
// realNow, or was deleted.
func (tx *Tx) KeepUser(domain passerelle.DomainID, id passerelle.UserID, at, realNow time.Time) {
	tx.unit.ExecOne(ErrConflict, `UPDATE end_user SET permanent = $1, expires = NULL WHERE +domain_id = $2 AND id = $3 AND expires > $4`,
		database.Micros(at), int64(domain), int64(id), database.Micros(realNow))
}

// BumpUser stores u.Version. The caller has raised this version by one for an event about the user.
// Write fails with ErrConflict when the user has changed since it was read.
func (tx *Tx) BumpUser(u passerelle.User) {
	tx.unit.ExecOne(ErrConflict, `UPDATE end_user SET version = $1 WHERE +domain_id = $2 AND id = $3 AND version = $1 - 1`, u.Version, int64(u.Domain), int64(u.ID))
}

// HoldUser prevents the deletion of a user until the unit ends. Write fails with ErrConflict
// when the user is already deleted.
func (tx *Tx) HoldUser(domain passerelle.DomainID, id passerelle.UserID) {
	tx.unit.ExecOne(ErrConflict, `UPDATE end_user SET version = version WHERE +domain_id = $1 AND id = $2`, int64(domain), int64(id))
}

// HoldUserAs makes Write fail with ErrConflict when the user was deleted, or has become permanent
// since the user was read. Without this check, a unit could store events without deliveries for a
// permanent user. The deliveries of a temporary user's events are created only when the user
// becomes permanent.
func (tx *Tx) HoldUserAs(u passerelle.User) {
	tx.unit.ExecOne(ErrConflict, `UPDATE end_user SET version = version WHERE +domain_id = $1 AND id = $2 AND (permanent IS NULL) = $3`,
		int64(u.Domain), int64(u.ID), u.Permanent == nil)
}

// RemoveUser removes a user and drops the events of a temporary user. Erase and package bankstore
// erase the other data later. Write fails with ErrConflict when an event changed the user's
// version, or the user became permanent, after the caller read u. DeleteUser of package bankstore
// calls RemoveUser, and withdraws the user's connections in the same unit.
func (tx *Tx) RemoveUser(u passerelle.User, realNow time.Time) {
	tx.unit.ExecOne(ErrConflict, `DELETE FROM end_user WHERE +domain_id = $1 AND id = $2 AND version = $3 AND (permanent IS NULL) = $4`,
		int64(u.Domain), int64(u.ID), u.Version, u.Permanent == nil)
	tx.unit.Count(int64(u.Domain), countedUsers, int64(u.ID), -1)
	tx.DropHeld(u.Domain, u.ID)
	tx.unit.ExecOne(ErrConflict, `INSERT INTO erasure (user_id, domain_id, since, due) VALUES ($1, $2, $3, $3)`, int64(u.ID), int64(u.Domain), database.Micros(realNow))
}

// KnownUsers reports which of the ids belong to users of the domain.
func (r *Reader) KnownUsers(ctx context.Context, domain passerelle.DomainID, ids []passerelle.UserID) (map[passerelle.UserID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, args := idList(domain, ids)
	// The query selects whole rows. For a query that selects only the id, PostgreSQL would read a
	// whole index.
	found, err := database.Collect(ctx, r.rows, scanUser, `SELECT `+userColumns+` FROM end_user WHERE +domain_id = $1 AND id IN (`+list+`)`, args...)
	if err != nil {
		return nil, err
	}
	known := make(map[passerelle.UserID]bool, len(found))
	for _, u := range found {
		known[u.ID] = true
	}
	return known, nil
}
