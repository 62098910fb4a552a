package webhooks

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/webhook"
)

const (
	// shownAttempts is the largest number of requests that the page of a delivery lists at once.
	// shownAnswer is the largest number of characters that the page shows of each response.
	shownAttempts = 10
	shownAnswer   = 500
)

// deliveryData is the content of the page of a delivery, with its requests.
type deliveryData struct {
	Webhook passerelle.WebhookID
	ID      passerelle.DeliveryID
	State   string
	Facts   []page.DetailRow
	// Payment is the id of the event's payment, or zero.
	Payment int64
	// Opening and Payload together are the signed text. The service sent only Payload, which has
	// Size bytes. Cut is set when the page shows only the beginning of Payload. Hidden is set when
	// the operator may not see Payload or has not revealed it.
	Opening, Payload string
	// Tree is the payload as a tree. It is set if the payload is JSON and the page shows the
	// complete payload.
	Tree                 *page.JSONNode
	Size                 int64
	Cut, Erased, Hidden  bool
	Headers              []delivery.Header
	Attempts             []attemptRow
	MayDeliver           bool
	Revealable, Revealed bool
	page.Pager
}

// attemptRow is one request of a delivery.
type attemptRow struct {
	At                                                                  page.When
	Duration, Status, Failure, Answer, Detail, Opening, Signature, Next string
}

// delivery shows a delivery. In a live domain, it hides the payload and the responses.
func (h *hooks) delivery(pc *page.Context) error {
	return h.showDelivery(pc, pc.Domain.Kind == passerelle.Sandbox)
}

// revealDelivery shows a delivery with the payload and the responses, and records this act.
func (h *hooks) revealDelivery(pc *page.Context) error {
	if !pc.MayReveal() {
		return page.ErrForbidden
	}
	_, d, err := h.deliveryAt(pc)
	if err != nil {
		return err
	}
	if err := pc.RecordNow(page.ActReveal, delivery.SubjectData, int64(d.ID)); err != nil {
		return err
	}
	return h.showDelivery(pc, true)
}

// deliveryAt loads the webhook and the delivery that the address names.
func (h *hooks) deliveryAt(pc *page.Context) (store.Webhook, store.WebhookData, error) {
	w, err := h.webhookAt(pc)
	if err != nil {
		return w, store.WebhookData{}, err
	}
	d, err := h.DB.OneWebhookData(pc, pc.Domain.ID, w.ID, passerelle.DeliveryID(pc.Numbers[2]))
	if errors.Is(err, store.ErrNotFound) {
		return w, d, page.ErrNoPage
	}
	if err != nil {
		return w, d, fmt.Errorf("load delivery %d: %w", pc.Numbers[2], err)
	}
	return w, d, nil
}

func (h *hooks) showDelivery(pc *page.Context, whole bool) error {
	w, d, err := h.deliveryAt(pc)
	if err != nil {
		return err
	}
	live := pc.Domain.Kind != passerelle.Sandbox
	data := deliveryData{
		Webhook: w.ID, ID: d.ID, State: string(d.State()), Facts: deliveryFacts(pc, w, d), MayDeliver: mayDeliver(pc),
		Hidden: !whole, Revealable: !whole && pc.MayReveal(), Revealed: whole && live, Payment: paymentOf(d),
	}
	if err := h.addSent(pc, w, &data); err != nil {
		return err
	}
	if err := h.addAttempts(pc, &data); err != nil {
		return err
	}
	return pages.Send(pc, "delivery", fmt.Sprintf("Delivery %d", d.ID), data)
}

// paymentOf returns the number of the payment that a delivery is about, or zero.
func paymentOf(d store.WebhookData) int64 {
	entry, _ := webhook.Lookup(string(d.Event))
	if entry.Subject != webhook.SubjectPayment || d.Test() {
		return 0
	}
	return d.Resource
}

func deliveryFacts(pc *page.Context, w store.Webhook, d store.WebhookData) []page.DetailRow {
	event, _ := webhook.Lookup(string(d.Event))
	return slices.Concat(
		page.Details("Event", string(d.Event), "Sent", event.Description, "To", w.URL), page.At("Occurred", pc.When(d.Created)), page.Details("User", page.OrNothing(d.User)),
		page.At("Held back until then", pc.WhenEver(d.NotBefore)), page.At("Accepted", pc.WhenEver(d.Delivered)), dropped(pc, d),
		page.Details("Requests", strconv.FormatInt(d.Attempts, 10)), page.At("Next attempt", nextTryOf(pc, w, d)), page.Details("Media type", d.MediaType),
	)
}

// dropped returns a row that says when and why the service gave up a delivery.
func dropped(pc *page.Context, d store.WebhookData) []page.DetailRow {
	if d.State() != store.WebhookDropped {
		return nil
	}
	return page.AtWith("Given up", pc.WhenEver(d.Dropped), d.DropReason)
}

// nextTryOf returns the earliest time of the next request, if that time is known.
func nextTryOf(pc *page.Context, w store.Webhook, d store.WebhookData) page.When {
	if d.State() != store.WebhookPending || d.Attempts == 0 && !w.Stopped {
		return page.When{}
	}
	return nextTry(pc, w)
}

// addSent adds the headers and the payload of the delivery's request.
func (h *hooks) addSent(pc *page.Context, w store.Webhook, data *deliveryData) error {
	sent, err := h.Delivery.Sent(pc, pc.Domain, w, data.ID)
	if err != nil {
		return err
	}
	data.Headers, data.Size, data.Erased, data.Cut = sent.Headers, sent.Size, sent.Erased, sent.Size > int64(len(sent.Payload))
	if !data.Hidden {
		data.Payload = string(sent.Payload)
		if !data.Cut {
			data.Tree, _ = page.JSONTree(data.Payload)
		}
	}
	return nil
}

// addAttempts adds the page of requests for the position in the address.
func (h *hooks) addAttempts(pc *page.Context, data *deliveryData) error {
	where := pc.Window(2)
	where.Limit = shownAttempts + 1
	all, err := h.DB.AttemptsOf(pc, pc.Domain.ID, data.ID, where)
	if err != nil {
		return fmt.Errorf("list the requests for delivery %d: %w", data.ID, err)
	}
	all, data.Pager = page.Paged(pc, where, all, store.WebhookLog.Place)
	for _, l := range all {
		data.Attempts = append(data.Attempts, newAttemptRow(pc, l, data.Hidden))
	}
	if len(all) > 0 && where.From == nil {
		data.Opening = all[0].Signed.Opening
	}
	return nil
}

// newAttemptRow returns a request as a row. If hidden is set, it hides the receiver's response.
func newAttemptRow(pc *page.Context, l store.WebhookLog, hidden bool) attemptRow {
	row := attemptRow{
		At: pc.When(l.At), Duration: fmt.Sprintf("%d ms", l.Duration.Milliseconds()), Status: "no answer", Failure: l.Failure,
		Answer: passerelle.Excerpt(l.Answer, shownAnswer), Detail: l.Detail, Opening: l.Signed.Opening, Signature: l.Signed.Signature, Next: l.Signed.Next,
	}
	if l.Status != 0 {
		row.Status = strconv.Itoa(l.Status)
	}
	if hidden && l.Answer != "" {
		row.Answer = "(hidden)"
	}
	return row
}

// resend sends a delivery again immediately.
func (h *hooks) resend(pc *page.Context) error {
	w, d, err := h.deliveryAt(pc)
	if err != nil {
		return err
	}
	if !mayDeliver(pc) {
		return page.ErrForbidden
	}
	err = h.Delivery.Resend(pc, pc.Domain, w, d.ID, pc.Record(delivery.ActResend, delivery.SubjectData, 0))
	if pc.Reports(err) {
		return h.delivery(pc)
	}
	if err != nil {
		return err
	}
	return h.toDelivery(pc, w.ID, d.ID, "The payload was sent again")
}

// toDelivery redirects to the page of a delivery. The argument `sent` describes the operator's act.
// The page shows this text and the outcome of the last request, if any.
func (h *hooks) toDelivery(pc *page.Context, w passerelle.WebhookID, d passerelle.DeliveryID, sent string) error {
	last, err := h.DB.AttemptsOf(pc, pc.Domain.ID, d, store.Window{Descending: true, Limit: 1})
	if err != nil {
		return fmt.Errorf("read the request for delivery %d: %w", d, err)
	}
	address := pc.Path("/webhooks/%d/data/%d", w, d)
	switch {
	case len(last) == 0:
		return pc.Lead(address, sent+".")
	case last[0].Failure != "":
		return pc.LeadFailed(address, sent+", but the endpoint did not accept it: "+last[0].Failure+".")
	}
	return pc.Lead(address, sent+", and the endpoint accepted it.")
}
