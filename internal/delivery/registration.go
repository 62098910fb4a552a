package delivery

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// HMAC is the type of provider that signs requests with a secret, by the name
// that the interface specification gives it.
const HMAC = "hmac_signature"

const (
	maxProviderName = 64
	secretSize      = 32
)

// Registration is what can be set of a webhook, as clients write it.
type Registration struct {
	// Client is the application it belongs to, zero for none in particular.
	Client passerelle.ClientID
	Event  string
	URL    string
	// Auth is the provider that signs, by id or name; empty for none.
	Auth string
}

// Register makes a webhook. The event has to exist, the URL to be absolute,
// http or in a live domain https, of at most passerelle.MaxURL characters and
// without user info, and application and provider to be of the domain.
func (d *Delivery) Register(ctx context.Context, domain passerelle.Domain, r Registration) (store.Webhook, error) {
	w := store.Webhook{Domain: domain.ID, Client: r.Client, Created: d.now(domain)}
	if err := d.fill(ctx, domain, &w, r); err != nil {
		return store.Webhook{}, err
	}
	if err := d.checkClient(ctx, domain, r.Client); err != nil {
		return store.Webhook{}, err
	}
	if err := d.DB.Write(ctx, func(tx *store.Tx) error { return tx.CreateWebhook(&w) }); err != nil {
		return store.Webhook{}, fmt.Errorf("store a webhook: %w", err)
	}
	return w, nil
}

func (d *Delivery) checkClient(ctx context.Context, domain passerelle.Domain, id passerelle.ClientID) error {
	if id == 0 {
		return nil
	}
	_, err := d.DB.Client(ctx, domain.ID, id)
	if errors.Is(err, store.ErrNotFound) {
		return passerelle.InvalidField("id_service", "no application of that id")
	}
	if err != nil {
		return fmt.Errorf("load client %d: %w", id, err)
	}
	return nil
}

// Change says what to change of a webhook; nil leaves a thing as it is. The
// values are those of Registration.
type Change struct{ Event, URL, Auth *string }

// Update changes a webhook. What is undelivered goes to the new URL. A webhook
// that is not there or deleted is passerelle.Missing.
func (d *Delivery) Update(ctx context.Context, domain passerelle.Domain, id passerelle.WebhookID, c Change) (store.Webhook, error) {
	w, err := d.existing(ctx, domain, id)
	if err != nil {
		return store.Webhook{}, err
	}
	r := Registration{Event: string(w.Event), URL: w.URL}
	if w.Auth != 0 {
		r.Auth = strconv.FormatInt(w.Auth, 10)
	}
	for _, field := range []struct{ from, to *string }{{c.Event, &r.Event}, {c.URL, &r.URL}, {c.Auth, &r.Auth}} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
	if err := d.fill(ctx, domain, &w, r); err != nil {
		return store.Webhook{}, err
	}
	now := d.now(domain)
	w.Updated = &now
	return w, d.change(ctx, "update", id, func(tx *store.Tx) { tx.UpdateWebhook(w, now) })
}

// Delete ends a webhook. Nothing is sent to it any more, but for requests that
// are under way. One that is not there or deleted is passerelle.Missing.
func (d *Delivery) Delete(ctx context.Context, domain passerelle.Domain, id passerelle.WebhookID) error {
	return d.change(ctx, "delete", id, func(tx *store.Tx) { tx.DeleteWebhook(domain.ID, id, d.now(domain)) })
}

func (d *Delivery) existing(ctx context.Context, domain passerelle.Domain, id passerelle.WebhookID) (store.Webhook, error) {
	w, err := d.DB.Webhook(ctx, domain.ID, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && w.Deleted != nil {
		return w, passerelle.Missing()
	}
	if err != nil {
		return w, fmt.Errorf("load webhook %d: %w", id, err)
	}
	return w, nil
}

func (d *Delivery) change(ctx context.Context, verb string, id passerelle.WebhookID, with func(*store.Tx)) error {
	err := d.DB.Write(ctx, func(tx *store.Tx) error {
		with(tx)
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return passerelle.Missing()
	}
	if err != nil {
		return fmt.Errorf("%s webhook %d: %w", verb, id, err)
	}
	return nil
}

// fill checks a registration and puts it into a webhook.
func (d *Delivery) fill(ctx context.Context, domain passerelle.Domain, w *store.Webhook, r Registration) error {
	entry, known := webhook.Lookup(r.Event)
	if !known {
		return unknownEvent(r.Event)
	}
	url, err := parseURL(domain, r.URL)
	if err != nil {
		return err
	}
	auth, err := d.provider(ctx, domain, r.Auth)
	if err != nil {
		return err
	}
	w.Event, w.URL, w.Auth = entry.Event, url, auth
	return nil
}

func unknownEvent(name string) error {
	if name == "" {
		return passerelle.MissingField("event", "is required")
	}
	names := make([]string, 0, len(webhook.Events()))
	for _, entry := range webhook.Events() {
		names = append(names, string(entry.Event))
	}
	return passerelle.InvalidField("event", "must be one of %s", strings.Join(names, ", "))
}

func parseURL(domain passerelle.Domain, url string) (string, error) {
	if url == "" {
		return "", passerelle.MissingField("url", "is required")
	}
	if _, err := passerelle.ParseReturnURL("url", url); err != nil {
		return "", err
	}
	if domain.Kind == passerelle.Live && !strings.HasPrefix(strings.ToLower(url), "https:") {
		return "", passerelle.InvalidField("url", "must be an https URL: this domain is live")
	}
	return url, nil
}

// provider finds a provider by id or, failing that, by name; the empty name is
// no provider, and zero.
func (d *Delivery) provider(ctx context.Context, domain passerelle.Domain, name string) (int64, error) {
	if name == "" {
		return 0, nil
	}
	providers, err := d.DB.AuthProviders(ctx, domain.ID)
	if err != nil {
		return 0, fmt.Errorf("list providers: %w", err)
	}
	byID := func(a store.AuthProvider) bool { return strconv.FormatInt(a.ID, 10) == name }
	byName := func(a store.AuthProvider) bool { return a.Name == name }
	for _, matches := range []func(store.AuthProvider) bool{byID, byName} {
		if i := slices.IndexFunc(providers, matches); i >= 0 {
			return providers[i].ID, nil
		}
	}
	return 0, passerelle.InvalidField("id_auth", "no provider of that id or name")
}

// RegisterProvider makes a provider that signs requests, with a random secret,
// which is to be shown this once. The key of the signature is the text of the
// secret as it is. The name has 1 to 64 letters, digits, spaces, hyphens and
// underscores; one in use is a Conflict.
func (d *Delivery) RegisterProvider(ctx context.Context, domain passerelle.Domain, name string) (store.AuthProvider, error) {
	if err := checkProviderName(name); err != nil {
		return store.AuthProvider{}, err
	}
	raw := make([]byte, secretSize)
	if _, err := io.ReadFull(d.Random, raw); err != nil {
		return store.AuthProvider{}, fmt.Errorf("make a signing secret: %w", err)
	}
	a := store.AuthProvider{Domain: domain.ID, Type: HMAC, Name: name, Secret: hex.EncodeToString(raw), Created: d.now(domain)}
	err := d.DB.Write(ctx, func(tx *store.Tx) error { return tx.CreateAuthProvider(&a) })
	if errors.Is(err, store.ErrDuplicate) {
		taken := passerelle.Conflicting("name: another provider is called %q", name)
		taken.Field = "name"
		return store.AuthProvider{}, taken
	}
	if err != nil {
		return store.AuthProvider{}, fmt.Errorf("store a provider: %w", err)
	}
	return a, nil
}

func checkProviderName(name string) error {
	if name == "" {
		return passerelle.MissingField("name", "is required")
	}
	if len(name) > maxProviderName || strings.ContainsFunc(name, outsideName) || strings.TrimSpace(name) != name {
		return passerelle.InvalidField("name", "must have 1 to %d letters of ASCII, digits, spaces, hyphens and underscores, without a space at either end", maxProviderName)
	}
	return nil
}

func outsideName(r rune) bool {
	isLetter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	isDigit := '0' <= r && r <= '9'
	return !isLetter && !isDigit && !strings.ContainsRune(" -_", r)
}
