package delivery

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// These are the types of providers, with their names in the API. A provider of type HMAC signs
// requests with a secret. A provider of type OAuth gets access tokens.
const (
	HMAC  = "hmac_signature"
	OAuth = "oauth"
)

// DefaultOverlap is the time for which a replaced signing secret still signs beside the new secret,
// unless the caller chooses a different time. MaxOverlap is the longest time that the caller can
// choose.
const (
	DefaultOverlap = 24 * time.Hour
	MaxOverlap     = 30 * 24 * time.Hour
)

const (
	maxProviderName = 64
	secretSize      = 32
	updateTries     = 5
	// shownUsers limits the webhook ids in a mail about a deleted provider.
	shownUsers = 10
)

// RegisterProvider creates a provider that signs requests with a random secret. The caller must
// show the secret to its user, because the service never shows it again. The text of the secret is
// the key of the signature. A name has 1 to 64 ASCII letters, digits, spaces, hyphens and
// underscores, without a space at either end. RegisterProvider fails with Conflict when the name is
// in use or the domain already has store.MaxAuthProviders providers.
func (d *Delivery) RegisterProvider(ctx context.Context, domain passerelle.Domain, name, by string, acts ...store.Audit) (store.AuthProvider, error) {
	secret, err := d.newSecret()
	if err != nil {
		return store.AuthProvider{}, err
	}
	return d.keepProvider(ctx, domain, store.AuthProvider{Domain: domain.ID, Type: HMAC, Name: name, Secret: secret, Created: d.now(domain)}, by, acts)
}

// RegisterOAuth creates a provider that gets access tokens at a token endpoint. The certificate and
// its key are optional. All other fields of the endpoint are required. Names follow the rules of
// RegisterProvider.
func (d *Delivery) RegisterOAuth(ctx context.Context, domain passerelle.Domain, name string, c EndpointChange, by string, acts ...store.Audit) (store.AuthProvider, error) {
	a := store.AuthProvider{Domain: domain.ID, Type: OAuth, Name: name, Created: d.now(domain)}
	if err := checkProviderName(name); err != nil {
		return a, err
	}
	if err := c.apply(domain, &a, d.Now()); err != nil {
		return a, err
	}
	return d.keepProvider(ctx, domain, a, by, acts)
}

func (d *Delivery) newSecret() (string, error) {
	raw := make([]byte, secretSize)
	if _, err := io.ReadFull(d.Random, raw); err != nil {
		return "", fmt.Errorf("make a signing secret: %w", err)
	}
	return hex.EncodeToString(raw), nil
}

func (d *Delivery) keepProvider(ctx context.Context, domain passerelle.Domain, a store.AuthProvider, by string, acts []store.Audit) (store.AuthProvider, error) {
	if err := checkProviderName(a.Name); err != nil {
		return store.AuthProvider{}, err
	}
	err := d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.CreateAuthProvider(&a); err != nil {
			return err
		}
		return tx.AuditOf(a.ID, acts...)
	})
	if errors.Is(err, store.ErrFull) {
		return store.AuthProvider{}, passerelle.Conflicting("The domain has %d providers, which is the maximum; delete one first.", store.MaxAuthProviders)
	}
	if err != nil {
		return store.AuthProvider{}, providerFault("store", a, err)
	}
	d.logProviderAct(ctx, domain, "registered", a.ID, by)
	return a, nil
}

// logProviderAct logs an act on a provider, with the actor. It leaves out the configuration, which
// may contain secrets.
func (d *Delivery) logProviderAct(ctx context.Context, domain passerelle.Domain, what string, id int64, by string) {
	d.Log.InfoContext(ctx, "provider "+what, "domain", domain.ID, "provider", id, "by", by)
}

// ProviderChange is a change of a provider. A nil field leaves the value unchanged.
type ProviderChange struct {
	Name *string
	// Endpoint is only allowed for oauth providers.
	Endpoint EndpointChange
	// By is the actor of the change, for the log.
	By string
}

// UpdateProvider changes a provider. After a change of the endpoint, the service no longer uses
// access tokens of the previous endpoint. Simultaneous changes of different fields all take effect.
// UpdateProvider fails with NotFound when the provider does not exist. It fails with Conflict when
// the name is in use, or when too many changes of the provider happen at the same time.
func (d *Delivery) UpdateProvider(ctx context.Context, domain passerelle.Domain, id int64, c ProviderChange, acts ...store.Audit) (store.AuthProvider, error) {
	for range updateTries {
		a, err := d.tryUpdate(ctx, domain, id, c, acts)
		if err == nil {
			d.logProviderAct(ctx, domain, "changed", id, c.By)
		}
		if !errors.Is(err, store.ErrConflict) {
			return a, err
		}
	}
	busy := passerelle.Conflicting("Somebody else is changing the provider; try again in a moment.")
	busy.RetryAfter = 1
	return store.AuthProvider{}, busy
}

func (d *Delivery) tryUpdate(ctx context.Context, domain passerelle.Domain, id int64, c ProviderChange, acts []store.Audit) (store.AuthProvider, error) {
	a, err := d.Provider(ctx, domain, id)
	if err != nil {
		return a, err
	}
	former := a
	if err := c.apply(domain, &a, d.Now()); err != nil {
		return a, err
	}
	now := d.now(domain)
	a.Updated = &now
	err = d.DB.Write(ctx, func(tx *store.Tx) error {
		tx.RenameAuthProvider(domain.ID, id, c.Name, now)
		if c.Endpoint != (EndpointChange{}) {
			if err := tx.UpdateTokenEndpoint(former, a, now); err != nil {
				return err
			}
		}
		return tx.AuditOf(id, acts...)
	})
	return a, providerFault("update", a, err)
}

func (c ProviderChange) apply(domain passerelle.Domain, a *store.AuthProvider, now time.Time) error {
	if c.Name != nil {
		a.Name = *c.Name
	}
	if err := checkProviderName(a.Name); err != nil {
		return err
	}
	if a.Type == OAuth {
		return c.Endpoint.apply(domain, a, now)
	}
	return c.Endpoint.mustBeEmpty()
}

// Provider loads a provider. It fails with NotFound when the provider does not exist.
func (d *Delivery) Provider(ctx context.Context, domain passerelle.Domain, id int64) (store.AuthProvider, error) {
	a, err := d.DB.AuthProvider(ctx, domain.ID, id)
	return a, providerFault("load", store.AuthProvider{ID: id}, err)
}

// DeleteProvider deletes a provider. It fails with NotFound when the provider does not exist. The
// service sends nothing to webhooks with this provider until they have another provider. The
// managers of the domain get a mail about these webhooks.
func (d *Delivery) DeleteProvider(ctx context.Context, domain passerelle.Domain, id int64, by string, acts ...store.Audit) error {
	err := d.endProviders(ctx, domain, id, func(tx *store.Tx) error {
		tx.DeleteAuthProvider(domain.ID, id, d.now(domain))
		return tx.AuditOf(id, acts...)
	})
	if err != nil {
		return providerFault("delete", store.AuthProvider{ID: id}, err)
	}
	d.logProviderAct(ctx, domain, "deleted", id, by)
	return nil
}

// DeleteProviders does the same as DeleteProvider for all providers of a domain.
func (d *Delivery) DeleteProviders(ctx context.Context, domain passerelle.Domain, by string, acts ...store.Audit) error {
	err := d.endProviders(ctx, domain, 0, func(tx *store.Tx) error {
		tx.DeleteAuthProviders(domain.ID, d.now(domain))
		return tx.Audit(acts...)
	})
	if err != nil {
		return fmt.Errorf("delete the providers of domain %d: %w", domain.ID, err)
	}
	d.Log.InfoContext(ctx, "all providers deleted", "domain", domain.ID, "by", by)
	return nil
}

// endProviders stores the deletion of a provider, together with mails about the webhooks that use
// it. If provider is zero, all providers are deleted.
func (d *Delivery) endProviders(ctx context.Context, domain passerelle.Domain, provider int64, end func(*store.Tx) error) error {
	held, err := d.DB.WebhooksWithProvider(ctx, domain.ID, provider, shownUsers+1)
	if err != nil {
		return fmt.Errorf("list the webhooks that have provider %d: %w", provider, err)
	}
	values, err := settings.Load(ctx, &d.DB.Reader, domain.ID)
	if err != nil {
		return err
	}
	mails := mailContent{domain: domain, values: values, now: d.now(domain)}.held(held)
	return d.DB.Write(ctx, func(tx *store.Tx) error {
		for i := range mails {
			if err := tx.CreateMail(&mails[i]); err != nil {
				return err
			}
		}
		return end(tx)
	})
}

// Rotate replaces the secret of a signing provider with a new random secret. It returns the
// provider and the new secret. The caller must show the secret to its user, because the service
// never shows it again. During the overlap, both secrets sign requests. The signature of the new
// secret is in the header for the next signature. After the overlap, only the new secret signs. The
// overlap counts in real time, not in the domain's time. The overlap must be between zero and
// MaxOverlap. If it is zero, the new secret immediately replaces the old secret. A second Rotate
// during the overlap replaces the new secret of the first Rotate.
func (d *Delivery) Rotate(ctx context.Context, domain passerelle.Domain, id int64, overlap time.Duration, by string, acts ...store.Audit) (store.AuthProvider, string, error) {
	var (
		a      store.AuthProvider
		secret string
		err    error
	)
	if overlap < 0 || overlap > MaxOverlap {
		return a, "", passerelle.InvalidField("overlap", "must be from 0s to 30d")
	}
	if a, err = d.Provider(ctx, domain, id); err != nil {
		return a, "", err
	}
	if a.Type != HMAC {
		return a, "", passerelle.InvalidField("type", "a provider of type %s has no secret to rotate; update its config.client_secret", a.Type)
	}
	if secret, err = d.newSecret(); err != nil {
		return a, "", err
	}
	real, now := d.Now(), d.now(domain)
	replace(&a, secret, real, overlap)
	a.Updated = &now
	rotation := store.Rotation{Domain: domain.ID, Provider: id, Secret: secret, From: a.NextFrom}
	err = d.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.RotateSecret(rotation, real, now); err != nil {
			return err
		}
		return tx.AuditOf(id, acts...)
	})
	if err != nil {
		return a, secret, providerFault("rotate the secret of", a, err)
	}
	d.logProviderAct(ctx, domain, "given a new secret", id, by)
	return a, secret, nil
}

// replace sets the next secret of a provider or, without an overlap, the present secret.
func replace(a *store.AuthProvider, secret string, real time.Time, overlap time.Duration) {
	if overlap == 0 {
		a.Secret, a.NextSecret, a.NextFrom = secret, "", nil
		return
	}
	from := real.Add(overlap)
	a.Secret, _ = a.Secrets(real)
	a.NextSecret, a.NextFrom = secret, &from
}

// providerFault converts an error of the store to an error for clients.
func providerFault(verb string, a store.AuthProvider, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return passerelle.Missing()
	case errors.Is(err, store.ErrDuplicate):
		taken := passerelle.Conflicting("name: another provider is called %q", a.Name)
		taken.Field = "name"
		return taken
	}
	return fmt.Errorf("%s provider %d: %w", verb, a.ID, err)
}

// provider returns the id of the provider that has the argument name as its id or name. If name is
// the id of one provider and the name of another, the id counts. For an empty name, it returns
// zero, which means no provider.
func (d *Delivery) provider(ctx context.Context, domain passerelle.Domain, name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	a, err := d.DB.AuthProviderNamed(ctx, domain.ID, name)
	if id, none := strconv.ParseInt(name, 10, 64); none == nil {
		byID, missing := d.DB.AuthProvider(ctx, domain.ID, id)
		if !errors.Is(missing, store.ErrNotFound) {
			a, err = byID, missing
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return 0, noProvider()
	}
	if err != nil {
		return 0, fmt.Errorf("load a provider: %w", err)
	}
	return a.ID, nil
}

func noProvider() error {
	return passerelle.InvalidField("id_auth", "no provider with this id or name")
}

// useProvider prevents the deletion of a webhook's provider until tx ends.
func useProvider(tx *store.Tx, w store.Webhook) {
	if w.Auth != 0 && !w.AuthDeleted {
		tx.UseAuthProvider(w.Domain, w.Auth)
	}
}

func checkProviderName(name string) error {
	if name == "" {
		return passerelle.MissingField("name", "is required")
	}
	if len(name) > maxProviderName || strings.ContainsFunc(name, outsideName) || strings.TrimSpace(name) != name {
		return passerelle.InvalidField("name", "must have 1 to %d characters: ASCII letters, digits, spaces, hyphens and underscores, without a space at either end", maxProviderName)
	}
	return nil
}

func outsideName(r rune) bool {
	isAlpha := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	isDigit := '0' <= r && r <= '9'
	return !isAlpha && !isDigit && !strings.ContainsRune(" -_", r)
}
