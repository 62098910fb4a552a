package store

import (
	"context"

	"passerelle"
)

// Tenant is a domain as every request needs it, and whoever sends, all of one moment: what it has
// set besides, and whether the interface is closed for all domains.
type Tenant struct {
	passerelle.Domain
	Settings map[string]string
	Closed   bool
}

// tenants reads a row for each key that a domain has set, and one when it has
// set none.
const tenants = `SELECT ` + tenantColumns + ` FROM domain d LEFT JOIN setting s ON s.domain_id = d.id WHERE `

const tenantColumns = `d.id, d.name, d.kind, d.base_url, d.created, d.clock_offset, d.clock_frozen,
		CASE WHEN EXISTS (SELECT 1 FROM maintenance WHERE only_row = 1) THEN TRUE ELSE FALSE END, s.key, s.value`

// TenantByHost loads the domain whose base URL has the host (with its port, as
// a Host header carries it), or ErrNotFound.
func (r *Reader) TenantByHost(ctx context.Context, host string) (Tenant, error) {
	return r.tenant(ctx, `d.host = $1`, host)
}

// FirstTenant loads the oldest domain, or ErrNotFound.
func (r *Reader) FirstTenant(ctx context.Context) (Tenant, error) {
	return r.tenant(ctx, `d.id = (SELECT MIN(id) FROM domain)`)
}

func (r *Reader) tenant(ctx context.Context, which string, args ...any) (Tenant, error) {
	found := Tenant{Settings: map[string]string{}}
	err := r.each(ctx, tenants+which, args, func(row scanner) (bool, error) {
		return true, found.scan(row)
	})
	if err == nil && found.ID == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Tenant{}, err
	}
	return found, nil
}

func (t *Tenant) scan(row scanner) error {
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
