package httpapi_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/httpapi"
	"passerelle/internal/keys"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

// The sample is a small API of items that uses the package's conventions. Its items are the numbers
// from 1 to 25.

type itemID int64

type colour string

func (colour) Values() []string { return []string{"red", "green", "blue"} }

type line struct {
	Amount httpapi.Number `body:"amount,required"`
	Label  string         `body:"label" max:"5"`
	Tags   []string       `body:"tags"`
}

type product struct {
	Parts []string      `json:"parts,omitempty" expand:"true"`
	Maker *productMaker `json:"maker,omitempty" expand:"true"`
	Bill  string        `json:"bill,omitempty" expand:"true"`
}

type productMaker struct {
	City     string    `json:"city,omitempty" expand:"true"`
	Country  string    `json:"country,omitempty" expand:"true"`
	Products []product `json:"products,omitempty" expand:"true"`
}

type createItem struct {
	httpapi.SensitiveInput
	Name   string                   `body:"name,required" doc:"what it is called" example:"a chair" max:"10"`
	Colour *colour                  `body:"colour"`
	Count  *int64                   `body:"count" min:"1" max:"9"`
	Ready  *bool                    `body:"ready"`
	Amount httpapi.Number           `body:"amount"`
	Lines  []line                   `body:"lines"`
	First  *line                    `body:"first"`
	Fields map[string]string        `body:"fields"`
	Scope  httpapi.WordList         `body:"scope"`
	Owner  httpapi.Nullable[string] `body:"owner"`
}

type listItems struct {
	httpapi.Paging
	httpapi.All
	httpapi.DateRange
	httpapi.Expand[product] `without:"bill"`
	Country                 []string                  `query:"country"`
	Parity                  string                    `query:"parity" enum:"odd,even"`
	Maker                   httpapi.Nullable[makerID] `query:"id_maker"`
}

type makerID int64

type oneItem struct {
	ID itemID `path:"itemId"`
}

type updateItem struct {
	oneItem
	Name *string `body:"name"`
}

type someItems struct {
	IDs []itemID `path:"itemIds"`
}

type ofUser struct {
	User  passerelle.UserID `path:"userId"`
	Group itemID            `path:"groupId,optional"`
}

type item struct {
	ID int64 `json:"id"`
}

type echo struct {
	Got any `json:"got"`
}

type itemList struct {
	Items []item `json:"items"`
	httpapi.Listing
}

type accepted struct{}

func (accepted) HTTPStatus() int { return http.StatusAccepted }

// sample implements the endpoints.
type sample struct {
	mu      sync.Mutex
	created int
	counted int
	// If hold is set, the creation of an item waits until the test closes this channel.
	hold, entered chan struct{}
	fail          error
	// If record is set, the creation of an item ends with it.
	record func(c *httpapi.Caller, made echo) error
}

func (s *sample) create(_ context.Context, c *httpapi.Caller, in createItem) (echo, error) {
	if hold := s.hold; hold != nil {
		s.entered <- struct{}{}
		<-hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return echo{}, s.fail
	}
	if s.record != nil {
		if err := s.record(c, echo{Got: in}); err != nil {
			return echo{}, err
		}
	}
	s.created++
	return echo{Got: in}, nil
}

func (s *sample) list(ctx context.Context, _ *httpapi.Caller, in listItems) (itemList, error) {
	keep := func(n int64) bool { return in.Parity == "" || (in.Parity == "odd") == (n%2 == 1) }
	fetch := func(_ context.Context, _ *store.Reader, w httpapi.PageWindow) ([]item, error) {
		return window(w, keep), nil
	}
	position := func(i item) httpapi.Position { return httpapi.Position{nil, "x", i.ID} }
	count := func(context.Context, *store.Reader) (int64, error) {
		s.counted++
		return int64(len(window(httpapi.PageWindow{Limit: 1000}, keep))), nil
	}
	items, listing, err := httpapi.Turn(ctx, new(store.Reader), in.Paging, fetch, position, count)
	return itemList{Items: items, Listing: listing}, err
}

const lastItem = 25

func window(w httpapi.PageWindow, keep func(int64) bool) []item {
	step, at := int64(1), int64(0)
	if w.From != nil {
		at = w.From[2].(int64)
	}
	if w.Backward {
		step = -1
	}
	items := []item{}
	for n := at + step; n >= 1 && n <= lastItem && len(items) < w.Limit; n += step {
		if !keep(n) {
			continue
		}
		if w.Offset > 0 {
			w.Offset--
			continue
		}
		items = append(items, item{ID: n})
	}
	return items
}

func (s *sample) read(_ context.Context, _ *httpapi.Caller, in oneItem) (item, error) {
	if in.ID > lastItem {
		return item{}, passerelle.Missing()
	}
	return item{ID: int64(in.ID)}, nil
}

func (s *sample) several(_ context.Context, _ *httpapi.Caller, in someItems) (echo, error) {
	return echo{Got: in.IDs}, nil
}

func (s *sample) update(_ context.Context, _ *httpapi.Caller, in updateItem) (item, error) {
	return item{ID: int64(in.ID)}, nil
}

func (s *sample) user(_ context.Context, c *httpapi.Caller, in ofUser) (echo, error) {
	if in.Group != 0 {
		return echo{Got: []int64{int64(in.User), int64(in.Group)}}, nil
	}
	return echo{Got: in.User}, nil
}

type rangeAndExpand struct {
	httpapi.DateRange       `max:"exclusive"`
	httpapi.Expand[product] `without:"bill"`
}

func (s *sample) resolved(_ context.Context, c *httpapi.Caller, in rangeAndExpand) (echo, error) {
	return echo{Got: []string{instant(in.From()), instant(in.Until()), in.Expansion().String()}}, nil
}

func (s *sample) inclusive(_ context.Context, c *httpapi.Caller, in struct{ httpapi.DateRange }) (echo, error) {
	return echo{Got: []string{instant(in.From()), instant(in.Until())}}, nil
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func (s *sample) flag(_ context.Context, _ *httpapi.Caller, in struct{ httpapi.All }) (echo, error) {
	return echo{Got: in.WithDisabled}, nil
}

func (s *sample) caller(_ context.Context, c *httpapi.Caller, in struct {
	Agent string `header:"User-Agent"`
},
) (echo, error) {
	return echo{Got: []any{c.Base, c.Now.Format(time.RFC3339), c.Location.String(), c.Strict, c.Request, in.Agent}}, nil
}

// colors is an input whose body has one of three forms.
type colors struct {
	oneItem
	Happy *struct {
		Song string `body:"song,required" max:"5"`
		Loud bool   `body:"loud"`
	} `variant:"HappyMood"`
	Sad *struct {
		Song  string            `body:"song,required"`
		Tears map[string]string `body:"tears,required"`
	} `variant:"SadMood"`
	Plain *struct {
		Plain *bool `body:"calm,required"`
	} `variant:"CalmMood"`
}

func newColor(_ context.Context, _ *httpapi.Caller, in colors) (echo, error) {
	return echo{Got: []any{in.ID, in.Happy, in.Sad, in.Plain}}, nil
}

func failing[Out any](err error) httpapi.Endpoint {
	return httpapi.Handle(func(context.Context, *httpapi.Caller, httpapi.Nothing) (Out, error) {
		var out Out
		return out, err
	})
}

func nothing[In any]() httpapi.Endpoint {
	return httpapi.Handle(func(context.Context, *httpapi.Caller, In) (httpapi.Nothing, error) { return httpapi.Nothing{}, nil })
}

func panicking(context.Context, *httpapi.Caller, httpapi.Nothing) (item, error) {
	panic("secret detail")
}

func (s *sample) routes() []httpapi.Route {
	reader := httpapi.Needs{AnyScope: []passerelle.Scope{passerelle.ScopePaymentsReadOnly, passerelle.ScopePaymentsAdmin}}
	admin := httpapi.Needs{Kinds: []access.TokenKind{access.ServiceToken}, AnyScope: []passerelle.Scope{passerelle.ScopePaymentsAdmin}}
	user := httpapi.Needs{Kinds: []access.TokenKind{access.UserToken}}
	public := httpapi.Needs{Public: true}
	return []httpapi.Route{
		{Method: "GET", Pattern: "/items", Needs: reader, Summary: "List items", Endpoint: httpapi.Handle(s.list)},
		{Method: "POST", Pattern: "/items", Needs: admin, Summary: "Create an item", Errors: []string{"noAccount"}, Endpoint: httpapi.Handle(s.create)},
		{Method: "GET", Pattern: "/items/{itemId}", Needs: reader, Summary: "Read an item", Endpoint: httpapi.Handle(s.read)},
		{Method: httpapi.Update, Pattern: "/items/{itemId}", Needs: admin, Summary: "Change an item", Endpoint: httpapi.Handle(s.update)},
		{Method: "POST", Pattern: "/items/{itemId}/moods", Needs: admin, Summary: "Do one of several things", Endpoint: httpapi.Handle(newColor)},
		{Method: "GET", Pattern: "/several/{itemIds}", Needs: public, Summary: "Name items", Endpoint: httpapi.Handle(s.several)},
		{Method: "POST", Pattern: "/anything", Needs: admin, Summary: "Take any keys", Endpoint: httpapi.Handle(anything)},
		{Method: "POST", Pattern: "/others", Needs: admin, Statuses: []int{202}, Summary: "Take other keys as well", Endpoint: httpapi.Handle(others)},
		{Method: "POST", Pattern: "/texts", Needs: public, Summary: "Import a text", Endpoint: httpapi.Handle(importText)},
		{Method: "POST", Pattern: "/pictures", Needs: public, Summary: "Keep a picture", Endpoint: httpapi.Handle(keep)},
		{Method: "GET", Pattern: "/download", Needs: public, Summary: "Get a file", Endpoint: httpapi.Handle(download)},
		{Method: "GET", Pattern: "/stream", Needs: public, Summary: "Get a file that is made meanwhile", Endpoint: httpapi.Handle(streamed)},
		{Method: "POST", Pattern: "/passed", Needs: admin, Summary: "Pass an object on", MaxBody: 3 << 20, Endpoint: httpapi.Handle(passed)},
		{Method: "GET", Pattern: "/guarded", Needs: httpapi.Needs{Public: true, Guarded: "secret", AnyScope: reader.AnyScope}, Summary: "Partly public", Endpoint: httpapi.Handle(s.caller)},
		{Method: "DELETE", Pattern: "/items/{itemId}", Needs: admin, Summary: "Delete an item", Endpoint: nothing[oneItem]()},
		{Method: "GET", Pattern: "/users/{userId}/things", Aliases: []string{"/things", "/groups/{groupId}/things"}, Needs: user, Summary: "Of a user", Endpoint: httpapi.Handle(s.user)},
		{Method: "GET", Pattern: "/resolved", Needs: public, Summary: "Ranges", Endpoint: httpapi.Handle(s.resolved)},
		{Method: "GET", Pattern: "/inclusive", Needs: public, Summary: "Ranges", Endpoint: httpapi.Handle(s.inclusive)},
		{Method: "GET", Pattern: "/flag", Needs: public, Summary: "A flag", Endpoint: httpapi.Handle(s.flag)},
		{Method: "GET", Pattern: "/caller", Needs: public, Summary: "Who calls", Endpoint: httpapi.Handle(s.caller)},
		{Method: "POST", Pattern: "/auth/token", Needs: public, Summary: "A token", Endpoint: httpapi.Handle(s.create)},
		{Method: "POST", Pattern: "/webhooks/auth", Unversioned: true, Needs: public, Summary: "A provider", Endpoint: failing[accepted](nil)},
		{Method: "GET", Pattern: "/webhooks/{itemId}/logs", Needs: public, Summary: "Logs", Endpoint: httpapi.Handle(s.read)},
		{Method: "GET", Pattern: "/fail/panic", Needs: public, Summary: "Panics", Endpoint: httpapi.Handle(panicking)},
		{Method: "GET", Pattern: "/fail/outcome", Needs: public, Summary: "Fails", Endpoint: failing[item](fmt.Errorf("secret detail: %w", store.ErrUnknown))},
		{Method: "GET", Pattern: "/fail/unknown", Needs: public, Summary: "Fails", Endpoint: failing[item](errors.New("secret detail"))},
		{Method: "GET", Pattern: "/fail/slow", Needs: public, Summary: "Fails", Endpoint: failing[item](context.DeadlineExceeded)},
		{Method: "GET", Pattern: "/fail/render", Needs: public, Summary: "Fails", Endpoint: httpapi.Handle(func(context.Context, *httpapi.Caller, httpapi.Nothing) (map[string]any, error) {
			return map[string]any{"a": make(chan int)}, nil
		})},
		{Method: "GET", Pattern: "/fail/later", Needs: public, Summary: "Fails", Endpoint: failing[item](&passerelle.Error{
			Kind: passerelle.Conflict, Code: "conflict", Message: "Later.", RetryAfter: 7, Cause: errors.New("secret detail"),
		})},
	}
}

var principals = map[string]access.Principal{
	"admin":  {Token: 1, Kind: access.ServiceToken, Domain: 1, Scopes: passerelle.Scopes{passerelle.ScopePaymentsAdmin}},
	"second": {Token: 2, Kind: access.ServiceToken, Domain: 1, Scopes: passerelle.Scopes{passerelle.ScopePaymentsAdmin, passerelle.ScopePaymentsValidate}},
	"reader": {Token: 3, Kind: access.ServiceToken, Domain: 1, Scopes: passerelle.Scopes{passerelle.ScopePaymentsReadOnly}},
	"user":   {Token: 4, Kind: access.UserToken, Domain: 1, User: 42},
	"one":    {Token: 5, Kind: access.PaymentToken, Domain: 1, Payment: 9, Scopes: passerelle.Scopes{passerelle.ScopePaymentsReadOnly}},
}

var testNow = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// service is the sample behind a handler.
type service struct {
	*sample
	http.Handler
	down     bool
	rates    map[string]string
	later    time.Duration
	matched  []string
	db       *store.DB
	log      strings.Builder
	unsigned bool
}

func newService(t testing.TB) *service {
	t.Helper()
	s := &service{sample: &sample{}, db: openStore(t)}
	s.Handler = httpapi.New(httpapi.Config{
		Domain:         s.servedDomain,
		Authenticate:   authenticate,
		MAC:            mac,
		Sign:           s.sign,
		RequestID:      func(context.Context) string { return "1234" },
		Matched:        func(_ context.Context, pattern string) { s.matched = append(s.matched, pattern) },
		Now:            func() time.Time { return testNow.Add(s.later) },
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Log:            slog.New(slog.NewTextHandler(&s.log, nil)),
		Responses:      s.db,
	}, s.routes())
	return s
}

func (s *service) sign(_ context.Context, c *httpapi.Caller) (httpapi.SignFunc, error) {
	if s.unsigned {
		return nil, passerelle.InvalidField("sign_response", "not here")
	}
	return func(payload []byte) (string, error) {
		return fmt.Sprint("domain ", c.Domain.ID, " says ", string(payload)), nil
	}, nil
}

func openStore(t testing.TB) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{Keys: keys.Generate(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), func(tx *store.Tx) error {
		one := passerelle.Domain{Name: "one", Kind: passerelle.Sandbox, BaseURL: "http://one.example/2.0", Created: testNow}
		return tx.CreateDomain(&one, "one.example")
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func mac(purpose string, data []byte) []byte {
	h := hmac.New(sha256.New, []byte("key"))
	h.Write([]byte(purpose))
	h.Write(data)
	return h.Sum(nil)
}

func (s *service) servedDomain(_ context.Context, host, _ string) (store.ServedDomain, access.BearerToken, error) {
	found := store.ServedDomain{Settings: map[string]string{settings.Timezone: "Europe/Paris"}, Closed: s.down}
	found.Settings[settings.RateEnabled] = "0"
	maps.Copy(found.Settings, s.rates)
	switch host {
	case "one.example":
		found.Domain = passerelle.Domain{ID: 1, Clock: passerelle.Clock{Offset: time.Hour}}
		found.Settings[settings.QueryToken] = "1"
		found.Settings[settings.AllowedOrigins] = "https://app.example, http://localhost:3000"
	case "two.example":
		found.Domain = passerelle.Domain{ID: 2}
	default:
		return found, access.BearerToken{}, passerelle.Missing()
	}
	return found, access.BearerToken{}, nil
}

func authenticate(_ context.Context, d passerelle.Domain, shown access.BearerToken) (access.Principal, error) {
	p, ok := principals[shown.Text]
	if !ok {
		return p, &passerelle.Error{Kind: passerelle.Unauthenticated, Code: "invalidToken", Message: "The token is not valid."}
	}
	return p, nil
}

type call struct {
	method, url, token, body, contentType string
	header                                map[string]string
	remote                                string
}

func (c call) request() *http.Request {
	method := c.method
	if method == "" {
		method = "GET"
	}
	url := c.url
	if strings.HasPrefix(url, "/") {
		url = "http://one.example" + url
	}
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	r := httptest.NewRequest(method, url, body)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.contentType != "" {
		r.Header.Set("Content-Type", c.contentType)
	}
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	if c.remote != "" {
		r.RemoteAddr = c.remote
	}
	return r
}

func (s *service) do(c call) *httptest.ResponseRecorder { return s.serve(c.request()) }

func (s *service) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}
