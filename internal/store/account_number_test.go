package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

const (
	payersNumber = "FR7630006000011234567890189"
	oneNumber    = "DE89370400440532013000"
	otherNumber  = "BE68539007547034"
)

// numbered stores a payment from payersNumber to the other two accounts.
func (s fixture) numbered() *payment.Payment {
	s.t.Helper()
	d := draft(1)
	d.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: payersNumber, Label: "Payer"}
	line := d.Instructions[0]
	d.Instructions = nil
	for _, number := range []string{oneNumber, otherNumber, oneNumber} {
		line.Beneficiary.Identification = number
		d.Instructions = append(d.Instructions, line)
	}
	p, first, err := payment.New(d, payment.Policy{}, zeros{}, now)
	if err != nil {
		s.t.Fatal(err)
	}
	p.Domain, p.Client = s.domain, s.client
	s.write(func(tx *store.Tx) error { return tx.CreatePayment(p, first) })
	return p
}

// clearNumbers counts the rows that contain an unencrypted account number.
func (s fixture) clearNumbers() (n int64) {
	s.t.Helper()
	for _, text := range []string{
		`SELECT count(*) FROM payment WHERE payer_identification LIKE 'FR76%' OR payer_identification LIKE '%0189'`,
		`SELECT count(*) FROM instruction WHERE beneficiary_identification LIKE 'DE89%' OR beneficiary_identification LIKE 'BE68%' OR beneficiary_identification LIKE '%7034' OR beneficiary_identification LIKE '%3000'`,
	} {
		n += s.count(text)
	}
	return n
}

func (s fixture) found(db *store.DB, domain passerelle.DomainID) map[string]int64 {
	s.t.Helper()
	found := map[string]int64{}
	for name, f := range map[string]store.PaymentFilter{
		"payer": {Payer: "fr76 3000 6000 0112 3456 7890 189"}, "payer's end": {PayerEnd: "0189"}, "beneficiary": {Beneficiary: oneNumber}, "another": {Beneficiary: otherNumber},
		"an end": {BeneficiaryEnd: "7034"}, "all": {Payer: payersNumber, Beneficiary: oneNumber, BeneficiaryEnd: "3000"}, "none": {Payer: oneNumber}, "no end": {BeneficiaryEnd: "0189"},
	} {
		f.Domain = domain
		listed, err := db.Payments(s.t.Context(), f, store.Window{Order: "register_date", Limit: 10}, true)
		if err != nil {
			s.t.Fatal(err)
		}
		n, err := db.CountPayments(s.t.Context(), f, 1000)
		if err != nil || n != int64(len(listed)) {
			s.t.Errorf("by %s: %d, %d counted: %v", name, len(listed), n, err)
		}
		found[name] = n
	}
	return found
}

func (s fixture) same(db *store.DB, p *payment.Payment) {
	s.t.Helper()
	got, err := db.Payment(s.t.Context(), p.Domain, p.ID, true)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(p.Payer, got.Payer); diff != "" {
		s.t.Errorf("payer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(p.Instructions, got.Instructions, cmpopts.IgnoreUnexported(passerelle.Date{}), cmpopts.EquateComparable(passerelle.Date{})); diff != "" {
		s.t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func times(n int64) map[string]int64 {
	return map[string]int64{"payer": n, "payer's end": n, "beneficiary": n, "another": n, "an end": n, "all": n, "none": 0, "no end": 0}
}

// TestAccountNumbersAreSealed checks that a new database contains no account number of a payment in
// plain text, and that payments can be found by number.
func TestAccountNumbersAreSealed(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.numbered()
		if n := s.clearNumbers(); n != 0 {
			t.Errorf("%d rows have clear numbers", n)
		}
		s.same(s.db, p)
		if diff := cmp.Diff(times(1), s.found(s.db, s.domain)); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(times(0), s.found(s.db, s.other)); diff != "" {
			t.Errorf("found in another domain (-want +got):\n%s", diff)
		}
		p.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: otherNumber}
		s.write(func(tx *store.Tx) error { return tx.UpdateChoice(p, nil) })
		s.same(s.db, p)
		if n := s.clearNumbers(); n != 0 {
			t.Errorf("%d rows have clear numbers after a change", n)
		}
		p.Payer = nil
		s.write(func(tx *store.Tx) error { return tx.UpdateChoice(p, nil) })
		s.same(s.db, p)
		for name, spoilt := range map[string]string{
			"another value": `UPDATE payment SET beneficiary_numbers = payer_number`, "none": `UPDATE payment SET beneficiary_numbers = NULL`, "no payer's": `UPDATE payment SET payer_number = NULL`,
		} {
			one := s.numbered()
			if err := s.sql(spoilt); err != nil {
				t.Fatal(err)
			}
			if got, err := s.db.Payment(t.Context(), s.domain, one.ID, false); !errors.Is(err, store.ErrSealed) {
				t.Errorf("with %s in its place: %+v, %v", name, got, err)
			}
		}
	})
}

// TestOlderAccountNumbersAreSealed checks that an older database keeps plain account numbers until
// they are encrypted, and that searches find the same payments before and after.
func TestOlderAccountNumbersAreSealed(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.keepsNumbersClear()
		all := []*payment.Payment{s.numbered(), s.numbered(), s.numbered()}
		if n := s.clearNumbers(); n != 3+9 {
			t.Errorf("%d rows have clear numbers", n)
		}
		for range 2 {
			if diff := cmp.Diff(times(int64(len(all))), s.found(s.db, s.domain)); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			for _, p := range all {
				s.same(s.db, p)
			}
			sealed, err := s.db.SealAccountNumbers(t.Context(), 2, func(int64) {})
			if err != nil || sealed != 3 && sealed != 0 {
				t.Fatalf("%d sealed: %v", sealed, err)
			}
			if n := s.clearNumbers(); n != 0 {
				t.Errorf("%d rows have clear numbers", n)
			}
			all = append(all, s.numbered())
		}
	})
}

// TestNumbersThatStayedClearAreSealed seals the numbers in another process. The first process must
// then encrypt new numbers, and find all payments by number. A second call of SealAccountNumbers
// must encrypt a number that was stored unencrypted after the first call.
func TestNumbersThatStayedClearAreSealed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		s := newFixture(t, url)
		s.keepsNumbersClear()
		p := s.numbered()
		if _, err := withKeys(t, url, s.db.Ring()).SealAccountNumbers(t.Context(), 10, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		s.numbered()
		if diff := cmp.Diff(times(2), s.found(s.db, s.domain)); diff != "" {
			t.Errorf("found by a process that goes on (-want +got):\n%s", diff)
		}
		if err := s.sql(`UPDATE payment SET payer_identification = $1, payer_number = NULL WHERE id = $2`, payersNumber, int64(p.ID)); err != nil {
			t.Fatal(err)
		}
		sealed, err := s.db.SealAccountNumbers(t.Context(), 10, func(int64) {})
		if n := s.clearNumbers(); err != nil || sealed != 1 || n != 0 {
			t.Errorf("%d sealed, %d rows have clear numbers: %v", sealed, n, err)
		}
		s.same(s.db, p)
	})
}

// TestNumbersSealedDuringARead seals the numbers of a payment after another process has read the
// payment, and before it reads the instructions. The read must find all numbers.
func TestNumbersSealedDuringARead(t *testing.T) {
	for name, read := range map[string]func(s fixture, id passerelle.PaymentID) (*payment.Payment, error){
		"one payment": func(s fixture, id passerelle.PaymentID) (*payment.Payment, error) {
			return s.db.Payment(s.t.Context(), s.domain, id, false)
		},
		"a list": func(s fixture, _ passerelle.PaymentID) (*payment.Payment, error) {
			all, err := s.db.Payments(s.t.Context(), store.PaymentFilter{Domain: s.domain}, store.Window{Order: "register_date", Limit: 10}, false)
			if err != nil {
				return nil, err
			}
			return all[0].Payment, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, url string) {
				s := newFixture(t, url)
				s.keepsNumbersClear()
				p := s.numbered()
				other := withKeys(t, url, s.db.Ring())
				var sealed int64
				s.db.Database.Observe(func(ctx context.Context, statements []database.Statement) error {
					var err error
					if sealed == 0 && strings.Contains(statements[0].SQL, "FROM instruction WHERE") {
						sealed, err = other.SealAccountNumbers(ctx, 10, func(int64) {})
					}
					return err
				})
				got, err := read(s, p.ID)
				if err != nil || sealed != 1 {
					t.Fatalf("%d sealed: %v", sealed, err)
				}
				for i, in := range p.Instructions {
					if i >= len(got.Instructions) || got.Instructions[i].Beneficiary != in.Beneficiary {
						t.Errorf("instruction %d differs", i)
					}
				}
			})
		})
	}
}

// TestLostNumbersBesideIdentities checks that reading a payment with lost account numbers fails,
// also when its beneficiaries have identities.
func TestLostNumbersBesideIdentities(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(s.everything(), now)
		if err := s.sql(`UPDATE payment SET beneficiary_numbers = NULL`); err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.Payment(t.Context(), s.domain, p.ID, false); !errors.Is(err, store.ErrSealed) {
			t.Errorf("alone: %v", err)
		}
		if _, err := s.db.Payments(t.Context(), store.PaymentFilter{Domain: s.domain}, store.Window{Order: "register_date", Limit: 10}, false); !errors.Is(err, store.ErrSealed) {
			t.Errorf("in a list: %v", err)
		}
	})
}

// TestSealedAccountNumbersOutliveTheirKey checks that account numbers are read and found with a
// newer master key when the older key is gone.
func TestSealedAccountNumbersOutliveTheirKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		s := newFixture(t, url)
		p := s.numbered()
		ring := s.db.Ring().Rotated()
		if _, _, err := withKeys(t, url, ring).Rewrap(t.Context(), 10, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		later := withKeys(t, url, ring.Retired())
		s.same(later, p)
		if diff := cmp.Diff(times(1), s.found(later, s.domain)); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		other := withKeys(t, url, keys.Generate())
		if _, err := other.Payment(t.Context(), s.domain, p.ID, false); !errors.Is(err, store.ErrSealed) {
			t.Errorf("with other keys: %v", err)
		}
	})
}
