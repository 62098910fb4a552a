package berlingroup_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"

	"passerelle/connector"
	"passerelle/connector/berlingroup/berlingrouptest"
)

// TestARefusedCertificateSendsNoOrder: a bank that refuses our certificate ends the handshake and
// never reads the order, even if its refusal arrives after the order was written.
func TestARefusedCertificateSendsNoOrder(t *testing.T) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			bank := &answering{status: 500}
			w := newFixture(t, bank, nil)
			w.server.TLS.MinVersion, w.server.TLS.MaxVersion = version, version
			other := *w
			other.authority = berlingrouptest.NewAuthority(t)
			other.certify(&x509.Certificate{})
			for range 20 {
				refusing := w.load()
				_, err := refusing.Connector().(connector.Initiator).Initiate(t.Context(), ordersByKind["single"])
				if !errors.Is(err, connector.ErrNotSent) || !strings.Contains(err.Error(), "it refuses our transport certificate") {
					t.Errorf("the order fails with %v", err)
				}
				if h := refusing.Health(); !h.Refused || h.Failures > 0 || h.LastFailure.IsZero() {
					t.Errorf("the health of the bank is %+v", h)
				}
			}
			if len(bank.requests) > 0 {
				t.Errorf("%d requests reached the bank", len(bank.requests))
			}
		})
	}
}
