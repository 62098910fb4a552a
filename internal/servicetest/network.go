package servicetest

import (
	"net/url"
	"testing"

	"passerelle/internal/servicetest/network"
)

// Network is a network.Network that fails its test on errors.
type Network struct {
	*network.Network
	t testing.TB
}

// Manner describes how a network treats traffic.
type Manner = network.Manner

// StartNetwork starts a TCP proxy in front of a host and port. The end of the test stops the proxy.
func StartNetwork(t testing.TB, target string) *Network {
	t.Helper()
	n, err := network.Start(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return &Network{Network: n, t: t}
}

// Through returns the address with the host and port of the network. Requests to the result reach
// the target through the network.
func (n *Network) Through(address string) string {
	n.t.Helper()
	through, err := n.Network.Through(address)
	if err != nil {
		n.t.Fatal(err)
	}
	return through
}

// HostOf returns the host and port of an address.
func HostOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("find the host of %q: %v", address, err)
	}
	return u.Host
}
