package delivery_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// names is a DNS server. For each name, it has a list of responses to successive queries. It
// repeats the last response of the list.
type names struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
	asked   map[string]int
}

// resolve makes the process use a DNS server that sends the responses in the map `answers`.
func resolve(t *testing.T, answers map[string][][]netip.Addr) {
	t.Helper()
	n := &names{answers: answers, asked: map[string]int{}}
	connection, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	var serving sync.WaitGroup
	serving.Go(func() { n.serve(connection) })
	known := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", connection.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = known
		connection.Close()
		serving.Wait()
	})
}

func (n *names) serve(connection net.PacketConn) {
	question := make([]byte, 1<<12)
	for {
		size, from, err := connection.ReadFrom(question)
		if err != nil {
			return
		}
		connection.WriteTo(n.answer(question[:size]), from)
	}
}

// These are types of records (RFC 1035, RFC 3596).
const (
	recordA    = 1
	recordAAAA = 28
)

// answer returns the response to a query: first the question of the query, and then the addresses
// of the requested type.
func (n *names) answer(question []byte) []byte {
	var labels []string
	at := 12
	for question[at] > 0 {
		size := int(question[at])
		labels = append(labels, string(question[at+1:at+1+size]))
		at += 1 + size
	}
	kind := binary.BigEndian.Uint16(question[at+1:])
	message := append([]byte(nil), question[:at+5]...)
	copy(message[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	count := uint16(0)
	for _, addr := range n.next(strings.ToLower(strings.Join(labels, ".")), kind) {
		if addr.Is4() != (kind == recordA) {
			continue
		}
		count++
		message = append(message, 0xc0, 12)
		message = binary.BigEndian.AppendUint16(message, kind)
		message = append(message, 0, 1, 0, 0, 0, 0)
		message = binary.BigEndian.AppendUint16(message, uint16(len(addr.AsSlice())))
		message = append(message, addr.AsSlice()...)
	}
	binary.BigEndian.PutUint16(message[6:], count)
	return message
}

func (n *names) next(name string, kind uint16) []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	script, key := n.answers[name], fmt.Sprint(name, kind)
	if len(script) == 0 || kind != recordA && kind != recordAAAA {
		return nil
	}
	n.asked[key]++
	return script[min(n.asked[key], len(script))-1]
}

func TestNamesOfInternalAddressesAreRefused(t *testing.T) {
	answers := map[string][][]netip.Addr{}
	named := func(hosts map[string][]string) map[string][]string {
		under := map[string][]string{}
		for kind, list := range hosts {
			for _, host := range list {
				addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
				if err != nil || addr.Zone() != "" {
					continue // a name, or an address with a zone, which DNS cannot return
				}
				name := fmt.Sprintf("h%d.receiver.example", len(answers))
				answers[name] = [][]netip.Addr{{addr}}
				under[kind] = append(under[kind], name)
			}
		}
		return under
	}
	in, of := named(inside), named(metadata)
	resolve(t, answers)
	refused(t, delivery.NewClient(delivery.Outbound{}), in)
	refused(t, delivery.NewClient(anywhere), of)
}

// outside and private are loopback addresses that stand for a public and a private address.
var (
	outside = netip.MustParseAddr("127.0.0.2")
	private = netip.MustParseAddr("127.0.0.1")
)

// sides returns a client that may connect to the public address, but not to the private one. It
// starts a server on each of these two addresses, with the same port. reached counts the requests
// to the public address, and entered counts those to the private one.
func sides(t *testing.T) (client *http.Client, port string, reached, entered *atomic.Int64) {
	t.Helper()
	reached, entered = new(atomic.Int64), new(atomic.Int64)
	listen := func(address string, count *atomic.Int64) net.Listener {
		listener, err := net.Listen("tcp", address)
		must(t, err)
		server := &httptest.Server{Listener: listener, Config: &http.Server{
			Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { count.Add(1) }),
		}}
		server.Start()
		t.Cleanup(server.Close)
		return listener
	}
	_, port, err := net.SplitHostPort(listen(outside.String()+":0", reached).Addr().String())
	must(t, err)
	listen(net.JoinHostPort(private.String(), port), entered)
	return delivery.NewClient(delivery.Outbound{Networks: []netip.Prefix{netip.PrefixFrom(outside, 32)}}), port, reached, entered
}

// A name may resolve to another address at any moment. TestNamesThatChange checks that the client
// checks the address of each new connection.
func TestNamesThatChange(t *testing.T) {
	client, port, reached, entered := sides(t)
	resolve(t, map[string][][]netip.Addr{"receiver.example": {{outside}, {private}}})
	url := "http://receiver.example:" + port + "/"
	answer, err := client.Get(url)
	must(t, err)
	answer.Body.Close()
	client.CloseIdleConnections()
	for range 2 {
		if _, err := client.Get(url); !errors.Is(err, delivery.ErrAddress) {
			t.Errorf("got %v after the name changed", err)
		}
	}
	if reached.Load() != 1 || entered.Load() != 0 {
		t.Errorf("%d requests went outside, %d inside", reached.Load(), entered.Load())
	}
}

func TestNamesOfSeveralAddresses(t *testing.T) {
	client, port, reached, entered := sides(t)
	away := netip.MustParseAddr("127.0.0.3") // an allowed address without a listener
	resolve(t, map[string][][]netip.Addr{
		"first.example":  {{private, outside}},
		"last.example":   {{outside, private}},
		"never.example":  {{away, private}},
		"mapped.example": {{netip.MustParseAddr("::ffff:127.0.0.1"), away}},
	})
	for name, want := range map[string]error{"first": nil, "last": nil, "never": delivery.ErrAddress, "mapped": delivery.ErrAddress} {
		answer, err := client.Get("http://" + name + ".example:" + port + "/")
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err == nil {
			answer.Body.Close()
		}
	}
	if reached.Load() != 2 || entered.Load() != 0 {
		t.Errorf("%d requests went outside, %d inside", reached.Load(), entered.Load())
	}
}

// TestLiveDomainsSendNothingInside checks that a live domain sends nothing to a receiver or a token
// endpoint whose address is private or reserved, or belongs to a metadata service.
func TestLiveDomainsSendNothingInside(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		r.domain = r.newDomain("live", passerelle.Live)
		r.Client = delivery.NewClient(delivery.Outbound{})
		want := map[passerelle.WebhookID]string{}
		register := func(url, auth, failure string) {
			w, err := r.Register(t.Context(), r.domain, delivery.Registration{Event: string(webhook.PaymentStateUpdated), URL: url, Auth: auth})
			must(t, err)
			want[w.ID] = failure
		}
		for _, hosts := range []map[string][]string{inside, metadata} {
			for _, list := range hosts {
				register("https://"+list[0]+":8443/hook", "", "address refused")
				url, word, grant := "https://"+list[0]+"/token", "w", delivery.ClientCredentials
				provider, err := r.RegisterOAuth(t.Context(), r.domain, fmt.Sprint("p", len(want)), delivery.EndpointChange{
					URL: &url, ClientID: &word, ClientSecret: &word, GrantType: &grant,
				}, "")
				must(t, err)
				register("https://192.0.2.1/hook", fmt.Sprint(provider.ID), "token endpoint: address refused")
			}
		}
		r.emit(1, 1)
		r.run(0, len(want))
		for id, failure := range want {
			got, err := r.DB.Outage(t.Context(), store.Webhook{ID: id, Domain: r.domain.ID})
			must(t, err)
			if got.Failure != failure {
				t.Errorf("webhook %d failed with %q, want %q", id, got.Failure, failure)
			}
		}
	})
}
