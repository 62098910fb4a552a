package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/payment"
)

func (s fixture) everything() payment.Draft {
	d := draft(1250, 99_999_999_999)
	d.Connector, d.ClientState = "0e5e1b0c-0000-4000-8000-000000000001", `"state" é`
	account := d.Instructions[0].Beneficiary
	account.Issuer = "AGRIFRPP"
	d.Payer = &account
	d.PayerIdentity = &passerelle.Identity{IDUser: s.user(true).ID, ExternalRef: "ref", Sensitive: &passerelle.Sensitive{
		FirstName: "Ada", LastName: "Lovelace", BirthCity: "London", BirthCountry: "GB", BirthDate: s.day("1815-12-10"), Nationality: "British",
		PostalAddress: "12 St James's Square", Email: "ada@example.org", SchemeName: passerelle.PassportNumber, Identification: "123",
		Issuer: "HMPO", UltimateOwnerText: "a", UltimateOwnerExtraText: "b", PEP: true,
	}}
	organisation := passerelle.Identity{Kind: passerelle.Corporate, OrgName: "Org", OrgLegalStatus: "SAS", Sensitive: &passerelle.Sensitive{
		SchemeName: passerelle.SIREN, Identification: "732829320", OrgHQAddress: "1 rue", OrgBusinessAddress: "2 rue",
	}}
	d.OperatorIdentity = &organisation
	d.Instructions[1].BeneficiaryIdentity = &organisation
	for i := range d.Instructions {
		d.Instructions[i].DateType, d.Instructions[i].ExecutionDate = payment.Deferred, s.day("2026-12-01")
	}
	return d
}

func (s fixture) periodic() payment.Draft {
	d := draft(1)
	in := &d.Instructions[0]
	in.DateType, in.StartDate, in.EndDate, in.Frequency = payment.Periodic, s.day("2026-12-01"), s.day("2027-12-01"), "two-weekly"
	return d
}

func TestPaymentIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		for name, d := range map[string]payment.Draft{"least": draft(1), "everything": s.everything(), "periodic": s.periodic()} {
			t.Run(name, func(t *testing.T) {
				p := s.create(d, now)
				if p.ID == 0 || p.Version != 1 || p.Instructions[0].ID == 0 {
					t.Fatalf("payment %d version %d, line %d", p.ID, p.Version, p.Instructions[0].ID)
				}
				got, err := s.db.Payment(t.Context(), s.domain, p.ID, true)
				wantSame(t, p, got, err)
			})
		}
	})
}

func TestIdentityWithoutSensitivePart(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p, first, err := payment.New(draft(1), payment.Policy{}, bytes.NewReader(make([]byte, 100)), now)
		if err != nil {
			t.Fatal(err)
		}
		p.Domain, p.Client, p.PayerIdentity = s.domain, s.client, &passerelle.Identity{Kind: passerelle.Individual}
		s.write(func(tx *store.Tx) error { return tx.CreatePayment(p, first) })
		wantSame(t, p, s.load(p), nil)
	})
}

func TestChangedPaymentIsReadBack(t *testing.T) {
	reports := []payment.Report{
		{
			Status: payment.Awaiting, Action: payment.FillFields, ValidateURI: "https://bank.example/1", BankPaymentID: "B1", Raw: "RCVD",
			Fields: []payment.Field{{Name: "otp", Type: "list", Label: "L", Regex: "^a$", Required: true, Values: []payment.FieldValue{{Label: "A", Value: "a"}}}},
		},
		{Status: payment.Awaiting, Action: payment.Decoupled},
		{Status: payment.Processing, Lines: []payment.Line{{Position: 1, State: payment.InstructionRejected, Code: payment.InvalidLabel, Description: "why é"}}},
		{Status: payment.Settled, Raw: "PART"},
	}
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(s.everything(), now)
		p.Mechanism, p.WebviewURL, p.Connector = "webauth", "https://client.example/view?a=b", "0e5e1b0c-0000-4000-8000-000000000002"
		p.Payer.Label, p.Website, p.TermsVersion, p.Source, p.CancelState = "another", "shop.test", "2", 401, "s"
		s.write(func(tx *store.Tx) error { return tx.UpdateChoice(p, nil) })
		wantSame(t, p, s.load(p), nil)
		for i, report := range reports {
			s.report(p, report, now.Add(time.Duration(i)*time.Minute))
			wantSame(t, p, s.load(p), nil)
		}
		if p.State != payment.Partial || p.Version != int64(len(reports)+2) {
			t.Errorf("the payment ends %s at version %d", p.State, p.Version)
		}
		got, err := s.db.Transitions(t.Context(), s.domain, p.ID)
		bank := func(trigger payment.Trigger, by payment.Actor, word string) payment.Cause {
			return payment.Cause{Trigger: trigger, Actor: by, Bank: word}
		}
		wantSame(t, []payment.Transition{
			{Seq: 0, To: payment.Created, Cause: payment.Cause{Actor: payment.ByClient}, At: now},
			{Seq: 1, From: payment.Created, To: payment.Validating, Cause: bank(payment.Validated, payment.ByPayer, "RCVD"), At: now},
			{Seq: 2, From: payment.Validating, To: payment.Pending, Cause: bank(payment.Approved, payment.ByPayer, ""), At: now.Add(2 * time.Minute)},
			{Seq: 3, From: payment.Pending, To: payment.Partial, Cause: bank(payment.Mixed, payment.ByBank, "PART"), At: now.Add(3 * time.Minute)},
		}, got, err)
	})
}

func TestRejectedPaymentIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1, 2), now)
		s.report(p, payment.Report{Status: payment.Declined, Code: payment.InsufficientFunds, Description: "too poor"}, now)
		wantSame(t, p, s.load(p), nil)
	})
}

// TestSensitiveIsNotReadUnlessAskedFor corrupts the column sensitive. Only a read that requests the
// sensitive part may fail.
func TestSensitiveIsNotReadUnlessAskedFor(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(s.everything(), now)
		sealed, err := database.Collect(t.Context(), s.db.Rows(), func(row database.Row) (b []byte, err error) { return b, row.Scan(&b) },
			`SELECT sensitive FROM payment_identity WHERE payment_id = $1`, int64(p.ID))
		if err != nil || len(sealed) != 3 {
			t.Fatal(len(sealed), err)
		}
		for _, column := range sealed {
			if bytes.Contains(column, []byte("Ada")) || bytes.Contains(column, []byte("732829320")) {
				t.Error("a sensitive column is not sealed")
			}
		}
		if err := s.sql(`UPDATE payment_identity SET sensitive = $1`, []byte("spoilt")); err != nil {
			t.Fatal(err)
		}
		if got, err := s.db.Payment(t.Context(), s.domain, p.ID, true); err == nil {
			t.Errorf("a spoilt identity reads %v", got.PayerIdentity)
		}
		got, err := s.db.Payment(t.Context(), s.domain, p.ID, false)
		for _, identity := range []*passerelle.Identity{p.PayerIdentity, p.OperatorIdentity, p.Instructions[1].BeneficiaryIdentity} {
			identity.Sensitive = nil
		}
		wantSame(t, p, got, err)
	})
}

// TestSealedIdentityStaysInItsRow checks that an identity copied from another row cannot be
// decrypted.
func TestSealedIdentityStaysInItsRow(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(s.everything(), now)
		err := s.sql(`UPDATE payment_identity SET sensitive = (SELECT sensitive FROM payment_identity WHERE role = 'payer') WHERE role = 'operator'`)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.db.Payment(t.Context(), s.domain, p.ID, true); err == nil {
			t.Errorf("the payer's identity serves as the operator's: %v", got.OperatorIdentity)
		}
	})
}

// TestLateChangeIsRefused checks that the second of two changes of the same version fails and
// stores nothing.
func TestLateChangeIsRefused(t *testing.T) {
	validate := payment.Report{Status: payment.Awaiting, Action: payment.Decoupled}
	settle := payment.Report{Status: payment.Settled}
	none := payment.Report{}
	for name, reports := range map[string][2]payment.Report{
		"both move":          {validate, validate},
		"further":            {validate, settle},
		"the second only":    {none, settle},
		"the first only":     {settle, none},
		"neither":            {none, none},
		"to another state":   {{Status: payment.Declined}, settle},
		"over a final state": {settle, {Status: payment.Declined}},
	} {
		t.Run(name, func(t *testing.T) {
			onEachDatabase(t, func(t *testing.T, s fixture) {
				p := s.create(draft(1, 2), now)
				late := s.load(p)
				s.change(p, reports[0])
				stored := s.load(p)
				history, err := s.db.Transitions(t.Context(), s.domain, p.ID)
				if err != nil {
					t.Fatal(err)
				}
				late.BankPaymentID = "late"
				wantError(t, s.tryChange(late, reports[1]), store.ErrConflict)
				wantSame(t, stored, s.load(p), nil)
				after, err := s.db.Transitions(t.Context(), s.domain, p.ID)
				wantSame(t, history, after, err)
			})
		})
	}
}

func (s fixture) change(p *payment.Payment, r payment.Report) {
	s.t.Helper()
	if err := s.tryChange(p, r); err != nil {
		s.t.Fatal(err)
	}
}

func (s fixture) tryChange(p *payment.Payment, r payment.Report) error {
	var steps []payment.Step
	if r.Status != "" {
		var err error
		if steps, err = p.Apply(r, now); err != nil {
			return err
		}
	}
	return s.try(func(tx *store.Tx) error { return tx.UpdatePayment(p, transitions(steps), nil) })
}

func TestOneOfManyWins(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1), now)
		for n, report := range []payment.Report{
			{Status: payment.Awaiting, Action: payment.Decoupled}, {}, {Status: payment.Processing}, {Status: payment.Settled},
		} {
			if won := s.race(p, report, 50); won != 1 {
				t.Errorf("round %d: %d workers won", n, won)
			}
			if got := s.load(p); got.Version != int64(n+2) {
				t.Errorf("round %d: version %d", n, got.Version)
			}
		}
		if got := s.load(p); got.State != payment.Done || got.Seq != 3 {
			t.Errorf("%s at %d", got.State, got.Seq)
		}
	})
}

func (s fixture) race(p *payment.Payment, r payment.Report, workers int) int64 {
	var won atomic.Int64
	var all sync.WaitGroup
	for _, mine := range s.copies(p, workers) {
		all.Go(func() {
			switch err := s.tryChange(mine, r); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, store.ErrConflict):
				s.t.Errorf("a worker lost with %v", err)
			}
		})
	}
	all.Wait()
	return won.Load()
}

func (s fixture) copies(p *payment.Payment, n int) []*payment.Payment {
	s.t.Helper()
	list := make([]*payment.Payment, n)
	for i := range list {
		list[i] = s.load(p)
	}
	return list
}

func TestPaymentsOfOthers(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1), now)
		for _, domain := range []passerelle.DomainID{s.other, 0, -1} {
			got, err := s.db.Payment(t.Context(), domain, p.ID, true)
			wantNotFound(t, got, err)
			history, err := s.db.Transitions(t.Context(), domain, p.ID)
			wantSame(t, nil, history, err)
		}
		stranger := *s.load(p)
		stranger.Domain = s.other
		wantError(t, s.tryChange(&stranger, payment.Report{}), store.ErrConflict)
	})
}

func (s fixture) due(domain passerelle.DomainID, at time.Time, lease time.Duration, limit int, except ...string) []int64 {
	s.t.Helper()
	var claimed []store.Due
	s.write(func(tx *store.Tx) error { tx.DuePayments(domain, at, lease, limit, except, &claimed); return nil })
	return idsOf(claimed)
}

func idsOf(claimed []store.Due) (ids []int64) {
	for _, one := range claimed {
		ids = append(ids, int64(one.Payment))
	}
	return ids
}

func TestDuePayments(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		var ids []int64
		for i := range 3 {
			p := s.create(draft(1), now)
			next := now.Add(time.Duration(i) * time.Hour)
			s.write(func(tx *store.Tx) error { return tx.UpdatePayment(p, nil, &next) })
			ids = append(ids, int64(p.ID))
		}
		s.create(draft(1), now) // no check of this payment is due
		wantIDs := func(got []int64, want ...int64) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		wantIDs(s.due(s.domain, now.Add(-time.Microsecond), time.Hour, 9))
		wantIDs(s.due(s.other, now.Add(time.Hour), time.Hour, 9))
		wantIDs(s.due(s.domain, now.Add(time.Hour), time.Hour, 1), ids[0])
		wantIDs(s.due(s.domain, now.Add(time.Hour), -time.Hour, 9), ids[1])
		wantIDs(s.due(s.domain, now.Add(time.Hour), time.Hour, 9), ids[1])
		wantIDs(s.due(s.domain, now.Add(time.Hour), time.Hour, 9))

		stale, p := s.load(&payment.Payment{Domain: s.domain, ID: passerelle.PaymentID(ids[0])}), new(payment.Payment)
		*p = *stale
		stale.Version--
		for _, postponed := range []*payment.Payment{stale, p} {
			s.write(func(tx *store.Tx) error { tx.PostponeCheck(postponed, now.Add(90*time.Minute)); return nil })
		}
		wantIDs(s.due(s.domain, now.Add(time.Hour), time.Hour, 9))
		wantIDs(s.due(s.domain, now.Add(2*time.Hour), time.Hour, 1), ids[0])
		s.report(p, payment.Report{Status: payment.Settled}, now)
		wantIDs(s.due(s.domain, now.Add(9*time.Hour), -time.Hour, 9, "other"), ids[2])
		if err := s.sql(`UPDATE payment SET connector_uuid = 'busy', connector_name = 'Busy'`); err != nil {
			t.Fatal(err)
		}
		wantIDs(s.due(s.domain, now.Add(9*time.Hour), time.Hour, 9, "other", "busy"))
		wantIDs(s.due(s.domain, now.Add(9*time.Hour), time.Hour, 9, "other"), ids[2])
	})
}

func TestClaimantsShare(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		const payments, claimants = 20, 8
		for range payments {
			p := s.create(draft(1), now)
			s.write(func(tx *store.Tx) error { return tx.UpdatePayment(p, nil, &now) })
		}
		claimed := make([][]int64, claimants)
		var all sync.WaitGroup
		for i := range claimants {
			all.Go(func() { claimed[i] = s.due(s.domain, now, time.Hour, 5) })
		}
		all.Wait()
		times := map[int64]int{}
		for _, ids := range claimed {
			for _, id := range ids {
				times[id]++
			}
		}
		for id, n := range times {
			if n != 1 {
				t.Errorf("payment %d was claimed %d times", id, n)
			}
		}
		for len(times) < payments { // needed when a claimant has found only payments that others were claiming
			more := s.due(s.domain, now, time.Hour, 5)
			if len(more) == 0 {
				t.Fatalf("%d payments were claimed", len(times))
			}
			for _, id := range more {
				times[id]++
			}
		}
	})
}

func TestLargestBulkIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		d := draft(make([]int64, payment.MaxInstructions)...)
		for i := range d.Instructions {
			d.Instructions[i].Amount.Minor, d.Instructions[i].Label = int64(i+1), fmt.Sprint(i)
		}
		p := s.create(d, now)
		wantSame(t, p, s.load(p), nil)
		s.report(p, payment.Report{Status: payment.Settled, Lines: []payment.Line{{Position: 999, State: payment.InstructionAccepted}}}, now)
		wantSame(t, p, s.load(p), nil)
	})
}

// TestPaymentsAreReadAsCommitted reads while a writer changes payments and instructions together.
// Each read must return the payment and all its instructions in the same version.
func TestPaymentsAreReadAsCommitted(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1, 2, 3), now)
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						s.wantWhole(p)
					}
				}
			})
		}
		for version := int64(2); version < 200; version++ {
			p.BankPaymentID = fmt.Sprint(version)
			for i := range p.Instructions {
				p.Instructions[i].ErrorDescription = fmt.Sprint(version)
			}
			s.write(func(tx *store.Tx) error { return tx.UpdatePayment(p, nil, nil) })
		}
		close(done)
		readers.Wait()
	})
}

func (s fixture) wantWhole(p *payment.Payment) {
	got, err := s.db.Payment(s.t.Context(), s.domain, p.ID, false)
	listed, failure := s.db.Payments(s.t.Context(), store.PaymentFilter{Domain: s.domain}, store.Window{Order: "id", Limit: 9}, false)
	if err != nil || failure != nil || len(listed) != 1 {
		s.t.Error(err, failure)
		return
	}
	for _, read := range []*payment.Payment{got, listed[0].Payment} {
		if len(read.Instructions) != len(p.Instructions) {
			s.t.Errorf("version %d has %d lines", read.Version, len(read.Instructions))
		}
		for _, in := range read.Instructions {
			if in.ErrorDescription != read.BankPaymentID {
				s.t.Errorf("version %d has a line that says %q and a payment that says %q", read.Version, in.ErrorDescription, read.BankPaymentID)
			}
		}
	}
}
