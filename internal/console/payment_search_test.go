package console_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/payment"
)

var listedPayment = regexp.MustCompile(`/payments/(\d+)">\d+</a></th>`)

func listed(a answer) string {
	var ids []string
	for _, found := range listedPayment.FindAllStringSubmatch(a.body, -1) {
		ids = append(ids, found[1])
	}
	return strings.Join(ids, " ")
}

// line returns the first instruction of a draft.
func line(draft map[string]any) map[string]any {
	return draft["instructions"].([]any)[0].(map[string]any)
}

func (d *fixture) shop() (a, b, c int64) {
	d.t.Helper()
	token := d.Token("payments:admin")
	draft := servicetest.Draft()
	line(draft)["label"], line(draft)["reference_id"] = "Rent May", "MAY-1"
	a = d.Create(token, draft)
	draft = servicetest.Draft()
	line(draft)["label"], line(draft)["amount"] = "=cmd|rental", json.Number("99.00")
	line(draft)["beneficiary"] = map[string]any{"scheme_name": "iban", "identification": "DE89370400440532013000", "label": "@Vermieter"}
	draft["payer"] = map[string]any{"scheme_name": "iban", "identification": "FR7630006000011234567890189", "label": "Erika Mustermann"}
	draft["payer_identity"] = map[string]any{"kind": "individual", "first_name": "Erika", "last_name": "Mustermann", "email": "erika@home.example"}
	b = d.Create(token, draft)
	draft = servicetest.Draft()
	second := map[string]any{
		"amount": json.Number("1.00"), "currency": "EUR", "label": "rent June", "execution_date_type": "instant",
		"beneficiary": map[string]any{"scheme_name": "iban", "identification": "DE89370400440532013000", "label": "Shop"},
	}
	draft["instructions"] = append(draft["instructions"].([]any), second)
	c = d.Create(token, draft)
	_, err := d.Initiation.Validate(d.t.Context(), d.Domain, passerelle.PaymentID(c), initiation.Choice{
		Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before",
	})
	must(d.t, err)
	return a, b, c
}

func TestSearchingPayments(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		a, b, c := d.shop()
		ids := func(all ...int64) string { return strings.Trim(fmt.Sprint(all), "[]") }
		for query, want := range map[string]string{
			"":                               ids(c, b, a),
			"id=" + strconv.FormatInt(b, 10): ids(b),
			"reference=MAY-1":                ids(a),
			"reference=may-1":                "",
			"label=rent":                     ids(c, a),
			"label=RENT+may":                 ids(a),
			"label=%25":                      "",
			"state=validating":               ids(c),
			"beneficiary=3000":               ids(c, b),
			"beneficiary=DE89+3704+0044+0532+0130+00": ids(c, b),
			"payer=0189":                         ids(b),
			"payer=fr7630006000011234567890189":  ids(b),
			"payer=189":                          "",
			"least=50":                           ids(b),
			"least=12.50&most=13.50":             ids(c, a),
			"client=" + d.ClientID:               ids(c, b, a),
			"connector=none":                     ids(b, a),
			"connector=" + sandbox.TestConnector: ids(c),
			"country=FR&connector=" + sandbox.TestConnector: ids(c),
			"country=FR&connector=none":                     "",
			"type=instant&label=rent":                       ids(c, a),
			"type=deferred":                                 "",
			"code=bug":                                      "",
			"bank=nothing":                                  "",
			"website=nothing":                               "",
			"first=2000-01-01&last=2999-01-01":              ids(c, b, a),
			"date=validate_date&first=2000-01-01":           ids(c),
			"last=2000-01-01":                               "",
			"first=2000-01-01&last=2000-01-01":              "",
		} {
			got := d.get(d.domainPath("/payments?" + query))
			if got.status != http.StatusOK || !slices.Equal(sorted(listed(got)), sorted(want)) {
				t.Errorf("%s: %d lists %q, want %q", query, got.status, listed(got), want)
			}
		}
		for query, field := range map[string]string{
			"id=x": "Number", "id=-1": "Number", "state=x": "State", "code=x": "Error code", "connector=x": "Connector", "country=XX": "Country", "client=99": "Application", "client=x": "Application",
			"type=x": "Execution", "date=x": "Dates apply to", "first=x": "From", "last=2026-02-30": "To", "least=x": "Minimum amount", "most=0": "Maximum amount", "most=1.001": "Maximum amount",
			"first=2026-01-03&last=2026-01-02": "To", "least=3&most=2": "Maximum amount",
			"label=%00": "Label begins with", "payer=%ff": "Payer", "reference=" + strings.Repeat("x", 201): "End-to-end id",
		} {
			if got := d.get(d.domainPath("/payments?" + query)); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "<p>"+field) {
				t.Errorf("%s: %d, and no word about %s", query, got.status, field)
			}
		}
	})
}

// The link of a view for today lists the payments of the day on which an operator opens it.
func TestTodayIsTheDayOfTheRequest(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		simulated, clock := d.domainPath("/simulation"), d.domainPath("/simulation/clock")
		d.submit(simulated, clock, "freeze", "yes")
		old := fmt.Sprint(d.Create(d.Token("payments:admin"), servicetest.Draft()))
		link := regexp.MustCompile(`href="([^"]*/payments\?[^"]*)"[^>]*>Today<`)
		bookmark := html.UnescapeString(link.FindStringSubmatch(d.get(d.domainPath("/payments")).body)[1])
		if got := d.get(bookmark); listed(got) != old || !strings.Contains(got.body, `aria-current="page">Today<`) {
			t.Errorf("%s lists %q", bookmark, listed(got))
		}
		day := regexp.MustCompile(`name="first"[^>]* value="(\d{4}-\d\d-\d\d)"`)
		before := day.FindStringSubmatch(d.get(bookmark).body)
		d.submit(simulated, clock, "advance", "2d")
		fresh := fmt.Sprint(d.Create(d.Token("payments:admin"), servicetest.Draft()))
		got := d.get(bookmark)
		if after := day.FindStringSubmatch(got.body); listed(got) != fresh || before == nil || after == nil || after[1] <= before[1] {
			t.Errorf("two days later, %s lists %q from %q, want payment %s only", bookmark, listed(got), after, fresh)
		}
	})
}

func sorted(ids string) []string { return slices.Sorted(slices.Values(strings.Fields(ids))) }

// A list that is ordered by label has pages like other lists. The links between these pages keep
// the filter.
func TestSearchTurnsPages(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		token := d.Token("payments:admin")
		var want []string
		for n := range 51 {
			draft := servicetest.Draft()
			line(draft)["label"] = fmt.Sprintf("Series - %02d", n)
			want = append(want, strconv.FormatInt(d.Create(token, draft), 10))
		}
		first := d.get(d.domainPath("/payments?label=series&type=instant"))
		second := d.get(d.domainPath("/payments") + link(t, first, "next"))
		if diff := cmp.Diff(want, strings.Fields(listed(first)+" "+listed(second))); diff != "" {
			t.Error(diff)
		}
		if again := d.get(d.domainPath("/payments") + link(t, second, "prev")); listed(again) != listed(first) {
			t.Errorf("on the way back: %s", listed(again))
		}
		if !strings.Contains(link(t, first, "next"), "type=instant") {
			t.Error("the link forgets a field")
		}
		for _, place := range []string{"after=x", "after=-", "before=", "after=%00-1", "after=a-b", "after=1-"} {
			if a := d.get(d.domainPath("/payments?label=series&" + place)); a.status != http.StatusOK {
				t.Errorf("%s: %d", place, a.status)
			}
		}
	})
}

func (d *fixture) file(values ...string) (answer, [][]string) {
	d.t.Helper()
	a := d.submit(d.domainPath("/payments"), d.domainPath("/payments/file"), values...)
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if a.status == http.StatusOK {
		must(d.t, err)
	}
	return a, rows
}

func TestPaymentsAsAFile(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		a, b, c := d.shop()
		answered, rows := d.file()
		if kind := answered.header.Get("Content-Type"); kind != "text/csv; charset=utf-8" || !strings.HasPrefix(answered.header.Get("Content-Disposition"), `attachment; filename="payments-`) || answered.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v", answered.header)
		}
		var got []string
		for _, row := range rows[1:] {
			got = append(got, row[0]+" "+row[10]+" "+row[12]+" "+row[14]+" "+row[15]+" "+row[16])
		}
		want := []string{
			fmt.Sprint(c, " 1 12.50 Invoice 42 Shop FR76 **** 0189"), fmt.Sprint(c, " 2 1.00 rent June Shop DE89 **** 3000"),
			fmt.Sprint(b, " 1 99.00 '=cmd|rental '@Vermieter DE89 **** 3000"), fmt.Sprint(a, " 1 12.50 Rent May Shop FR76 **** 0189"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(answered.body, "DE89370400440532013000") || strings.Contains(answered.body, "Mustermann") {
			t.Error("the file has a whole account number or a name")
		}
		if whole, _ := d.file("whole", "1", "payer", "0189"); !strings.Contains(whole.body, "FR7630006000011234567890189") || strings.Contains(whole.body, "Rent May") {
			t.Errorf("with personal data: %d %s", whole.status, whole.body)
		}
		if _, rows := d.file("label", "rent", "state", "created"); len(rows) != 2 {
			t.Errorf("%d rows", len(rows))
		}
		if wrong, _ := d.file("state", "x"); wrong.status != http.StatusUnprocessableEntity {
			t.Errorf("a wrong field: %d", wrong.status)
		}
		if diff := cmp.Diff([]string{"export payments  0", "export personal data  0", "export payments  0"}, d.acts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestExportOfPersonalDataNeedsPermission(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.shop()
		if a, _ := d.file("whole", "1"); a.status != http.StatusForbidden {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := d.post(d.domainPath("/payments/file"), "same-origin", url.Values{}); a.status != http.StatusForbidden {
			t.Errorf("without a token: %d", a.status)
		}
		if d.acts() != nil || strings.Contains(d.get(d.domainPath("/payments")).body, `name="whole"`) {
			t.Errorf("on record: %v", d.acts())
		}
	})
}

// The file contains each payment once.
func TestLongPaymentExportIsReadInPages(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		token := d.Token("payments:admin")
		want := 2*100 + 1
		for range want {
			d.Create(token, servicetest.Draft())
		}
		_, rows := d.file()
		seen := map[string]bool{}
		for _, row := range rows[1:] {
			seen[row[0]] = true
		}
		if len(rows) != want+1 || len(seen) != want {
			t.Errorf("%d rows of %d payments", len(rows)-1, len(seen))
		}
	})
}

// planted creates a payment in a live domain. The payment's label, payer and client_state contain a
// person's name.
func (d *fixture) planted() passerelle.PaymentID {
	d.t.Helper()
	client, _, err := d.Access.Register(d.t.Context(), d.Domain.ID, "shop", []string{"https://shop.example/back"})
	must(d.t, err)
	made, err := d.Initiation.Create(d.t.Context(), d.Domain, initiation.Creation{By: client.ID, Draft: payment.Draft{
		ClientRedirectURI: "https://shop.example/back", ClientState: "erika@home.example",
		Payer: &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Erika Mustermann"},
		Instructions: []payment.Instruction{{
			Amount: passerelle.Money{Minor: 1250, Currency: "EUR"}, Label: "Gift for Erika", DateType: payment.FirstOpenDay,
			Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "DE89370400440532013000", Label: "Vermieter"},
		}},
	}})
	must(d.t, err)
	return made.ID
}

// In live domains, a search by personal data needs the right to reveal such data, and is recorded.
func TestSearchesByPersonalDataInLiveDomains(t *testing.T) {
	clock := newClock()
	servicetest.Each(t, servicetest.Options{Now: clock.now}, func(t *testing.T, s *servicetest.Instance) {
		live := newFixture(t, s).inLive()
		var ids []string
		for range 52 {
			ids = append(ids, fmt.Sprint(live.planted()))
		}
		searches := []string{"label=gift", "payer=0189", "payer=FR7630006000011234567890189", "beneficiary=3000", "beneficiary=DE89370400440532013000"}
		audited := func() int {
			t.Helper()
			all, err := operatorstore.From(s.DB).Audits(t.Context(), operatorstore.AuditFilter{Domain: live.Domain.ID}, store.Window{Limit: 1000})
			must(t, err)
			return len(slices.DeleteFunc(all, func(a operatorstore.AuditLink) bool { return a.Act != "search by personal data" }))
		}
		for _, role := range []operators.Role{operators.Viewer, operators.Developer} {
			d := newFixture(t, s)
			d.enterTwice(role, clock)
			live := d.inLive()
			for _, search := range searches {
				if got := live.get(live.domainPath("/payments?" + search)); got.status != http.StatusUnprocessableEntity || listed(got) != "" || !strings.Contains(got.body, "filters by personal data") {
					t.Errorf("%s, %s: %d lists %q", role, search, got.status, listed(got))
				}
			}
			page := live.get(live.domainPath("/payments/" + ids[0])).body
			for _, personal := range []string{"Erika", "erika@home", "Gift for", "FR7630006000011234567890189"} {
				if strings.Contains(page, personal) {
					t.Errorf("%s reads %q", role, personal)
				}
			}
			if form := live.get(live.domainPath("/payments")).body; strings.Contains(form, `name="label"`) || strings.Contains(form, `name="payer"`) {
				t.Errorf("%s is offered a search that is not theirs", role)
			}
		}
		if n := audited(); n != 0 {
			t.Errorf("%d searches are on record that were refused", n)
		}
		acting := newFixture(t, s)
		acting.enterTwice(operators.Acting, clock)
		live = acting.inLive()
		for _, search := range searches {
			if got := live.get(live.domainPath("/payments?" + search)); got.status != http.StatusOK || listed(got) == "" || strings.Contains(got.body, "data-live") {
				t.Errorf("%s: %d lists %q", search, got.status, listed(got))
			}
		}
		if n := audited(); n != len(searches) {
			t.Errorf("%d of %d searches are on record", n, len(searches))
		}
		first := live.get(live.domainPath("/payments?label=gift"))
		next := link(t, first, "next")
		if strings.Contains(strings.ToLower(next), "erika") || strings.Contains(next, "gift+for") {
			t.Errorf("a link has what the page masks: %s", next)
		}
		if second := live.get(live.domainPath("/payments") + next); len(strings.Fields(listed(second))) != 2 {
			t.Errorf("the second page lists %q", listed(second))
		}
	})
}

// searchResults calls planted, and adds the person's name to the bank's texts and to the evidence.
func (d *fixture) searchResults() int64 {
	d.t.Helper()
	p, err := d.DB.Payment(d.t.Context(), d.Domain.ID, d.planted(), true)
	must(d.t, err)
	p.ErrorDescription, p.Instructions[0].ErrorDescription = "Ask Erika", "Erika is not the holder"
	p.Notes = []payment.Note{{At: p.Created, Kind: payment.NoteSenseless, Actor: payment.ByBank, Bank: "RJCT", Text: "said of Erika"}}
	must(d.t, d.DB.Write(d.t.Context(), func(tx *store.Tx) error {
		if err := tx.UpdatePayment(p, nil, nil); err != nil {
			return err
		}
		return tx.Witness(payment.Evidence{
			Payment: p.ID, Domain: d.Domain.ID, Act: payment.ActOrder, Language: "fr",
			Shown: payment.ShownPayment{Application: "Boutique", From: "Compte d’Erika", Lines: []payment.ShownLine{{Name: "To Erika", Account: "DE89 3704", Amount: "12,50 €"}}},
		})
	}))
	return int64(p.ID)
}

// The pages and files about a payment in a live domain mask the person's name. An operator who may
// reveal the name must ask first.
func TestWhatNamesPeopleIsMaskedInLiveDomains(t *testing.T) {
	clock := newClock()
	servicetest.Each(t, servicetest.Options{Now: clock.now}, func(t *testing.T, s *servicetest.Instance) {
		id := newFixture(t, s).inLive().searchResults()
		viewer, acting := newFixture(t, s), newFixture(t, s)
		viewer.enterTwice(operators.Viewer, clock)
		acting.enterTwice(operators.Acting, clock)
		viewer, acting = viewer.inLive(), acting.inLive()
		list, file := viewer.domainPath("/payments"), viewer.domainPath("/payments/file")
		for name, a := range map[string]answer{
			"page": viewer.get(viewer.paymentPath(id)), "support file": viewer.get(viewer.paymentPath(id) + "/support"), "list": viewer.get(list),
			"file": viewer.submit(list, file), "page of one who may see it": acting.get(acting.paymentPath(id)), "file of one who may see it": acting.submit(list, file),
		} {
			if a.status != http.StatusOK || strings.Contains(strings.ToLower(a.body), "erika") {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		for form, want := range map[string]int{"label": http.StatusUnprocessableEntity, "payer": http.StatusUnprocessableEntity, "beneficiary": http.StatusUnprocessableEntity, "whole": http.StatusForbidden} {
			if a := viewer.submit(list, file, form, "0189"); a.status != want {
				t.Errorf("a file by %s: %d %s", form, a.status, a.body)
			}
		}
		shown := html.UnescapeString(acting.submit(acting.paymentPath(id), acting.paymentPath(id)+"/reveal").body)
		for _, text := range []string{"erika@home.example", "Gift for Erika", "Erika Mustermann", "Ask Erika", "Erika is not the holder", "said of Erika", "Compte d’Erika", "To Erika"} {
			if !strings.Contains(shown, text) {
				t.Errorf("who may see it does not see %q: %s", text, shown)
			}
		}
	})
}
