// Package sandbox is a simulated bank and the test connectors that lead to it.
//
// It owns what a real bank would: the orders that arrived, what the payer said
// about each of them, when they are executed, and the pages on which the payer
// approves, refuses or agrees to cancel. It does not own payments, which it
// never sees again after an order has come, nor where orders are kept, which is
// a Ledger's. It reads no clock: the present instant comes with every call, so
// that a domain with a clock of its own has a bank that obeys it. No money
// moves.
//
// What the bank does with an order is decided when the order arrives, from the
// tables of use cases, words, amounts and accounts: all of them are written as
// scripts, and a script becomes a plan, a list of steps that is stored with the
// order and played from then on. Scenarios is the catalogue of what can be had.
//
// Orders are in the ledger alone and nothing is remembered between calls, so
// a restart loses nothing and any process can answer for any other. When the
// ledger fails, connectors answer with an ordinary error, which leaves the
// outcome unknown, and pages say in plain words that the bank is out of reach.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"passerelle"
	"passerelle/connector"
)

// Bank is the simulated bank behind all test connectors. Every field is
// required. It is safe for concurrent use.
type Bank struct {
	Ledger Ledger
	// Base is the address of a domain under which Pages are reachable:
	// scheme and host, without a trailing slash.
	Base func(domain passerelle.DomainID) string
	// MAC authenticates data for one purpose, in at least 16 bytes, the same
	// after a restart as before.
	MAC func(purpose string, data []byte) []byte
	// Timing says how long execution takes.
	Timing Timing
	// Log gets the failures that a page can only hint at.
	Log *slog.Logger
}

// Connectors lists the test connectors of the bank, in the order they are
// shown.
func (b *Bank) Connectors() []connector.Connector {
	list := make([]connector.Connector, 0, len(variants)+2)
	for _, v := range variants {
		list = append(list, b.connector(v))
	}
	return append(list, b.provider(), b.restricted(), b.website())
}

func (b *Bank) connector(v variant) connector.Connector {
	c := &Connector{world: b, bank: v.bank()}
	switch {
	case v.uuid == TestConnector:
		return b.testConnector(cancellingConnector{c})
	case c.bank.cancels != "":
		return cancellingConnector{c}
	}
	return c
}

// errNoOrder says that no order of that key ever arrived.
var errNoOrder = errors.New("no such order at the sandbox bank")

// find reads an order, and errNoOrder when there is none.
func (b *Bank) find(ctx context.Context, domain passerelle.DomainID, key string) (order, int64, error) {
	body, version, found, err := b.Ledger.Load(ctx, domain, key)
	if err != nil {
		return order{}, 0, fmt.Errorf("load an order of the sandbox bank: %w", err)
	}
	if !found {
		return order{}, 0, errNoOrder
	}
	o, err := decodeOrder(body)
	return o, version, err
}

// change calls do to alter an order, and stores it when do reports a change. After a lost
// race, do decides again on the stored order.
func (b *Bank) change(ctx context.Context, domain passerelle.DomainID, key string, do func(*order) bool) (order, error) {
	for {
		o, version, err := b.find(ctx, domain, key)
		if err != nil || !do(&o) {
			return o, err
		}
		body, err := o.encode()
		if err != nil {
			return order{}, err
		}
		saved, err := b.Ledger.Save(ctx, domain, key, version, body)
		if err != nil {
			return order{}, fmt.Errorf("save an order of the sandbox bank: %w", err)
		}
		if saved {
			return o, nil
		}
	}
}
