package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

func lines(rows []store.TimelineRow) []string {
	var all []string
	for _, row := range rows {
		if row.Transition != nil {
			all = append(all, fmt.Sprintf("%d %s %s %s", row.Transition.Seq, row.Transition.To, row.Transition.Cause.Actor, row.Transition.At.Format("15:04")))
		} else {
			all = append(all, strings.Join(strings.Fields(fmt.Sprintf("%s %s %q %s %s %s",
				row.Note.Kind, row.Note.Actor, row.Note.Text, row.Note.At.Format("15:04"), row.Note.Day, row.Note.Bank)), " "))
		}
	}
	return all
}

func TestTimeline(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p, silent := s.create(s.periodic(), now), s.create(draft(1), now)
		s.create(draft(1), now)
		first, second := s.day("2026-12-01"), s.day("2026-12-15")
		for i, report := range []payment.Report{
			{Status: payment.Processing, Raw: "ACSP", Occurrences: []payment.Occurrence{{Day: first}}},
			{Status: payment.Processing, Cancellation: payment.CancellationAwaiting, ValidateURI: "https://bank.example/c"},
			{Status: payment.Processing, Cancellation: payment.CancellationRefused},
			{Status: payment.Settled, Occurrences: []payment.Occurrence{{Day: first}, {Day: second, Code: payment.InsufficientFunds}}},
		} {
			s.report(p, report, now.Add(time.Duration(i+1)*time.Hour))
			wantSame(t, p, s.load(p), nil)
		}
		got, err := s.db.Timeline(t.Context(), s.domain, []passerelle.PaymentID{p.ID, silent.ID, 999}, 0)
		wantSame(t, []string{
			"0 created client 15:04", `occurrence bank "2026-12-01" 16:04 2026-12-01 ACSP`, "1 validating payer 16:04", "2 pending payer 16:04",
			`cancelling payer "" 17:04`, `cancellationRefused bank "" 18:04`, `occurrenceFailed bank "2026-12-15 insufficientFunds" 19:04 2026-12-15`, "3 done bank 19:04",
		}, lines(got[p.ID]), err)
		wantSame(t, []string{"0 created client 15:04"}, lines(got[silent.ID]), nil)
		newest, err := s.db.Timeline(t.Context(), s.domain, []passerelle.PaymentID{p.ID}, 2)
		wantSame(t, []string{
			"0 created client 15:04", "1 validating payer 16:04", "2 pending payer 16:04",
			`cancellationRefused bank "" 18:04`, `occurrenceFailed bank "2026-12-15 insufficientFunds" 19:04 2026-12-15`, "3 done bank 19:04",
		}, lines(newest[p.ID]), err)
		if len(got) != 2 {
			t.Errorf("there are timelines of %d payments", len(got))
		}
		for domain, ids := range map[passerelle.DomainID][]passerelle.PaymentID{s.other: {p.ID}, s.domain: nil} {
			if got, err := s.db.Timeline(t.Context(), domain, ids, 0); err != nil || len(got) != 0 {
				t.Errorf("domain %d: %v, %v", domain, got, err)
			}
		}
	})
}

// TestNotesAreNotRepeated checks that a bank that repeats a response causes one note, until the
// response changes.
func TestNotesAreNotRepeated(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1), now)
		say := func(status payment.Status) error {
			twin := *p
			_, _ = twin.Apply(payment.Report{Status: status}, now)
			return s.try(func(tx *store.Tx) error { tx.AddNotes(&twin); return nil })
		}
		for _, status := range []payment.Status{"a", "a", "b", "b", "a"} {
			if err := say(status); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.db.Timeline(t.Context(), s.domain, []passerelle.PaymentID{p.ID}, 0)
		if err != nil || len(got[p.ID]) != 4 {
			t.Errorf("%v, %v", lines(got[p.ID]), err)
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if err := say(payment.Status(rune('c' + i))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		got, err = s.db.Timeline(t.Context(), s.domain, []passerelle.PaymentID{p.ID}, 0)
		if err != nil || len(got[p.ID]) != 12 {
			t.Errorf("%d rows, %v", len(got[p.ID]), err)
		}
		wantSame(t, p, s.load(p), nil)
	})
}

func TestNotesOfAnotherDomainsPaymentAreRefused(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1), now)
		p.Domain = s.other
		_, _ = p.Apply(payment.Report{Status: "x"}, now)
		wantError(t, s.try(func(tx *store.Tx) error { tx.AddNotes(p); return nil }), store.ErrConstraint)
	})
}
