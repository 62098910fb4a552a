package store

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// MaxReceived limits the requests that the built-in receiver stores for a domain. MaxReceivedBytes
// limits the total size of their headers and bodies. The limits exist because anybody can send
// requests to the receiver.
const (
	MaxReceived      = 1000
	MaxReceivedBytes = 16 << 20
)

// Received is a request that arrived at the built-in receiver.
type Received struct {
	ID     int64
	Domain passerelle.DomainID
	// Name is the last segment of the request's path.
	Name string
	At   time.Time
	// Headers are the headers without credentials, as JSON. Body is the body as it arrived.
	Headers string
	Body    []byte
	// SignatureCheck is the result of the signature check.
	SignatureCheck string
}

// ReceivedRequests lists the stored requests of a domain's receiver, oldest first.
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

// ReceivedOpening is a request with the beginning of its body. Size is the length of the whole
// body.
type ReceivedOpening struct {
	Received
	Size int64
}

// Place returns the position of a request in lists, which are ordered by id.
func (r Received) Place() []any { return []any{r.ID, r.ID} }

// ReceivedFilter selects requests of a domain's receiver, by name and by the validity of their
// signature. Domain is required. Any other field with its zero value does not filter.
type ReceivedFilter struct {
	Domain passerelle.DomainID
	Name   string
	Valid  *bool
}

// NewestReceived lists requests of a domain's receiver, the newest first. The argument `body`
// limits the number of bytes that it reads of each body.
func (r *Reader) NewestReceived(ctx context.Context, f ReceivedFilter, w Window, body int) ([]ReceivedOpening, error) {
	s := database.Selection{From: "received"}.And("domain_id = $%d", int64(f.Domain))
	if f.Name != "" {
		s = s.And("name = $%d", f.Name)
	}
	if f.Valid != nil {
		s = s.And("(verdict LIKE 'valid%%') = $%d", *f.Valid)
	}
	sql, args := s.Newest(fmt.Sprintf("id, domain_id, name, at, headers, substr(body, 1, %d), verdict, octet_length(body)", body), "id", "id", w)
	return database.Collect(ctx, r.rows, func(row database.Row) (ReceivedOpening, error) {
		got, at := ReceivedOpening{}, int64(0)
		err := row.Scan(&got.ID, &got.Domain, &got.Name, &at, &got.Headers, &got.Body, &got.SignatureCheck, &got.Size)
		got.At = database.Instant(at)
		return got, err
	}, sql, args...)
}

// KeepReceived stores a request and removes the oldest requests beyond MaxReceived and
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

// ForgetReceived removes all requests of a domain's receiver.
func (tx *Tx) ForgetReceived(domain passerelle.DomainID) {
	tx.unit.Exec(`DELETE FROM received WHERE domain_id = $1`, int64(domain))
}
