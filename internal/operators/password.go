package operators

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"passerelle"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

// These are the parameters of a password hash: the memory in KiB, the passes, and the sizes of the
// hash and the salt in bytes. A later version can raise hashMemory and hashPasses, because each
// stored hash contains its own values.
const (
	hashMemory = 19 * 1024
	hashPasses = 2
	hashSize   = 32
	saltSize   = 16
)

// These are the limits for the length of passwords, in characters and in bytes.
const (
	minPassword      = 12
	maxPasswordBytes = 1024
)

// hashing limits how many hashes the process computes at the same time. Strangers can therefore not
// make the process use much memory.
var hashing = make(chan struct{}, 4)

// derive waits for a free slot in hashing, and then computes the slow hash.
func derive(ctx context.Context, password string, salt []byte, passes, memory uint32) ([]byte, error) {
	select {
	case hashing <- struct{}{}:
		defer func() { <-hashing }()
		return argon2.IDKey([]byte(password), salt, passes, memory, 1, hashSize), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
}

const hashForm = "$argon2id$v=19$m=%d,t=%d,p=1$%s$%s"

// hashPassword returns the stored form of a password.
func hashPassword(ctx context.Context, password string) (string, error) {
	salt := randomBytes(saltSize)
	sum, err := derive(ctx, password, salt, hashPasses, hashMemory)
	if err != nil {
		return "", err
	}
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf(hashForm, hashMemory, hashPasses, text(salt), text(sum)), nil
}

var errHashForm = errors.New("the stored hash of a password cannot be read")

// matches compares a password with its stored form.
func matches(ctx context.Context, stored, password string) (bool, error) {
	if len(password) > maxPasswordBytes {
		return false, nil
	}
	var (
		memory, passes uint32
		rest           string
	)
	if _, err := fmt.Sscanf(stored, "$argon2id$v=19$m=%d,t=%d,p=1$%s", &memory, &passes, &rest); err != nil {
		return false, fmt.Errorf("%w: %w", errHashForm, err)
	}
	saltText, sumText, _ := strings.Cut(rest, "$")
	salt, err := base64.RawStdEncoding.DecodeString(saltText)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errHashForm, err)
	}
	want, err := base64.RawStdEncoding.DecodeString(sumText)
	if err != nil || len(want) != hashSize {
		return false, errors.Join(errHashForm, err)
	}
	got, err := derive(ctx, password, salt, passes, memory)
	return err == nil && subtle.ConstantTimeCompare(got, want) == 1, err
}

// nobody is a function. It returns the hash that the service compares for unknown names. The
// comparison takes the same time as for a real hash, and no password matches.
var nobody = sync.OnceValue(func() string {
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf(hashForm, hashMemory, hashPasses, text(randomBytes(saltSize)), text(randomBytes(hashSize)))
})

func checkPassword(name, password string) error {
	switch {
	case !utf8.ValidString(password), len(password) > maxPasswordBytes:
		return passerelle.InvalidField("password", "must be text of at most %d bytes", maxPasswordBytes)
	case utf8.RuneCountInString(password) < minPassword:
		return passerelle.InvalidField("password", "must have at least %d characters", minPassword)
	case len(name) > 2 && strings.Contains(normal(password), name):
		return passerelle.InvalidField("password", "must not contain the name of the operator")
	}
	return nil
}

// ChangePassword replaces the password of the signed-in operator, and ends the operator's other
// sessions. It fails with ErrRefused when the current password is wrong. Such a failure counts as
// an attempt. It fails with ErrNoSession when the session has ended meanwhile. Otherwise a running
// request of an intruder could replace the password that a command has just set.
func (a *Operators) ChangePassword(ctx context.Context, v SignedIn, present, next, request string) error {
	if err := a.prove(ctx, v, present, request, actPassword); err != nil {
		return err
	}
	if err := checkPassword(v.Operator.Name, next); err != nil {
		return err
	}
	stored, err := hashPassword(ctx, next)
	if err != nil {
		return err
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		operatorstore.In(tx).SetOperatorPassword(v.Operator.ID, stored) // this waits for commands that end sessions
		operatorstore.In(tx).HoldSession(v.ID)
		operatorstore.In(tx).RevokeSessions(v.Operator.ID, v.ID, a.Now())
		return tx.Audit(a.Entry(v, request, actPassword))
	})
	if errors.Is(err, store.ErrConflict) {
		return ErrNoSession
	}
	if err != nil {
		return fmt.Errorf("change a password: %w", err)
	}
	return nil
}

// prove checks the password when a signed-in operator must enter it again.
func (a *Operators) prove(ctx context.Context, v SignedIn, password, request, act string) error {
	if err := a.take(ctx, proofCounter(v)); err != nil {
		return err
	}
	right, err := matches(ctx, v.Operator.Password, password)
	if err != nil {
		return err
	}
	if !right {
		return a.refuse(ctx, a.Entry(v, request, act))
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		operatorstore.In(tx).ReturnSignIn(proofCounter(v).Subject)
		return nil
	})
	if err != nil {
		return fmt.Errorf("take an attempt back: %w", err)
	}
	return nil
}
