package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
)

var objectLink = regexp.MustCompile(`<a href="(/console/domains/\d+/[a-z]+/\d+[^"?]*)"`)

func linksIn(t *testing.T, body, group string) []string {
	t.Helper()
	_, section, found := strings.Cut(body, `aria-label="`+group+`"`)
	if !found {
		t.Errorf("there is no group %q", group)
	}
	section, _, _ = strings.Cut(section, "</section>")
	var all []string
	for _, link := range objectLink.FindAllStringSubmatch(section, -1) {
		if !slices.Contains(all, link[1]) {
			all = append(all, link[1])
		}
	}
	return all
}

// TestSearch checks that a search finds objects by the values that operators know.
func TestSearch(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		bad := newReceiver(t, 500, "no")
		hook := d.register("PAYMENT_STATE_UPDATED", bad.URL, nil)
		a, b, c := d.shop()
		user, token := d.user()
		connection := d.connect(token, "anna")
		data := number(t, d.deliveries(hook)[0]["id"])
		p := d.paymentPath
		for _, one := range []struct {
			query, group string
			paths        []string
			found        string
		}{
			{fmt.Sprint(a), "Payment by number", []string{p(a)}, "Number"},
			{"MAY-1", "Payments by end-to-end id", []string{p(a)}, "End-to-end id MAY-1"},
			{"rent", "Payments by beginning of the label", []string{p(c), p(a)}, "Label "},
			{"may", "Payments by words of label or beneficiary", []string{p(a)}, "Label "},
			{"RENTAL", "Payments by words of label or beneficiary", []string{p(b)}, "Label "},
			{"vermieter", "Payments by words of label or beneficiary", []string{p(b)}, "Beneficiary "},
			{"may, RENT shop", "Payments by words of label or beneficiary", []string{p(a)}, "Label "},
			{" Erika@Home.example", "Payments by e-mail address", []string{p(b)}, "E-mail address of the payer or a beneficiary"},
			{"FR76 3000 6000 0112 3456 7890 189", "Payments from an account", []string{p(b)}, "Payer's account FR"},
			{"0189", "Payments from an account", []string{p(b)}, "Payer's account FR"},
			{"3000", "Payments to an account", []string{p(c), p(b)}, "Beneficiary's account DE"},
			{"DE89370400440532013000", "Payments to an account", []string{p(c), p(b)}, "Beneficiary's account DE"},
			{fmt.Sprint(user), "Other objects with this number", []string{d.userPath(user, "")}, ""},
			{fmt.Sprint(connection), "Other objects with this number", []string{d.userPath(user, fmt.Sprint("/connections/", connection))}, ""},
			{fmt.Sprint(hook), "Other objects with this number", []string{d.webhookPath(hook)}, ""},
			{fmt.Sprint(data), "Other objects with this number", []string{d.dataPath(hook, data)}, ""},
			{d.ClientID, "Other objects with this number", []string{d.domainPath("/clients/" + d.ClientID)}, ""},
		} {
			body := d.shows(d.domainPath("/search?q="+url.QueryEscape(one.query)), []string{one.group}).body
			if one.found != "" && !strings.Contains(html.UnescapeString(body), "<td>"+one.found) {
				t.Errorf("%q is not said to be found in %q: %s", one.query, one.found, body)
			}
			found := linksIn(t, body, one.group)
			if diff := cmp.Diff(one.paths, found); diff != "" && strings.HasPrefix(one.group, "Payment") {
				t.Errorf("%q finds other payments (-want +got):\n%s", one.query, diff)
			}
			for _, path := range one.paths {
				if !slices.Contains(found, path) {
					t.Errorf("%q does not find %s in %q: %s", one.query, path, one.group, body)
				}
			}
		}
		d.shows(d.domainPath("/search?q="), []string{"Type what you are looking for"}, "<table")
		for _, query := range []string{"nothing like it", "999999999999", "%", "' OR 1=1 --", "-1", "0", "<b>"} {
			d.shows(d.domainPath("/search?q="+url.QueryEscape(query)), []string{"Nothing found"}, "<table", "<b>")
		}
		for _, query := range []string{strings.Repeat("x", 201), "\x00", "\xff"} {
			if got := d.get(d.domainPath("/search?q=" + url.QueryEscape(query))); got.status != http.StatusUnprocessableEntity {
				t.Errorf("%q is answered with %d", query, got.status)
			}
		}
	})
}

// TestSearchHasFive checks that a search shows five of many results, with a link to all results.
func TestSearchHasFive(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		token := d.Token("payments:admin")
		for range 6 {
			draft := servicetest.Draft()
			line(draft)["label"] = "Many of them"
			d.Create(token, draft)
		}
		a := d.shows(d.domainPath("/search?q=many"), []string{`href="` + d.domainPath("/payments?label=many") + `"`})
		if n := rows(a); n != 5 {
			t.Errorf("%d rows", n)
		}
		for range 51 {
			draft := servicetest.Draft()
			line(draft)["label"] = "One of many"
			d.Create(token, draft)
		}
		some, complete := d.shows(d.domainPath("/search?q=one+many"), nil), d.domainPath("/search?all=&q=one+many")
		if n := rows(some); n != 5 || !strings.Contains(html.UnescapeString(some.body), `href="`+complete+`"`) {
			t.Errorf("%d rows with two words: %s", n, some.body)
		}
		first := d.shows(complete, []string{`rel="next"`}, `rel="prev"`)
		next := html.UnescapeString(regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(first.body)[1])
		if n := rows(first); n != 50 {
			t.Errorf("the list has %d rows", n)
		}
		second := d.shows(d.domainPath("/search"+next), nil)
		if n := rows(second); n != 1 {
			t.Errorf("the second page has %d rows", n)
		}
		const group = "Payments by words of label or beneficiary"
		if all := append(linksIn(t, first.body, group), linksIn(t, second.body, group)...); len(all) != 51 || slices.Contains(all[:50], all[50]) {
			t.Errorf("the pages do not have each of 51 payments once: %v", all)
		}
	})
}

// TestSearchInBulkPayments checks that a search finds the words and the e-mail address of the last
// of 101 instructions.
func TestSearchInBulkPayments(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		draft := servicetest.Draft()
		line(draft)["label"] = "Remboursement frais de voyage agence nord"
		draft["instructions"] = slices.Repeat(draft["instructions"].([]any), 100)
		last := servicetest.Draft()
		line(last)["label"] = "Lyon"
		line(last)["beneficiary"].(map[string]any)["label"] = "Dupont"
		line(last)["beneficiary_identity"] = map[string]any{"kind": "individual", "first_name": "Jeanne", "last_name": "Dupont", "email": "jeanne@home.example"}
		draft["instructions"] = append(draft["instructions"].([]any), line(last))
		id := d.Create(d.Token("payments:admin"), draft)
		for query, group := range map[string]string{
			"lyon voyage": "Payments by words of label or beneficiary", "dupont": "Payments by words of label or beneficiary", "jeanne@home.example": "Payments by e-mail address",
		} {
			body := d.shows(d.domainPath("/search?q="+url.QueryEscape(query)), []string{group}).body
			if found := linksIn(t, body, group); !slices.Equal(found, []string{d.paymentPath(id)}) {
				t.Errorf("%q finds %v", query, found)
			}
		}
	})
}

// TestSearchInLiveDomains checks that only operators who may reveal personal data can search in it.
func TestSearchInLiveDomains(t *testing.T) {
	clock := newClock()
	servicetest.Each(t, servicetest.Options{Now: clock.now}, func(t *testing.T, s *servicetest.Instance) {
		id := newFixture(t, s).inLive().planted()
		recorded := func(d *fixture) (n int) {
			all, err := operatorstore.From(s.DB).Audits(t.Context(), operatorstore.AuditFilter{Domain: d.Domain.ID}, store.Window{Limit: 100})
			must(t, err)
			for _, one := range all {
				if one.Act == "search by personal data" {
					n++
				}
			}
			return n
		}
		for role, sees := range map[operators.Role]bool{operators.Viewer: false, operators.Developer: false, operators.Acting: true} {
			d := newFixture(t, s)
			d.enterTwice(role, clock)
			live := d.inLive()
			before := recorded(live)
			for _, query := range []string{"gift", "0189", "3000"} {
				body := live.get(live.domainPath("/search?q=" + query)).body
				if found := strings.Contains(body, fmt.Sprintf("/payments/%d", id)); found != sees {
					t.Errorf("%s finds by %s: %t", role, query, found)
				}
				if strings.Contains(body, "Erika") || strings.Contains(body, "Gift for") {
					t.Errorf("%s reads what pages mask", role)
				}
			}
			want := before
			if sees {
				want += 3
			}
			if got := recorded(live); got != want {
				t.Errorf("%s: %d searches are on record, want %d", role, got-before, want-before)
			}
			live.shows(live.domainPath(fmt.Sprint("/search?q=", id)), []string{"Payment by number"})
		}
	})
}

func TestNeedsAttention(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.shows(d.domainPath(""), []string{"Nothing needs attention. Payments, webhooks and banks work as they should.", "No payments yet"})
		bad := newReceiver(t, 500, "no")
		hook := d.register("PAYMENT_STATE_UPDATED", bad.URL, nil)
		d.pay()
		_, token := d.user()
		d.connect(token, "down")
		d.connect(token, "otp")
		body := d.shows(d.domainPath(""), []string{
			fmt.Sprintf("Webhook %d (PAYMENT_STATE_UPDATED): the last request failed", hook), "1 event waits. The service retries each one.", `href="` + d.webhookPath(hook) + `"`,
			"1 connection cannot be read", "Bank not reachable. The service retries automatically.", "/connections?state=retry",
			"1 connection waits for its user", "Bank asks the user. Ask the user to open the webview again.", "/connections?state=user",
			"Payments by hour",
		}, "Nothing needs attention. Payments").body
		if strings.Count(body, "<article") != 3 {
			t.Errorf("there is more: %s", body)
		}
		w, err := d.DB.Webhooks(t.Context(), store.WebhookFilter{Domain: d.Domain.ID, Failing: true}, store.Window{Limit: 10})
		must(t, err)
		if len(w) != 1 || int64(w[0].ID) != hook {
			t.Errorf("failing are %+v", w)
		}
	})
}

// TestIrreversibleActsAreConfirmed checks that a page with the amount asks before an act that
// nobody can undo.
func TestIrreversibleActsAreConfirmed(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		confirm := d.paymentPath(id) + "/confirm?act=" + url.QueryEscape("cancel payment")
		d.shows(d.paymentPath(id), []string{"The payer has not chosen a bank yet.", "/confirm?act=cancel%20payment"})
		d.shows(confirm, []string{"Cancel payment?", "12.50 EUR", "This cannot be undone."})
		if got := d.state(id); got != "created" {
			t.Errorf("to ask makes the payment %s", got)
		}
		for _, act := range []string{"simulate payment", "refuse payment", "", "nothing"} {
			if a := d.get(d.paymentPath(id) + "/confirm?act=" + url.QueryEscape(act)); a.location != d.paymentPath(id) {
				t.Errorf("%q is asked about: %d %s", act, a.status, a.location)
			}
		}
		if a := d.submit(confirm, d.paymentPath(id), "act", "cancel payment"); a.status != http.StatusSeeOther {
			t.Errorf("cancel: %d", a.status)
		}
		d.shows(d.paymentPath(id), []string{"CancelledByClient", "The application cancelled."})
	})
}

// A search for a number with a plus sign or leading zeros finds no payment by number. Four digits
// find accounts first.
func TestNumbersInTheSearch(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		for _, query := range []string{fmt.Sprint("0", id), fmt.Sprint("%2B", id), fmt.Sprint("000", id)} {
			d.shows(d.domainPath("/search?q="+query), []string{"Search"}, "Payment by number")
		}
		d.shows(d.domainPath(fmt.Sprint("/search?q=", id)), []string{"Payment by number"})
		draft := servicetest.Draft()
		for _, line := range draft["instructions"].([]any) {
			line.(map[string]any)["beneficiary"].(map[string]any)["identification"] = "DE89370400440532013000"
			line.(map[string]any)["label"], line.(map[string]any)["reference_id"] = "3000", "3000"
		}
		d.Create(d.Token("payments:admin"), draft)
		body := d.shows(d.domainPath("/search?q=3000"), []string{"Payments to an account", "Payments by end-to-end id"}).body
		if strings.Index(body, "Payments to an account") > strings.Index(body, "Payments by end-to-end id") {
			t.Errorf("accounts are not first: %s", body)
		}
	})
}
