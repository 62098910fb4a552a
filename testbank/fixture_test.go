package testbank_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle/testbank"
	"passerelle/testbank/eidas"
)

// fixture is a program with test banks, and a third party that calls them.
type fixture struct {
	t       *testing.T
	data    string
	program *testbank.Program
	stop    func()
	// certificate is the name of the client certificate for calls. Empty means no certificate.
	certificate string
	clients     map[string]*http.Client
	// turn counts the authorisations at banks with several signatories.
	turn int
	// tokens holds tokens by the id of their order or consent. Calls with this id in the address
	// contain the access token.
	tokens map[string]*tokens
}

// endpoint is the address at which the bank renews the tokens.
type tokens struct{ endpoint, access, refresh string }

// settlement is longer than any test, so that transfers settle only when a test advances the
// time.
const settlement = time.Hour

const largestAnswer = 64 << 20

// certificates makes the certificates once, because making a key is slow.
var certificates = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "testbank")
	if err != nil {
		return "", err
	}
	_, err = eidas.WriteFolder(filepath.Join(folder, "certs"), time.Now())
	return folder, err
})

func TestMain(m *testing.M) {
	status := m.Run()
	if folder, err := certificates(); err == nil {
		os.RemoveAll(folder)
	}
	os.Exit(status)
}

func newFixture(t *testing.T, profiles ...string) *fixture {
	w := &fixture{t: t, data: t.TempDir(), certificate: "qwac", clients: map[string]*http.Client{}, tokens: map[string]*tokens{}}
	made, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(w.data, os.DirFS(made)); err != nil {
		t.Fatal(err)
	}
	w.start(profiles...)
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *fixture) start(profiles ...string) {
	w.t.Helper()
	const free = "127.0.0.1:0"
	program, err := testbank.Open(w.t.Context(), testbank.Config{
		Data: w.data, Listen: free, Pages: free, Control: free, Profiles: profiles, Settlement: settlement,
		Log: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- program.Serve(ctx) }()
	w.program, w.stop = program, func() {
		cancel()
		if err := <-served; err != nil {
			w.t.Errorf("the program ended badly: %v", err)
		}
		w.stop = func() {}
	}
}

func (w *fixture) client(certificate string) *http.Client {
	w.t.Helper()
	if w.clients[certificate] != nil {
		return w.clients[certificate]
	}
	folder := filepath.Join(w.data, "certs")
	authority, err := os.ReadFile(filepath.Join(folder, "authority.pem"))
	if err != nil {
		w.t.Fatal(err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(folder, certificate+".pem"), filepath.Join(folder, certificate+".key"))
		if err != nil {
			w.t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config}
	w.t.Cleanup(transport.CloseIdleConnections)
	w.clients[certificate] = &http.Client{
		Transport:     transport,
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w.clients[certificate]
}

type reply struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

// at returns a value in the body by its path. A number in the path is a position in a list.
func (r reply) at(path ...any) any {
	var value any = r.body
	for _, step := range path {
		switch s := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[s]
		case int:
			list, _ := value.([]any)
			if s >= len(list) {
				return nil
			}
			value = list[s]
		}
	}
	return value
}

func (r reply) text(path ...any) string {
	text, _ := r.at(path...).(string)
	return text
}

func (r reply) link(name string) string { return r.text("_links", name, "href") }

func (r reply) code() string {
	if r.header.Get("Content-Type") == "application/problem+json" {
		return r.text("code")
	}
	return r.text("tppMessages", 0, "code")
}

func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

type headers map[string]string

// present returns the headers of a call while the customer is present, with return addresses.
func present(more headers) headers {
	all := headers{
		"PSU-IP-Address": "192.0.2.7", "TPP-Redirect-URI": "https://third.example/back?state=s", "TPP-Nok-Redirect-URI": "https://third.example/refused",
	}
	for name, value := range more {
		all[name] = value
	}
	return all
}

// address converts a link, or a path at a bank, to a complete address.
func (w *fixture) address(bank, at string) string {
	w.t.Helper()
	if strings.HasPrefix(at, "http") {
		return at
	}
	for _, opened := range w.program.Opened {
		switch {
		case opened.Name != bank:
		case strings.HasPrefix(at, "/"): // a link relative to the host
			return strings.TrimSuffix(opened.API, "/"+bank) + at
		default:
			return opened.API + "/" + at
		}
	}
	w.t.Fatalf("there is no bank %s", bank)
	return ""
}

// try sends a request. It returns an error when it receives no complete response.
func (w *fixture) try(method, address string, body any, h headers) (reply, error) {
	w.t.Helper()
	var content io.Reader
	if body != nil {
		encoded, ok := body.([]byte)
		if !ok {
			encoded, _ = json.Marshal(body)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(w.t.Context(), method, address, content)
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("X-Request-ID", uuid())
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if strings.Contains(address, "/signed/v1/") {
		w.sign(request, h)
	}
	for id, token := range w.tokens {
		if strings.Contains(address, id) {
			request.Header.Set("Authorization", "Bearer "+token.access)
		}
	}
	for name, value := range h {
		request.Header.Set(name, value)
		if value == "" {
			request.Header.Del(name)
		}
	}
	answer, err := w.client(w.certificate).Do(request)
	if err != nil {
		return reply{}, err
	}
	return read(answer)
}

// read reads the whole response. It fails when the response is larger than largestAnswer, because a
// fast machine could otherwise read a huge response to its end.
func read(answer *http.Response) (reply, error) {
	defer answer.Body.Close()
	raw, err := io.ReadAll(http.MaxBytesReader(nil, answer.Body, largestAnswer))
	if err != nil {
		return reply{}, err
	}
	r := reply{status: answer.StatusCode, header: answer.Header, raw: raw}
	json.Unmarshal(raw, &r.body)
	return r, nil
}

func readReply(t *testing.T, answer *http.Response) reply {
	t.Helper()
	r, err := read(answer)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *fixture) call(want int, method, address string, body any, h headers) reply {
	w.t.Helper()
	r, err := w.try(method, address, body, h)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, address, err)
	}
	if r.status != want {
		w.t.Fatalf("%s %s: status %d %s, want %d", method, address, r.status, r.raw, want)
	}
	return r
}

func (w *fixture) refused(status int, code, method, address string, body any, h headers) {
	w.t.Helper()
	if r := w.call(status, method, address, body, h); r.code() != code {
		w.t.Errorf("%s %s: %s, want the code %s", method, address, r.raw, code)
	}
}

func (w *fixture) steer(method, path string, body any) reply {
	w.t.Helper()
	return w.call(http.StatusOK, method, w.program.Control+"/banks/"+path, body, nil)
}

// pass advances the time of a bank. It renews the bank's tokens in w.tokens, because they may have
// expired.
func (w *fixture) pass(bank, by string) {
	w.t.Helper()
	w.steer("POST", bank+"/clock", map[string]any{"advance": by})
	for _, token := range w.tokens {
		if strings.Contains(token.endpoint, "/"+bank+"/") {
			w.exchange(token, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.refresh}, "client_id": {"PSDDE-TEST-1"}})
		}
	}
}

func (w *fixture) browse(page string, form url.Values) string {
	w.t.Helper()
	answer, err := w.client("").PostForm(page, form)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		body, _ := io.ReadAll(answer.Body)
		w.t.Fatalf("POST %s: status %d, want a way back\n%s", page, answer.StatusCode, body)
	}
	return answer.Header.Get("Location")
}

func (w *fixture) right(bank string) {
	w.t.Helper()
	if r := w.steer("GET", bank+"/check", nil); r.at("right") != true {
		w.t.Errorf("the books of %s: %s", bank, r.raw)
	}
}

func listener(t *testing.T, receive func(map[string]string)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body map[string]string
		json.NewDecoder(r.Body).Decode(&body)
		receive(body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
