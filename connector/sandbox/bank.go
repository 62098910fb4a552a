package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox/customers"
)

// Bank is the simulated bank behind all test connectors. Every field must be set. A Bank is safe
// for concurrent use.
type Bank struct {
	Ledger Ledger
	// Base returns the address under which the pages for a domain are reachable: scheme and host,
	// without a trailing slash.
	Base func(domain passerelle.DomainID) string
	// MAC returns at least 16 bytes that authenticate data for one purpose. A restart must not
	// change these bytes.
	MAC func(purpose string, data []byte) []byte
	// Timing determines how long steps of an order take.
	Timing Timing
	// Log receives the details of failures that pages do not show.
	Log *slog.Logger
}

// Connectors lists the test connectors of the bank in display order.
func (b *Bank) Connectors() []connector.Connector {
	list := make([]connector.Connector, 0, len(variants))
	for _, v := range variants {
		list = append(list, b.connector(v))
	}
	return append(list, customers.Readers(b.readAccess())...)
}

func (b *Bank) connector(v variant) connector.Connector {
	c := &Connector{shared: b, bank: v.bank()}
	switch {
	case v.uuid == TestConnector:
		return testConnector{cancellingConnector{c}, customers.OfBank(b.readAccess(), c.bank.profile)}
	case c.bank.cancels != "":
		return cancellingConnector{c}
	}
	return c
}

// testConnector reads data and initiates payments.
type testConnector struct {
	cancellingConnector
	customers.Reader
}

// Profile returns the profile of the reader.
func (c testConnector) Profile() connector.Profile { return c.Reader.Profile() }

// errNoOrder means that no order with the key has arrived.
var errNoOrder = errors.New("no such order at the sandbox bank")

// find reads an order, or returns errNoOrder.
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

// change calls the function `do` with an order, and stores the order when `do` reports a change. If
// a newer version was stored in the meantime, change calls `do` again with that version.
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
