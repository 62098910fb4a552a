package bankstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/blob"
	"passerelle/internal/store"
)

const plainContent = "an invoice of Erika Mustermann"

// sealedFolder returns a folder whose files are encrypted, and the same folder without encryption.
func (s fixture) sealedFolder() (blob.Sealed, blob.Store) {
	s.t.Helper()
	folder, err := blob.New(s.t.TempDir())
	if err != nil {
		s.t.Fatal(err)
	}
	return blob.Sealed{Store: folder, Key: bankstore.From(s.db).FileKey, SealingKey: func(ctx context.Context, id passerelle.FileID) ([]byte, error) {
		return bankstore.SealingKey(ctx, s.db, id)
	}}, folder
}

func (s fixture) contentOf(in blob.Store, id passerelle.FileID) string {
	s.t.Helper()
	f, err := in.Open(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	content, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

func (s fixture) fileIDs() (ids []int64) {
	s.t.Helper()
	s.write(func(tx *store.Tx) error {
		tx.Unit().ReturningIDs(&ids, `SELECT id FROM stored_file ORDER BY id`)
		return nil
	})
	return ids
}

func (h *userAccounts) waysToCreateFiles(t *testing.T) map[string]func(tx bankstore.Tx) error {
	_, subscription, bill := filed(t, h.fixture)
	without := passerelle.Document{DocumentDetails: passerelle.DocumentDetails{Key: "without"}, Found: now, LastUpdate: now}
	h.write(func(tx *store.Tx) error { return bankstore.In(tx).CreateDocument(h.domain, subscription, &without, 1) })
	bought := h.Add(0, 1)[0]
	details := bill.DocumentDetails
	details.HasFile = true
	receipt := []passerelle.AttachmentDetails{{Key: "receipt", Name: "receipt"}}
	return map[string]func(tx bankstore.Tx) error{
		"a new document": func(tx bankstore.Tx) error {
			d := passerelle.Document{DocumentDetails: passerelle.DocumentDetails{Key: "new", HasFile: true}, Found: now, LastUpdate: now}
			return tx.CreateDocument(h.domain, subscription, &d, 1)
		},
		"a document that gets a file": func(tx bankstore.Tx) error {
			return tx.UpdateDocument(h.domain, subscription, without.ID, details, now, 1)
		},
		"an upload": func(tx bankstore.Tx) error {
			return tx.BeginUpload(h.domain, &bankstore.StoredFile{User: 7, MediaType: "text/plain", Created: now}, time.Minute)
		},
		"a new transaction": func(tx bankstore.Tx) error {
			one := passerelle.Transaction{ApplicationDate: day(1), Scraped: now, LastUpdate: now, TransactionDetails: passerelle.TransactionDetails{Key: "new", Date: day(1), RDate: day(1), Attachments: receipt}}
			return tx.CreateTransactions(h.domain, h.Accounts[0], 1, bankstore.NewTransaction{Transaction: &one})
		},
		"a transaction that gets an attachment": func(tx bankstore.Tx) error {
			changed := bought.TransactionDetails
			changed.Attachments = receipt
			return tx.UpdateTransaction(h.domain, h.Accounts[0], bought.ID, changed, now, 1)
		},
	}
}

// TestEveryFileIsSealed checks that every call that creates a file gives it a key, and that the
// folder contains only encrypted content.
func TestEveryFileIsSealed(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h := newUserAccounts(t, s)
		sealed, folder := s.sealedFolder()
		for name, create := range h.waysToCreateFiles(t) {
			before := len(s.fileIDs())
			s.write(func(tx *store.Tx) error { return create(bankstore.In(tx)) })
			ids := s.fileIDs()
			if len(ids) != before+1 {
				t.Errorf("%s: %d files, want %d", name, len(ids), before+1)
				continue
			}
			id := passerelle.FileID(ids[before])
			if key, err := bankstore.From(s.db).FileKey(t.Context(), id); err != nil || len(key) != 32 {
				t.Errorf("%s: a key of %d bytes (%v)", name, len(key), err)
			}
			if _, err := sealed.Put(t.Context(), id, strings.NewReader(plainContent)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := s.contentOf(sealed, id); got != plainContent {
				t.Errorf("%s: read %q", name, got)
			}
			if got := s.contentOf(folder, id); strings.Contains(got, "Erika") {
				t.Errorf("%s: the folder contains %q", name, got)
			}
		}
		if n := s.count(`SELECT count(*) FROM stored_file WHERE sealed_key IS NULL`); n != 0 {
			t.Errorf("%d files have no key", n)
		}
	})
}

// TestFilesWithoutKeys checks files without keys, as earlier versions of the service stored them.
// Stored content must stay readable and must not be replaced. A file without content must get a
// key, and so must the file of a document that changes.
func TestFilesWithoutKeys(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h, subscription, bill := filed(t, s)
		sealed, folder := s.sealedFolder()
		if err := s.sql(`UPDATE stored_file SET sealed_key = NULL, stored = CASE WHEN id = $1 THEN created END`, int64(bill.File)); err != nil {
			t.Fatal(err)
		}
		if _, err := folder.Put(t.Context(), bill.File, strings.NewReader(plainContent)); err != nil {
			t.Fatal(err)
		}
		if _, err := sealed.Put(t.Context(), bill.File, strings.NewReader("new")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("content without a key was replaced: %v", err)
		}
		if got := s.contentOf(sealed, bill.File); got != plainContent {
			t.Errorf("the old content is %q", got)
		}
		empty := passerelle.FileID(s.count(`SELECT id FROM stored_file WHERE stored IS NULL`))
		for range 2 {
			if _, err := sealed.Put(t.Context(), empty, strings.NewReader(plainContent)); err != nil || s.contentOf(sealed, empty) != plainContent || bytes.Contains([]byte(s.contentOf(folder, empty)), []byte("Erika")) {
				t.Errorf("the first content of an old file: %v", err)
			}
		}
		h.write(func(tx *store.Tx) error {
			return bankstore.In(tx).UpdateDocument(h.domain, subscription, bill.ID, bill.DocumentDetails, now, 1)
		})
		changed := h.bill(t)
		if key, err := bankstore.From(s.db).FileKey(t.Context(), changed.File); err != nil || key == nil || changed.File == bill.File {
			t.Errorf("the changed document has file %d, before %d, a key of %d bytes (%v)", changed.File, bill.File, len(key), err)
		}
		if ids := h.forget(); len(ids) != 1 || ids[0] != int64(bill.File) {
			t.Errorf("given up are %v, want %d", ids, bill.File)
		}
		_, err := bankstore.SealingKey(t.Context(), s.db, 99)
		wantError(t, err, store.ErrNotFound)
	})
}
