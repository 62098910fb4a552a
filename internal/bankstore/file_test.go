package bankstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// filed creates a user with a shared subscription and a shared account, each with one file.
func filed(t *testing.T, s fixture) (*userAccounts, bankstore.StoredSubscription, bankstore.StoredDocument) {
	t.Helper()
	h := newUserAccounts(t, s)
	h.AddFiles()
	all, err := bankstore.From(h.db).Subscriptions(t.Context(), bankstore.SubscriptionFilter{Domain: h.domain, User: 7, All: true}, store.Window{Limit: 1})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d subscriptions (%v)", len(all), err)
	}
	h.write(func(tx *store.Tx) error { bankstore.In(tx).EnableSubscription(h.domain, 7, all[0].ID); return nil })
	return h, all[0], h.bill(t)
}

func (h *userAccounts) bill(t *testing.T) bankstore.StoredDocument {
	t.Helper()
	documents, err := bankstore.From(h.db).Documents(t.Context(), bankstore.DocumentFilter{Domain: h.domain, User: 7}, store.Window{Limit: 2})
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents (%v)", len(documents), err)
	}
	return documents[0]
}

func (h *userAccounts) fetched() (ids []passerelle.FileID) {
	h.t.Helper()
	var leased []bankstore.LeasedFile
	h.write(func(tx *store.Tx) error {
		bankstore.In(tx).ClaimFiles(h.domain, "c1", time.Minute, 5, &leased)
		return nil
	})
	for _, l := range leased {
		h.write(func(tx *store.Tx) error { bankstore.In(tx).KeepFile(h.domain, l, "text/plain", 3, now); return nil })
		ids = append(ids, l.ID)
	}
	slices.Sort(ids) // PostgreSQL returns updated rows in any order
	return ids
}

func (h *userAccounts) forget() (ids []int64) {
	h.t.Helper()
	h.write(func(tx *store.Tx) error { bankstore.In(tx).ClaimForgotten(time.Hour, 5, &ids); return nil })
	return ids
}

// TestFilesOfWhatIsWithdrawn checks that files of withdrawn data are hidden immediately, before
// anything is erased.
func TestFilesOfWhatIsWithdrawn(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h, subscription, _ := filed(t, s)
		ids := h.fetched()
		wantFiles := func(when string, want ...passerelle.FileID) {
			t.Helper()
			var got []passerelle.FileID
			files, err := bankstore.From(h.db).Files(t.Context(), h.domain, 7, 0, 5)
			for _, f := range files {
				got = append(got, f.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s (%v) (-want +got):\n%s", when, err, diff)
			}
		}
		wantFiles("shared", ids...)
		h.write(func(tx *store.Tx) error {
			bankstore.In(tx).DisableSubscriptions(h.domain, 7, now, subscription)
			return nil
		})
		wantFiles("without the subscription", ids[1])
		if _, err := bankstore.From(h.db).File(t.Context(), h.domain, 7, ids[0]); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the file of the document is there: %v", err)
		}
		h.write(func(tx *store.Tx) error {
			bankstore.In(tx).DisableAccounts(h.domain, 7, now, h.Accounts[0])
			return nil
		})
		wantFiles("without the account")
		if n := len(h.forget()); n != 0 {
			t.Errorf("%d files were given up already", n)
		}
	})
}

// TestUploadsThatAreOver checks that an edit of a document fails, and stores nothing, if the upload
// in the edit has expired.
func TestUploadsThatAreOver(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h, _, before := filed(t, s)
		upload := func(allowed time.Duration) bankstore.StoredFile {
			f := bankstore.StoredFile{User: 7, MediaType: "text/plain", Created: now, Stored: &now, Size: 3}
			h.write(func(tx *store.Tx) error { return bankstore.In(tx).BeginUpload(h.domain, &f, allowed) })
			return f
		}
		give := func(f bankstore.StoredFile) error {
			return h.db.Write(context.Background(), func(tx *store.Tx) error {
				return bankstore.In(tx).EditDocument(h.domain, before.Document, bankstore.DocumentEdit{Name: bankstore.Own[string]{Set: true, Value: new("mine")}, File: &f}, now)
			})
		}
		late := upload(-time.Minute)
		if err := give(late); !errors.Is(err, store.ErrConflict) {
			t.Errorf("too late: %v", err)
		}
		if diff := cmp.Diff([]int64{int64(late.ID)}, h.forget()); diff != "" {
			t.Errorf("given up (-want +got):\n%s", diff)
		}
		if err := give(late); !errors.Is(err, store.ErrConflict) {
			t.Errorf("while it is being removed: %v", err)
		}
		if diff := cmp.Diff(before, h.bill(t), dates); diff != "" {
			t.Errorf("the document (-before +after):\n%s", diff)
		}
		inTime := upload(time.Minute)
		if err := give(inTime); err != nil || h.bill(t).File != inTime.ID || h.bill(t).Name != "mine" {
			t.Errorf("in time: %+v (%v)", h.bill(t), err)
		}
		if diff := cmp.Diff([]int64{int64(before.File)}, h.forget()); diff != "" {
			t.Errorf("given up instead (-want +got):\n%s", diff)
		}
	})
}

// TestErasureWaitsForFiles checks that the erasure of a user marks unreferenced files for
// removal. The erasure must not end before ForgetFiles removes the rows of these files.
func TestErasureWaitsForFiles(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		h, _, _ := filed(t, s)
		h.fetched()
		if err := h.sql(`DELETE FROM document`); err != nil {
			t.Fatal(err)
		}
		if err := h.sql(`DELETE FROM attachment`); err != nil {
			t.Fatal(err)
		}
		since := now.Add(-time.Hour)
		h.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`INSERT INTO erasure (domain_id, user_id, since, due) VALUES ($1, 7, $2, $2)`, int64(h.domain), database.Micros(since))
			return nil
		})
		pending := func() int {
			due, err := h.db.ErasuresDue(t.Context(), h.domain, now.Add(time.Hour), 0, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range due {
				if err := h.db.Erase(t.Context(), e, 1, now, now, now); err != nil {
					t.Fatal(err)
				}
			}
			due, err = h.db.ErasuresDue(t.Context(), h.domain, now.Add(time.Hour), 0, 5)
			if err != nil {
				t.Fatal(err)
			}
			return len(due)
		}
		if n := pending(); n != 1 {
			t.Errorf("%d erasures are pending while files are there", n)
		}
		over := h.forget()
		if len(over) != 2 || pending() != 1 {
			t.Errorf("files %v are given up", over)
		}
		h.write(func(tx *store.Tx) error { bankstore.In(tx).ForgetFiles(over); return nil })
		if n := pending(); n != 0 {
			t.Errorf("%d erasures are pending", n)
		}
	})
}

func TestFilesWithoutRow(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		filed(t, s)
		var stored []passerelle.FileID
		for _, id := range s.fileIDs() {
			stored = append(stored, passerelle.FileID(id))
		}
		if len(stored) == 0 {
			t.Fatal("no file is stored")
		}
		for _, unknown := range [][]passerelle.FileID{nil, {1 << 40}, {1 << 40, 1 << 41, 1 << 42}} {
			got, err := bankstore.From(s.db).WithoutRow(t.Context(), append(slices.Clone(stored), unknown...))
			if err != nil || !slices.Equal(got, unknown) {
				t.Errorf("without a row: %v, %v, want %v", got, err, unknown)
			}
		}
	})
}
