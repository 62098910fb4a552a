package access

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// MaxName is the largest number of characters in an application's name.
const MaxName = 255

// These are the limits of an application's values, in characters or entries.
const (
	maxDescription = 4096
	maxRedirects   = 100
	maxConfigKeys  = 100
	maxConfigKey   = 255
	maxConfigValue = 4096
)

// Credentials contains the id and the secret of an application, and the address of the caller.
type Credentials struct {
	ClientID string
	Secret   string
	Address  string
}

func badCredentials() error {
	return &passerelle.Error{Kind: passerelle.Unauthenticated, Code: "invalidToken", Message: "client_id, client_secret: unknown application or wrong secret."}
}

func tooManyFailures(wait time.Duration) error {
	return &passerelle.Error{
		Kind: passerelle.Invalid, Code: "rateLimited", Message: "client_id, client_secret: too many wrong secrets from this address; try again later.",
		RetryAfter: int(math.Ceil(wait.Seconds())),
	}
}

// Application returns the client to which the credentials belong. It treats an unknown id like a
// wrong secret. After too many failures for an application from one address, it temporarily refuses
// even the right secret for this application from that address. The configuration keys
// auth.block_count and auth.block_seconds define the number of failures and the duration.
func (a *Access) Application(ctx context.Context, domain passerelle.DomainID, c Credentials) (store.Client, error) {
	values, err := settings.Load(ctx, &a.DB.Reader, domain)
	if err != nil {
		return store.Client{}, err
	}
	id, err := strconv.ParseInt(c.ClientID, 10, 64)
	if err != nil {
		id = 0 // no client has the id 0
	}
	who := newGuesser(domain, passerelle.ClientID(id), c.Address)
	if wait := a.throttle.wait(who, values.Int(settings.BlockCount), a.Now()); wait > 0 {
		return store.Client{}, tooManyFailures(wait)
	}
	client, err := a.DB.Client(ctx, domain, passerelle.ClientID(id))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Client{}, fmt.Errorf("load client %d: %w", id, err)
	}
	if subtle.ConstantTimeCompare(client.SecretHash, hash(c.Secret)) != 1 {
		a.throttle.fail(who, a.Now(), values.Seconds(settings.BlockSeconds))
		return store.Client{}, badCredentials()
	}
	a.throttle.forgive(who)
	a.uses.note(credential{domain: domain, client: client.ID}, client.Used, a.Now())
	return client, nil
}

// Sole returns the only application of a domain. This application owns the objects that are created
// without the name of an application. Sole returns zero when the domain does not have exactly one
// application.
func (a *Access) Sole(ctx context.Context, domain passerelle.DomainID) (passerelle.ClientID, error) {
	all, err := a.DB.Clients(ctx, domain)
	if err != nil {
		return 0, fmt.Errorf("list the clients: %w", err)
	}
	if len(all) != 1 {
		return 0, nil
	}
	return all[0].ID, nil
}

// Register creates an application and returns its secret. No later call returns the secret. It
// stores the application and the acts in one transaction.
func (a *Access) Register(ctx context.Context, domain passerelle.DomainID, name string, redirectURIs []string, acts ...store.Audit) (store.Client, string, error) {
	return a.Create(ctx, domain, ClientUpdate{Name: &name, RedirectURIs: redirectURIs}, acts...)
}

// Create creates an application with all its fields. It returns the secret like Register. It stores
// the change and the acts in one transaction.
func (a *Access) Create(ctx context.Context, domain passerelle.DomainID, c ClientUpdate, acts ...store.Audit) (store.Client, string, error) {
	c.ResetSecret = true
	return a.put(ctx, store.Client{Domain: domain, Created: a.Now()}, c, func(tx *store.Tx, client *store.Client) error {
		return errors.Join(tx.CreateClient(client), tx.AuditOf(int64(client.ID), acts...))
	})
}

// ClientUpdate is a change of an application. A nil field leaves the value unchanged.
type ClientUpdate struct {
	Name                                                *string
	RedirectURIs                                        []string
	PrimaryColor, SecondaryColor                        *string
	Description, DescriptionBanks, DescriptionProviders *string
	Pro                                                 *bool
	// Config replaces the configuration. With MergeConfig, it replaces only the keys in Config.
	// RemoveConfig lists keys that the update removes.
	Config       map[string]string
	MergeConfig  bool
	RemoveConfig []string
	// ResetSecret makes a new secret. The old secret then becomes invalid.
	ResetSecret bool
	// GenerateKeys makes a new key pair. Tokens with a signature of the old key pair then become
	// invalid.
	GenerateKeys bool
	// Logo is a picture in PNG or JPEG, which replaces an earlier logo. SetLogo describes the limits.
	Logo []byte
}

// Acts returns the entries of the update's acts in the audit log, which the function makes.
func (c ClientUpdate) Acts(entry func(act, subject string) store.Audit) []store.Audit {
	var acts []store.Audit
	for _, one := range []struct {
		name string
		done bool
	}{{ActChangeClient, c.changesFields()}, {ActResetSecret, c.ResetSecret}, {ActMakeKeys, c.GenerateKeys}, {ActSetLogo, c.Logo != nil}} {
		if one.done {
			acts = append(acts, entry(one.name, SubjectClient))
		}
	}
	return acts
}

func (c ClientUpdate) changesFields() bool {
	return c.Name != nil || c.RedirectURIs != nil || c.PrimaryColor != nil || c.SecondaryColor != nil || c.Description != nil ||
		c.DescriptionBanks != nil || c.DescriptionProviders != nil || c.Pro != nil || c.Config != nil || c.RemoveConfig != nil
}

// updateTries limits the attempts to change an application that others change at the same time.
const updateTries = 10

// Update changes an application and returns its new secret, if there is one. No later call returns
// the secret. Simultaneous changes do not undo each other. Update fails with store.ErrNotFound when
// the application does not exist, and with Conflict when too many changes of it happen at the same
// time. It stores the change and the acts in one transaction.
func (a *Access) Update(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID, c ClientUpdate, acts ...store.Audit) (store.Client, string, error) {
	for range updateTries {
		former, err := a.DB.Client(ctx, domain, id)
		if err != nil {
			return former, "", fmt.Errorf("load client %d: %w", id, err)
		}
		client, secret, err := a.put(ctx, former, c, func(tx *store.Tx, client *store.Client) error {
			return errors.Join(tx.UpdateClient(former, *client), tx.AuditOf(int64(id), acts...))
		})
		if !errors.Is(err, store.ErrConflict) {
			return client, secret, err
		}
	}
	busy := passerelle.Conflicting("Somebody else is changing the application; try again in a moment.")
	busy.RetryAfter = 1
	return store.Client{}, "", busy
}

func (a *Access) put(ctx context.Context, client store.Client, c ClientUpdate, write func(*store.Tx, *store.Client) error) (store.Client, string, error) {
	secret := c.apply(&client)
	if err := checkClient(client); err != nil {
		return client, "", err
	}
	var (
		private []byte
		logo    store.Logo
		err     error
	)
	if c.GenerateKeys {
		private, client.PublicKey, err = keyPair()
	}
	if err == nil && c.Logo != nil {
		logo, err = drawn(c.Logo)
	}
	if err != nil {
		return client, "", err
	}
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		err := write(tx, &client)
		if err == nil && private != nil {
			err = tx.SetClientKeys(client.Domain, client.ID, private, client.PublicKey)
		}
		if err == nil && c.Logo != nil {
			err = tx.SetLogo(client.Domain, client.ID, &logo, a.Now())
			client.Logo = logo.ID
		}
		return err
	})
	if err != nil {
		return client, "", fmt.Errorf("store client %d: %w", client.ID, err)
	}
	return client, secret, nil
}

func (c ClientUpdate) apply(client *store.Client) string {
	var secret string
	set(&client.Name, c.Name)
	set(&client.PrimaryColor, c.PrimaryColor)
	set(&client.SecondaryColor, c.SecondaryColor)
	set(&client.Description, c.Description)
	set(&client.DescriptionBanks, c.DescriptionBanks)
	set(&client.DescriptionProviders, c.DescriptionProviders)
	set(&client.Pro, c.Pro)
	if c.RedirectURIs != nil {
		client.RedirectURIs = c.RedirectURIs
	}
	if c.Config != nil || c.RemoveConfig != nil {
		client.Config = c.config(client.Config)
	}
	if c.ResetSecret {
		secret = randomHex(32)
		client.SecretHash = hash(secret)
	}
	return secret
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func (c ClientUpdate) config(present map[string]string) map[string]string {
	changed := map[string]string{}
	if c.MergeConfig || c.Config == nil {
		maps.Copy(changed, present)
	}
	maps.Copy(changed, c.Config)
	for _, key := range c.RemoveConfig {
		delete(changed, key)
	}
	return changed
}

func checkClient(client store.Client) error {
	if strings.TrimSpace(client.Name) == "" {
		return passerelle.MissingField("name", "an application needs a name that payers and operators can read")
	}
	if err := passerelle.CheckLine("name", client.Name, MaxName); err != nil {
		return err
	}
	for _, check := range []func(store.Client) error{checkRedirects, checkAppearance, checkConfig, checkFrame} {
		if err := check(client); err != nil {
			return err
		}
	}
	return nil
}

func checkRedirects(client store.Client) error {
	if len(client.RedirectURIs) > maxRedirects {
		return passerelle.InvalidField("redirect_uris", "must be at most %d", maxRedirects)
	}
	for i, uri := range client.RedirectURIs {
		if _, err := passerelle.ParseRedirectURI(fmt.Sprintf("redirect_uris[%d]", i), uri); err != nil {
			return err
		}
	}
	return nil
}

func checkAppearance(client store.Client) error {
	return cmp.Or(
		checkColor("primary_color", client.PrimaryColor, passerelle.TextContrast),
		checkColor("secondary_color", client.SecondaryColor, passerelle.GraphicContrast),
		passerelle.CheckText("description", client.Description, maxDescription),
		passerelle.CheckText("description_banks", client.DescriptionBanks, maxDescription),
		passerelle.CheckText("description_providers", client.DescriptionProviders, maxDescription),
	)
}

// checkColor fails when a colour is invalid, or has too little contrast for the pages.
func checkColor(field, value string, contrast float64) error {
	if value == "" {
		return nil
	}
	color, err := passerelle.ParseColor(field, value)
	return cmp.Or(err, color.CheckSeen(field, contrast))
}

func checkConfig(client store.Client) error {
	if len(client.Config) > maxConfigKeys {
		return passerelle.InvalidField("config", "an application has at most %d keys", maxConfigKeys)
	}
	for _, key := range slices.Sorted(maps.Keys(client.Config)) {
		if err := cmp.Or(passerelle.CheckLine("config", key, maxConfigKey), passerelle.CheckText("config."+key, client.Config[key], maxConfigValue)); err != nil {
			return err
		}
	}
	return nil
}

// Delete removes an application and ends its tokens. It fails with store.ErrNotFound when the
// application does not exist. It stores the change and the acts in one transaction.
func (a *Access) Delete(ctx context.Context, domain passerelle.DomainID, id passerelle.ClientID, acts ...store.Audit) (time.Time, error) {
	now := a.Now()
	return now, a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.DeleteClient(domain, id, now)
		return tx.AuditOf(int64(id), acts...)
	})
}
