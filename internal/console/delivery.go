package console

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/delivery"
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
	Facts   []fact
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
	turn
}

// attemptRow is one request.
type attemptRow struct {
	At, Duration, Status, Failure, Answer, Detail, Opening, Signature, Next string
}

// delivery shows what is to be delivered, with what personal there is hidden.
func (c *Console) delivery(v *visit) error {
	return c.showDelivery(v, v.domain.Kind == passerelle.Sandbox)
}

// revealDelivery shows it whole, and puts on record that it was looked at.
func (c *Console) revealDelivery(v *visit) error {
	if !c.mayReveal(v) {
		return errForbidden
	}
	w, d, err := c.deliveryAt(v)
	if err != nil {
		return err
	}
	entry := c.record(v, "look at personal data", delivery.SubjectData, int64(d.ID))
	if err := c.DB.Write(v, func(tx *store.Tx) error { return tx.Audit(entry) }); err != nil {
		return fmt.Errorf("record a look at delivery %d of webhook %d: %w", d.ID, w.ID, err)
	}
	return c.showDelivery(v, true)
}

// deliveryAt loads the webhook and the delivery that the address names.
func (c *Console) deliveryAt(v *visit) (store.Webhook, store.WebhookData, error) {
	w, err := c.webhookAt(v)
	if err != nil {
		return w, store.WebhookData{}, err
	}
	d, err := c.DB.OneWebhookData(v, v.domain.ID, w.ID, passerelle.DeliveryID(v.numbers[2]))
	if errors.Is(err, store.ErrNotFound) {
		return w, d, errNoPage
	}
	if err != nil {
		return w, d, fmt.Errorf("load delivery %d: %w", v.numbers[2], err)
	}
	return w, d, nil
}

func (c *Console) showDelivery(v *visit, whole bool) error {
	w, d, err := c.deliveryAt(v)
	if err != nil {
		return err
	}
	live := v.domain.Kind != passerelle.Sandbox
	data := deliveryData{
		Webhook: w.ID, ID: d.ID, State: string(d.State()), Facts: v.deliveryFacts(w, d), MayDeliver: v.mayDeliver(),
		Hidden: !whole, Revealable: !whole && c.mayReveal(v), Revealed: whole && live,
	}
	if entry, _ := webhook.Lookup(string(d.Event)); entry.Subject == webhook.SubjectPayment && !d.Test() {
		data.Payment = d.Resource
	}
	if err := c.addSent(v, w, &data); err != nil {
		return err
	}
	if err := c.addAttempts(v, &data); err != nil {
		return err
	}
	return c.send(v, "delivery", fmt.Sprintf("Delivery %d", d.ID), data)
}

func (v *visit) deliveryFacts(w store.Webhook, d store.WebhookData) []fact {
	return allOf(
		fact{"Event", string(d.Event)}, fact{"To", w.URL}, fact{"Happened", v.moment(&d.Created)}, fact{"Of user", orNothing(int64(d.User))},
		fact{"Held back until", v.moment(d.NotBefore)}, fact{"Accepted", v.moment(d.Delivered)}, fact{"Given up", v.givenUp(d)},
		fact{"Requests", strconv.FormatInt(d.Attempts, 10)}, fact{"Tried again", v.nextTryOf(w, d)}, fact{"Media type", d.MediaType},
	)
}

// givenUp says when and why a delivery was given up.
func (v *visit) givenUp(d store.WebhookData) string {
	if d.State() != store.WebhookDropped {
		return ""
	}
	return v.moment(d.Dropped) + ": " + d.DropReason
}

// nextTryOf is when a delivery is tried again at the earliest, where that is known.
func (v *visit) nextTryOf(w store.Webhook, d store.WebhookData) string {
	if d.State() != store.WebhookPending || d.Attempts == 0 && !w.Stopped {
		return ""
	}
	return v.nextTry(w)
}

// addSent adds what the last request carried.
func (c *Console) addSent(v *visit, w store.Webhook, data *deliveryData) error {
	sent, err := c.Delivery.Sent(v, v.domain, w, data.ID)
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
func (c *Console) addAttempts(v *visit, data *deliveryData) error {
	where := v.window(1)
	where.Limit = shownAttempts + 1
	all, err := c.DB.AttemptsOf(v, v.domain.ID, data.ID, where)
	if err != nil {
		return fmt.Errorf("list the requests for delivery %d: %w", data.ID, err)
	}
	all, data.turn = page(v, where, all, func(l store.WebhookLog) []any { return byID(l.ID) })
	for _, l := range all {
		data.Attempts = append(data.Attempts, v.attemptRow(l, data.Hidden))
	}
	if len(all) > 0 && where.From == nil {
		data.Opening = all[0].Signed.Opening
	}
	return nil
}

// attemptRow leaves out what a receiver answered where that may be about real
// people.
func (v *visit) attemptRow(l store.WebhookLog, hidden bool) attemptRow {
	row := attemptRow{
		At: v.moment(&l.At), Duration: fmt.Sprintf("%d ms", l.Duration.Milliseconds()), Status: "no answer", Failure: l.Failure,
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
func (c *Console) resend(v *visit) error {
	w, d, err := c.deliveryAt(v)
	if err != nil {
		return err
	}
	if !v.mayDeliver() {
		return errForbidden
	}
	err = c.handling(v, "resend webhook data").Resend(v, v.domain, w, d.ID)
	if known, is := told(err); is {
		v.problem = known
		return c.delivery(v)
	}
	if err != nil {
		return err
	}
	c.toDelivery(v, w.ID, d.ID)
	return nil
}

func (c *Console) toDelivery(v *visit, w passerelle.WebhookID, d passerelle.DeliveryID) {
	web.Redirect(v.writer, v.path("/webhooks/%d/data/%d", w, d))
}
