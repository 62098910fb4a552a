package testbank_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/testbank/bank"
)

func wish(changes map[string]any) map[string]any {
	body := map[string]any{
		"access": map[string]any{"allPsd2": "allAccounts"}, "recurringIndicator": true, "validUntil": "9999-12-31",
		"frequencyPerDay": 4, "combinedServiceIndicator": false,
	}
	maps.Copy(body, changes)
	return body
}

// consent gets a consent from Anna, and returns the headers that use it.
func (w *fixture) consent(name string, body map[string]any) headers {
	w.t.Helper()
	p, _ := bank.ProfileNamed(name)
	created := w.call(201, "POST", w.address(name, "v1/consents"), body, present(nil))
	use := headers{"Consent-ID": created.text("consentId")}
	if p.SCA[0] == bank.OAuth {
		use["Authorization"] = "Bearer " + w.tokenFor(p, created.link("scaOAuth"), "AIS:"+created.text("consentId"), approves).access
		return use
	}
	w.authorise(p, created, approves)
	return use
}

func with(h headers, more headers) headers {
	all := maps.Clone(h)
	maps.Copy(all, more)
	return all
}

// TestConsentsOfEveryProfile checks that a third party can obtain and end each kind of consent at
// every bank that offers the kind.
func TestConsentsOfEveryProfile(t *testing.T) {
	w := newFixture(t)
	for _, p := range bank.Profiles() {
		for _, kind := range p.Consents {
			for _, does := range []answers{approves, refuses, nothing} {
				t.Run(strings.Join([]string{p.Name, kind, string(does)}, " "), func(t *testing.T) {
					defer w.within(t)()
					consentOf(w, p, kind, does)
				})
			}
		}
	}
}

func consentOf(w *fixture, p bank.Profile, kind string, does answers) {
	mine := []any{map[string]any{"iban": w.mine(p.Name)}}
	access := map[string]map[string]any{
		bank.Global:    {"accounts": []any{}, "balances": []any{}, "transactions": []any{}},
		bank.Detailed:  {"balances": mine, "transactions": mine},
		bank.Available: {"availableAccounts": "allAccounts"},
		bank.AllPSD2:   {"allPsd2": "allAccountsWithOwnerName"},
	}[kind]
	created := w.call(201, "POST", w.address(p.Name, "v1/consents"), wish(map[string]any{"access": access}), present(nil))
	status := func() string {
		w.t.Helper()
		return w.call(200, "GET", w.address(p.Name, created.link("status")), nil, nil).text("consentStatus")
	}
	if got := status(); got != "received" {
		w.t.Errorf("a new consent is %s", got)
	}
	w.authorise(p, created, does)
	if does == nothing {
		w.pass(p.Name, "25h")
	}
	want := map[answers]string{approves: "valid", refuses: "rejected", nothing: "rejected"}[does]
	if got := status(); got != want {
		w.t.Errorf("the consent is %s, want %s", got, want)
	}
	w.call(204, "DELETE", w.address(p.Name, created.link("self")), nil, nil)
	if got := status(); does == approves && got != "terminatedByTpp" {
		w.t.Errorf("after the third party ended it, the consent is %s", got)
	}
}

// TestConsentsShowWhatTheyAreFor checks that each kind of consent gives access to exactly the data
// that it covers.
func TestConsentsShowWhatTheyAreFor(t *testing.T) {
	w := newFixture(t, "redirect")
	mine := []any{map[string]any{"iban": w.mine("redirect")}}
	for _, c := range []struct {
		name                   string
		access                 map[string]any
		accounts, cards        int
		balances, transactions int
		owner                  bool
	}{
		{"everything", map[string]any{"allPsd2": "allAccountsWithOwnerName"}, 2, 1, 200, 200, true},
		{"a list of the bank's", map[string]any{"accounts": []any{}, "transactions": []any{}}, 2, 1, 401, 200, false},
		{"balances of one", map[string]any{"balances": mine}, 1, 0, 200, 401, false},
		{"one, without more", map[string]any{"accounts": mine}, 1, 0, 401, 401, false},
		{"the list", map[string]any{"availableAccounts": "allAccounts"}, 2, 1, 401, 401, false},
		{"the list with balances", map[string]any{"availableAccountsWithBalance": "allAccounts"}, 2, 1, 200, 401, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer w.within(t)()
			use := with(w.consent("redirect", wish(map[string]any{"access": c.access})), headers{"PSU-IP-Address": "192.0.2.7"})
			list := w.call(200, "GET", w.address("redirect", "v1/accounts?withBalance=true"), nil, use)
			accounts, _ := list.at("accounts").([]any)
			cards, _ := w.call(200, "GET", w.address("redirect", "v1/card-accounts"), nil, use).at("cardAccounts").([]any)
			if len(accounts) != c.accounts || len(cards) != c.cards {
				t.Errorf("%d accounts and %d cards, want %d and %d", len(accounts), len(cards), c.accounts, c.cards)
			}
			if owner := list.text("accounts", 0, "ownerName"); (owner != "") != c.owner {
				t.Errorf("the owner is %q", owner)
			}
			if shown := list.at("accounts", 0, "balances") != nil; shown != (c.balances == 200) {
				t.Errorf("the list shows balances: %v", shown)
			}
			one := "v1/accounts/anna-current"
			w.call(200, "GET", w.address("redirect", one), nil, use)
			w.call(c.balances, "GET", w.address("redirect", one+"/balances"), nil, use)
			w.call(c.transactions, "GET", w.address("redirect", one+"/transactions?bookingStatus=both&dateFrom="+today(w)), nil, use)
			w.refused(401, "CONSENT_INVALID", "GET", w.address("redirect", "v1/accounts/bert-current"), nil, use)
			w.refused(404, "RESOURCE_UNKNOWN", "GET", w.address("redirect", "v1/accounts/none"), nil, use)
		})
	}
}

func today(w *fixture) string { return w.steer("GET", "redirect/clock", nil).text("now")[:10] }

// TestWrongConsentsAreRefused checks that the bank refuses each consent request that has one error.
func TestWrongConsentsAreRefused(t *testing.T) {
	w := newFixture(t, "redirect", "old")
	without := func(name string) map[string]any { body := wish(nil); delete(body, name); return body }
	access := func(a map[string]any) map[string]any { return wish(map[string]any{"access": a}) }
	for _, c := range []struct {
		name, bank string
		body       any
		headers    headers
		code       string
	}{
		{"no customer", "redirect", wish(nil), headers{"PSU-IP-Address": ""}, "FORMAT_ERROR"},
		{"no access", "redirect", without("access"), nil, "FORMAT_ERROR"},
		{"no recurringIndicator", "redirect", without("recurringIndicator"), nil, "FORMAT_ERROR"},
		{"no validUntil", "redirect", without("validUntil"), nil, "FORMAT_ERROR"},
		{"no frequencyPerDay", "redirect", without("frequencyPerDay"), nil, "FORMAT_ERROR"},
		{"no combinedServiceIndicator", "redirect", without("combinedServiceIndicator"), nil, "FORMAT_ERROR"},
		{"yesterday", "redirect", wish(map[string]any{"validUntil": "2020-01-01"}), nil, "FORMAT_ERROR"},
		{"never a day", "redirect", wish(map[string]any{"frequencyPerDay": 0}), nil, "FORMAT_ERROR"},
		{"once, four times", "redirect", wish(map[string]any{"recurringIndicator": false}), nil, "FORMAT_ERROR"},
		{"nothing", "redirect", access(map[string]any{}), nil, "FORMAT_ERROR"},
		{"two kinds", "redirect", access(map[string]any{"allPsd2": "allAccounts", "availableAccounts": "allAccounts"}), nil, "FORMAT_ERROR"},
		{"some accounts", "redirect", access(map[string]any{"allPsd2": "someAccounts"}), nil, "FORMAT_ERROR"},
		{"an account of nobody", "redirect", access(map[string]any{"balances": []any{map[string]any{"iban": iban}}}), nil, "RESOURCE_UNKNOWN"},
		{"a kind the bank does not have", "old", access(map[string]any{"availableAccounts": "allAccounts"}), nil, "PARAMETER_NOT_SUPPORTED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer w.within(t)()
			w.refused(400, c.code, "POST", w.address(c.bank, "v1/consents"), c.body, present(c.headers))
		})
	}
}

func TestConsentsEnd(t *testing.T) {
	for _, c := range []struct {
		name, code string
		end        func(*fixture, headers)
	}{
		{"it expires", "CONSENT_EXPIRED", func(w *fixture, _ headers) { w.pass("redirect", "181d") }},
		{"another replaces it", "CONSENT_EXPIRED", func(w *fixture, _ headers) { w.consent("redirect", wish(nil)) }},
		{"the customer revokes it", "CONSENT_INVALID", func(w *fixture, use headers) {
			w.steer("POST", "redirect/consents/"+use["Consent-ID"]+"/revoke", nil)
		}},
		{"the third party ends it", "CONSENT_INVALID", func(w *fixture, use headers) {
			w.call(204, "DELETE", w.address("redirect", "v1/consents/"+use["Consent-ID"]), nil, nil)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t, "redirect")
			use := w.consent("redirect", wish(nil))
			w.call(200, "GET", w.address("redirect", "v1/accounts"), nil, use)
			c.end(w, use)
			w.refused(401, c.code, "GET", w.address("redirect", "v1/accounts"), nil, use)
		})
	}
}

func TestUnattendedCallsAreCounted(t *testing.T) {
	w := newFixture(t, "redirect")
	use := w.consent("redirect", wish(nil))
	present := with(use, headers{"PSU-IP-Address": "192.0.2.7"})
	statement := "/transactions?bookingStatus=booked&dateFrom=" + today(w)
	for _, path := range []string{"v1/accounts", "v1/accounts/anna-current/balances", "v1/accounts/anna-savings/balances", "v1/accounts/anna-current" + statement} {
		address := w.address("redirect", path)
		for range 4 {
			w.call(200, "GET", address, nil, use)
		}
		w.refused(429, "ACCESS_EXCEEDED", "GET", address, nil, use)
		w.call(200, "GET", address, nil, present)
	}
	w.pass("redirect", "24h")
	w.call(200, "GET", w.address("redirect", "v1/accounts"), nil, use)
	w.refused(400, "FORMAT_ERROR", "GET", w.address("redirect", "v1/accounts"), nil, nil)
	w.refused(403, "CONSENT_UNKNOWN", "GET", w.address("redirect", "v1/accounts"), nil, headers{"Consent-ID": "none"})
}

// TestTokensOfOrders checks when calls about an order need the order's token. Calls need no token
// until the third party has the token. After that, the bank refuses calls without the token.
func TestTokensOfOrders(t *testing.T) {
	w := newFixture(t, "oauth")
	p, _ := bank.ProfileNamed("oauth")
	first := w.call(201, "POST", w.address("oauth", single), order(nil), present(nil))
	calls := []struct{ method, address string }{
		{"GET", first.link("self")}, {"GET", first.link("status")}, {"GET", first.link("self") + "/authorisations"}, {"GET", first.link("scaStatus")},
	}
	for _, one := range calls {
		w.call(200, one.method, w.address("oauth", one.address), nil, nil)
	}
	w.authorise(p, first, approves)
	for _, one := range append(calls, struct{ method, address string }{"DELETE", first.link("self")}) {
		w.refused(401, "TOKEN_UNKNOWN", one.method, w.address("oauth", one.address), nil, headers{"Authorization": ""})
		w.refused(401, "TOKEN_UNKNOWN", one.method, w.address("oauth", one.address), nil, headers{"Authorization": "Bearer none"})
	}
	for _, one := range calls {
		w.call(200, one.method, w.address("oauth", one.address), nil, nil)
	}
}

// TestTokensOfConsents checks when calls about the authorisations of a consent need the consent's
// token. Calls need no token until the third party has the token. After that, the bank refuses
// calls without the token.
func TestTokensOfConsents(t *testing.T) {
	w := newFixture(t, "oauth")
	p, _ := bank.ProfileNamed("oauth")
	created := w.call(201, "POST", w.address("oauth", "v1/consents"), wish(nil), present(nil))
	list := w.address("oauth", created.link("self")+"/authorisations")
	one := list + "/" + w.call(200, "GET", list, nil, nil).text("authorisationIds", 0)
	w.call(200, "GET", one, nil, nil)
	token := w.tokenFor(p, created.link("scaOAuth"), "AIS:"+created.text("consentId"), approves).access
	other := w.consent("oauth", wish(map[string]any{"recurringIndicator": false, "frequencyPerDay": 1}))
	for _, address := range []string{list, one} {
		w.refused(401, "TOKEN_UNKNOWN", "GET", address, nil, headers{"Authorization": ""})
		w.refused(401, "TOKEN_INVALID", "GET", address, nil, headers{"Authorization": other["Authorization"]})
		w.call(200, "GET", address, nil, headers{"Authorization": "Bearer " + token})
	}
	w.refused(401, "TOKEN_UNKNOWN", "POST", list, nil, headers{"Authorization": ""})
	w.refused(401, "TOKEN_UNKNOWN", "PUT", one, map[string]any{}, headers{"Authorization": ""})
}

// TestTokensAreChecked checks that the bank that uses OAuth refuses missing, unknown, foreign and
// expired tokens.
func TestTokensAreChecked(t *testing.T) {
	w := newFixture(t, "oauth")
	use, other := w.consent("oauth", wish(nil)), w.consent("oauth", wish(map[string]any{"recurringIndicator": false, "frequencyPerDay": 1}))
	accounts := w.address("oauth", "v1/accounts")
	w.call(200, "GET", accounts, nil, use)
	w.refused(401, "TOKEN_UNKNOWN", "GET", accounts, nil, with(use, headers{"Authorization": ""}))
	w.refused(401, "TOKEN_UNKNOWN", "GET", accounts, nil, with(use, headers{"Authorization": "Bearer none"}))
	w.refused(401, "TOKEN_INVALID", "GET", accounts, nil, with(use, headers{"Authorization": other["Authorization"]}))
	w.pass("oauth", "2h")
	w.refused(401, "TOKEN_EXPIRED", "GET", accounts, nil, use)
}

func entries(r reply) []string {
	var all []string
	for _, group := range []string{"booked", "pending"} {
		list, _ := r.at("transactions", group).([]any)
		for i := range list {
			all = append(all, r.text("transactions", group, i, "remittanceInformationUnstructured"))
		}
	}
	return all
}

// walk reads all pages. Before each further page or download, it calls the function `between`.
func (w *fixture) walk(name, query string, use headers, between func()) []string {
	w.t.Helper()
	var all []string
	address := w.address(name, "v1/accounts/anna-current/transactions?"+query)
	for address != "" {
		r := w.call(200, "GET", address, nil, use)
		if download := r.link("download"); download != "" {
			between()
			r = w.call(200, "GET", w.address(name, download), nil, use)
		}
		all = append(all, entries(r)...)
		if address = r.text("transactions", "_links", "next", "href"); address != "" {
			address = w.address(name, address)
			between()
		}
	}
	return all
}

// While a third party reads the pages of a long report, entries arrive and pending entries are
// booked. TestPagesStayRight checks that the report shows all entries that existed before the first
// page, each once, and no later entry.
func TestPagesStayRight(t *testing.T) {
	w := newFixture(t, "redirect", "old", "idempotent")
	for _, name := range []string{"redirect", "old", "idempotent"} {
		account := name + "/accounts/anna-current/"
		w.steer("POST", account+"fill", map[string]any{"count": 450, "text": "Booked", "number": true})
		status := "booked"
		if name != "old" {
			status = "both"
			w.steer("POST", account+"fill", map[string]any{"count": 60, "text": "Pending", "number": true, "pending": true})
		}
		var want []string
		for i := range 450 {
			want = append(want, fmt.Sprintf("Booked %d", i+1))
		}
		for i := 0; i < 60 && name != "old"; i++ {
			want = append(want, fmt.Sprintf("Pending %d", i+1))
		}
		use := w.consent(name, wish(nil))
		query := "bookingStatus=" + status + "&dateFrom=" + w.steer("GET", name+"/clock", nil).text("now")[:10]
		got := w.walk(name, query, use, func() {
			w.steer("POST", account+"fill", map[string]any{"count": 7, "text": "Late"})
			w.steer("POST", account+"book", nil)
		})
		got = slices.DeleteFunc(got, func(text string) bool { return text == "Opening balance" })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d transactions, want %d: %v", name, len(got), len(want), got)
		}
		w.right(name)
	}
}

// TestPendingPagesStayRight checks that the pages of pending entries do not change while these
// entries are booked.
func TestPendingPagesStayRight(t *testing.T) {
	w := newFixture(t, "redirect")
	const account = "redirect/accounts/anna-current/"
	w.steer("POST", account+"fill", map[string]any{"count": 250, "text": "Pending", "pending": true})
	got := w.walk("redirect", "bookingStatus=pending&dateFrom="+today(w), w.consent("redirect", wish(nil)), func() {
		w.steer("POST", account+"book", nil)
	})
	if len(got) != 250 {
		t.Errorf("%d transactions were pending, want 250", len(got))
	}
}

// TestDeltas checks that a delta report shows the entries that are newer than the last report or
// than a named entry.
func TestDeltas(t *testing.T) {
	w := newFixture(t, "redirect", "old")
	use := with(w.consent("redirect", wish(nil)), headers{"PSU-IP-Address": "192.0.2.7"})
	const account = "redirect/accounts/anna-current/"
	address := w.address("redirect", "v1/accounts/anna-current/transactions?bookingStatus=both&")
	if got := entries(w.call(200, "GET", address+"deltaList=true", nil, use)); !slices.Equal(got, []string{"Opening balance"}) {
		t.Errorf("the first delta has %v", got)
	}
	w.steer("POST", account+"fill", map[string]any{"text": "Pending", "pending": true})
	first := w.call(200, "GET", address+"deltaList=true", nil, use)
	if got := entries(first); !slices.Equal(got, []string{"Pending"}) {
		t.Errorf("the second delta has %v", got)
	}
	if got := entries(w.call(200, "GET", address+"deltaList=true", nil, use)); got != nil {
		t.Errorf("a delta of nothing has %v", got)
	}
	w.steer("POST", account+"book", nil)
	booked := w.call(200, "GET", address+"deltaList=true", nil, use)
	if got := booked.text("transactions", "booked", 0, "transactionId"); got == "" || got != first.text("transactions", "pending", 0, "transactionId") {
		t.Errorf("what was booked is not what was pending: %s", booked.raw)
	}
	w.steer("POST", account+"fill", map[string]any{"text": "Later"})
	reference := booked.text("transactions", "booked", 0, "entryReference")
	if got := entries(w.call(200, "GET", address+"entryReferenceFrom="+reference, nil, use)); !slices.Equal(got, []string{"Later"}) {
		t.Errorf("after %s there is %v", reference, got)
	}
	w.refused(400, "RESOURCE_UNKNOWN", "GET", address+"entryReferenceFrom=E9999", nil, use)
	one := w.call(200, "GET", w.address("redirect", "v1/accounts/anna-current/transactions/"+booked.text("transactions", "booked", 0, "transactionId")), nil, use)
	if one.text("transactionsDetails", "remittanceInformationUnstructured") != "Pending" {
		t.Errorf("the transaction alone is %s", one.raw)
	}
}

// TestWrongReportsAreRefused checks that the bank refuses each report request that has one error.
func TestWrongReportsAreRefused(t *testing.T) {
	w := newFixture(t, "redirect", "old")
	for _, c := range []struct {
		bank, code string
		query      url.Values
	}{
		{"redirect", "FORMAT_ERROR", url.Values{"dateFrom": {today(w)}}},
		{"redirect", "FORMAT_ERROR", url.Values{"bookingStatus": {"some"}, "dateFrom": {today(w)}}},
		{"redirect", "FORMAT_ERROR", url.Values{"bookingStatus": {"both"}}},
		{"redirect", "FORMAT_ERROR", url.Values{"bookingStatus": {"both"}, "dateFrom": {"yesterday"}}},
		{"redirect", "FORMAT_ERROR", url.Values{"bookingStatus": {"both"}, "dateFrom": {today(w)}, "dateTo": {"x"}}},
		{"redirect", "FORMAT_ERROR", url.Values{"bookingStatus": {"both"}, "deltaList": {"x"}}},
		{"redirect", "FORMAT_ERROR", url.Values{"cursor": {"x"}}},
		{"redirect", "PERIOD_INVALID", url.Values{"bookingStatus": {"both"}, "dateFrom": {today(w)}, "dateTo": {"2026-01-01"}}},
		{"redirect", "PERIOD_INVALID", url.Values{"bookingStatus": {"both"}, "dateFrom": {"2001-01-01"}}},
		{"redirect", "PARAMETER_NOT_SUPPORTED", url.Values{"bookingStatus": {"information"}, "dateFrom": {today(w)}}},
		{"redirect", "PARAMETER_NOT_CONSISTENT", url.Values{"bookingStatus": {"both"}, "deltaList": {"true"}, "entryReferenceFrom": {"E1"}}},
		{"old", "PARAMETER_NOT_SUPPORTED", url.Values{"bookingStatus": {"both"}, "dateFrom": {today(w)}}},
		{"old", "PARAMETER_NOT_SUPPORTED", url.Values{"bookingStatus": {"booked"}, "deltaList": {"true"}}},
		{"old", "PARAMETER_NOT_SUPPORTED", url.Values{"bookingStatus": {"booked"}, "entryReferenceFrom": {"E1"}}},
	} {
		use := with(w.consent(c.bank, wish(nil)), headers{"PSU-IP-Address": "192.0.2.7"})
		w.refused(400, c.code, "GET", w.address(c.bank, "v1/accounts/anna-current/transactions?"+c.query.Encode()), nil, use)
	}
}

func TestStatementsOfPastDays(t *testing.T) {
	w := newFixture(t, "redirect", "statements")
	for ago, amount := range map[int]string{10: "100.00", 1: "50.00"} {
		w.steer("POST", "statements/accounts/anna-current/fill", map[string]any{"amount": amount, "days_ago": ago})
	}
	now, err := time.Parse(time.DateOnly, today(w))
	if err != nil {
		t.Fatal(err)
	}
	first, last := now.AddDate(0, 0, -20), now.AddDate(0, 0, -5)
	address := w.address("statements", "v1/accounts/anna-current/transactions?bookingStatus=booked&dateFrom="+first.Format(time.DateOnly)+"&dateTo="+last.Format(time.DateOnly))
	use := with(w.consent("statements", wish(nil)), headers{"PSU-IP-Address": "192.0.2.7"})
	for media, wanted := range map[string][]string{
		"application/xml": {
			`<Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">0.00</Amt>`,
			`<Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">100.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>` + last.Format(time.DateOnly),
		},
		"text/plain": {"EUR0,00\r\n:61:", ":62F:C" + last.Format("060102") + "EUR100,00"},
	} {
		r := w.call(200, "GET", address, nil, with(use, headers{"Accept": media}))
		for _, text := range wanted {
			if !strings.Contains(string(r.raw), text) {
				t.Errorf("%s has no %s: %s", media, text, r.raw)
			}
		}
	}
}

// TestLongNamesInMT940 checks that field 86 has parts of at most 27 characters, and no question
// mark within a part.
func TestLongNamesInMT940(t *testing.T) {
	w := newFixture(t, "redirect", "statements")
	use := with(w.consent("statements", wish(nil)), headers{"PSU-IP-Address": "192.0.2.7", "Accept": "text/plain"})
	p, _ := bank.ProfileNamed("statements")
	first := w.call(201, "POST", w.address("statements", single), order(map[string]any{
		"debtorAccount": map[string]any{"iban": w.mine("statements")}, "creditorName": "Lake? Side Trading Company and Sons of the Northern Shore Limited",
	}), present(nil))
	w.authorise(p, first, approves)
	day := today(w) // the clock may pass midnight
	w.pass("statements", "2h")
	r := w.call(200, "GET", w.address("statements", "v1/accounts/anna-current/transactions?bookingStatus=booked&dateFrom="+day), nil, use)
	if want := "?32Lake  Side Trading Company ?33and Sons of the Northern Sh\r\n"; !strings.Contains(string(r.raw), want) {
		t.Errorf("the statement has no %q: %s", want, r.raw)
	}
}

func TestTransfersShowOnBothStatements(t *testing.T) {
	w := newFixture(t, "redirect")
	use := with(w.consent("redirect", wish(nil)), headers{"PSU-IP-Address": "192.0.2.7"})
	savings := w.steer("GET", "redirect/accounts?customer=anna", nil).text("accounts", 2, "number")
	p, _ := bank.ProfileNamed("redirect")
	first := w.call(201, "POST", w.address("redirect", single), order(map[string]any{
		"debtorAccount": map[string]any{"iban": w.mine("redirect")}, "creditorAccount": map[string]any{"iban": savings},
	}), present(nil))
	w.authorise(p, first, approves)
	day := today(w) // the clock may pass midnight
	for _, step := range []struct{ by, group, status string }{{"0s", "pending", "ACSP"}, {"2h", "booked", "ACCC"}} {
		w.pass("redirect", step.by)
		if got := w.call(200, "GET", first.link("status"), nil, nil).text("transactionStatus"); got != step.status {
			t.Errorf("the order is %s, want %s", got, step.status)
		}
		for account, want := range map[string]string{"anna-current": "-12.50", "anna-savings": "12.50"} {
			r := w.call(200, "GET", w.address("redirect", "v1/accounts/"+account+"/transactions?bookingStatus="+step.group+"&dateFrom="+day), nil, use)
			if got := r.text("transactions", step.group, 0, "transactionAmount", "amount"); got != want {
				t.Errorf("%s has %s %q, want %s: %s", account, step.group, got, want, r.raw)
			}
		}
	}
	balances := w.call(200, "GET", w.address("redirect", "v1/accounts/anna-current/balances"), nil, use)
	if got := balances.text("balances", 0, "balanceAmount", "amount"); got != "24987.50" {
		t.Errorf("the balance is %s", got)
	}
	w.right("redirect")
}
