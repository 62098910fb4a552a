package store

import (
	"context"

	"passerelle"
	"passerelle/internal/database"
)

// UserSettings loads the settings of a user, by key.
func (r *Reader) UserSettings(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID) (map[string]string, error) {
	values := map[string]string{}
	err := r.rows.Each(ctx, `SELECT key, value FROM user_setting WHERE user_id = $1 AND +domain_id = $2`, []any{int64(user), int64(domain)}, func(row database.Row) (bool, error) {
		var key, value string
		err := row.Scan(&key, &value)
		values[key] = value
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return values, nil
}

// SetUserSetting stores a setting of a user. The caller must call HoldUser in the same unit.
func (tx *Tx) SetUserSetting(domain passerelle.DomainID, user passerelle.UserID, key, value string) {
	tx.unit.Exec(`INSERT INTO user_setting (user_id, key, value, domain_id) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, key) DO UPDATE SET value = excluded.value`, int64(user), key, value, int64(domain))
}

// LimitUserSettings limits the number of a user's settings. Write fails with the error `beyond`
// when the number exceeds the argument `most`. The caller must call HoldUser in the same unit, so
// that no other unit adds settings at the same time.
func (tx *Tx) LimitUserSettings(user passerelle.UserID, most int, beyond error) {
	tx.unit.ExecOne(beyond, `UPDATE end_user SET version = version WHERE id = $1 AND (SELECT count(*) FROM user_setting WHERE user_id = $1) <= $2`, int64(user), most)
}

// DeleteUserSetting deletes a setting. It also succeeds when the setting does not exist.
func (tx *Tx) DeleteUserSetting(domain passerelle.DomainID, user passerelle.UserID, key string) {
	tx.unit.Exec(`DELETE FROM user_setting WHERE user_id = $1 AND +domain_id = $2 AND key = $3`, int64(user), int64(domain), key)
}
