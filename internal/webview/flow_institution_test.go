package webview_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/access"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// institutionConnector is a test institution.
type institutionConnector struct {
	profile connector.Profile
	read    func(req connector.DataRequest, out connector.Sink) (connector.Outcome, error)
}

func (i institutionConnector) Profile() connector.Profile { return i.profile }

func (i institutionConnector) Read(_ context.Context, req connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	return i.read(req, out)
}

// newInstitutionConnector returns an institution in some countries.
func newInstitutionConnector(id int64, name string, countries ...string) institutionConnector {
	return institutionConnector{
		profile: connector.Profile{
			UUID: fmt.Sprintf("00000000-0000-4000-8000-%012d", id), ID: id, Name: name, Countries: countries, Sandbox: true,
			Sources: []connector.Source{{ID: id * 10, Name: "directaccess", Mechanisms: []passerelle.AuthMechanism{passerelle.ByCredentials}}},
			Data:    &connector.DataSettings{Capabilities: []string{"bank"}},
		},
		read: func(connector.DataRequest, connector.Sink) (connector.Outcome, error) {
			return connector.Outcome{}, nil
		},
	}
}

// openFlow opens a link for a new user, and returns the page.
func (s *stack) openFlow(t *testing.T, pairs ...string) answer {
	t.Helper()
	var grant access.Grant
	u, err := s.data.CreateUser(t.Context(), s.domain, true, func(tx *store.Tx, u passerelle.User) (err error) {
		grant, err = s.access.GrantUser(tx, s.client.ID, u)
		return err
	})
	must(t, err)
	maker := access.Principal{Kind: access.UserToken, Domain: s.domain.ID, Client: s.client.ID, User: u.ID, Token: grant.Token.ID}
	code, err := s.access.IssueCode(t.Context(), maker, false)
	must(t, err)
	query := url.Values{"client_id": {fmt.Sprint(s.client.ID)}, "redirect_uri": {"https://shop.example/back"}, "code": {code.Text}}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return s.walk(t, s.get(t, "/webview/en/connect?"+query.Encode()))
}

func (s *stack) walk(t *testing.T, a answer) answer {
	t.Helper()
	for a.location != "" {
		a = s.get(t, a.location)
	}
	return a
}

// A person can filter a long list by country. The list omits hidden institutions.
func TestInstitutionsToChooseFrom(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		hidden := newInstitutionConnector(3, "Hidden Bank", "FR")
		hidden.profile.Hidden = true
		all := []connector.Connector{newInstitutionConnector(1, "Banque du Lac", "FR"), newInstitutionConnector(2, "Island Bank", "GB", "IE"), hidden}
		s.offer(t, all...)
		if page := s.openFlow(t); strings.Contains(page.body, "<select") || !strings.Contains(page.body, "Island Bank") {
			t.Errorf("a short list is narrowed: %s", page.body)
		}
		for id := int64(4); id < 12; id++ {
			all = append(all, newInstitutionConnector(id, fmt.Sprintf("Bank %d", id), "DE"))
		}
		s.offer(t, all...)
		page := s.openFlow(t)
		for _, text := range []string{"Banque du Lac", "Island Bank", "Banks in all countries: 10", `<span class="place">France</span>`} {
			if !strings.Contains(page.body, text) {
				t.Errorf("the page lacks %s: %s", text, page.body)
			}
		}
		if strings.Contains(page.body, "Hidden Bank") {
			t.Error("a hidden institution is offered")
		}
		handle := regexpOne(t, `name="session" value="([^"]*)"`, page.body)
		if countries := s.get(t, "/webview/en/connect?session="+handle+"&step=country"); !strings.Contains(countries.body, "United Kingdom") {
			t.Errorf("the countries are: %s", countries.body)
		}
		british := s.get(t, "/webview/en/connect?session="+handle+"&country=GB")
		if strings.Contains(british.body, "Banque du Lac") || !strings.Contains(british.body, "Island Bank") {
			t.Errorf("in the United Kingdom there are: %s", british.body)
		}
	})
}

// While the user is unknown, the code may be behind the # of the address. The page then permits the
// script that sends the code, for any number of institutions.
func TestTheHandOverOfACodeMayRun(t *testing.T) {
	s := start(t, storetest.SQLite(t), nil)
	for _, n := range []int64{1, 2, 8, 9} {
		var all []connector.Connector
		for id := int64(1); id <= n; id++ {
			all = append(all, newInstitutionConnector(id, fmt.Sprintf("Bank %d", id), "FR"))
		}
		s.offer(t, all...)
		query := url.Values{"client_id": {fmt.Sprint(s.client.ID)}, "redirect_uri": {"https://shop.example/back"}}
		page := s.walk(t, s.get(t, "/webview/en/connect?"+query.Encode()))
		if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self'") || !strings.Contains(page.body, `src="/assets/handover.`) {
			t.Errorf("with %d institutions, no code is handed over under %q: %s", n, policy, page.body)
		}
		if known := s.openFlow(t); strings.Contains(known.body, "handover") || n < 9 && strings.Contains(known.header.Get("Content-Security-Policy"), "script-src") {
			t.Errorf("with %d institutions, a known user needs no script: %v", n, known.header)
		}
	}
}

// The page shows the last four characters of an account number, not the last four bytes.
func TestNumbersOfAnyCharacters(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		one := newInstitutionConnector(1, "Banque du Lac", "FR")
		one.read = func(_ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			return connector.Outcome{}, out.Accounts([]passerelle.AccountDetails{
				{Key: "1", Name: "One", Number: "12345€€€", Type: "checking", Currency: "EUR"}, {Key: "2", Name: "Two", IBAN: "12345678901234567€€€", Type: "checking", Currency: "EUR"},
			})
		}
		s.offer(t, one)
		page := s.openFlow(t)
		form := url.Values{"csrf": {regexpOne(t, `name="csrf" value="([^"]*)"`, page.body)}, "step": {"begin"}}
		page = s.walk(t, s.post(t, regexpOne(t, `method="post" action="([^"]*)"`, page.body), "same-origin", form))
		for _, text := range []string{"· **** 5€€€", "· 1234 **** 7€€€"} {
			if !strings.Contains(page.body, text) {
				t.Errorf("the page does not show %q: %s", text, page.body)
			}
		}
	})
}

// A person may clear a value that the application has filled in. An empty password field keeps the
// application's password, which the page does not show.
func TestClearedValuesAreNotSent(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		one := newInstitutionConnector(1, "Banque du Lac", "FR")
		one.profile.Data.Fields = []connector.Field{
			{Name: "login", Label: "Login", Type: "text", Required: true}, {Name: "branch", Label: "Branch", Type: "text"}, {Name: "password", Label: "Password", Type: "password", Required: true},
		}
		var sent map[string]string
		one.read = func(req connector.DataRequest, _ connector.Sink) (connector.Outcome, error) {
			sent = req.Values
			return connector.Outcome{}, nil
		}
		s.offer(t, one)
		uuid := one.profile.UUID
		page := s.openFlow(t, uuid+".login", "anna", uuid+".branch", "12", uuid+".password", "1234")
		form := url.Values{"csrf": {regexpOne(t, `name="csrf" value="([^"]*)"`, page.body)}, "step": {"begin"}, "field.login": {"berta"}, "field.branch": {""}, "field.password": {""}}
		if a := s.post(t, regexpOne(t, `method="post" action="([^"]*)"`, page.body), "same-origin", form); a.status != http.StatusSeeOther {
			t.Fatalf("answered %d: %s", a.status, a.body)
		}
		if diff := cmp.Diff(map[string]string{"login": "berta", "password": "1234"}, sent); diff != "" {
			t.Errorf("the institution got: %s", diff)
		}
	})
}

// The pages escape the names and texts of an institution, its fields and its accounts.
func TestHostileInstitutions(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		const hostile = `<script id=planted>1</script>"><img src=x onerror=1>`
		bad := newInstitutionConnector(1, hostile, "FR")
		bad.profile.Data.Fields = []connector.Field{
			{Name: `a"><b>`, Label: hostile, Type: "text"}, {Name: "list", Label: hostile, Type: "list", Values: []connector.FieldValue{{Label: hostile, Value: hostile}}},
		}
		asked := false
		bad.read = func(_ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
			if !asked {
				asked = true
				fields := []connector.Field{{Name: "code", Label: hostile, Type: "text", Regex: `"><i>`}}
				return connector.Outcome{State: passerelle.AdditionalInformationNeeded, Message: hostile, Fields: fields}, nil
			}
			err := out.Accounts([]passerelle.AccountDetails{{Key: "1", Name: hostile, Number: hostile, Type: "checking", Currency: "EUR"}})
			if err == nil {
				err = out.Subscriptions([]passerelle.SubscriptionDetails{{Key: "1", Label: hostile, Number: hostile}})
			}
			return connector.Outcome{}, err
		}
		s.offer(t, bad, newInstitutionConnector(2, hostile, "FR"))
		clean := func(a answer) answer {
			t.Helper()
			plain := html.UnescapeString(a.body)
			if a.status >= 500 || strings.Contains(a.body, "<script id") || strings.Contains(a.body, "<img") || strings.Contains(a.body, "<i>") || !strings.Contains(plain, hostile) {
				t.Errorf("%d: what an institution says became part of the page: %s", a.status, a.body)
			}
			return a
		}
		page := clean(s.openFlow(t))
		handle := regexpOne(t, `href="([^"]*bank=[^"]*)"`, page.body)
		page = clean(s.get(t, handle))
		send := func(a answer, pairs ...string) answer {
			t.Helper()
			form := url.Values{"csrf": {regexpOne(t, `name="csrf" value="([^"]*)"`, a.body)}, "step": {regexpOne(t, `name="step" value="(begin|fill|share)"`, a.body)}}
			for i := 0; i < len(pairs); i += 2 {
				form.Set(pairs[i], pairs[i+1])
			}
			got := s.post(t, regexpOne(t, `method="post" action="([^"]*)"`, a.body), "same-origin", form)
			if got.status != http.StatusSeeOther {
				t.Fatalf("answered %d: %s", got.status, got.body)
			}
			return s.walk(t, got)
		}
		page = clean(send(page))
		clean(send(page, "field.code", "x"))
	})
}
