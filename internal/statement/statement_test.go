package statement_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/cfonb"
	"passerelle/internal/statement"
	"passerelle/webhook"
)

const oneConnection = `0130006    00001EUR2 12345678901  171126                                                  0000000005000{                
0430006    00001EUR2 1234567890105181126  181126VIR SEPA ATELIER DU NORD         0000001000000000019940{9002            
0530006    00001EUR2 1234567890105181126     LIBSALAIRE NOVEMBRE 2026                                                   
0430006    00001EUR2 1234567890128201126  201126CARTE 19/11 CAFE DE LA GARE      0000002000000000000128L9001            
0730006    00001EUR2 12345678901  201126                                                  0000000024811G                
`

// TestSamples makes statements from the samples of three events. The service can send only these
// events as statements.
func TestSamples(t *testing.T) {
	for event, want := range map[webhook.Event]struct {
		text    string
		omitted int
	}{
		webhook.AccountFound:     {"", 1},
		webhook.ConnectionSynced: {oneConnection, 1},
		webhook.UserSynced:       {oneConnection, 1},
	} {
		text, omitted, err := statement.Of(webhook.Sample(event))
		if diff := cmp.Diff(want.text, string(text)); diff != "" || omitted != want.omitted || err != nil || text == nil {
			t.Errorf("%s: %d omitted, %v %s", event, omitted, err, diff)
		}
	}
}

const base = `"id":1,"iban":"FR7630006000011234567890189","currency":{"id":"EUR"},"balance":1.50,"last_update":"2026-11-20 09:15:04"`

func onlyStatement(t *testing.T, members string) (cfonb.Statement, int) {
	t.Helper()
	text, omitted, err := statement.Of([]byte(`{"connection":{"accounts":[{` + base + members + `}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range cfonb.Parse(strings.NewReader(string(text))) {
		if err != nil {
			t.Fatal(err)
		}
		return s, omitted
	}
	return cfonb.Statement{}, omitted
}

func TestWhatAStatementCarries(t *testing.T) {
	s, _ := onlyStatement(t, `,"transactions":[
		{"id":3,"value":-0.5,"date":"2026-11-21","wording":"after the update","type":"bank"},
		{"id":2,"value":9,"date":"2026-11-20","coming":true},
		{"id":4,"value":9,"date":"2026-11-20","deleted":"2026-11-20 00:00:00"},
		{"id":1,"value":1.250,"date":"2026-11-10","vdate":"2026-11-12","original_wording":"first","wording":"other"}]`)
	day := func(text string) passerelle.Date {
		d, err := passerelle.ParseDate("day", text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	want := cfonb.Statement{
		Line:    1,
		Account: cfonb.Account{Bank: "30006", Branch: "00001", Number: "12345678901", Currency: "EUR", Decimals: 2},
		Opened:  day("2026-11-09"), Closed: day("2026-11-21"), Balance: 150,
		Movements: []cfonb.Movement{
			{Line: 2, Operation: "91", Booked: day("2026-11-10"), Value: day("2026-11-12"), Amount: 125, Label: "FIRST", Entry: 1, Reference: "1"},
			{Line: 3, Operation: "62", Booked: day("2026-11-21"), Amount: -50, Label: "AFTER THE UPDATE", Entry: 2, Reference: "3"},
		},
	}
	if diff := cmp.Diff(want, s, cmp.Comparer(func(a, b passerelle.Date) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// TestEarlierMovements checks that a statement leaves out the movements of earlier statements.
func TestEarlierMovements(t *testing.T) {
	text, _, err := statement.Of([]byte(`{"connection":{"accounts":[{`+base+`,"transactions":[{"id":1,"value":1,"date":"2026-11-20"},{"id":2,"value":2,"date":"2026-11-20"}]}]}}`), 1)
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range cfonb.Parse(strings.NewReader(string(text))) {
		if err != nil || len(s.Movements) != 1 || s.Movements[0].Reference != "2" {
			t.Errorf("%v %+v", err, s)
		}
	}
}

// TestDecimals checks that an amount with more decimals than its currency is not rounded.
func TestDecimals(t *testing.T) {
	s, _ := onlyStatement(t, `,"transactions":[{"id":1,"value":-0.00012,"date":"2026-11-20"}]`)
	if s.Account.Decimals != 5 || s.Balance != 150000 || s.Movements[0].Amount != -12 {
		t.Errorf("%+v", s)
	}
}

func TestWhatIsOmitted(t *testing.T) {
	for name, members := range map[string]string{
		"disabled": `,"disabled":"2026-11-20 00:00:00"`, "gone": `,"deleted":"2026-11-20 00:00:00"`,
		"no IBAN": `,"iban":null`, "German": `,"iban":"DE89370400440532013000"`, "wrong IBAN": `,"iban":"FR7630006000011234567890188"`,
		"no balance": `,"balance":null`, "never updated": `,"last_update":null`, "no currency": `,"currency":null`,
	} {
		if s, omitted := onlyStatement(t, members); omitted != 1 || s.Account.Bank != "" {
			t.Errorf("%s: %d omitted, %+v", name, omitted, s)
		}
	}
	for _, empty := range []string{`{"connection":{}}`, `{"connection":null,"connections":[]}`, `{"connections":[{},{"accounts":[]}]}`} {
		if text, omitted, err := statement.Of([]byte(empty)); string(text) != "" || text == nil || omitted != 0 || err != nil {
			t.Errorf("%s: %q, %d, %v", empty, text, omitted, err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	account := func(members string) string { return `{"connections":[{"accounts":[{` + base + members + `}]}]}` }
	for name, body := range map[string]string{
		"accounts that are none":  `{"connection":{"accounts":"all"}}`,
		"balance that is text":    account(`,"balance":"much"`),
		"balance with exponent":   account(`,"balance":1e3`),
		"balance of 15 digits":    account(`,"balance":1234567890123.45`),
		"ten decimals":            account(`,"balance":0.0000000001`),
		"value that is none":      account(`,"transactions":[{"id":1,"date":"2026-11-20"}]`),
		"value with exponent":     account(`,"transactions":[{"id":1,"value":-1e-2,"date":"2026-11-20"}]`),
		"no date":                 account(`,"transactions":[{"id":1,"value":1}]`),
		"date and time":           account(`,"transactions":[{"id":1,"value":1,"date":"2026-11-20 10:00:00"}]`),
		"value day that is none":  account(`,"transactions":[{"id":1,"value":1,"date":"2026-11-20","vdate":"soon"}]`),
		"date in another century": account(`,"transactions":[{"id":1,"value":1,"date":"1826-11-20"}]`),
		"old balance too large":   account(`,"balance":999999999999.99,"transactions":[{"id":1,"value":-0.01,"date":"2026-11-20"}]`),
		"updated some time":       account(`,"last_update":"today"`),
		"currency of digits":      account(`,"currency":{"id":"123"}`),
	} {
		text, _, err := statement.Of([]byte(body))
		var refusal *passerelle.Error
		if !errors.As(err, &refusal) || refusal.Kind != passerelle.Invalid || refusal.Field != "data" || text != nil || strings.Contains(err.Error(), "FR76") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
