package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"passerelle/internal/delivery"
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
func (c *Console) askToTest(v *visit) error {
	w, err := c.testable(v)
	if err != nil {
		return err
	}
	var sample bytes.Buffer
	if err := json.Indent(&sample, webhook.Sample(w.Event), "", "  "); err != nil {
		return fmt.Errorf("write the sample of %s in lines: %w", w.Event, err)
	}
	return c.showTest(v, w, sample.String())
}

// testable is the webhook that the address names, for those who may have it sent
// what they like. In a live domain that is signed as if it were true.
func (c *Console) testable(v *visit) (store.Webhook, error) {
	w, err := c.webhookAt(v)
	if err == nil && !v.maySetUp() {
		err = errForbidden
	}
	return w, err
}

// maxRows is how many lines of a body a field shows at once.
const maxRows = 24

func (c *Console) showTest(v *visit, w store.Webhook, body string) error {
	return c.send(v, "webhook-test", fmt.Sprintf("Test webhook %d", w.ID), testData{
		Webhook: int64(w.ID), Event: string(w.Event), URL: w.URL, Body: body, Rows: min(strings.Count(body, "\n")+2, maxRows),
	})
}

// test sends what was typed, and leads to what came of it.
func (c *Console) test(v *visit) error {
	w, err := c.testable(v)
	if err != nil {
		return err
	}
	body := v.lines("data")
	payload, err := delivery.TestPayload("data", body)
	if known, is := told(err); is {
		v.problem = known
		return c.showTest(v, w, body)
	}
	id, err := c.handling(v, "test webhook").Test(v, v.domain, w, payload)
	if known, is := told(err); is {
		v.problem = known
		return c.showTest(v, w, body)
	}
	if err != nil {
		return err
	}
	c.toDelivery(v, w.ID, id)
	return nil
}

// lines is a value of the form that may have several lines. Browsers end each of
// them with two characters, whatever was typed or pasted.
func (v *visit) lines(name string) string { return strings.ReplaceAll(v.field(name), "\r\n", "\n") }

// doubtData is a request whose signature is in doubt, and what came of checking it.
type doubtData struct {
	delivery.Doubt
	Providers []string
	// Checked tells that there is a verdict.
	Checked bool
	delivery.Verdict
}

// askToVerify shows the form for a request.
func (c *Console) askToVerify(v *visit) error {
	return c.showDoubt(v, doubtData{Doubt: delivery.Doubt{Method: http.MethodPost, Provider: v.request.URL.Query().Get("provider")}})
}

func (c *Console) showDoubt(v *visit, data doubtData) error {
	var err error
	if data.Providers, err = c.suggested(v); err != nil {
		return err
	}
	return c.send(v, "webhook-verify", "Check a signature", data)
}

// verify says whether a signature is right. The right one is shown to nobody: it
// would be as good as the secret.
func (c *Console) verify(v *visit) error {
	data := doubtData{Doubt: delivery.Doubt{
		Provider: strings.TrimSpace(v.field("id_auth")), Method: strings.ToUpper(strings.TrimSpace(v.field("method"))), URL: strings.TrimSpace(v.field("url")),
		Date: strings.TrimSpace(v.field("date")), Signature: strings.TrimSpace(v.field("signature")), Body: v.lines("body"),
	}}
	verdict, err := c.Delivery.Verify(v, v.domain, data.Doubt)
	if known, is := told(err); is {
		v.problem = known
		return c.showDoubt(v, data)
	}
	if err != nil {
		return err
	}
	data.Checked, data.Verdict = true, verdict
	return c.showDoubt(v, data)
}
