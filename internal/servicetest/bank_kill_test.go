package servicetest_test

import (
	cryptorand "crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

// TestABankBooksOnce pays at banks while the service, the banks and the network fail. The banks'
// books must have each order at most once, and exactly once if the payment is done or accepted.
func TestABankBooksOnce(t *testing.T) {
	t.Parallel()
	kills := amount("PASSERELLE_TEST_BANK_KILLS", 1) // for each kind of failure
	for name, banks := range map[string][]string{
		"idempotent": {"idempotent"},
		"others":     {"redirect", "decoupled", "embedded", "confirmation", "oauth-confirmation"},
	} {
		t.Run(name+" sqlite", func(t *testing.T) { t.Parallel(); payAtBanks(t, "", banks, kills) })
		t.Run(name+" postgres", func(t *testing.T) { t.Parallel(); payAtBanks(t, storetest.Postgres(t), banks, kills) })
	}
}

func payAtBanks(t *testing.T, database string, banks []string, kills int) {
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	program := servicetest.StartTestBank(t, banks...)
	p := servicetest.StartProcessWithBanks(t, database, program.Folder)
	s := &merchant{driver: newDriver(t, p), program: program, kinds: slices.Sorted(maps.Keys(saleKinds)), done: map[string]int{}}
	for _, bank := range banks {
		s.banks = append(s.banks, bankConnector{bank, program.UUID(t, bank)})
	}
	over := make(chan struct{})
	var shopping sync.WaitGroup
	for range bankClients {
		shopping.Go(func() { s.sell(over) })
	}
	failures := bankFailures{process: p, program: program, banks: banks, random: rand.New(rand.NewPCG(chosen, 7))}
	for _, n := range failures.random.Perm(kills * failureKinds) {
		s.awaitDone(1+failures.random.IntN(5), 5*time.Second)
		failures.play(t, n%failureKinds, n/failureKinds)
	}
	if !s.awaitEveryKind(3 * time.Minute) {
		t.Error("after the failures, not every kind of payment was done")
	}
	close(over)
	shopping.Wait()
	s.finish(banks[0] == "idempotent")
	s.compare()
	p.Doctor()
}

const bankClients = 4

type merchant struct {
	*driver
	// program is nil for banks that are not test banks.
	program *servicetest.TestBank
	// Sales take banks and kinds in turn. Every bank gets every kind only if the two lengths have no
	// common factor.
	banks []bankConnector
	kinds []string

	mu   sync.Mutex
	sold []*sale
	done map[string]int // by kind
}

type bankConnector struct{ name, uuid string }

// sale is a payment with an idempotency key, so creating it again has no effect.
type sale struct {
	key, kind string
	bank      bankConnector
	id        int64
	// back is the address to which the payer returns. It becomes empty when the service has
	// responded to the return without a server error.
	back string
}

type saleState struct {
	ID          int64
	State       payment.State
	Action      *string
	ValidateURI *string `json:"validate_uri"`
	Fields      map[string]any
	// The reference of the first instruction identifies the order in the books of the bank.
	Instructions []struct {
		Reference string `json:"reference_id"`
	}
}

// saleKinds maps each kind of payment to its number of bookings at the bank. No periodic payment is
// executed during the test.
var saleKinds = map[string]int{"single": 1, "bulk": 2, "periodic": 0}

func (o *sale) draft() map[string]any {
	draft := servicetest.Draft()
	first, _ := draft["instructions"].([]any)[0].(map[string]any)
	beneficiary, _ := first["beneficiary"].(map[string]any)
	beneficiary["label"] = o.key
	switch o.kind {
	case "bulk":
		second := maps.Clone(first)
		second["label"] = "Invoice 43"
		draft["instructions"] = []any{first, second}
	case "periodic":
		first["execution_date_type"], first["frequency"] = "periodic", "monthly"
		first["start_date"] = time.Now().UTC().AddDate(0, 2, 0).Format(time.DateOnly)
	}
	return draft
}

func (s *merchant) sell(stop <-chan struct{}) {
	for !isClosed(stop) {
		s.mu.Lock()
		n := len(s.sold)
		o := &sale{key: cryptorand.Text(), bank: s.banks[n%len(s.banks)], kind: s.kinds[n%len(s.kinds)]}
		s.sold = append(s.sold, o)
		s.mu.Unlock()
		pause := shortPause
		for deadline := time.Now().Add(time.Second); time.Now().Before(deadline) && !s.advance(o, pause); {
			pause = min(2*pause, longPause)
		}
		<-time.After(100*time.Millisecond + usualRest()) // the service rejects every payment at a failed bank until it calls that bank again
	}
}

// awaitDone returns when a number of further payments are done, or when the time is over.
func (s *merchant) awaitDone(more int, within time.Duration) {
	s.await(within, func(before, now map[string]int) bool { return sum(now)-sum(before) >= more })
}

// awaitEveryKind reports whether a further payment of every kind is done before the time is over.
func (s *merchant) awaitEveryKind(within time.Duration) bool {
	return s.await(within, func(before, now map[string]int) bool {
		return !slices.ContainsFunc(s.kinds, func(kind string) bool { return now[kind] == before[kind] })
	})
}

func (s *merchant) await(within time.Duration, enough func(before, now map[string]int) bool) bool {
	done := func() map[string]int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return maps.Clone(s.done)
	}
	before := done()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		if enough(before, done()) {
			return true
		}
		<-time.After(shortPause)
	}
	return false
}

func sum(counts map[string]int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}

// The pauses between the requests about a payment become longer, because these requests slow down
// the service.
const (
	shortPause = 20 * time.Millisecond
	longPause  = 160 * time.Millisecond
)

// advance does the next step of a payment, and reports whether the payment has ended.
func (s *merchant) advance(o *sale, pause time.Duration) bool {
	p, seen := s.inspectSale(o)
	switch {
	case seen && (p.State == payment.Done || p.State == payment.Accepted):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.done[o.kind]++
		return true
	case seen && p.State.Final():
		return true
	case seen && p.State == payment.Created:
		s.validate(o)
	case seen && p.Action != nil:
		s.act(o, p)
	}
	<-time.After(pause)
	return false
}

func (s *merchant) validate(o *sale) int {
	status, _ := s.send("POST", fmt.Sprint("/payments/", o.id), s.token, "", map[string]any{"connector_uuid": o.bank.uuid, "webview_url": "https://shop.example/webview", "validated": true})
	return status
}

func (s *merchant) inspectSale(o *sale) (p saleState, seen bool) {
	method, path, body := "GET", fmt.Sprint("/payments/", o.id), any(nil)
	if o.id == 0 {
		method, path, body = "POST", "/payments", o.draft()
	}
	status, answer := s.send(method, path, s.token, o.key, body)
	if status != http.StatusOK || json.Unmarshal(answer, &p) != nil {
		return p, false
	}
	o.id = p.ID
	return p, true
}

func (s *merchant) act(o *sale, p saleState) {
	path := fmt.Sprint("/payments/", o.id)
	switch *p.Action {
	case string(payment.Redirect):
		s.approve(o, *p.ValidateURI)
	case string(payment.Decoupled):
		s.decideInApp(o.bank.name)
		s.send("POST", path, s.token, "", map[string]any{"resume": true})
	case string(payment.FillFields):
		answers := map[string]string{"psu_id": "anna", "password": "1234", "method": "photo", "code": "123456"}
		values := map[string]any{}
		for name := range p.Fields {
			values[name] = answers[name]
		}
		s.send("POST", path, s.token, "", map[string]any{"fields": values})
	}
}

// After a failure, approve loads the address of the return again, as people do in a browser.
func (s *merchant) approve(o *sale, page string) {
	if o.back == "" {
		o.back = s.decide(page)
	}
	if o.back == "" {
		return
	}
	if status, _ := s.do(must(http.NewRequest("GET", o.back, http.NoBody))); status != 0 && status/100 != 5 {
		o.back = ""
	}
}

// decide returns an empty address if the bank fails or the page is no longer valid.
func (s *merchant) decide(page string) (back string) {
	if status, location := s.do(must(http.NewRequest("GET", page, http.NoBody))); status/100 == 3 {
		page = must(must(url.Parse(page)).Parse(string(location))).String()
	}
	form := url.Values{"decision": {"approve"}, "customer": {"anna"}}
	request := must(http.NewRequest("POST", page, strings.NewReader(form.Encode())))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if status, location := s.do(request); status/100 == 3 {
		return string(location)
	}
	return ""
}

// decideInApp ignores errors, because a killed bank has no app.
func (s *merchant) decideInApp(bank string) {
	var open struct {
		Authorisations []struct{ ID, Approach string }
	}
	_ = s.program.Steer("GET", bank+"/authorisations", nil, &open)
	for _, one := range open.Authorisations {
		if one.Approach == "decoupled" {
			_ = s.program.Steer("POST", bank+"/authorisations/"+one.ID, map[string]any{"decision": "approve"}, nil)
		}
	}
}

// finish advances the clock of the service, because the service seldom asks a bank about old
// payments.
func (s *merchant) finish(all bool) {
	s.t.Helper()
	open, pause, limit := s.sold, shortPause, stalled
	if all {
		limit *= 4 // no payment waits for a person, so the loop usually ends long before the limit
	}
	for deadline := time.Now().Add(limit); len(open) > 0 && time.Now().Before(deadline); {
		left := s.advanceClock(open, "10m")
		if len(left) < len(open) {
			deadline, pause = time.Now().Add(limit), shortPause // progress starts the time limit again
		}
		if open = left; !all && s.waitForPerson(left) {
			s.t.Logf("%d of %d payments wait for a person", len(left), len(s.sold))
			return
		}
		<-time.After(pause) // a payment may wait for the end of a lease or for a bank that failed
		pause = min(2*pause, longestPause)
	}
	if !all {
		open = s.expire(open)
	}
	for _, o := range open {
		_, answer := s.send("GET", fmt.Sprint("/payments/", o.id), s.token, "", nil)
		s.t.Errorf("payment %d (%s, %s) does not end: %s", o.id, o.bank.name, o.kind, answer)
	}
}

// stalled is the time without progress after which finish gives up. The attempt of a killed process
// keeps its lease, and its payment then takes further steps. The time is four times as long if no
// payment waits for a person.
const stalled = store.AttemptLease + 20*time.Second

func (s *merchant) advanceClock(open []*sale, by string) []*sale {
	s.send("POST", "/sandbox/clock", s.config, "", map[string]any{"advance": by})
	s.send("POST", "/sandbox/run", s.config, "", map[string]any{})
	return s.advanceAll(open)
}

// expire lets payments expire. At a bank with OAuth, a payer can no longer approve after the
// response with the token was lost.
func (s *merchant) expire(open []*sale) []*sale {
	s.t.Helper()
	lost := slices.DeleteFunc(slices.Clone(open), func(o *sale) bool { return s.waitForPerson([]*sale{o}) })
	s.t.Logf("%d of %d payments wait for a person, %d for a payer", len(open)-len(lost), len(s.sold), len(lost))
	if slices.ContainsFunc(lost, func(o *sale) bool { return !strings.HasPrefix(o.bank.name, "oauth") }) {
		return lost
	}
	return s.advanceClock(lost, "744h")
}

func (s *merchant) advanceAll(open []*sale) []*sale {
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		left []*sale
	)
	for part := range slices.Chunk(open, max(len(open)/bankClients, 1)) {
		all.Go(func() {
			for _, o := range part {
				if s.advance(o, shortPause) {
					continue
				}
				mu.Lock()
				left = append(left, o)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return left
}

// waitForPerson reports whether every payment is in state created, with an attempt that has an
// unknown outcome.
func (s *merchant) waitForPerson(all []*sale) bool {
	return !slices.ContainsFunc(all, func(o *sale) bool {
		p, seen := s.inspectSale(o)
		return !seen || p.State != payment.Created || s.validate(o) != http.StatusConflict
	})
}

func (s *merchant) compare() {
	s.t.Helper()
	sent, booked := s.books()
	done := map[string]int{}
	for _, o := range s.sold {
		p, seen := s.inspectSale(o)
		if !seen {
			s.t.Fatalf("payment %d cannot be read", o.id)
		}
		reference, ended, often := p.Instructions[0].Reference, p.State == payment.Done || p.State == payment.Accepted, saleKinds[o.kind]
		refused := p.State == payment.Rejected || p.State == payment.Expired
		if sent[reference] > 1 || booked[reference] > often || ended && (sent[reference] != 1 || booked[reference] != often) || refused && booked[reference] > 0 {
			s.t.Errorf("payment %d (%s, %s) is %s: the bank has %d orders of it, booked %d times", o.id, o.bank.name, o.kind, p.State, sent[reference], booked[reference])
		}
		if ended {
			done[o.kind]++
			done[o.bank.name]++
		}
	}
	s.t.Logf("%d payments, done: %v; %d orders at the banks", len(s.sold), done, len(sent))
	for _, kind := range s.kinds {
		if done[kind] == 0 {
			s.t.Errorf("no payment was done: %s", kind)
		}
	}
}

func (s *merchant) books() (sent, booked map[string]int) {
	s.t.Helper()
	sent, booked = map[string]int{}, map[string]int{}
	for _, bank := range s.banks {
		var books struct {
			Orders []struct {
				EndToEnd string `json:"end_to_end"`
				Booked   int
			}
			Right bool
			Wrong []string
		}
		if err := s.program.Steer("GET", bank.name+"/orders", nil, &books); err != nil {
			s.t.Fatal(err)
		}
		for _, o := range books.Orders {
			sent[o.EndToEnd]++
			booked[o.EndToEnd] += o.Booked
		}
		if err := s.program.Steer("GET", bank.name+"/check", nil, &books); err != nil || !books.Right {
			s.t.Errorf("the books of the bank %s: %v %v", bank.name, books.Wrong, err)
		}
	}
	return sent, booked
}

type bankFailures struct {
	process *servicetest.Process
	program *servicetest.TestBank
	banks   []string
	random  *rand.Rand
}

const failureKinds = 4

// outages lists the upper limits for the duration of a network failure.
var outages = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 4 * time.Second}

func (f *bankFailures) play(t *testing.T, kind, n int) {
	t.Helper()
	switch kind {
	case 0:
		f.process.Kill()
		f.process.Start()
	case 1:
		f.program.Kill()
		<-time.After(time.Duration(f.random.IntN(300)) * time.Millisecond)
		f.program.Start()
	case 2:
		f.program.Network().Behave(manners[n%len(manners)].Manner)
		<-time.After(time.Duration(f.random.Int64N(int64(outages[n/len(manners)%len(outages)]))))
		f.program.Network().Behave(servicetest.Manner{})
	default:
		if err := f.program.Steer("POST", f.banks[n%len(f.banks)]+"/faults", map[string]any{"call": "POST payments/", "wire": "lost", "times": 1}, nil); err != nil {
			t.Error(err)
		}
	}
}
