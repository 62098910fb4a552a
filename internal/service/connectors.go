package service

import (
	"context"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/connector/statements"
	"passerelle/internal/store"
)

// Connectors lists the connectors that need no configuration. Banks from files (banks.go) and
// connector programs (programs.go) are added when the service reads them. With an empty Bank, the
// simulated connectors have only profiles.
func Connectors(simulated *sandbox.Bank) []connector.Connector {
	return append(simulated.Connectors(), statements.Connector{})
}

// newBank returns the simulated bank. Its ledger is in the database, so its orders survive a
// restart of the process.
func (s *Service) newBank() *sandbox.Bank {
	return &sandbox.Bank{
		Ledger: store.SandboxLedger{DB: s.DB}, Base: s.bankBase, MAC: s.config.Keys.MAC,
		Timing: s.config.Timing, Log: s.config.Log,
	}
}

// bankBase returns the base address of the simulated bank's pages for a domain. If the domain
// cannot be loaded, it logs the error and returns an empty address.
func (s *Service) bankBase(domain passerelle.DomainID) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d, err := s.DB.Domain(ctx, domain)
	if err != nil {
		s.config.Log.ErrorContext(ctx, "the address of the sandbox bank could not be read", "domain", domain, "error", err)
	}
	return origin(d)
}
