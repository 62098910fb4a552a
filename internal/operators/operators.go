// Package operators signs operators in to the console. It checks who they are, and limits how long
// their sessions last.
//
// The package owns passwords and their hashes, the second factor, lockouts after failures,
// sessions, and the rights of each role. It does not own pages, cookies or the other use cases of
// the console.
//
// The package fails with ErrRefused for every wrong name, password or code, and does not say which
// of them is wrong. After too many failures, it fails with ErrLocked before it compares anything.
// It fails with ErrNoSession when a session has ended. If a new password, name, role or identity is
// not allowed, it fails with an Invalid error that names the field. It records an act in the act's
// transaction, and a refusal in a separate transaction.
package operators

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

// A subject, such as a name or an address, is locked after this many failed attempts, each within
// lockSpan of the previous attempt. The lock ends lockSpan after the last counted attempt. A name
// is first locked only at the guessing address, so the name's owner can sign in elsewhere. The
// limit for a name at all addresses stops guesses from many addresses. The limit for an address is
// higher, because many people may share an address. The service asks for a second factor, or for
// the password again, only in a session. A session begins with a correct password or a sign-in at
// an identity provider. Strangers can therefore not lock these two steps.
const (
	maxFailuresHere      = 5
	maxFailuresOfName    = 100
	maxFailuresOfAddress = 30
	maxFailuresOfProof   = 5
	lockSpan             = 15 * time.Minute
)

// maxRemembered limits the subjects with a count of failures. forgetBatch limits the counts that
// one statement removes. forgetBatches limits the transactions in one call of Forget.
const (
	maxRemembered = 100_000
	forgetBatch   = 1000
	forgetBatches = 1000
)

// These are the reasons for refusals.
var (
	ErrRefused   = errors.New("the name, the password or the code is wrong")
	ErrLocked    = operatorstore.ErrLocked
	ErrNoSession = errors.New("there is no such session, or it is over")
)

// Operators has the use cases of operators. Now returns the real time, because sessions do not
// follow the clock of a sandbox.
type Operators struct {
	DB  *store.DB
	Now func() time.Time
	// MAC makes the keyed hashes that the database stores instead of addresses.
	MAC func(purpose string, data []byte) []byte

	unknown unknownNames
}

// SignInAttempt is an attempt to sign in.
type SignInAttempt struct {
	Name, Password string
	// Address is the network address of the attempt. Request is the id of the request.
	Address, Request string
}

// IssuedSession is a session that was just made. Token is the text that identifies its holder. The
// service does not store this text.
type IssuedSession struct {
	Token string
	operatorstore.Session
}

// SignIn makes a session for a valid name and password. For an operator with a second factor, the
// session only allows entering that factor, with [Operators.SecondFactor].
func (a *Operators) SignIn(ctx context.Context, at SignInAttempt) (IssuedSession, error) {
	name := normal(at.Name)
	here, byName, byAddress := a.counters(name, at.Address)
	if err := a.take(ctx, here, byName, byAddress); err != nil {
		return IssuedSession{}, err
	}
	o, err := a.recognise(ctx, name, at.Password)
	if errors.Is(err, ErrRefused) {
		return IssuedSession{}, a.refuse(ctx, store.Audit{Operator: o.ID, Request: at.Request, Act: actSignIn})
	}
	if err != nil {
		return IssuedSession{}, err
	}
	return a.admit(ctx, o, false, at.Request, func(tx *store.Tx) error {
		operatorstore.In(tx).ReturnSignIn(byName.Subject)
		operatorstore.In(tx).ReturnSignIn(byAddress.Subject)
		operatorstore.In(tx).ForgiveSignIn(here.Subject)
		return nil
	})
}

// admit opens a session for a recognised operator. It fails when the operator may no longer sign
// in. If twice is true, an identity provider has checked a second factor.
func (a *Operators) admit(ctx context.Context, o operatorstore.Operator, twice bool, request string, also func(*store.Tx) error) (IssuedSession, error) {
	step, life := single, sessionLife
	switch {
	case twice:
		step = double
	case o.SecondFactor:
		step, life = waiting, waitingLife
	}
	pass, err := a.open(ctx, o, step, life, func(tx *store.Tx, s operatorstore.Session) error {
		if err := also(tx); err != nil || step == waiting {
			return err
		}
		return tx.Audit(a.entry(o.ID, s.ID, request, actSignIn))
	})
	if errors.Is(err, store.ErrConflict) {
		return IssuedSession{}, a.refuse(ctx, store.Audit{Operator: o.ID, Request: request, Act: actSignIn})
	}
	return pass, err
}

// SecondFactor ends a session that waits for the second factor, and makes a session with a new
// token.
func (a *Operators) SecondFactor(ctx context.Context, token, code, request string) (IssuedSession, error) {
	v, err := a.find(ctx, token)
	if err != nil {
		return IssuedSession{}, err
	}
	if v.Step != waiting {
		return IssuedSession{}, ErrNoSession
	}
	if err := a.take(ctx, proofCounter(v)); err != nil {
		return IssuedSession{}, err
	}
	step, err := a.checkCode(ctx, v.Operator.ID, code)
	if errors.Is(err, ErrRefused) {
		return IssuedSession{}, a.refuse(ctx, a.entry(v.Operator.ID, v.ID, request, actSecondFactor))
	}
	if err != nil {
		return IssuedSession{}, err
	}
	pass, err := a.open(ctx, v.Operator, double, sessionLife, func(tx *store.Tx, s operatorstore.Session) error {
		operatorstore.In(tx).UseTOTP(v.Operator.ID, step)
		operatorstore.In(tx).RevokeSession(v.Operator.ID, v.ID, a.Now())
		operatorstore.In(tx).ForgiveSignIn(proofCounter(v).Subject)
		return tx.Audit(a.entry(v.Operator.ID, s.ID, request, actSignIn))
	})
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return IssuedSession{}, ErrRefused // a concurrent request has used the code or the session
	}
	return pass, err
}

// Check reports whether a password belongs to an operator who may sign in. It does not count
// attempts. It is therefore only for programs that already have the password.
func (a *Operators) Check(ctx context.Context, name, password string) (bool, error) {
	_, err := a.recognise(ctx, normal(name), password)
	if errors.Is(err, ErrRefused) {
		return false, nil
	}
	return err == nil, err
}

// recognise returns the operator with the name and the password. It takes the same time for an
// unknown name. With ErrRefused, it also returns the operator if the name exists.
func (a *Operators) recognise(ctx context.Context, name, password string) (operatorstore.Operator, error) {
	o, err := operatorstore.From(a.DB).OperatorByName(ctx, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return o, fmt.Errorf("find an operator: %w", err)
	}
	known := err == nil
	stored := o.Password
	if !known {
		stored = nobody()
	}
	right, err := matches(ctx, stored, password)
	if err != nil {
		return o, err
	}
	if !known || !right || o.Disabled != nil {
		return o, ErrRefused
	}
	return o, nil
}

// take counts an attempt in each counter before the service compares a password or code.
func (a *Operators) take(ctx context.Context, all ...operatorstore.SignInCounter) error {
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		for _, k := range all {
			operatorstore.In(tx).TakeSignIn(k, a.Now(), lockSpan)
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrLocked) {
		return fmt.Errorf("count an attempt to sign in: %w", err)
	}
	return err
}

// Forget removes the counts that no longer lock a subject. Strangers may try many names or
// addresses. Forget therefore also removes the lowest counts when the table has too many counts. At
// the end of an hour, Forget records how many refusals were counted but not recorded.
func (a *Operators) Forget(ctx context.Context) error {
	if err := a.record(ctx, a.unknown.ended(a.Now())); err != nil {
		return fmt.Errorf("record refusals of unknown names: %w", err)
	}
	left := int64(-1)
	for range forgetBatches {
		n, err := operatorstore.From(a.DB).CountSignIns(ctx)
		if err != nil || n == 0 || n == left {
			return err
		}
		left = n
		err = a.DB.Write(ctx, func(tx *store.Tx) error {
			operatorstore.In(tx).ForgetSignIns(a.Now().Add(-lockSpan), forgetBatch, int(min(max(n-maxRemembered, 0), forgetBatch)))
			return nil
		})
		if err != nil {
			return fmt.Errorf("forget attempts to sign in: %w", err)
		}
	}
	return nil
}

// refuse records a failure and returns ErrRefused. Beyond a limit, it counts failures with unknown
// names but does not record them, because strangers can cause any number of such failures.
func (a *Operators) refuse(ctx context.Context, entry store.Audit) error {
	entry.At, entry.Refused = a.Now(), true
	acts := []store.Audit{entry}
	if entry.Operator == 0 {
		acts = a.unknown.refused(entry)
	}
	if err := a.record(ctx, acts); err != nil {
		return fmt.Errorf("record a refusal: %w", err)
	}
	return ErrRefused
}

func (a *Operators) record(ctx context.Context, acts []store.Audit) error {
	if len(acts) == 0 {
		return nil
	}
	return a.DB.Write(ctx, func(tx *store.Tx) error { return tx.Audit(acts...) })
}

// counters returns the counters of an attempt to sign in: one for the name at the address, one for
// the name, and one for the address.
func (a *Operators) counters(name, address string) (operatorstore.SignInCounter, operatorstore.SignInCounter, operatorstore.SignInCounter) {
	var byAddress operatorstore.SignInCounter
	byName := operatorstore.SignInCounter{Subject: nameSubject(name), Limit: maxFailuresOfName}
	byAddress = operatorstore.SignInCounter{Subject: a.addressSubject(address), Limit: maxFailuresOfAddress}
	both := sha256.Sum256(append(slices.Clone(byName.Subject), byAddress.Subject...))
	return operatorstore.SignInCounter{Subject: both[:], Of: byName.Subject, Limit: maxFailuresHere}, byName, byAddress
}

func nameSubject(name string) []byte {
	sum := sha256.Sum256([]byte("name " + name))
	return sum[:]
}

// proofCounter returns the counter for wrong second factors, and for wrong passwords when a
// signed-in operator must enter the password again.
func proofCounter(v SignedIn) operatorstore.SignInCounter {
	name := nameSubject(v.Operator.Name)
	sum := sha256.Sum256(append([]byte("proof "), name...))
	return operatorstore.SignInCounter{Subject: sum[:], Of: name, Limit: maxFailuresOfProof}
}

// addressSubject returns the subject for the address's network, which an internet provider assigns
// to one customer. All texts that are not addresses count as the same address.
func (a *Operators) addressSubject(address string) []byte {
	var network netip.Prefix
	if ip, err := netip.ParseAddr(address); err == nil {
		bits := 64
		if ip = ip.Unmap().WithZone(""); ip.Is4() {
			bits = 32
		}
		network, _ = ip.Prefix(bits)
	}
	return a.MAC("addresses that signed in to the console", []byte(network.String()))
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: the runtime would stop the program
	return b
}
