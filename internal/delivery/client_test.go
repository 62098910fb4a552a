package delivery_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
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

// inside contains addresses that neither a receiver of a live domain nor a token endpoint may have.
var inside = map[string][]string{
	"loopback":        {"127.0.0.1", "127.9.9.9", "127.255.255.254", "[::1]"},
	"unspecified":     {"0.0.0.0", "0.0.0.1", "0.255.255.255", "[::]"},
	"private":         {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255"},
	"carrier-grade":   {"100.64.0.1", "100.127.255.254"},
	"link-local":      {"169.254.0.1", "169.254.1.1", "169.254.255.255", "[fe80::1]", "[fe80::1%25lo]", "[febf::1]"},
	"unique local":    {"[fc00::1]", "[fd00::1]", "[fdff:ffff::1]"},
	"site-local":      {"[fec0::1]"},
	"benchmark":       {"198.18.0.1", "198.19.255.255", "[2001:2::1]"},
	"documentation":   {"192.0.2.1", "198.51.100.1", "203.0.113.1", "[2001:db8::1]", "[3fff::1]"},
	"protocols":       {"192.0.0.1", "192.0.0.170", "192.88.99.1", "[2001:10::1]", "[2001:20::1]", "[100::1]", "[5f00::1]"},
	"multicast":       {"224.0.0.1", "239.255.255.250", "[ff02::1]", "[ff0e::1]"},
	"broadcast":       {"255.255.255.255"},
	"reserved":        {"240.0.0.1", "254.1.1.1", "[4000::1]", "[8000::1]", "[e000::1]"},
	"IPv4-mapped":     {"[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:a00:1]"},
	"IPv4-compatible": {"[::127.0.0.1]", "[::10.0.0.1]", "[::8.8.8.8]"},
	"IPv4-translated": {"[::ffff:0:127.0.0.1]", "[::ffff:0:10.0.0.1]"},
	"NAT64":           {"[64:ff9b::127.0.0.1]", "[64:ff9b::10.0.0.1]", "[64:ff9b::8.8.8.8]", "[64:ff9b:1::10.0.0.1]", "[64:ff9b:1:a00:0:100::]"},
	"6to4":            {"[2002:7f00:1::1]", "[2002:a00:1::1]", "[2002:808:808::1]"},
	"Teredo":          {"[2001:0:7f00:1::]", "[2001:0:4136:e378:8000:63bf:f5ff:fffe]"},
	"ISATAP":          {"[2a00:1450::5efe:7f00:1]", "[2a00:1450::5efe:10.0.0.1]", "[2a00:1450::200:5efe:192.168.1.1]", "[fe80::5efe:10.0.0.1]"},
	"other spellings": {"localhost", "LOCALHOST"},
}

// metadata contains addresses of cloud metadata services, which no setting allows, and the forms in
// which they may be written.
var metadata = map[string][]string{
	"most clouds":     {"169.254.169.254", "[fe80::a9fe:a9fe]"},
	"of containers":   {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"},
	"AWS":             {"[fd00:ec2::254]"},
	"Alibaba":         {"100.100.100.200"},
	"Azure":           {"168.63.129.16"},
	"Google":          {"[fd20:ce::254]"},
	"Linode":          {"169.254.169.255", "[fd00:a9fe:a9fe::1]"},
	"Oracle":          {"192.0.0.192"},
	"Scaleway":        {"169.254.42.42", "[fd00:42::42]"},
	"Tencent":         {"169.254.0.23"},
	"IPv4-mapped":     {"[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::ffff:168.63.129.16]"},
	"IPv4-compatible": {"[::169.254.169.254]"},
	"IPv4-translated": {"[::ffff:0:169.254.169.254]"},
	"NAT64":           {"[64:ff9b::a9fe:a9fe]", "[64:ff9b::168.63.129.16]"},
	"own NAT64": {
		"[64:ff9b:1:a9fe:a9:fe00::]", "[64:ff9b:1:a9:fe:a9fe::]", "[64:ff9b:1::a9:fea9:fe00:0]", "[64:ff9b:1::a9fe:a9fe]", "[64:ff9b:1:ffff::a9fe:a9fe]",
	},
	"6to4":   {"[2002:a9fe:a9fe::1]", "[2002:a83f:8110::1]"},
	"Teredo": {"[2001:0:a9fe:a9fe::]", "[2001:0:808:808:0:0:5601:5601]"},
	"ISATAP": {"[2a00:1450::5efe:a9fe:a9fe]", "[2a00:1450::200:5efe:a9fe:a9fe]", "[fd00::5efe:a9fe:a9fe]"},
}

func refused(t *testing.T, client *http.Client, hosts map[string][]string) {
	t.Helper()
	for kind, list := range hosts {
		for _, host := range list {
			for _, port := range []string{":80", ":8080"} {
				answer, err := client.Get("http://" + host + port + "/latest/meta-data/")
				if err == nil {
					answer.Body.Close()
				}
				if !errors.Is(err, delivery.ErrAddress) {
					t.Errorf("%s, %s: %v", kind, host, err)
				}
			}
		}
	}
}

func TestInternalAddressesAreRefused(t *testing.T) {
	client := delivery.NewClient(delivery.Outbound{})
	refused(t, client, inside)
	refused(t, client, metadata)
}

func TestMetadataIsRefusedWhateverIsAllowed(t *testing.T) {
	refused(t, delivery.NewClient(anywhere), metadata)
}

func TestAllowedIPv6NetworkDoesNotAllowEmbeddedIPv4(t *testing.T) {
	only := func(networks ...string) *http.Client {
		var o delivery.Outbound
		for _, network := range networks {
			o.Networks = append(o.Networks, netip.MustParsePrefix(network))
		}
		return delivery.NewClient(o)
	}
	refused(t, only("64:ff9b::/96"), map[string][]string{"NAT64": {"[64:ff9b::127.0.0.1]", "[64:ff9b::10.0.0.1]", "[64:ff9b::192.168.1.1]"}})
	refused(t, only("2002::/16"), map[string][]string{"6to4": {"[2002:a00:1::1]", "[2002:7f00:1::1]"}})
	refused(t, only("2001::/32"), map[string][]string{"Teredo": {"[2001:0:a00:1::]", "[2001:0:808:808:0:0:f5ff:fffe]"}})
	refused(t, only("fd00::/8"), map[string][]string{"ISATAP": {"[fd00::5efe:10.0.0.1]", "[fd00::200:5efe:7f00:1]"}})
	refused(t, only("::/0"), map[string][]string{"IPv4": {"10.0.0.1", "127.0.0.1", "[::ffff:10.0.0.1]"}})
	refused(t, only("0.0.0.0/0"), map[string][]string{"IPv6": {"[::1]", "[fd00::1]", "[64:ff9b::10.0.0.1]"}})
	refused(t, only("10.0.0.0/8"), map[string][]string{"others": {"172.16.0.1", "127.0.0.1"}})
}

func port(t *testing.T, address string) uint16 {
	t.Helper()
	at, err := netip.ParseAddrPort(strings.TrimPrefix(address, "http://"))
	must(t, err)
	return at.Port()
}

func TestOperatorOpensAddresses(t *testing.T) {
	address := receiver(t, ok)
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
		"the port":           {delivery.Outbound{Loopback: true, Ports: []uint16{1, port(t, address)}}, nil},
		"another port":       {delivery.Outbound{Loopback: true, Ports: []uint16{port(t, address) ^ 1}}, delivery.ErrAddress},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := delivery.NewClient(test.outbound).Get(address)
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
			wantTimeout(t, url)
		})
	}
}

func wantTimeout(t *testing.T, url string) {
	t.Helper()
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

// hostile starts a server that reads a request and then calls the function say, which sends bytes
// until the connection ends.
func hostile(t *testing.T, say func(w io.Writer) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var talking sync.WaitGroup
	talking.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			talking.Go(func() {
				defer connection.Close()
				if _, err := http.ReadRequest(bufio.NewReader(connection)); err == nil {
					say(connection)
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		talking.Wait()
	})
	return "http://" + listener.Addr().String()
}

// endless returns a function that writes the first text once, and then the second text repeatedly.
func endless(once, again string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, once)
		for err == nil {
			_, err = io.WriteString(w, again)
		}
		return err
	}
}

// TestEndlessAnswersEnd checks that an endless response ends because of its size, and not because
// of a timeout.
func TestEndlessAnswersEnd(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	long := strings.Repeat("x", 1<<10)
	for name, test := range map[string]struct {
		say func(io.Writer) error
		// If read is not set, the request must fail.
		read bool
	}{
		"status line":     {endless("HTTP/1.1 200 ", long), false},
		"headers":         {endless(head, "X: "+long+"\r\n"), false},
		"a header":        {endless(head+"X: ", long), false},
		"interim answers": {endless("", "HTTP/1.1 103 Early Hints\r\nX: "+long+"\r\n\r\n"), false},
		"body":            {endless(head+"\r\n", long), true},
		"chunks":          {endless(head+"Transfer-Encoding: chunked\r\n\r\n", "400\r\n"+long+"\r\n"), true},
		"one large chunk": {endless(head+"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n", long), true},
		"small chunks":    {endless(head+"Transfer-Encoding: chunked\r\n\r\n", "1;"+long+"\r\nx\r\n"), true},
		"a chunk's line":  {endless(head+"Transfer-Encoding: chunked\r\n\r\n1;", long), true},
		"trailers":        {endless(head+"Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n1\r\nx\r\n0\r\n", "X: "+long+"\r\n"), true},
		"compressed":      {endless(head+"Content-Encoding: gzip\r\n\r\n", long), true},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := delivery.NewClient(open).Get(hostile(t, test.say))
			size := 0
			if err == nil {
				var body []byte
				body, err = io.ReadAll(answer.Body)
				size = len(body)
				answer.Body.Close()
			}
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() || !test.read && err == nil {
				t.Errorf("ended with %v", err)
			}
			if size > delivery.MaxAnswer {
				t.Errorf("read %d bytes", size)
			}
		})
	}
}

// TestSlowAnswersTimeOut checks that a receiver that sends a few bytes from time to time gets no
// more time than other receivers.
func TestSlowAnswersTimeOut(t *testing.T) {
	drip := func(w io.Writer) error {
		ticks := time.NewTicker(time.Millisecond)
		defer ticks.Stop()
		var err error
		for err == nil {
			<-ticks.C
			_, err = io.WriteString(w, "x")
		}
		return err
	}
	for name, head := range map[string]string{"status line": "HTTP/1.1 200 ", "header": "HTTP/1.1 200 OK\r\nX: ", "body": "HTTP/1.1 200 OK\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			url := hostile(t, func(w io.Writer) error {
				_, err := io.WriteString(w, head)
				return errors.Join(err, drip(w))
			})
			wantTimeout(t, url)
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
