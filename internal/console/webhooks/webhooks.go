// Package webhooks has the console pages about webhooks: registration, health, deliveries with
// their requests, and providers.
//
// The package owns these pages and the rules about which role sees which button on them. It does
// not send or sign anything. It calls the use cases of package delivery, as the API does. These use
// cases record the operators' acts. The package itself records only that an operator reveals hidden
// data. Package page finds the page for a request.
//
// A failure shows a page in plain words, as in package page.
package webhooks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/delivery"
	"passerelle/internal/operators"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// These are the largest numbers of undelivered events that a page counts: fewPending for each
// webhook in a list, and manyPending for a single webhook.
const (
	fewPending  = 100
	manyPending = 1000
)

// shownURL is the largest number of characters of an address that a list shows.
const shownURL = 200

// webhooksData is the content of a page that lists the domain's webhooks.
type webhooksData struct {
	// All includes disabled and deleted webhooks. Failing selects only webhooks with a problem.
	All, Failing bool
	MaySetUp     bool
	Rows         []webhookRow
	page.Pager
}

// webhookRow is a webhook with its health.
type webhookRow struct {
	ID                          passerelle.WebhookID
	State, Event, URL, Provider string
	Auth                        int64
	Client                      passerelle.ClientID
	User                        passerelle.UserID
	Success, Average, Pending   string
	Requests, Failures          int64
	LastSuccess, LastFailure    page.When
	Remark                      string
}

// mayDeliver reports whether the operator may pause webhooks and repeat deliveries. Operators who
// may set up a domain have this right too.
func mayDeliver(pc *page.Context) bool {
	return pc.Who.May(operators.Deliver) && pc.Certain() || pc.MaySetUp()
}

// webhooks lists the webhooks of a domain, oldest first.
func (h *hooks) webhooks(pc *page.Context) error {
	query := pc.Request.URL.Query()
	data := webhooksData{All: query.Has("all"), Failing: query.Has("failing"), MaySetUp: pc.MaySetUp()}
	w := pc.Window(1)
	w.Descending = false // the oldest first
	all, err := h.DB.Webhooks(pc, store.WebhookFilter{Domain: pc.Domain.ID, All: data.All, Failing: data.Failing}, w)
	if err != nil {
		return fmt.Errorf("list the webhooks of domain %d: %w", pc.Domain.ID, err)
	}
	all, data.Pager = page.Paged(pc, w, all, func(one store.Webhook) []any { return page.ByID(one.ID) })
	data.Rows, err = h.webhookRows(pc, all, fewPending)
	if err != nil {
		return err
	}
	return pages.Send(pc, "webhooks", "Webhooks", data)
}

// webhookRows returns webhooks with their health. The number of queries does not depend on the
// number of webhooks.
func (h *hooks) webhookRows(pc *page.Context, all []store.Webhook, bound int) ([]webhookRow, error) {
	var (
		ids       []passerelle.WebhookID
		providers []int64
	)
	for _, w := range all {
		ids, providers = append(ids, w.ID), append(providers, w.Auth)
	}
	health, err := h.DB.Health(pc, pc.Domain.ID, pc.Now(), ids...)
	if err != nil {
		return nil, fmt.Errorf("read the health of webhooks: %w", err)
	}
	pending, err := h.DB.Pending(pc, pc.Domain.ID, bound, ids...)
	if err != nil {
		return nil, fmt.Errorf("count undelivered payloads: %w", err)
	}
	names, err := h.DB.AuthProviderNames(pc, pc.Domain.ID, providers...)
	if err != nil {
		return nil, fmt.Errorf("read the names of providers: %w", err)
	}
	rows := make([]webhookRow, len(all))
	for i, w := range all {
		rows[i] = newWebhookRow(pc, w, health[w.ID])
		rows[i].Provider, rows[i].Pending = names[w.Auth], page.UpTo(pending[w.ID], int64(bound))
		if w.Deleted == nil {
			rows[i].Remark = delivery.Warning(w, health[w.ID])
		}
	}
	return rows, nil
}

func newWebhookRow(pc *page.Context, w store.Webhook, h store.Health) webhookRow {
	row := webhookRow{
		ID: w.ID, State: webhookState(w), Event: string(w.Event), URL: passerelle.Excerpt(w.URL, shownURL), Client: w.Client, User: w.User,
		Requests: h.Requests, Failures: w.ConsecutiveFailures, LastSuccess: pc.WhenEver(w.LastSuccess), LastFailure: pc.WhenEver(w.LastFailure),
	}
	if !w.AuthDeleted { // a deleted provider has no page
		row.Auth = w.Auth
	}
	if h.Requests > 0 {
		row.Success = page.Percent(h.Successes, h.Requests)
	}
	if h.Reached > 0 {
		row.Average = fmt.Sprintf("%d ms", h.Average().Milliseconds())
	}
	return row
}

// These are the names of the states of webhooks on pages.
const (
	webhookInUse    = "enabled"
	webhookStopped  = "only retries"
	webhookHeldUp   = "held back"
	webhookDisabled = "disabled"
	webhookDeleted  = "deleted"
)

func webhookState(w store.Webhook) string {
	switch {
	case w.Deleted != nil:
		return webhookDeleted
	case w.Disabled != nil:
		return webhookDisabled
	case w.AuthDeleted:
		return webhookHeldUp
	case w.Stopped:
		return webhookStopped
	}
	return webhookInUse
}

// webhookForm has the values in a form about a webhook.
type webhookForm struct {
	// ID is zero for a new webhook.
	ID                                 passerelle.WebhookID
	Event, URL, Provider, Client, User string
	Events                             []webhook.Entry
	Providers                          []string
	Clients                            []store.Client
}

// newWebhook shows the form for a new webhook. The address may name the webhook's event and
// application.
func (h *hooks) newWebhook(pc *page.Context) error {
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	form := webhookForm{Event: string(webhook.PaymentStateUpdated)}
	if event, known := webhook.Lookup(pc.Request.URL.Query().Get("event")); known {
		form.Event = string(event.Event)
	}
	if client, err := page.ParseID[int64]("id_service", pc.Request.URL.Query().Get("service")); err == nil {
		form.Client = page.OrNothing(client)
	}
	return h.askForWebhook(pc, form)
}

// manySuggested is the number of providers and of applications that a form suggests.
const manySuggested = 50

func (h *hooks) askForWebhook(pc *page.Context, form webhookForm) error {
	var err error
	if form.Providers, err = h.suggested(pc); err != nil {
		return err
	}
	if form.Clients, err = h.DB.ClientPage(pc, pc.Domain.ID, store.Window{Limit: manySuggested}); err != nil {
		return fmt.Errorf("list the applications of domain %d: %w", pc.Domain.ID, err)
	}
	form.Events = webhook.Events()
	title := "Register webhook"
	if form.ID != 0 {
		title = fmt.Sprintf("Change webhook %d", form.ID)
	}
	return pages.Send(pc, "webhook-form", title, form)
}

// suggested returns the names of the first providers of the domain.
func (h *hooks) suggested(pc *page.Context) ([]string, error) {
	all, err := h.DB.AuthProviders(pc, store.ProviderFilter{Domain: pc.Domain.ID}, store.Window{Limit: manySuggested})
	if err != nil {
		return nil, fmt.Errorf("list the providers of domain %d: %w", pc.Domain.ID, err)
	}
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name
	}
	return names, nil
}

// typedWebhook returns the form with the values that the operator typed.
func typedWebhook(pc *page.Context) webhookForm {
	return webhookForm{
		Event: pc.Field("event"), URL: strings.TrimSpace(pc.Field("url")), Provider: strings.TrimSpace(pc.Field("id_auth")),
		Client: strings.TrimSpace(pc.Field("id_service")), User: strings.TrimSpace(pc.Field("id_user")),
	}
}

// change converts the form to a change. The change sets all fields.
func (f webhookForm) change() (delivery.WebhookUpdate, error) {
	client, err := page.ParseID[passerelle.ClientID]("id_service", f.Client)
	if err != nil {
		return delivery.WebhookUpdate{}, err
	}
	user, err := page.ParseID[passerelle.UserID]("id_user", f.User)
	if err != nil {
		return delivery.WebhookUpdate{}, err
	}
	return delivery.WebhookUpdate{
		Event: &f.Event, URL: &f.URL, Auth: &f.Provider, Client: &client, User: &user,
	}, nil
}

// registerWebhook registers the webhook in the form.
func (h *hooks) registerWebhook(pc *page.Context) error {
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	form := typedWebhook(pc)
	change, err := form.change()
	var made store.Webhook
	if err == nil {
		made, err = h.Delivery.Register(pc, pc.Domain, delivery.Registration{
			Client: *change.Client, User: *change.User, Event: form.Event, URL: form.URL, Auth: form.Provider, By: pc.By(),
		}, pc.Record(delivery.ActRegisterWebhook, delivery.SubjectWebhook, 0))
	}
	if pc.Reports(err) {
		return h.askForWebhook(pc, form)
	}
	if err != nil {
		return err
	}
	return h.toWebhook(pc, made.ID, "The webhook was registered.")
}

// toWebhook redirects to the page of a webhook. That page shows a confirmation.
func (h *hooks) toWebhook(pc *page.Context, id passerelle.WebhookID, done string) error {
	return pc.Lead(pc.Path("/webhooks/%d", id), done)
}

// editWebhook shows a webhook in a form.
func (h *hooks) editWebhook(pc *page.Context) error {
	w, err := h.webhookAt(pc)
	if err != nil {
		return err
	}
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	names, err := h.DB.AuthProviderNames(pc, pc.Domain.ID, w.Auth)
	if err != nil {
		return fmt.Errorf("read the name of provider %d: %w", w.Auth, err)
	}
	return h.askForWebhook(pc, webhookForm{
		ID: w.ID, Event: string(w.Event), URL: w.URL, Provider: providerText(w.Auth, names[w.Auth]), Client: page.OrNothing(w.Client), User: page.OrNothing(w.User),
	})
}

// providerText returns the text that identifies a provider. This is the provider's name, or its
// number when the name could be the number of another provider.
func providerText(id int64, name string) string {
	if _, err := strconv.ParseInt(name, 10, 64); err == nil {
		return strconv.FormatInt(id, 10)
	}
	return name
}

// changeWebhook changes a webhook to the values in the form.
func (h *hooks) changeWebhook(pc *page.Context) error {
	w, err := h.webhookAt(pc)
	if err != nil {
		return err
	}
	if !pc.MaySetUp() {
		return page.ErrForbidden
	}
	form := typedWebhook(pc)
	form.ID = w.ID
	change, err := form.change()
	if err == nil {
		change.By = pc.By()
		if form.Client == "" && w.Client == 0 {
			change.Client = nil // zero would select the domain's only application
		}
		_, err = h.Delivery.Update(pc, pc.Domain, w.ID, change, pc.Record(delivery.ActChangeWebhook, delivery.SubjectWebhook, 0))
	}
	if pc.Reports(err) {
		return h.askForWebhook(pc, form)
	}
	if err != nil {
		return err
	}
	return h.toWebhook(pc, w.ID, "The webhook was changed.")
}

// webhookAt loads the webhook in the address. The webhook may have any state.
func (h *hooks) webhookAt(pc *page.Context) (store.Webhook, error) {
	w, err := h.DB.Webhook(pc, pc.Domain.ID, passerelle.WebhookID(pc.Numbers[1]))
	if errors.Is(err, store.ErrNotFound) {
		return w, page.ErrNoPage
	}
	if err != nil {
		return w, fmt.Errorf("load webhook %d: %w", pc.Numbers[1], err)
	}
	return w, nil
}
