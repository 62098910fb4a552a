package berlingroup_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"passerelle"
)

func (b *readable) tells(booked, pending []string) { b.list(answers(200, page(booked, pending, ""))) }

// reads makes a read one day after the last read, and checks that the read is complete.
func (r *bankReader) reads() *taken {
	r.t.Helper()
	r.now = r.now.AddDate(0, 0, 1)
	o, got, err := r.read(false)
	if err != nil || o.State != "" || len(got.ended) != 1 {
		r.t.Fatalf("%+v, %v, %d accounts read", o, err, len(got.ended))
	}
	return got
}

func party(line, name, number string) string {
	return strings.TrimSuffix(line, "}") + fmt.Sprintf(`, "creditorName": %q, "creditorAccount": {"iban": %q}}`, name, number)
}

// TestBookedWithOtherWords checks when a transaction without an id keeps its key although the bank
// books it with a different text or on a different day.
func TestBookedWithOtherWords(t *testing.T) {
	rent := line("2026-02-20", "2026-02-20", "-2.50", "Rent")
	pending := func(amount, text string) string { return line("", "2026-03-02", amount, text) }
	booked := func(amount, text string) string { return line("2026-03-05", "2026-03-04", amount, text) }
	for name, test := range map[string]struct {
		before, after []string
		// kept is the number of keys that stay, without that of the rent.
		kept int
	}{
		"another text":                {[]string{pending("-2.50", "Coffee shop")}, []string{booked("-2.50", "CARD 4711 COFFEE 02.03.")}, 1},
		"another sum":                 {[]string{pending("-2.50", "Coffee shop")}, []string{booked("-2.60", "Coffee shop")}, 0},
		"other words":                 {[]string{pending("-2.50", "Coffee shop")}, []string{booked("-2.50", "Bakery")}, 0},
		"no text while it is pending": {[]string{pending("-2.50", "")}, []string{booked("-2.50", "Bakery")}, 1},
		"two without a text":          {[]string{pending("-2.50", ""), pending("-2.50", "")}, []string{booked("-2.50", "Bakery"), booked("-2.50", "Fuel")}, 0},
		"another party": {
			[]string{party(pending("-2.50", "Order"), "Shop", "DE1")}, []string{party(booked("-2.50", "Order 1"), "Shop", "DE2")}, 0,
		},
		"several alike": {
			[]string{pending("-2.50", "Coffee"), pending("-2.50", "Coffee"), pending("-2.50", "Tea")},
			[]string{booked("-2.50", "Paid: tea"), booked("-2.50", "Paid: coffee"), booked("-2.50", "Paid: coffee")},
			3,
		},
		"one of two": {
			[]string{pending("-2.50", "Coffee"), pending("-2.50", "Coffee")}, []string{booked("-2.50", "Paid: coffee"), pending("-2.50", "Coffee")}, 2,
		},
		"one that stays as it is": {
			[]string{pending("-2.50", "Coffee"), pending("-2.50", "Coffee")}, []string{booked("-2.50", "Paid: coffee"), line("2026-03-05", "2026-03-02", "-2.50", "Coffee")}, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bank := newReadable(t)
			reader := bank.reader()
			bank.tells([]string{rent}, test.before)
			before := reader.reads()
			done, waiting := []string{rent}, []string{}
			for _, one := range test.after {
				if strings.Contains(one, "bookingDate") {
					done = append(done, one)
				} else {
					waiting = append(waiting, one)
				}
			}
			for range 3 { // repeated reads keep the keys
				bank.tells(done, waiting)
				after := reader.reads()
				kept := slices.DeleteFunc(before.keys(), func(key string) bool { _, there := after.rows[key]; return !there })
				if len(after.rows) != 1+len(test.after) || after.sent != len(after.rows) || len(kept) != 1+test.kept {
					t.Fatalf("%d of %d are kept, %d rows of %d: before\n%q, after\n%q", len(kept)-1, test.kept, len(after.rows), after.sent, before.keys(), after.keys())
				}
			}
			// A new pending transaction with the content of the first one is a different transaction.
			bank.tells(done, append(waiting, test.before[0]))
			if after := reader.reads(); len(after.rows) != 2+len(test.after) {
				t.Errorf("%d rows with one more", len(after.rows))
			}
		})
	}
}

// TestBookedBefore checks that an already booked transaction does not take the key of a pending
// transaction that disappears, even if both have the same sum and a common word.
func TestBookedBefore(t *testing.T) {
	bank := newReadable(t)
	reader := bank.reader()
	monday, tuesday := line("2026-03-02", "2026-03-02", "-2.50", "Coffee Monday"), line("", "2026-03-03", "-2.50", "Coffee Tuesday")
	bank.tells([]string{monday}, []string{tuesday})
	before := reader.reads()
	for range 2 {
		bank.tells([]string{monday}, nil)
		if after := reader.reads(); len(after.rows) != 1 || !slices.Contains(before.keys(), after.keys()[0]) || after.rows[after.keys()[0]].Wording != before.rows[after.keys()[0]].Wording {
			t.Errorf("the names were\n%q and are\n%q", before.keys(), after.keys())
		}
	}
	bank.tells([]string{monday, line("2026-03-05", "2026-03-04", "-2.50", "CARD COFFEE TUESDAY")}, nil)
	if after := reader.reads(); !slices.Equal(before.keys(), after.keys()) {
		t.Errorf("booked, the names are\n%q, not\n%q", after.keys(), before.keys())
	}
}

// TestBookedDaysLater: a transaction keeps its key even if the bank omits it for some days and the
// consent is renewed in between.
func TestBookedDaysLater(t *testing.T) {
	bank := newReadable(t)
	reader := bank.reader()
	bank.tells(nil, []string{line("", "2026-03-02", "-80.00", "Hotel Adler")})
	before := reader.reads()
	bank.tells(nil, nil)
	if gone := reader.reads(); len(gone.rows) != 0 {
		t.Fatalf("%q", gone.keys())
	}
	bank.answer = answers(http.StatusUnauthorized, `{"tppMessages": [{"category": "ERROR", "code": "CONSENT_INVALID"}]}`)
	for _, present := range []bool{false, true} {
		if o, _, err := reader.read(present); o.State != passerelle.WebauthRequired || err != nil {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	bank.tells([]string{line("2026-03-06", "2026-03-06", "-80.00", "ADLER 22 CARD")}, nil)
	for range 2 {
		if after := reader.reads(); !slices.Equal(before.keys(), after.keys()) {
			t.Errorf("the names were\n%q and are\n%q", before.keys(), after.keys())
		}
	}
}

// TestBookedWithAnID: when only booked transactions have ids, the connector reads everything while
// a transaction is pending, so that it stores no transaction twice.
func TestBookedWithAnID(t *testing.T) {
	bank := newReadable(t, "[profile.accounts]", "[profile.accounts]\nhistory_days = 365\ntransaction_ids = true\ndelta_list = true", "sca =", "calls_a_day = 100\nsca =")
	reader := bank.reader()
	bank.tells([]string{`{"transactionId": "T1", "bookingDate": "2026-02-27", "transactionAmount": {"currency": "EUR", "amount": "-9.00"}}`}, []string{line("", "2026-03-02", "-9.00", "Coffee")})
	before := reader.reads()
	entry := `{"transactionId": "T2", "bookingDate": "2026-03-04", "remittanceInformationUnstructured": "Coffee shop", "transactionAmount": {"currency": "EUR", "amount": "-9.00"}}`
	first := `{"transactionId": "T1", "bookingDate": "2026-02-27", "transactionAmount": {"currency": "EUR", "amount": "-9.00"}}`
	for _, want := range []string{"dateFrom=", "deltaList=true", "deltaList=true"} {
		bank.tells([]string{first, entry}, nil)
		after := reader.reads()
		if query := bank.asked[len(bank.asked)-1].URL.RawQuery; !strings.Contains(query, want) {
			t.Errorf("the bank is asked for %s, want %s", query, want)
		}
		if !slices.Equal(before.keys(), after.keys()) {
			t.Errorf("the names were\n%q and are\n%q", before.keys(), after.keys())
		}
	}
}

// TestMuchIsPending: the memory has at most 100,000 bytes for 5000 pending transactions, and no
// transaction is lost or stored twice.
func TestMuchIsPending(t *testing.T) {
	bank := newReadable(t)
	reader := bank.reader()
	var pending, booked []string
	for i := range 5000 {
		pending = append(pending, line("", "2026-03-02", "-1.00", fmt.Sprintf("Coffee %d", i)))
		booked = append(booked, line("2026-03-04", "2026-03-04", "-1.00", fmt.Sprintf("Coffee %d paid", i)))
	}
	bank.tells(nil, pending)
	if got := reader.reads(); len(got.rows) != 5000 || len(reader.memory) > 100_000 {
		t.Errorf("%d rows, and %d bytes are remembered", len(got.rows), len(reader.memory))
	}
	bank.tells(booked, nil)
	first := reader.reads()
	second := reader.reads()
	if len(first.rows) != 5000 || first.sent != 5000 || !maps.EqualFunc(first.rows, second.rows, func(a, b passerelle.TransactionDetails) bool { return a.Wording == b.Wording }) {
		t.Errorf("%d and %d rows of %d", len(first.rows), len(second.rows), first.sent)
	}
	if len(reader.memory) > 100_000 {
		t.Errorf("%d bytes are remembered", len(reader.memory))
	}
}
