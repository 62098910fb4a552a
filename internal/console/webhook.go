package console

import (
	"errors"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// webhookData is all about one webhook, with a page of what is for it.
type webhookData struct {
	webhookRow
	Facts []fact
	// MayDeliver and MaySetUp say which acts the operator has.
	MayDeliver, MaySetUp bool
	// Due says what came of asking for all that is undelivered.
	Due string

	States      []string
	Only        string // the state that is selected
	First, Last string
	Deliveries  []deliveryRow
	turn
}

// deliveryRow is a line of the list of what is for a webhook.
type deliveryRow struct {
	ID                        passerelle.DeliveryID
	Created, State, Delivered string
	Resource, Attempts        int64
}

// webhook shows a webhook.
func (c *Console) webhook(v *visit) error {
	w, err := c.webhookAt(v)
	if err != nil {
		return err
	}
	return c.showWebhook(v, w, "")
}

func (c *Console) showWebhook(v *visit, w store.Webhook, due string) error {
	rows, err := c.webhookRows(v, []store.Webhook{w}, manyPending)
	if err != nil {
		return err
	}
	values, err := settings.Load(v, &c.DB.Reader, v.domain.ID)
	if err != nil {
		return err
	}
	query := v.request.URL.Query()
	data := webhookData{
		webhookRow: rows[0], Facts: append(v.webhookFacts(w, rows[0]), fact{"Bodies", bodyForm(values, w.Event)}), Due: due,
		MayDeliver: v.mayDeliver(), MaySetUp: v.maySetUp(),
		States: store.WebhookState("").Values(), Only: query.Get("state"), First: query.Get("first"), Last: query.Get("last"),
	}
	err = c.listDeliveries(v, w, &data)
	if known, is := told(err); is {
		v.problem = known
	} else if err != nil {
		return err
	}
	return c.send(v, "webhook", fmt.Sprintf("Webhook %d", w.ID), data)
}

func (v *visit) webhookFacts(w store.Webhook, row webhookRow) []fact {
	return allOf(
		fact{"Event", row.Event}, fact{"URL", w.URL},
		fact{"Provider", row.Provider}, fact{"Application", orNothing(int64(w.Client))}, fact{"Only of user", orNothing(int64(w.User))},
		fact{"Registered", v.moment(&w.Created)}, fact{"Changed", v.moment(w.Updated)},
		fact{"Disabled", v.moment(w.Disabled)}, fact{"Deleted", v.moment(w.Deleted)}, fact{"Tried again", v.nextTry(w)},
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

// allOf is those facts of which something is known.
func allOf(facts ...fact) []fact {
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

// nextTry is when the flusher comes, where it does.
func (v *visit) nextTry(w store.Webhook) string {
	if w.Deleted != nil || w.Disabled != nil {
		return ""
	}
	return v.moment(w.NextFlush)
}

// listDeliveries reads the page of deliveries that the address asks for.
func (c *Console) listDeliveries(v *visit, w store.Webhook, data *webhookData) error {
	filter, err := data.filter(v, w)
	if err != nil {
		return err
	}
	where := v.window(2)
	all, err := c.DB.WebhookData(v, filter, where)
	if err != nil {
		return fmt.Errorf("list what is for webhook %d: %w", w.ID, err)
	}
	all, data.turn = page(v, where, all, store.WebhookData.Place)
	for _, d := range all {
		data.Deliveries = append(data.Deliveries, deliveryRow{
			ID: d.ID, Created: v.moment(&d.Created), State: string(d.State()), Delivered: v.moment(d.Delivered), Resource: d.Resource, Attempts: d.Attempts,
		})
	}
	return nil
}

// filter selects what the form above the list says.
func (d *webhookData) filter(v *visit, w store.Webhook) (f store.WebhookDataFilter, err error) {
	f = store.WebhookDataFilter{Domain: v.domain.ID, Webhook: w.ID, State: store.WebhookState(d.Only)}
	if d.Only != "" && f.State != store.WebhookPending && f.State != store.WebhookDelivered && f.State != store.WebhookDropped {
		return f, passerelle.InvalidField("state", "must be one of %q", d.States)
	}
	if d.First != "" {
		f.From, err = dayStart("first", d.First, v.zone, 0)
	}
	if err == nil && d.Last != "" {
		f.Until, err = dayStart("last", d.Last, v.zone, 1)
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
var webhookActs = map[string]func(*visit) bool{
	actDisable: (*visit).mayDeliver, actEnable: (*visit).mayDeliver, actRecover: (*visit).mayDeliver,
	actDelete: (*visit).maySetUp, actRestore: (*visit).maySetUp,
}

// actOnWebhook does what a button says, through the use case that the JSON
// interface calls for it.
func (c *Console) actOnWebhook(v *visit) error {
	w, err := c.webhookAt(v)
	if err != nil {
		return err
	}
	act := v.field("act")
	may, known := webhookActs[act]
	switch {
	case !known:
		return errForm
	case !may(v):
		return errForbidden
	case act == actRecover:
		return c.recoverWebhook(v, w)
	}
	do, change := c.handling(v, act), delivery.Change{By: v.by()}
	switch act {
	case actDelete:
		err = do.Delete(v, v.domain, w.ID, v.by())
	case actRestore:
		change.Deleted = new(false)
		_, err = do.Update(v, v.domain, w.ID, change)
	default:
		change.Disabled = new(act == actDisable)
		_, err = do.Update(v, v.domain, w.ID, change)
	}
	return c.afterAct(v, w, err)
}

// afterAct shows the webhook anew, or what kept the act from being done. Somebody
// else may have deleted it meanwhile.
func (c *Console) afterAct(v *visit, w store.Webhook, err error) error {
	if errors.Is(err, passerelle.NotFound) {
		err = passerelle.Conflicting("The webhook is deleted; make it live again first.")
	}
	if known, is := told(err); is {
		v.problem = known
		return c.showWebhook(v, w, "")
	}
	if err != nil {
		return err
	}
	c.toWebhook(v, w.ID)
	return nil
}

// recoverWebhook makes due what is undelivered since an instant.
func (c *Console) recoverWebhook(v *visit, w store.Webhook) error {
	since, err := passerelle.ParseInstant("since", v.field("since"), v.zone)
	if err != nil {
		return c.afterAct(v, w, err)
	}
	due, err := c.handling(v, actRecover).Recover(v, v.domain, w, since)
	if err != nil {
		return c.afterAct(v, w, err)
	}
	c.Initiation.Wake()
	return c.showWebhook(v, w, upTo(due, delivery.MaxDue)+" undelivered since "+v.moment(&since)+" are due now.")
}
