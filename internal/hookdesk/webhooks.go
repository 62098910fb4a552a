package hookdesk

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/delivery"
	"passerelle/internal/desk"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/webhook"
)

// How far the undelivered of each webhook of a list, and of one webhook, are
// counted.
const (
	fewPending  = 100
	manyPending = 1000
)

// shownURL is how many characters of an address a list shows.
const shownURL = 200

// webhooksData is a page of the webhooks of a domain.
type webhooksData struct {
	All      bool
	MaySetUp bool
	Rows     []webhookRow
	desk.Turn
}

// webhookRow is a webhook and how it is doing. Texts are empty where there is
// nothing to say.
type webhookRow struct {
	ID                               passerelle.WebhookID
	State, Event, URL, Provider      string
	Auth                             int64
	Client                           passerelle.ClientID
	User                             passerelle.UserID
	Success, Average, Pending        string
	Requests, Failures               int64
	LastSuccess, LastFailure, Remark string
}

// mayDeliver reports whether the operator may pause and repeat what webhooks are
// sent. Whoever sets a domain up may do that too.
func mayDeliver(v *desk.Visit) bool {
	return v.Who.May(admission.Deliver) && v.Certain() || v.MaySetUp()
}

// handling is the use cases of webhooks for one act of the operator, which is put
// on record there with what it is about.
func (h *hooks) handling(v *desk.Visit, act string) *delivery.Delivery {
	return h.Delivery.Audited(v.Record(act, "", 0))
}

// webhooks lists the webhooks of a domain, the oldest first.
func (h *hooks) webhooks(v *desk.Visit) error {
	data := webhooksData{All: v.Request.URL.Query().Has("all"), MaySetUp: v.MaySetUp()}
	w := v.Window(1)
	all, err := h.DB.Webhooks(v, store.WebhookFilter{Domain: v.Domain.ID, All: data.All}, w)
	if err != nil {
		return fmt.Errorf("list the webhooks of domain %d: %w", v.Domain.ID, err)
	}
	all, data.Turn = desk.Paged(v, w, all, func(one store.Webhook) []any { return desk.ByID(one.ID) })
	data.Rows, err = h.webhookRows(v, all, fewPending)
	if err != nil {
		return err
	}
	return pages.Send(v, "webhooks", "Webhooks", data)
}

// webhookRows adds to webhooks how they are doing, with the same few queries for
// one and for many.
func (h *hooks) webhookRows(v *desk.Visit, all []store.Webhook, bound int) ([]webhookRow, error) {
	var (
		ids       []passerelle.WebhookID
		providers []int64
	)
	for _, w := range all {
		ids, providers = append(ids, w.ID), append(providers, w.Auth)
	}
	health, err := h.DB.Health(v, v.Domain.ID, v.Now(), ids...)
	if err != nil {
		return nil, fmt.Errorf("read the health of webhooks: %w", err)
	}
	pending, err := h.DB.Pending(v, v.Domain.ID, bound, ids...)
	if err != nil {
		return nil, fmt.Errorf("count what is undelivered: %w", err)
	}
	names, err := h.DB.AuthProviderNames(v, v.Domain.ID, providers...)
	if err != nil {
		return nil, fmt.Errorf("read the names of providers: %w", err)
	}
	_, none := h.DB.OnlyClient(v, v.Domain.ID)
	if none != nil && !errors.Is(none, store.ErrNotFound) {
		return nil, fmt.Errorf("look for the only application: %w", none)
	}
	rows := make([]webhookRow, len(all))
	for i, w := range all {
		rows[i] = newWebhookRow(v, w, health[w.ID])
		rows[i].Provider, rows[i].Pending = names[w.Auth], desk.UpTo(pending[w.ID], int64(bound))
		if w.Deleted == nil {
			rows[i].Remark = delivery.Warning(w, health[w.ID], w.Client != 0 || none == nil)
		}
	}
	return rows, nil
}

func newWebhookRow(v *desk.Visit, w store.Webhook, h store.Health) webhookRow {
	row := webhookRow{
		ID: w.ID, State: webhookState(w), Event: string(w.Event), URL: cut(w.URL, shownURL), Auth: w.Auth, Client: w.Client, User: w.User,
		Requests: h.Requests, Failures: w.ConsecutiveFailures, LastSuccess: v.Moment(w.LastSuccess), LastFailure: v.Moment(w.LastFailure),
	}
	if h.Requests > 0 {
		row.Success = desk.Percent(h.Successes, h.Requests)
	}
	if h.Reached > 0 {
		row.Average = fmt.Sprintf("%d ms", h.Average().Milliseconds())
	}
	return row
}

// The states of a webhook, as pages name them.
const (
	webhookInUse    = "in use"
	webhookStopped  = "stopped"
	webhookHeldUp   = "held up"
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

// webhookForm is what can be set of a webhook, as it was typed.
type webhookForm struct {
	// ID is zero of one that is to be registered.
	ID                                 passerelle.WebhookID
	Event, URL, Provider, Client, User string
	Events                             []webhook.Entry
	Providers                          []string
}

// newWebhook shows the form for a webhook.
func (h *hooks) newWebhook(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	return h.askForWebhook(v, webhookForm{Event: string(webhook.PaymentStateUpdated)})
}

// manySuggested is how many names of providers a form suggests.
const manySuggested = 50

func (h *hooks) askForWebhook(v *desk.Visit, form webhookForm) error {
	var err error
	if form.Providers, err = h.suggested(v); err != nil {
		return err
	}
	form.Events = webhook.Events()
	title := "Register a webhook"
	if form.ID != 0 {
		title = fmt.Sprintf("Change webhook %d", form.ID)
	}
	return pages.Send(v, "webhook-form", title, form)
}

// suggested are the names of the first providers.
func (h *hooks) suggested(v *desk.Visit) ([]string, error) {
	all, err := h.DB.AuthProviders(v, store.ProviderFilter{Domain: v.Domain.ID}, store.Window{Limit: manySuggested})
	if err != nil {
		return nil, fmt.Errorf("list the providers of domain %d: %w", v.Domain.ID, err)
	}
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name
	}
	return names, nil
}

// webhookTyped is the form as it came.
func typedWebhook(v *desk.Visit) webhookForm {
	return webhookForm{
		Event: v.Field("event"), URL: strings.TrimSpace(v.Field("url")), Provider: strings.TrimSpace(v.Field("id_auth")),
		Client: strings.TrimSpace(v.Field("id_service")), User: strings.TrimSpace(v.Field("id_user")),
	}
}

// change is the change that a form asks for: all that is in it.
func (f webhookForm) change() (delivery.Change, error) {
	client, err := numberOf("id_service", f.Client)
	if err != nil {
		return delivery.Change{}, err
	}
	user, err := numberOf("id_user", f.User)
	if err != nil {
		return delivery.Change{}, err
	}
	return delivery.Change{
		Event: &f.Event, URL: &f.URL, Auth: &f.Provider, Client: new(passerelle.ClientID(client)), User: new(passerelle.UserID(user)),
	}, nil
}

// numberOf reads the number of something, zero for none.
func numberOf(field, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, passerelle.InvalidField(field, "must be a number, or empty for none")
	}
	return n, nil
}

// registerWebhook makes a webhook of what was typed.
func (h *hooks) registerWebhook(v *desk.Visit) error {
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	form := typedWebhook(v)
	change, err := form.change()
	var made store.Webhook
	if err == nil {
		made, err = h.handling(v, "register webhook").Register(v, v.Domain, delivery.Registration{
			Client: *change.Client, User: *change.User, Event: form.Event, URL: form.URL, Auth: form.Provider, By: v.By(),
		})
	}
	if known, is := desk.Told(err); is {
		v.Problem = known
		return h.askForWebhook(v, form)
	}
	if err != nil {
		return err
	}
	h.toWebhook(v, made.ID)
	return nil
}

func (h *hooks) toWebhook(v *desk.Visit, id passerelle.WebhookID) {
	web.Redirect(v.Writer, v.Path("/webhooks/%d", id))
}

// editWebhook shows a webhook in a form.
func (h *hooks) editWebhook(v *desk.Visit) error {
	w, err := h.webhookAt(v)
	if err != nil {
		return err
	}
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	names, err := h.DB.AuthProviderNames(v, v.Domain.ID, w.Auth)
	if err != nil {
		return fmt.Errorf("read the name of provider %d: %w", w.Auth, err)
	}
	return h.askForWebhook(v, webhookForm{
		ID: w.ID, Event: string(w.Event), URL: w.URL, Provider: providerText(w.Auth, names[w.Auth]), Client: orNothing(int64(w.Client)), User: orNothing(int64(w.User)),
	})
}

// providerText is what finds a provider: its name, unless that could be the number
// of another.
func providerText(id int64, name string) string {
	if _, err := strconv.ParseInt(name, 10, 64); err == nil {
		return strconv.FormatInt(id, 10)
	}
	return name
}

// orNothing writes a number, and nothing for none.
func orNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// changeWebhook makes of a webhook what was typed.
func (h *hooks) changeWebhook(v *desk.Visit) error {
	w, err := h.webhookAt(v)
	if err != nil {
		return err
	}
	if !v.MaySetUp() {
		return desk.ErrForbidden
	}
	form := typedWebhook(v)
	form.ID = w.ID
	change, err := form.change()
	if err == nil {
		change.By = v.By()
		_, err = h.handling(v, "change webhook").Update(v, v.Domain, w.ID, change)
	}
	if known, is := desk.Told(err); is {
		v.Problem = known
		return h.askForWebhook(v, form)
	}
	if err != nil {
		return err
	}
	h.toWebhook(v, w.ID)
	return nil
}

// webhookAt loads the webhook that the address names, whatever its state.
func (h *hooks) webhookAt(v *desk.Visit) (store.Webhook, error) {
	w, err := h.DB.Webhook(v, v.Domain.ID, passerelle.WebhookID(v.Numbers[1]))
	if errors.Is(err, store.ErrNotFound) {
		return w, desk.ErrNoPage
	}
	if err != nil {
		return w, fmt.Errorf("load webhook %d: %w", v.Numbers[1], err)
	}
	return w, nil
}
