package store

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

const domainColumns = `id, name, kind, base_url, created, clock_offset, clock_frozen`

func scanDomain(row database.Row) (passerelle.Domain, error) { return scanDomainAnd(row) }

// scanDomainAnd reads the columns of a domain, and then further columns into the other arguments.
func scanDomainAnd(row database.Row, more ...any) (passerelle.Domain, error) {
	var (
		d               passerelle.Domain
		created, offset int64
		frozen          *int64
	)
	err := row.Scan(append([]any{&d.ID, &d.Name, &d.Kind, &d.BaseURL, &created, &offset, &frozen}, more...)...)
	d.Created = database.Instant(created)
	d.Clock = passerelle.Clock{Offset: time.Duration(offset) * time.Microsecond, Frozen: database.OptionalInstant(frozen)}
	return d, err
}

// Domains lists every domain, oldest first.
func (r *Reader) Domains(ctx context.Context) ([]passerelle.Domain, error) {
	return database.Collect(ctx, r.rows, scanDomain, `SELECT `+domainColumns+` FROM domain ORDER BY id`)
}

// Domain loads a domain by id. It fails with ErrNotFound when the domain does not exist.
func (r *Reader) Domain(ctx context.Context, id passerelle.DomainID) (passerelle.Domain, error) {
	return database.One(ctx, r.rows, scanDomain, `SELECT `+domainColumns+` FROM domain WHERE id = $1`, int64(id))
}

// DomainByName loads a domain by its name. It fails with ErrNotFound when no domain has the name.
func (r *Reader) DomainByName(ctx context.Context, name string) (passerelle.Domain, error) {
	return database.One(ctx, r.rows, scanDomain, `SELECT `+domainColumns+` FROM domain WHERE name = $1`, name)
}

// CreateDomain stores a domain with the host of its base URL, and sets its id. Write fails with
// ErrDuplicate when the name or the host is in use.
func (tx *Tx) CreateDomain(d *passerelle.Domain, host string) error {
	id, err := tx.unit.NewID("domain")
	if err != nil {
		return err
	}
	d.ID = passerelle.DomainID(id)
	tx.unit.ExecOne(ErrConflict, `INSERT INTO domain (id, name, kind, host, base_url, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, d.Name, string(d.Kind), host, d.BaseURL, database.Micros(d.Created))
	return nil
}

// MoveDomain gives a domain a different base URL.
func (tx *Tx) MoveDomain(id passerelle.DomainID, host, baseURL string) {
	tx.unit.ExecOne(ErrNotFound, `UPDATE domain SET host = $1, base_url = $2 WHERE id = $3`, host, baseURL, int64(id))
}

// SetClock sets a sandbox domain's clock. Write fails with ErrConflict when `from` is not the
// stored clock, or when the domain is live.
func (tx *Tx) SetClock(id passerelle.DomainID, from, to passerelle.Clock) {
	tx.unit.ExecOne(ErrConflict, `UPDATE domain SET clock_offset = $1, clock_frozen = $2
		WHERE id = $3 AND kind = 'sandbox' AND clock_offset = $4 AND clock_frozen IS NOT DISTINCT FROM CAST($5 AS BIGINT)`,
		to.Offset.Microseconds(), database.OptionalMicros(to.Frozen), int64(id), from.Offset.Microseconds(), database.OptionalMicros(from.Frozen))
}
