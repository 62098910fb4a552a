package remote_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/connectortest"
	"passerelle/connector/remote"
	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/payment"
)

const (
	sharedSecret = "a secret of thirty-two characters, or more"
	returnURL    = "https://service.test/2.0/webauth/callback?state=abc"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func mac(purpose string, data []byte) []byte {
	sum := hmac.New(sha256.New, []byte("secret "+purpose))
	sum.Write(data)
	return sum.Sum(nil)
}

func newBank() (*sandbox.Bank, *sandbox.MemoryLedger) {
	ledger := sandbox.NewMemoryLedger()
	return &sandbox.Bank{
		Ledger: ledger, Timing: sandbox.CI, MAC: mac, Log: slog.New(slog.DiscardHandler),
		Base: func(domain passerelle.DomainID) string { return fmt.Sprintf("http://domain%d.test", domain) },
	}, ledger
}

// behind returns a bank's connector that is called over the protocol.
func behind(t *testing.T, b *sandbox.Bank, uuid string) connector.Connector {
	t.Helper()
	for _, c := range b.Connectors() {
		if c.Profile().UUID == uuid {
			h, err := remote.Handler(c, sharedSecret)
			if err != nil {
				t.Fatal(err)
			}
			return connectorAt(t, h, remote.Describe(c))
		}
	}
	t.Fatalf("there is no connector %s", uuid)
	return nil
}

func connectorAt(t *testing.T, h http.Handler, described remote.Profile) connector.Connector {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	program, err := remote.NewProgram(server.URL, sharedSecret)
	if err != nil {
		t.Fatal(err)
	}
	c, err := program.Connector(described, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var keys atomic.Int64

func order(t *testing.T, p connector.Profile, script string) func() connector.Order {
	t.Helper()
	return func() connector.Order {
		in := payment.Instruction{
			ReferenceID: "ORDER-1", Amount: passerelle.Money{Minor: 1250, Currency: p.Payments.Currencies[0]}, Label: script + "Order 1", DateType: payment.FirstOpenDay,
			Beneficiary: passerelle.Account{Scheme: passerelle.SortCode, Identification: "00000055779911", Label: "The Shop"},
		}
		if p.Payments.Schemes[0] == passerelle.IBAN {
			in.Beneficiary.Scheme, in.Beneficiary.Identification = passerelle.IBAN, "FR7699999000000000000000033"
		}
		made, _, err := payment.New(payment.Draft{ClientRedirectURI: "https://shop.test/back", Instructions: []payment.Instruction{in}}, payment.Policy{}, strings.NewReader(strings.Repeat("r", 1<<16)), noon)
		if err != nil {
			t.Fatal(err)
		}
		o := connector.Order{Domain: 7, Key: fmt.Sprintf("key-%d", keys.Add(1)), Payment: *made, Mechanism: "webauth", ReturnURL: returnURL, Now: noon}
		if p.Payments.PayerAccount == payment.PayerMandatory {
			o.Payment.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7699999000010000000000018", Label: "The Payer"}
		}
		return o
	}
}

// TestPayersConform checks that every simulated bank with payments keeps the rules of the
// conformance suite when it is called over the protocol.
func TestPayersConform(t *testing.T) {
	banks, _ := newBank()
	for _, c := range banks.Connectors() {
		p := c.Profile()
		if p.Payments == nil {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			connectortest.Run(t, func(t *testing.T) connectortest.Subject { return subject(t, p) })
		})
	}
}

func subject(t *testing.T, p connector.Profile) connectortest.Subject {
	t.Helper()
	bank, ledger := newBank()
	initiator, _ := behind(t, bank, p.UUID).(connector.Initiator)
	decide := func(decision string) func(context.Context, connector.Order, payment.Report) error {
		return func(ctx context.Context, _ connector.Order, asked payment.Report) error {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, asked.ValidateURI, strings.NewReader(url.Values{"decision": {decision}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			if bank.Pages().ServeHTTP(w, r); w.Code != http.StatusSeeOther {
				return fmt.Errorf("%s was answered with %d", decision, w.Code)
			}
			return nil
		}
	}
	return connectortest.Subject{
		Initiator: initiator, Submissions: ledger.Orders, Order: order(t, p, ""), Lasting: order(t, p, "pdng:2d/done - "),
		Approve: decide("approve"), Refuse: decide("refuse"), Agree: decide("cancel"), Keep: decide("keep"),
	}
}

func TestReadersConform(t *testing.T) {
	for _, source := range []string{"directaccess", "openapi"} {
		t.Run(source, func(t *testing.T) {
			connectortest.RunReader(t, func(t *testing.T) connectortest.Customer { return customer(t, source) })
		})
	}
}

func customer(t *testing.T, source string) connectortest.Customer {
	t.Helper()
	bank, _ := newBank()
	reader, _ := behind(t, bank, sandbox.TestConnector).(connector.DataReader)
	c := connectortest.Customer{
		Reader: reader,
		Request: func() connector.DataRequest {
			return connector.DataRequest{
				Domain: 1, Connection: 7, Source: source, Values: map[string]string{"login": "jeanne", "password": customers.Password}, Present: true,
				ReturnURL: returnURL, Now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
			}
		},
		Agree: func(_ context.Context, _ connector.Outcome, next *connector.DataRequest) error {
			next.Callback = url.Values{"code": {bank.AccessCode(next.Domain, next.Connection)}, "login": {"jeanne"}}
			return nil
		},
	}
	if source == "openapi" {
		c.Refuse = func(_ context.Context, _ connector.Outcome, next *connector.DataRequest) error {
			next.Callback = url.Values{"error": {"access_denied"}}
			return nil
		}
	}
	return c
}

func signed(w http.ResponseWriter, r *http.Request, body string) {
	sum := hmac.New(sha256.New, []byte(sharedSecret))
	io.WriteString(sum, "answer\n200\n"+r.Header.Get("Passerelle-Nonce")+"\n"+body)
	w.Header().Set("Passerelle-Signature", hex.EncodeToString(sum.Sum(nil)))
	io.WriteString(w, body)
}

// TestHostilePrograms checks that Initiate returns ErrNotSent, ErrUnknownOrder or a Refusal only
// for a signed response that says so.
func TestHostilePrograms(t *testing.T) {
	bank, _ := newBank()
	described := remote.Describe(bank.Connectors()[0])
	for name, test := range map[string]struct {
		answer  http.HandlerFunc
		is      error
		refused bool
	}{
		"no signature":     {answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"report":{"status":"settled"}}`) }},
		"another status":   {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }},
		"no JSON":          {answer: func(w http.ResponseWriter, r *http.Request) { signed(w, r, "settled") }},
		"a huge answer":    {answer: func(w http.ResponseWriter, r *http.Request) { signed(w, r, strings.Repeat(" ", 5<<20)) }},
		"a failure":        {answer: func(w http.ResponseWriter, r *http.Request) { signed(w, r, `{"error":{"kind":"failed"}}`) }},
		"an unknown kind":  {answer: func(w http.ResponseWriter, r *http.Request) { signed(w, r, `{"error":{"kind":"?"}}`) }},
		"a cut connection": {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"a redirect": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
		}},
		"nothing sent": {answer: func(w http.ResponseWriter, r *http.Request) { signed(w, r, `{"error":{"kind":"notSent"}}`) }, is: connector.ErrNotSent},
		"unknown":      {answer: func(w http.ResponseWriter, r *http.Request) { signed(w, r, `{"error":{"kind":"unknownOrder"}}`) }, is: connector.ErrUnknownOrder},
		"a refusal": {answer: func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, `{"error":{"kind":"refused","code":"bankMessage"}}`)
		}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			initiator, _ := connectorAt(t, test.answer, described).(connector.Initiator)
			report, err := initiator.Initiate(t.Context(), order(t, initiator.Profile(), "")())
			var refusal *payment.Refusal
			for _, known := range []error{connector.ErrNotSent, connector.ErrUnknownOrder} {
				if errors.Is(err, known) != (test.is != nil && errors.Is(test.is, known)) {
					t.Errorf("the error %v is %v, or is not", err, known)
				}
			}
			if err == nil || errors.As(err, &refusal) != test.refused || report.Status != "" {
				t.Errorf("answered with %+v, %v", report, err)
			}
		})
	}
}

// TestReplay checks that the handler refuses a repeated, changed or unsigned request with 401.
func TestReplay(t *testing.T) {
	bank, _ := newBank()
	h, err := remote.Handler(bank.Connectors()[0], sharedSecret)
	if err != nil {
		t.Fatal(err)
	}
	var seen *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		seen = r.Clone(context.Background())
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	program, err := remote.NewProgram(server.URL, sharedSecret)
	if err != nil {
		t.Fatal(err)
	}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if _, err := program.Strict().Describe(connector.WithTrace(t.Context(), parent)); err != nil {
		t.Fatal(err)
	}
	if got := seen.Header.Get("Traceparent"); got != parent {
		t.Errorf("the program gets the traceparent %q", got)
	}
	for name, change := range map[string]func(*http.Request){
		"as it was":              func(*http.Request) {},
		"with its nonce changed": func(r *http.Request) { r.Header.Set("Passerelle-Nonce", "other") },
		"without headers":        func(r *http.Request) { r.Header = http.Header{} },
		"to another path":        func(r *http.Request) { r.URL.Path = "/v1/status" },
	} {
		again := seen.Clone(t.Context())
		again.Body = io.NopCloser(strings.NewReader(string(body)))
		change(again)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, again); w.Code != http.StatusUnauthorized {
			t.Errorf("the request again %s: %d", name, w.Code)
		}
	}
}

// TestStreams checks that a read fails unless its stream is complete, signed and well-formed.
func TestStreams(t *testing.T) {
	bank, _ := newBank()
	described := remote.Describe(bank.Connectors()[0])
	for _, c := range bank.Connectors() {
		if c.Profile().UUID == sandbox.TestConnector {
			described = remote.Describe(c)
		}
	}
	const page = `{"account":"a","transactions":[{"key":"1","date":"2026-01-02","value":"-12.50"}]}` + "\n"
	const last = `{"end":{}}` + "\n"
	for name, test := range map[string]struct {
		stream string
		whole  bool
		ends   bool
	}{
		"whole":                        {stream: page + `{"account":"a","read":true,"from":"2026-01-01"}` + "\n" + last, ends: true, whole: true},
		"without its end":              {stream: page},
		"without its signature":        {stream: page + last},
		"with a line that is long":     {stream: strings.Repeat(" ", 2<<20) + "\n" + last, ends: true},
		"with a float":                 {stream: strings.Replace(page, `"-12.50"`, "-12.5", 1) + last, ends: true},
		"with a missing amount":        {stream: strings.Replace(page, `,"value":"-12.50"`, "", 1) + last, ends: true},
		"with a day that is none":      {stream: strings.Replace(page, "01-02", "02-30", 1) + last, ends: true},
		"with a state that is none":    {stream: `{"end":{"outcome":{"state":"fine"}}}` + "\n", ends: true},
		"with a name that comes twice": {stream: `{"account":"a","account":"b"}` + "\n" + last, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			reader, _ := connectorAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/accounts") {
					signed(w, r, `{"accounts":[{"key":"a","currency":"EUR"}]}`)
					return
				}
				sum := hmac.New(sha256.New, []byte(sharedSecret))
				io.WriteString(sum, "answer\n200\n"+r.Header.Get("Passerelle-Nonce")+"\n"+test.stream)
				io.WriteString(w, test.stream)
				if test.ends {
					fmt.Fprintf(w, "{\"signature\":%q}\n", hex.EncodeToString(sum.Sum(nil)))
				}
			}), described).(connector.DataReader)
			out := &sink{}
			_, err := reader.Read(t.Context(), connector.DataRequest{Source: "openapi"}, out)
			if (err == nil) != test.whole || test.whole && (out.values != "-12.50" || out.ended != "2026-01-01") {
				t.Errorf("read %q to %q, %v", out.values, out.ended, err)
			}
		})
	}
}

type sink struct {
	connector.Sink
	values, ended string
}

func (*sink) Accounts([]passerelle.AccountDetails) error      { return nil }
func (*sink) Wanted(string) (passerelle.Date, bool)           { return passerelle.Date{}, true }
func (s *sink) AccountRead(_ string, d passerelle.Date) error { s.ended = d.String(); return nil }

func (s *sink) Transactions(_ string, page []passerelle.TransactionDetails) error {
	for _, one := range page {
		s.values += one.Value.String()
	}
	return nil
}

// TestProgramsThatHang checks that an order without a response has an unknown outcome at its
// deadline. After five such failures, Initiate does not call the program and returns ErrNotSent.
func TestProgramsThatHang(t *testing.T) {
	bank, _ := newBank()
	over := make(chan struct{})
	initiator, _ := connectorAt(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }), remote.Describe(bank.Connectors()[0])).(connector.Initiator)
	t.Cleanup(func() { close(over) })
	draft := order(t, initiator.Profile(), "")
	for call := range 6 {
		// On a busy machine, the call needs a while to reach the program.
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		_, err := initiator.Initiate(ctx, draft())
		cancel()
		if left := call == 5; err == nil || errors.Is(err, connector.ErrNotSent) != left || errors.Is(err, context.DeadlineExceeded) == left {
			t.Errorf("call %d: %v", call+1, err)
		}
	}
	if !initiator.Profile().Disturbed {
		t.Error("nobody is told before they choose it")
	}
}

// TestSilentStreams checks that reads count as failures when the program sends nothing for too
// long.
func TestSilentStreams(t *testing.T) {
	defer remote.SetSilence(remote.SetSilence(time.Millisecond))
	over := make(chan struct{})
	reader := connectorAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/accounts") {
			signed(w, r, `{"accounts":[{"key":"a","currency":"EUR"}]}`)
			return
		}
		<-over
	}), readProfile()).(connector.DataReader)
	t.Cleanup(func() { close(over) })
	const failures = 20
	for call := range failures {
		_, err := reader.Read(t.Context(), connector.DataRequest{Source: "openapi"}, &sink{})
		if disturbed := reader.Profile().Disturbed; !errors.Is(err, context.DeadlineExceeded) || disturbed != (call == failures-1) {
			t.Fatalf("read %d: %v, disturbed: %t", call+1, err, disturbed)
		}
	}
}

// TestEndlessLine checks that a read of a line without an end stops and closes the connection.
func TestEndlessLine(t *testing.T) {
	var sent atomic.Int64
	hungUp := make(chan struct{})
	reader, _ := connectorAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/accounts") {
			signed(w, r, `{"accounts":[{"key":"a","currency":"EUR"}]}`)
			return
		}
		defer close(hungUp)
		for chunk := []byte(strings.Repeat(" ", 1<<20)); sent.Load() < 10<<30; sent.Add(1 << 20) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}), readProfile()).(connector.DataReader)
	if _, err := reader.Read(t.Context(), connector.DataRequest{Source: "openapi"}, &sink{}); err == nil {
		t.Error("it was read")
	}
	if <-hungUp; sent.Load() > 64<<20 {
		t.Errorf("%d bytes were taken", sent.Load())
	}
}

func readProfile() remote.Profile {
	return remote.Profile{
		UUID: "5b0c1d7e-0f5c-4b57-9d5e-6f1f6a1f4b10", Name: "Reader", Countries: []string{"FR"}, Data: &connector.DataSettings{Capabilities: []string{"bank"}},
	}
}

// TestDrippingStreams checks that a read fails when the program sends valid records too slowly. The
// time that the sink needs does not count.
func TestDrippingStreams(t *testing.T) {
	for name, test := range map[string]struct {
		program, taker time.Duration
		whole          bool
	}{
		"a program that takes 59 seconds for each record": {program: 59 * time.Second},
		"a program that takes ten seconds for each":       {program: 10 * time.Second, whole: true},
		"a taker that takes 59 seconds for each":          {taker: 59 * time.Second, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			var offset atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/accounts") {
					signed(w, r, `{"accounts":[{"key":"a","currency":"EUR"}]}`)
					return
				}
				stream := strings.Repeat(`{"account":"a","transactions":[{"key":"1","date":"2026-01-02","value":"1"}]}`+"\n", 20) + `{"end":{}}` + "\n"
				sum := hmac.New(sha256.New, []byte(sharedSecret))
				io.WriteString(sum, "answer\n200\n"+r.Header.Get("Passerelle-Nonce")+"\n"+stream)
				fmt.Fprintf(w, "%s{\"signature\":%q}\n", stream, hex.EncodeToString(sum.Sum(nil)))
			}))
			defer server.Close()
			program, err := remote.NewProgram(server.URL, sharedSecret)
			if err != nil {
				t.Fatal(err)
			}
			// The clock is read alternately when a record was received and when it was consumed.
			var calls atomic.Int64
			program.SetNow(func() time.Time {
				advance := test.program
				if calls.Add(1)%2 == 0 {
					advance = test.taker
				}
				return time.Now().Add(time.Duration(offset.Add(int64(advance))))
			})
			c, err := program.Connector(readProfile(), 1000)
			if err != nil {
				t.Fatal(err)
			}
			reader, _ := c.(connector.DataReader)
			if _, err := reader.Read(t.Context(), connector.DataRequest{Source: "openapi"}, &sink{}); (err == nil) != test.whole {
				t.Errorf("the read ended with %v", err)
			}
		})
	}
}

// TestStreamsArePaced checks that all streams of a program share one burst and one rate. When a
// call ends, reading stops without waiting.
func TestStreamsArePaced(t *testing.T) {
	for name, test := range map[string]struct {
		streams int
		size    int64
		took    time.Duration
	}{
		"the beginning":   {1, 16 << 20, 0},
		"twice as much":   {1, 32 << 20, 4 * time.Second},
		"the whole limit": {1, 64 << 20, 12 * time.Second},
		"eight streams":   {8, 4 << 20, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				program, begun := anyProgram(t), time.Now()
				var reading sync.WaitGroup
				for range test.streams {
					reading.Go(func() {
						if n, err := io.Copy(io.Discard, program.Paced(t.Context(), io.LimitReader(zeros{}, test.size))); err != nil || n != test.size {
							t.Errorf("%d bytes, %v", n, err)
						}
					})
				}
				reading.Wait()
				if took := time.Since(begun).Round(100 * time.Millisecond); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		program, begun := anyProgram(t), time.Now()
		if _, err := io.Copy(io.Discard, program.Paced(ctx, zeros{})); err == nil || time.Since(begun) > time.Second {
			t.Errorf("a call of one second ended after %v with %v", time.Since(begun), err)
		}
	})
}

func anyProgram(t *testing.T) *remote.Program {
	t.Helper()
	program, err := remote.NewProgram("https://bank.example", sharedSecret)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { return len(into), nil }

// TestWrongProfiles checks that Describe returns an error for a wrong profile or a failed call. The
// error says why in at most 1000 bytes.
func TestWrongProfiles(t *testing.T) {
	const profile = `{"uuid":"7e2f7c1e-0f5c-4b57-9d5e-6f1f6a1f4b99","name":%q,"countries":[%s],"data":{"capabilities":["bank"],"account_types":["checking"],"usages":["PRIV"]}}`
	const ranges = `{"uuid":"7e2f7c1e-0f5c-4b57-9d5e-6f1f6a1f4b99","name":"Bank","countries":["DE"],"payments":{"mechanisms":["webauth"],"schemes":["iban"],"date_types":["instant"],"currencies":["EUR"],"payer_account":"optional","accounts":{%s}}}`
	embedded := strings.Replace(ranges, `"webauth"`, `"credentials"`, 1)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"payments that no payer can validate": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, fmt.Sprintf(embedded, ""))
		}, `mechanisms ["credentials"]: add "webauth"`},
		"a long name": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, fmt.Sprintf(profile, strings.Repeat("x", 101), `"FR"`))
		}, "the name must have at most 100 bytes"},
		"control characters in the name": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, fmt.Sprintf(profile, "a\tb", `"FR"`))
		}, "without control characters"},
		"many countries": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, fmt.Sprintf(profile, "Bank", strings.Repeat(`"FR",`, 10_000)+`"FR"`))
		}, "a country comes twice"},
		"a range that is no beginning of an IBAN": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, fmt.Sprintf(ranges, `"ibans":["DE..50010517","de50"]`))
		}, `payments.accounts.ibans: "de50" is not the beginning of an IBAN, such as DE..50010517`},
		"a range that is no BIC": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, fmt.Sprintf(ranges, `"bics":["EXBK"]`))
		}, `payments.accounts.bics: "EXBK" is not a BIC of 8 or 11 capitals and digits`},
		"an unknown account type": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, strings.Replace(fmt.Sprintf(profile, "Bank", `"FR"`), "checking", "current", 1))
		}, `data.account_types: "current" must be one of article83, capitalisation, card, cat, cel, checking, crowdlending, csl, deposit, joint, ldds, lifeinsurance, livret_a, livret_b, loan, madelin, market, pea, pee, pel, per, perco, perp, real_estate, rsp, savings, unknown, lep, mortgage, consumercredit, revolvingcredit`},
		"an error instead of a profile": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, `{"error":{"kind":"failed"}}`)
		}, `it responded with an error of the kind "failed" instead of its profile`},
		"an array instead of a profile": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, `[]`)
		}, "the body does not follow the protocol: it must be a JSON object"},
		"no JSON": {func(w http.ResponseWriter, r *http.Request) {
			signed(w, r, `{"uuid":`)
		}, "the body does not follow the protocol: it is not valid JSON"},
		"a signed failure": {func(w http.ResponseWriter, r *http.Request) {
			sum := hmac.New(sha256.New, []byte(sharedSecret))
			io.WriteString(sum, "answer\n500\n"+r.Header.Get("Passerelle-Nonce")+"\n")
			w.Header().Set("Passerelle-Signature", hex.EncodeToString(sum.Sum(nil)))
			w.WriteHeader(http.StatusInternalServerError)
		}, "but with 500"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			defer server.Close()
			p, err := remote.NewProgram(server.URL, sharedSecret)
			if err != nil {
				t.Fatal(err)
			}
			var fault *connector.Fault
			if _, err = p.Strict().Describe(t.Context()); !errors.As(err, &fault) || !strings.Contains(fault.Says, test.want) || len(fault.Says) > 1000 {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestPublicAddress(t *testing.T) {
	p, err := remote.NewProgram("http://192.0.2.1", sharedSecret)
	if err != nil {
		t.Fatal(err)
	}
	var fault *connector.Fault
	if _, err = p.Describe(t.Context()); !errors.As(err, &fault) || !strings.HasSuffix(fault.Says, "(profile): an address without https is only for this machine and private networks") {
		t.Errorf("%v", err)
	}
}
