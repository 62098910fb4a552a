package servicetest_test

import (
	cryptorand "crypto/rand"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

// TestABankBooksOnce pays at a bank in another process behind a network. Service, bank and network
// fail repeatedly, and answers are lost after the bank has accepted an order. The bank's own books
// must have each order at most once, and exactly once if the service reports the payment as done.
// At a bank that recognises repeated orders, every payment becomes final. At another bank, a
// payment with an unknown outcome waits for an operator.
func TestABankBooksOnce(t *testing.T) {
	t.Parallel()
	kills := amount("PASSERELLE_TEST_BANK_KILLS", 1) // for each kind of failure
	for _, profile := range []string{"idempotent", "redirect"} {
		t.Run(profile+" sqlite", func(t *testing.T) { t.Parallel(); payAtBank(t, "", profile, kills) })
		t.Run(profile+" postgres", func(t *testing.T) { t.Parallel(); payAtBank(t, storetest.Postgres(t), profile, kills) })
	}
}

func payAtBank(t *testing.T, database, profile string, kills int) {
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	bank := servicetest.StartTestBank(t, profile)
	p := servicetest.StartProcessWithBanks(t, database, bank.Folder)
	s := &merchant{driver: newDriver(t, p), bank: bank, uuid: bank.UUID()}
	over := make(chan struct{})
	var shopping sync.WaitGroup
	for range bankClients {
		shopping.Go(func() { s.sell(over) })
	}
	failures := bankFailures{process: p, bank: bank, random: rand.New(rand.NewPCG(chosen, 7))}
	for _, n := range failures.random.Perm(kills * failureKinds) {
		s.awaitDone(1+failures.random.IntN(5), 5*time.Second)
		failures.play(t, n%failureKinds, n/failureKinds)
	}
	s.awaitDone(1, time.Minute)
	close(over)
	shopping.Wait()
	s.finish(profile == "idempotent")
	s.compare()
	p.Doctor()
}

const bankClients = 4

// merchant is a client that creates payments at the bank.
type merchant struct {
	*driver
	bank *servicetest.TestBank
	uuid string

	mu   sync.Mutex
	sold []*order
	done int
}

// sell creates payments, and brings each of them to its end, until stop is closed.
func (s *merchant) sell(stop <-chan struct{}) {
	for !isClosed(stop) {
		o := &order{key: cryptorand.Text()}
		s.mu.Lock()
		s.sold = append(s.sold, o)
		s.mu.Unlock()
		for deadline := time.Now().Add(time.Second); time.Now().Before(deadline) && !s.advance(o); {
		}
		<-time.After(100 * time.Millisecond) // a failed bank gets no calls for a while, so the service would reject every payment
	}
}

// awaitDone waits until more payments are done, or the time is over.
func (s *merchant) awaitDone(more int, within time.Duration) {
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.done
	}
	enough := count() + more
	for deadline := time.Now().Add(within); count() < enough && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
}

// advance does the next step of a payment. It reports whether the payment has ended.
func (s *merchant) advance(o *order) bool {
	p, seen := s.inspectPayment(o)
	switch path := fmt.Sprint("/payments/", o.id); {
	case seen && p.State == payment.Done:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.done++
		return true
	case seen && p.State.Final():
		return true
	case seen && p.State == payment.Created:
		s.send("POST", path, s.token, "", map[string]any{"connector_uuid": s.uuid, "webview_url": "https://shop.example/webview", "validated": true})
	case seen && p.State == payment.Validating && p.ValidateURI != nil:
		s.decide(*p.ValidateURI)
	}
	<-time.After(20 * time.Millisecond)
	return false
}

// inspectPayment creates the payment, or reads it if it exists.
func (s *merchant) inspectPayment(o *order) (p seenPayment, seen bool) {
	method, path, body := "GET", fmt.Sprint("/payments/", o.id), any(nil)
	if o.id == 0 {
		method, path, body = "POST", "/payments", servicetest.Draft()
	}
	status, answer := s.send(method, path, s.token, o.key, body)
	if status != http.StatusOK || json.Unmarshal(answer, &p) != nil {
		return p, false
	}
	o.id = p.ID
	return p, true
}

// decide approves on the bank's page in the payer's place, and follows the redirect back.
func (s *merchant) decide(page string) {
	form := url.Values{"decision": {"approve"}, "customer": {"anna"}}
	request := must(http.NewRequest("POST", page, strings.NewReader(form.Encode())))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if status, location := s.do(request); status/100 == 3 {
		s.do(must(http.NewRequest("GET", string(location), http.NoBody)))
	}
}

// finish makes every payment final. It advances the clock of the service, because the service
// seldom asks a bank about old payments. Without all, payments with an unknown outcome may remain.
func (s *merchant) finish(all bool) {
	s.t.Helper()
	open := s.sold
	for deadline := time.Now().Add(waitLimit); len(open) > 0 && time.Now().Before(deadline); {
		s.send("POST", "/sandbox/clock", s.config, "", map[string]any{"advance": "10m"})
		s.send("POST", "/sandbox/run", s.config, "", map[string]any{})
		left := s.advanceAll(open)
		if len(left) < len(open) {
			deadline = time.Now().Add(waitLimit) // each progress starts the time limit again
		}
		if open = left; !all && s.areUnknown(left) && s.waitForPerson(left) {
			s.t.Logf("%d of %d payments wait for a person", len(left), len(s.sold))
			return
		}
	}
	for _, o := range open {
		p, _ := s.inspectPayment(o)
		s.t.Errorf("payment %d is %s in the end", o.id, p.State)
	}
}

// advanceAll does the next step of several payments at the same time. It returns the payments that
// are not final.
func (s *merchant) advanceAll(open []*order) []*order {
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		left []*order
	)
	for part := range slices.Chunk(open, max(len(open)/bankClients, 1)) {
		all.Go(func() {
			for _, o := range part {
				if s.advance(o) {
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

// areUnknown reports whether every payment is in state created.
func (s *merchant) areUnknown(all []*order) bool {
	return !slices.ContainsFunc(all, func(o *order) bool {
		p, seen := s.inspectPayment(o)
		return !seen || p.State != payment.Created
	})
}

// waitForPerson reports whether every payment has an attempt whose outcome is unknown.
func (s *merchant) waitForPerson(all []*order) bool {
	for _, o := range all {
		status, _ := s.send("POST", fmt.Sprint("/payments/", o.id), s.token, "", map[string]any{"connector_uuid": s.uuid, "webview_url": "https://shop.example/webview", "validated": true})
		if status != http.StatusConflict {
			return false
		}
	}
	return true
}

// compare compares the payments with the bank's books.
func (s *merchant) compare() {
	s.t.Helper()
	var books struct {
		Orders []struct {
			EndToEnd string `json:"end_to_end"`
			Booked   int
		}
		Right bool
		Wrong []string
	}
	if err := s.bank.Steer("GET", "orders", nil, &books); err != nil {
		s.t.Fatal(err)
	}
	sent, booked := map[string]int{}, map[string]int{}
	for _, o := range books.Orders {
		sent[o.EndToEnd]++
		booked[o.EndToEnd] += o.Booked
	}
	done := 0
	for _, o := range s.sold {
		var p struct {
			State        payment.State
			Instructions []struct {
				Reference string `json:"reference_id"`
			}
		}
		_, answer := s.send("GET", fmt.Sprint("/payments/", o.id), s.token, "", nil)
		s.read(answer, &p)
		reference := p.Instructions[0].Reference
		refused := p.State == payment.Rejected || p.State == payment.Expired
		if sent[reference] > 1 || booked[reference] > 1 || p.State == payment.Done && booked[reference] != 1 || refused && booked[reference] > 0 {
			s.t.Errorf("payment %d is %s: the bank has %d orders of it, booked %d times", o.id, p.State, sent[reference], booked[reference])
		}
		if p.State == payment.Done {
			done++
		}
	}
	if err := s.bank.Steer("GET", "check", nil, &books); err != nil || !books.Right {
		s.t.Errorf("the books of the bank: %v %v", books.Wrong, err)
	}
	if s.t.Logf("%d payments, %d done, %d orders at the bank", len(s.sold), done, len(books.Orders)); done == 0 {
		s.t.Error("no payment was done")
	}
}

// bankFailures decides which failure comes next.
type bankFailures struct {
	process *servicetest.Process
	bank    *servicetest.TestBank
	random  *rand.Rand
}

// failureKinds is the number of kinds of failures.
const failureKinds = 4

// play causes a failure of a kind. The network fails in each of its modes, one after the other.
func (f *bankFailures) play(t *testing.T, kind, n int) {
	t.Helper()
	switch kind {
	case 0:
		f.process.Kill()
		f.process.Start()
	case 1:
		f.bank.Kill()
		<-time.After(time.Duration(f.random.IntN(300)) * time.Millisecond)
		f.bank.Start()
	case 2:
		f.bank.Network().Behave(manners[n%len(manners)].Manner)
		<-time.After(time.Duration(f.random.IntN(500)) * time.Millisecond)
		f.bank.Network().Behave(servicetest.Manner{})
	default:
		if err := f.bank.Steer("POST", "faults", map[string]any{"call": "POST /v1/payments", "wire": "lost", "times": 1}, nil); err != nil {
			t.Error(err)
		}
	}
}
