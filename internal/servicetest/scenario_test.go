package servicetest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/servicetest"
	"passerelle/internal/settings"
	"passerelle/payment"
)

// TestEverythingIsReachable runs all scenarios through the API of a complete service. Together the
// scenarios must reach everything that checkReached lists.
func TestEverythingIsReachable(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		s.Subscribe("PAYMENT_STATE_UPDATED", "first")
		token := s.Token("payments:admin")
		reached := map[string]bool{}
		for _, scenario := range sandbox.Scenarios() {
			t.Run(scenario.Name, func(t *testing.T) {
				p := &play{t: t, s: s, token: token, scenario: scenario, reached: reached}
				p.run()
			})
		}
		checkReached(t, reached)
	})
}

type play struct {
	t        *testing.T
	s        *servicetest.Instance
	token    string
	scenario sandbox.Scenario
	path     string
	seen     seenByClient
	ends     sandbox.Outcome
	reached  map[string]bool
}

type seenByClient struct {
	ID           int64
	State        payment.State
	StateDetail  *payment.Detail    `json:"state_detail"`
	Action       *payment.Action    `json:"action"`
	ErrorCode    *payment.ErrorCode `json:"error_code"`
	ValidateURI  *string            `json:"validate_uri"`
	Fields       map[string]any
	Instructions []struct {
		State     *payment.InstructionState
		DateType  payment.DateType   `json:"execution_date_type"`
		Frequency *payment.Frequency `json:"frequency"`
	}
	Transitions []happened
}

// happened is one row of a timeline.
type happened struct {
	Kind       string
	From       *payment.State
	To         *payment.State
	Bank       *string `json:"bank_status"`
	At         string
	ReportedAt string `json:"heard_at"`
	Text       string
}

func (p *play) run() {
	p.configure()
	p.s.OK(p.s.Call("DELETE", "/sandbox/receiver", p.s.ConfigToken, nil))
	p.create()
	for _, move := range p.scenario.Moves {
		p.make(move)
		p.inspect()
	}
	p.settle()
	if diff := gocmp.Diff(p.scenario.Ends, p.ends, cmpopts.EquateEmpty()); diff != "" {
		p.t.Errorf("the outcome differs (-want +got):\n%s", diff)
	}
	p.checkWebhooks()
	p.checkOrders()
}

func (p *play) configure() {
	values := map[string]string{settings.PeriodicEnabled: "1"}
	for key, value := range p.scenario.Settings {
		values[key] = value
	}
	if err := settings.Set(p.t.Context(), p.s.DB, p.s.Domain.ID, values, time.Now()); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if p.scenario.Settings["payment.auto_confirmation"] != "" {
			_ = settings.Set(context.Background(), p.s.DB, p.s.Domain.ID, map[string]string{"payment.auto_confirmation": "1"}, time.Now())
		}
	})
}

func (p *play) today() passerelle.Date {
	var clock struct{ Now string }
	p.s.JSON(p.s.OK(p.s.Call("GET", "/sandbox/clock", p.s.ConfigToken, nil)), &clock)
	now, err := passerelle.ParseDateTime("now", clock.Now, time.UTC)
	if err != nil {
		p.t.Fatal(err)
	}
	return passerelle.DateOf(now, time.UTC)
}

func (p *play) create() {
	lines := []any{}
	for _, in := range p.scenario.Instructions(p.today()) {
		lines = append(lines, wireLine(in))
	}
	draft := map[string]any{"client_redirect_uri": "https://shop.example/back", "instructions": lines}
	if p.scenario.Payer != nil {
		draft["payer"] = wireAccount(p.scenario.Payer.Account())
	}
	p.s.JSON(p.s.OK(p.s.Call("POST", "/payments", p.token, draft)), &p.seen)
	p.path = fmt.Sprint("/payments/", p.seen.ID)
	p.compare()
}

func wireLine(in payment.Instruction) map[string]any {
	line := map[string]any{
		"amount": json.Number(in.Amount.Decimal()), "currency": in.Amount.Currency, "label": in.Label,
		"execution_date_type": in.DateType, "beneficiary": wireAccount(in.Beneficiary),
	}
	for name, day := range map[string]passerelle.Date{"execution_date": in.ExecutionDate, "start_date": in.StartDate, "end_date": in.EndDate} {
		if !day.IsZero() {
			line[name] = day.String()
		}
	}
	if in.Frequency != "" {
		line["frequency"] = in.Frequency
	}
	return line
}

func wireAccount(a passerelle.Account) map[string]any {
	return map[string]any{"scheme_name": a.Scheme, "identification": a.Identification, "label": a.Label}
}

// compare records the incompatibilities of the payment.
func (p *play) compare() {
	var list []struct {
		Connector string `json:"connector_uuid"`
		Reasons   []struct {
			Code string
			Type payment.Severity
		}
	}
	p.s.JSON(p.s.OK(p.s.Call("GET", p.path+"/incompatibilities?all", p.token, nil)), &list)
	for _, one := range list {
		for _, reason := range one.Reasons {
			p.reached["incompatibility "+reason.Code] = true
			if one.Connector == p.scenario.Connector {
				p.ends.Incompatible = append(p.ends.Incompatible, sandbox.ScenarioReason{Code: reason.Code, Type: reason.Type})
			}
		}
	}
}

var bodies = map[sandbox.Doing]func(*play, sandbox.Move) map[string]any{
	sandbox.Validate: func(p *play, m sandbox.Move) map[string]any {
		return map[string]any{
			"connector_uuid": p.scenario.Connector, "webview_url": "https://shop.example/webview", "validated": true, "fields": m.Fields,
		}
	},
	sandbox.Resume:       func(*play, sandbox.Move) map[string]any { return map[string]any{"resume": true} },
	sandbox.Submit:       func(_ *play, m sandbox.Move) map[string]any { return map[string]any{"fields": m.Fields} },
	sandbox.PSUValidate:  func(_ *play, m sandbox.Move) map[string]any { return map[string]any{"psu_validate": m.Yes} },
	sandbox.ConfirmOrder: func(_ *play, m sandbox.Move) map[string]any { return map[string]any{"confirm": m.Yes} },
	sandbox.CancelOrder: func(*play, sandbox.Move) map[string]any {
		return map[string]any{"cancel": true, "client_redirect_uri": "https://shop.example/cancelled"}
	},
}

func (p *play) make(move sandbox.Move) {
	p.t.Helper()
	if body := bodies[move.Do]; body != nil {
		p.send(move, body(p, move))
		return
	}
	switch move.Do {
	case sandbox.Decide:
		p.decide(move)
	case sandbox.Advance:
		p.advance(time.Duration(move.Seconds) * time.Second)
	case sandbox.Check:
		p.advance(time.Minute)
	default:
		p.t.Fatalf("nobody knows how to %s", move.Do)
	}
}

func (p *play) send(move sandbox.Move, body map[string]any) {
	p.t.Helper()
	answer := p.s.Call("POST", p.path, p.token, body)
	var refusal struct{ Code string }
	if answer.Status >= http.StatusBadRequest {
		p.s.JSON(answer, &refusal)
	}
	if refusal.Code != move.Refused {
		p.t.Fatalf("%s was answered with %d: %s", move.Do, answer.Status, answer.Body)
	}
	p.s.OK(p.s.Call("POST", "/sandbox/run", p.s.ConfigToken, nil)) // the bank may not have responded in time
}

// advance advances the domain's clock in steps, because one call can advance it only by a limited
// time.
func (p *play) advance(length time.Duration) {
	for length > 0 {
		piece := min(length, 400*24*time.Hour)
		p.s.OK(p.s.Call("POST", "/sandbox/clock", p.s.ConfigToken, map[string]any{"advance": piece.String()}))
		length -= piece
	}
}

func (p *play) decide(move sandbox.Move) {
	attempt, err := p.s.DB.Attempt(p.t.Context(), p.s.Domain.ID, passerelle.PaymentID(p.seen.ID))
	if err != nil {
		p.t.Fatal(err)
	}
	answer := press(p.t, p.s, p.s.Bank.Page(p.s.Domain.ID, attempt.Key), move.Decision, move.Account)
	if answer.Status >= http.StatusBadRequest {
		p.t.Fatalf("%s was answered with %d: %s", move.Decision, answer.Status, answer.Body)
	}
}

func press(t *testing.T, s *servicetest.Instance, page, decision, account string) servicetest.Answer {
	t.Helper()
	form := url.Values{"decision": {decision}, "account": {account}}
	request, err := http.NewRequestWithContext(t.Context(), "POST", page, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := s.Do(request)
	for hops := 0; answer.Status/100 == 3 && strings.HasPrefix(answer.Header.Get("Location"), s.Origin) && hops < 5; hops++ {
		if request, err = http.NewRequestWithContext(t.Context(), "GET", answer.Header.Get("Location"), nil); err != nil {
			t.Fatal(err)
		}
		answer = s.Do(request)
	}
	return answer
}

func (p *play) inspect() {
	p.seen = seenByClient{}
	p.s.JSON(p.s.OK(p.s.Call("GET", p.path+"?expand=transitions", p.token, nil)), &p.seen)
	if p.seen.Action != nil && !slices.Contains(p.ends.Actions, *p.seen.Action) {
		p.ends.Actions = append(p.ends.Actions, *p.seen.Action)
	}
	p.ends.Cancelling = p.ends.Cancelling || p.seen.StateDetail != nil
}

func (p *play) settle() {
	p.s.OK(p.s.Call("POST", "/sandbox/run", p.s.ConfigToken, nil))
	p.inspect()
	for _, row := range p.seen.Transitions {
		switch row.Kind {
		case "transition":
			p.ends.States = append(p.ends.States, *row.To)
			from := cmp.Or(row.From, new(payment.State))
			p.reached["edge "+string(*from)+" "+string(*row.To)] = true
		case payment.NoteOccurrence:
			p.occurred(row)
		case payment.NoteOccurrenceFailed:
			p.occurred(row)
			p.ends.Failed++
		}
	}
	if p.seen.ErrorCode != nil {
		p.ends.Code = *p.seen.ErrorCode
	}
	p.remember()
}

func (p *play) occurred(row happened) {
	p.ends.Occurrences++
	day, _, _ := strings.Cut(row.Text, " ")
	if row.At != day+" 00:00:00" || row.ReportedAt < row.At || row.Bank == nil {
		p.t.Errorf("%s: the occurrence %+v", p.path, row)
	}
}

func (p *play) remember() {
	for _, state := range p.ends.States {
		p.reached["state "+string(state)] = true
	}
	for _, in := range p.seen.Instructions {
		state, frequency := cmp.Or(in.State, new(payment.InstructionState)), cmp.Or(in.Frequency, new(payment.Frequency))
		p.ends.Lines = append(p.ends.Lines, *state)
		p.reached["line "+string(*state)], p.reached["type "+string(in.DateType)], p.reached["frequency "+string(*frequency)] = true, true, true
	}
	for _, action := range p.ends.Actions {
		p.reached["action "+string(action)] = true
	}
	p.reached["code "+string(p.ends.Code)] = true
}

func (p *play) checkWebhooks() {
	var got []payment.State
	for _, request := range p.s.Received("first") {
		var body seenByClient
		if err := json.Unmarshal([]byte(request.Body), &body); err != nil {
			p.t.Fatal(err)
		}
		if body.ID == p.seen.ID {
			got = append(got, body.State)
		}
	}
	if want := p.ends.States[1:]; !slices.Equal(got, want) {
		p.t.Errorf("the receiver got %v, want %v", got, want)
	}
}

func (p *play) checkOrders() {
	attempt, err := p.s.DB.Attempt(p.t.Context(), p.s.Domain.ID, passerelle.PaymentID(p.seen.ID))
	if err != nil {
		return // the service never sent the order
	}
	n, err := p.s.DB.SandboxSubmissions(p.t.Context(), p.s.Domain.ID, attempt.Key)
	if err != nil || n > 1 {
		p.t.Errorf("%d submissions at the bank (%v)", n, err)
	}
}

func checkReached(t *testing.T, reached map[string]bool) {
	t.Helper()
	want := map[string][]string{
		"state": payment.Created.Values(), "line": payment.InstructionDone.Values(), "action": payment.Redirect.Values(),
		"code": payment.Bug.Values(), "type": payment.Instant.Values(), "frequency": payment.Frequency("").Values(),
		"incompatibility": payment.IncompatibilityCodes(),
	}
	for _, edge := range payment.Edges() {
		want["edge"] = append(want["edge"], string(edge.From)+" "+string(edge.To))
	}
	for kind, words := range want {
		for _, word := range words {
			if !reached[kind+" "+word] {
				t.Errorf("no scenario reaches %s %s", kind, word)
			}
		}
	}
}
