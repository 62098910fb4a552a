package service_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/delivery"
	"passerelle/internal/keys"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

func refused(t *testing.T, answer servicetest.Answer, status int, code string) {
	t.Helper()
	var body map[string]any
	err := json.Unmarshal(answer.Body, &body)
	if err != nil || len(body) != 4 || answer.Status != status || body["code"] != code {
		t.Errorf("answered %d %s, want %d with the code %s", answer.Status, answer.Body, status, code)
	}
}

func TestReceiverRefusesInTheFormOfTheInterface(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		packed := map[string]string{"Content-Encoding": "gzip"}
		for name, test := range map[string]struct {
			method, name, body string
			header             map[string]string
			status             int
			code               string
		}{
			"NUL":              {"POST", "%00", "", nil, 400, "invalidValue"},
			"no UTF-8":         {"POST", "%ff", "", nil, 400, "invalidValue"},
			"long name":        {"POST", strings.Repeat("n", 65), "", nil, 400, "invalidValue"},
			"large body":       {"POST", "n", strings.Repeat("b", delivery.MaxReceivedBody+1), nil, 413, "payloadTooLarge"},
			"packed body":      {"POST", "n", "b", packed, 400, "badRequest"},
			"packed otherwise": {"POST", "n", "b", map[string]string{"Content-Encoding": "br"}, 400, "badRequest"},
			"large unpacked":   {"POST", "n", pack(t, strings.Repeat("b", delivery.MaxReceivedBody+1)), packed, 413, "payloadTooLarge"},
			"another method":   {"GET", "n", "", nil, 405, "methodNotAllowed"},
		} {
			t.Run(name, func(t *testing.T) {
				refused(t, s.Do(to(t, s, test.method, "/sandbox/receiver/"+test.name, test.body, test.header)), test.status, test.code)
			})
		}
		if answer := s.Do(to(t, s, "POST", "/sandbox/receiver/n", "b", nil)); answer.Status != http.StatusNoContent {
			t.Errorf("a usual request is answered %d %s", answer.Status, answer.Body)
		}
		if answer := s.Do(to(t, s, "POST", "/sandbox/receiver/packed", pack(t, `{"a":1.50}`), packed)); answer.Status != http.StatusNoContent {
			t.Errorf("a compressed request is answered %d %s", answer.Status, answer.Body)
		}
		if got := s.Received("packed"); len(got) != 1 || got[0].Body != `{"a":1.50}` {
			t.Errorf("of a compressed request is kept: %+v", got)
		}
	})
}

func pack(t *testing.T, body string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, body)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func to(t *testing.T, s *servicetest.Instance, method, path, body string, header map[string]string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.Origin+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return r
}

func TestTheConsoleIsFoundWithoutItsSlash(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	answer := s.Do(to(t, s, "GET", "/console", "", nil))
	if answer.Status != http.StatusSeeOther || answer.Header.Get("Location") != "/console/" {
		t.Errorf("answered %d %v", answer.Status, answer.Header)
	}
}

// TestAPanicIsRefusedInTheFormOfTheInterface: the response to a panic outside of the API is an
// error body of the API.
func TestAPanicIsRefusedInTheFormOfTheInterface(t *testing.T) {
	var broken atomic.Bool
	now := func() time.Time {
		if broken.Load() {
			panic("broken")
		}
		return time.Now()
	}
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{Now: now})
	broken.Store(true)
	refused(t, s.Do(to(t, s, "POST", "/sandbox/receiver/n", "b", nil)), http.StatusInternalServerError, "bug")
}

// TestTargetsWithoutAPathAreRefused checks that request targets without a path, like unknown paths,
// get an error body of the API.
func TestTargetsWithoutAPathAreRefused(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	for _, line := range []string{"OPTIONS *", "GET *", "GET " + s.Origin, "CONNECT bank.example:443", "CONNECT " + s.Addr(), "GET /nothing"} {
		t.Run(line, func(t *testing.T) { refused(t, raw(t, s.Addr(), line), http.StatusNotFound, "notFound") })
	}
}

func raw(t *testing.T, address, line string) servicetest.Answer {
	t.Helper()
	connection := dial(t, address)
	if _, err := fmt.Fprintf(connection, "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", line, address); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return servicetest.Answer{Status: response.StatusCode, Body: body}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return connection
}

// opened returns an open service with a sandbox domain and a live domain. The service does not
// serve yet.
func opened(t *testing.T, c service.Config) *service.Service {
	t.Helper()
	c.Migrate, c.Timing = true, sandbox.CI
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	if c.Keys == nil {
		c.Keys = keys.Generate()
	}
	if c.Files == "" {
		c.Files = t.TempDir()
	}
	s, err := service.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	// The order matters, because loopback names mean the first domain.
	for _, d := range []passerelle.Domain{{Name: "test.example", Kind: passerelle.Sandbox}, {Name: "bank.example", Kind: passerelle.Live}} {
		if _, err := s.FirstDomain(t.Context(), d.Name, d.Kind, "https://"+d.Name+"/2.0"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestForwardedHostSelectsTheDomain(t *testing.T) {
	s := opened(t, service.Config{Database: storetest.SQLite(t), TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	handler := s.Handler()
	for path, want := range map[string]int{
		"/sandbox/shop/back": 200, "/sandbox/receiver/n": 405, "/2.0/openapi.json": 200, "/webview/nothing": 404, "/sandbox/bank/none": 404,
	} {
		for proxy, status := range map[string]int{"10.1.2.3:99": want, "192.0.2.1:99": 404} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "http://inside"+path, nil)
			r.RemoteAddr = proxy
			r.Header.Set("X-Forwarded-Host", "test.example")
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, r); w.Code != status {
				t.Errorf("%s through %s: answered %d, want %d", path, proxy, w.Code, status)
			}
		}
	}
}

func TestSandboxPathsAreOnlyInSandboxes(t *testing.T) {
	handler := opened(t, service.Config{Database: storetest.SQLite(t)}).Handler()
	for host, want := range map[string]int{"test.example": 200, "TEST.example:443": 200, "bank.example": 404, "other.example": 404} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://"+host+"/sandbox/shop/back", nil))
		if w.Code != want {
			t.Errorf("%s: answered %d, want %d", host, w.Code, want)
		}
	}
}
