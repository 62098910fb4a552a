package operators

import (
	"context"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
)

// ErrUnlinked means that the identity provider identifies a person, but no operator is linked to
// that person.
var ErrUnlinked = errors.New("no operator is linked to this identity")

// ProviderIdentity contains the claims of a trusted identity provider about a person who signs in.
type ProviderIdentity struct {
	// Issuer and Subject identify the person permanently.
	Issuer, Subject string
	// Name is the name of an operator, or empty. The service links an unlinked person to the
	// operator with this name.
	Name string
	// Twice is set when the provider has asked for a second factor. The service then does not ask
	// for its own second factor.
	Twice bool
	// Request is the id of the request.
	Request string
}

// SignInByIdentity makes a session for a person with an identity at a provider. The session belongs
// to the operator who is linked to the identity. SignInByIdentity links an unlinked person to the
// operator with the person's name, unless that operator is already linked to the provider. The role
// comes from the operator and not from the provider. The session waits for the operator's second
// factor, if any, unless v.Twice is set. SignInByIdentity fails with ErrUnlinked when there is
// no operator for the person. It fails with ErrRefused when the operator is disabled or was
// unlinked during the sign-in.
func (a *Operators) SignInByIdentity(ctx context.Context, v ProviderIdentity) (IssuedSession, error) {
	o, link, err := a.knownBy(ctx, v)
	if err != nil {
		return IssuedSession{}, err
	}
	refusal := store.Audit{Operator: o.ID, Request: v.Request, Act: actSignIn}
	if o.ID == 0 {
		return IssuedSession{}, errors.Join(ErrUnlinked, a.refuse(ctx, refusal))
	}
	if o.Disabled != nil {
		return IssuedSession{}, a.refuse(ctx, refusal)
	}
	identity := operatorstore.OperatorIdentity{Operator: o.ID, Issuer: v.Issuer, Subject: v.Subject, Created: a.Now()}
	entry := a.about(o.ID, actLink)
	entry.Operator, entry.Request = o.ID, v.Request
	pass, err := a.admit(ctx, o, v.Twice, v.Request, func(tx *store.Tx) error {
		if !link {
			operatorstore.In(tx).HoldIdentity(identity)
			return nil
		}
		return errors.Join(operatorstore.In(tx).LinkOperator(identity), tx.Audit(entry))
	})
	if errors.Is(err, store.ErrDuplicate) { // another identity was linked at the same time
		return IssuedSession{}, errors.Join(ErrUnlinked, a.refuse(ctx, refusal))
	}
	return pass, err
}

// knownBy returns the operator of an identity, and whether the operator must still be linked to the
// identity. It returns an empty operator for an identity without an operator.
func (a *Operators) knownBy(ctx context.Context, v ProviderIdentity) (operatorstore.Operator, bool, error) {
	var link bool
	o, err := operatorstore.From(a.DB).OperatorByIdentity(ctx, v.Issuer, v.Subject)
	if errors.Is(err, store.ErrNotFound) && v.Name != "" {
		link = true
		o, err = operatorstore.From(a.DB).OperatorByName(ctx, normal(v.Name))
	}
	if errors.Is(err, store.ErrNotFound) {
		return operatorstore.Operator{}, false, nil
	}
	if err != nil {
		return o, false, fmt.Errorf("find an operator: %w", err)
	}
	return o, link, nil
}

// Link links an operator to a subject of an issuer. It fails with Invalid when the identity is
// already linked, or when the operator already has a subject of this issuer.
func (a *Operators) Link(ctx context.Context, name, issuer, subject string) (operatorstore.Operator, error) {
	for field, text := range map[string]string{"issuer": issuer, "subject": subject} {
		if text == "" || len(text) > maxIdentity {
			return operatorstore.Operator{}, passerelle.InvalidField(field, "must have from 1 to %d bytes", maxIdentity)
		}
	}
	o, err := a.change(ctx, name, actLink, func(tx *store.Tx, o operatorstore.Operator) error {
		return operatorstore.In(tx).LinkOperator(operatorstore.OperatorIdentity{Operator: o.ID, Issuer: issuer, Subject: subject, Created: a.Now()})
	})
	if errors.Is(err, store.ErrDuplicate) {
		return o, passerelle.InvalidField("subject", "is already linked to an operator, or the operator to another subject of this issuer")
	}
	return o, err
}

// maxIdentity is the largest length of an issuer or a subject, in bytes.
const maxIdentity = 1000

// Unlink removes an operator's identities, and ends the operator's sessions.
func (a *Operators) Unlink(ctx context.Context, name string) (operatorstore.Operator, error) {
	return a.change(ctx, name, actUnlink, func(tx *store.Tx, o operatorstore.Operator) error {
		operatorstore.In(tx).UnlinkOperator(o.ID) // this waits for concurrent sign-ins, so RevokeSessions also ends their sessions
		operatorstore.In(tx).RevokeSessions(o.ID, 0, a.Now())
		return nil
	})
}
