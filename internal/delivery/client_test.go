package delivery_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"passerelle/internal/delivery"
)

var (
	open     = delivery.Outbound{Loopback: true}
	anywhere = delivery.Outbound{Loopback: true, Networks: []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"),
	}}
)

func receiver(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func ok(http.ResponseWriter, *http.Request) {}

func TestInternalAddressesAreRefused(t *testing.T) {
	client := delivery.NewClient(delivery.Outbound{})
	for _, host := range []string{
		"localhost", "127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]",
		"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.1.1", "224.0.0.1", "255.255.255.255",
		"[fe80::1]", "[fd00::1]", "[ff02::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::1]",
	} {
		_, err := client.Get("http://" + host + ":8080/")
		if !errors.Is(err, delivery.ErrAddress) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestMetadataIsRefusedWhateverIsAllowed(t *testing.T) {
	client := delivery.NewClient(anywhere)
	for _, host := range []string{
		"169.254.169.254", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]",
		"169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "[fd20:ce::254]",
	} {
		_, err := client.Get("http://" + host + "/latest/meta-data/")
		if !errors.Is(err, delivery.ErrAddress) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestOperatorOpensAddresses(t *testing.T) {
	url := receiver(t, ok)
	for name, test := range map[string]struct {
		outbound delivery.Outbound
		want     error
	}{
		"nothing":            {delivery.Outbound{}, delivery.ErrAddress},
		"loopback":           {open, nil},
		"the network":        {delivery.Outbound{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil},
		"another network":    {delivery.Outbound{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, delivery.ErrAddress},
		"the other protocol": {delivery.Outbound{Networks: []netip.Prefix{netip.MustParsePrefix("::/0")}}, delivery.ErrAddress},
		"everything":         {anywhere, nil},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := delivery.NewClient(test.outbound).Get(url)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if err == nil {
				answer.Body.Close()
			}
		})
	}
}

func TestRedirectIsTheAnswerAndNotFollowed(t *testing.T) {
	target := receiver(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	url := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	})
	answer, err := delivery.NewClient(open).Post(url, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("answered %d", answer.StatusCode)
	}
}

func TestTimeoutCoversTheWholeExchange(t *testing.T) {
	header := func(http.ResponseWriter) {}
	body := func(w http.ResponseWriter) { http.NewResponseController(w).Flush() }
	for name, before := range map[string]func(http.ResponseWriter){"no header": header, "no end of the body": body} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			url := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
				before(w)
				<-release
			})
			defer close(release)
			client := delivery.NewClient(delivery.Outbound{Loopback: true, Timeout: 30 * time.Millisecond})
			answer, err := client.Get(url)
			if err == nil {
				_, err = io.ReadAll(answer.Body)
				answer.Body.Close()
			}
			var timeout net.Error
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("got %v, want a timeout", err)
			}
		})
	}
}

func TestAnswersAreReadUpToABound(t *testing.T) {
	for name, test := range map[string]struct{ size, want int }{
		"small":    {10, 10},
		"at bound": {delivery.MaxAnswer, delivery.MaxAnswer},
		"large":    {10 * delivery.MaxAnswer, delivery.MaxAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			url := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, strings.Repeat("x", test.size))
			})
			answer, err := delivery.NewClient(open).Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil || len(body) != test.want {
				t.Errorf("read %d bytes and %v, want %d", len(body), err, test.want)
			}
		})
	}
}

func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	proxy := receiver(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	t.Setenv("HTTP_PROXY", proxy)
	if _, err := delivery.NewClient(delivery.Outbound{}).Get("http://10.0.0.1/"); !errors.Is(err, delivery.ErrAddress) {
		t.Errorf("got %v", err)
	}
}
