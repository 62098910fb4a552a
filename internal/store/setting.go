package store

import (
	"context"
	"time"

	"passerelle"
)

// Settings loads the configuration keys that a domain has set.
func (r *Reader) Settings(ctx context.Context, domain passerelle.DomainID) (map[string]string, error) {
	pairs, err := collect(ctx, r, func(row scanner) ([2]string, error) {
		var pair [2]string
		err := row.Scan(&pair[0], &pair[1])
		return pair, err
	}, `SELECT key, value FROM setting WHERE domain_id = $1`, int64(domain))
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		values[pair[0]] = pair[1]
	}
	return values, nil
}

// SetSetting stores a configuration value.
func (tx *Tx) SetSetting(domain passerelle.DomainID, key, value string, now time.Time) {
	tx.exec(`INSERT INTO setting (domain_id, key, value, updated) VALUES ($1, $2, $3, $4)
		ON CONFLICT (domain_id, key) DO UPDATE SET value = excluded.value, updated = excluded.updated`,
		int64(domain), key, value, micros(now))
}

// DeleteSetting returns a key to its default.
func (tx *Tx) DeleteSetting(domain passerelle.DomainID, key string) {
	tx.exec(`DELETE FROM setting WHERE domain_id = $1 AND key = $2`, int64(domain), key)
}
