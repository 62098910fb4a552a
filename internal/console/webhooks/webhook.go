package webhooks

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/delivery"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// webhookData is the content of a webhook's page, with one page of its deliveries.
type webhookData struct {
	webhookRow
	Facts []page.DetailRow
	// MayDeliver and MaySetUp are the rights of the operator.
	MayDeliver, MaySetUp bool
	// Meaning is the address of the page that explains the event, or empty.
	Meaning string
	// Trouble is the webhook's problem, with the remedy.
	Trouble trouble
	// Sending is set while the service sends undelivered events.
	Sending bool
	// Since is the time of the oldest undelivered event, or empty. Typed is the time that the operator
	// typed into the form, if the form had a mistake.
	Since, Typed string

	States      []string
	Only        string // the selected state
	First, Last string
	Deliveries  []deliveryRow
	page.Pager
}

// deliveryRow is a row in the list of deliveries.
type deliveryRow struct {
	ID                 passerelle.DeliveryID
	State              string
	Created, Delivered page.When
	Resource, Attempts int64
	// Payment is the number of the payment that the delivery is about, or zero.
	Payment int64
}

// webhook shows a webhook.
func (h *hooks) webhook(pc *page.Context) error {
	w, err := h.webhookAt(pc)
	if err != nil {
		return err
	}
	return h.showWebhook(pc, w)
}

func (h *hooks) showWebhook(pc *page.Context, w store.Webhook) error {
	rows, err := h.webhookRows(pc, []store.Webhook{w}, manyPending)
	if err != nil {
		return err
	}
	values, err := settings.Load(pc, &h.DB.Reader, pc.Domain.ID)
	if err != nil {
		return err
	}
	query := pc.Request.URL.Query()
	data := webhookData{
		webhookRow: rows[0], Facts: append(webhookFacts(pc, w, rows[0]), page.Details("Bodies", bodyForm(values, w.Event))...),
		MayDeliver: mayDeliver(pc), MaySetUp: pc.MaySetUp(),
		States: store.WebhookState("").Values(), Only: query.Get("state"), First: query.Get("first"), Last: query.Get("last"), Typed: pc.Field("since"),
	}
	if event, known := webhook.Lookup(string(w.Event)); known {
		data.Meaning = pc.Path("%s", EventPath(event))
	}
	waiting, err := h.DB.WebhookData(pc, store.WebhookDataFilter{Domain: pc.Domain.ID, Webhook: w.ID, State: store.WebhookPending}, store.Window{Backward: true, Limit: 1})
	if err != nil {
		return fmt.Errorf("find undelivered payloads of webhook %d: %w", w.ID, err)
	}
	if len(waiting) > 0 {
		data.Since = pc.Time(waiting[0].Created)
	}
	failure, err := h.lastFailure(pc, w)
	if err != nil {
		return err
	}
	data.addTrouble(pc, w, failure)
	if err := h.listDeliveries(pc, w, &data); err != nil && !pc.Reports(err) {
		return err
	}
	return pages.Send(pc, "webhook", fmt.Sprintf("Webhook %d", w.ID), data)
}

// trouble says why a webhook sends nothing, or that its last request failed. It is empty for a
// healthy webhook, and for a webhook whose authentication provider was deleted: Remark describes
// that problem.
type trouble struct {
	What, Detail string
	// Next is the time of the next attempt, if the service makes one.
	Next page.When
	// Act and Button are the remedy. They are empty without an act that the operator may do.
	Act, Button string
}

// sendingPause is the time after which the page reloads while the service sends undelivered events.
// When an attempt is late by sendingLimit, the page assumes that no sender runs.
const (
	sendingPause = 3 * time.Second
	sendingLimit = time.Minute
)

// addTrouble adds the problem of a webhook with its remedy. failure says why the last request
// failed, or is empty. While the service sends undelivered events, addTrouble ignores the failure.
func (d *webhookData) addTrouble(pc *page.Context, w store.Webhook, failure string) {
	switch {
	case w.Deleted != nil:
		d.Trouble = trouble{What: "This webhook is deleted.", Detail: "It receives nothing."}
		d.Trouble.offer(d.MaySetUp, actRestore, "Restore")
	case w.Disabled != nil:
		d.Trouble = trouble{What: "This webhook is disabled.", Detail: "It receives nothing, also no events that occur meanwhile."}
		d.Trouble.offer(d.MayDeliver, actEnable, "Enable")
	case failure != "" && isSending(pc, w):
		d.Sending = true
		if pc.Request.Method == http.MethodGet {
			pc.Reload = sendingPause
		}
	case failure != "":
		d.Trouble = trouble{What: "The last request failed: " + failure + ".", Detail: "Fix the endpoint, then send the waiting events.", Next: nextTry(pc, w)}
		if w.Stopped {
			d.Trouble.What = "The last " + page.Counted(w.ConsecutiveFailures, "request", "requests") + " failed. The last failure: " + failure + "."
			d.Trouble.Detail = "New events wait too. At intervals, the service tries some events again. It sends all when the endpoint accepts one. " + d.Trouble.Detail
		}
		d.Trouble.offer(d.MayDeliver && d.Since != "", actRecover, "Send waiting events now")
	}
}

func (t *trouble) offer(may bool, act, button string) {
	if may {
		t.Act, t.Button = act, button
	}
}

// isSending reports whether the flusher of a webhook became due less than sendingLimit ago. The
// page then assumes that the service sends undelivered events now.
func isSending(pc *page.Context, w store.Webhook) bool {
	if w.NextFlush == nil {
		return false
	}
	late := pc.Now().Sub(*w.NextFlush)
	return late >= 0 && late < sendingLimit
}

// lastFailure returns the reason why the last request to a webhook failed. It returns an empty text
// for webhooks that send nothing for another reason.
func (h *hooks) lastFailure(pc *page.Context, w store.Webhook) (string, error) {
	if w.ConsecutiveFailures == 0 || w.Deleted != nil || w.Disabled != nil || w.AuthDeleted {
		return "", nil
	}
	last, err := h.DB.WebhookLogs(pc, store.WebhookLogFilter{Domain: pc.Domain.ID, Webhook: w.ID}, store.Window{Limit: 1})
	if err != nil {
		return "", fmt.Errorf("read the last request to webhook %d: %w", w.ID, err)
	}
	if len(last) == 0 {
		return "", nil
	}
	return last[0].Failure, nil
}

func webhookFacts(pc *page.Context, w store.Webhook, row webhookRow) []page.DetailRow {
	event, _ := webhook.Lookup(row.Event)
	return slices.Concat(
		page.Details(
			"Event", row.Event, "Sent", event.Description, "URL", w.URL,
			"Provider", row.Provider, "Application", page.OrNothing(w.Client), "Only for user", page.OrNothing(w.User),
		),
		page.At("Registered", pc.When(w.Created)), page.At("Changed", pc.WhenEver(w.Updated)),
		page.At("Disabled", pc.WhenEver(w.Disabled)), page.At("Deleted", pc.WhenEver(w.Deleted)), page.At("Next attempt", nextTry(pc, w)),
	)
}

// bodyForm describes the format of request bodies, which the domain's settings choose.
func bodyForm(values settings.Values, event webhook.Event) string {
	form := "JSON"
	if values.On(settings.CFONB) && slices.Contains(webhook.StatementEvents(), event) {
		form = "CFONB 120 (" + settings.CFONB + ")"
	}
	if values.On(settings.Compression) {
		form += ", compressed with gzip (" + settings.Compression + ")"
	}
	return form
}

// nextTry returns the time at which the flusher sends again, if there is such a time in the future.
func nextTry(pc *page.Context, w store.Webhook) page.When {
	if w.Deleted != nil || w.Disabled != nil || w.AuthDeleted || w.NextFlush == nil || !w.NextFlush.After(pc.Now()) {
		return page.When{}
	}
	return pc.When(*w.NextFlush)
}

// listDeliveries adds the page of deliveries for the position in the address.
func (h *hooks) listDeliveries(pc *page.Context, w store.Webhook, data *webhookData) error {
	filter, err := data.filter(pc, w)
	if err != nil {
		return err
	}
	where := pc.Window(2)
	all, err := h.DB.WebhookData(pc, filter, where)
	if err != nil {
		return fmt.Errorf("list payloads of webhook %d: %w", w.ID, err)
	}
	all, data.Pager = page.Paged(pc, where, all, store.WebhookData.Place)
	for _, d := range all {
		data.Deliveries = append(data.Deliveries, deliveryRow{
			ID: d.ID, Created: pc.When(d.Created), State: string(d.State()), Delivered: pc.WhenEver(d.Delivered), Resource: d.Resource, Attempts: d.Attempts, Payment: paymentOf(d),
		})
	}
	return nil
}

// filter converts the form above the list to a filter.
func (d *webhookData) filter(pc *page.Context, w store.Webhook) (store.WebhookDataFilter, error) {
	var err error
	f := store.WebhookDataFilter{Domain: pc.Domain.ID, Webhook: w.ID, State: store.WebhookState(d.Only)}
	if d.Only != "" && f.State != store.WebhookPending && f.State != store.WebhookDelivered && f.State != store.WebhookDropped {
		return f, passerelle.InvalidField("State", "must be one of %q", d.States)
	}
	if d.First != "" {
		f.From, err = page.DayStart("From", d.First, pc.Zone, 0)
	}
	if err == nil && d.Last != "" {
		f.Until, err = page.DayStart("To", d.Last, pc.Zone, 1)
	}
	if err == nil {
		err = page.CheckDays("To", f.From, f.Until)
	}
	return f, err
}

// These are the acts on a webhook that have no page of their own. Forms and the audit log use these
// names.
const (
	actDisable = "disable webhook"
	actEnable  = "enable webhook"
	actDelete  = delivery.ActDeleteWebhook
	actRestore = "restore webhook"
	actRecover = delivery.ActRecoverWebhook
)

// webhookActs maps each act to a function that reports whether the operator may do the act.
var webhookActs = map[string]func(*page.Context) bool{
	actDisable: mayDeliver, actEnable: mayDeliver, actRecover: mayDeliver,
	actDelete: (*page.Context).MaySetUp, actRestore: (*page.Context).MaySetUp,
}

// actOnWebhook does the act of a button, with the same use case as the API.
func (h *hooks) actOnWebhook(pc *page.Context) error {
	w, err := h.webhookAt(pc)
	if err != nil {
		return err
	}
	act := pc.Field("act")
	may, known := webhookActs[act]
	switch {
	case !known:
		return page.ErrForm
	case !may(pc):
		return page.ErrForbidden
	case act == actRecover:
		return h.recoverWebhook(pc, w)
	}
	change, entry := delivery.WebhookUpdate{By: pc.By()}, pc.Record(act, delivery.SubjectWebhook, 0)
	switch act {
	case actDelete:
		err = h.Delivery.Delete(pc, pc.Domain, w.ID, pc.By(), entry)
	case actRestore:
		change.Deleted = new(false)
		_, err = h.Delivery.Update(pc, pc.Domain, w.ID, change, entry)
	default:
		change.Disabled = new(act == actDisable)
		_, err = h.Delivery.Update(pc, pc.Domain, w.ID, change, entry)
	}
	return h.afterAct(pc, w, err, doneTexts[act])
}

// doneTexts maps each act except actRecover to its confirmation.
var doneTexts = map[string]string{
	actDisable: "The webhook was disabled.", actEnable: "The webhook was enabled.", actDelete: "The webhook was deleted.", actRestore: "The webhook was restored.",
}

// afterAct shows the webhook again, or the reason for a refusal. Another operator may have deleted
// the webhook at the same time.
func (h *hooks) afterAct(pc *page.Context, w store.Webhook, err error, done string) error {
	if errors.Is(err, passerelle.NotFound) {
		err = passerelle.Conflicting("The webhook is deleted; restore it first.")
	}
	if pc.Reports(err) {
		return h.showWebhook(pc, w)
	}
	if err != nil {
		return err
	}
	return h.toWebhook(pc, w.ID, done)
}

// recoverWebhook starts the delivery of all undelivered events since an instant.
func (h *hooks) recoverWebhook(pc *page.Context, w store.Webhook) error {
	since, err := passerelle.ParseInstant("since", pc.Field("since"), pc.Zone)
	if err != nil {
		return h.afterAct(pc, w, err, "")
	}
	due, err := h.Delivery.Recover(pc, pc.Domain, w, since, pc.Record(actRecover, delivery.SubjectWebhook, 0))
	if err != nil {
		return h.afterAct(pc, w, err, "")
	}
	h.Wake()
	return h.toWebhook(pc, w.ID, recovered(due))
}

// recovered says how many undelivered events the service sends now.
func recovered(due int64) string {
	switch due {
	case 0:
		return "Nothing to send: no event since then waits."
	case 1:
		return "1 waiting event is being sent now."
	}
	return page.UpTo(due, delivery.MaxDue) + " waiting events are being sent now."
}
