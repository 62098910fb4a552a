package access

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-jose/go-jose/v4"

	"passerelle"
	"passerelle/internal/store"
)

// AnswerKey returns the key that signs the API responses of a domain, and the id of this key. The
// first call for a domain makes the key.
func (a *Access) AnswerKey(ctx context.Context, domain passerelle.DomainID) (int64, jose.SigningKey, error) {
	stored, err := a.DB.NewestSignKey(ctx, domain)
	if errors.Is(err, store.ErrNotFound) {
		stored, err = a.addAnswerKey(ctx, domain, 1)
		if errors.Is(err, store.ErrDuplicate) { // another process was faster
			stored, err = a.DB.NewestSignKey(ctx, domain)
		}
	}
	if err != nil {
		return 0, jose.SigningKey{}, fmt.Errorf("find the key for responses of domain %d: %w", domain, err)
	}
	private, err := x509.ParsePKCS8PrivateKey(stored.Private)
	if err != nil {
		return 0, jose.SigningKey{}, fmt.Errorf("read key %d for responses: not a PKCS #8 key", stored.ID)
	}
	named := jose.JSONWebKey{Key: private, KeyID: strconv.FormatInt(stored.ID, 10)}
	return stored.ID, jose.SigningKey{Algorithm: jose.RS256, Key: named}, nil
}

// RotateAnswerKey makes a new key that signs the API responses of a domain. Older keys are
// deprecated, but clients can still verify earlier responses with them. RotateAnswerKey stores the
// change and the acts in one transaction.
func (a *Access) RotateAnswerKey(ctx context.Context, domain passerelle.DomainID, acts ...store.Audit) (store.SignKey, error) {
	last, err := a.DB.NewestSignKey(ctx, domain)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.SignKey{}, fmt.Errorf("find the key for responses of domain %d: %w", domain, err)
	}
	made, err := a.addAnswerKey(ctx, domain, last.Number+1, acts...)
	if errors.Is(err, store.ErrDuplicate) {
		return store.SignKey{}, passerelle.Conflicting("somebody else is rotating the key of this domain; check the keys and try again")
	}
	return made, err
}

func (a *Access) addAnswerKey(ctx context.Context, domain passerelle.DomainID, number int64, acts ...store.Audit) (store.SignKey, error) {
	private, public, err := keyPair()
	if err != nil {
		return store.SignKey{}, err
	}
	made := store.SignKey{Domain: domain, Number: number, Public: public, Private: private, Created: a.Now()}
	err = a.DB.Write(ctx, func(tx *store.Tx) error { return errors.Join(tx.AddSignKey(&made), tx.AuditOf(int64(domain), acts...)) })
	return made, err
}
