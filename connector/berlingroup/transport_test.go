package berlingroup_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle/connector"
	"passerelle/connector/berlingroup"
)

const shortLimit = 500 * time.Millisecond

// TestHangingBank: a call ends at its deadline, regardless of the phase in which the bank stops
// responding. The outcome of an order is unknown if the bank may have read the order.
func TestHangingBank(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	w := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet { // the response begins and never ends
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
		}
		<-hang
	}), nil)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections, and no program continues the handshake
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	file, known := w.file, ordersByKind["single"]
	known.Memory = []byte(approvedMemory)
	for name, test := range map[string]struct {
		order  connector.Order
		silent bool
		unsent bool
	}{
		"before the answer to an order": {ordersByKind["single"], false, false},
		"within the answer to a status": {known, false, false},
		"in the handshake for an order": {ordersByKind["single"], true, true},
		"in the handshake for a status": {known, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			own := *w
			own.t, own.file = t, file
			if test.silent {
				own.file = strings.ReplaceAll(file, w.server.Listener.Addr().String(), silent.Addr().String())
			}
			bank := own.load()
			bank.SetLimit(shortLimit)
			begun := time.Now()
			call := bank.Connector().(connector.Initiator).Initiate
			if test.order.Memory != nil {
				call = bank.Connector().(connector.Initiator).Status
			}
			_, err := call(t.Context(), test.order)
			if err == nil || !strings.Contains(err.Error(), "it did not respond in time") || errors.Is(err, connector.ErrNotSent) != test.unsent {
				t.Errorf("the call ends with %v", err)
			}
			if took := time.Since(begun); took < shortLimit || took > 20*shortLimit {
				t.Errorf("the call takes %v", took)
			}
		})
	}
}

// TestCallsThatNeverStartAreNoFailures checks a call that fails before a connection is tried. Such
// a call is not a failure of the bank, so other customers can still use the bank.
func TestCallsThatNeverStartAreNoFailures(t *testing.T) {
	bank := &answering{status: http.StatusOK, body: map[string]any{"transactionStatus": "ACSP", "paymentId": "1"}}
	w := newFixture(t, bank, nil)
	w.with(`key = "qsealc.key"`, `command = ["/bin/false"]`)
	unsigned := w.load()
	w.with(`[signature]
certificate = "qsealc.pem"
command = ["/bin/false"]
`, "")
	plain := w.load()
	broken := ordersByKind["single"]
	broken.Fields = map[string]string{"psu_id": "an\nna"}
	for name, test := range map[string]struct {
		bank  *berlingroup.Bank
		order connector.Order
		says  string
	}{
		"a line break in a header":     {plain, broken, "a line break or another control character, which a header cannot have"},
		"a program that does not sign": {unsigned, ordersByKind["single"], "signature.command did not sign"},
	} {
		for range 10 {
			_, err := test.bank.Connector().(connector.Initiator).Initiate(t.Context(), test.order)
			var fault *connector.Fault
			if !errors.Is(err, connector.ErrNotSent) || !errors.As(err, &fault) || !strings.Contains(fault.Says, test.says) || strings.Contains(fault.Says, "nna") {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if h := test.bank.Health(); h.Failures != 0 || h.Open {
			t.Errorf("%s: the bank counts as failing: %+v", name, h)
		}
	}
	if _, err := plain.Connector().(connector.Initiator).Initiate(t.Context(), ordersByKind["single"]); err != nil || len(bank.requests) != 1 {
		t.Errorf("another payer: %v, %d requests", err, len(bank.requests))
	}
}

// TestConnectionsAreKept: status calls share one connection to the bank. Each order has its own
// connection, because the bank may have closed a kept connection. On a busy machine, Go's client may
// not keep a connection: it waits at most 50 ms for the goroutine that wrote the request.
func TestConnectionsAreKept(t *testing.T) {
	var handshakes atomic.Int64
	w := newFixture(t, &answering{status: http.StatusOK, body: map[string]any{"transactionStatus": "ACSP", "paymentId": "1"}}, nil)
	config := w.server.TLS
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { handshakes.Add(1); return nil, nil } //nolint:nilnil // the usual settings apply
	bank := w.initiator()
	known := ordersByKind["single"]
	known.Memory = []byte(approvedMemory)
	for range 25 {
		if _, err := bank.Status(t.Context(), known); err != nil {
			t.Fatal(err)
		}
	}
	status := handshakes.Load()
	if status > 3 {
		t.Errorf("25 calls made %d handshakes", status)
	}
	for range 3 {
		if _, err := bank.Initiate(t.Context(), ordersByKind["single"]); err != nil {
			t.Fatal(err)
		}
	}
	if n := handshakes.Load() - status; n != 3 {
		t.Errorf("3 orders made %d handshakes", n)
	}
}
