package berlingroup_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"passerelle"
)

// offsetBank lists entries without ids, newest first, on pages of two. The parameter from is a
// position in the list at the time of the request, so a new entry shifts the later pages. The bank
// calls the function change before each page except the first.
type offsetBank struct {
	entries []string
	change  func(*offsetBank)
	pages   int
}

func (b *offsetBank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.pages++
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	if from > 0 && b.change != nil {
		b.change(b)
	}
	to, next := min(from+2, len(b.entries)), ""
	if to < len(b.entries) {
		next = fmt.Sprintf("/v1/accounts/A1/transactions?from=%d", to)
	}
	fmt.Fprint(w, page(b.entries[min(from, to):to], nil, next))
}

func (b *offsetBank) book(text string) { b.entries = append([]string{offsetEntry(text)}, b.entries...) }

func offsetEntry(text string) string { return line("2026-03-01", "2026-03-01", "-1.00", text) }

// TestPagesThatShift: an entry without an id has one key although it moves to the next page during
// a read. When the pages shift in every pass, the read may omit entries, but contains no entry
// twice.
func TestPagesThatShift(t *testing.T) {
	once := func(texts ...string) func(*offsetBank) {
		return func(b *offsetBank) {
			for _, text := range texts {
				b.book(text)
			}
			b.change = nil
		}
	}
	number := 0
	always := func(b *offsetBank) {
		if number++; number%3 == 0 {
			b.book(fmt.Sprint("always ", number))
		}
	}
	for name, test := range map[string]struct {
		change func(*offsetBank)
		pages  int // of the read, or 0 for any number
	}{
		"pages at rest":               {nil, 3},
		"a new entry between pages":   {once("new"), 0},
		"two new ones":                {once("new", "new"), 0},
		"one equal to a listed entry": {once("alike"), 0},
		"no rest":                     {always, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bank := &offsetBank{change: test.change}
			for _, text := range []string{"a", "b", "c", "alike", "alike"} {
				bank.book(text)
			}
			readable := newReadable(t)
			reader := readable.reader()
			readable.list(bank.ServeHTTP)
			_, got, err := reader.read(true)
			if err != nil {
				t.Fatal(err)
			}
			left := map[string]int{}
			for _, entry := range bank.entries {
				left[entry]++
			}
			for _, row := range got.rows {
				left[offsetEntry(row.Wording)]--
			}
			restless, missing := test.change != nil && bank.change != nil, 0
			for entry, n := range left {
				if missing += max(n, 0); n < 0 || n > 0 && !restless {
					t.Errorf("%s: %d rows are missing", entry, n)
				}
			}
			if restless && len(got.rows) < 5 {
				t.Errorf("%d rows, %d missing", len(got.rows), missing)
			}
			if test.pages > 0 && bank.pages != test.pages {
				t.Errorf("%d pages were read", bank.pages)
			}
			for _, from := range got.ended {
				if from.Compare(passerelle.DateOf(noon.Add(24*time.Hour), time.UTC)) > 0 {
					t.Errorf("the read is complete since %s", from)
				}
			}
		})
	}
}

// TestEqualEntriesThatVanish: two equal entries are on two pages of the first pass, and a later
// pass does not list them. The connector must then read another pass, because the two passes
// disagree.
func TestEqualEntriesThatVanish(t *testing.T) {
	bank := &offsetBank{}
	for _, text := range []string{"a", "b", "c", "alike", "alike"} {
		bank.book(text)
	}
	bank.change = func(b *offsetBank) {
		b.book("new")
		b.change = func(b *offsetBank) {
			b.entries = slices.DeleteFunc(b.entries, func(entry string) bool { return entry == offsetEntry("alike") })
			b.change = nil
		}
	}
	readable := newReadable(t)
	reader := readable.reader()
	readable.list(bank.ServeHTTP)
	if _, _, err := reader.read(true); err != nil || bank.pages != 3+2+2 {
		t.Errorf("%d pages were read (%v), want three passes", bank.pages, err)
	}
}
