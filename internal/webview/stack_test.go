package webview_test

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/access"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankcall"
	"passerelle/internal/initiation"
	"passerelle/internal/keys"
	"passerelle/internal/picture"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/internal/webview"
	"passerelle/payment"
)

// bank is a connector to the sandbox bank.
type bank struct {
	connector.Initiator
	profile connector.Profile
}

func (b bank) Profile() connector.Profile {
	profile := b.profile
	profile.Data = nil // the connector offers only payments
	return profile
}

// stack has the part of the service that the webview needs, with a real database and a real
// listener. Its browser follows no redirects.
type stack struct {
	*initiation.Initiation
	access  *access.Access
	domain  passerelle.Domain
	client  store.Client
	origin  string
	browser *http.Client
	// simulated is the sandbox bank that the payment connectors use.
	simulated *sandbox.Bank
	// tokens has the form token of each payment, by the payment's number.
	tokens map[string]string
	data   *aggregation.Aggregation
	logos  picture.Logos
	// failure is the error of each request, unless it is nil.
	failure error
}

func each(t *testing.T, tune func(connector.Profile) []connector.Profile, run func(t *testing.T, s *stack)) {
	storetest.Each(t, func(t *testing.T, url string) { run(t, start(t, url, tune)) })
}

// start starts a stack. The function tune returns the profiles of the stack's banks. When tune is
// nil, the stack has only one bank.
func start(t *testing.T, database string, tune func(connector.Profile) []connector.Profile) *stack {
	t.Helper()
	ring := keys.Generate()
	db, err := store.Open(t.Context(), database, store.Options{Keys: ring})
	must(t, err)
	t.Cleanup(func() { db.Close() })
	must(t, db.Database.Migrate(t.Context()))

	server := httptest.NewUnstartedServer(nil)
	s := &stack{tokens: map[string]string{}, origin: "http://" + server.Listener.Addr().String(), access: &access.Access{DB: db, Now: time.Now}}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	s.simulated = &sandbox.Bank{
		Ledger: store.SandboxLedger{DB: db}, Base: func(passerelle.DomainID) string { return s.origin },
		MAC: ring.MAC, Timing: sandbox.CI, Log: log,
	}
	s.Initiation = &initiation.Initiation{
		Callers: &bankcall.Callers{},
		DB:      db, Connectors: connectors(t, s.simulated, tune), Random: rand.Reader, Now: time.Now, MAC: ring.MAC, Wake: func() {}, Log: log,
	}
	s.data = &aggregation.Aggregation{
		DB: db, Connectors: s.Connectors, Now: time.Now, Wake: func() {}, Erase: func() {}, Sync: func() {}, Fetch: func(string) {},
		Background: func(_ string, work func(context.Context)) bool { work(context.Background()); return true }, LeaseTimeout: time.Second, Name: "test", Log: log,
	}
	s.populate(t)
	pages := webview.New(webview.Config{
		Domain: s.domainOf, Wait: func(*http.Request, bool) (time.Duration, error) { return 0, s.failure }, RequestID: func(context.Context) string { return "4711" },
		Access: s.access, DB: db, Initiation: s.Initiation, Aggregation: s.data, Logos: &s.logos, MAC: ring.MAC, Now: time.Now, Log: log,
	})
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/sandbox/bank/") {
			s.simulated.Pages().ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
	server.Start()
	t.Cleanup(server.Close)
	s.browser = newBrowser(t)
	return s
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &http.Client{
		Jar: jar, Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func connectors(t *testing.T, simulated *sandbox.Bank, tune func(connector.Profile) []connector.Profile) *connector.Registry {
	t.Helper()
	able := simulated.Connectors()[0].(connector.Initiator)
	all := []connector.Connector{able}
	if tune != nil {
		all = nil
		for _, profile := range tune(able.Profile()) {
			all = append(all, bank{able, profile})
		}
	}
	registry, err := connector.NewRegistry(all...)
	must(t, err)
	return registry
}

func (s *stack) offer(t *testing.T, all ...connector.Connector) {
	t.Helper()
	registry, err := connector.NewRegistry(all...)
	must(t, err)
	s.Connectors, s.data.Connectors = registry, registry
}

func (s *stack) domainOf(ctx context.Context, host string) (passerelle.Domain, error) {
	if name, _, _ := strings.Cut(host, ":"); name == "localhost" {
		return s.domain, nil
	}
	found, err := s.DB.ServedDomainByHost(ctx, host)
	if err != nil {
		return found.Domain, passerelle.Missing()
	}
	return found.Domain, nil
}

func (s *stack) populate(t *testing.T) {
	t.Helper()
	d := passerelle.Domain{Name: "test", Kind: passerelle.Sandbox, BaseURL: s.origin + "/2.0", Created: time.Now()}
	must(t, s.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&d, strings.TrimPrefix(s.origin, "http://")) }))
	client, _, err := s.access.Register(t.Context(), d.ID, "Maison Dupont", []string{"https://shop.example/back", "https://shop.example/sorry"})
	must(t, err)
	s.domain, s.client = d, client
}

// draft returns a draft with one instruction. The function change, if it is not nil, alters the
// draft.
func draft(change func(*payment.Draft)) payment.Draft {
	d := payment.Draft{
		ClientRedirectURI: "https://shop.example/back", ClientState: "a&b=ü",
		Instructions: []payment.Instruction{{
			Amount: passerelle.Money{Minor: 123456, Currency: "EUR"}, Label: "Order 1234", DateType: payment.Instant,
			Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Maison Dupont SARL"},
		}},
	}
	if change != nil {
		change(&d)
	}
	return d
}

func (s *stack) create(t *testing.T, change func(*payment.Draft)) *payment.Payment {
	t.Helper()
	p, err := s.Create(t.Context(), s.domain, initiation.Creation{By: s.client.ID, Draft: draft(change)})
	must(t, err)
	return p
}

func (s *stack) code(t *testing.T, id passerelle.PaymentID, scopes ...passerelle.Scope) string {
	t.Helper()
	maker := access.Principal{Domain: s.domain.ID, Client: s.client.ID, Scopes: passerelle.Scopes{passerelle.ScopePaymentsAdmin}}
	grant, err := s.access.IssuePayment(t.Context(), maker, id, scopes)
	must(t, err)
	return grant.Text
}

// open follows the link of a payment. It returns the address of the payment's page.
func (s *stack) open(t *testing.T, id passerelle.PaymentID, more url.Values) string {
	t.Helper()
	query := url.Values{"code": {s.code(t, id, passerelle.ScopePaymentsValidate)}}
	for name, values := range more {
		query[name] = values
	}
	a := s.get(t, "/webview/en/payment?"+query.Encode())
	if a.status != http.StatusSeeOther {
		t.Fatalf("the link was answered with %d: %s", a.status, a.body)
	}
	return a.location
}

type answer struct {
	status         int
	location, body string
	header         http.Header
}

func (s *stack) get(t *testing.T, address string) answer {
	t.Helper()
	return s.do(t, s.request(t, http.MethodGet, address))
}

func (s *stack) request(t *testing.T, method, address string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.absolute(address), nil)
	must(t, err)
	return request
}

// post sends a form. site is the value of the header Sec-Fetch-Site. If the form has no token, post
// adds the token of the payment's forms.
func (s *stack) post(t *testing.T, address, site string, form url.Values) answer {
	t.Helper()
	if token := s.token(t, address); token != "" && !form.Has("csrf") {
		form = maps.Clone(form)
		form.Set("csrf", token)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.absolute(address), strings.NewReader(form.Encode()))
	must(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", site)
	return s.do(t, request)
}

// token returns the form token of the payment at an address. It reads the page when it does not
// know the token yet.
func (s *stack) token(t *testing.T, address string) string {
	t.Helper()
	page, query, _ := strings.Cut(address, "?")
	values, _ := url.ParseQuery(query)
	id := values.Get("payment_id")
	if id == "" || s.tokens[id] != "" {
		return s.tokens[id]
	}
	for _, step := range []string{"", "&step=cancel"} {
		if s.tokens[id] == "" {
			s.get(t, page+"?payment_id="+id+step)
		}
	}
	return s.tokens[id]
}

var formToken = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (s *stack) absolute(address string) string {
	if strings.HasPrefix(address, "/") {
		return s.origin + address
	}
	return address
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stack) do(t *testing.T, request *http.Request) answer {
	t.Helper()
	response, err := s.browser.Do(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	id := request.URL.Query().Get("payment_id")
	if began, ok := strings.CutPrefix(response.Header.Get("Set-Cookie"), "payment_"); ok {
		number, _, _ := strings.Cut(began, "=")
		delete(s.tokens, number)
	} else if found := formToken.FindSubmatch(body); found != nil && id != "" {
		s.tokens[id] = string(found[1])
	}
	return answer{response.StatusCode, response.Header.Get("Location"), string(body), response.Header}
}

func number(id passerelle.PaymentID) string { return strconv.FormatInt(int64(id), 10) }
