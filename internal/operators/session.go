package operators

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

// These are the steps of a session.
const (
	waiting = "waiting"
	single  = "single"
	double  = "double"
)

// These are the limits of a session: its longest life, its longest idle time, and the longest wait
// for the second factor.
const (
	sessionLife = 12 * time.Hour
	idleLife    = time.Hour
	waitingLife = 5 * time.Minute
)

// seenEvery is the interval at which the service writes the last use of a session.
const seenEvery = time.Minute

// maxSessions is the largest number of sessions in the list of an operator.
const maxSessions = 100

// SignedIn is a signed-in operator, with the session.
type SignedIn struct {
	operatorstore.Session
	Operator operatorstore.Operator
}

// FormToken returns the token that every form of the session must contain.
func (v SignedIn) FormToken() string { return hex.EncodeToString(v.CSRF) }

// Owns reports whether a form belongs to this session.
func (v SignedIn) Owns(formToken string) bool {
	return subtle.ConstantTimeCompare([]byte(formToken), []byte(v.FormToken())) == 1
}

// HasSecondFactor reports whether the operator has used a second factor in this session.
func (v SignedIn) HasSecondFactor() bool { return v.Step == double }

// SessionOf returns the session of a token. It fails with ErrNoSession when the token has no
// session, and when the session has ended or waits for the second factor. It does not extend the
// session, because it is for requests that a page makes automatically.
func (a *Operators) SessionOf(ctx context.Context, token string) (SignedIn, error) {
	v, err := a.find(ctx, token)
	if err == nil && v.Step == waiting {
		err = ErrNoSession
	}
	if err != nil {
		return SignedIn{}, err
	}
	return v, nil
}

// ResumeSession returns the session of a token like SessionOf, and extends the session. It is for
// requests that the operator makes.
func (a *Operators) ResumeSession(ctx context.Context, token string) (SignedIn, error) {
	v, err := a.SessionOf(ctx, token)
	if err != nil {
		return SignedIn{}, err
	}
	now := a.Now()
	if now.Sub(v.Seen) < seenEvery {
		return v, nil
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		operatorstore.In(tx).TouchSession(v.ID, now)
		return nil
	})
	if err != nil {
		return SignedIn{}, fmt.Errorf("note that a session is used: %w", err)
	}
	return v, nil
}

// AwaitsSecondFactor reports whether a token belongs to a session that waits for its second
// factor.
func (a *Operators) AwaitsSecondFactor(ctx context.Context, token string) (bool, error) {
	v, err := a.find(ctx, token)
	if errors.Is(err, ErrNoSession) {
		return false, nil
	}
	return v.Step == waiting, err
}

// find loads a session that has not ended.
func (a *Operators) find(ctx context.Context, token string) (SignedIn, error) {
	s, o, err := operatorstore.From(a.DB).Session(ctx, hash(token))
	if errors.Is(err, store.ErrNotFound) {
		return SignedIn{}, ErrNoSession
	}
	if err != nil {
		return SignedIn{}, fmt.Errorf("look a session up: %w", err)
	}
	now := a.Now()
	if s.Revoked != nil || o.Disabled != nil || !now.Before(s.Expires) || now.Sub(s.Seen) >= idleLife {
		return SignedIn{}, ErrNoSession
	}
	return SignedIn{Session: s, Operator: o}, nil
}

// open makes a session. It calls the argument `also` in the same transaction. open fails with
// ErrConflict when, after recognition, the operator was disabled, got another password, or gained
// or lost a second factor.
func (a *Operators) open(ctx context.Context, o operatorstore.Operator, step string, life time.Duration, also func(*store.Tx, operatorstore.Session) error) (IssuedSession, error) {
	now := a.Now()
	pass := IssuedSession{Token: rand.Text(), Session: operatorstore.Session{
		Operator: o.ID, CSRF: randomBytes(20), Step: step, Created: now, Seen: now, Expires: now.Add(life),
	}}
	pass.TokenHash = hash(pass.Token)
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		operatorstore.In(tx).HoldOperator(o)
		if err := operatorstore.In(tx).CreateSession(&pass.Session); err != nil {
			return err
		}
		return also(tx, pass.Session)
	})
	if err != nil {
		return IssuedSession{}, fmt.Errorf("open a session: %w", err)
	}
	return pass, nil
}

// SignOut ends the operator's session. It fails with NotFound when the session was already revoked.
func (a *Operators) SignOut(ctx context.Context, v SignedIn, request string) error {
	return a.end(ctx, v, v.ID, request, actSignOut)
}

// Revoke ends one of the operator's own sessions. It fails with NotFound when the session belongs
// to another operator or was already revoked.
func (a *Operators) Revoke(ctx context.Context, v SignedIn, id int64, request string) error {
	return a.end(ctx, v, id, request, actRevoke)
}

func (a *Operators) end(ctx context.Context, v SignedIn, id int64, request, act string) error {
	entry := a.entry(v.Operator.ID, v.ID, request, act)
	entry.Subject, entry.SubjectID = "session", id
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		operatorstore.In(tx).RevokeSession(v.Operator.ID, id, a.Now())
		return tx.Audit(entry)
	})
	if errors.Is(err, store.ErrNotFound) {
		return passerelle.Missing()
	}
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// Sessions lists the operator's sessions that have not ended, newest first.
func (a *Operators) Sessions(ctx context.Context, v SignedIn) ([]operatorstore.Session, error) {
	now := a.Now()
	return operatorstore.From(a.DB).Sessions(ctx, v.Operator.ID, now, now.Add(-idleLife), maxSessions)
}

// hash returns the only stored form of a session's token. A fast hash is enough, because a token
// has 130 random bits.
func hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
