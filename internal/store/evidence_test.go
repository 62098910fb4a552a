package store_test

import (
	"bytes"
	"testing"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/payment"
)

func TestEvidence(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1250), now)
		none, err := s.db.Evidence(t.Context(), s.domain, p.ID)
		wantSame(t, 0, len(none), err)
		ordered := payment.Evidence{
			Payment: p.ID, Domain: s.domain, Act: payment.ActOrder, Attempt: 1, At: now, Language: "fr",
			Shown: payment.ShownPayment{
				Application: "Boutique", Bank: "Banque", Amount: "12,50 €", When: "Tout de suite", From: "FR76 **** 0189", Terms: "0",
				Lines: []payment.ShownLine{{Amount: "12,50 €", Name: "Maison Dupont", Account: "FR76 3000", Label: "é"}},
			},
		}
		witness := func(tx *store.Tx) error {
			if err := tx.OpenAttempt(&store.Attempt{Payment: p.ID, Domain: s.domain, Number: 1, Kind: store.AttemptInitiation, AttemptOrder: store.AttemptOrder{Key: "k"}, Created: now}, time.Minute); err != nil {
				return err
			}
			return tx.Witness(ordered)
		}
		s.write(witness)
		cancelled := payment.Evidence{Payment: p.ID, Domain: s.domain, Act: payment.ActCancel, At: now, Language: "en", Attempt: 1}
		wantError(t, s.try(func(tx *store.Tx) error { return tx.Witness(cancelled) }), store.ErrDuplicate)
		got, err := s.db.Evidence(t.Context(), s.domain, p.ID)
		wantSame(t, []payment.Evidence{ordered}, got, err)
		foreign, err := s.db.Evidence(t.Context(), s.other, p.ID)
		wantSame(t, 0, len(foreign), err)
		sealed, err := database.One(t.Context(), s.db.Rows(), func(row database.Row) (b []byte, err error) { return b, row.Scan(&b) }, `SELECT shown FROM payment_evidence`)
		if err != nil || bytes.Contains(sealed, []byte("Dupont")) {
			t.Errorf("what was shown is not sealed (%v)", err)
		}
		if s.sql(`UPDATE payment_evidence SET language = 'en'`) == nil {
			t.Error("evidence was rewritten")
		}
	})
}

func TestEvidenceWithoutAnAttempt(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1250), now)
		cancelled := payment.Evidence{Payment: p.ID, Domain: s.domain, Act: payment.ActCancel, At: now, Language: "en"}
		s.write(func(tx *store.Tx) error { return tx.Witness(cancelled) })
		got, err := s.db.Evidence(t.Context(), s.domain, p.ID)
		wantSame(t, []payment.Evidence{cancelled}, got, err)
	})
}
