package bankstore

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// ConsentTimes returns the time at which the user agreed to share each account of a connection. It
// leaves out accounts that are not shared now.
func (r Reader) ConsentTimes(ctx context.Context, domain passerelle.DomainID, connection passerelle.ConnectionID) (map[passerelle.AccountID]time.Time, error) {
	type consent struct {
		account passerelle.AccountID
		granted int64
	}
	all, err := database.Collect(ctx, r.rows, func(row database.Row) (consent, error) {
		var c consent
		err := row.Scan(&c.account, &c.granted)
		return c, err
	},
		`SELECT account_id, max(given) FROM consent WHERE +domain_id = $1 AND connection_id = $2 AND account_id IS NOT NULL AND withdrawn IS NULL GROUP BY account_id`,
		int64(domain), int64(connection))
	granted := map[passerelle.AccountID]time.Time{}
	for _, c := range all {
		granted[c.account] = database.Instant(c.granted)
	}
	return granted, err
}
