package servicetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"

	"passerelle"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

func histories(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("PASSERELLE_TEST_HTTP_HISTORIES")); err == nil {
		return n
	}
	return usual
}

func seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("PASSERELLE_TEST_SEED"), 10, 64); err == nil {
		return n
	}
	return rand.Uint64()
}

// TestRandomHistories lets clients, payers and banks act in any order through the API of a complete
// service. It compares each response and the stored state with a model of the API's specification.
func TestRandomHistories(t *testing.T) {
	url := storetest.SQLite(t)
	s := servicetest.Start(t, url, servicetest.Options{})
	var played []*history
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	random := rand.New(rand.NewPCG(chosen, 0))
	token := s.Token("payments:admin")
	s.OK(s.Call("POST", "/sandbox/clock", s.ConfigToken, map[string]any{"freeze": true}))
	s.OK(s.Call("POST", "/config", s.ConfigToken, map[string]any{"webhooks.retention_days": "3650"}))
	eyes := storetest.Inspect(t, url)
	for n := range histories(120) {
		h := &history{t: t, s: s, random: random, token: token}
		h.play()
		h.delivered(eyes.EventsOf("payment", h.now.ID))
		played = append(played, h)
		if t.Failed() {
			t.Fatalf("history %d of PASSERELLE_TEST_SEED=%d: %v", n, chosen, h.done)
		}
	}
	checkEvents(t, url, played)
}

// model has the allowed next states of a payment, from the state table of the API's specification.
var model = map[payment.State][]payment.State{
	"created":    {"validating", "rejected", "expired"},
	"validating": {"pending", "rejected", "expired"},
	"pending":    {"done", "accepted", "partial", "rejected", "expired"},
}

type history struct {
	t      *testing.T
	s      *servicetest.Instance
	random *rand.Rand
	token  string
	path   string
	now    seenByClient
	done   []string
}

// labels control the behaviour of the simulated bank.
var labels = []string{
	"Order 42", "pdng/done - a", "pdng/rjct - b", "canc - c", "rjct(insufficientFunds) - d", "bug - e", "pdng/accp - f", "pdng/hold - g",
	"actn(confirm)/done - h", "actn(psu)/done - i", "actn(fields)/done - j", "actn(decoupled)/done - k", "dupl/done - l", "pdng/back/done - m", "unkn/done - n",
}

var useCases = []string{"", "legacy", "redirect", "decoupled", "decoupled_cancelled", "otp_sms", "otp_plus_decoupled", "account_choice", "redirect_no_confirmation"}

func (h *history) play() {
	draft := servicetest.Draft()
	line := map[string]any{
		"amount": json.Number("12.50"), "currency": "EUR", "label": pick(h.random, labels), "execution_date_type": pick(h.random, []string{"instant", "first_open_day"}),
		"beneficiary": map[string]any{"scheme_name": "iban", "identification": "FR7699999000000000000000033", "label": "Shop"},
	}
	draft["instructions"] = []any{line}
	id := h.s.Create(h.token, draft)
	h.path = fmt.Sprint("/payments/", id)
	h.done = append(h.done, fmt.Sprint("create ", line["label"]))
	h.inspect()
	for range 3 + h.random.IntN(8) {
		clientAct := pick(h.random, deeds)
		h.done = append(h.done, clientAct.name)
		before := h.now
		answer := clientAct.do(h)
		h.inspect()
		h.judge(clientAct, before, answer)
		if h.t.Failed() {
			return
		}
	}
	h.checkOrders()
}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// clientAct is one act in a history. The function in the field "allowed" decides whether the
// service may accept the act. It gets the payment as the client last saw it. If the field is nil,
// the service may always accept the act.
type clientAct struct {
	name    string
	do      func(*history) servicetest.Answer
	allowed func(seenByClient) bool
}

func body(name string, make func(*history) map[string]any, allowed func(seenByClient) bool) clientAct {
	return clientAct{name, func(h *history) servicetest.Answer { return h.s.Call("POST", h.path, h.token, make(h)) }, allowed}
}

func fixed(value map[string]any) func(*history) map[string]any {
	return func(*history) map[string]any { return value }
}

func inState(state payment.State) func(seenByClient) bool {
	return func(p seenByClient) bool { return p.State == state }
}

func asks(action payment.Action) func(seenByClient) bool {
	return func(p seenByClient) bool { return p.Action != nil && *p.Action == action }
}

var deeds = []clientAct{
	body("validate", func(h *history) map[string]any {
		return map[string]any{
			"connector_uuid": testConnector, "webview_url": "https://shop.example/webview", "validated": true,
			"fields": map[string]string{"use_case_pay": pick(h.random, useCases[1:])},
		}
	}, inState(payment.Created)),
	body("choose", fixed(map[string]any{"connector_uuid": testConnector, "webview_url": "https://shop.example/webview"}), inState(payment.Created)),
	body("resume", fixed(map[string]any{"resume": true}), asks(payment.Decoupled)),
	body("confirm", fixed(map[string]any{"confirm": true}), asks(payment.Confirm)),
	body("do not confirm", fixed(map[string]any{"confirm": false}), asks(payment.Confirm)),
	body("psu validates", fixed(map[string]any{"psu_validate": true}), asks(payment.PSUValidation)),
	body("psu does not", fixed(map[string]any{"psu_validate": false}), asks(payment.PSUValidation)),
	body("fill the fields", (*history).values, asks(payment.FillFields)),
	{"cancel", func(h *history) servicetest.Answer {
		return h.s.Call("POST", h.path, h.token, map[string]any{"cancel": true, "client_redirect_uri": "https://shop.example/cancelled"})
	}, nil},
	{"approve at the bank", func(h *history) servicetest.Answer { return h.decide("approve") }, nil},
	{"refuse at the bank", func(h *history) servicetest.Answer { return h.decide("refuse") }, nil},
	{"the program ends and starts again", func(h *history) servicetest.Answer {
		h.s.Restart()
		return servicetest.Answer{Status: http.StatusOK}
	}, nil},
	{"wait a minute", func(h *history) servicetest.Answer { return h.advance("1m") }, nil},
	{"wait a month", func(h *history) servicetest.Answer { return h.advance("31d") }, nil},
	{"simulate", func(h *history) servicetest.Answer {
		return h.s.Call("POST", "/sandbox"+h.path+"/simulate", h.s.ConfigToken, map[string]any{"state": pick(h.random, payment.States())})
	}, nil},
}

func (h *history) values() map[string]any {
	values := map[string]string{}
	for name := range h.now.Fields {
		values[name] = pick(h.random, []string{"1234", "0000", "main", "snd"})
	}
	return map[string]any{"fields": values}
}

func (h *history) advance(length string) servicetest.Answer {
	return h.s.OK(h.s.Call("POST", "/sandbox/clock", h.s.ConfigToken, map[string]any{"advance": length}))
}

func (h *history) decide(decision string) servicetest.Answer {
	attempt, err := h.s.DB.Attempt(context.Background(), h.s.Domain.ID, passerelle.PaymentID(h.now.ID))
	if err != nil {
		return servicetest.Answer{Status: http.StatusNotFound}
	}
	return press(h.t, h.s, h.s.Bank.Page(h.s.Domain.ID, attempt.Key), decision, "")
}

func (h *history) inspect() {
	h.now = seenByClient{}
	h.s.JSON(h.s.OK(h.s.Call("GET", h.path+"?expand=transitions", h.token, nil)), &h.now)
}

func (h *history) judge(d clientAct, before seenByClient, answer servicetest.Answer) {
	h.t.Helper()
	if answer.Status >= http.StatusInternalServerError {
		h.t.Errorf("%s was answered with %d: %s", d.name, answer.Status, answer.Body)
	}
	refused := answer.Status >= http.StatusBadRequest
	if refused && before.State != h.now.State {
		h.t.Errorf("%s was refused with %d and still moved the payment from %s to %s", d.name, answer.Status, before.State, h.now.State)
	}
	if d.allowed != nil && !d.allowed(before) && !refused {
		h.t.Errorf("%s was taken in state %s: %s", d.name, before.State, answer.Body)
	}
	h.judgePath(before)
}

func (h *history) judgePath(before seenByClient) {
	h.t.Helper()
	was, is := before.path(), h.now.path()
	if len(is) < len(was) || !slices.Equal(is[:len(was)], was) {
		h.t.Errorf("the history was rewritten from %v to %v", was, is)
		return
	}
	for n := 1; n < len(is); n++ {
		if !slices.Contains(model[is[n-1]], is[n]) {
			h.t.Errorf("%s to %s is not an edge", is[n-1], is[n])
		}
	}
	if is[len(is)-1] != h.now.State {
		h.t.Errorf("the payment is %s and its history ends in %s", h.now.State, is[len(is)-1])
	}
	if (h.now.ErrorCode != nil) != (h.now.State == payment.Rejected) {
		h.t.Errorf("state %s with error code %v", h.now.State, h.now.ErrorCode)
	}
}

func (p seenByClient) path() []payment.State {
	var states []payment.State
	for _, row := range p.Transitions {
		if row.Kind == "transition" {
			states = append(states, *row.To)
		}
	}
	return states
}

func (h *history) checkOrders() {
	h.t.Helper()
	ctx := context.Background()
	attempt, err := h.s.DB.Attempt(ctx, h.s.Domain.ID, passerelle.PaymentID(h.now.ID))
	if err != nil {
		return // the service never sent the order
	}
	if n, err := h.s.DB.SandboxSubmissions(ctx, h.s.Domain.ID, attempt.Key); err != nil || n > 1 {
		h.t.Errorf("%d submissions at the bank (%v)", n, err)
	}
}

// The service may have removed old events. The events that remain must be those of the last
// transitions.
func checkEvents(t *testing.T, url string, played []*history) {
	t.Helper()
	versions := map[int64][]int64{}
	for _, event := range storetest.Inspect(t, url).Events() {
		versions[event.SubjectID] = append(versions[event.SubjectID], event.Version)
	}
	for _, h := range played {
		before := h.now
		h.inspect()
		h.judgePath(before)
		last := int64(len(h.now.path()) - 1)
		for n, version := range slices.Backward(versions[h.now.ID]) {
			if want := last - int64(len(versions[h.now.ID])-1-n); version != want {
				t.Errorf("payment %d has events %v of %d transitions", h.now.ID, versions[h.now.ID], last)
			}
		}
	}
}

func (h *history) delivered(events []storetest.Event) {
	h.t.Helper()
	if n := len(h.now.path()) - 1; len(events) != n {
		h.t.Errorf("payment %d: %d transitions and %d events", h.now.ID, n, len(events))
	}
	for n, event := range events {
		if event.Version != int64(n)+1 {
			h.t.Errorf("payment %d: event %d is of transition %d", h.now.ID, n+1, event.Version)
		}
	}
}
