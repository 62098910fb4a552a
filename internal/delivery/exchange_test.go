package delivery_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/webhook"
)

// lost is a network in which no name can be resolved.
type lost struct{}

func (lost) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, &net.DNSError{Err: "no such host", Name: r.URL.Hostname(), Server: "10.1.2.3:53", IsNotFound: true}
}

// Operators can remedy some failures. TestFailuresThatOperatorsMayEnd checks that the request log
// says how, and gives no advice about other failures.
func TestFailuresThatOperatorsMayEnd(t *testing.T) {
	const (
		refused  = "The name or address leads to a private or reserved network, or to a port that is not allowed. The operator of the service allows private networks with --allow-networks and ports with --allow-ports."
		unknown  = "The service's name server has no address for this name. Check the spelling, and that the name exists there."
		tokens   = "No user token: the webhook belongs to no application."
		endpoint = "http://10.255.255.1/token"
	)
	for name, test := range map[string]struct {
		url, auth     string
		names         bool
		failure, want string
	}{
		"address":                    {"http://10.255.255.1/", "", true, "address refused", tokens + " " + refused},
		"address of tokens":          {"http://127.0.0.1:1/", "p", true, "token endpoint: address refused", refused},
		"name":                       {"http://shop.example/", "", false, "name not found", tokens + " " + unknown},
		"what the receiver can tell": {"http://127.0.0.1:1/", "", true, "connection refused", tokens},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *fixture) {
				r.oauth("p", endpointAt(endpoint))
				if !test.names {
					r.Client = &http.Client{Transport: lost{}}
				}
				w, err := r.Register(t.Context(), r.domain, delivery.Registration{Event: string(webhook.UserSynced), User: r.user(), URL: test.url, Auth: test.auth})
				must(t, err)
				id, err := r.Test(t.Context(), r.domain, w, nil)
				must(t, err)
				logs, err := r.DB.LastAttempts(t.Context(), r.domain.ID, []passerelle.DeliveryID{id})
				must(t, err)
				var got []string
				for _, l := range logs[id] {
					got = append(got, l.Failure, l.Detail)
				}
				if diff := cmp.Diff([]string{test.failure, test.want}, got); diff != "" {
					t.Errorf("failure and detail (-want +got):\n%s", diff)
				}
				if strings.Contains(fmt.Sprint(got), "10.") {
					t.Errorf("%q has an address", got)
				}
			})
		})
	}
}
