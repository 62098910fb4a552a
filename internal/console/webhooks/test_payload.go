package webhooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"passerelle/internal/console/page"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// testData is the content of the page with a test payload that the operator has not sent yet.
type testData struct {
	Webhook    int64
	Event, URL string
	// Body is the payload in the form.
	Body string
	// Rows is the number of lines of the payload that the field shows at the same time.
	Rows int
}

// testForm shows a sample payload of the webhook's event. The operator can edit it.
func (h *hooks) testForm(pc *page.Context) error {
	w, err := h.testable(pc)
	if err != nil {
		return err
	}
	var sample bytes.Buffer
	if err := json.Indent(&sample, webhook.Sample(w.Event), "", "  "); err != nil {
		return fmt.Errorf("write the sample of %s in lines: %w", w.Event, err)
	}
	return h.showTest(pc, w, sample.String())
}

// testable returns the webhook in the address, if the operator may send to it. In a live domain,
// the operator needs a second factor, because a test payload is signed like a real event.
func (h *hooks) testable(pc *page.Context) (store.Webhook, error) {
	w, err := h.webhookAt(pc)
	if err == nil && !pc.MaySetUp() {
		err = page.ErrForbidden
	}
	return w, err
}

// maxRows is the largest number of lines of a body that a field shows at the same time.
const maxRows = 24

func (h *hooks) showTest(pc *page.Context, w store.Webhook, body string) error {
	return pages.Send(pc, "webhook-test", fmt.Sprintf("Test webhook %d", w.ID), testData{
		Webhook: int64(w.ID), Event: string(w.Event), URL: w.URL, Body: body, Rows: min(strings.Count(body, "\n")+2, maxRows),
	})
}

// test sends the payload in the form, and redirects to the result.
func (h *hooks) test(pc *page.Context) error {
	w, err := h.testable(pc)
	if err != nil {
		return err
	}
	body := pc.Lines("data")
	payload, err := delivery.TestPayload("data", body)
	if pc.Reports(err) {
		return h.showTest(pc, w, body)
	}
	id, err := h.Delivery.Test(pc, pc.Domain, w, payload, pc.Record(delivery.ActTestWebhook, delivery.SubjectWebhook, 0))
	if pc.Reports(err) {
		return h.showTest(pc, w, body)
	}
	if err != nil {
		return err
	}
	return h.toDelivery(pc, w.ID, id, "The test was sent")
}

// verifyData has a request with a signature, and the result of the check.
type verifyData struct {
	delivery.SignedRequest
	Providers []string
	// Checked is set when there is a result.
	Checked bool
	delivery.SignatureCheck
}

// verifyForm shows the form for a request and its signature.
func (h *hooks) verifyForm(pc *page.Context) error {
	return h.showVerifyForm(pc, verifyData{SignedRequest: delivery.SignedRequest{Method: http.MethodPost, Provider: pc.Request.URL.Query().Get("provider")}})
}

func (h *hooks) showVerifyForm(pc *page.Context, data verifyData) error {
	var err error
	if data.Providers, err = h.suggested(pc); err != nil {
		return err
	}
	return pages.Send(pc, "webhook-verify", "Check a signature", data)
}

// verify shows whether a signature is right. It never shows the right signature, because that
// signature is as confidential as the secret.
func (h *hooks) verify(pc *page.Context) error {
	data := verifyData{SignedRequest: delivery.SignedRequest{
		Provider: strings.TrimSpace(pc.Field("id_auth")), Method: strings.ToUpper(strings.TrimSpace(pc.Field("method"))), URL: strings.TrimSpace(pc.Field("url")),
		Date: strings.TrimSpace(pc.Field("date")), Signature: strings.TrimSpace(pc.Field("signature")), Body: pc.Lines("body"),
	}}
	check, err := h.Delivery.Verify(pc, pc.Domain, data.SignedRequest)
	if pc.Reports(err) {
		return h.showVerifyForm(pc, data)
	}
	if err != nil {
		return err
	}
	data.Checked, data.SignatureCheck = true, check
	return h.showVerifyForm(pc, data)
}
