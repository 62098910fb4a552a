package servicetest_test

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

type traces struct {
	t     *testing.T
	mu    sync.Mutex
	spans []*otlp.Span
}

func newTraces(t *testing.T) (*traces, string) {
	r := &traces{t: t}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, server.URL
}

func (r *traces) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var sent collector.ExportTraceServiceRequest
	body, err := gzip.NewReader(request.Body)
	if err != nil {
		r.t.Errorf("the export to %s is not compressed: %v", request.URL.Path, err)
		return
	}
	raw, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(raw, &sent)
	}
	if err != nil || request.URL.Path != "/v1/traces" {
		r.t.Errorf("an export to %s cannot be read: %v", request.URL.Path, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range sent.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// spanNames returns the names of a trace's spans. Each name contains the names of the span's
// parents.
func (r *traces) spanNames(id string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := map[string]*otlp.Span{}
	for _, span := range r.spans {
		by[string(span.SpanId)] = span
	}
	found := map[string]int{}
	for _, span := range r.spans {
		if hex.EncodeToString(span.TraceId) != id {
			continue
		}
		path := span.Name
		for up := by[string(span.ParentSpanId)]; up != nil; up = by[string(up.ParentSpanId)] {
			path = up.Name + " > " + path
		}
		found[path]++
	}
	return found
}

const (
	creating, ordering = "0af7651916cd43dd8448eb211c80319c", "1bf7651916cd43dd8448eb211c80319d"
	byClient           = "00-%s-b7ad6b7169203331-01"
)

func tracedCall(t *testing.T, s *servicetest.Instance, trace, method, path, token, body string) servicetest.Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Traceparent", fmt.Sprintf(byClient, trace))
	return s.OK(s.Do(r))
}

const tracedPayment = `{"client_redirect_uri": "https://shop.example/back", "client_state": "canary state", "instructions": [{
	"amount": 12.50, "currency": "EUR", "label": "Canary Label", "execution_date_type": "instant",
	"beneficiary": {"scheme_name": "iban", "identification": "FR7630006000011234567890189", "label": "Canary Shop"}}]}`

// TestOneTraceShowsAnOrder follows an order from the client's call, through the bank and the
// payer's return, to the receipt of the webhook.
func TestOneTraceShowsAnOrder(t *testing.T) {
	storetest.Each(t, oneTrace)
}

func oneTrace(t *testing.T, database string) {
	received, endpoint := newTraces(t)
	s := servicetest.Start(t, database, servicetest.Options{Traces: endpoint})
	s.Subscribe("PAYMENT_STATE_UPDATED", "first")
	token := s.Token("payments:admin")
	var made struct{ ID int64 }
	s.JSON(tracedCall(t, s, creating, "POST", "/payments", token, tracedPayment), &made)
	path := fmt.Sprint("/payments/", made.ID)
	tracedCall(t, s, ordering, "POST", path, token, `{"connector_uuid": "`+sandbox.Scenarios()[0].Connector+`", "webview_url": "https://shop.example/webview", "validated": true}`)
	attempt, err := s.DB.Attempt(t.Context(), s.Domain.ID, passerelle.PaymentID(made.ID))
	if err != nil {
		t.Fatal(err)
	}
	press(t, s, s.Bank.Page(s.Domain.ID, attempt.Key), "approve", "")
	webhooks := s.Received("first")
	s.Restart() // this exports the recorded spans
	checkHeaders(t, webhooks)
	checkSpans(t, received)
	checkLog(t, s.Logs.String())
}

func checkHeaders(t *testing.T, webhooks []servicetest.Received) {
	t.Helper()
	if len(webhooks) < 2 {
		t.Fatalf("%d webhooks", len(webhooks))
	}
	for _, webhook := range webhooks {
		if parent := webhook.Headers.Get("Traceparent"); !strings.HasPrefix(parent, "00-"+ordering+"-") && !strings.HasPrefix(parent, "00-"+creating+"-") {
			t.Errorf("a webhook has the traceparent %q: %s", parent, webhook.Body)
		}
	}
}

func checkSpans(t *testing.T, received *traces) {
	t.Helper()
	order := received.spanNames(ordering)
	const call = "POST /2.0/payments/{paymentId}"
	for _, path := range []string{
		call, call + " > write", call + " > read", call + " > bank call", call + " > bank call > write",
		call + " > webhook PAYMENT_STATE_UPDATED", call + " > webhook PAYMENT_STATE_UPDATED > POST /sandbox/receiver/",
	} {
		if order[path] == 0 {
			t.Errorf("the trace has no span %s", path)
		}
	}
	if order[call+" > bank call"] < 2 {
		t.Error("what the bank is asked when the payer is back is in another trace")
	}
	if t.Failed() {
		t.Logf("the spans are %v", order)
	}
	if received.spanNames(creating)["POST /2.0/payments > write"] == 0 {
		t.Error("the creation is not in the client's trace")
	}
	received.mu.Lock()
	defer received.mu.Unlock()
	for _, span := range received.spans {
		for _, canary := range []string{"anary", "FR76", "12.50", "Bearer"} {
			if strings.Contains(span.String(), canary) {
				t.Errorf("a span has %q: %s", canary, span)
			}
		}
	}
}

func checkLog(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		if strings.Contains(line, ordering) && strings.Contains(line, `"request_id":"`) && strings.Contains(line, `"span_id":"`) {
			return
		}
	}
	t.Error("no line of the log names the trace and the request")
}
