package hookdesk

import (
	"errors"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/desk"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// webhookData is all about one webhook, with a page of what is for it.
type webhookData struct {
	webhookRow
	Facts []desk.Fact
	// MayDeliver and MaySetUp say which acts the operator has.
	MayDeliver, MaySetUp bool
	// Due says what came of asking for all that is undelivered.
	Due string

	States      []string
	Only        string // the state that is selected
	First, Last string
	Deliveries  []deliveryRow
	desk.Turn
}

// deliveryRow is a line of the list of what is for a webhook.
type deliveryRow struct {
	ID                        passerelle.DeliveryID
	Created, State, Delivered string
	Resource, Attempts        int64
}

// webhook shows a webhook.
func (h *hooks) webhook(v *desk.Visit) error {
	w, err := h.webhookAt(v)
	if err != nil {
		return err
	}
	return h.showWebhook(v, w, "")
}

func (h *hooks) showWebhook(v *desk.Visit, w store.Webhook, due string) error {
	rows, err := h.webhookRows(v, []store.Webhook{w}, manyPending)
	if err != nil {
		return err
	}
	values, err := settings.Load(v, &h.DB.Reader, v.Domain.ID)
	if err != nil {
		return err
	}
	query := v.Request.URL.Query()
	data := webhookData{
		webhookRow: rows[0], Facts: append(webhookFacts(v, w, rows[0]), desk.Facts("Bodies", bodyForm(values, w.Event))...), Due: due,
		MayDeliver: mayDeliver(v), MaySetUp: v.MaySetUp(),
		States: store.WebhookState("").Values(), Only: query.Get("state"), First: query.Get("first"), Last: query.Get("last"),
	}
	err = h.listDeliveries(v, w, &data)
	if known, is := desk.Told(err); is {
		v.Problem = known
	} else if err != nil {
		return err
	}
	return pages.Send(v, "webhook", fmt.Sprintf("Webhook %d", w.ID), data)
}

func webhookFacts(v *desk.Visit, w store.Webhook, row webhookRow) []desk.Fact {
	return desk.Facts(
		"Event", row.Event, "URL", w.URL,
		"Provider", row.Provider, "Application", orNothing(int64(w.Client)), "Only of user", orNothing(int64(w.User)),
		"Registered", v.Moment(&w.Created), "Changed", v.Moment(w.Updated),
		"Disabled", v.Moment(w.Disabled), "Deleted", v.Moment(w.Deleted), "Tried again", nextTry(v, w),
	)
}

// bodyForm says how bodies are sent, which is set for the whole domain.
func bodyForm(values settings.Values, event webhook.Event) string {
	form := "JSON"
	if values.On(settings.CFONB) && slices.Contains(webhook.Stated(), event) {
		form = "CFONB 120 (" + settings.CFONB + ")"
	}
	if values.On(settings.Compression) {
		form += ", compressed with gzip (" + settings.Compression + ")"
	}
	return form
}

// nextTry is when the flusher comes, where it does.
func nextTry(v *desk.Visit, w store.Webhook) string {
	if w.Deleted != nil || w.Disabled != nil || w.AuthDeleted {
		return ""
	}
	return v.Moment(w.NextFlush)
}

// listDeliveries reads the page of deliveries that the address asks for.
func (h *hooks) listDeliveries(v *desk.Visit, w store.Webhook, data *webhookData) error {
	filter, err := data.filter(v, w)
	if err != nil {
		return err
	}
	where := v.Window(2)
	all, err := h.DB.WebhookData(v, filter, where)
	if err != nil {
		return fmt.Errorf("list what is for webhook %d: %w", w.ID, err)
	}
	all, data.Turn = desk.Paged(v, where, all, store.WebhookData.Place)
	for _, d := range all {
		data.Deliveries = append(data.Deliveries, deliveryRow{
			ID: d.ID, Created: v.Moment(&d.Created), State: string(d.State()), Delivered: v.Moment(d.Delivered), Resource: d.Resource, Attempts: d.Attempts,
		})
	}
	return nil
}

// filter selects what the form above the list says.
func (d *webhookData) filter(v *desk.Visit, w store.Webhook) (f store.WebhookDataFilter, err error) {
	f = store.WebhookDataFilter{Domain: v.Domain.ID, Webhook: w.ID, State: store.WebhookState(d.Only)}
	if d.Only != "" && f.State != store.WebhookPending && f.State != store.WebhookDelivered && f.State != store.WebhookDropped {
		return f, passerelle.InvalidField("state", "must be one of %q", d.States)
	}
	if d.First != "" {
		f.From, err = desk.DayStart("first", d.First, v.Zone, 0)
	}
	if err == nil && d.Last != "" {
		f.Until, err = desk.DayStart("last", d.Last, v.Zone, 1)
	}
	return f, err
}

// The acts on a webhook that have no page of their own, as forms and the audit log
// name them.
const (
	actDisable = "disable webhook"
	actEnable  = "enable webhook"
	actDelete  = "delete webhook"
	actRestore = "restore webhook"
	actRecover = "recover webhook"
)

// webhookActs tells who may do each act.
var webhookActs = map[string]func(*desk.Visit) bool{
	actDisable: mayDeliver, actEnable: mayDeliver, actRecover: mayDeliver,
	actDelete: (*desk.Visit).MaySetUp, actRestore: (*desk.Visit).MaySetUp,
}

// actOnWebhook does what a button says, through the use case that the JSON
// interface calls for it.
func (h *hooks) actOnWebhook(v *desk.Visit) error {
	w, err := h.webhookAt(v)
	if err != nil {
		return err
	}
	act := v.Field("act")
	may, known := webhookActs[act]
	switch {
	case !known:
		return desk.ErrForm
	case !may(v):
		return desk.ErrForbidden
	case act == actRecover:
		return h.recoverWebhook(v, w)
	}
	do, change := h.handling(v, act), delivery.Change{By: v.By()}
	switch act {
	case actDelete:
		err = do.Delete(v, v.Domain, w.ID, v.By())
	case actRestore:
		change.Deleted = new(false)
		_, err = do.Update(v, v.Domain, w.ID, change)
	default:
		change.Disabled = new(act == actDisable)
		_, err = do.Update(v, v.Domain, w.ID, change)
	}
	return h.afterAct(v, w, err)
}

// afterAct shows the webhook anew, or what kept the act from being done. Somebody
// else may have deleted it meanwhile.
func (h *hooks) afterAct(v *desk.Visit, w store.Webhook, err error) error {
	if errors.Is(err, passerelle.NotFound) {
		err = passerelle.Conflicting("The webhook is deleted; make it live again first.")
	}
	if known, is := desk.Told(err); is {
		v.Problem = known
		return h.showWebhook(v, w, "")
	}
	if err != nil {
		return err
	}
	h.toWebhook(v, w.ID)
	return nil
}

// recoverWebhook makes due what is undelivered since an instant.
func (h *hooks) recoverWebhook(v *desk.Visit, w store.Webhook) error {
	since, err := passerelle.ParseInstant("since", v.Field("since"), v.Zone)
	if err != nil {
		return h.afterAct(v, w, err)
	}
	due, err := h.handling(v, actRecover).Recover(v, v.Domain, w, since)
	if err != nil {
		return h.afterAct(v, w, err)
	}
	h.Wake()
	return h.showWebhook(v, w, desk.UpTo(due, delivery.MaxDue)+" undelivered since "+v.Moment(&since)+" are due now.")
}
