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

// Connectors lists every connector of the program by hand, so that a reader sees which banks
// it supports. Without the simulated bank, simulated connectors can only describe
// themselves.
func Connectors(simulated *sandbox.Bank) []connector.Connector {
	return append(simulated.Connectors(), statements.Connector{})
}

// newBank is the simulated bank, whose ledger is in the database, so that it outlives the
// process as a bank does.
func (s *Service) newBank() *sandbox.Bank {
	return &sandbox.Bank{
		Ledger: store.SandboxLedger{DB: s.DB}, Base: s.bankBase, MAC: s.config.Keys.MAC,
		Timing: s.config.Timing, Log: s.config.Log,
	}
}

// bankBase is where the pages of the simulated bank are for a domain. When it cannot be read
// the link is useless, and the person who follows it gets a page that says so.
func (s *Service) bankBase(domain passerelle.DomainID) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d, err := s.DB.Domain(ctx, domain)
	if err != nil {
		s.config.Log.ErrorContext(ctx, "the address of the sandbox bank could not be read", "domain", domain, "error", err)
	}
	return origin(d)
}
