package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// validatorSetting is the environment variable with the address of a validating program. The
// program validates messages against the API description of the standard, and passes them on to
// validatorNext. scripts/validate-banks starts the program.
const (
	validatorSetting = "PASSERELLE_TEST_VALIDATOR"
	validatorNext    = "127.0.0.1:4011"
	validatorID      = "X-Validated-Message"
)

// validator reports the violations in the messages between connectors and banks. The validating
// program passes on only its parsed form of a message. The validator therefore sends the original
// message to the bank.
type validator struct {
	address  string
	mu       sync.Mutex
	open     map[string]*message
	number   int
	messages int
	// broken counts lost and malformed responses.
	broken int
	found  map[string]int
}

type message struct {
	to     *http.Client
	origin string
	method string
	path   string
	header http.Header
	body   []byte

	status   int
	answer   http.Header
	answered []byte
	lost     bool
}

var validating = sync.OnceValue(func() *validator {
	address := os.Getenv(validatorSetting)
	if address == "" {
		return nil
	}
	v := &validator{address: address, open: map[string]*message{}, found: map[string]int{}}
	listener, err := net.Listen("tcp", validatorNext)
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, http.HandlerFunc(v.pass)) //nolint:gosec // it ends with the process
	return v
})

// between rewrites the bank files so that connectors reach the banks through the validator.
func (v *validator) between(b *banksOf) {
	b.t.Helper()
	certificates := filepath.Join(filepath.Dir(b.Folder), "certs")
	server, err := tls.LoadX509KeyPair(filepath.Join(certificates, "server.pem"), filepath.Join(certificates, "server.key"))
	if err != nil {
		b.t.Fatal(err)
	}
	client := bareClient(b.t, b.Folder)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12})
	if err != nil {
		b.t.Fatal(err)
	}
	own, origin := "https://"+listener.Addr().String(), ""
	files, err := filepath.Glob(filepath.Join(b.Folder, "*.toml"))
	if err != nil {
		b.t.Fatal(err)
	}
	api := regexp.MustCompile(`(?m)^api = "(https://[^/"]+)`)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			b.t.Fatal(err)
		}
		origin = string(api.FindSubmatch(content)[1])
		if err := os.WriteFile(file, api.ReplaceAll(content, []byte(`api = "`+own)), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	relay := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := &message{to: client, origin: origin, method: r.Method, path: r.URL.RequestURI(), header: r.Header, body: body}
		v.relay(r.Context(), m)
		m.write(w, own)
	})}
	go relay.Serve(listener) // it ends with the test
	b.t.Cleanup(func() { relay.Close(); v.report(b.t) })
}

func (v *validator) relay(ctx context.Context, m *message) {
	_, path, _ := strings.Cut(strings.TrimPrefix(m.path, "/"), "/")
	v.mu.Lock()
	v.number++
	id := fmt.Sprint(v.number)
	v.open[id] = m
	v.mu.Unlock()
	request, err := http.NewRequestWithContext(ctx, m.method, v.address+"/"+path, bytes.NewReader(m.body))
	if err != nil {
		m.lost = true
		return
	}
	request.Header = m.header.Clone()
	request.Header.Set(validatorID, id)
	answer, err := http.DefaultClient.Do(request)
	if err == nil {
		answer.Body.Close()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.open, id)
	v.messages++
	if m.lost || !m.asStandard() {
		v.broken++
		return
	}
	if err != nil {
		v.found["the program in the middle fails: "+err.Error()]++
		return
	}
	v.note(m, answer.Header.Get("Sl-Violations"))
}

func (m *message) asStandard() bool {
	return len(m.answered) == 0 || !strings.Contains(m.answer.Get("Content-Type"), "json") || json.Valid(m.answered)
}

func (v *validator) note(m *message, reported string) {
	var all []struct {
		Location []string
		Severity string
		Code     any
		Message  string
	}
	if reported == "" {
		return
	}
	if err := json.Unmarshal([]byte(reported), &all); err != nil {
		v.found["the program in the middle says "+reported]++
		return
	}
	for _, one := range all {
		text := fmt.Sprintf("%s %s, %d: %s: %s", m.method, pathForm.ReplaceAllString(m.path, "…"), m.status, strings.Join(one.Location, "."), one.Message)
		v.found[text]++
	}
}

// pathForm matches the parts of paths that differ between calls of the same kind, such as ids and
// queries.
var pathForm = regexp.MustCompile(`[A-Z0-9]{20,}|[0-9a-f-]{36}|\?.*$|^/[a-z0-9-]+`)

func (v *validator) pass(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	m := v.open[r.Header.Get(validatorID)]
	v.mu.Unlock()
	if m == nil {
		http.Error(w, "no such message", http.StatusNotFound)
		return
	}
	request, err := http.NewRequestWithContext(r.Context(), m.method, m.origin+m.path, bytes.NewReader(m.body))
	if err != nil {
		panic(err)
	}
	request.Header = m.header.Clone()
	stay := *m.to
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := stay.Do(request)
	if err != nil {
		m.lost = true
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	m.status, m.answer = answer.StatusCode, answer.Header
	const enough = 20 << 20 // more than a connector reads from a response
	m.answered, err = io.ReadAll(io.LimitReader(answer.Body, enough))
	if m.lost = err != nil; m.lost || !m.asStandard() {
		panic(http.ErrAbortHandler)
	}
	m.write(w, "https://bank.example") // the validating program does not accept loopback as an address
}

func (m *message) write(w http.ResponseWriter, own string) {
	if m.lost && m.answer == nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range m.answer {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	if to := w.Header().Get("Location"); to != "" {
		w.Header().Set("Location", strings.Replace(to, m.origin, own, 1))
	}
	body := bytes.ReplaceAll(m.answered, []byte(m.origin), []byte(own))
	w.WriteHeader(m.status)
	w.Write(body) // the caller may have left
	if m.lost {
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func (v *validator) report(t testing.TB) {
	v.mu.Lock()
	defer v.mu.Unlock()
	excused := map[string]int{}
	for text, times := range v.found {
		i := slices.IndexFunc(exceptions, func(e exception) bool { return e.of.MatchString(text) })
		if i < 0 {
			t.Errorf("against the standard, %d times: %s", times, text)
			continue
		}
		excused[exceptions[i].why] += times
	}
	t.Logf("%d messages in both directions until now, %d of them broken on purpose, excused: %v", v.messages, v.broken, excused)
	v.found = map[string]int{}
}

type exception struct {
	of  *regexp.Regexp
	why string
}

var exceptions = []exception{
	{
		regexp.MustCompile(`^GET …/v1/(card-)?accounts/[a-z-]+/download…, 200: `),
		"the standard has links to downloads, and its file no path for them",
	},
	{
		regexp.MustCompile(`^GET .*/status, 200: response\.body\.transactionStatus: .* must be equal to one of the allowed values`),
		"the test bank reports an unknown status where a scenario wants that (Fault ZZZZ)",
	},
}
