package operators

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

// maxOperators is the largest number of operators in a list.
const maxOperators = 1000

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// normal returns the form in which names are stored and compared.
func normal(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// Create makes an operator with a random password. It returns the password and does not store it.
// The name begins with a letter or a digit, and has up to 64 letters, digits and ".", "_", "@",
// "-". No other operator may have the same name.
func (a *Operators) Create(ctx context.Context, name string, role Role) (operatorstore.Operator, string, error) {
	o := operatorstore.Operator{Name: normal(name), Role: string(role), Created: a.Now()}
	if !nameForm.MatchString(o.Name) {
		return o, "", passerelle.InvalidField("name", "must begin with a letter or digit and have at most 64 letters, digits and . _ @ -")
	}
	if err := checkRole(role); err != nil {
		return o, "", err
	}
	password := rand.Text()
	var err error
	if o.Password, err = hashPassword(ctx, password); err != nil {
		return o, "", err
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		if err := operatorstore.In(tx).CreateOperator(&o); err != nil {
			return err
		}
		return tx.Audit(a.about(o.ID, actCreate))
	})
	if errors.Is(err, store.ErrDuplicate) {
		return o, "", passerelle.InvalidField("name", "belongs to another operator")
	}
	if err != nil {
		return o, "", fmt.Errorf("create an operator: %w", err)
	}
	return o, password, nil
}

func checkRole(role Role) error {
	if !slices.Contains(Roles(), role) {
		return passerelle.InvalidField("role", "must be one of %q", Roles())
	}
	return nil
}

// errUnchanged ends a change that changes nothing. The audit log then has no entry.
var errUnchanged = errors.New("the operator is unchanged")

// SetRole gives an operator another role. It applies to the next request of each of the operator's
// sessions.
func (a *Operators) SetRole(ctx context.Context, name string, role Role) (operatorstore.Operator, error) {
	if err := checkRole(role); err != nil {
		return operatorstore.Operator{}, err
	}
	return a.change(ctx, name, actRole(role), func(tx *store.Tx, o operatorstore.Operator) error {
		if o.Role == string(role) {
			return errUnchanged
		}
		operatorstore.In(tx).SetOperatorRole(o.ID, string(role))
		return nil
	})
}

// about returns the audit entry for a command that acts on an operator.
func (a *Operators) about(o store.OperatorID, act string) store.Audit {
	return store.Audit{At: a.Now(), Act: act, Subject: "operator", SubjectID: int64(o)}
}

// List lists the operators by name.
func (a *Operators) List(ctx context.Context) ([]operatorstore.Operator, error) {
	return operatorstore.From(a.DB).Operators(ctx, maxOperators)
}

// ResetPassword sets a new random password for an operator. It ends the operator's sessions, and
// removes the counts of failed attempts.
func (a *Operators) ResetPassword(ctx context.Context, name string) (operatorstore.Operator, string, error) {
	password := rand.Text()
	stored, err := hashPassword(ctx, password)
	if err != nil {
		return operatorstore.Operator{}, "", err
	}
	o, err := a.change(ctx, name, actPassword, func(tx *store.Tx, o operatorstore.Operator) error {
		operatorstore.In(tx).SetOperatorPassword(o.ID, stored)
		operatorstore.In(tx).RevokeSessions(o.ID, 0, a.Now())
		operatorstore.In(tx).ForgiveSignIn(nameSubject(o.Name))
		return nil
	})
	return o, password, err
}

// ResetTOTP removes an operator's second factor and the counts of failed attempts. It ends the
// operator's sessions.
func (a *Operators) ResetTOTP(ctx context.Context, name string) (operatorstore.Operator, error) {
	return a.change(ctx, name, actResetTOTP, func(tx *store.Tx, o operatorstore.Operator) error {
		operatorstore.In(tx).ResetTOTP(o.ID)
		operatorstore.In(tx).RevokeSessions(o.ID, 0, a.Now())
		operatorstore.In(tx).ForgiveSignIn(nameSubject(o.Name))
		return nil
	})
}

// Disable prevents an operator from signing in, and ends the operator's sessions.
func (a *Operators) Disable(ctx context.Context, name string) (operatorstore.Operator, error) {
	now := a.Now()
	return a.change(ctx, name, actDisable, func(tx *store.Tx, o operatorstore.Operator) error {
		operatorstore.In(tx).DisableOperator(o.ID, &now)
		return nil
	})
}

// Enable allows an operator to sign in again.
func (a *Operators) Enable(ctx context.Context, name string) (operatorstore.Operator, error) {
	return a.change(ctx, name, actEnable, func(tx *store.Tx, o operatorstore.Operator) error {
		operatorstore.In(tx).DisableOperator(o.ID, nil)
		return nil
	})
}

// change changes an operator, records the act, and returns the changed operator. It fails with
// NotFound for an unknown name.
func (a *Operators) change(ctx context.Context, name, act string, do func(*store.Tx, operatorstore.Operator) error) (operatorstore.Operator, error) {
	o, err := operatorstore.From(a.DB).OperatorByName(ctx, normal(name))
	if errors.Is(err, store.ErrNotFound) {
		return o, &passerelle.Error{Kind: passerelle.NotFound, Code: "notFound", Field: "name", Message: fmt.Sprintf("name: there is no operator %q", name)}
	}
	if err != nil {
		return o, fmt.Errorf("find an operator: %w", err)
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		if err := do(tx, o); err != nil {
			return err
		}
		return tx.Audit(a.about(o.ID, act))
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return o, fmt.Errorf("%s: %w", act, err)
	}
	return operatorstore.From(a.DB).Operator(ctx, o.ID)
}
