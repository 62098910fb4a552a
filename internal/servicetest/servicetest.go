// Package servicetest runs the complete service on a temporary database. It is for tests that use
// the service like its users.
//
// The package owns starting, stopping and restarting such a service, and the small client for
// calls. It does not own expectations, because they belong to the tests. The package uses the real
// service with its database, its listener and the simulated bank. It fails the test when any part
// of the service does not start.
package servicetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/access"
	"passerelle/internal/keys"
	"passerelle/internal/oidc"
	"passerelle/internal/service"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated" // new databases have the schema
	"passerelle/internal/tracing/otlp"
)

// Instance is a running service with one sandbox domain and one application.
type Instance struct {
	*service.Service
	Domain passerelle.Domain
	// Origin is the address of the service, and Base the base URL of its API.
	Origin, Base string
	ClientID     string
	Secret       string
	ConfigToken  string
	UsersToken   string
	// Logs has all log lines of the service.
	Logs *Logs
	// Device is the address of the user's device in calls.
	Device string

	t      testing.TB
	config service.Config
}

// Folder returns the folder in which the service stores files.
func (s *Instance) Folder() string { return s.config.Files }

// Options configures Start. The zero value starts the usual service.
type Options struct {
	// Now replaces the machine's clock, unless Now is nil.
	Now    func() time.Time
	Timing sandbox.Timing
	// LeaseTimeout has the same meaning as in service.Config.
	LeaseTimeout time.Duration
	// Created is the creation time of the domain. Zero means now.
	Created time.Time
	// Banks has the same meaning as in service.Config.
	Banks string
	// Identities has the same meaning as in service.Config.
	Identities *oidc.Config
	// Traces is the endpoint in otlp.Config. Without traces, it is empty.
	Traces string
	// Quiet starts no loops, so the service works only on request.
	Quiet bool
}

// Each runs a subtest on each kind of database, with a new service.
func Each(t *testing.T, o Options, run func(t *testing.T, s *Instance)) {
	storetest.Each(t, func(t *testing.T, database string) { run(t, Start(t, database, o)) })
}

// Start starts a service on an empty database. The end of the test stops the service.
func Start(t testing.TB, database string, o Options) *Instance {
	t.Helper()
	if o.Timing == "" {
		o.Timing = sandbox.CI
	}
	s := &Instance{Logs: &Logs{}, t: t}
	s.config = service.Config{
		Database: withFewConnections(database), Keys: keys.Generate(), Files: t.TempDir(), Loopback: true, Timing: o.Timing, LeaseTimeout: o.LeaseTimeout, Migrate: true, Now: o.Now, Identities: o.Identities, Banks: o.Banks,
		Traces: otlp.Config{Endpoint: o.Traces, Ratio: 1},
		Log:    slog.New(slog.NewJSONHandler(s.Logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	ctx := context.Background()
	s.open(ctx)
	s.populate(ctx, o.Created)
	if o.Quiet {
		s.Serve()
	} else {
		s.Service.Start()
	}
	t.Cleanup(s.stop)
	return s
}

// withFewConnections limits the connections to PostgreSQL. Each connection is a process of the
// server, and the start of the default sixteen processes takes longer than most tests.
func withFewConnections(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme == "sqlite" {
		return address
	}
	query := parsed.Query()
	query.Set("pool_max_conns", "4")
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

// Restart stops the service and starts it again on the same database, at another address.
func (s *Instance) Restart() {
	s.t.Helper()
	s.stop()
	ctx := context.Background()
	s.open(ctx)
	domain, err := s.FirstDomain(ctx, s.Domain.Name, s.Domain.Kind, s.Base)
	s.must(err)
	s.Domain = domain
	s.Service.Start()
}

// Replica starts another service on the same database, without loops.
func (s *Instance) Replica() *Instance {
	s.t.Helper()
	beside := *s
	beside.open(context.Background())
	beside.Serve()
	s.t.Cleanup(beside.stop)
	return &beside
}

func (s *Instance) open(ctx context.Context) {
	s.t.Helper()
	running, err := service.Open(ctx, s.config)
	if err != nil {
		s.t.Fatalf("open the service: %v", err)
	}
	s.Service, s.Origin = running, "http://"+running.Addr()
	s.Base = s.Origin + "/2.0"
}

func (s *Instance) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		s.t.Errorf("stop the service: %v", err)
	}
}

func (s *Instance) populate(ctx context.Context, created time.Time) {
	s.t.Helper()
	if !created.IsZero() {
		_, err := service.EnsureDomain(ctx, s.DB, passerelle.Domain{Name: "test", Kind: passerelle.Sandbox, BaseURL: s.Base, Created: created})
		s.must(err)
	}
	domain, err := s.FirstDomain(ctx, "test", passerelle.Sandbox, s.Base)
	s.must(err)
	client, secret, err := s.Access.Register(ctx, domain.ID, "test application", nil)
	s.must(err)
	config, err := s.Access.IssueOperator(ctx, domain.ID, access.ConfigToken)
	s.must(err)
	users, err := s.Access.IssueOperator(ctx, domain.ID, access.UsersToken)
	s.must(err)
	s.Domain, s.ClientID, s.Secret = domain, strconv.FormatInt(int64(client.ID), 10), secret
	s.ConfigToken, s.UsersToken = config.Text, users.Text
}

func (s *Instance) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Answer is the response to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the body of a response. It fails the test when this is impossible.
func (s *Instance) JSON(a Answer, into any) {
	s.t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(a.Body))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		s.t.Fatalf("the response %d is not the expected JSON: %v: %s", a.Status, err, a.Body)
	}
}

// Call sends a request to a path relative to the base URL. It sends a bearer token unless the token
// is empty, and a JSON body unless the body is nil. It sends a string body unchanged.
func (s *Instance) Call(method, path, token string, body any) Answer {
	s.t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		raw, err := json.Marshal(body)
		s.must(err)
		reader = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, s.Base+path, reader)
	s.must(err)
	if reader != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if s.Device != "" {
		request.Header.Set("PSU-IP-Address", s.Device)
	}
	return s.Do(request)
}

// Do sends a request unchanged and does not follow redirects.
func (s *Instance) Do(request *http.Request) Answer {
	s.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	s.must(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	s.must(err)
	return Answer{Status: response.StatusCode, Header: response.Header, Body: body}
}

// Token requests a service token with the scopes.
func (s *Instance) Token(scope string) string {
	s.t.Helper()
	var out struct{ Token string }
	s.JSON(s.OK(s.Call("POST", "/auth/token", "", map[string]any{
		"grant_type": "client_credentials", "client_id": s.ClientID, "client_secret": s.Secret, "scope": scope,
	})), &out)
	return out.Token
}

// OK fails the test unless the response is a success.
func (s *Instance) OK(a Answer) Answer {
	s.t.Helper()
	if a.Status < 200 || a.Status > 299 {
		s.t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	return a
}

// Draft returns a payment that most test connectors can make. Tests may change it.
func Draft() map[string]any {
	return map[string]any{
		"client_redirect_uri": "https://shop.example/back",
		"client_state":        "order 42",
		"instructions": []any{map[string]any{
			"amount": json.Number("12.50"), "currency": "EUR", "label": "Invoice 42", "execution_date_type": "instant",
			"beneficiary": map[string]any{"scheme_name": "iban", "identification": "FR7630006000011234567890189", "label": "Shop"},
		}},
	}
}

// Create creates a payment and returns its id.
func (s *Instance) Create(token string, draft map[string]any) int64 {
	s.t.Helper()
	var out struct{ ID int64 }
	s.JSON(s.OK(s.Call("POST", "/payments", token, draft)), &out)
	return out.ID
}

// Received does all due work. It returns the requests to the built-in receiver under a name, oldest
// first.
func (s *Instance) Received(name string) []Received {
	s.t.Helper()
	s.OK(s.Call("POST", "/sandbox/run", s.ConfigToken, nil))
	var out struct{ Requests []Received }
	s.JSON(s.OK(s.Call("GET", "/sandbox/receiver", s.ConfigToken, nil)), &out)
	var named []Received
	for _, r := range out.Requests {
		if r.Name == name {
			named = append(named, r)
		}
	}
	return named
}

// Received is one request to the built-in receiver.
type Received struct {
	Name           string
	Headers        http.Header
	Body           string
	SignatureCheck string `json:"verdict"`
}

// Subscribe registers a webhook that sends an event to the built-in receiver under a name. A
// provider with the same name signs the requests. Subscribe returns the provider's secret.
func (s *Instance) Subscribe(event, name string) string {
	s.t.Helper()
	var provider struct {
		ID     int64
		Config struct {
			SecretKey string `json:"secret_key"`
		}
	}
	s.JSON(s.OK(s.Call("POST", "/webhooks/auth", s.ConfigToken, map[string]any{"type": "hmac_signature", "name": name})), &provider)
	s.OK(s.Call("POST", "/webhooks", s.ConfigToken, map[string]any{
		"event": event, "url": s.Origin + "/sandbox/receiver/" + name, "id_auth": fmt.Sprint(provider.ID),
	}))
	return provider.Config.SecretKey
}

// Logs has the log lines of a service.
type Logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds a line to the log.
func (l *Logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all log lines so far.
func (l *Logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
