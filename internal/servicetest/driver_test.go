package servicetest_test

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/keys"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/payment"
)

// amount returns the number in an environment variable, which long runs set. Without the variable,
// it returns the usual number.
func amount(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// waitLimit is longer than every lease that a killed program leaves.
const waitLimit = 150 * time.Second

// driver is a set of clients that call one or more processes with the same database. They repeat
// failed requests, possibly at another process.
type driver struct {
	t       *testing.T
	bases   []string
	process *servicetest.Process
	client  *http.Client
	token   string
	config  string
	turn    atomic.Int64
	// begins is locked while clients must not begin new work.
	begins sync.RWMutex
	// rests is the time that a client pauses after each order, or after each user whose data it has
	// read. Without pauses, clients would use processor time while a test waits for something else.
	rests time.Duration
	// disturbed is the time at which the test last killed a process or the database, in nanoseconds
	// since 1970.
	disturbed    atomic.Int64
	withoutRetry atomic.Int64

	mu       sync.Mutex // also guards bases
	payments map[int64]bool
	answers  map[int]int
	longest  time.Duration
}

func newDriver(t *testing.T, processes ...*servicetest.Process) *driver {
	t.Helper()
	first := processes[0]
	d := &driver{
		t: t, process: first, config: first.ConfigToken, payments: map[int64]bool{}, answers: map[int]int{},
		client: &http.Client{
			Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	for _, p := range processes {
		d.bases = append(d.bases, p.BaseURL)
	}
	first.Configure("auth.scoped_token_expire", "1440")
	var out struct{ Token string }
	d.read(d.call("POST", "/auth/token", "", map[string]any{
		"client_id": first.ClientID, "client_secret": first.ClientSecret, "scope": "payments:admin",
	}), &out)
	d.token = out.Token
	t.Cleanup(d.client.CloseIdleConnections)
	return d
}

func (d *driver) read(body []byte, into any) {
	if err := json.Unmarshal(body, into); err != nil {
		d.t.Errorf("the answer %q: %v", body, err)
	}
}

func (d *driver) call(method, path, token string, body any) []byte {
	return d.keep(method, path, token, "", body)
}

// base returns the address for the next request. Requests take the addresses in turn.
func (d *driver) base() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bases[int(d.turn.Add(1))%len(d.bases)]
}

// use sets the addresses to which clients send requests.
func (d *driver) use(bases ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bases = bases
}

// send returns the status 0 if there was no response.
func (d *driver) send(method, path, token, key string, body any) (status int, answer []byte) {
	request := must(http.NewRequest(method, d.base()+path, bytes.NewReader(must(json.Marshal(body)))))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	return d.do(request)
}

func (d *driver) do(request *http.Request) (status int, answer []byte) {
	begun := time.Now()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.answers[status]++
		d.longest = max(d.longest, time.Since(begun))
	}()
	response, err := d.client.Do(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") == "" {
		d.withoutRetry.Add(1)
	}
	if answer, err = io.ReadAll(response.Body); err != nil {
		return 0, nil
	}
	if location := response.Header.Get("Location"); response.StatusCode/100 == 3 {
		answer = []byte(location)
	}
	return response.StatusCode, answer
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (d *driver) subscribe(event string, e *endpoint) int64 {
	d.t.Helper()
	d.send("POST", "/webhooks/auth", d.config, "", map[string]any{"type": "hmac_signature", "name": "driver"})
	var webhook struct{ ID int64 }
	d.read(d.call("POST", "/webhooks", d.config, map[string]any{"event": event, "url": e.url, "id_auth": "driver"}), &webhook)
	return webhook.ID
}

// order is a payment with an idempotency key, so creating it again has no effect.
type order struct {
	key string
	id  int64
	// simulated is set for a payment that the test advances with calls to the sandbox.
	simulated bool
}

type seenPayment struct {
	ID          int64
	State       payment.State
	ValidateURI *string `json:"validate_uri"`
}

func (d *driver) pay(o *order, within time.Duration) (done bool) {
	var last payment.State
	wait := backoff{shortest: 10 * time.Millisecond}
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		p, seen := d.inspect(o)
		switch {
		case seen && p.State.Final():
			return true
		case !seen || p.State == last:
			wait.pause()
		default:
			last, wait.next = p.State, 0
		}
		if seen {
			d.step(o, p)
		}
	}
	return false
}

// backoff makes a client wait longer before each repeated request, because many clients may wait
// for the same lease.
type backoff struct{ shortest, next time.Duration }

// longestPause is far shorter than a lease.
const longestPause = time.Second / 2

func (b *backoff) pause() {
	b.next = min(max(b.shortest, 2*b.next), longestPause)
	<-time.After(b.next)
}

func (d *driver) inspect(o *order) (p seenPayment, seen bool) {
	method, path, body := "GET", fmt.Sprint("/payments/", o.id), any(nil)
	if o.id == 0 {
		method, path, body = "POST", "/payments", servicetest.Draft()
	}
	status, answer := d.send(method, path, d.token, o.key, body)
	if status != http.StatusOK || json.Unmarshal(answer, &p) != nil {
		return p, false
	}
	o.id = p.ID
	d.mu.Lock()
	defer d.mu.Unlock()
	d.payments[p.ID] = true
	return p, true
}

var ahead = map[payment.State]payment.State{payment.Created: payment.Validating, payment.Validating: payment.Pending, payment.Pending: payment.Done}

func (d *driver) step(o *order, p seenPayment) {
	path := fmt.Sprint("/payments/", o.id)
	switch {
	case o.simulated:
		d.send("POST", "/sandbox"+path+"/simulate", d.config, "", map[string]any{"state": ahead[p.State]})
	case p.State == payment.Created:
		d.send("POST", path, d.token, "", map[string]any{
			"connector_uuid": testConnector, "webview_url": "https://shop.example/webview", "validated": true,
		})
	case p.State == payment.Validating && p.ValidateURI != nil:
		d.approve(*p.ValidateURI)
	}
}

var (
	approveButton = regexp.MustCompile(`<button[^>]*name="([^"]+)"[^>]*value="(approve[^"]*)"`)
	returnLink    = regexp.MustCompile(`<a[^>]*href="([^"]*/webauth/callback[^"]*)"`)
)

func (d *driver) approve(page string) {
	_, html := d.do(must(http.NewRequest("GET", page, http.NoBody)))
	if button := approveButton.FindSubmatch(html); button != nil {
		form := url.Values{string(button[1]): {string(button[2])}}
		request := must(http.NewRequest("POST", page, bytes.NewReader([]byte(form.Encode()))))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if status, location := d.do(request); status/100 == 3 {
			d.do(must(http.NewRequest("GET", string(location), http.NoBody)))
		}
		return
	}
	if link := returnLink.FindSubmatch(html); link != nil {
		d.do(must(http.NewRequest("GET", string(link[1]), http.NoBody)))
	}
}

func orders(limit int, stop <-chan struct{}, simulated func() bool) <-chan *order {
	made := make(chan *order)
	go func() {
		defer close(made)
		for range limit {
			select {
			case made <- &order{key: cryptorand.Text(), simulated: simulated()}:
			case <-stop:
				return
			}
		}
	}()
	return made
}

func always() bool { return true }

// payAll completes all orders. An order is late if it does not end within a second, for example
// after the test has killed a process. payAll completes late orders after all others, so that the
// clients begin new orders before the next kill.
func (d *driver) payAll(clients int, orders <-chan *order) {
	later := d.payEach(clients, orders, time.Second)
	left := make(chan *order, len(later))
	for _, o := range later {
		left <- o
	}
	close(left)
	for _, o := range d.payEach(max(clients, lateClients), left, waitLimit) {
		d.t.Errorf("%s, with the id %d, did not come to its end", o.key, o.id)
	}
}

// lateClients is the number of clients that complete late orders. It is larger than the number of
// clients that create orders, because many late orders only wait for leases.
const lateClients = 64

func (d *driver) payEach(clients int, orders <-chan *order, within time.Duration) (unpaid []*order) {
	var (
		working sync.WaitGroup
		mu      sync.Mutex
	)
	for range clients {
		working.Go(func() {
			for o := range orders {
				d.awaitBeginning()
				if !d.pay(o, within) {
					mu.Lock()
					unpaid = append(unpaid, o)
					mu.Unlock()
				}
				<-time.After(d.rests)
			}
		})
	}
	working.Wait()
	return unpaid
}

func (d *driver) awaitBeginning() {
	d.begins.RLock()
	defer d.begins.RUnlock()
}

// firstEventConnection is the first connection id in triggered events. The connections of users
// have lower ids, even after a restored database has skipped ten million.
const firstEventConnection = 1_000_000_000_000

func (d *driver) sync(stop <-chan struct{}) map[int64]bool {
	reported := map[int64]bool{}
	for n := 0; !isClosed(stop); n++ {
		d.awaitBeginning()
		status, answer := d.send("POST", "/sandbox/events", d.config, "", map[string]any{"event": synced, "id_connection": firstEventConnection + n%3})
		var out struct{ Deliveries []int64 }
		switch {
		case status == http.StatusOK:
			d.read(answer, &out)
		case status/100 == 4:
			d.t.Errorf("an event was refused with %d: %s", status, answer)
			return reported
		}
		for _, id := range out.Deliveries {
			reported[id] = true
		}
		<-time.After(20 * time.Millisecond)
	}
	return reported
}

func isClosed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

func (d *driver) checkAnswers() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answers[http.StatusInternalServerError] > 0 || d.longest >= d.client.Timeout {
		d.t.Errorf("answers by status: %v, the longest took %v", d.answers, d.longest)
	}
	d.t.Logf("answers by status, 0 for none: %v; the longest took %v", d.answers, d.longest.Round(time.Millisecond))
}

// paid returns the payments that the service has acknowledged to clients.
func (d *driver) paid() map[int64]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.payments)
}

func (d *driver) until(payments int) {
	for deadline := time.Now().Add(waitLimit); len(d.paid()) < payments; <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("%d payments were made in time, not %d", len(d.paid()), payments)
		}
	}
}

func (d *driver) checkSubmissions() {
	d.t.Helper()
	ctx := context.Background()
	ring := must(keys.Load(filepath.Join(d.process.DataFolder(), "keys")))
	db := must(store.Open(ctx, d.process.Database(), store.Options{Keys: ring}))
	defer db.Close()
	domain := must(db.DomainByName(ctx, "sandbox"))
	orders := 0
	for id := range d.paid() {
		attempt, err := db.Attempt(ctx, domain.ID, passerelle.PaymentID(id))
		if err != nil {
			continue // the service sends no order to a bank for a simulated payment
		}
		orders++
		if n, err := db.SandboxSubmissions(ctx, domain.ID, attempt.Key); err != nil || n != 1 {
			d.t.Errorf("payment %d: %d submissions at the bank (%v), want 1", id, n, err)
		}
	}
	d.t.Logf("%d orders at the bank", orders)
}

func coin(random *rand.Rand) func() bool {
	var mu sync.Mutex
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(2) == 0
	}
}

func usualRest() time.Duration { return amountOf("PASSERELLE_TEST_PAUSE", 200*time.Millisecond) }

// amountOf works like amount, for durations.
func amountOf(name string, usual time.Duration) time.Duration {
	if length, err := time.ParseDuration(os.Getenv(name)); err == nil {
		return length
	}
	return usual
}
