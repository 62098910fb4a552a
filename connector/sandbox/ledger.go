package sandbox

import (
	"bytes"
	"context"
	"sync"

	"passerelle"
)

// Ledger stores the orders of the bank, one body for each domain and key. Every change of a body
// raises its version by one.
type Ledger interface {
	// Submit records the arrival of an order. It stores a new order, and only counts a repeated
	// one. It returns the stored order, its version, and how often the order has arrived.
	Submit(ctx context.Context, domain passerelle.DomainID, key string, body []byte) (stored []byte, version, submissions int64, err error)
	// Load reads an order. found is false when the key is unknown.
	Load(ctx context.Context, domain passerelle.DomainID, key string) (body []byte, version int64, found bool, err error)
	// Save replaces the body of an order if the order still has this version. Otherwise saved is
	// false.
	Save(ctx context.Context, domain passerelle.DomainID, key string, version int64, body []byte) (saved bool, err error)
}

// MemoryLedger stores orders until the process ends. It is for tests and for trying the bank.
type MemoryLedger struct {
	mu   sync.Mutex
	rows map[ledgerKey]ledgerRow
}

type ledgerKey struct {
	domain passerelle.DomainID
	key    string
}

type ledgerRow struct {
	body                 []byte
	version, submissions int64
}

var _ Ledger = (*MemoryLedger)(nil)

// NewMemoryLedger makes a ledger without orders.
func NewMemoryLedger() *MemoryLedger {
	return &MemoryLedger{rows: map[ledgerKey]ledgerRow{}}
}

// Submit implements Ledger.
func (l *MemoryLedger) Submit(ctx context.Context, domain passerelle.DomainID, key string, body []byte) ([]byte, int64, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, 0, 0, err
	}
	row, known := l.rows[ledgerKey{domain, key}]
	if !known {
		row = ledgerRow{body: bytes.Clone(body), version: 1}
	}
	row.submissions++
	l.rows[ledgerKey{domain, key}] = row
	return bytes.Clone(row.body), row.version, row.submissions, nil
}

// Load implements Ledger.
func (l *MemoryLedger) Load(ctx context.Context, domain passerelle.DomainID, key string) ([]byte, int64, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	row, known := l.rows[ledgerKey{domain, key}]
	return bytes.Clone(row.body), row.version, known, ctx.Err()
}

// Save implements Ledger.
func (l *MemoryLedger) Save(ctx context.Context, domain passerelle.DomainID, key string, version int64, body []byte) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	row, known := l.rows[ledgerKey{domain, key}]
	if !known || row.version != version {
		return false, nil
	}
	row.body, row.version = bytes.Clone(body), version+1
	l.rows[ledgerKey{domain, key}] = row
	return true, nil
}

// Orders returns the number of orders of all domains. A repeated order counts once.
func (l *MemoryLedger) Orders() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rows)
}
