package console

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/webhook"
)

var webhookRoutes = []route{
	{http.MethodGet, "domains/#/webhooks", (*Console).webhooks, false},
	{http.MethodGet, "domains/#/webhooks/new", (*Console).newWebhook, false},
	{http.MethodPost, "domains/#/webhooks/new", (*Console).registerWebhook, false},
	{http.MethodGet, "domains/#/webhooks/verify", (*Console).askToVerify, false},
	{http.MethodPost, "domains/#/webhooks/verify", (*Console).verify, false},
	{http.MethodGet, "domains/#/webhooks/#", (*Console).webhook, false},
	{http.MethodPost, "domains/#/webhooks/#", (*Console).actOnWebhook, false},
	{http.MethodGet, "domains/#/webhooks/#/edit", (*Console).editWebhook, false},
	{http.MethodPost, "domains/#/webhooks/#/edit", (*Console).changeWebhook, false},
	{http.MethodGet, "domains/#/webhooks/#/test", (*Console).askToTest, false},
	{http.MethodPost, "domains/#/webhooks/#/test", (*Console).test, false},
	{http.MethodGet, "domains/#/webhooks/#/data/#", (*Console).delivery, false},
	{http.MethodPost, "domains/#/webhooks/#/data/#/resend", (*Console).resend, false},
	{http.MethodPost, "domains/#/webhooks/#/data/#/reveal", (*Console).revealDelivery, false},
}

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
	turn
}

// webhookRow is a webhook and how it is doing. Texts are empty where there is
// nothing to say.
type webhookRow struct {
	ID                               passerelle.WebhookID
	State, Event, URL, Provider      string
	Client                           passerelle.ClientID
	User                             passerelle.UserID
	Success, Average, Pending        string
	Requests, Failures               int64
	LastSuccess, LastFailure, Remark string
}

// mayDeliver reports whether the operator may pause and repeat what webhooks are
// sent. Whoever sets a domain up may do that too.
func (v *visit) mayDeliver() bool {
	return v.who.May(admission.Deliver) && v.certain() || v.maySetUp()
}

// handling is the use cases of webhooks for one act of the operator, which is put
// on record there with what it is about.
func (c *Console) handling(v *visit, act string) *delivery.Delivery {
	return c.Delivery.Audited(c.record(v, act, "", 0))
}

// webhooks lists the webhooks of a domain, the oldest first.
func (c *Console) webhooks(v *visit) error {
	data := webhooksData{All: v.request.URL.Query().Has("all"), MaySetUp: v.maySetUp()}
	w := v.window(1)
	all, err := c.DB.Webhooks(v, store.WebhookFilter{Domain: v.domain.ID, All: data.All}, w)
	if err != nil {
		return fmt.Errorf("list the webhooks of domain %d: %w", v.domain.ID, err)
	}
	all, data.turn = page(v, w, all, func(one store.Webhook) []any { return byID(one.ID) })
	data.Rows, err = c.webhookRows(v, all, fewPending)
	if err != nil {
		return err
	}
	return c.send(v, "webhooks", "Webhooks", data)
}

// webhookRows adds to webhooks how they are doing, with the same few queries for
// one and for many.
func (c *Console) webhookRows(v *visit, all []store.Webhook, bound int) ([]webhookRow, error) {
	var (
		ids       []passerelle.WebhookID
		providers []int64
	)
	for _, w := range all {
		ids, providers = append(ids, w.ID), append(providers, w.Auth)
	}
	health, err := c.DB.Health(v, v.domain.ID, c.now(v), ids...)
	if err != nil {
		return nil, fmt.Errorf("read the health of webhooks: %w", err)
	}
	pending, err := c.DB.Pending(v, v.domain.ID, bound, ids...)
	if err != nil {
		return nil, fmt.Errorf("count what is undelivered: %w", err)
	}
	names, err := c.DB.AuthProviderNames(v, v.domain.ID, providers...)
	if err != nil {
		return nil, fmt.Errorf("read the names of providers: %w", err)
	}
	_, none := c.DB.OnlyClient(v, v.domain.ID)
	if none != nil && !errors.Is(none, store.ErrNotFound) {
		return nil, fmt.Errorf("look for the only application: %w", none)
	}
	rows := make([]webhookRow, len(all))
	for i, w := range all {
		rows[i] = v.webhookRow(w, health[w.ID])
		rows[i].Provider, rows[i].Pending = names[w.Auth], upTo(pending[w.ID], int64(bound))
		if w.Deleted == nil {
			rows[i].Remark = delivery.Warning(w, health[w.ID], w.Client != 0 || none == nil)
		}
	}
	return rows, nil
}

func (v *visit) webhookRow(w store.Webhook, h store.Health) webhookRow {
	row := webhookRow{
		ID: w.ID, State: webhookState(w), Event: string(w.Event), URL: cut(w.URL, shownURL), Client: w.Client, User: w.User,
		Requests: h.Requests, Failures: w.ConsecutiveFailures, LastSuccess: v.moment(w.LastSuccess), LastFailure: v.moment(w.LastFailure),
	}
	if h.Requests > 0 {
		row.Success = percent(h.Successes, h.Requests)
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
	webhookDisabled = "disabled"
	webhookDeleted  = "deleted"
)

func webhookState(w store.Webhook) string {
	switch {
	case w.Deleted != nil:
		return webhookDeleted
	case w.Disabled != nil:
		return webhookDisabled
	case w.Stopped:
		return webhookStopped
	}
	return webhookInUse
}

// upTo writes a number that was counted up to a bound.
func upTo(n, bound int64) string {
	if n >= bound {
		return strconv.FormatInt(bound, 10) + " or more"
	}
	return strconv.FormatInt(n, 10)
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
func (c *Console) newWebhook(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	return c.askForWebhook(v, webhookForm{Event: string(webhook.PaymentStateUpdated)})
}

// manySuggested is how many names of providers a form suggests.
const manySuggested = 50

func (c *Console) askForWebhook(v *visit, form webhookForm) error {
	var err error
	if form.Providers, err = c.suggested(v); err != nil {
		return err
	}
	form.Events = webhook.Events()
	title := "Register a webhook"
	if form.ID != 0 {
		title = fmt.Sprintf("Change webhook %d", form.ID)
	}
	return c.send(v, "webhook-form", title, form)
}

// suggested are the names of the first providers.
func (c *Console) suggested(v *visit) ([]string, error) {
	all, err := c.DB.AuthProviders(v, store.ProviderFilter{Domain: v.domain.ID}, store.Window{Limit: manySuggested})
	if err != nil {
		return nil, fmt.Errorf("list the providers of domain %d: %w", v.domain.ID, err)
	}
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Name
	}
	return names, nil
}

// webhookTyped is the form as it came.
func (v *visit) webhookTyped() webhookForm {
	return webhookForm{
		Event: v.field("event"), URL: strings.TrimSpace(v.field("url")), Provider: strings.TrimSpace(v.field("id_auth")),
		Client: strings.TrimSpace(v.field("id_service")), User: strings.TrimSpace(v.field("id_user")),
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
func (c *Console) registerWebhook(v *visit) error {
	if !v.maySetUp() {
		return errForbidden
	}
	form := v.webhookTyped()
	change, err := form.change()
	var made store.Webhook
	if err == nil {
		made, err = c.handling(v, "register webhook").Register(v, v.domain, delivery.Registration{
			Client: *change.Client, User: *change.User, Event: form.Event, URL: form.URL, Auth: form.Provider, By: v.by(),
		})
	}
	if known, is := told(err); is {
		v.problem = known
		return c.askForWebhook(v, form)
	}
	if err != nil {
		return err
	}
	c.toWebhook(v, made.ID)
	return nil
}

func (c *Console) toWebhook(v *visit, id passerelle.WebhookID) {
	web.Redirect(v.writer, v.path("/webhooks/%d", id))
}

// editWebhook shows a webhook in a form.
func (c *Console) editWebhook(v *visit) error {
	w, err := c.webhookAt(v)
	if err != nil {
		return err
	}
	if !v.maySetUp() {
		return errForbidden
	}
	names, err := c.DB.AuthProviderNames(v, v.domain.ID, w.Auth)
	if err != nil {
		return fmt.Errorf("read the name of provider %d: %w", w.Auth, err)
	}
	return c.askForWebhook(v, webhookForm{
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
func (c *Console) changeWebhook(v *visit) error {
	w, err := c.webhookAt(v)
	if err != nil {
		return err
	}
	if !v.maySetUp() {
		return errForbidden
	}
	form := v.webhookTyped()
	form.ID = w.ID
	change, err := form.change()
	if err == nil {
		change.By = v.by()
		_, err = c.handling(v, "change webhook").Update(v, v.domain, w.ID, change)
	}
	if known, is := told(err); is {
		v.problem = known
		return c.askForWebhook(v, form)
	}
	if err != nil {
		return err
	}
	c.toWebhook(v, w.ID)
	return nil
}

// webhookAt loads the webhook that the address names, whatever its state.
func (c *Console) webhookAt(v *visit) (store.Webhook, error) {
	w, err := c.DB.Webhook(v, v.domain.ID, passerelle.WebhookID(v.numbers[1]))
	if errors.Is(err, store.ErrNotFound) {
		return w, errNoPage
	}
	if err != nil {
		return w, fmt.Errorf("load webhook %d: %w", v.numbers[1], err)
	}
	return w, nil
}
