package servicetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/keys"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// Payments are driven to their end by patient clients while the program is
// killed again and again, at moments nobody chooses. Afterwards nothing may be
// lost: each payment is done, its receiver got each change in order, and the
// bank got its order once.
func TestPaymentsSurviveKills(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { surviveKills(t, "") })
	t.Run("postgres", func(t *testing.T) { surviveKills(t, storetest.Postgres(t)) })
}

const (
	crashClients = 6
	crashKills   = 8
	// patience outlasts every lease that a killed program leaves behind.
	patience = 150 * time.Second
)

func surviveKills(t *testing.T, database string) {
	p := servicetest.StartProcess(t, database)
	d := &driver{t: t, base: p.BaseURL, process: p}
	d.subscribe()
	killed := d.killRepeatedly()
	var clients sync.WaitGroup
	for n := range crashClients {
		clients.Go(func() { d.payUntil(killed, n) })
	}
	clients.Wait()
	t.Logf("%d payments through %d kills", len(d.payments), crashKills)
	d.checkEvents()
	p.Kill()
	d.checkSubmissions(database)
}

// driver is a set of clients that repeat every call until it is answered.
type driver struct {
	t        *testing.T
	base     string
	process  *servicetest.Process
	mu       sync.Mutex
	payments []int64
}

// killRepeatedly kills and restarts the program, and closes the channel when
// that has been done often enough.
func (d *driver) killRepeatedly() (killed <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range crashKills {
			<-time.After(time.Duration(50+rand.IntN(250)) * time.Millisecond)
			d.process.Kill()
			d.process.Start()
		}
	}()
	return done
}

// payUntil makes one payment after the other, so that every kill meets some on
// their way, but no more than the receiver remembers.
func (d *driver) payUntil(killed <-chan struct{}, client int) {
	for n := range store.MaxReceived / 4 / crashClients {
		d.pay(fmt.Sprintf("payment %d of client %d", n, client))
		select {
		case <-killed:
			return
		default:
		}
	}
}

// call repeats a request until it gets an answer below 500 that does not ask
// to wait. The key makes repeating it harmless.
func (d *driver) call(method, path, token, key string, body any) []byte {
	raw, _ := json.Marshal(body)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		status, answer := d.send(method, path, token, key, raw)
		switch {
		case status >= 200 && status < 300:
			return answer
		case status >= 400 && status < 500 && status != http.StatusConflict:
			d.t.Errorf("%s %s: %d %s", method, path, status, answer)
			return nil
		}
	}
	d.t.Errorf("%s %s: no answer in time", method, path)
	return nil
}

// send makes one attempt; status 0 is no answer.
func (d *driver) send(method, path, token, key string, body []byte) (status int, answer []byte) {
	request := must(http.NewRequest(method, d.base+path, bytes.NewReader(body)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		return 0, nil
	}
	return response.StatusCode, answer
}

func (d *driver) token() string {
	var out struct{ Token string }
	_ = json.Unmarshal(d.call("POST", "/auth/token", "", "", map[string]any{
		"client_id": d.process.ClientID, "client_secret": d.process.ClientSecret, "scope": "payments:admin",
	}), &out)
	return out.Token
}

func (d *driver) subscribe() {
	origin, _ := url.Parse(d.base)
	origin.Path = "/sandbox/receiver/crash"
	d.call("POST", "/webhooks/auth", d.process.ConfigToken, "auth", map[string]any{"type": "hmac_signature", "name": "crash"})
	d.call("POST", "/webhooks", d.process.ConfigToken, "webhook", map[string]any{
		"event": "PAYMENT_STATE_UPDATED", "url": origin.String(), "id_auth": "crash",
	})
}

type seenPayment struct {
	ID          int64
	State       string
	ValidateURI string `json:"validate_uri"`
}

// pay takes one payment from its creation to its end, looking at the stored
// state before each step, as any client does that was cut off.
func (d *driver) pay(key string) {
	token := d.token()
	var p seenPayment
	_ = json.Unmarshal(d.call("POST", "/payments", token, key, servicetest.Draft()), &p)
	d.mu.Lock()
	d.payments = append(d.payments, p.ID)
	d.mu.Unlock()
	path := fmt.Sprint("/payments/", p.ID)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		_ = json.Unmarshal(d.call("GET", path, token, "", nil), &p)
		switch p.State {
		case "created":
			d.validate(path, token)
		case "validating":
			d.approve(p.ValidateURI)
		case "done":
			return
		}
	}
	d.t.Errorf("payment %d is still %s", p.ID, p.State)
}

// validate may meet a validation that a kill cut short: then there is nothing
// to do but to look again.
func (d *driver) validate(path, token string) {
	d.send("POST", path, token, "", must(json.Marshal(map[string]any{
		"connector_uuid": testConnector, "webview_url": "https://shop.example/webview", "validated": true,
	})))
}

// approve is the person at the bank, whose browser follows the bank back.
func (d *driver) approve(page string) {
	response, err := http.DefaultTransport.RoundTrip(must(http.NewRequest("GET", page, nil)))
	if err != nil {
		return
	}
	html, _ := io.ReadAll(response.Body)
	response.Body.Close()
	button := approveButton.FindSubmatch(html)
	if button == nil {
		d.follow(returnLink.FindSubmatch(html))
		return
	}
	form := url.Values{string(button[1]): {string(button[2])}}
	request := must(http.NewRequest("POST", page, bytes.NewReader([]byte(form.Encode()))))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if response, err = http.DefaultTransport.RoundTrip(request); err != nil {
		return
	}
	response.Body.Close()
	d.follow([][]byte{nil, []byte(response.Header.Get("Location"))})
}

var (
	approveButton = regexp.MustCompile(`<button[^>]*name="([^"]+)"[^>]*value="(approve[^"]*)"`)
	returnLink    = regexp.MustCompile(`<a[^>]*href="([^"]*/webauth/callback[^"]*)"`)
)

func (d *driver) follow(link [][]byte) {
	if link == nil || len(link[1]) == 0 {
		return
	}
	if response, err := http.DefaultTransport.RoundTrip(must(http.NewRequest("GET", string(link[1]), nil))); err == nil {
		response.Body.Close()
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// checkEvents looks at what the receiver got: a request that was accepted and
// cut off before that was recorded comes again, under the same id.
func (d *driver) checkEvents() {
	d.call("POST", "/sandbox/run", d.process.ConfigToken, "", map[string]any{})
	d.call("POST", "/sandbox/clock", d.process.ConfigToken, "", map[string]any{"advance": "2m"})
	var got struct {
		Requests []struct{ Body, Verdict string }
	}
	_ = json.Unmarshal(d.call("GET", "/sandbox/receiver", d.process.ConfigToken, "", nil), &got)
	states, ids := map[int64][]string{}, map[int64]bool{}
	for _, request := range got.Requests {
		var body struct {
			ID        int64
			State     string
			WebhookID int64 `json:"id_webhook_data"`
		}
		_ = json.Unmarshal([]byte(request.Body), &body)
		if ids[body.WebhookID] {
			continue
		}
		ids[body.WebhookID] = true
		states[body.ID] = append(states[body.ID], body.State)
	}
	for _, id := range d.payments {
		if want := []string{"validating", "pending", "done"}; !slices.Equal(states[id], want) {
			d.t.Errorf("payment %d: the receiver got %v, want %v", id, states[id], want)
		}
	}
}

// checkSubmissions asks the bank's own ledger.
func (d *driver) checkSubmissions(database string) {
	if database == "" {
		database = "sqlite:" + filepath.Join(d.process.DataFolder(), "passerelle.db")
	}
	ctx := context.Background()
	ring := must(keys.Load(filepath.Join(d.process.DataFolder(), "keys")))
	db := must(store.Open(ctx, database, store.Options{Keys: ring}))
	defer db.Close()
	domain := must(db.DomainByName(ctx, "sandbox"))
	for _, id := range d.payments {
		attempt, err := db.Attempt(ctx, domain.ID, passerelle.PaymentID(id))
		if err != nil {
			d.t.Errorf("payment %d: %v", id, err)
			continue
		}
		if n, err := db.SandboxSubmissions(ctx, domain.ID, attempt.Key); err != nil || n != 1 {
			d.t.Errorf("payment %d: %d submissions at the bank (%v), want 1", id, n, err)
		}
	}
}
