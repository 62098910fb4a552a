package sandbox_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/payment"
)

// player plays a scenario with package payment and the bank, without the rest of the service.
type player struct {
	t        *testing.T
	scenario sandbox.Scenario
	bank     *sandbox.Bank
	ledger   *sandbox.MemoryLedger
	able     connector.Responder
	order    connector.Order
	payment  payment.Payment
	reached  sandbox.Outcome
	edges    []payment.Edge
	sent     bool
}

func newPlayer(t *testing.T, s sandbox.Scenario) *player {
	t.Helper()
	p := &player{t: t, scenario: s, ledger: sandbox.NewMemoryLedger()}
	p.bank = newBank(p.ledger, sandbox.CI)
	able, ok := initiator(t, p.bank, s.Connector).(connector.Responder)
	if !ok {
		t.Fatalf("connector %s takes no answers", s.Connector)
	}
	p.able = able
	p.order = newOrder(t, s.Instructions(passerelle.DateOf(noon, time.UTC))...)
	p.order.ManualConfirmation = s.Settings["payment.auto_confirmation"] == "0"
	if s.Payer != nil {
		from := s.Payer.Account()
		if err := from.Check("payer"); err != nil {
			t.Fatal(err)
		}
		p.order.Payment.Payer = &from
	}
	p.payment = p.order.Payment
	p.reached.States = []payment.State{payment.Created}
	return p
}

// take applies a response of the bank. An invalid or old report may change only the notes.
func (p *player) take(r payment.Report, err error) {
	p.t.Helper()
	if err != nil {
		return
	}
	before := p.payment
	steps, err := p.payment.Apply(r, p.order.Now)
	if err != nil {
		if !errors.Is(err, payment.ErrStale) && !errors.Is(err, payment.ErrSenseless) {
			p.t.Fatalf("Apply(%+v): %v", r, err)
		}
		after := p.payment
		if after.Notes = before.Notes; !reflect.DeepEqual(before, after) {
			p.t.Errorf("an invalid report changed the payment from %+v to %+v", before, p.payment)
		}
		return
	}
	p.note(steps)
	p.see(r)
}

func (p *player) note(steps []payment.Step) {
	for _, s := range steps {
		p.reached.States = append(p.reached.States, s.Payment.State)
		p.edges = append(p.edges, payment.Edge{From: s.Transition.From, Trigger: s.Transition.Cause.Trigger, To: s.Transition.To})
	}
}

func (p *player) see(r payment.Report) {
	if a := r.Action; a != "" && !slices.Contains(p.reached.Actions, a) {
		p.reached.Actions = append(p.reached.Actions, a)
	}
	p.reached.Cancelling = p.reached.Cancelling || r.Cancellation == payment.CancellationAwaiting
	if r.Occurrences == nil {
		return
	}
	p.reached.Occurrences, p.reached.Failed = len(r.Occurrences), 0
	for _, one := range r.Occurrences {
		if one.Code != "" {
			p.reached.Failed++
		}
	}
}

func (p *player) status() {
	if p.sent {
		p.take(p.able.Status(p.t.Context(), p.order))
	}
}

func (p *player) answer(a payment.Action, m sandbox.Move) {
	p.take(p.able.Answer(p.t.Context(), p.order, connector.Answer{Action: a, Yes: m.Yes || m.Do == sandbox.Resume, Fields: m.Fields}))
}

var doings = map[sandbox.Doing]func(*player, sandbox.Move){
	sandbox.Validate: func(p *player, m sandbox.Move) {
		p.order.Fields, p.sent = m.Fields, true
		p.take(p.able.Initiate(p.t.Context(), p.order))
	},
	sandbox.Decide:       (*player).decide,
	sandbox.Resume:       func(p *player, m sandbox.Move) { p.answer(payment.Decoupled, m) },
	sandbox.Submit:       func(p *player, m sandbox.Move) { p.answer(payment.FillFields, m) },
	sandbox.PSUValidate:  func(p *player, m sandbox.Move) { p.answer(payment.PSUValidation, m) },
	sandbox.ConfirmOrder: func(p *player, m sandbox.Move) { p.answer(payment.Confirm, m) },
	sandbox.CancelOrder:  (*player).cancel,
	sandbox.Advance:      (*player).advance,
	sandbox.Check:        func(p *player, _ sandbox.Move) { p.status() },
}

func (p *player) decide(m sandbox.Move) {
	form := url.Values{"decision": {m.Decision}, "account": {m.Account}}
	r := httptest.NewRequestWithContext(p.t.Context(), http.MethodPost, p.bank.Page(p.order.Domain, p.order.Key), strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	p.bank.Pages().ServeHTTP(w, r)
	if w.Code != http.StatusSeeOther {
		p.t.Fatalf("%s was answered with %d: %s", m.Decision, w.Code, w.Body)
	}
	p.status()
}

// cancel asks the bank to cancel. A payment that was not sent is cancelled without the bank.
func (p *player) cancel(m sandbox.Move) {
	able, can := p.able.(connector.Canceller)
	refused := &passerelle.Error{}
	if err := p.payment.MayCancel(payment.ByClient, can); err != nil && !errors.As(err, &refused) {
		p.t.Fatal(err)
	}
	if refused.Code != m.Refused {
		p.t.Fatalf("cancelling is refused with %q, want %q", refused.Code, m.Refused)
	}
	switch {
	case m.Refused != "":
	case p.sent:
		p.payment.AskCancellation(payment.CancelledByClient, "https://shop.test/back", "")
		p.take(able.Cancel(p.t.Context(), p.order))
	default:
		p.note(must(p.payment.Refuse(&payment.Refusal{Code: payment.CancelledByClient}, payment.Cause{Actor: payment.ByClient}, p.order.Now)))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// advance advances the time. A payment that is not periodic expires after the default time.
func (p *player) advance(m sandbox.Move) {
	p.order.Now = p.order.Now.Add(time.Duration(m.Seconds) * time.Second)
	p.status()
	first := p.order.Payment.Instructions[0]
	from := noon
	if first.DateType == payment.Deferred && p.sent {
		from = first.ExecutionDate.In(time.UTC)
	}
	over := p.order.Now.Sub(from) >= 30*24*time.Hour
	if over && first.DateType != payment.Periodic && !p.payment.State.Final() {
		p.note(must(p.payment.Expire(p.order.Now)))
	}
}

func (p *player) play() {
	for _, reason := range p.payment.Incompatibilities(*p.able.Profile().Payments, noon) {
		p.reached.Incompatible = append(p.reached.Incompatible, sandbox.ScenarioReason{Code: reason.Code, Type: reason.Severity})
	}
	for _, m := range p.scenario.Moves {
		doings[m.Do](p, m)
	}
	p.reached.Code = p.payment.ErrorCode
	for _, in := range p.payment.Instructions {
		p.reached.Lines = append(p.reached.Lines, in.State)
	}
}

// TestScenarios plays all scenarios. Each scenario must have the outcome in its field Ends.
// Together they must reach every state, edge and code.
func TestScenarios(t *testing.T) {
	var all reach
	for _, s := range sandbox.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			p := newPlayer(t, s)
			p.play()
			if diff := cmp.Diff(s.Ends, p.reached, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the outcome differs (-want +got):\n%s", diff)
			}
			if n := p.ledger.Orders(); p.sent != (n == 1) {
				t.Errorf("the bank has %d orders", n)
			}
			all.add(p)
		})
	}
	all.check(t)
}

type reach struct{ words, edges []string }

func (r *reach) add(p *player) {
	for _, s := range p.reached.States {
		r.words = append(r.words, "state "+string(s))
	}
	for _, in := range p.payment.Instructions {
		r.words = append(r.words, "line "+string(in.State), "type "+string(in.DateType), "frequency "+string(in.Frequency))
	}
	for _, a := range p.reached.Actions {
		r.words = append(r.words, "action "+string(a))
	}
	for _, i := range p.reached.Incompatible {
		r.words = append(r.words, "incompatibility "+i.Code)
	}
	r.words = append(r.words, "code "+string(p.payment.ErrorCode))
	for _, e := range p.edges {
		r.edges = append(r.edges, string(e.From)+" "+string(e.Trigger)+" "+string(e.To))
	}
}

func (r *reach) check(t *testing.T) {
	t.Helper()
	for kind, words := range map[string][]string{
		"state": payment.Created.Values(), "line": payment.InstructionDone.Values(), "action": payment.Redirect.Values(),
		"code": payment.Bug.Values(), "type": payment.Instant.Values(), "frequency": payment.Frequency("").Values(),
		"incompatibility": payment.IncompatibilityCodes(),
	} {
		for _, word := range words {
			if !slices.Contains(r.words, kind+" "+word) {
				t.Errorf("no scenario in connector/sandbox/catalogue.go reaches %s %s", kind, word)
			}
		}
	}
	for _, e := range payment.Edges() {
		if edge := string(e.From) + " " + string(e.Trigger) + " " + string(e.To); !slices.Contains(r.edges, edge) {
			t.Errorf("no scenario takes the edge %s", edge)
		}
	}
}

func TestScenariosAreNamedOnce(t *testing.T) {
	names := map[string]int{}
	for _, s := range sandbox.Scenarios() {
		names[s.Name]++
		if s.Shows == "" || !strings.HasSuffix(s.Shows, ".") {
			t.Errorf("%s shows %q", s.Name, s.Shows)
		}
	}
	for name := range maps.Keys(names) {
		if names[name] > 1 || strings.ToLower(strings.ReplaceAll(name, "-", "")) == "" {
			t.Errorf("%d scenarios are named %q", names[name], name)
		}
	}
}

func TestScenariosAsJSON(t *testing.T) {
	for _, s := range sandbox.Scenarios() {
		body, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again sandbox.Scenario
		if err := json.Unmarshal(body, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s is not the same as JSON:\n%s", s.Name, diff)
		}
	}
}
