package store_test

import (
	"slices"
	"testing"

	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store/storetest"
)

// TestMigrationGivesWebhooksToTheirClients migrates webhooks with and without a client. A webhook
// without a client must get the only client of its domain, unless another client was deleted after
// the webhook's registration. A webhook of a deleted client must lose the client.
func TestMigrationGivesWebhooksToTheirClients(t *testing.T) {
	const before = 56
	storetest.EachEmpty(t, func(t *testing.T, url string) {
		run, renew := outdated(t, url, before, keys.Generate())
		deletedAt := func(at int64) *int64 { return &at }
		for _, d := range []struct {
			name    string
			id      int64
			deleted []*int64 // when each client was deleted
		}{
			{"one", 1, []*int64{nil}},
			{"none", 2, nil},
			{"two", 3, []*int64{nil, nil}},
			{"replaced", 4, []*int64{deletedAt(200), nil}},
			{"replaced-before", 5, []*int64{deletedAt(50), nil}},
		} {
			run(`INSERT INTO domain (id, name, kind, base_url, host, created) VALUES ($1, $2, 'sandbox', 'https://' || $2 || '.example/2.0', $2 || '.example', 0)`, d.id, d.name)
			for i, deleted := range d.deleted {
				run(`INSERT INTO client (id, domain_id, name, secret_hash, redirect_uris, created, deleted) VALUES ($1, $2, 'shop', $3, '[]', 0, $4)`,
					10*d.id+int64(i), d.id, []byte{1}, deleted)
			}
			run(`INSERT INTO webhook (id, domain_id, event, url, created) VALUES ($1, $1, 'USER_CREATED', 'https://client.example/', 100)`, d.id)
		}
		run(`INSERT INTO webhook (id, domain_id, client_id, event, url, created) VALUES (6, 4, 40, 'USER_CREATED', 'https://client.example/', 100)`)
		run(`INSERT INTO webhook (id, domain_id, client_id, event, url, created) VALUES (7, 3, 31, 'USER_CREATED', 'https://client.example/', 100)`)
		got, err := database.Collect(t.Context(), renew().Rows(), database.ScanInt, `SELECT COALESCE(client_id, 0) FROM webhook ORDER BY id`)
		if want := []int64{10, 0, 0, 0, 51, 0, 31}; err != nil || !slices.Equal(got, want) {
			t.Errorf("the webhooks belong to %d, %v; want %d", got, err, want)
		}
	})
}
