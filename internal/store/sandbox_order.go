package store

import (
	"context"
	"errors"

	"passerelle"
	"passerelle/internal/database"
)

// SandboxLedger stores the orders of the simulated banks. Like the orders at a real bank, they
// survive a restart.
type SandboxLedger struct{ DB *DB }

type sandboxOrder struct {
	body    []byte
	version int64
}

// Submit records the arrival of an order. It stores a new order, and counts the arrivals of each
// order. It returns the stored order, its version, and the number of times that the order arrived.
func (l SandboxLedger) Submit(ctx context.Context, domain passerelle.DomainID, key string, body []byte) ([]byte, int64, int64, error) {
	var (
		stored      []byte
		version     int64
		submissions int64
	)
	err := l.DB.Write(ctx, func(tx *Tx) error {
		tx.unit.Returning(func(row database.Row) error { return row.Scan(&stored, &version, &submissions) },
			`INSERT INTO sandbox_order (domain_id, key, version, submissions, body) VALUES ($1, $2, 1, 1, $3)
			ON CONFLICT (domain_id, key) DO UPDATE SET submissions = sandbox_order.submissions + 1
			RETURNING body, version, submissions`, int64(domain), key, body)
		return nil
	})
	return stored, version, submissions, err
}

// Load reads an order and its version. The third result is false when the key is unknown.
func (l SandboxLedger) Load(ctx context.Context, domain passerelle.DomainID, key string) ([]byte, int64, bool, error) {
	var err error
	order, err := database.One(ctx, l.DB.rows, func(row database.Row) (sandboxOrder, error) {
		var o sandboxOrder
		err := row.Scan(&o.body, &o.version)
		return o, err
	}, `SELECT body, version FROM sandbox_order WHERE domain_id = $1 AND key = $2`, int64(domain), key)
	if errors.Is(err, ErrNotFound) {
		return nil, 0, false, nil
	}
	return order.body, order.version, err == nil, err
}

// Save replaces an order. It returns false when the stored version differs from the argument
// `version`.
func (l SandboxLedger) Save(ctx context.Context, domain passerelle.DomainID, key string, version int64, body []byte) (bool, error) {
	err := l.DB.Write(ctx, func(tx *Tx) error {
		tx.unit.ExecOne(ErrConflict, `UPDATE sandbox_order SET body = $1, version = version + 1 WHERE domain_id = $2 AND key = $3 AND version = $4`,
			body, int64(domain), key, version)
		return nil
	})
	if errors.Is(err, ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// SandboxSubmissions returns the number of times that an order arrived at its simulated bank.
func (r *Reader) SandboxSubmissions(ctx context.Context, domain passerelle.DomainID, key string) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT submissions FROM sandbox_order WHERE domain_id = $1 AND key = $2`, int64(domain), key)
}
