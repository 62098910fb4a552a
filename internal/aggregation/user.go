package aggregation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// attempts is the number of times that an operation is tried while its user changes. Five suffice,
// because a user seldom changes.
const attempts = 5

// Also is a function that adds writes, such as the user's token, to the transaction of CreateUser
// or KeepUser.
type Also func(tx *store.Tx, u passerelle.User) error

// CreateUser creates a user and emits USER_CREATED. The service holds the event of a temporary user
// until the user becomes permanent. A temporary user expires after the number of minutes in the
// setting auth.user_token_expire.
func (a *Aggregation) CreateUser(ctx context.Context, d passerelle.Domain, permanent bool, also Also) (passerelle.User, error) {
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return passerelle.User{}, err
	}
	now := a.now(d)
	u := passerelle.User{Domain: d.ID, Platform: passerelle.SharedAccess, Created: now, Version: 1}
	if permanent {
		u.Permanent = &now
	} else {
		expires := a.Now().Truncate(time.Microsecond).Add(time.Duration(values.Int(settings.UserTokenLife)) * time.Minute)
		u.Expires = &expires
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.CreateUser(&u); err != nil {
			return err
		}
		if err := a.emit(tx, u, webhook.UserCreated, now, values.Location()); err != nil {
			return err
		}
		return also(tx, u)
	})
	if err != nil {
		return u, fmt.Errorf("store a user: %w", err)
	}
	return u, nil
}

// emit stores an event about a user with the user's version.
func (a *Aggregation) emit(tx *store.Tx, u passerelle.User, name webhook.Event, now time.Time, zone *time.Location) error {
	tx.AfterCommit(a.Wake)
	return tx.Emit(store.EmittedEvent{
		Domain: u.Domain, Name: name, Subject: string(webhook.SubjectUser), SubjectID: int64(u.ID), Version: u.Version,
		User: u.ID, Held: u.Permanent == nil, Created: now, Body: wire.Encode(wire.NewUser(u, zone)),
	})
}

// User returns a stored user. It fails with NotFound when the user does not exist or has expired.
func (a *Aggregation) User(ctx context.Context, d passerelle.Domain, id passerelle.UserID) (passerelle.User, error) {
	return a.userBy(ctx, &a.DB.Reader, d, id)
}

func (a *Aggregation) userBy(ctx context.Context, r *store.Reader, d passerelle.Domain, id passerelle.UserID) (passerelle.User, error) {
	u, err := r.User(ctx, d.ID, id)
	if errors.Is(err, store.ErrNotFound) || (err == nil && u.Expires != nil && !a.Now().Before(*u.Expires)) {
		return u, passerelle.Missing()
	}
	if err != nil {
		return u, fmt.Errorf("load user %d: %w", id, err)
	}
	return u, nil
}

// KeepUser makes a temporary user permanent and releases the user's events. For a permanent user,
// it only executes the caller's writes. In both cases, it fails if the user does not exist.
func (a *Aggregation) KeepUser(ctx context.Context, d passerelle.Domain, id passerelle.UserID, also Also) (passerelle.User, error) {
	for range attempts {
		u, err := a.User(ctx, d, id)
		if err != nil {
			return u, err
		}
		u, err = a.keep(ctx, d, u, also)
		if !errors.Is(err, store.ErrConflict) {
			return u, err
		}
	}
	return passerelle.User{}, changing(id)
}

func (a *Aggregation) keep(ctx context.Context, d passerelle.Domain, u passerelle.User, also Also) (passerelle.User, error) {
	now, temporary := a.now(d), u.Permanent == nil
	if temporary {
		u.Permanent, u.Expires = &now, nil
	}
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		if temporary {
			tx.KeepUser(d.ID, u.ID, now, a.Now())
			tx.ReleaseHeld(d.ID, u.ID)
			tx.AfterCommit(a.Wake)
		} else {
			tx.HoldUser(d.ID, u.ID)
		}
		return also(tx, u)
	})
	if err != nil {
		return u, fmt.Errorf("keep user %d: %w", u.ID, err)
	}
	return u, nil
}

// changing returns the Unavailable error for a user who changes during every attempt. The client
// did not cause this and can try again.
func changing(id passerelle.UserID) error {
	return fmt.Errorf("user %d changes all the time: %w", id, passerelle.Unavailable)
}

// ActDeleteUser is the name in the audit log for the deletion of a user by an operator.
const ActDeleteUser = "delete user"

// DeleteUser deletes a user, and stores the acts of an operator in the same transaction. It emits
// USER_DELETED for a permanent user, and no event for a temporary user. The webhook requests about
// this event can still contain the user's token. It fails with NotFound without the user.
func (a *Aggregation) DeleteUser(ctx context.Context, d passerelle.Domain, id passerelle.UserID, acts ...store.Audit) error {
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return err
	}
	for range attempts {
		u, err := a.User(ctx, d, id)
		if err != nil {
			return err
		}
		if err = a.remove(ctx, d, u, values.Location(), acts...); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return changing(id)
}

func (a *Aggregation) remove(ctx context.Context, d passerelle.Domain, u passerelle.User, zone *time.Location, acts ...store.Audit) error {
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.AuditOf(int64(u.ID), acts...); err != nil {
			return err
		}
		bankstore.In(tx).DeleteUser(u, a.now(d), a.Now())
		tx.AfterCommit(a.Erase)
		if u.Permanent == nil {
			return nil
		}
		reported := u
		reported.Version++
		return a.emit(tx, reported, webhook.UserDeleted, a.now(d), zone)
	})
	if err != nil {
		return fmt.Errorf("delete user %d: %w", u.ID, err)
	}
	return nil
}
