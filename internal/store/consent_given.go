package store

import (
	"context"
	"time"

	"passerelle"
)

// ConsentsGiven tells when the person agreed to share the accounts of a
// connection that are shared now.
func (r *Reader) ConsentsGiven(ctx context.Context, domain passerelle.DomainID, connection passerelle.ConnectionID) (map[passerelle.AccountID]time.Time, error) {
	type consent struct {
		account passerelle.AccountID
		given   int64
	}
	all, err := collect(ctx, r, func(row scanner) (consent, error) {
		var c consent
		err := row.Scan(&c.account, &c.given)
		return c, err
	},
		`SELECT account_id, max(given) FROM consent WHERE +domain_id = $1 AND connection_id = $2 AND account_id IS NOT NULL AND withdrawn IS NULL GROUP BY account_id`,
		int64(domain), int64(connection))
	given := map[passerelle.AccountID]time.Time{}
	for _, c := range all {
		given[c.account] = instant(c.given)
	}
	return given, err
}
