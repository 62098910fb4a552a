package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// Registration contains the data of a new webhook from a client.
type Registration struct {
	// Client is the application to which the webhook belongs. Zero means the only application of
	// the domain, or no application if the domain has none or several.
	Client passerelle.ClientID
	// User limits the webhook to the events of one user. Zero means no limit.
	User  passerelle.UserID
	Event string
	URL   string
	// Auth is the id or name of the provider that authenticates the requests. Empty means no
	// provider.
	Auth string
	// Disabled means that nothing is sent to the webhook until it is enabled.
	Disabled bool
	// By is the actor of the registration, for the log.
	By        string
	Execution store.Execution
}

// Register creates a webhook. The event must exist. The URL must be absolute and have the scheme
// https. Outside live domains, http is also allowed. The URL has at most passerelle.MaxURL
// characters and no user info. The application, the user and the provider must belong to the
// domain. A domain has at most store.MaxWebhooks webhooks. A webhook for events without a user
// cannot be limited to a user.
func (d *Delivery) Register(ctx context.Context, domain passerelle.Domain, r Registration, acts ...store.Audit) (store.Webhook, error) {
	now := d.now(domain)
	c, err := d.check(ctx, domain, WebhookUpdate{Event: &r.Event, URL: &r.URL, Auth: &r.Auth, Client: &r.Client, User: &r.User})
	if err == nil {
		err = checkLimit(*c.Event, r.User)
	}
	if err != nil {
		return store.Webhook{}, err
	}
	w := store.Webhook{Domain: domain.ID, Client: *c.Client, User: r.User, Event: *c.Event, URL: r.URL, Auth: *c.Auth, Created: now}
	if r.Disabled {
		w.Disabled = &now
	}
	err = d.DB.Write(ctx, func(tx *store.Tx) error {
		if w.Client != 0 {
			tx.UseClient(w.Domain, w.Client)
		}
		useProvider(tx, w)
		if err := tx.CreateWebhook(&w); err != nil {
			return err
		}
		if err := tx.Executed(r.Execution, int64(w.ID)); err != nil {
			return err
		}
		return tx.AuditOf(int64(w.ID), acts...)
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Webhook{}, d.lostOwner(ctx, w, err)
	case errors.Is(err, store.ErrConflict):
		return store.Webhook{}, tooMany()
	case err != nil:
		return store.Webhook{}, fmt.Errorf("store a webhook: %w", err)
	}
	d.logAct(ctx, domain, "registered", w.ID, r.By)
	return w, nil
}

func tooMany() error {
	return passerelle.Conflicting("The domain has %d webhooks, which is the maximum; delete one first.", store.MaxWebhooks)
}

// logAct logs an act on a webhook, with the actor. It leaves out the URL, which may contain a
// secret.
func (d *Delivery) logAct(ctx context.Context, domain passerelle.Domain, what string, id passerelle.WebhookID, by string) {
	d.Log.InfoContext(ctx, "webhook "+what, "domain", domain.ID, "webhook", id, "by", by)
}

// WebhookUpdate is a change of a webhook. A nil field leaves the value unchanged. The fields have
// the same meaning as in Registration. Deleted says whether to delete the webhook or to restore it.
// A restored webhook gets its pending deliveries.
type WebhookUpdate struct {
	Event, URL, Auth  *string
	Client            *passerelle.ClientID
	User              *passerelle.UserID
	Disabled, Deleted *bool
	// By is the actor of the change, for the log.
	By string
}

// Update changes a webhook. Undelivered events are sent to the new URL. Update fails with NotFound
// when the webhook does not exist, or when it is deleted and the change does not restore it. It
// fails with Conflict when the change restores the webhook and the domain has too many webhooks.
func (d *Delivery) Update(ctx context.Context, domain passerelle.Domain, id passerelle.WebhookID, c WebhookUpdate, acts ...store.Audit) (store.Webhook, error) {
	w, err := d.registered(ctx, domain, id)
	if err != nil {
		return store.Webhook{}, err
	}
	if w.Deleted != nil && !c.revives() {
		return store.Webhook{}, passerelle.Missing()
	}
	checked, err := d.check(ctx, domain, c)
	if err == nil {
		err = checkChange(w, checked)
	}
	if err != nil {
		return store.Webhook{}, err
	}
	if checked.Auth != nil {
		w.Auth, w.AuthDeleted = *checked.Auth, false
	}
	if checked.Client != nil {
		w.Client = *checked.Client
	}
	err = d.change(ctx, domain, "changed", id, c.By, acts, func(tx *store.Tx) {
		if checked.Client != nil && w.Client != 0 {
			tx.UseClient(domain.ID, w.Client)
		}
		if !c.ends() {
			useProvider(tx, w)
		}
		tx.ChangeWebhook(domain.ID, id, checked, d.now(domain))
	})
	if err != nil {
		return store.Webhook{}, d.lostOwner(ctx, w, err)
	}
	return d.registered(ctx, domain, id)
}

// revives reports whether the change restores a deleted webhook. ends reports whether the change
// deletes a webhook.
func (c WebhookUpdate) revives() bool { return c.Deleted != nil && !*c.Deleted }

func (c WebhookUpdate) ends() bool { return c.Deleted != nil && *c.Deleted }

// lostOwner returns an error that names the application or the provider of a webhook, if one of
// them was deleted in the meantime. The error of the store says only that something is missing.
func (d *Delivery) lostOwner(ctx context.Context, w store.Webhook, err error) error {
	if _, missing := d.DB.Client(ctx, w.Domain, w.Client); w.Client != 0 && errors.Is(missing, store.ErrNotFound) {
		return unlessFound(missing, "id_service", noApplication)
	}
	if _, missing := d.DB.AuthProvider(ctx, w.Domain, w.Auth); w.Auth != 0 && errors.Is(missing, store.ErrNotFound) {
		return noProvider()
	}
	return err
}

// Delete deletes a webhook. A process that is sending to the webhook stops when it stores its next
// results. Delete fails with NotFound when the webhook does not exist or is already deleted.
func (d *Delivery) Delete(ctx context.Context, domain passerelle.Domain, id passerelle.WebhookID, by string, acts ...store.Audit) error {
	yes := true
	return d.change(ctx, domain, "deleted", id, by, acts, func(tx *store.Tx) {
		tx.ChangeWebhook(domain.ID, id, store.WebhookChange{Deleted: &yes}, d.now(domain))
	})
}

// DeleteAll deletes all webhooks of a domain.
func (d *Delivery) DeleteAll(ctx context.Context, domain passerelle.Domain, by string, acts ...store.Audit) error {
	return d.change(ctx, domain, "deleted, as all of the domain", 0, by, acts, func(tx *store.Tx) {
		tx.DeleteWebhooks(domain.ID, d.now(domain))
	})
}

// registered loads a webhook, even if it is deleted. It fails with NotFound when the webhook does
// not exist.
func (d *Delivery) registered(ctx context.Context, domain passerelle.Domain, id passerelle.WebhookID) (store.Webhook, error) {
	w, err := d.DB.Webhook(ctx, domain.ID, id)
	if errors.Is(err, store.ErrNotFound) {
		return w, passerelle.Missing()
	}
	if err != nil {
		return w, fmt.Errorf("load webhook %d: %w", id, err)
	}
	return w, nil
}

func (d *Delivery) change(ctx context.Context, domain passerelle.Domain, what string, id passerelle.WebhookID, by string, acts []store.Audit, with func(*store.Tx)) error {
	err := d.DB.Write(ctx, func(tx *store.Tx) error {
		with(tx)
		return tx.AuditOf(int64(id), acts...)
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return passerelle.Missing()
	case errors.Is(err, store.ErrConflict):
		return tooMany()
	case err != nil:
		return fmt.Errorf("store that webhook %d is %s: %w", id, what, err)
	}
	d.logAct(ctx, domain, what, id, by)
	return nil
}

// check validates a change for the domain, and replaces names with ids.
func (d *Delivery) check(ctx context.Context, domain passerelle.Domain, c WebhookUpdate) (store.WebhookChange, error) {
	out := store.WebhookChange{URL: c.URL, Client: c.Client, User: c.User, Disabled: c.Disabled, Deleted: c.Deleted}
	if c.Event != nil {
		entry, known := webhook.Lookup(*c.Event)
		if !known {
			return out, unknownEvent(*c.Event)
		}
		out.Event = &entry.Event
	}
	if c.URL != nil {
		if err := checkURL(domain, "url", *c.URL); err != nil {
			return out, err
		}
	}
	if c.Auth != nil {
		auth, err := d.provider(ctx, domain, *c.Auth)
		if err != nil {
			return out, err
		}
		out.Auth = &auth
	}
	if c.Client != nil {
		client, err := d.application(ctx, domain, *c.Client)
		if err != nil {
			return out, err
		}
		out.Client = &client
	}
	return out, d.checkUser(ctx, domain, c)
}

const noApplication = "no application of that id"

// application returns the application of a webhook. For zero, it returns the only application of
// the domain, or zero when the domain has no application or several. The webhook keeps this result
// until its application is changed or deleted, so a new application does not add its user tokens to
// requests.
func (d *Delivery) application(ctx context.Context, domain passerelle.Domain, named passerelle.ClientID) (passerelle.ClientID, error) {
	if named != 0 {
		_, err := d.DB.Client(ctx, domain.ID, named)
		return named, unlessFound(err, "id_service", noApplication)
	}
	only, err := d.DB.OnlyClient(ctx, domain.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, fmt.Errorf("find the only client of domain %d: %w", domain.ID, err)
	}
	return only, nil
}

// checkUser checks that the user exists. Zero means no user.
func (d *Delivery) checkUser(ctx context.Context, domain passerelle.Domain, c WebhookUpdate) error {
	if c.User != nil && *c.User != 0 {
		_, err := d.DB.User(ctx, domain.ID, *c.User)
		return unlessFound(err, "id_user", "no user with this id")
	}
	return nil
}

// checkLimit fails when a webhook is limited to a user and its event never belongs to a user.
// Nothing would ever be sent to such a webhook.
func checkLimit(event webhook.Event, user passerelle.UserID) error {
	if entry, _ := webhook.Lookup(string(event)); user != 0 && !entry.OfUser() {
		return passerelle.InvalidField("id_user", "must be null for %s, which does not belong to a user", event)
	}
	return nil
}

// checkChange applies checkLimit to the changed webhook. A webhook that checkLimit would refuse can
// still be disabled or deleted. If the provider of a webhook was deleted, the change must not set
// Auth to zero, because stored events would then be sent without authentication.
func checkChange(w store.Webhook, c store.WebhookChange) error {
	if w.AuthDeleted && c.Auth != nil && *c.Auth == 0 {
		return passerelle.InvalidField("id_auth", "must be a provider: the previous one was deleted, and the webhook's waiting payloads are not sent without one")
	}
	if c.Event == nil && c.User == nil {
		return nil
	}
	return checkLimit(*cmp.Or(c.Event, &w.Event), *cmp.Or(c.User, &w.User))
}

func unlessFound(err error, field, message string) error {
	if errors.Is(err, store.ErrNotFound) {
		return passerelle.InvalidField(field, "%s", message)
	}
	if err != nil {
		return fmt.Errorf("find %s: %w", field, err)
	}
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

// checkURL checks an address to which the service will send requests on behalf of a client.
func checkURL(domain passerelle.Domain, field, url string) error {
	if url == "" {
		return passerelle.MissingField(field, "is required")
	}
	if _, err := passerelle.ParseReturnURL(field, url); err != nil {
		return err
	}
	if domain.Kind == passerelle.Live && !strings.HasPrefix(strings.ToLower(url), "https:") {
		return passerelle.InvalidField(field, "must be an https URL: this domain is live")
	}
	return nil
}
