package hookdesk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"passerelle/internal/delivery"
	"passerelle/internal/desk"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// testData is a test that is about to be sent.
type testData struct {
	Webhook    int64
	Event, URL string
	// Body is the payload, as it was typed.
	Body string
	// Rows is how many lines of it are shown at once.
	Rows int
}

// askToTest shows a sample of the webhook's event, to be edited.
func (h *hooks) askToTest(v *desk.Visit) error {
	w, err := h.testable(v)
	if err != nil {
		return err
	}
	var sample bytes.Buffer
	if err := json.Indent(&sample, webhook.Sample(w.Event), "", "  "); err != nil {
		return fmt.Errorf("write the sample of %s in lines: %w", w.Event, err)
	}
	return h.showTest(v, w, sample.String())
}

// testable is the webhook that the address names, for those who may have it sent
// what they like. In a live domain that is signed as if it were true.
func (h *hooks) testable(v *desk.Visit) (store.Webhook, error) {
	w, err := h.webhookAt(v)
	if err == nil && !v.MaySetUp() {
		err = desk.ErrForbidden
	}
	return w, err
}

// maxRows is how many lines of a body a field shows at once.
const maxRows = 24

func (h *hooks) showTest(v *desk.Visit, w store.Webhook, body string) error {
	return pages.Send(v, "webhook-test", fmt.Sprintf("Test webhook %d", w.ID), testData{
		Webhook: int64(w.ID), Event: string(w.Event), URL: w.URL, Body: body, Rows: min(strings.Count(body, "\n")+2, maxRows),
	})
}

// test sends what was typed, and leads to what came of it.
func (h *hooks) test(v *desk.Visit) error {
	w, err := h.testable(v)
	if err != nil {
		return err
	}
	body := v.Lines("data")
	payload, err := delivery.TestPayload("data", body)
	if known, is := desk.Told(err); is {
		v.Problem = known
		return h.showTest(v, w, body)
	}
	id, err := h.handling(v, "test webhook").Test(v, v.Domain, w, payload)
	if known, is := desk.Told(err); is {
		v.Problem = known
		return h.showTest(v, w, body)
	}
	if err != nil {
		return err
	}
	h.toDelivery(v, w.ID, id)
	return nil
}

// doubtData is a request whose signature is in doubt, and what came of checking it.
type doubtData struct {
	delivery.Doubt
	Providers []string
	// Checked tells that there is a verdict.
	Checked bool
	delivery.Verdict
}

// askToVerify shows the form for a request.
func (h *hooks) askToVerify(v *desk.Visit) error {
	return h.showDoubt(v, doubtData{Doubt: delivery.Doubt{Method: http.MethodPost, Provider: v.Request.URL.Query().Get("provider")}})
}

func (h *hooks) showDoubt(v *desk.Visit, data doubtData) error {
	var err error
	if data.Providers, err = h.suggested(v); err != nil {
		return err
	}
	return pages.Send(v, "webhook-verify", "Check a signature", data)
}

// verify says whether a signature is right. The right one is shown to nobody: it
// would be as good as the secret.
func (h *hooks) verify(v *desk.Visit) error {
	data := doubtData{Doubt: delivery.Doubt{
		Provider: strings.TrimSpace(v.Field("id_auth")), Method: strings.ToUpper(strings.TrimSpace(v.Field("method"))), URL: strings.TrimSpace(v.Field("url")),
		Date: strings.TrimSpace(v.Field("date")), Signature: strings.TrimSpace(v.Field("signature")), Body: v.Lines("body"),
	}}
	verdict, err := h.Delivery.Verify(v, v.Domain, data.Doubt)
	if known, is := desk.Told(err); is {
		v.Problem = known
		return h.showDoubt(v, data)
	}
	if err != nil {
		return err
	}
	data.Checked, data.Verdict = true, verdict
	return h.showDoubt(v, data)
}
