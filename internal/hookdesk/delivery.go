package hookdesk

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/desk"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/webhook"
)

const (
	// shownAttempts is how many requests a page of a delivery lists, and
	// shownAnswer how many characters of the answer to each.
	shownAttempts = 10
	shownAnswer   = 500
)

// deliveryData is one delivery and what was sent for it.
type deliveryData struct {
	Webhook passerelle.WebhookID
	ID      passerelle.DeliveryID
	State   string
	Facts   []desk.Fact
	// Payment is the one that the event is about, zero for none.
	Payment int64
	// Opening and Payload are what was signed; what was sent is Payload alone,
	// which has Size bytes and may be cut. Hidden tells that the operator may not
	// see it, or has not asked to.
	Opening, Payload     string
	Size                 int64
	Cut, Erased, Hidden  bool
	Headers              []delivery.Header
	Attempts             []attemptRow
	MayDeliver           bool
	Revealable, Revealed bool
	desk.Turn
}

// attemptRow is one request.
type attemptRow struct {
	At, Duration, Status, Failure, Answer, Detail, Opening, Signature, Next string
}

// delivery shows what is to be delivered, with what personal there is hidden.
func (h *hooks) delivery(v *desk.Visit) error {
	return h.showDelivery(v, v.Domain.Kind == passerelle.Sandbox)
}

// revealDelivery shows it whole, and puts on record that it was looked at.
func (h *hooks) revealDelivery(v *desk.Visit) error {
	if !v.MayReveal() {
		return desk.ErrForbidden
	}
	_, d, err := h.deliveryAt(v)
	if err != nil {
		return err
	}
	if err := v.RecordNow(desk.ActReveal, delivery.SubjectData, int64(d.ID)); err != nil {
		return err
	}
	return h.showDelivery(v, true)
}

// deliveryAt loads the webhook and the delivery that the address names.
func (h *hooks) deliveryAt(v *desk.Visit) (store.Webhook, store.WebhookData, error) {
	w, err := h.webhookAt(v)
	if err != nil {
		return w, store.WebhookData{}, err
	}
	d, err := h.DB.OneWebhookData(v, v.Domain.ID, w.ID, passerelle.DeliveryID(v.Numbers[2]))
	if errors.Is(err, store.ErrNotFound) {
		return w, d, desk.ErrNoPage
	}
	if err != nil {
		return w, d, fmt.Errorf("load delivery %d: %w", v.Numbers[2], err)
	}
	return w, d, nil
}

func (h *hooks) showDelivery(v *desk.Visit, whole bool) error {
	w, d, err := h.deliveryAt(v)
	if err != nil {
		return err
	}
	live := v.Domain.Kind != passerelle.Sandbox
	data := deliveryData{
		Webhook: w.ID, ID: d.ID, State: string(d.State()), Facts: deliveryFacts(v, w, d), MayDeliver: mayDeliver(v),
		Hidden: !whole, Revealable: !whole && v.MayReveal(), Revealed: whole && live,
	}
	if entry, _ := webhook.Lookup(string(d.Event)); entry.Subject == webhook.SubjectPayment && !d.Test() {
		data.Payment = d.Resource
	}
	if err := h.addSent(v, w, &data); err != nil {
		return err
	}
	if err := h.addAttempts(v, &data); err != nil {
		return err
	}
	return pages.Send(v, "delivery", fmt.Sprintf("Delivery %d", d.ID), data)
}

func deliveryFacts(v *desk.Visit, w store.Webhook, d store.WebhookData) []desk.Fact {
	return desk.Facts(
		"Event", string(d.Event), "To", w.URL, "Happened", v.Moment(&d.Created), "Of user", orNothing(int64(d.User)),
		"Held back until", v.Moment(d.NotBefore), "Accepted", v.Moment(d.Delivered), "Given up", givenUp(v, d),
		"Requests", strconv.FormatInt(d.Attempts, 10), "Tried again", nextTryOf(v, w, d), "Media type", d.MediaType,
	)
}

// givenUp says when and why a delivery was given up.
func givenUp(v *desk.Visit, d store.WebhookData) string {
	if d.State() != store.WebhookDropped {
		return ""
	}
	return v.Moment(d.Dropped) + ": " + d.DropReason
}

// nextTryOf is when a delivery is tried again at the earliest, where that is known.
func nextTryOf(v *desk.Visit, w store.Webhook, d store.WebhookData) string {
	if d.State() != store.WebhookPending || d.Attempts == 0 && !w.Stopped {
		return ""
	}
	return nextTry(v, w)
}

// addSent adds what the last request carried.
func (h *hooks) addSent(v *desk.Visit, w store.Webhook, data *deliveryData) error {
	sent, err := h.Delivery.Sent(v, v.Domain, w, data.ID)
	if err != nil {
		return err
	}
	data.Headers, data.Size, data.Erased, data.Cut = sent.Headers, sent.Size, sent.Erased, sent.Size > int64(len(sent.Payload))
	if !data.Hidden {
		data.Payload = string(sent.Payload)
	}
	return nil
}

// addAttempts adds the page of requests that the address asks for.
func (h *hooks) addAttempts(v *desk.Visit, data *deliveryData) error {
	where := v.Window(2)
	where.Limit = shownAttempts + 1
	all, err := h.DB.AttemptsOf(v, v.Domain.ID, data.ID, where)
	if err != nil {
		return fmt.Errorf("list the requests for delivery %d: %w", data.ID, err)
	}
	all, data.Turn = desk.Paged(v, where, all, store.WebhookLog.Place)
	for _, l := range all {
		data.Attempts = append(data.Attempts, newAttemptRow(v, l, data.Hidden))
	}
	if len(all) > 0 && where.From == nil {
		data.Opening = all[0].Signed.Opening
	}
	return nil
}

// attemptRow leaves out what a receiver answered where that may be about real
// people.
func newAttemptRow(v *desk.Visit, l store.WebhookLog, hidden bool) attemptRow {
	row := attemptRow{
		At: v.Moment(&l.At), Duration: fmt.Sprintf("%d ms", l.Duration.Milliseconds()), Status: "no answer", Failure: l.Failure,
		Answer: cut(l.Answer, shownAnswer), Detail: l.Detail, Opening: l.Signed.Opening, Signature: l.Signed.Signature, Next: l.Signed.Next,
	}
	if l.Status != 0 {
		row.Status = strconv.Itoa(l.Status)
	}
	if hidden && l.Answer != "" {
		row.Answer = "(hidden)"
	}
	return row
}

// cut is the beginning of a text that is longer than so many characters.
func cut(text string, characters int) string {
	if utf8.RuneCountInString(text) <= characters {
		return text
	}
	return string([]rune(text)[:characters]) + "…"
}

// resend sends a delivery once more, now.
func (h *hooks) resend(v *desk.Visit) error {
	w, d, err := h.deliveryAt(v)
	if err != nil {
		return err
	}
	if !mayDeliver(v) {
		return desk.ErrForbidden
	}
	err = h.handling(v, "resend webhook data").Resend(v, v.Domain, w, d.ID)
	if known, is := desk.Told(err); is {
		v.Problem = known
		return h.delivery(v)
	}
	if err != nil {
		return err
	}
	h.toDelivery(v, w.ID, d.ID)
	return nil
}

func (h *hooks) toDelivery(v *desk.Visit, w passerelle.WebhookID, d passerelle.DeliveryID) {
	web.Redirect(v.Writer, v.Path("/webhooks/%d/data/%d", w, d))
}
