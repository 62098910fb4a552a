package service_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/keys"
	"passerelle/internal/oidc"
	"passerelle/internal/oidc/oidctest"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
	"passerelle/internal/web"
)

func called(t *testing.T, method, address, host, path string, header map[string]string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// TestStrictTransport checks that the responses of a domain with https tell browsers to use only
// https. The responses of a domain without https must not do so.
func TestStrictTransport(t *testing.T) {
	s := opened(t, service.Config{Database: storetest.SQLite(t), Loopback: true})
	if _, err := service.EnsureDomain(t.Context(), s.DB, passerelle.Domain{Name: "plain", Kind: passerelle.Sandbox, BaseURL: "http://plain.example/2.0"}); err != nil {
		t.Fatal(err)
	}
	s.Start()
	sheet, err := web.Asset("passerelle.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/", "/2.0/config", "/2.0/connectors", "/2.0/openapi.json", "/2.0/nothing", "/nothing", "/console", "/console/", "/console/sign-in", "/console/nothing", "/webview",
		"/webview/en/connect", "/webview/nothing", "/2.0/auth/webview/en/connect", "/docs", "/docs/nothing", sheet, "/assets/nothing", "/sandbox/bank/nothing", "/sandbox/shop/nothing", "/sandbox/receiver/n",
	} {
		for _, method := range []string{"GET", "POST"} {
			answer, _ := called(t, method, s.Addr(), "test.example", path, nil)
			if got := answer.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
				t.Errorf("%s %s (%d): %q", method, path, answer.StatusCode, got)
			}
			answer, _ = called(t, method, s.Addr(), "plain.example", path, nil)
			if got, there := answer.Header["Strict-Transport-Security"]; there {
				t.Errorf("%s %s of a domain without https (%d): %q", method, path, answer.StatusCode, got)
			}
		}
	}
}

// TestConsoleListeners checks the console on a separate listener, on no listener, and on the API's
// listener.
func TestConsoleListeners(t *testing.T) {
	const found, absent = "Sign in", "notFound"
	for listen, want := range map[string]string{"": found, service.NoConsole: absent, "127.0.0.1:0": absent} {
		s := opened(t, service.Config{Database: storetest.SQLite(t), Loopback: true, ConsoleListen: listen})
		s.Start()
		if answer, body := called(t, "GET", s.Addr(), "bank.example", "/console/sign-in", nil); !strings.Contains(body, want) {
			t.Errorf("with %q the console answers %d %s", listen, answer.StatusCode, body)
		}
		if (s.ConsoleAddr() != "") != (listen == "127.0.0.1:0") {
			t.Errorf("with %q the console listens on %q", listen, s.ConsoleAddr())
		}
		if s.ConsoleAddr() == "" {
			continue
		}
		for path, status := range map[string]int{"/": 303, "/console": 303, "/console/sign-in": 200, "/2.0/connectors": 404, "/webview/en/connect": 404, "/docs": 404, "/sandbox/receiver/n": 404} {
			for _, host := range []string{s.ConsoleAddr(), "bank.example", "inside.example:9000"} {
				if answer, body := called(t, "GET", s.ConsoleAddr(), host, path, nil); answer.StatusCode != status {
					t.Errorf("%s of the console's listener at %s: %d %s", path, host, answer.StatusCode, body)
				}
			}
		}
	}
}

// TestConsoleBehindAProxy reaches the console's own listener through a proxy that terminates TLS.
// The cookies of the console must then be for https only, and the identity provider must send
// browsers back to https. Other callers cannot claim to be such a proxy.
func TestConsoleBehindAProxy(t *testing.T) {
	id := oidctest.Start(t, false)
	config := oidc.Config{Issuer: id.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for name, test := range map[string]struct {
		trusted []netip.Prefix
		said    string
		scheme  string
	}{
		"a trusted proxy with TLS":    {loopback, "https", "https"},
		"a trusted proxy without TLS": {loopback, "http", "http"},
		"another proxy":               {nil, "https", "http"},
	} {
		s := opened(t, service.Config{Database: storetest.SQLite(t), Loopback: true, ConsoleListen: "127.0.0.1:0", TrustedProxies: test.trusted, Identities: &config})
		s.Start()
		header := map[string]string{"X-Forwarded-Proto": test.said}
		answer, _ := called(t, "GET", s.ConsoleAddr(), "inside.example", "/console/sign-in", header)
		if len(answer.Cookies()) != 1 || answer.Cookies()[0].Secure != (test.scheme == "https") {
			t.Errorf("%s: the cookies are %v", name, answer.Cookies())
		}
		answer, _ = called(t, "GET", s.ConsoleAddr(), "inside.example", "/console/provider", header)
		to, err := answer.Location()
		if want := test.scheme + "://inside.example/console/provider/back"; err != nil || to.Query().Get("redirect_uri") != want {
			t.Errorf("%s: the browser is sent to %v, %v, want the way back %s", name, to, err, want)
		}
	}
}

func attempt(t *testing.T, address, forwarded string) (status int) {
	t.Helper()
	page, body := called(t, "GET", address, "test.example", "/console/sign-in", nil)
	found := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(body)
	if len(found) != 2 || len(page.Cookies()) != 1 {
		t.Fatalf("no form to sign in with: %d %v %s", page.StatusCode, page.Cookies(), body)
	}
	form := url.Values{"csrf": {found[1]}, "name": {"anna"}, "password": {"wrong"}}.Encode()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+address+"/console/sign-in", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "test.example"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", page.Cookies()[0].Name+"="+page.Cookies()[0].Value)
	if forwarded != "" {
		r.Header.Set("X-Forwarded-For", forwarded)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}

// TestUnknownProxyIsWarnedOf checks that three attempts to sign in through an unknown proxy cause
// one warning. Attempts through a trusted proxy or without a proxy must cause no warning.
func TestUnknownProxyIsWarnedOf(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for name, test := range map[string]struct {
		forwarded string
		trusted   []netip.Prefix
		warned    int
	}{
		"unknown": {"203.0.113.9", nil, 1}, "known": {"203.0.113.9", loopback, 0}, "none": {"", nil, 0},
	} {
		log := &servicetest.Logs{}
		s := opened(t, service.Config{Database: storetest.SQLite(t), Loopback: true, TrustedProxies: test.trusted, Log: slog.New(slog.NewTextHandler(log, nil))})
		s.Start()
		for range 3 {
			if status := attempt(t, s.Addr(), test.forwarded); status != http.StatusUnprocessableEntity {
				t.Errorf("%s: a wrong password is answered with %d", name, status)
			}
		}
		if n := strings.Count(log.String(), "--trusted-proxies"); n != test.warned {
			t.Errorf("%s: warned %d times, want %d", name, n, test.warned)
		}
	}
}

// When another program uses the address of a listener, the error must name the address and the
// flag. TestAnAddressInUse checks this for each listener.
func TestAnAddressInUse(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	address := busy.Addr().String()
	for flag, config := range map[string]service.Config{
		"--listen":         {Listen: address},
		"--console-listen": {Listen: "127.0.0.1:0", ConsoleListen: address},
		"--ops-listen":     {Listen: "127.0.0.1:0", OpsListen: address},
	} {
		if err := service.CheckListen(config); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s is checked: %v", flag, err)
		}
		config.Database, config.Keys, config.Files, config.Migrate = storetest.SQLite(t), keys.Generate(), t.TempDir(), true
		_, err := service.Open(t.Context(), config)
		want := "the address " + address + " is already in use: choose another address with " + flag
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	busy.Close()
	if err := service.CheckListen(service.Config{Listen: address, ConsoleListen: service.NoConsole}); err != nil {
		t.Errorf("a free address: %v", err)
	}
	if err := service.CheckListen(service.Config{Listen: address, OpsListen: address}); err == nil || !strings.Contains(err.Error(), "--ops-listen") {
		t.Errorf("one address for two flags: %v", err)
	}
}
