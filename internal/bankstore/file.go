package bankstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
)

// StoredFile is a file. The blob store contains its bytes under its id.
type StoredFile struct {
	ID   passerelle.FileID
	User passerelle.UserID
	// Connector is the connector that fetches the file. It is empty for an uploaded file.
	Connector string
	MediaType string
	// Size is zero until the content is stored. Stored is the time at which the content was stored.
	Size    int64
	Created time.Time
	Stored  *time.Time
	// due is the time at which an unused upload expires.
	due int64
}

const fileColumns = `f.id, f.user_id, f.connector, f.media_type, f.size, f.created, f.stored`

func scanFile(row database.Row) (StoredFile, error) {
	var (
		f         StoredFile
		connector *string
		created   int64
		stored    *int64
	)
	err := row.Scan(&f.ID, &f.User, &connector, &f.MediaType, &f.Size, &created, &stored)
	f.Connector, f.Created, f.Stored = database.Text[string](connector), database.Instant(created), database.OptionalInstant(stored)
	return f, err
}

// held is the condition for files of documents and transactions that are not withdrawn.
const held = `f.due IS NULL AND (EXISTS (SELECT 1 FROM document d JOIN subscription s ON s.id = d.subscription_id AND s.epoch = d.epoch WHERE d.file_id = f.id)
	OR EXISTS (SELECT 1 FROM attachment x JOIN bank_account a ON a.id = x.account_id AND a.epoch = x.epoch WHERE x.file_id = f.id))`

// File loads a user's file. It fails with ErrNotFound when the user has no such file. It treats a
// withdrawn file, and a file to which no row refers, as missing.
func (r Reader) File(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, id passerelle.FileID) (StoredFile, error) {
	return database.One(ctx, r.rows, scanFile, `SELECT `+fileColumns+` FROM stored_file f WHERE +f.domain_id = $1 AND +f.user_id = $2 AND f.id = $3 AND `+held,
		int64(domain), int64(user), int64(id))
}

// Files lists a user's files whose content is stored, ordered by id. The list has at most limit
// files. Their ids are greater than the argument after.
func (r Reader) Files(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, after passerelle.FileID, limit int) ([]StoredFile, error) {
	return database.Collect(ctx, r.rows, scanFile, `SELECT `+fileColumns+` FROM stored_file f
		WHERE f.domain_id = $1 AND f.user_id = $2 AND f.id > $3 AND f.stored IS NOT NULL AND `+held+` ORDER BY f.id LIMIT $4`,
		int64(domain), int64(user), int64(after), limit)
}

// WithoutRow returns those of the files that have no row in the database. This happens only after
// the restore of a backup that is older than the files.
func (r Reader) WithoutRow(ctx context.Context, files []passerelle.FileID) ([]passerelle.FileID, error) {
	var c database.Clauses
	known := map[passerelle.FileID]bool{}
	err := r.rows.Each(ctx, `SELECT id FROM stored_file WHERE id IN (`+database.AnyOf(&c, files)+`)`, c.Args, func(row database.Row) (bool, error) {
		var id passerelle.FileID
		err := row.Scan(&id)
		known[id] = true
		return true, err
	})
	return slices.DeleteFunc(slices.Clone(files), func(id passerelle.FileID) bool { return known[id] }), err
}

// fileKeySize is the length of a file's key in bytes, for AES-256.
const fileKeySize = 32

func fileKeyPlace(domain passerelle.DomainID, id int64) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "stored_file", Column: "sealed_key", Row: id}
}

// sealFileKey creates the key of a file and returns it encrypted. A file keeps its key, even if its
// content changes.
func (tx Tx) sealFileKey(domain passerelle.DomainID, id int64) ([]byte, error) {
	key := make([]byte, fileKeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make the key of a file: %w", err)
	}
	sealed, err := tx.units.Seal(fileKeyPlace(domain, id), key)
	if err != nil {
		return nil, fmt.Errorf("seal the key of a file: %w", err)
	}
	return sealed, nil
}

// FileKey returns the key with which the bytes of a file are encrypted. It returns nil for a file
// that was stored before files had keys. It fails with ErrNotFound when the file is unknown, and
// with ErrSealed when the key cannot be decrypted.
func (r Reader) FileKey(ctx context.Context, id passerelle.FileID) ([]byte, error) {
	_, key, err := r.fileKey(ctx, id)
	return key, err
}

func (r Reader) fileKey(ctx context.Context, id passerelle.FileID) (passerelle.DomainID, []byte, error) {
	var domain passerelle.DomainID
	sealed, err := database.One(ctx, r.rows, func(row database.Row) ([]byte, error) {
		var sealed []byte
		err := row.Scan(&domain, &sealed)
		return sealed, err
	}, `SELECT domain_id, sealed_key FROM stored_file WHERE id = $1`, int64(id))
	if err != nil || sealed == nil {
		return domain, nil, err
	}
	key, err := r.source.Unseal(fileKeyPlace(domain, int64(id)), sealed)
	if err != nil {
		return domain, nil, fmt.Errorf("%w: %w", store.ErrSealed, err)
	}
	return domain, key, nil
}

// SealingKey returns the key with which new bytes of a file must be encrypted. Earlier versions
// created some files without a key. Such a file gets a key here, unless it already has content.
// SealingKey fails with ErrConflict for a file that has content and no key, because a new key would
// make that content unreadable. The other errors are those of FileKey.
func SealingKey(ctx context.Context, db *store.DB, id passerelle.FileID) ([]byte, error) {
	domain, key, err := From(db).fileKey(ctx, id)
	if err != nil || key != nil {
		return key, err
	}
	err = write(ctx, db, func(tx Tx) error {
		sealed, err := tx.sealFileKey(domain, int64(id))
		tx.unit.ExecOne(store.ErrConflict, `UPDATE stored_file SET sealed_key = $1 WHERE +domain_id = $2 AND id = $3 AND sealed_key IS NULL AND stored IS NULL`, sealed, int64(domain), int64(id))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("give file %d a key: %w", id, err)
	}
	return From(db).FileKey(ctx, id)
}

// expectFile creates a file that is due for a fetch from the institution of a connection, and
// returns the file's id. It stores nothing unless the condition holds. The parameters of the
// condition begin with $1.
func (tx Tx) expectFile(domain passerelle.DomainID, user passerelle.UserID, from passerelle.ConnectionID, mediaType string, at time.Time, condition string, args ...any) (passerelle.FileID, error) {
	id, err := tx.unit.NewID("stored_file")
	if err != nil {
		return 0, err
	}
	key, err := tx.sealFileKey(domain, id)
	if err != nil {
		return 0, err
	}
	s := database.Selection{Args: args}
	tx.unit.Exec(fmt.Sprintf(`INSERT INTO stored_file (id, domain_id, user_id, connector, media_type, size, created, next_fetch, sealed_key)
		SELECT CAST(%s AS BIGINT), CAST(%s AS BIGINT), CAST(%s AS BIGINT), (SELECT connector_uuid FROM connection WHERE id = %s), CAST(%s AS TEXT), 0, CAST(%s AS BIGINT), 0, CAST(%s AS {bytes})
		WHERE %s`, s.Bind(id), s.Bind(int64(domain)), s.Bind(int64(user)), s.Bind(int64(from)), s.Bind(mediaType), s.Bind(database.Micros(at)), s.Bind(key), condition), s.Args...)
	return passerelle.FileID(id), nil
}

// BeginUpload records that an upload of the file's bytes follows. The file is removed if no
// document refers to it before the upload expires.
func (tx Tx) BeginUpload(domain passerelle.DomainID, f *StoredFile, allowed time.Duration) error {
	id, err := tx.unit.NewID("stored_file")
	if err != nil {
		return err
	}
	key, err := tx.sealFileKey(domain, id)
	if err != nil {
		return err
	}
	f.ID = passerelle.FileID(id)
	tx.unit.Returning(func(row database.Row) error { return row.Scan(&f.due) },
		`INSERT INTO stored_file (id, domain_id, user_id, media_type, size, created, uploaded, due, sealed_key) VALUES ($1, $2, $3, $4, 0, $5, TRUE, {now} + $6, $7) RETURNING due`,
		id, int64(domain), int64(f.User), f.MediaType, database.Micros(f.Created), allowed.Microseconds(), key)
	return nil
}

// replaceFile replaces the file of a document with an uploaded file. The same unit must store the
// id of the new file in the document. Write fails with ErrConflict when the upload has expired. It
// also fails with ErrConflict when a process has begun to remove the file and has therefore changed
// the expiry.
func (tx Tx) replaceFile(domain passerelle.DomainID, user passerelle.UserID, document passerelle.DocumentID, f StoredFile) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE stored_file SET size = $1, stored = $2, due = NULL WHERE +domain_id = $3 AND +user_id = $4 AND id = $5 AND due = $6 AND due > {now}`,
		f.Size, database.OptionalMicros(f.Stored), int64(domain), int64(user), int64(f.ID), f.due)
	const had = `(SELECT d.file_id FROM document d WHERE +d.domain_id = $1 AND +d.user_id = $2 AND d.id = $3)`
	tx.unit.Exec(`UPDATE stored_file SET `+store.ForgottenFile+` WHERE id = `+had+` AND due IS NULL`, int64(domain), int64(user), int64(document))
}

// LeasedFile is a file that the holder of its lease is fetching.
type LeasedFile struct {
	ID       passerelle.FileID
	Failures int64
	Until    int64
}

func (tx Tx) leaseFiles(into *[]LeasedFile, sql string, args ...any) {
	tx.unit.OnRetry(func() { *into = nil })
	tx.unit.Returning(func(row database.Row) error {
		var f LeasedFile
		if err := row.Scan(&f.ID, &f.Failures, &f.Until); err != nil {
			return err
		}
		*into = append(*into, f)
		return nil
	}, sql, args...)
}

// ClaimFiles leases at most limit files of a domain that are due for a fetch from a connector.
func (tx Tx) ClaimFiles(domain passerelle.DomainID, connector string, lease time.Duration, limit int, into *[]LeasedFile) {
	tx.leaseFiles(into, `WITH wanted AS MATERIALIZED (
			SELECT id FROM stored_file WHERE connector = $1 AND domain_id = $2 AND next_fetch <= {now} AND lease_until < {now} AND due IS NULL
			ORDER BY next_fetch, id`+database.UpTo(limit)+` {skip locked})
		UPDATE stored_file SET lease_until = {now} + $3
		WHERE id IN (SELECT id FROM wanted) AND lease_until < {now} AND due IS NULL
		RETURNING id, failures, lease_until`, connector, int64(domain), lease.Microseconds())
}

// ClaimFile leases a file that was never fetched, even before it is due. It does nothing while
// another process has the lease.
func (tx Tx) ClaimFile(domain passerelle.DomainID, id passerelle.FileID, lease time.Duration, into *[]LeasedFile) {
	tx.leaseFiles(into, `UPDATE stored_file SET lease_until = {now} + $1
		WHERE +domain_id = $2 AND id = $3 AND lease_until < {now} AND due IS NULL AND stored IS NULL RETURNING id, failures, lease_until`,
		lease.Microseconds(), int64(domain), int64(id))
}

// KeepFile ends a lease after the content was stored. Write fails with ErrConflict when another
// process has taken the lease, when the file has changed, or when no row refers to the file any
// more. A file to which no row refers is removed later.
func (tx Tx) KeepFile(domain passerelle.DomainID, l LeasedFile, mediaType string, size int64, at time.Time) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE stored_file SET stored = $1, size = $2, media_type = $3, next_fetch = NULL, failures = 0, lease_until = 0
		WHERE +domain_id = $4 AND id = $5 AND lease_until = $6 AND due IS NULL`, database.Micros(at), size, mediaType, int64(domain), int64(l.ID), l.Until)
}

// ReleaseFile ends a lease without any other change.
func (tx Tx) ReleaseFile(domain passerelle.DomainID, l LeasedFile) {
	tx.unit.Exec(`UPDATE stored_file SET lease_until = 0 WHERE +domain_id = $1 AND id = $2 AND lease_until = $3 AND due IS NULL`, int64(domain), int64(l.ID), l.Until)
}

// PostponeFile ends a lease after a failure. The file is fetched again after the duration in the
// argument wait. If wait is zero, the file is fetched only on request.
func (tx Tx) PostponeFile(domain passerelle.DomainID, l LeasedFile, wait time.Duration) {
	tx.unit.Exec(`UPDATE stored_file SET lease_until = 0, failures = failures + 1, next_fetch = CASE WHEN $1 = 0 THEN NULL ELSE {now} + $1 END
		WHERE +domain_id = $2 AND id = $3 AND lease_until = $4 AND due IS NULL`, wait.Microseconds(), int64(domain), int64(l.ID), l.Until)
}

// waiting marks a file that waits until a connection is read. The sum of this constant and the id
// of the connection is the next_fetch of the file. The sum is later than any instant, so the file
// is not due. One index lookup finds all files that wait for a connection.
const waiting = 1 << 62

// AwaitSync ends a lease without counting a failure. The file then waits for the next complete sync
// of the connection. The file does not wait if a sync has ended since the caller loaded the file's
// origin.
func (tx Tx) AwaitSync(domain passerelle.DomainID, l LeasedFile, seen FileOrigin) {
	const unread = `id = $1 AND +domain_id = $2 AND sync = $3`
	same := []any{int64(seen.Connection), int64(domain), seen.Sync}
	tx.unit.Exec(`UPDATE connection SET sync = sync WHERE `+unread, same...) // no sync can end before this unit is written
	tx.unit.Exec(`UPDATE stored_file SET lease_until = 0, next_fetch = CASE WHEN EXISTS (SELECT 1 FROM connection WHERE `+unread+`) THEN CAST($4 AS BIGINT) ELSE next_fetch END
		WHERE +domain_id = $2 AND id = $5 AND lease_until = $6 AND due IS NULL`, append(same, waiting+int64(seen.Connection), int64(l.ID), l.Until)...)
}

// ResumeFiles selects all files that wait until the connection is read, and makes them due.
func (tx Tx) ResumeFiles(c Connection) {
	tx.unit.Exec(`UPDATE stored_file SET next_fetch = 0 WHERE connector = $1 AND domain_id = $2 AND next_fetch = $3`, c.Connector, int64(c.Domain), waiting+int64(c.ID))
}

// FileOrigin is the origin of a file: a document of a subscription, or an attachment of a
// transaction. Name contains the names by which the institution identifies these objects.
type FileOrigin struct {
	User       passerelle.UserID
	Connection passerelle.ConnectionID
	// Sync is the number of the connection's last read when the origin was loaded.
	Sync int64
	// Gone is set when the last read did not list the document or transaction. A later read may
	// list it again.
	Gone bool
	Name struct{ Subscription, Document, Account, Transaction, Attachment string }
}

func scanOrigin(row database.Row) (FileOrigin, error) {
	var o FileOrigin
	err := row.Scan(&o.User, &o.Connection, &o.Sync, &o.Gone, &o.Name.Subscription, &o.Name.Document, &o.Name.Account, &o.Name.Transaction, &o.Name.Attachment)
	return o, err
}

// FileOrigin returns the origin of a file. It fails with ErrNotFound when the user no longer
// shares the file.
func (r Reader) FileOrigin(ctx context.Context, domain passerelle.DomainID, id passerelle.FileID) (FileOrigin, error) {
	return database.One(ctx, r.rows, scanOrigin, `SELECT c.user_id, c.id, c.sync, d.deleted IS NOT NULL OR s.deleted IS NOT NULL, s.key, d.key, '', '', '' FROM document d
			JOIN subscription s ON s.id = d.subscription_id AND s.epoch = d.epoch JOIN connection c ON c.id = s.connection_id
			WHERE d.domain_id = $1 AND d.file_id = $2 AND s.disabled IS NULL AND c.deleted IS NULL
		UNION ALL SELECT c.user_id, c.id, c.sync, t.deleted IS NOT NULL OR a.deleted IS NOT NULL, '', '', a.key, t.key, x.key FROM attachment x
			JOIN bank_transaction t ON t.id = x.transaction_id JOIN bank_account a ON a.id = x.account_id AND a.epoch = x.epoch JOIN connection c ON c.id = a.connection_id
			WHERE x.domain_id = $1 AND x.file_id = $2 AND a.disabled IS NULL AND c.deleted IS NULL`,
		int64(domain), int64(id))
}

// ClaimForgotten leases at most limit files to which no row refers. The caller then removes their
// content.
func (tx Tx) ClaimForgotten(lease time.Duration, limit int, into *[]int64) {
	tx.unit.ReturningIDs(into, `WITH over AS MATERIALIZED (
			SELECT id FROM stored_file f WHERE due < {now} AND NOT EXISTS (SELECT 1 FROM document d WHERE d.file_id = f.id) AND NOT EXISTS (SELECT 1 FROM attachment x WHERE x.file_id = f.id)
			ORDER BY due, id`+database.UpTo(limit)+` {skip locked})
		UPDATE stored_file SET due = {now} + $1 WHERE id IN (SELECT id FROM over) AND due < {now} RETURNING id`, lease.Microseconds())
}

// ReleaseForgotten ends leases of ClaimForgotten. The files are due at once, after the files that
// are due already. The clock of SQLite counts in milliseconds.
func (tx Tx) ReleaseForgotten(ids []int64) {
	var c database.Clauses
	claimed := database.AnyOf(&c, ids)
	tx.unit.Exec(`UPDATE stored_file SET due = {now} - 1000 WHERE due IS NOT NULL AND id IN (`+claimed+`)`, c.Args...)
}

// ForgetFiles removes the rows of files whose content was removed.
func (tx Tx) ForgetFiles(ids []int64) {
	var c database.Clauses
	over := database.AnyOf(&c, ids)
	tx.unit.Exec(`DELETE FROM stored_file WHERE due IS NOT NULL AND id IN (`+over+`)`, c.Args...)
}

// forgetFilesOf marks the files of at most limit rows of a table as unused. It takes rows in any
// order, because the database would search the whole table to sort them by id.
func (tx Tx) forgetFilesOf(table, condition string, limit int, args []any) {
	tx.unit.Exec(fmt.Sprintf(`UPDATE stored_file SET %s WHERE due IS NULL AND id IN (SELECT file_id FROM %s WHERE %s AND file_id IS NOT NULL%s)`,
		store.ForgottenFile, table, condition, database.UpTo(limit)), args...)
}

// noFile returns the condition that a row has no file, or only a file that is already marked as
// unused. If a row is erased before its file is marked, the content of the file stays in the blob
// store forever.
func noFile(table string) string {
	return fmt.Sprintf(` AND NOT EXISTS (SELECT 1 FROM stored_file f WHERE f.id = %s.file_id AND f.due IS NULL)`, table)
}

// holdFiles contains the tables whose rows can have a file.
var holdFiles = map[string]bool{"document": true, "attachment": true}
