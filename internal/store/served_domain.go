package store

import (
	"context"

	"passerelle"
	"passerelle/internal/database"
)

// ServedDomain is a domain with the data that each request and each webhook sender needs: its
// settings, and whether the API is closed for all domains.
type ServedDomain struct {
	passerelle.Domain
	Settings map[string]string
	Closed   bool
}

// servedDomains selects one row for each setting of a domain, or a single row when the domain has
// no settings.
const servedDomains = `SELECT ` + servedDomainColumns + ` FROM domain d LEFT JOIN setting s ON s.domain_id = d.id WHERE `

const servedDomainColumns = `d.id, d.name, d.kind, d.base_url, d.created, d.clock_offset, d.clock_frozen,
		CASE WHEN EXISTS (SELECT 1 FROM maintenance WHERE only_row = 1) THEN TRUE ELSE FALSE END, s.key, s.value`

// ServedDomainByHost loads the domain whose base URL has the host. The host includes the port, like
// a Host header. ServedDomainByHost fails with ErrNotFound when no domain has the host.
func (r *Reader) ServedDomainByHost(ctx context.Context, host string) (ServedDomain, error) {
	return r.servedDomain(ctx, `d.host = $1`, host)
}

// FirstServedDomain loads the oldest domain. It fails with ErrNotFound when the database has no
// domain.
func (r *Reader) FirstServedDomain(ctx context.Context) (ServedDomain, error) {
	return r.servedDomain(ctx, `d.id = (SELECT MIN(id) FROM domain)`)
}

func (r *Reader) servedDomain(ctx context.Context, which string, args ...any) (ServedDomain, error) {
	found := ServedDomain{Settings: map[string]string{}}
	err := r.rows.EachByKey(ctx, servedDomains+which, args, func(row database.Row) (bool, error) {
		return true, found.scan(row)
	})
	if err == nil && found.ID == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return ServedDomain{}, err
	}
	return found, nil
}

func (t *ServedDomain) scan(row database.Row) error {
	var key, value *string
	d, err := scanDomainAnd(row, &t.Closed, &key, &value)
	if err != nil {
		return err
	}
	t.Domain = d
	if key != nil {
		t.Settings[*key] = *value
	}
	return nil
}
