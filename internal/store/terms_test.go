package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func TestTerms(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		none, err := s.db.CurrentTerms(t.Context(), s.domain)
		wantNotFound(t, none, err)
		first := store.Terms{Domain: s.domain, Version: "1", Content: map[string]string{"en": "Pay é", "fr": "Payez"}, Created: now}
		second := store.Terms{Domain: s.domain, Version: "2", Content: map[string]string{"en": "Pay more"}, Created: now.Add(time.Hour)}
		for _, terms := range []*store.Terms{&first, &second} {
			s.write(func(tx *store.Tx) error { return tx.PublishTerms(terms) })
			got, err := s.db.CurrentTerms(t.Context(), s.domain)
			wantSame(t, *terms, got, err)
		}
		if first.ID < 100 {
			t.Errorf("the terms are number %d, which belongs to those of the program", first.ID)
		}
		first.Deleted = &second.Created
		got, err := s.db.TermsOfVersion(t.Context(), s.domain, "1")
		wantSame(t, first, got, err)
		again := store.Terms{Domain: s.domain, Version: "1", Created: now}
		wantError(t, s.try(func(tx *store.Tx) error { return tx.PublishTerms(&again) }), store.ErrDuplicate)
		for _, version := range []string{"3", ""} {
			got, err := s.db.TermsOfVersion(t.Context(), s.domain, version)
			wantNotFound(t, got, err)
		}
		foreign, err := s.db.CurrentTerms(t.Context(), s.other)
		wantNotFound(t, foreign, err)
	})
}

// Two processes publish different versions at the same time. Both succeed.
func TestTermsOfTwoProcesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		first := newFixture(t, url)
		db, err := store.Open(t.Context(), url, store.Options{Keys: first.db.Keys()})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		second := first
		second.db = db
		ended := make(chan error)
		publish := func(s fixture, version string) {
			terms := store.Terms{Domain: s.domain, Version: version, Content: map[string]string{"en": version}, Created: now}
			ended <- s.try(func(tx *store.Tx) error { return tx.PublishTerms(&terms) })
		}
		for n := range 20 {
			go publish(first, fmt.Sprint("a", n))
			go publish(second, fmt.Sprint("b", n))
			if err := errors.Join(<-ended, <-ended); err != nil {
				t.Fatalf("publication %d: %v", n, err)
			}
		}
		if n := first.count(`SELECT count(*) FROM terms WHERE deleted IS NULL`); n != 1 {
			t.Errorf("%d versions are in force", n)
		}
	})
}

func TestFieldKeys(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		first := store.StoredFieldKey{Domain: s.domain, Number: 1, KeyID: "a", Private: []byte("private half"), Created: now}
		second := store.StoredFieldKey{Domain: s.domain, Number: 2, KeyID: "b", Private: []byte("another"), Created: now}
		for _, key := range []*store.StoredFieldKey{&first, &second} {
			s.write(func(tx *store.Tx) error { return tx.AddFieldKey(key) })
			got, err := s.db.NewestFieldKey(t.Context(), s.domain)
			wantSame(t, *key, got, err)
		}
		got, err := s.db.FieldKey(t.Context(), s.domain, "a")
		wantSame(t, first, got, err)
		taken := store.StoredFieldKey{Domain: s.domain, Number: 2, KeyID: "c", Created: now}
		wantError(t, s.try(func(tx *store.Tx) error { return tx.AddFieldKey(&taken) }), store.ErrDuplicate)
		foreign, err := s.db.FieldKey(t.Context(), s.other, "a")
		wantNotFound(t, foreign, err)
		sealed, err := database.One(t.Context(), s.db.Rows(), func(row database.Row) (b []byte, err error) { return b, row.Scan(&b) },
			`SELECT private FROM field_key WHERE kid = 'a'`)
		if err != nil || bytes.Contains(sealed, first.Private) {
			t.Errorf("the private half is not sealed (%v)", err)
		}
		if err := s.sql(`UPDATE field_key SET private = $1`, []byte("spoilt")); err != nil {
			t.Fatal(err)
		}
		_, err = s.db.FieldKey(t.Context(), s.domain, "a")
		wantError(t, err, store.ErrSealed)
	})
}
