package store

import (
	"context"
	"slices"

	"passerelle"
	"passerelle/internal/database"
)

// Addressee is a webhook with its domain and its authentication provider.
type Addressee struct {
	Webhook
	Served ServedDomain
	// Provider is nil when the webhook has no provider, or when its provider was deleted.
	Provider *AuthProvider
}

// addressees selects one row for each setting of the webhook's domain, or a single row when the
// domain has no settings.
var addressees = `SELECT ` + servedDomainColumns + `, ` + qualified("w", webhookColumns) + `, ` + qualified("a", authColumns) + `
	FROM webhook w JOIN domain d ON d.id = w.domain_id LEFT JOIN setting s ON s.domain_id = d.id
	LEFT JOIN auth_provider a ON a.domain_id = w.domain_id AND a.id = w.auth_id AND a.deleted IS NULL
	WHERE w.domain_id = $1 AND w.id = $2`

// Addressee loads the addressee of a webhook, even if the webhook is deleted. It fails with
// ErrNotFound when the webhook does not exist.
func (r *Reader) Addressee(ctx context.Context, domain passerelle.DomainID, id passerelle.WebhookID) (Addressee, error) {
	var (
		found    = Addressee{Served: ServedDomain{Settings: map[string]string{}}}
		provider authRow
	)
	err := r.rows.Each(ctx, addressees, []any{int64(domain), int64(id)}, func(row database.Row) (bool, error) {
		return true, found.Served.scan(scan(func(served ...any) error {
			var err error
			found.Webhook, err = scanWebhook(scan(func(webhook ...any) error {
				return row.Scan(slices.Concat(served, webhook, provider.columns())...)
			}))
			return err
		}))
	})
	if err == nil && found.ID == 0 {
		err = ErrNotFound
	}
	if err == nil && provider.id != nil {
		found.Provider = new(AuthProvider)
		*found.Provider, err = provider.open(r.keys)
	}
	return found, err
}

// scan implements the Scan method for a row that has more columns than its caller expects.
type scan func(dest ...any) error

// Scan reads the columns that the caller expects.
func (s scan) Scan(dest ...any) error { return s(dest...) }
