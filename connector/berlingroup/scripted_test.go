package berlingroup_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"passerelle/connector"
	"passerelle/payment"
)

// scripted is a bank that gives each call the next response in the list for this call, and repeats
// the last response. A call without a list gets a 404.
type scripted struct {
	*fixture
	answers map[string][]scriptedAnswer
	// calls lists the received calls, each with its body or grant type, if any. tokens and names
	// contain the access token and the PSU-ID of each call.
	calls, tokens, names []string
	// aliases are further members of the authorisation server's metadata.
	aliases string
	// location is the header Location of each response, and challenge is the header WWW-Authenticate
	// of each response with the status 401, if they are not empty.
	location, challenge string
}

type scriptedAnswer struct {
	status int
	body   string
}

const (
	order1   = "/v1/payments/sepa-credit-transfers/1"
	consent1 = "/v1/consents/C1"
)

func newScripted(t *testing.T, answers map[string][]scriptedAnswer) *scripted {
	t.Helper()
	b := &scripted{answers: answers}
	b.fixture = newFixture(t, b, nil)
	return b
}

func (b *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		fmt.Fprintf(w, `{"issuer":%[1]q,"authorization_endpoint":"%[1]s/authorise","token_endpoint":"%[1]s/token"%[2]s}`, b.server.URL, strings.ReplaceAll(b.aliases, "SERVER", b.server.URL))
		return
	}
	call := r.Method + " " + strings.NewReplacer(order1, "order", consent1, "consent").Replace(r.URL.Path)
	said := scriptedAnswer{http.StatusNotFound, ""}
	if list := b.answers[call]; len(list) > 0 {
		said = list[0]
		b.answers[call] = list[min(1, len(list)-1):]
	}
	var body json.RawMessage
	if r.FormValue("grant_type") != "" {
		call += " " + r.FormValue("grant_type")
	} else if json.NewDecoder(r.Body).Decode(&body) == nil {
		call += " " + string(body)
	}
	b.calls, b.tokens, b.names = append(b.calls, call), append(b.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")), append(b.names, r.Header.Get("PSU-ID"))
	if b.location != "" {
		w.Header().Set("Location", b.location)
	}
	if b.challenge != "" && said.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", b.challenge)
	}
	w.WriteHeader(said.status)
	fmt.Fprint(w, said.body)
}

func (b *scripted) count(call string) (n int) {
	for _, one := range b.calls {
		if one == call || strings.HasPrefix(one, call+" ") {
			n++
		}
	}
	return n
}

func refusedWith(status int, code string) scriptedAnswer {
	return scriptedAnswer{status, `{"tppMessages":[{"category":"ERROR","code":"` + code + `"}]}`}
}

func once(status int, body string) []scriptedAnswer { return []scriptedAnswer{{status, body}} }

// ordering calls the connector about one order, and stores the Memory of each report in the order.
type ordering struct {
	t    *testing.T
	able connector.Initiator
	connector.Order
}

func (b *scripted) order(memory string) *ordering {
	b.t.Helper()
	o := &ordering{t: b.t, able: b.initiator(), Order: ordersByKind["single"]}
	o.Memory = []byte(memory)
	return o
}

func (o *ordering) keep(report payment.Report, err error) (payment.Report, error) {
	if report.Memory != nil {
		o.Memory = report.Memory
	}
	o.Callback = nil
	return report, err
}

func (o *ordering) status() (payment.Report, error) {
	return o.keep(o.able.Status(o.t.Context(), o.Order))
}

func (o *ordering) cancel() (payment.Report, error) {
	o.Payment.CancelCode = payment.CancelledByClient
	return o.keep(o.able.(connector.Canceller).Cancel(o.t.Context(), o.Order))
}

func (o *ordering) answer(a connector.Answer) (payment.Report, error) {
	return o.keep(o.able.(connector.Responder).Answer(o.t.Context(), o.Order, a))
}
