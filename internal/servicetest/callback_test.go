package servicetest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"passerelle/internal/servicetest"
	"passerelle/internal/settings"
	"passerelle/internal/store/storetest"
)

// newest is the earliest creation time of a domain that has the new behaviour of
// PAYMENT_STATE_UPDATED by default. oldest is one second earlier. By default, a domain created at
// that time has the old behaviour, which TestStateThatThePayerBrings describes.
var (
	oldest = time.Date(2024, 9, 12, 23, 59, 59, 0, time.UTC)
	newest = oldest.Add(time.Second)
)

type payerStory struct {
	t    *testing.T
	s    *servicetest.Instance
	eyes *storetest.Inspection
	id   int64
	// landed is the state in the payer's redirect to the client's callback.
	landed string
	token  string
}

func (p *payerStory) deliveredStates(want ...string) {
	p.t.Helper()
	var got []string
	for _, request := range p.s.Received("changes") {
		var body struct{ State string }
		if err := json.Unmarshal([]byte(request.Body), &body); err != nil {
			p.t.Fatal(err)
		}
		got = append(got, body.State)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		p.t.Errorf("receivers were told otherwise (-want +got):\n%s", diff)
	}
}

func (p *payerStory) later(duration string) {
	p.t.Helper()
	p.s.OK(p.s.Call("POST", "/sandbox/clock", p.s.ConfigToken, map[string]any{"advance": duration}))
}

func (p *payerStory) path() string { return fmt.Sprint("/payments/", p.id) }

func (p *payerStory) change(body map[string]any) {
	p.t.Helper()
	p.s.OK(p.s.Call("POST", p.path(), p.s.Token("payments:admin"), body))
}

// validates chooses the bank for the payer, like a client with a page of its own. The payer returns
// to this page and not to the client's callback.
func (p *payerStory) validates() {
	p.t.Helper()
	p.change(map[string]any{"connector_uuid": testConnector, "webview_url": "https://shop.example/own", "validated": true})
}

func (p *payerStory) validateURI() string {
	p.t.Helper()
	var seen paymentAnswer
	p.s.JSON(p.s.OK(p.s.Call("GET", p.path(), p.s.Token("payments:admin"), nil)), &seen)
	if seen.ValidateURI == nil {
		p.t.Fatalf("the payment has no address to approve it at: %+v", seen)
	}
	return *seen.ValidateURI
}

// browser follows redirects within the service. It stores the state that a redirect to the client's
// callback contains.
func (p *payerStory) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(next *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(next.URL.String(), p.s.Origin) {
			return nil
		}
		if next.URL.Path == "/back" {
			p.landed = next.URL.Query().Get("payment_state")
		}
		return http.ErrUseLastResponse
	}}
}

// opens returns the address of the page at the end of the redirects.
func (p *payerStory) opens(b *http.Client, address string) string {
	p.t.Helper()
	answer, err := b.Get(address)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if found := formToken.FindSubmatch(body); found != nil {
		p.token = string(found[1])
	}
	return answer.Request.URL.String()
}

var formToken = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (p *payerStory) sends(b *http.Client, address string, form url.Values) {
	p.t.Helper()
	form.Set("csrf", p.token)
	request, err := http.NewRequest("POST", address, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := b.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode >= 400 {
		p.t.Fatalf("%s was answered with %d", address, answer.StatusCode)
	}
}

func (p *payerStory) chooses(b *http.Client) (page string) {
	p.t.Helper()
	page = p.opens(b, webviewURL(p.t, p.s, p.s.Token("payments:admin"), p.id, "en", "https://shop.example/back"))
	p.opens(b, page+"&bank="+testConnector)
	p.sends(b, page, url.Values{"terms": {"1"}, "bank": {testConnector}})
	return page
}

func (p *payerStory) decides(b *http.Client, decision string) {
	p.t.Helper()
	p.sends(b, p.validateURI(), url.Values{"decision": {decision}})
}

func (p *payerStory) pays() {
	p.t.Helper()
	b := p.browser()
	p.chooses(b)
	p.decides(b, "approve")
}

var (
	// The redirected payer brings the final state to the client, so the service sends no webhook
	// request.
	brought = func(p *payerStory) {
		p.pays()
		p.deliveredStates()
		p.later("1h")
		p.deliveredStates()
	}
	doubled = func(p *payerStory) {
		p.pays()
		p.deliveredStates("validating", "pending", "done")
	}
)

type callbackCase struct {
	created time.Time
	keys    map[string]string
	label   string
	play    func(*payerStory)
	landed  string
	events  []string
	dropped int
}

var everyState = []string{"validating", "pending", "done"}

// twoDays is the label of a payment that the bank processes for two days.
const twoDays = "pdng:2d/done - x"

var callbackCases = map[string]callbackCase{
	"older domain":                {created: oldest, play: brought, landed: "done", events: everyState, dropped: 3},
	"older domain that wants all": {created: oldest, keys: map[string]string{settings.Systematic: "1"}, play: doubled, landed: "done", events: everyState},
	"older domain, said so":       {created: oldest, keys: map[string]string{settings.Systematic: "0"}, play: brought, landed: "done", events: everyState, dropped: 3},
	"newer domain":                {created: newest, play: doubled, landed: "done", events: everyState},
	"newer domain that wants few": {created: newest, keys: map[string]string{settings.Systematic: "0"}, play: brought, landed: "done", events: everyState, dropped: 3},
	"newer domain, said so":       {created: newest, keys: map[string]string{settings.Systematic: "1"}, play: doubled, landed: "done", events: everyState},
	"nobody returns": {created: oldest, events: everyState, play: func(p *payerStory) {
		p.validates()
		p.decides(p.browser(), "approve")
		p.deliveredStates()
		p.later("4m59s")
		p.deliveredStates()
		p.later("1s")
		p.deliveredStates(everyState...)
	}},
	"nobody returns, another grace": {created: oldest, keys: map[string]string{settings.CallbackGrace: "60"}, events: everyState, play: func(p *payerStory) {
		p.validates()
		p.decides(p.browser(), "approve")
		p.later("59m")
		p.deliveredStates()
		p.later("1m")
		p.deliveredStates(everyState...)
	}},
	"no grace": {created: oldest, keys: map[string]string{settings.CallbackGrace: "0"}, landed: "done", events: everyState, play: doubled},
	"later news": {created: oldest, label: twoDays, landed: "pending", events: everyState, dropped: 2, play: func(p *payerStory) {
		p.pays()
		p.later("1h")
		p.deliveredStates()
		p.later("2d")
		p.deliveredStates("done")
	}},
	"slow payer": {created: oldest, landed: "done", events: everyState, dropped: 2, play: func(p *payerStory) {
		b := p.browser()
		p.chooses(b)
		p.later("6m")
		p.deliveredStates("validating")
		p.decides(b, "approve")
		p.later("1h")
		p.deliveredStates("validating")
	}},
	"payer who comes again": {created: oldest, label: twoDays, landed: "done", events: everyState, dropped: 2, play: func(p *payerStory) {
		b := p.browser()
		page := p.chooses(b)
		p.decides(b, "approve")
		p.later("2d")
		p.deliveredStates("done")
		p.opens(b, page)
	}},
	"payer who does not wait": {created: oldest, label: "actn(decoupled)/done - x", landed: "validating", events: everyState, dropped: 1, play: func(p *payerStory) {
		b := p.browser()
		page := p.chooses(b)
		p.opens(b, page+"&step=leave")
		p.change(map[string]any{"resume": true})
		p.deliveredStates("pending", "done")
	}},
	"cancellation that the payer brings": {
		created: oldest, label: twoDays, landed: "rejected", events: []string{"validating", "pending", "rejected"}, dropped: 1,
		play: func(p *payerStory) {
			p.validates()
			b := p.browser()
			p.decides(b, "approve")
			p.later("5m")
			p.change(map[string]any{"cancel": true, "client_redirect_uri": "https://shop.example/back"})
			p.decides(b, "cancel")
			p.later("1h")
			p.deliveredStates("validating", "pending")
		},
	},
	"cancellation by the client": {created: oldest, events: []string{"rejected"}, play: func(p *payerStory) {
		p.change(map[string]any{"cancel": true, "client_redirect_uri": "https://shop.example/back"})
		p.deliveredStates()
		p.later("5m")
		p.deliveredStates("rejected")
	}},
}

// In the old behaviour of PAYMENT_STATE_UPDATED, webhooks omit the states that the payer brings to
// the client's callback. TestStateThatThePayerBrings tests which domains have this behaviour, and
// how it works.
func TestStateThatThePayerBrings(t *testing.T) {
	for name, c := range callbackCases {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, url string) {
				s := servicetest.Start(t, url, servicetest.Options{Created: c.created})
				p := begin(t, s, storetest.Inspect(t, url), c.keys, cmp.Or(c.label, "done - x"))
				c.play(p)
				if p.landed != c.landed {
					t.Errorf("the payer landed with %q, want %q", p.landed, c.landed)
				}
				p.wrote(c.events, c.dropped)
			})
		})
	}
}

func begin(t *testing.T, s *servicetest.Instance, eyes *storetest.Inspection, keys map[string]string, label string) *payerStory {
	t.Helper()
	if err := settings.Set(t.Context(), s.DB, s.Domain.ID, keys, time.Now()); err != nil {
		t.Fatal(err)
	}
	s.Subscribe("PAYMENT_STATE_UPDATED", "changes")
	s.OK(s.Call("POST", "/sandbox/clock", s.ConfigToken, map[string]any{"freeze": true}))
	draft := servicetest.Draft()
	line := draft["instructions"].([]any)[0].(map[string]any)
	line["label"], line["execution_date_type"] = label, "first_open_day"
	return &payerStory{t: t, s: s, eyes: eyes, id: s.Create(s.Token("payments:admin"), draft)}
}

func (p *payerStory) wrote(events []string, dropped int) {
	p.t.Helper()
	state := regexp.MustCompile(`"state":"(\w+)"`)
	var got []string
	for _, e := range p.eyes.Events() {
		got = append(got, state.FindStringSubmatch(e.Body)[1])
	}
	if !slices.Equal(got, events) {
		p.t.Errorf("the events are %v, want %v", got, events)
	}
	deliveries, set := p.eyes.Deliveries(), 0
	for _, d := range deliveries {
		if d.Dropped {
			set++
		}
		if d.Dropped == d.Delivered {
			p.t.Errorf("delivery %+v is not over, or is twice", d)
		}
	}
	if len(deliveries) != len(events) || set != dropped {
		p.t.Errorf("%d deliveries, %d of them dropped; want %d, %d", len(deliveries), set, len(events), dropped)
	}
}
