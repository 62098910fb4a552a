package service_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"passerelle/connector"
	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
)

// listening is a bank that records the headers of the last call with each method.
type listening struct {
	mu      sync.Mutex
	headers map[string]http.Header
}

func (b *listening) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.headers[r.Method] = r.Header
	b.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"transactionStatus": "RCVD", "paymentId": "P1", "_links": {"scaRedirect": {"href": "https://bank.example/page"}}}`)
	case http.MethodDelete:
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"tppMessages": [{"category": "ERROR", "code": "CANCELLATION_INVALID"}]}`)
	default:
		_, _ = io.WriteString(w, `{"transactionStatus": "RCVD"}`)
	}
}

func (b *listening) last(method string) http.Header {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer delete(b.headers, method)
	return b.headers[method]
}

func (b *listening) listen(t *testing.T) string {
	t.Helper()
	b.headers = map[string]http.Header{}
	folder, authority, key := t.TempDir(), berlingrouptest.NewAuthority(t), berlingrouptest.NewKey(t)
	own := authority.Sign(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, key)
	server := httptest.NewUnstartedServer(b)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{own.Raw}, PrivateKey: key}}, ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	authority.Furnish(folder)
	file := strings.NewReplacer("https://bank.example", server.URL, `key = "qwac.key"`, "key = \"qwac.key\"\nauthorities = \"ca.pem\"").Replace(fmt.Sprintf(bankFile, 11, 11, "Bank A"))
	if err := os.WriteFile(filepath.Join(folder, "a.toml"), []byte(file+"cancellation = \"direct\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// from sends a request from an address of this machine.
func from(t *testing.T, address, method, to, token string, body any, header ...string) []byte {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, to, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("User-Agent", "Agent of "+address)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{
		Transport:     &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestAddressOfThePerson checks that a bank gets the address of the person's browser, or of the
// device that an application names. A bank never gets the address of an application. When the
// person's address is unknown, an order has the service's address.
func TestAddressOfThePerson(t *testing.T) {
	const application, browser, device, service = "127.0.0.7", "127.0.0.8", "192.0.2.9", "127.0.0.1"
	bank := &listening{}
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{Banks: bank.listen(t), Quiet: true})
	token := s.Token("payments:admin")
	expect := func(what, method, address, agent string) http.Header {
		t.Helper()
		h := bank.last(method)
		if h == nil || h.Get("PSU-IP-Address") != address || h.Get("PSU-User-Agent") != agent {
			t.Errorf("%s: the bank was called with %v, want the address %q and the agent %q", what, h, address, agent)
		}
		return h
	}
	draft := servicetest.Draft()
	draft["instructions"].([]any)[0].(map[string]any)["execution_date_type"] = "first_open_day" // nobody can cancel instant payments
	order := func() string { return fmt.Sprintf("%s/payments/%d", s.Base, s.Create(token, draft)) }
	validation := map[string]any{"connector_uuid": "5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b11", "webview_url": "https://shop.example/pay", "validated": true}
	cancellation := map[string]any{"cancel": true, "client_redirect_uri": "https://shop.example/back"}

	unnamed := order()
	from(t, application, "POST", unnamed, token, validation)
	expect("an order without a device", "POST", service, "")
	from(t, application, "POST", unnamed, token, cancellation)
	expect("a cancellation without a device", "DELETE", "", "")

	named := order()
	from(t, application, "POST", named, token, validation, "PSU-IP-Address", device, "PSU-User-Agent", "Phone")
	back := expect("an order with a device", "POST", device, "Phone").Get("TPP-Redirect-URI")
	from(t, application, "POST", named, token, cancellation, "PSU-IP-Address", device)
	expect("a cancellation with a device", "DELETE", device, "")
	bank.last("GET")
	from(t, application, "POST", named, token, cancellation, "PSU-IP-Address", "elsewhere", "PSU-User-Agent", "Phone")
	expect("a cancellation with a device that has no address", "DELETE", "", "")
	bank.last("GET")
	from(t, browser, "GET", back, "", nil)
	expect("the return of the person", "GET", browser, "Agent of "+browser)
}

// TestHeadersOfTheDevice checks that a bank gets all headers of the standard about the person's
// device while the person is present. A malformed value is left out, and a value that is too long
// is shortened.
func TestHeadersOfTheDevice(t *testing.T) {
	const application, browser, device = "127.0.0.7", "127.0.0.8", "192.0.2.9"
	bank := &listening{}
	s := servicetest.Start(t, "sqlite::memory:", servicetest.Options{Banks: bank.listen(t), Quiet: true})
	token, draft := s.Token("payments:admin"), servicetest.Draft()
	draft["instructions"].([]any)[0].(map[string]any)["execution_date_type"] = "first_open_day" // nobody can cancel instant payments
	validation := map[string]any{"connector_uuid": "5d4c6a1e-8a0f-4f0e-9c65-0d3f5f6f2b11", "webview_url": "https://shop.example/pay", "validated": true}
	whole := map[string]string{
		"PSU-IP-Address": device, "PSU-IP-Port": "50123", "PSU-User-Agent": "Phone", "PSU-Accept": "text/html", "PSU-Accept-Language": "de", "PSU-Accept-Charset": "utf-8",
		"PSU-Accept-Encoding": "br", "PSU-Http-Method": "PUT", "PSU-Device-ID": "99435c7e-ad88-49ec-a2ad-99ddcb1f5555", "PSU-Geo-Location": "GEO:52.506931;-13.144558",
	}
	send := func(with map[string]string) (header http.Header, back string) {
		t.Helper()
		var list []string
		for name, value := range with {
			list = append(list, name, value)
		}
		from(t, application, "POST", fmt.Sprintf("%s/payments/%d", s.Base, s.Create(token, draft)), token, validation, list...)
		header = bank.last("POST")
		return header, header.Get("TPP-Redirect-URI")
	}
	expect := func(what string, header http.Header, want map[string]string) {
		t.Helper()
		for name := range whole {
			if got := header.Get(name); got != want[name] {
				t.Errorf("%s: %s is %q, want %q", what, name, got, want[name])
			}
		}
	}
	sent, back := send(whole)
	expect("an order", sent, whole)

	malformed := map[string]string{
		"PSU-IP-Address": device, "PSU-IP-Port": "65536", "PSU-Http-Method": "LOOK", "PSU-Device-ID": "phone", "PSU-Geo-Location": "52.5;13.1", "PSU-Accept-Charset": strings.Repeat("a", 600),
	}
	sent, _ = send(malformed)
	expect("an order with malformed values", sent, map[string]string{"PSU-IP-Address": device, "PSU-Accept-Charset": strings.Repeat("a", 512)})

	nowhere := maps.Clone(whole)
	delete(nowhere, "PSU-IP-Address")
	sent, _ = send(nowhere)
	expect("an order without an address", sent, map[string]string{"PSU-IP-Address": "127.0.0.1"})

	bank.last("GET")
	from(t, browser, "GET", back, "", nil, "Accept", "text/html", "Accept-Charset", "utf-8", "Accept-Encoding", "br", "PSU-Device-ID", whole["PSU-Device-ID"])
	header := bank.last("GET")
	expect("the return of the person", header, map[string]string{
		"PSU-IP-Address": browser, "PSU-User-Agent": "Agent of " + browser, "PSU-Accept": "text/html", "PSU-Accept-Language": header.Get("PSU-Accept-Language"),
		"PSU-Accept-Charset": "utf-8", "PSU-Accept-Encoding": "br", "PSU-Http-Method": "GET",
	})
}

// TestDevicesDoNotKeepLongHeaders reads devices from long headers. The devices may stay in memory
// for minutes, and the headers must not stay with them.
func TestDevicesDoNotKeepLongHeaders(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, devices := heap(), make([]connector.Device, 200)
	for i := range devices {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("PSU-User-Agent", strings.Repeat("a", 60_000))
		devices[i] = service.DeviceIn(r)
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d MiB for %d devices", grown>>20, len(devices))
	}
	if got := len(devices[0].UserAgent); got != 512 {
		t.Errorf("a header of %d bytes, want 512", got)
	}
}
