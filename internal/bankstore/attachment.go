package bankstore

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

const attachmentColumns = `x.id, x.user_id, x.transaction_id, x.name, x.description, x.file_id, x.created, x.last_update, f.media_type, f.size, f.stored`

func scanAttachment(row database.Row) (passerelle.Attachment, error) {
	var (
		a               passerelle.Attachment
		created, update int64
		stored          *int64
	)
	err := row.Scan(&a.ID, &a.User, &a.Transaction, &a.Name, &a.Description, &a.File, &created, &update, &a.MediaType, &a.Size, &stored)
	a.Created, a.LastUpdate, a.Stored = database.Instant(created), database.Instant(update), database.OptionalInstant(stored)
	return a, err
}

// keepAttachments stores the new attachments of a transaction. Their files are fetched later.
func (tx Tx) keepAttachments(domain passerelle.DomainID, a StoredAccount, of passerelle.TransactionID, all []passerelle.AttachmentDetails, at time.Time, reading int64) error {
	for _, d := range all {
		id, err := tx.unit.NewID("attachment")
		if err != nil {
			return err
		}
		const isNew = `NOT EXISTS (SELECT 1 FROM attachment WHERE transaction_id = $1 AND key = $2)`
		file, err := tx.expectFile(domain, a.User, a.Connection, d.MediaType, at, isNew, int64(of), d.Key)
		if err != nil {
			return err
		}
		tx.unit.Exec(`INSERT INTO attachment (id, domain_id, user_id, account_id, epoch, transaction_id, key, name, description, file_id, created, last_update, changed)
			SELECT CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT), CAST($7 AS BIGINT), CAST($1 AS BIGINT), CAST($2 AS TEXT),
				CAST($8 AS TEXT), CAST($9 AS TEXT), CAST($10 AS BIGINT), CAST($11 AS BIGINT), CAST($11 AS BIGINT), CAST($12 AS BIGINT) WHERE `+isNew,
			int64(of), d.Key, id, int64(domain), int64(a.User), int64(a.ID), a.Epoch, d.Name, d.Description, int64(file), database.Micros(at), reading)
	}
	return nil
}

// Attachments lists the attachments of a user's transactions, ordered by transaction and id. The
// caller must have checked that the user may see the transactions.
func (r Reader) Attachments(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, of []passerelle.TransactionID) ([]passerelle.Attachment, error) {
	var c database.Clauses
	c.And("x.domain_id = %s AND x.user_id = %s", int64(domain), int64(user))
	wanted := database.AnyOf(&c, of)
	return database.Collect(ctx, r.rows, scanAttachment, `SELECT `+attachmentColumns+` FROM attachment x JOIN stored_file f ON f.id = x.file_id
		WHERE `+c.String()+` AND x.transaction_id IN (`+wanted+`) ORDER BY x.transaction_id, x.id`, c.Args...)
}

// FoundAttachments lists attachments that were found in an account since the account's last
// complete read, ordered by transaction and id. The argument after is the last attachment of the
// previous batch.
func (r Reader) FoundAttachments(ctx context.Context, a StoredAccount, after passerelle.Attachment, limit int) ([]passerelle.Attachment, error) {
	return database.Collect(ctx, r.rows, scanAttachment, `SELECT `+attachmentColumns+` FROM attachment x JOIN stored_file f ON f.id = x.file_id
		WHERE x.account_id = $1 AND x.epoch = $2 AND x.changed = $3 AND (x.transaction_id, x.id) > ($4, $5) ORDER BY x.transaction_id, x.id LIMIT $6`,
		int64(a.ID), a.Epoch, a.NextReading(), int64(after.Transaction), int64(after.ID), limit)
}
