package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"passerelle/connector"
	"passerelle/connector/remote"
	"passerelle/payment"
)

// deadlines is a connector that records how long its calls may take.
type deadlines struct {
	connector.Initiator
	left time.Duration
}

func (d *deadlines) Initiate(ctx context.Context, o connector.Order) (payment.Report, error) {
	at, _ := ctx.Deadline()
	d.left = time.Until(at)
	return d.Initiator.Initiate(ctx, o)
}

// TestClocksThatDiffer checks that an order has its full time when the clocks of both sides differ,
// by less than the permitted five minutes.
func TestClocksThatDiffer(t *testing.T) {
	for _, skew := range []time.Duration{-4 * time.Minute, -30 * time.Second, 0, 4 * time.Minute} {
		bank, _ := newBank()
		initiator, _ := bank.Connectors()[0].(connector.Initiator)
		served := &deadlines{Initiator: initiator}
		h, err := remote.Handler(served, sharedSecret)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(h)
		defer server.Close()
		program, err := remote.NewProgram(server.URL, sharedSecret)
		if err != nil {
			t.Fatal(err)
		}
		program.SetNow(func() time.Time { return time.Now().Add(skew) })
		calling, err := program.Connector(remote.Describe(served), 1000)
		if err != nil {
			t.Fatal(err)
		}
		payer, _ := calling.(connector.Initiator)
		report, err := payer.Initiate(t.Context(), order(t, payer.Profile(), "")())
		if err != nil || report.Status != payment.Awaiting || served.left < 15*time.Second || served.left > 22*time.Second {
			t.Errorf("with clocks %v apart: %+v, %v, with %v left", skew, report, err, served.left)
		}
	}
}

// TestDeadlines checks that the body of a call has the time at which Passerelle stops waiting:
// after 20 seconds, and for a stream when the time of the whole read is over.
func TestDeadlines(t *testing.T) {
	left := map[string]time.Duration{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body struct{ Deadline time.Time }
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Error(err)
		}
		left[strings.TrimPrefix(r.URL.Path, "/v1/")] = time.Until(body.Deadline)
		signed(w, r, `{"accounts":[{"key":"a","type":"checking"}]}`)
	})
	bank, _ := newBank()
	reader, _ := connectorAt(t, h, remote.Describe(reading(bank.Connectors()))).(connector.DataReader)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	_, _ = reader.Read(ctx, connector.DataRequest{}, &sink{}) // the stream is malformed
	if left["accounts"] > 20*time.Second || left["accounts"] < 15*time.Second || left["read"] < 9*time.Minute {
		t.Errorf("the calls have %v left", left)
	}
}

func reading(all []connector.Connector) connector.Connector {
	for _, c := range all {
		if _, reads := c.(connector.DataReader); reads {
			return c
		}
	}
	return nil
}

// TestRefusedRequests checks the remedies for a program that refuses a request, and for a gateway
// without the program. Their responses have no signature.
func TestRefusedRequests(t *testing.T) {
	for status, says := range map[int]string{
		http.StatusUnauthorized: "with 401: the signature is missing or wrong, or the clocks differ: both sides need the same secret, and clocks that differ by less than five minutes",
		http.StatusBadGateway:   "with 502",
		http.StatusNotFound:     "it has no such call (404)",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer server.Close()
		p, err := remote.NewProgram(server.URL, sharedSecret)
		if err != nil {
			t.Fatal(err)
		}
		var fault *connector.Fault
		if _, err := p.Describe(t.Context()); !errors.As(err, &fault) || !strings.HasSuffix(fault.Says, says) {
			t.Errorf("%d: %v, want %q", status, err, says)
		}
	}
}
