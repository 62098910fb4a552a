package statementfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/statementfile"
)

// generated is an account with random entries. The number of the account seeds the random
// generator.
type generated struct {
	statementfile.Written
	entries []statementfile.StatementEntry
}

var (
	words      = []string{"Loyer", "novembre", "Café du Parc", "VIR SEPA", "<&>", "a;b,\"c\"", "ß€ño", "?20:61:", "-", "O'Neil", "facture-2026/11"}
	currencies = []passerelle.Currency{"EUR", "EUR", "CHF", "JPY", "TND"}
	kinds      = []passerelle.TransactionType{"transfer", "card", "order", "check", "unknown", "withdrawal", ""}
)

func french(n int) string {
	bban := fmt.Sprintf("3000600001%011d", n)
	key := 97 - (89*30006+15*1+3*n)%97
	bban += fmt.Sprintf("%02d", key)
	rest := 0
	for _, digit := range bban + "152700" {
		rest = (rest*10 + int(digit-'0')) % 97
	}
	return fmt.Sprintf("FR%02d%s", 98-rest, bban)
}

func amount(r *rand.Rand, c passerelle.Currency) decimal.Decimal {
	most := []int64{10, 1000, 1_000_000, 99_999_999_999}[r.IntN(4)]
	return decimal.MustNew(r.Int64N(2*most+1)-most, c.Digits())
}

func sentence(r *rand.Rand) string {
	var some []string
	for range r.IntN(12) {
		some = append(some, words[r.IntN(len(words))])
	}
	return strings.Join(some, " ")
}

func generate(t *testing.T, n int) generated {
	t.Helper()
	r := rand.New(rand.NewPCG(22, uint64(n)))
	currency := currencies[r.IntN(len(currencies))]
	day := passerelle.DateOf(time.Date(2019, 12, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, r.IntN(4000)), time.UTC)
	g := generated{Written: statementfile.Written{
		FileStatement: statementfile.FileStatement{ID: fmt.Sprintf("%d-1", n), Account: statementfile.StatementAccount{IBAN: french(n), Currency: currency, Type: "checking", Name: sentence(r)}, From: day, Created: time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)},
	}}
	balance := amount(r, currency)
	g.Opening = &statementfile.StatementBalance{Date: day.AddDays(-1), Amount: balance}
	for i := range r.IntN(13) {
		day = day.AddDays(r.IntN(20))
		e := statementfile.StatementEntry{Booked: day, Amount: amount(r, currency), Reference: fmt.Sprintf("%d-%d", n, i), Wording: sentence(r), Type: kinds[r.IntN(len(kinds))]}
		if r.IntN(2) == 0 {
			e.Value = day.AddDays(r.IntN(7) - 3)
		}
		if r.IntN(3) == 0 {
			e.Name, e.Number = words[r.IntN(len(words))], french(r.IntN(1000))
		}
		var err error
		if balance, err = balance.Add(e.Amount); err != nil {
			t.Fatal(err)
		}
		g.entries = append(g.entries, e)
	}
	g.To = day
	g.Closing = &statementfile.StatementBalance{Date: day, Amount: balance}
	g.Entries = g.each
	return g
}

func (g *generated) each(yield func(statementfile.StatementEntry, error) bool) {
	for _, e := range g.entries {
		if !yield(e, nil) {
			return
		}
	}
}

func movements(r iter.Seq2[statementfile.Record, error]) ([]string, *statementfile.FileStatement, error) {
	var all []string
	var last *statementfile.FileStatement
	for record, err := range r {
		if err != nil {
			return all, last, err
		}
		last = record.Statement
		if e := record.Entry; e != nil {
			all = append(all, fmt.Sprintf("%s %s %s %s", e.Booked, e.Value, e.Amount.Trim(0), e.Reference))
		}
	}
	return all, last, nil
}

// TestWrittenStatementsAreRead checks that reading a written statement returns its days, amounts,
// references and balances, as far as the format contains them.
func TestWrittenStatementsAreRead(t *testing.T) {
	const accounts = 10_000
	for _, format := range []statementfile.Format{statementfile.CAMT, statementfile.MT940, statementfile.CFONB, statementfile.OFX, statementfile.CSV} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			entries := 0
			for n := range accounts {
				g := generate(t, n+1)
				entries += len(g.entries)
				if diff := g.lost(t, format); diff != "" {
					t.Fatalf("account %d: %s", n+1, diff)
				}
			}
			t.Logf("%d accounts with %d entries", accounts, entries)
		})
	}
}

func (g *generated) lost(t *testing.T, format statementfile.Format) string {
	t.Helper()
	var file bytes.Buffer
	if err := statementfile.Write(&file, format, g.Written); err != nil {
		return err.Error()
	}
	if format == statementfile.CSV && len(g.entries) == 0 {
		return ""
	}
	got, s, err := movements(statementfile.Read(&file, nil))
	if err != nil {
		return err.Error() + "\n" + file.String()
	}
	var want []string
	for _, e := range g.entries {
		if format == statementfile.MT940 && e.Value.IsZero() {
			e.Value = e.Booked
		}
		want = append(want, fmt.Sprintf("%s %s %s %s", e.Booked, e.Value, e.Amount.Trim(0), e.Reference))
	}
	diff := ""
	if !slices.Equal(want, got) {
		diff = cmp.Diff(want, got)
	}
	iban := s.Account.IBAN
	if format == statementfile.CFONB {
		iban = g.Account.IBAN[:4] + s.Account.Number + g.Account.IBAN[25:]
	}
	if iban != g.Account.IBAN || s.Account.Currency != g.Account.Currency {
		diff += fmt.Sprintf("the account is %+v", s.Account)
	}
	if format != statementfile.OFX && (s.Opening == nil || !s.Opening.Amount.Equal(g.Opening.Amount)) || s.Closing == nil || !s.Closing.Amount.Equal(g.Closing.Amount) {
		diff += fmt.Sprintf("the balances are %v %v, want %v %v", s.Opening, s.Closing, g.Opening, g.Closing)
	}
	return diff
}

// The customer's reference in MT940 does not change the bank's reference after it.
func TestMT940References(t *testing.T) {
	g := generate(t, 3)
	entry := g.entries[0]
	g.entries, g.Entries, entry.Reference = nil, g.each, "R1"
	want := []string{"INVOICE/2026/11", "A/B", "A/B", "/A", "", "", "A"}
	for _, endToEnd := range []string{"INVOICE/2026/11/15", "A//B", "A///B", "//A/", "/", "ß", "A /"} {
		entry.EndToEnd = endToEnd
		g.entries = append(g.entries, entry)
	}
	var file bytes.Buffer
	if err := statementfile.Write(&file, statementfile.MT940, g.Written); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r, err := range statementfile.Read(&file, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Entry == nil {
			continue
		}
		if got = append(got, r.Entry.EndToEnd); r.Entry.Reference != entry.Reference {
			t.Errorf("reference %q after %q", r.Entry.Reference, g.entries[len(got)-1].EndToEnd)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Field 86 has at most six lines of 65 characters, even when all texts are long.
func TestMT940Information(t *testing.T) {
	g := generate(t, 3)
	entry := g.entries[0]
	g.entries, g.Entries = nil, g.each
	for _, wording := range []string{"Rent", strings.Repeat("Invoice - ", 40), strings.Repeat("-", 300)} {
		entry.Wording, entry.Name, entry.Number = wording, strings.Repeat("Parking ", 8), strings.Repeat("7", 34)
		g.entries = append(g.entries, entry)
	}
	var file bytes.Buffer
	if err := statementfile.Write(&file, statementfile.MT940, g.Written); err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Split(file.String(), ":86:")[1:] {
		text, _, _ := strings.Cut(field, "\r\n:")
		for _, line := range strings.Split(text, "\r\n") {
			if len(line) > 65 {
				t.Errorf("a line of %d characters", len(line))
			}
		}
		if lines := strings.Count(text, "\r\n") + 1; lines > 6 {
			t.Errorf("%d lines:\n%s", lines, text)
		}
	}
	for r, err := range statementfile.Read(&file, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e := r.Entry; e != nil && (e.Name != strings.TrimSpace(strings.Repeat("Parking ", 6)+"Parkin") || e.Number != strings.Repeat("7", 34) || len(e.Wording) < 4) {
			t.Errorf("read %+v", e)
		}
	}
}

// Write refuses unknown formats, missing values and values that do not fit the format. If Entries
// yields an error, Write returns it.
func TestWriteRefused(t *testing.T) {
	failure := errors.New("no more")
	for name, c := range map[string]struct {
		format statementfile.Format
		change func(g *generated)
		want   string
	}{
		"format":      {"xls", func(*generated) {}, `no format "xls"`},
		"balance":     {statementfile.CAMT, func(g *generated) { g.Opening = nil }, "a balance is missing"},
		"account":     {statementfile.CAMT, func(g *generated) { g.Account.IBAN = "" }, "the account has no number"},
		"not French":  {statementfile.CFONB, func(g *generated) { g.Account.IBAN = "DE89370400440532013000" }, "accounts in France only"},
		"long amount": {statementfile.CFONB, func(g *generated) { g.Closing.Amount = decimal.MustParse("100000000000000000") }, "amounts of at most 14 digits"},
		"opening":     {statementfile.CFONB, func(g *generated) { g.Opening.Amount = decimal.MustParse("100000000000000000") }, "amounts of at most 14 digits"},
		"day":         {statementfile.CFONB, func(g *generated) { g.Closing.Date = g.Closing.Date.AddDays(40_000) }, "the years 1960 to 2059"},
		"value day":   {statementfile.CFONB, func(g *generated) { g.entries[0].Value = g.entries[0].Booked.AddDays(40_000) }, "the years 1960 to 2059"},
		"number":      {statementfile.CFONB, func(g *generated) { g.Account.IBAN, g.Account.Number = "", strings.Repeat("a", 21) }, "accounts in France only"},
		"MT amount":   {statementfile.MT940, func(g *generated) { g.Closing.Amount = decimal.MustParse("1000000000000000") }, "amounts of at most 15"},
		"MT value":    {statementfile.MT940, func(g *generated) { g.entries[0].Value = g.entries[0].Booked.AddDays(40_000) }, "the years 1980 to 2079"},
		"MT year":     {statementfile.MT940, func(g *generated) { g.Closing.Date = g.Closing.Date.AddDays(40_000) }, "the years 1980 to 2079"},
	} {
		g := generate(t, 3)
		c.change(&g)
		err := statementfile.Write(&bytes.Buffer{}, c.format, g.Written)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if unfit, is := errors.AsType[*statementfile.UnfitError](err); is == slices.Contains([]string{"format", "balance", "account"}, name) || is && unfit.First.IsZero() == strings.Contains(c.want, "years") {
			t.Errorf("%s: unfit %t, %+v", name, is, unfit)
		}
	}
	for _, format := range []statementfile.Format{statementfile.CAMT, statementfile.MT940, statementfile.CFONB, statementfile.OFX, statementfile.CSV} {
		g := generate(t, 3)
		g.Entries = func(yield func(statementfile.StatementEntry, error) bool) {
			yield(statementfile.StatementEntry{}, failure)
		}
		if err := statementfile.Write(&bytes.Buffer{}, format, g.Written); !errors.Is(err, failure) {
			t.Errorf("%s: %v, want that of the entries", format, err)
		}
	}
}
