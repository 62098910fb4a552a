package bankstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// StoredDocument is a document with the day that determines its position in lists. The day is the
// document's own day, or the day on which the document was found.
type StoredDocument struct {
	passerelle.Document
	Day string
}

// Place returns the position of the document in the list.
func (d StoredDocument) Place() []any { return []any{d.Day, int64(d.ID)} }

const documentColumns = `d.id, d.user_id, d.subscription_id, d.key, d.details, d.file_id, d.found, d.last_update, d.deleted, d.date, d.readonly, ` + ownColumns

func scanDocument(row database.Row) (StoredDocument, error) {
	var (
		d             StoredDocument
		key, details  string
		file, deleted *int64
		found, update int64
		own           ownOfDocument
	)
	err := row.Scan(append([]any{&d.ID, &d.User, &d.Subscription, &key, &details, &file, &found, &update, &deleted, &d.Day, &d.ReadOnly}, own.into()...)...)
	if err != nil {
		return d, err
	}
	if err := decodeDetails(details, &d.DocumentDetails); err != nil {
		return d, fmt.Errorf("read the details of document %d: %w", d.ID, err)
	}
	d.Key, d.File = key, database.ID[passerelle.FileID](file)
	d.Found, d.LastUpdate, d.Deleted = database.Instant(found), database.Instant(update), database.OptionalInstant(deleted)
	err = own.applyTo(&d.Document)
	return d, err
}

// documentTotal returns the stored form of a document's total: its digits as an integer, and its
// scale.
func documentTotal(d passerelle.DocumentDetails) (any, any, error) {
	if d.Total == nil {
		return nil, nil, nil
	}
	value, err := coefficient(*d.Total)
	return value, d.Total.Scale(), err
}

// documentType returns the document type of the API for the type in the details.
func documentType(d passerelle.DocumentDetails) string {
	return passerelle.DocumentTypes()[passerelle.DocumentTypeNumber(d.Type)-1]
}

// documentDay returns the day that determines the position of a document in lists. The day is the
// document's own day, or the day on which the document was found.
func documentDay(d passerelle.DocumentDetails, found time.Time) string {
	if d.Date.IsZero() {
		return passerelle.DateOf(found, time.UTC).String()
	}
	return d.Date.String()
}

// CreateDocument stores a newly found document and sets its id. If the provider has a file of the
// document, the service fetches it later.
func (tx Tx) CreateDocument(domain passerelle.DomainID, s StoredSubscription, d *passerelle.Document, reading int64) error {
	return tx.createDocument(domain, s, d, reading, false)
}

// CreateManualDocument stores an empty document that a client creates, and returns it. No sync
// changes such a document.
func (tx Tx) CreateManualDocument(domain passerelle.DomainID, s StoredSubscription, at time.Time) (passerelle.Document, error) {
	d := passerelle.Document{Found: at, LastUpdate: at}
	err := tx.createDocument(domain, s, &d, Unreported, true)
	return d, err
}

func (tx Tx) createDocument(domain passerelle.DomainID, s StoredSubscription, d *passerelle.Document, reading int64, manual bool) error {
	id, err := tx.unit.NewID("document")
	if err != nil {
		return err
	}
	if manual {
		d.Key = manualKey(id)
	}
	d.ID, d.Subscription, d.User = passerelle.DocumentID(id), s.ID, s.User
	details, err := EncodeDetails(d.DocumentDetails)
	if err != nil {
		return err
	}
	total, scale, err := documentTotal(d.DocumentDetails)
	if err != nil {
		return fmt.Errorf("store the total of a document: %w", err)
	}
	if d.HasFile {
		if d.File, err = tx.expectFile(domain, s.User, s.Connection, d.MediaType, d.Found, "TRUE"); err != nil {
			return err
		}
	}
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO document (id, domain_id, user_id, subscription_id, epoch, key, type, date, total, total_scale, details, digest, file_id, found, last_update, changed, connection_id, manual)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		id, int64(domain), int64(s.User), int64(s.ID), s.Epoch, d.Key, documentType(d.DocumentDetails), documentDay(d.DocumentDetails, d.Found), total, scale, details.text, details.Digest,
		database.OptionalID(d.File), database.Micros(d.Found), database.Micros(d.LastUpdate), reading, int64(s.Connection), manual)
	return nil
}

// UpdateDocument stores a provider's new details of a document. It does not change the user's
// values. Details without a day leave the stored day unchanged. UpdateDocument restores a deleted
// document. If the provider has a file, the service fetches it again, unless the user uploaded a
// file.
func (tx Tx) UpdateDocument(domain passerelle.DomainID, s StoredSubscription, id passerelle.DocumentID, d passerelle.DocumentDetails, at time.Time, reading int64) error {
	details, err := EncodeDetails(d)
	if err != nil {
		return err
	}
	total, scale, err := documentTotal(d)
	if err != nil {
		return fmt.Errorf("store the total of a document: %w", err)
	}
	if d.HasFile {
		if err := tx.expectAgain(domain, s, id, d.MediaType, at); err != nil {
			return err
		}
	}
	tx.unit.ExecOne(store.ErrConflict, `UPDATE document SET type = CASE WHEN custom_type IS NULL THEN $1 ELSE type END,
			date = CASE WHEN custom_date IS NULL THEN COALESCE($2, date) ELSE date END,
			total = CASE WHEN custom_total IS NULL THEN $3 ELSE total END, total_scale = CASE WHEN custom_total IS NULL THEN $4 ELSE total_scale END,
			details = $5, digest = $6, last_update = $7, deleted = NULL, changed = $8
		WHERE domain_id = $9 AND subscription_id = $10 AND epoch = $11 AND id = $12`,
		documentType(d), database.OptionalDate(d.Date), total, scale, details.text, details.Digest, database.Micros(at), reading, int64(domain), int64(s.ID), s.Epoch, int64(id))
	return nil
}

// expectAgain makes the file of a document due for another fetch, unless the user uploaded it. It
// creates a file if the document has no file. It also replaces a file whose content an earlier
// version of the service stored unencrypted. That content is erased later.
func (tx Tx) expectAgain(domain passerelle.DomainID, s StoredSubscription, id passerelle.DocumentID, mediaType string, at time.Time) error {
	const which = `id = $1 AND +domain_id = $2 AND subscription_id = $3 AND epoch = $4`
	const itsFile = `NOT uploaded AND due IS NULL AND id = (SELECT file_id FROM document WHERE ` + which + `)`
	named := []any{int64(id), int64(domain), int64(s.ID), s.Epoch}
	tx.unit.Exec(`UPDATE stored_file SET `+store.ForgottenFile+` WHERE sealed_key IS NULL AND stored IS NOT NULL AND `+itsFile, named...)
	tx.unit.Exec(`UPDATE document SET file_id = NULL WHERE `+which+` AND file_id IS NOT NULL AND EXISTS (SELECT 1 FROM stored_file f WHERE f.id = document.file_id AND f.due IS NOT NULL)`, named...)
	// A process that is fetching the file may have the old content. The statement changes the end
	// of that process's lease, so that the process cannot store the content. Other processes still
	// cannot fetch the file before the lease ends.
	tx.unit.Exec(`UPDATE stored_file SET next_fetch = 0, failures = 0, lease_until = CASE WHEN lease_until > {now} THEN lease_until + 1 ELSE 0 END WHERE `+itsFile, named...)
	file, err := tx.expectFile(domain, s.User, s.Connection, mediaType, at, `EXISTS (SELECT 1 FROM document WHERE `+which+` AND file_id IS NULL)`, named...)
	if err != nil {
		return err
	}
	tx.unit.Exec(`UPDATE document SET file_id = $5 WHERE `+which+` AND file_id IS NULL`, append(named, int64(file))...)
	return nil
}

// LoseDocument marks a document as deleted, because the provider no longer lists it.
func (tx Tx) LoseDocument(domain passerelle.DomainID, s StoredSubscription, id passerelle.DocumentID, at time.Time, reading int64) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE document SET deleted = $1, last_update = $1, changed = $2 WHERE domain_id = $3 AND subscription_id = $4 AND epoch = $5 AND id = $6 AND deleted IS NULL`,
		database.Micros(at), reading, int64(domain), int64(s.ID), s.Epoch, int64(id))
}

// CountDocuments adds to the document counter of a subscription. Write fails with ErrConflict when
// the subscription's data was withdrawn since the subscription was read.
func (tx Tx) CountDocuments(domain passerelle.DomainID, s StoredSubscription, more int64) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE subscription SET documents = documents + $1 WHERE +domain_id = $2 AND id = $3 AND epoch = $4`, more, int64(domain), int64(s.ID), s.Epoch)
}

// DocumentFilter selects documents of a user. User is required: the filter selects nothing without
// it.
type DocumentFilter struct {
	Domain     passerelle.DomainID
	User       passerelle.UserID
	Connection passerelle.ConnectionID // zero for all
	// Subscription selects one subscription in its present Epoch. Zero means all.
	Subscription passerelle.SubscriptionID
	Epoch        int64
	ID           passerelle.DocumentID // zero for all
	Types        []string              // nil for all
	// Transaction selects the documents of one transaction. Zero means all.
	Transaction passerelle.TransactionID
	// From and Until are the first and the last selected day.
	From, Until passerelle.Date
	// Since and Before limit the timestamp. The timestamp is the first instant of the document's
	// day in Zone. For a document without a day, it is the time at which the document was found.
	// Before is exclusive. Zero means no limit.
	Since, Before time.Time
	Zone          *time.Location
	// Least and Most limit the total. Both are inclusive. A document without a total does not
	// match.
	Least, Most *decimal.Decimal
	// All includes documents of disabled and deleted subscriptions, and documents that the provider
	// no longer lists.
	All bool
}

var totalAt = exactOf("d.total")

// subscriptions returns the filter for the subscriptions whose documents are selected.
func (f DocumentFilter) subscriptions() SubscriptionFilter {
	of := SubscriptionFilter{Domain: f.Domain, User: f.User, Connection: f.Connection, All: f.All}
	if f.Subscription != 0 {
		of.IDs = []passerelle.SubscriptionID{f.Subscription}
	}
	return of
}

// plain reports whether the filter selects all listed documents of the subscriptions. The counters
// of the subscriptions then contain the number of documents.
func (f DocumentFilter) plain() bool {
	return !f.All && f.ID == 0 && f.Transaction == 0 && f.Types == nil && f.Since.IsZero() && f.Before.IsZero() && f.From.IsZero() && f.Until.IsZero() && f.Least == nil && f.Most == nil
}

func (f DocumentFilter) where(c *database.Clauses) {
	f.subscriptions().where(c)
	c.And("d.epoch = s.epoch")
	if !f.All {
		c.And("d.deleted IS NULL")
	}
	switch {
	case f.Transaction != 0: // the + prevents SQLite from reading all documents of the user; a transaction has few documents
		c.And("d.id IN (SELECT x.document_id FROM transaction_document x WHERE x.transaction_id = %s) AND +d.domain_id = %s AND +d.user_id = %s", int64(f.Transaction), int64(f.Domain), int64(f.User))
	case f.Subscription != 0:
		c.And("d.subscription_id = %s AND d.epoch = %s", int64(f.Subscription), f.Epoch)
	case f.Connection != 0:
		c.And("d.connection_id = %s", int64(f.Connection))
	default:
		c.And("d.domain_id = %s AND d.user_id = %s", int64(f.Domain), int64(f.User))
	}
	if f.ID != 0 {
		c.And("d.id = %s", int64(f.ID))
	}
	if f.Types != nil {
		names := []string{"''"}
		for _, name := range database.Padded(f.Types) {
			names = append(names, c.Bind(name))
		}
		c.All = append(c.All, "d.type IN ("+strings.Join(names, ", ")+")")
	}
	f.bounds(c)
}

// stamped is an expression for the comparison of a document's timestamp with an instant. The
// timestamp is the document's day. Without a day, it is the time at which the document was found.
// The pattern matches only the key Date in the details, because quotes inside texts are escaped. In
// a document without a day, the key is missing or has an empty text.
const stamped = `CASE WHEN d.custom_date = '' OR d.custom_date IS NULL AND d.details NOT LIKE '%%"Date":"____-__-__"%%' THEN d.found `

func (f DocumentFilter) bounds(c *database.Clauses) {
	if !f.Since.IsZero() {
		c.And(stamped+">= %s ELSE d.date > %s END", database.Micros(f.Since), f.dayBefore(f.Since))
	}
	if !f.Before.IsZero() {
		c.And(stamped+"< %s ELSE d.date <= %s END", database.Micros(f.Before), f.dayBefore(f.Before))
	}
	if !f.From.IsZero() {
		c.And("d.date >= %s", f.From.String())
	}
	if !f.Until.IsZero() {
		c.And("d.date <= %s", f.Until.String())
	}
	if f.Least != nil {
		c.All = append(c.All, compare(c, totalAt, ">=", *f.Least))
	}
	if f.Most != nil {
		c.All = append(c.All, compare(c, totalAt, "<=", *f.Most))
	}
}

// dayBefore returns the last day that begins before an instant.
func (f DocumentFilter) dayBefore(at time.Time) string {
	return passerelle.DateOf(at.Add(-time.Microsecond), f.Zone).String()
}

const documentSource = `document d CROSS JOIN subscription s WHERE s.id = d.subscription_id AND `

// Documents lists documents, the newest first. A position consists of the day and the id.
func (r Reader) Documents(ctx context.Context, f DocumentFilter, w store.Window) ([]StoredDocument, error) {
	var c database.Clauses
	f.where(&c)
	order, sign := "DESC", "<"
	if w.Descending != w.Backward {
		order, sign = "ASC", ">"
	}
	if len(w.From) == 2 {
		c.And("(d.date, d.id) "+sign+" (%s, %s)", w.From[0], w.From[1])
	}
	return database.Collect(ctx, r.rows, scanDocument, fmt.Sprintf(`SELECT %s FROM %s %s ORDER BY d.date %s, d.id %[4]s LIMIT %[5]s OFFSET %[6]s`,
		documentColumns, documentSource, c.String(), order, c.Bind(w.Limit), c.Bind(w.Offset)), c.Args...)
}

// CountDocuments returns the exact number of documents that a filter selects. If the filter selects
// all listed documents of subscriptions, CountDocuments reads the subscriptions' counters.
func (r Reader) CountDocuments(ctx context.Context, f DocumentFilter) (int64, error) {
	var c database.Clauses
	if f.plain() {
		f.subscriptions().where(&c)
		return database.One(ctx, r.rows, database.ScanInt, `SELECT CAST(COALESCE(sum(s.documents), 0) AS BIGINT) FROM subscription s WHERE `+c.String(), c.Args...)
	}
	f.where(&c)
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM `+documentSource+c.String(), c.Args...)
}

// ChangedDocuments lists a subscription's documents that have changed since its last complete read,
// ordered by id. The list has at most limit documents. Their ids are greater than the argument
// after.
func (r Reader) ChangedDocuments(ctx context.Context, s StoredSubscription, after passerelle.DocumentID, limit int) ([]StoredDocument, error) {
	return database.Collect(ctx, r.rows, scanDocument, `SELECT `+documentColumns+` FROM document d
		WHERE d.subscription_id = $1 AND d.epoch = $2 AND d.changed = $3 AND d.id > $4 ORDER BY d.id LIMIT $5`,
		int64(s.ID), s.Epoch, s.NextReading(), int64(after), limit)
}
