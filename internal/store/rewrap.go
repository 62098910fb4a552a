package store

import (
	"bytes"
	"context"
	"fmt"

	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// sealedColumn is a column of sealed values. key is the column that identifies the row. A value can
// be decrypted only with the name of the column for which it was encrypted. If this is another
// column, the field `column` contains its name.
type sealedColumn struct {
	table, name, key string
	column           string
	// everywhere is set when the rows of the table belong to no domain.
	everywhere bool
}

// sealedColumns lists all encrypted columns. Rewrap does not reach a column that is missing here.
// The values of that column are lost with their master key.
var sealedColumns = []sealedColumn{
	{table: "key_check", name: "sealed", key: "only_row", everywhere: true},
	{table: "connector_program", name: "secret", key: "id", everywhere: true},
	{table: "operator", name: "totp", key: "id", everywhere: true},
	{table: "operator", name: "totp_proposed", key: "id", everywhere: true},
	{table: "auth_provider", name: "secret", key: "id"},
	{table: "auth_provider", name: "next_secret", key: "id", column: "secret"},
	{table: "auth_provider", name: "config", key: "id"},
	{table: "client", name: "private_key", key: "id"},
	{table: "field_key", name: "private", key: "id"},
	{table: "sign_key", name: "private", key: "id"},
	{table: "user_token", name: "sealed", key: "token_id"},
	{table: "connection", name: "credentials", key: "id"},
	{table: "connection", name: "memory", key: "id"},
	{table: "payment_identity", name: "sensitive", key: "id"},
	{table: "payment_given", name: "fields", key: "payment_id"},
	{table: "payment_evidence", name: "shown", key: "id"},
	{table: "attempt", name: "fields", key: "id"},
	{table: "attempt", name: "memory", key: "id"},
	{table: "attempt", name: "device", key: "id"},
	{table: "attempt", name: "callback", key: "id"},
	{table: "idempotency", name: "answer", key: "id"},
	{table: "stored_file", name: "sealed_key", key: "id"},
	{table: "payment", name: "payer_number", key: "id"},
	{table: "payment", name: "beneficiary_numbers", key: "id"},
}

func (c sealedColumn) place(domain, row int64) keys.Place {
	p := keys.Place{Domain: domain, Table: c.table, Column: c.name, Row: row}
	if c.column != "" {
		p.Column = c.column
	}
	return p
}

// page returns the query for the values after the row $1.
func (c sealedColumn) page() string {
	domain := "domain_id"
	if c.everywhere {
		domain = "0"
	}
	return `SELECT ` + c.key + `, ` + domain + `, ` + c.name + ` FROM ` + c.table + `
		WHERE ` + c.key + ` > $1 AND ` + c.name + ` IS NOT NULL ORDER BY ` + c.key + ` LIMIT $2`
}

type sealedValue struct {
	row, domain int64
	value       []byte
}

// Rewrap encrypts the data key of every sealed value with the current master key. The argument
// `batch` limits the values in one unit. Other processes can work at the same time. The data keys
// and ciphertexts do not change. Rewrap returns the number of values that it read and the number of
// values that had an older key. Every process on this database must already have the current key,
// because it could not decrypt rewrapped values without the key. Rewrap fails at a value that it
// cannot decrypt. The values of earlier units stay rewrapped.
func (db *DB) Rewrap(ctx context.Context, batch int, progress func(seen int64)) (int64, int64, error) {
	var (
		seen      int64
		rewrapped int64
	)
	for _, column := range sealedColumns {
		for after := int64(0); ; {
			values, err := database.Collect(ctx, db.rows, scanSealed, column.page(), after, batch)
			if err != nil {
				return seen, rewrapped, fmt.Errorf("read the encrypted values in %s.%s: %w", column.table, column.name, err)
			}
			if len(values) == 0 {
				break
			}
			changed, err := db.rewrapPage(ctx, column, values)
			if err != nil {
				return seen, rewrapped, err
			}
			seen, rewrapped, after = seen+int64(len(values)), rewrapped+changed, values[len(values)-1].row
			progress(seen)
		}
	}
	return seen, rewrapped, nil
}

// CountSealed counts the values that Rewrap reads. It reads whole tables.
func (r *Reader) CountSealed(ctx context.Context) (int64, error) {
	var all int64
	for _, c := range sealedColumns {
		err := r.rows.EachWhole(ctx, `SELECT count(*) FROM `+c.table+` WHERE `+c.name+` IS NOT NULL`, nil, func(row database.Row) (bool, error) {
			n, err := database.ScanInt(row)
			all += n
			return false, err
		})
		if err != nil {
			return all, fmt.Errorf("count the encrypted values in %s.%s: %w", c.table, c.name, err)
		}
	}
	return all, nil
}

// rewrapPage rewraps the values of a page. It skips values that were encrypted again after they
// were read.
func (db *DB) rewrapPage(ctx context.Context, column sealedColumn, values []sealedValue) (int64, error) {
	var changed int64
	err := db.Write(ctx, func(tx *Tx) error {
		for _, v := range values {
			if len(v.value) == 0 {
				continue
			}
			fresh, err := tx.keys.Rewrap(column.place(v.domain, v.row), v.value)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrSealed, err)
			}
			if bytes.Equal(fresh, v.value) {
				continue
			}
			changed++
			tx.awaitSeals(column.table)
			tx.unit.Exec(`UPDATE `+column.table+` SET `+column.name+` = $1 WHERE `+column.key+` = $2 AND `+column.name+` = $3`, fresh, v.row, v.value)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("encrypt the values in %s.%s with the current key: %w", column.table, column.name, err)
	}
	return changed, nil
}

// Before the value in key_check changes, awaitSeals waits for running units that have encrypted a
// value with the old key. Otherwise Rewrap would miss values that these units store later.
func (tx *Tx) awaitSeals(table string) {
	if alone := tx.db.rows.Dialect().Alone; alone != "" && table == keyCheckPlace.Table {
		tx.unit.Exec(alone + table)
	}
}

func scanSealed(row database.Row) (sealedValue, error) {
	var v sealedValue
	err := row.Scan(&v.row, &v.domain, &v.value)
	return v, err
}
