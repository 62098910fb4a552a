package store

import (
	"context"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// SettingExists reports whether any domain has set a key to a value that is not empty.
func (r *Reader) SettingExists(ctx context.Context, key string) (bool, error) {
	exists, err := database.One(ctx, r.rows, database.ScanInt, `SELECT CASE WHEN EXISTS (SELECT 1 FROM setting WHERE key = $1 AND value <> '') THEN 1 ELSE 0 END`, key)
	return exists == 1, err
}

// Settings returns the values of the configuration keys that a domain has set.
func (r *Reader) Settings(ctx context.Context, domain passerelle.DomainID) (map[string]string, error) {
	pairs, err := database.Collect(ctx, r.rows, func(row database.Row) ([2]string, error) {
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

// Setting is a value that a domain has set for a configuration key.
type Setting struct {
	Value string
	// By is the actor who set the value, empty when unknown.
	By string
	At time.Time
}

// SettingRecords returns the same settings as Settings, each with the actor and time of its last
// change.
func (r *Reader) SettingRecords(ctx context.Context, domain passerelle.DomainID) (map[string]Setting, error) {
	type named struct {
		key string
		Setting
	}
	all, err := database.Collect(ctx, r.rows, func(row database.Row) (named, error) {
		var (
			one named
			at  int64
		)
		err := row.Scan(&one.key, &one.Value, &one.By, &at)
		one.At = database.Instant(at)
		return one, err
	}, `SELECT key, value, changed_by, updated FROM setting WHERE domain_id = $1`, int64(domain))
	records := make(map[string]Setting, len(all))
	for _, one := range all {
		records[one.key] = one.Setting
	}
	return records, err
}

// HoldSettings locks the settings of a domain until the unit ends. Without the lock, the previous
// value in a record could differ from the new value in the preceding record.
func (tx *Tx) HoldSettings(domain passerelle.DomainID) {
	tx.unit.Exec(`UPDATE domain SET created = created WHERE id = $1`, int64(domain))
}

// SetSetting stores a configuration value, and records the change with its actor and the
// previous value. It records nothing when the value stays the same.
func (tx *Tx) SetSetting(domain passerelle.DomainID, key, value, by string, now time.Time) {
	tx.unit.Exec(`INSERT INTO setting_change (domain_id, key, previous_value, new_value, type, changed_by, at)
		SELECT CAST($1 AS BIGINT), CAST($2 AS TEXT), previous.value, CAST($3 AS TEXT), CASE WHEN previous.value IS NULL THEN 'add' ELSE 'update' END,
			CAST($4 AS TEXT), CAST($5 AS BIGINT)
		FROM (SELECT MAX(value) AS value FROM setting WHERE domain_id = $1 AND key = $2) AS previous
		WHERE previous.value IS NULL OR previous.value <> $3`,
		int64(domain), key, value, by, database.Micros(now))
	tx.unit.Exec(`INSERT INTO setting (domain_id, key, value, changed_by, updated) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (domain_id, key) DO UPDATE SET value = excluded.value, changed_by = excluded.changed_by, updated = excluded.updated
		WHERE setting.value <> excluded.value`,
		int64(domain), key, value, by, database.Micros(now))
}

// DeleteSetting resets a key to its default, and records the change with its actor. It does nothing
// when the domain has not set the key.
func (tx *Tx) DeleteSetting(domain passerelle.DomainID, key, by string, now time.Time) {
	tx.unit.Exec(`INSERT INTO setting_change (domain_id, key, previous_value, type, changed_by, at)
		SELECT domain_id, key, value, 'delete', CAST($1 AS TEXT), CAST($2 AS BIGINT) FROM setting WHERE domain_id = $3 AND key = $4`,
		by, database.Micros(now), int64(domain), key)
	tx.unit.Exec(`DELETE FROM setting WHERE domain_id = $1 AND key = $2`, int64(domain), key)
}

// SettingChange is one change of a configuration value. Previous is nil when the key was not set
// before the change. New is nil when the key is not set after the change.
type SettingChange struct {
	ID            int64
	Key           string
	Previous, New *string
	Type          string // "add", "update" or "delete"
	By            string
	At            time.Time
}

// SettingChanges selects changes of one domain. Domain is required. Any other field with its zero
// value does not filter.
type SettingChanges struct {
	Domain passerelle.DomainID
	// Key is the exact key, empty for all.
	Key string
	// A change is selected when its key contains the text Name or is one of Keys. An empty Name
	// selects all keys.
	Name string
	Keys []string
	Type string
	// From is inclusive, Until exclusive.
	From, Until time.Time
}

func (f SettingChanges) selection() database.Selection {
	s := database.Selection{From: "setting_change", Where: []string{"domain_id = $1"}, Args: []any{int64(f.Domain)}}
	if f.Key != "" {
		s = s.And("key = $%d", f.Key)
	}
	s = s.During("at", f.From, f.Until)
	if f.Type != "" {
		s = s.And("type = $%d", f.Type)
	}
	if f.Name != "" {
		s = s.Either("key LIKE $%d ESCAPE '!'", database.Containing(strings.ToLower(f.Name)), "key", f.Keys)
	}
	return s
}

// SettingChanges reads a window of the recorded changes, the newest first. A position consists of
// an instant and an id.
func (r *Reader) SettingChanges(ctx context.Context, f SettingChanges, w Window) ([]SettingChange, error) {
	sql, args := f.selection().Newest(`id, key, previous_value, new_value, type, changed_by, at`, "at", "id", w)
	return database.Collect(ctx, r.rows, scanSettingChange, sql, args...)
}

// CountSettingChanges returns the exact number of changes that a filter selects.
func (r *Reader) CountSettingChanges(ctx context.Context, f SettingChanges) (int64, error) {
	return f.selection().Count(ctx, r.rows)
}

func scanSettingChange(row database.Row) (SettingChange, error) {
	var (
		c  SettingChange
		at int64
	)
	err := row.Scan(&c.ID, &c.Key, &c.Previous, &c.New, &c.Type, &c.By, &at)
	c.At = database.Instant(at)
	return c, err
}

// Place returns the position of a change in the list.
func (c SettingChange) Place() []any { return []any{database.Micros(c.At), c.ID} }
