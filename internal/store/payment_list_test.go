package store

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"passerelle"
	"passerelle/payment"
)

// population stores payments that differ in every key of the list and share
// most of their values, so that the order among equals matters.
func (s site) population(n int) []*payment.Payment {
	s.t.Helper()
	reports := []payment.Report{
		{}, {Status: payment.Awaiting, Action: payment.Decoupled}, {Status: payment.Processing}, {Status: payment.Settled}, {Status: payment.Declined},
	}
	var all []*payment.Payment
	for i := range n {
		at := now.Add(time.Duration(i*7%5) * time.Hour)
		p := s.create(draft(int64(100+i*3%4)), at)
		if report := reports[i%len(reports)]; report.Status != "" {
			s.report(p, report, at.Add(time.Duration(i%3)*time.Hour))
		}
		all = append(all, p)
	}
	return all
}

// keyOf is the value a list is ordered by, so that greater means later.
var keyOf = map[string]func(*payment.Payment) any{
	"id":            func(p *payment.Payment) any { return int64(p.ID) },
	"register_date": func(p *payment.Payment) any { return p.Created.UnixMicro() },
	"state":         func(p *payment.Payment) any { return string(p.State) },
	"amount":        func(p *payment.Payment) any { return p.Total() },
}

func compareKeys(a, b any) int {
	if text, ok := a.(string); ok {
		return cmp.Compare(text, b.(string))
	}
	return cmp.Compare(a.(int64), b.(int64))
}

// matches is the filter in other words than SQL.
func matches(f PaymentFilter, p *payment.Payment) bool {
	date := &p.Created
	if f.DateField == "validate_date" {
		date = p.Validated
	}
	bounded := !f.From.IsZero() || !f.Until.IsZero()
	return f.Domain == p.Domain && (f.Only == 0 || f.Only == p.ID) && (f.State == "" || f.State == string(p.State)) &&
		(!bounded || date != nil && !date.Before(f.From) && (f.Until.IsZero() || date.Before(f.Until)))
}

// reference is the window of a list, computed from all payments.
func reference(all []*payment.Payment, f PaymentFilter, w Window) []passerelle.PaymentID {
	key := keyOf[w.Order]
	down := w.Descending != w.Backward
	compare := func(keyA any, idA int64, keyB any, idB int64) int {
		order := cmp.Or(compareKeys(keyA, keyB), cmp.Compare(idA, idB))
		if down {
			return -order
		}
		return order
	}
	var kept []*payment.Payment
	for _, p := range all {
		if matches(f, p) && (w.From == nil || compare(key(p), int64(p.ID), w.From[0], w.From[1].(int64)) > 0) {
			kept = append(kept, p)
		}
	}
	slices.SortFunc(kept, func(a, b *payment.Payment) int { return compare(key(a), int64(a.ID), key(b), int64(b.ID)) })
	kept = kept[min(int(w.Offset), len(kept)):]
	var ids []passerelle.PaymentID
	for _, p := range kept[:min(w.Limit, len(kept))] {
		ids = append(ids, p.ID)
	}
	return ids
}

func drawFilter(t *rapid.T, s site, all []*payment.Payment) PaymentFilter {
	f := PaymentFilter{Domain: rapid.SampledFrom([]passerelle.DomainID{s.domain, s.domain, s.domain, s.other}).Draw(t, "domain")}
	if rapid.Bool().Draw(t, "one state") {
		f.State = string(rapid.SampledFrom(payment.States()).Draw(t, "state"))
	}
	if rapid.IntRange(0, 9).Draw(t, "one payment") == 0 {
		f.Only = rapid.SampledFrom(all).Draw(t, "payment").ID
	}
	f.DateField = rapid.SampledFrom([]string{"", "register_date", "validate_date"}).Draw(t, "date")
	if rapid.Bool().Draw(t, "from a date") {
		f.From = now.Add(time.Duration(rapid.IntRange(-1, 7).Draw(t, "from")) * time.Hour)
	}
	if rapid.Bool().Draw(t, "until a date") {
		f.Until = now.Add(time.Duration(rapid.IntRange(-1, 7).Draw(t, "until")) * time.Hour)
	}
	return f
}

func drawWindow(t *rapid.T, all []*payment.Payment) Window {
	w := Window{
		Order:      rapid.SampledFrom([]string{"id", "register_date", "state", "amount"}).Draw(t, "order"),
		Descending: rapid.Bool().Draw(t, "descending"),
		Backward:   rapid.Bool().Draw(t, "backward"),
		Limit:      rapid.IntRange(0, len(all)+1).Draw(t, "limit"),
		Offset:     int64(rapid.IntRange(0, 4).Draw(t, "offset")),
	}
	if rapid.Bool().Draw(t, "from a place") {
		p := rapid.SampledFrom(all).Draw(t, "place")
		w.From = []any{keyOf[w.Order](p), int64(p.ID)}
	}
	return w
}

// TestListIsThatOfTheReference reads arbitrary windows of arbitrary filters.
func TestListIsThatOfTheReference(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		all := s.population(30)
		rapid.Check(t, func(rt *rapid.T) {
			f, w := drawFilter(rt, s, all), drawWindow(rt, all)
			listed, err := s.db.Payments(t.Context(), f, w, false)
			if err != nil {
				rt.Fatal(err)
			}
			var got []passerelle.PaymentID
			for _, p := range listed {
				got = append(got, p.ID)
				if place := []any{keyOf[w.Order](p.Payment), int64(p.ID)}; !slices.Equal(place, p.Place) {
					rt.Errorf("payment %d is at %v, not %v", p.ID, p.Place, place)
				}
			}
			if want := reference(all, f, w); !slices.Equal(want, got) {
				rt.Errorf("%+v %+v lists %v, want %v", f, w, got, want)
			}
			total, err := s.db.CountPayments(t.Context(), f)
			everything := len(reference(all, f, Window{Order: "id", Limit: len(all)}))
			if err != nil || total != int64(everything) {
				rt.Errorf("%+v counts %d, %v; want %d", f, total, err, everything)
			}
		})
	})
}

// TestListShowsWholePayments: the same as loading each, sensitive or not.
func TestListShowsWholePayments(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		for range 3 {
			s.create(s.everything(), now)
		}
		s.create(s.periodic(), now)
		for _, sensitive := range []bool{false, true} {
			listed, err := s.db.Payments(t.Context(), PaymentFilter{Domain: s.domain}, Window{Order: "id", Limit: 9}, sensitive)
			if err != nil || len(listed) != 4 {
				t.Fatal(len(listed), err)
			}
			for _, p := range listed {
				want, err := s.db.Payment(t.Context(), s.domain, p.ID, sensitive)
				wantSame(t, want, p.Payment, err)
			}
		}
	})
}

func TestUnknownOrderIsAnError(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		for _, order := range []string{"", "nothing", "id; DROP TABLE payment"} {
			if _, err := s.db.Payments(t.Context(), PaymentFilter{Domain: s.domain}, Window{Order: order, Limit: 1}, false); err == nil {
				t.Errorf("order %q is accepted", order)
			}
		}
	})
}

// TestCounterIsExact: it counts what was committed, from all workers, and
// nothing of what was not.
func TestCounterIsExact(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		for range 20 {
			s.create(draft(1), now)
		}
		undone := fmt.Errorf("undone")
		err := s.try(func(tx *Tx) error {
			p, first, err := payment.New(draft(1), payment.Policy{}, zeros{}, now)
			if err != nil {
				return err
			}
			p.Domain, p.Client = s.domain, s.alien // of the other domain: refused by the schema
			return tx.CreatePayment(p, first)
		})
		wantError(t, err, ErrConstraint)
		wantError(t, s.try(func(tx *Tx) error { tx.count(s.domain, "payment", 1, 5); return undone }), undone)
		for domain, want := range map[passerelle.DomainID]int64{s.domain: 20, s.other: 0} {
			got, err := s.db.CountPayments(t.Context(), PaymentFilter{Domain: domain, DateField: "register_date"})
			if err != nil || got != want {
				t.Errorf("domain %d counts %d, %v", domain, got, err)
			}
		}
		if rows := s.count(`SELECT count(*) FROM counter WHERE domain_id = $1`, int64(s.domain)); rows != counterShards {
			t.Errorf("%d shards", rows)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
