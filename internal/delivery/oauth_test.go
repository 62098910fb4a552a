package delivery_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// These are the secrets of the tests.
const (
	clientSecret = "canary-secret &="
	canaryToken  = "canary-token"
)

// tokenServer is a token endpoint that numbers its tokens.
type tokenServer struct {
	mu     sync.Mutex
	asked  []url.Values
	answer func(n int) (status int, body string)
	url    string
}

func token(n int, more string) string {
	return fmt.Sprintf(`{"access_token":"%s-%d","token_type":"bEARER"%s}`, canaryToken, n, more)
}

func newTokenServer(t *testing.T) *tokenServer {
	s := &tokenServer{answer: func(n int) (int, string) { return http.StatusOK, token(n, "") }}
	s.url = receiver(t, s.serve)
	return s
}

func (s *tokenServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost || r.Header.Get("Accept") != "application/json" {
		http.Error(w, "", http.StatusTeapot)
		return
	}
	s.asked = append(s.asked, r.PostForm)
	status, body := s.answer(len(s.asked))
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func (s *tokenServer) answers(answer func(n int) (int, string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *tokenServer) want(t *testing.T, times int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) != times {
		t.Errorf("the token endpoint was asked %d times, want %d", len(s.asked), times)
	}
}

// guarded is a receiver that accepts certain tokens, and records the Authorization header of
// every request.
type guarded struct {
	mu      sync.Mutex
	got     []string
	accepts func(authorization string) bool
	url     string
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{accepts: func(string) bool { return true }}
	g.url = receiver(t, func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		for name := range r.Header {
			if strings.Contains(name, "Signature") {
				t.Errorf("%s came", name)
			}
		}
		authorization := strings.Join(r.Header["Authorization"], ", ")
		g.got = append(g.got, authorization)
		if !g.accepts(authorization) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	return g
}

func (g *guarded) want(t *testing.T, want ...string) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if diff := cmp.Diff(want, g.got); diff != "" {
		t.Errorf("Authorization (-want +got):\n%s", diff)
	}
	g.got = nil
}

func bearer(numbers ...int) (all []string) {
	for _, n := range numbers {
		all = append(all, fmt.Sprintf("Bearer %s-%d", canaryToken, n))
	}
	return all
}

func endpointAt(address string) delivery.EndpointChange {
	return delivery.EndpointChange{URL: &address, ClientID: new("client é"), ClientSecret: new(clientSecret), GrantType: new(delivery.ClientCredentials)}
}

func (r *fixture) oauth(name string, e delivery.EndpointChange) store.AuthProvider {
	r.t.Helper()
	a, err := r.RegisterOAuth(r.t.Context(), r.domain, name, e, "")
	must(r.t, err)
	return a
}

// failures returns the recorded failure of each request, in order. failures checks that no record
// contains a secret.
func (r *fixture) failures() (all []string) {
	r.t.Helper()
	for id := int64(1); ; id++ {
		attempts := r.attempts(passerelle.DeliveryID(id))
		if len(attempts) == 0 {
			return all
		}
		for _, a := range attempts {
			all = append(all, a.Failure)
			if text := fmt.Sprintf("%+v", a); strings.Contains(text, "canary") {
				r.t.Errorf("on record: %s", text)
			}
		}
	}
}

func TestRequestsCarryAnAccessToken(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		tokens, in := newTokenServer(t), newGuarded(t)
		r.oauth("p", endpointAt(tokens.url+"/token?tenant=1"))
		r.webhook(in.url, "p")
		r.webhook(in.url, "p")
		for id := range int64(12) {
			r.emit(id+1, 1)
		}
		r.run(24, 0)
		in.want(t, slices.Repeat(bearer(1), 24)...)
		tokens.want(t, 1)
		want := url.Values{"grant_type": {"client_credentials"}, "client_id": {"client é"}, "client_secret": {clientSecret}}
		if diff := cmp.Diff(want, tokens.asked[0]); diff != "" {
			t.Errorf("the token endpoint got (-want +got):\n%s", diff)
		}
	})
}

// TestATokenIsFetchedOnceForAllWhoWait checks that all senders that wait for a token share one
// request to the token endpoint. The endpoint delays its response to give a second request time to
// arrive.
func TestATokenIsFetchedOnceForAllWhoWait(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		var asked atomic.Int64
		another := make(chan struct{}, 100)
		address := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) > 1 {
				another <- struct{}{}
			}
			select {
			case <-another:
			case <-time.After(100 * time.Millisecond):
			}
			io.WriteString(w, token(1, ""))
		})
		in := newGuarded(t)
		r.oauth("p", endpointAt(address))
		for range 4 {
			r.webhook(in.url, "p")
		}
		for id := range int64(4) {
			r.emit(id+1, 1)
		}
		r.run(16, 0)
		in.want(t, slices.Repeat(bearer(1), 16)...)
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestAccessTokensAreKeptUntilShortlyBeforeTheirEnd(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		tokens, in := newTokenServer(t), newGuarded(t)
		r.oauth("p", endpointAt(tokens.url))
		r.webhook(in.url, "p")
		id := int64(0)
		after := func(pause time.Duration, asked int) {
			t.Helper()
			r.clock.advance(pause)
			id++
			r.emit(id, 1)
			r.run(1, 0)
			in.want(t, bearer(asked)...)
			tokens.want(t, asked)
		}
		for life, renewed := range map[string]time.Duration{`100`: 80 * time.Second, `"100.0"`: 80 * time.Second, `3600`: 3570 * time.Second} {
			tokens.answers(func(n int) (int, string) {
				return http.StatusOK, token(n, `,"expires_in":`+life+`,"refresh_token":"x"`)
			})
			r.clock.advance(24 * time.Hour)
			asked := len(tokens.asked)
			after(0, asked+1)
			after(renewed-time.Second, asked+1)
			after(time.Second, asked+2)
		}
		for _, life := range []string{``, `,"expires_in":null`, `,"expires_in":0`, `,"expires_in":-5`, `,"expires_in":1e300`, `,"expires_in":"soon"`, `,"expires_in":{}`} {
			tokens.answers(func(n int) (int, string) { return http.StatusOK, token(n, life) })
			r.forget("p")
			asked := len(tokens.asked)
			after(0, asked+1)
			after(365*24*time.Hour, asked+1)
		}
	})
}

// forget changes the secret of a provider, so that its token is dropped.
func (r *fixture) forget(name string) {
	r.t.Helper()
	a, err := r.DB.AuthProviderNamed(r.t.Context(), r.domain.ID, name)
	must(r.t, err)
	_, err = r.UpdateProvider(r.t.Context(), r.domain, a.ID, delivery.ProviderChange{Endpoint: delivery.EndpointChange{ClientSecret: new(a.Secret + "x")}})
	must(r.t, err)
}

func TestATokenThatCannotBeRenewedIsUsedToItsEnd(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		tokens, in := newTokenServer(t), newGuarded(t)
		tokens.answers(func(n int) (int, string) {
			if n == 2 {
				return http.StatusServiceUnavailable, ""
			}
			return http.StatusOK, token(n, `,"expires_in":100`)
		})
		r.oauth("p", endpointAt(tokens.url))
		r.webhook(in.url, "p")
		for i, wait := range []time.Duration{0, 85 * time.Second, time.Second, 6 * time.Second} {
			r.clock.advance(wait)
			r.emit(int64(i), 1)
			r.run(1, 0)
		}
		in.want(t, bearer(1, 1, 1, 3)...)
	})
}

// In TestRefusedTokensAreReplaced, a receiver refuses a token. The service must replace the token
// once, and use the new token for the refused request and for later requests.
func TestRefusedTokensAreReplaced(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		tokens, in := newTokenServer(t), newGuarded(t)
		in.accepts = func(authorization string) bool { return authorization == "Bearer "+canaryToken+"-2" }
		r.oauth("p", endpointAt(tokens.url))
		r.webhook(in.url, "p")
		r.emit(1, 1)
		r.run(1, 0)
		r.emit(2, 1)
		r.run(1, 0)
		in.want(t, bearer(1, 2, 2)...)
		tokens.want(t, 2)

		in.accepts = func(string) bool { return false }
		r.clock.advance(time.Minute)
		r.emit(3, 1)
		r.run(0, 1)
		in.want(t, bearer(2, 3)...)
		r.emit(4, 1)
		r.emit(5, 1)
		r.run(0, 2) // a moment later, the service requests no new token
		in.want(t, bearer(3, 3)...)
		tokens.want(t, 3)
		r.clock.advance(time.Minute)
		r.run(0, 3)
		tokens.want(t, 4)
		if diff := cmp.Diff([]string{"", "", "status 401", "status 401", "status 401", "status 401", "status 401", "status 401"}, r.failures()); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	})
}

// TestSignaturesAreNotRenewed checks that a signed request is not repeated after a status 401.
func TestSignaturesAreNotRenewed(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in := newInbox(t)
		in.answers(always(http.StatusUnauthorized))
		_, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
		must(t, err)
		r.webhook(in.url, "p")
		r.emit(1, 1)
		r.run(0, 1)
		in.want(t, "1.1")
	})
}

// TestTokenEndpointsThatFail checks that the service records the failure of a token endpoint, and
// sends no request to the receiver. Until tokenPause has passed, the service must request no other
// token.
func TestTokenEndpointsThatFail(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		gone := httptest.NewServer(nil)
		gone.Close()
		tokens := newTokenServer(t)
		target := receiver(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent without its token") })
		delivered := 0
		for i, test := range []struct {
			url          string
			status       int
			answer, want string
		}{
			{"", 200, `<html><title>canary</title>`, "the response is not the JSON of an access token"},
			{"", 200, ``, "the response is not the JSON of an access token"},
			{"", 200, `[]`, "the response is not the JSON of an access token"},
			{"", 200, `{"access_token":{"canary":1},"token_type":"Bearer"}`, "the response is not the JSON of an access token"},
			{"", 200, token(1, "") + "x", "the response is not the JSON of an access token"},
			{"", 200, `{"token_type":"Bearer"}`, "the response has no access_token"},
			{"", 200, `null`, "the response has no access_token"},
			{"", 200, `{"access_token":"canary","token_type":"mac"}`, "the token_type of the response is not Bearer"},
			{"", 200, `{"access_token":"canary"}`, "the token_type of the response is not Bearer"},
			{"", 200, `{"access_token":"canary","token_type":"Bea\u212aer"}`, "the token_type of the response is not Bearer"},
			{"", 200, `{"access_token":"canary\r\nX-Injected: 1","token_type":"Bearer"}`, "the access_token in the response is not valid in a header"},
			{"", 200, `{"access_token":"canaryé","token_type":"Bearer"}`, "the access_token in the response is not valid in a header"},
			{"", 200, `{"access_token":"` + strings.Repeat("x", 17<<10) + `","token_type":"Bearer"}`, "the access_token in the response is not valid in a header"},
			{"", 200, token(1, `,"more":"`+strings.Repeat("x", delivery.MaxAnswer)+`"`), "the response has 65536 bytes or more"},
			{"", 302, token(1, ""), "status 302"},
			{"", 401, `{"error":"invalid_client","error_description":"canary"}`, "status 401, invalid_client"},
			{"", 400, `{"error":"canary"}`, "status 400"},
			{"", 500, `canary`, "status 500"},
			{gone.URL, 0, ``, "connection refused"},
			{"http://10.255.255.1/", 0, ``, "address refused"},
			{"https" + strings.TrimPrefix(tokens.url, "http"), 0, ``, "no TLS"},
		} {
			tokens.answers(func(int) (int, string) { return test.status, test.answer })
			if test.url == "" {
				test.url = tokens.url
			}
			name := fmt.Sprint("p", i)
			r.oauth(name, endpointAt(test.url))
			w := r.webhook(target, name)
			asked := len(tokens.asked)
			for id := range int64(3) {
				r.emit(id+1, int64(i))
			}
			r.run(0, 3)
			if test.status != 0 {
				tokens.want(t, asked+1)
			}
			must(t, r.Delete(t.Context(), r.domain, w.ID, ""))
			want := slices.Repeat([]string{"token endpoint: " + test.want}, 3)
			if diff := cmp.Diff(want, r.failures()[delivered:]); diff != "" {
				t.Errorf("%.80s: failures (-want +got):\n%s", test.answer, diff)
			}
			delivered += 3
		}
	})
}

// TestAnOldFailureOfATokenEndpointIsNamedAsOld checks the request log during the pause after a
// failure of a token endpoint.
func TestAnOldFailureOfATokenEndpointIsNamedAsOld(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		tokens, in := newTokenServer(t), newGuarded(t)
		tokens.answers(func(int) (int, string) { return http.StatusServiceUnavailable, "" })
		r.oauth("p", endpointAt(tokens.url))
		w := r.webhook(in.url, "p")
		const old = "The service did not call the token endpoint for this request. The endpoint failed in this way "
		for i, test := range []struct {
			wait   time.Duration
			detail string
			asked  int
		}{
			{0, "", 1},
			{1500 * time.Millisecond, old + "1 second ago, and is called again in 4 seconds.", 1},
			{2500 * time.Millisecond, old + "4 seconds ago, and is called again in 1 second.", 1},
			{time.Second, "", 2},
		} {
			r.clock.advance(test.wait)
			id, err := r.Test(t.Context(), r.domain, w, nil)
			must(t, err)
			attempts := r.attempts(id)
			if len(attempts) != 1 || attempts[0].Failure != "token endpoint: status 503" || attempts[0].Detail != test.detail {
				t.Errorf("test %d: on record %+v, want the detail %q", i, attempts, test.detail)
			}
			tokens.want(t, test.asked)
		}
		in.want(t)
	})
}

// TestTokenEndpointsThatHang checks that the timeout of a token endpoint is recorded, and does not
// count as a timeout of the receiver.
func TestTokenEndpointsThatHang(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		over := make(chan struct{})
		address := receiver(t, func(http.ResponseWriter, *http.Request) { <-over })
		defer close(over)
		in := newInbox(t)
		must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.DeliveryTimeout: "1"}, r.clock.Now()))
		a := r.oauth("p", endpointAt(address))
		r.webhook(in.url, "p")
		for id := range int64(4) {
			r.emit(id+1, 1)
		}
		r.run(0, 4)
		r.clock.advance(time.Minute)
		r.run(0, 4) // two timeouts of the receiver itself would have ended the run
		if diff := cmp.Diff(slices.Repeat([]string{"token endpoint: timeout"}, 8), r.failures()); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
		in.want(t)
		_, err := r.UpdateProvider(t.Context(), r.domain, a.ID, delivery.ProviderChange{Endpoint: delivery.EndpointChange{URL: new(newTokenServer(t).url)}})
		must(t, err)
		must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.DeliveryTimeout: "10"}, r.clock.Now()))
		r.clock.advance(time.Minute)
		r.run(4, 0)
	})
}

// TestChangedProvidersForgetTheirTokens checks that a provider gets a new token after a change,
// unless only its name changed.
func TestChangedProvidersForgetTheirTokens(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		tokens, in := newTokenServer(t), newGuarded(t)
		a := r.oauth("p", endpointAt(tokens.url))
		r.webhook(in.url, "p")
		r.emit(1, 1)
		r.run(1, 0)
		for i, change := range []delivery.ProviderChange{
			{Name: new("q")},
			{Endpoint: delivery.EndpointChange{ClientSecret: new("another canary")}},
			{Endpoint: delivery.EndpointChange{ClientID: new("another")}},
			{Endpoint: delivery.EndpointChange{URL: new(tokens.url + "/b")}},
		} {
			_, err := r.UpdateProvider(t.Context(), r.domain, a.ID, change)
			must(t, err)
			r.emit(int64(i)+2, 1)
			r.run(1, 0)
		}
		in.want(t, bearer(1, 1, 2, 3, 4)...)
		if last := tokens.asked[3]; last.Get("client_id") != "another" || last.Get("client_secret") != "another canary" {
			t.Errorf("asked with %v", last)
		}
	})
}

type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// trusted is the issuer that this process trusts.
var trusted issuer

// TestMain makes the process trust an issuer through a file, as an operator does.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "issuer")
	if err != nil {
		panic(err)
	}
	trusted = newIssuer()
	file := filepath.Join(folder, "issuer.pem")
	err = os.WriteFile(file, block("CERTIFICATE", trusted.certificate.Raw), 0o600)
	if err == nil {
		err = os.Setenv("SSL_CERT_FILE", file)
	}
	if err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(folder)
	os.Exit(status)
}

func newIssuer() issuer {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "issuer"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	i := issuer{template, key}
	i.certificate = i.issue(template, key)
	return i
}

func (i issuer) issue(template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, i.certificate, key.Public(), i.key)
	if err != nil {
		panic(err)
	}
	issued, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return issued
}

func (i issuer) pair(t *testing.T, until time.Time) (public, private string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	issued := i.issue(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "end"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key)
	der, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	return string(block("CERTIFICATE", issued.Raw)), string(block("EC PRIVATE KEY", der))
}

func block(kind string, content []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
}

// TestTokenEndpointsThatAskForACertificate checks that the certificate of a provider is presented
// to token endpoints that ask for a certificate.
func TestTokenEndpointsThatAskForACertificate(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		tokens, in := newTokenServer(t), newGuarded(t)
		year := time.Now().AddDate(1, 0, 0)
		public, private := trusted.pair(t, year)
		own, err := tls.X509KeyPair([]byte(public), []byte(private))
		must(t, err)
		clients := x509.NewCertPool()
		clients.AddCert(trusted.certificate)
		server := httptest.NewUnstartedServer(http.HandlerFunc(tokens.serve))
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		// Before TLS 1.3, a refused certificate fails the handshake.
		server.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MaxVersion: tls.VersionTLS12}
		server.StartTLS()
		t.Cleanup(server.Close)

		first, itsKey := trusted.pair(t, year)
		foreign, foreignKey := newIssuer().pair(t, year)
		short, shortKey := trusted.pair(t, r.clock.Now().Add(time.Hour))
		inner := strings.Replace(server.URL, "127.0.0.1", "10.255.255.1", 1)
		for i, test := range []struct{ url, public, private, want string }{
			{server.URL, first, itsKey, ""},
			{server.URL, "", "", "token endpoint: it refused the TLS handshake"},
			{server.URL, foreign, foreignKey, "token endpoint: it refused the TLS handshake"},
			{inner, first, itsKey, "token endpoint: address refused"},
			{server.URL, short, shortKey, "token endpoint: config.public_cert: expired on " + r.clock.Now().Add(time.Hour).UTC().Format(time.DateOnly)},
		} {
			e := endpointAt(test.url)
			e.PublicCert, e.PrivateCert = &test.public, &test.private
			name := fmt.Sprint("p", i)
			r.oauth(name, e)
			w := r.webhook(in.url, name)
			if test.public == short {
				r.clock.advance(2 * time.Hour)
			}
			r.emit(1, int64(i))
			delivered, failed := 1, 0
			if test.want != "" {
				delivered, failed = 0, 1
			}
			r.run(delivered, failed)
			if got := r.failures()[i]; got != test.want {
				t.Errorf("%d: failure %q, want %q", i, got, test.want)
			}
			must(t, r.Delete(t.Context(), r.domain, w.ID, ""))
		}
		in.want(t, bearer(1)...)
		tokens.want(t, 1)
	})
}

// TestAProviderChangesDuringItsFirstTokenRequest changes a provider during the provider's first
// request for a token. The provider has a certificate. After this request, the service must close
// the connection, because no later request uses it.
func TestAProviderChangesDuringItsFirstTokenRequest(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in, arrived, over, closed := newGuarded(t), make(chan struct{}), make(chan struct{}), make(chan struct{})
		public, private := trusted.pair(t, time.Now().AddDate(1, 0, 0))
		own, err := tls.X509KeyPair([]byte(public), []byte(private))
		must(t, err)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(arrived)
			<-over
			io.WriteString(w, token(1, ""))
		}))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				close(closed)
			}
		}
		server.StartTLS()
		t.Cleanup(server.Close)
		e := endpointAt(server.URL)
		e.PublicCert, e.PrivateCert = &public, &private
		a := r.oauth("p", e)
		first := r.webhook(in.url, "p")
		tested := make(chan error)
		test := func(w store.Webhook) {
			_, err := r.Test(context.WithoutCancel(t.Context()), r.domain, w, nil)
			tested <- err
		}
		go test(first)
		<-arrived
		_, err = r.UpdateProvider(t.Context(), r.domain, a.ID, delivery.ProviderChange{Endpoint: delivery.EndpointChange{URL: new(newTokenServer(t).url)}})
		must(t, err)
		go test(r.webhook(in.url, "p"))
		must(t, <-tested)
		close(over)
		must(t, <-tested)
		select {
		case <-closed:
		case <-time.After(30 * time.Second): // idle connections stay open for 90 seconds
			t.Error("the connection of the former provider stays open")
		}
	})
}

// TestAuthoritiesOfADomainVouchForTokenEndpoints checks that a domain's certificate authorities
// also apply to token endpoints.
func TestAuthoritiesOfADomainVouchForTokenEndpoints(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		tokens, in := newTokenServer(t), newGuarded(t)
		server := httptest.NewUnstartedServer(http.HandlerFunc(tokens.serve))
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		authority := string(block("CERTIFICATE", server.Certificate().Raw))
		r.oauth("p", endpointAt(server.URL))
		r.webhook(in.url, "p")
		for i, authorities := range []string{"", authority, authority, ""} {
			must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.Authorities: authorities}, r.clock.Now()))
			r.emit(int64(i), 1)
			r.clock.advance(time.Minute)
			_, err := r.RunDue(t.Context(), r.domain)
			must(t, err)
		}
		in.want(t, bearer(1, 1, 1)...)
		tokens.want(t, 1)
		refused := "token endpoint: certificate refused"
		if diff := cmp.Diff([]string{refused, "", "", "", refused}, r.failures()); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	})
}
