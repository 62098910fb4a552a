package store

import (
	"context"
	"math"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// MaxReceived is how many requests the built-in receiver stores for a domain, and
// MaxReceivedBytes how many bytes of headers and bodies, because anybody may send to it.
const (
	MaxReceived      = 1000
	MaxReceivedBytes = 16 << 20
)

// Received is a request that arrived at the built-in receiver.
type Received struct {
	ID     int64
	Domain passerelle.DomainID
	// Name is the last segment of the path it came to.
	Name string
	At   time.Time
	// Headers are JSON, and Body is unchanged.
	Headers string
	Body    []byte
	// SignatureCheck is the result of checking the signature.
	SignatureCheck string
}

// ReceivedRequests lists the newest requests of a domain's receiver, oldest
// first, at most MaxReceived and MaxReceivedBytes.
func (r *Reader) ReceivedRequests(ctx context.Context, domain passerelle.DomainID) ([]Received, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (Received, error) {
		var (
			got Received
			at  int64
		)
		err := row.Scan(&got.ID, &got.Domain, &got.Name, &at, &got.Headers, &got.Body, &got.SignatureCheck)
		got.At = database.Instant(at)
		return got, err
	}, `SELECT id, domain_id, name, at, headers, body, verdict FROM received WHERE domain_id = $1 ORDER BY id LIMIT $2`, int64(domain), MaxReceived)
}

// ReceivedOpening is a request with the beginning of its body, which has Size bytes.
type ReceivedOpening struct {
	Received
	Size int64
}

// NewestReceived lists requests of a domain's receiver, newest first, before an id or from the
// newest when it is zero, each with at most a number of bytes of its body.
func (r *Reader) NewestReceived(ctx context.Context, domain passerelle.DomainID, before int64, limit, body int) ([]ReceivedOpening, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return database.Collect(ctx, r.rows, func(row database.Row) (ReceivedOpening, error) {
		var (
			got ReceivedOpening
			at  int64
		)
		err := row.Scan(&got.ID, &got.Domain, &got.Name, &at, &got.Headers, &got.Body, &got.SignatureCheck, &got.Size)
		got.At = database.Instant(at)
		return got, err
	}, `SELECT id, domain_id, name, at, headers, substr(body, 1, CAST($4 AS INTEGER)), verdict, octet_length(body) FROM received
		WHERE domain_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`, int64(domain), before, limit, body)
}

// KeepReceived stores a request and forgets the oldest beyond MaxReceived and
// MaxReceivedBytes.
func (tx *Tx) KeepReceived(got Received) error {
	id, err := tx.unit.NewID("received")
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO received (id, domain_id, name, at, headers, body, verdict) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		id, int64(got.Domain), got.Name, database.Micros(got.At), got.Headers, got.Body, got.SignatureCheck)
	tx.unit.Exec(`DELETE FROM received WHERE domain_id = $1 AND id <= (
		SELECT max(id) FROM (
			SELECT id, row_number() OVER newest AS place, sum(octet_length(headers) + octet_length(body)) OVER newest AS size
			FROM received WHERE domain_id = $1 WINDOW newest AS (ORDER BY id DESC)
		) AS kept WHERE place > $2 OR size > $3)`, int64(got.Domain), MaxReceived, MaxReceivedBytes)
	return nil
}

// ForgetReceived empties a domain's receiver.
func (tx *Tx) ForgetReceived(domain passerelle.DomainID) {
	tx.unit.Exec(`DELETE FROM received WHERE domain_id = $1`, int64(domain))
}
