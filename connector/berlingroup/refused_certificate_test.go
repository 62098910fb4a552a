package berlingroup_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/payment"
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
				var refusal *payment.Refusal
				if !errors.Is(err, connector.ErrNotSent) || !errors.As(err, &refusal) || refusal.Code != payment.Bug || !strings.Contains(err.Error(), "it refuses our transport certificate") {
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

// TestAnInvalidCertificateIsTheOperatorsFault: when our certificate is not valid, a new order fails
// with the code payment.Bug, and a read ends in the state passerelle.Bug. The connector does not
// call the bank.
func TestAnInvalidCertificateIsTheOperatorsFault(t *testing.T) {
	now := time.Now()
	for says, certificate := range map[string]*x509.Certificate{
		"tls.certificate is not valid after":  {NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(-time.Hour)},
		"tls.certificate is not valid before": {NotBefore: now.Add(time.Hour)},
	} {
		t.Run(says, func(t *testing.T) {
			bank := &answering{status: 500}
			w := newFixture(t, bank, nil)
			w.file += "\n[profile.accounts]\nconsents = [\"global\"]\n"
			w.certify(certificate)
			loaded := w.load()
			if !strings.Contains(loaded.Invalid(now), says) {
				t.Errorf("the certificate is called %q", loaded.Invalid(now))
			}
			if !slices.ContainsFunc(loaded.CheckCertificates(now), func(f berlingroup.Finding) bool { return f.Wrong && strings.Contains(f.Detail, says) }) {
				t.Errorf("the check finds %+v", loaded.CheckCertificates(now))
			}
			_, err := loaded.Connector().(connector.Initiator).Initiate(t.Context(), ordersByKind["single"])
			var refused *payment.Refusal
			if !errors.As(err, &refused) || refused.Code != payment.Bug || refused.Description != "" || !strings.Contains(err.Error(), says) {
				t.Errorf("the order fails with %v", err)
			}
			repeated := ordersByKind["single"]
			repeated.Repeated = true
			if _, err := loaded.Connector().(connector.Initiator).Initiate(t.Context(), repeated); errors.As(err, &refused) || !errors.Is(err, connector.ErrNotSent) {
				t.Errorf("the repeated order fails with %v", err)
			}
			outcome, err := loaded.Connector().(connector.DataReader).Read(t.Context(), connector.DataRequest{Now: now, Memory: []byte(`{"consent":"c1","valid":true,"until":"2100-01-01T00:00:00Z"}`)}, nil)
			if outcome.State != passerelle.Bug || err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("the read ends with %+v, %v", outcome, err)
			}
			if h := loaded.Health(); !h.Refused || h.Failures > 0 || len(bank.requests) > 0 {
				t.Errorf("%d requests, and the health %+v", len(bank.requests), h)
			}
		})
	}
}
