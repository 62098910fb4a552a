package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/payment"
)

// The order of these connectors by name differs from their order by UUID.
const (
	bankA = "0e5e1b0c-0000-4000-8000-00000000000a"
	bankB = "0e5e1b0c-0000-4000-8000-00000000000b"
	bankC = "0e5e1b0c-0000-4000-8000-00000000000c"
)

var connectorNames = map[string]string{bankA: "Zebra", bankB: "Antelope", bankC: bankC}

var accounts = []string{"FR7630006000011234567890189", "DE89370400440532013000", "GB29NWBK60161331926819"}

// labels have common beginnings in lower and upper case. Some contain letters of several bytes.
var labels = []string{"Rent May", "rent June", "RENT", "Rental of a van", "Élan", "élan vital", "x", "Rent May", "50% of it", "Straße 7"}

// ends contains the last four characters of account numbers, and one text that is too short.
var ends = []string{"0189", "3000", "6819", "89"}

// population stores payments that share most sort keys except the id, so that tests cover the order
// among equal keys.
func (s fixture) population(n int) []*payment.Payment {
	s.t.Helper()
	s.write(func(tx *store.Tx) error {
		for _, uuid := range []string{bankA, bankB} {
			tx.NameConnector(uuid, connectorNames[uuid])
		}
		return nil
	})
	reports := []payment.Report{
		{},
		{Status: payment.Awaiting, Action: payment.Decoupled},
		{Status: payment.Processing, BankPaymentID: "B1"},
		{Status: payment.Settled},
		{Status: payment.Declined, Code: payment.Bug},
		{Status: payment.Declined, Code: payment.InvalidDate},
	}
	var all []*payment.Payment
	for i := range n {
		at := now.Add(time.Duration(i*7%5) * time.Hour)
		draft := s.individual(i)
		draft.ClientState = []string{"", "order 1"}[i%2]
		p := s.create(draft, at)
		if report := reports[i%len(reports)]; report.Status != "" {
			p.Website = []string{"", "shop.test", "other.test"}[i%3]
			s.write(func(tx *store.Tx) error { return tx.UpdateChoice(p, nil) })
			s.report(p, report, at.Add(time.Duration(i%3)*time.Hour))
		}
		all = append(all, p)
	}
	return all
}

func (s fixture) individual(i int) payment.Draft {
	amounts := make([]int64, 1+i%3)
	for n := range amounts {
		amounts[n] = int64(100 + i*3%4)
	}
	d := draft(amounts...)
	d.Connector = []string{"", bankA, bankB, bankC, bankA}[i%5]
	if i%4 == 0 {
		d.Payer = &passerelle.Account{Scheme: passerelle.IBAN, Identification: accounts[i%3], Label: "Payer"}
	}
	for n := range d.Instructions {
		in := &d.Instructions[n]
		in.DateType = []payment.DateType{payment.Instant, payment.FirstOpenDay}[i/2%2]
		in.Beneficiary.Identification = accounts[(i+n/2)%3]
		in.Label = labels[(i+2*n)%len(labels)]
		in.ReferenceID = fmt.Sprintf("R%d", (i+n)%4)
	}
	return d
}

// keyOf computes the value by which a list is sorted, or nil for a payment without this value.
var keyOf = map[string]func(*payment.Payment) any{
	"id":            func(p *payment.Payment) any { return int64(p.ID) },
	"register_date": func(p *payment.Payment) any { return p.Created.UnixMicro() },
	"validate_date": func(p *payment.Payment) any {
		if p.Validated == nil {
			return nil
		}
		return p.Validated.UnixMicro()
	},
	"state": func(p *payment.Payment) any { return string(p.State) },
	"connectors": func(p *payment.Payment) any {
		if p.Connector == "" {
			return nil
		}
		return connectorNames[p.Connector]
	},
	"amount":              func(p *payment.Payment) any { return p.Total() },
	"instruction_count":   func(p *payment.Payment) any { return int64(len(p.Instructions)) },
	"execution_date_type": func(p *payment.Payment) any { return string(p.DateType()) },
}

// compareKeys compares two keys. A missing key is greater than any other key or, in a descending
// order, smaller. Payments without a key are therefore last in both directions.
func compareKeys(a, b any, descending bool) int {
	if a == nil || b == nil {
		order := cmp.Compare(btoi(a == nil), btoi(b == nil))
		if descending {
			return -order
		}
		return order
	}
	if text, ok := a.(string); ok {
		return cmp.Compare(text, b.(string))
	}
	return cmp.Compare(a.(int64), b.(int64))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func matches(f store.PaymentFilter, p *payment.Payment) bool {
	date := &p.Created
	if f.DateField == "validate_date" {
		date = p.Validated
	}
	bounded := !f.From.IsZero() || !f.Until.IsZero()
	is := func(filter, value string) bool { return filter == "" || filter == value }
	line := func(filter string, value func(payment.Instruction) string) bool {
		return filter == "" || slices.ContainsFunc(p.Instructions, func(in payment.Instruction) bool { return value(in) == filter })
	}
	payer := ""
	if p.Payer != nil {
		payer = p.Payer.Identification
	}
	return f.Domain == p.Domain && (f.Only == 0 || f.Only == p.ID) && is(f.State, string(p.State)) && is(f.ErrorCode, string(p.ErrorCode)) &&
		is(f.BankPaymentID, p.BankPaymentID) && is(f.Website, p.Website) && is(f.ClientState, p.ClientState) && is(f.DateType, string(p.DateType())) && is(f.Payer, payer) &&
		is(f.PayerEnd, store.End(payer)) && line(f.BeneficiaryEnd, func(in payment.Instruction) string { return store.End(in.Beneficiary.Identification) }) &&
		(f.Client == 0 || f.Client == p.Client) && p.Total() >= f.Least && (f.Most == 0 || p.Total() <= f.Most) &&
		(f.LabelStart == "" || labelled(f, p) != nil) &&
		line(f.Beneficiary, func(in payment.Instruction) string { return in.Beneficiary.Identification }) &&
		line(f.Reference, func(in payment.Instruction) string { return in.ReferenceID }) &&
		(f.Connectors == nil || slices.Contains(f.Connectors, p.Connector)) && (!f.NoConnector || p.Connector == "") &&
		(!bounded || date != nil && !date.Before(f.From) && (f.Until.IsZero() || date.Before(f.Until)))
}

// labelled returns the smallest of a payment's folded labels that begin with the filter's text. It
// returns nil when no label does.
func labelled(f store.PaymentFilter, p *payment.Payment) any {
	var found []string
	for _, in := range p.Instructions {
		if strings.HasPrefix(database.Fold(in.Label), database.Fold(f.LabelStart)) {
			found = append(found, database.Fold(in.Label))
		}
	}
	if found == nil {
		return nil
	}
	return slices.Min(found)
}

func reference(all []*payment.Payment, f store.PaymentFilter, w store.Window) []passerelle.PaymentID {
	key := keyOf[w.Order]
	if w.Order == store.LabelOrder {
		key = func(p *payment.Payment) any { return labelled(f, p) }
	}
	down := w.Descending != w.Backward
	compare := func(keyA any, idA int64, keyB any, idB int64) int {
		order := cmp.Or(compareKeys(keyA, keyB, w.Descending), cmp.Compare(idA, idB))
		if keyA == nil && keyB == nil {
			order = cmp.Compare(idA, idB)
		}
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

// drawFilter mostly sets few fields of the filter, so that some payments match.
func drawFilter(t *rapid.T, s fixture, all []*payment.Payment) store.PaymentFilter {
	f := store.PaymentFilter{Domain: rapid.SampledFrom([]passerelle.DomainID{s.domain, s.domain, s.domain, s.other}).Draw(t, "domain")}
	for _, filter := range []struct {
		name string
		draw func()
	}{
		{"state", func() { f.State = string(rapid.SampledFrom(payment.States()).Draw(t, "state")) }},
		{"error", func() {
			f.ErrorCode = string(rapid.SampledFrom([]payment.ErrorCode{payment.Bug, payment.InvalidDate, payment.InvalidLabel}).Draw(t, "error"))
		}},
		{"bank id", func() { f.BankPaymentID = rapid.SampledFrom([]string{"B1", "B2"}).Draw(t, "bank id") }},
		{"website", func() { f.Website = rapid.SampledFrom([]string{"shop.test", "other.test", "none"}).Draw(t, "website") }},
		{"client state", func() {
			f.ClientState = rapid.SampledFrom([]string{"order 1", "none"}).Draw(t, "client state")
			f.Beneficiary = rapid.SampledFrom(accounts).Draw(t, "beneficiary with it")
		}},
		{"payer", func() { f.Payer = rapid.SampledFrom(accounts).Draw(t, "payer") }},
		{"beneficiary", func() { f.Beneficiary = rapid.SampledFrom(accounts).Draw(t, "beneficiary") }},
		{"reference", func() { f.Reference = rapid.SampledFrom([]string{"R0", "R1", "R9"}).Draw(t, "reference") }},
		{"payer's end", func() { f.PayerEnd = rapid.SampledFrom(ends).Draw(t, "payer's end") }},
		{"beneficiary's end", func() { f.BeneficiaryEnd = rapid.SampledFrom(ends).Draw(t, "beneficiary's end") }},
		{"client", func() { f.Client = rapid.SampledFrom([]passerelle.ClientID{s.client, s.alien}).Draw(t, "client") }},
		{"amount", func() {
			f.Least = rapid.Int64Range(0, 300).Draw(t, "least")
			f.Most = rapid.Int64Range(0, 300).Draw(t, "most")
		}},
		{"label", func() {
			f.LabelStart = rapid.SampledFrom([]string{"r", "Rent", "rent ", "RENTAL", "é", "É", "50%", "strasse", "_", "none"}).Draw(t, "label")
		}},
		{"type", func() { f.DateType = string(rapid.SampledFrom(payment.DateTypes()).Draw(t, "type")) }},
		{"connectors", func() {
			f.Connectors = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{bankA, bankB, bankC, "none"}), 0, 3, rapid.ID).Draw(t, "connectors")
		}},
		{"none", func() { f.NoConnector = true }},
		{"one", func() { f.Only = rapid.SampledFrom(all).Draw(t, "payment").ID }},
	} {
		if rapid.IntRange(0, 7).Draw(t, "filter by "+filter.name) == 0 {
			filter.draw()
		}
	}
	f.DateField = rapid.SampledFrom([]string{"", "register_date", "validate_date"}).Draw(t, "date")
	if rapid.IntRange(0, 3).Draw(t, "from a date") == 0 {
		f.From = now.Add(time.Duration(rapid.IntRange(-1, 7).Draw(t, "from")) * time.Hour)
	}
	if rapid.IntRange(0, 3).Draw(t, "until a date") == 0 {
		f.Until = now.Add(time.Duration(rapid.IntRange(-1, 7).Draw(t, "until")) * time.Hour)
	}
	return f
}

func drawWindow(t *rapid.T, f store.PaymentFilter, all []*payment.Payment) store.Window {
	order := store.LabelOrder
	if f.LabelStart == "" {
		order = rapid.SampledFrom(slices.Sorted(maps.Keys(keyOf))).Draw(t, "order")
	}
	w := store.Window{
		Order:      order,
		Descending: rapid.Bool().Draw(t, "descending"),
		Backward:   rapid.Bool().Draw(t, "backward"),
		Limit:      rapid.IntRange(0, len(all)+1).Draw(t, "limit"),
		Offset:     rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 3, 4, math.MaxInt64}).Draw(t, "offset"),
	}
	if rapid.Bool().Draw(t, "from a place") {
		p := rapid.SampledFrom(all).Draw(t, "place")
		w.From = placeIn(f, w, p)
	}
	return w
}

// placeIn returns the position of a payment in a list. In the order of labels, a payment without a
// matching label gets an arbitrary position.
func placeIn(f store.PaymentFilter, w store.Window, p *payment.Payment) []any {
	if w.Order == store.LabelOrder {
		return []any{cmp.Or(labelled(f, p), any("rent")), int64(p.ID)}
	}
	return []any{keyOf[w.Order](p), int64(p.ID)}
}

func TestListIsThatOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		all := s.population(30)
		rapid.Check(t, func(rt *rapid.T) {
			f := drawFilter(rt, s, all)
			w := drawWindow(rt, f, all)
			listed, err := s.db.Payments(t.Context(), f, w, false)
			if err != nil {
				rt.Fatal(err)
			}
			var got []passerelle.PaymentID
			for _, p := range listed {
				got = append(got, p.ID)
				if place := placeIn(f, w, p.Payment); !slices.Equal(place, p.Place) {
					rt.Errorf("payment %d is at %v, not %v", p.ID, p.Place, place)
				}
			}
			if want := reference(all, f, w); !slices.Equal(want, got) {
				rt.Errorf("%+v %+v lists %v, want %v", f, w, got, want)
			}
			total, err := s.db.CountPayments(t.Context(), f, 1000)
			everything := len(reference(all, f, store.Window{Order: "id", Limit: len(all)}))
			if err != nil || total != int64(everything) {
				rt.Errorf("%+v counts %d, %v; want %d", f, total, err, everything)
			}
		})
	})
}

// TestAPlaceWithoutADateInABoundedList continues a list from the position of a payment without a
// date. The filter limits the date. All payments that it selects come before the position.
func TestAPlaceWithoutADateInABoundedList(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		all := s.population(12)
		f := store.PaymentFilter{Domain: s.domain, DateField: "validate_date", From: now}
		for _, w := range []store.Window{{}, {Descending: true}, {Backward: true}, {Backward: true, Descending: true}} {
			w.Order, w.Limit, w.From = "validate_date", len(all), []any{nil, int64(all[0].ID)}
			listed, err := s.db.Payments(t.Context(), f, w, false)
			var got []passerelle.PaymentID
			for _, p := range listed {
				got = append(got, p.ID)
			}
			want := reference(all, f, w)
			if err != nil || !slices.Equal(got, want) || w.Backward != (len(want) > 0) {
				t.Errorf("%+v lists %v, want %v; %v", w, got, want, err)
			}
		}
	})
}

func TestListShowsWholePayments(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		for range 3 {
			s.create(s.everything(), now)
		}
		s.create(s.periodic(), now)
		for _, sensitive := range []bool{false, true} {
			listed, err := s.db.Payments(t.Context(), store.PaymentFilter{Domain: s.domain}, store.Window{Order: "id", Limit: 9}, sensitive)
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

// TestPagesHaveBoundedLines gives a payment as many instructions as a page may have, and then one
// more.
func TestPagesHaveBoundedLines(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1), now)
		page := func() error {
			_, err := s.db.Payments(t.Context(), store.PaymentFilter{Domain: s.domain}, store.Window{Order: "id", Limit: 2}, false)
			return err
		}
		more := func(lines int) {
			t.Helper()
			err := s.sql(`WITH RECURSIVE line (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM line WHERE n < $1),
				last AS (SELECT MAX(id) AS id, MAX(position) AS position FROM instruction)
				INSERT INTO instruction (id, payment_id, position, domain_id, reference_id, amount, label, beneficiary_scheme, beneficiary_identification, beneficiary_label, registered, new_beneficiary, new_reference)
				SELECT last.id + n, payment_id, last.position + n, domain_id, reference_id, amount, label, beneficiary_scheme, 'FR7630006000011234567890189', beneficiary_label, registered, FALSE, FALSE
				FROM instruction, line, last WHERE payment_id = $2 AND instruction.position = 0`, lines, int64(p.ID))
			if err != nil {
				t.Fatal(err)
			}
		}
		more(101*payment.MaxInstructions - 1)
		if err := page(); err != nil {
			t.Errorf("a page that is just small enough: %v", err)
		}
		more(1)
		wantError(t, page(), store.ErrManyLines)
	})
}

func TestUnknownOrderIsAnError(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		for _, order := range []string{"", "nothing", "id; DROP TABLE payment"} {
			if _, err := s.db.Payments(t.Context(), store.PaymentFilter{Domain: s.domain}, store.Window{Order: order, Limit: 1}, false); err == nil {
				t.Errorf("order %q is accepted", order)
			}
		}
		for _, f := range []store.PaymentFilter{{Domain: s.domain}, {Domain: s.domain, State: "done"}} {
			if _, err := s.db.Payments(t.Context(), f, store.Window{Order: store.LabelOrder, Limit: 1}, false); err == nil {
				t.Errorf("%+v is listed in the order of labels", f)
			}
		}
		if _, err := s.db.Payments(t.Context(), store.PaymentFilter{Domain: s.domain, LabelStart: "x"}, store.Window{Order: "id", Limit: 1}, false); err == nil {
			t.Error("a filter by label is listed in another order")
		}
	})
}

// TestCounterIsExact checks that the counter counts the committed payments, and no payment that was
// undone.
func TestCounterIsExact(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		for range 20 {
			s.create(draft(1), now)
		}
		undone := fmt.Errorf("undone")
		err := s.try(func(tx *store.Tx) error {
			p, first, err := payment.New(draft(1), payment.Policy{}, zeros{}, now)
			if err != nil {
				return err
			}
			p.Domain, p.Client = s.domain, s.alien // a client of the other domain, which the schema refuses
			return tx.CreatePayment(p, first)
		})
		wantError(t, err, store.ErrConstraint)
		wantError(t, s.try(func(tx *store.Tx) error { tx.Unit().Count(int64(s.domain), "payment", 1, 5); return undone }), undone)
		for domain, want := range map[passerelle.DomainID]int64{s.domain: 20, s.other: 0} {
			got, err := s.db.CountPayments(t.Context(), store.PaymentFilter{Domain: domain, DateField: "register_date"}, 1000)
			if err != nil || got != want {
				t.Errorf("domain %d counts %d, %v", domain, got, err)
			}
		}
		if rows := s.count(`SELECT count(*) FROM counter WHERE domain_id = $1`, int64(s.domain)); rows != database.CounterShards {
			t.Errorf("%d shards", rows)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
