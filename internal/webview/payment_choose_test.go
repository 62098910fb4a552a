package webview_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankcall"
	"passerelle/internal/initiation"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

// several returns a function that makes n banks with different names. The first bank requests more
// fields than the others.
func several(n int) func(connector.Profile) []connector.Profile {
	return func(p connector.Profile) []connector.Profile {
		all := make([]connector.Profile, n)
		for i := range all {
			all[i] = p
			all[i].UUID, all[i].ID, all[i].Name, all[i].Sources = fmt.Sprintf("bank-%d", i), int64(i+1), fmt.Sprintf("Bank number %d", i), nil
		}
		settings := *p.Payments
		settings.PayerAccount = payment.PayerMandatory
		all[0].Payments = &settings
		all[0].PaymentFields = []payment.Field{
			{Name: "login", Type: "text", Label: "Customer number", Required: true},
			{Name: "kind", Type: "list", Label: "Kind of customer", Required: true, Values: []payment.FieldValue{{Label: "Private", Value: "private"}}},
			{Name: "note", Type: "text", Label: "Not needed"},
		}
		return all
	}
}

// The payer chooses a bank with a link.
func TestBanksAreChosenFromAList(t *testing.T) {
	each(t, several(3), func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		got := s.get(t, page)
		if names := seen(got.body); len(names) != 3 {
			t.Errorf("the page offers %q, want 3: %s", names, got.body)
		}
		if strings.Contains(got.body, "<script") || strings.Contains(got.header.Get("Content-Security-Policy"), "script-src") {
			t.Error("a short list needs no script")
		}
		if strings.Contains(got.body, "checked") || strings.Contains(got.body, "<form") {
			t.Errorf("something is chosen already: %s", got.body)
		}
		chosen := s.get(t, page+"&bank=bank-1")
		for _, want := range []string{"Check your payment", "Bank number 1", "FR76 3000 6000 0112 3456 7890 189", "Pay €1,234.56", "Change bank"} {
			if !strings.Contains(chosen.body, want) {
				t.Errorf("the page lacks %q: %s", want, chosen.body)
			}
		}
		if got := s.post(t, page, "same-origin", url.Values{"bank": {"bank-1"}, "terms": {"1"}}); got.location != page+"&step=onward" {
			t.Errorf("choosing a bank was answered with %d to %q", got.status, got.location)
		}
	})
}

func TestALongListCanBeSearched(t *testing.T) {
	s := start(t, storetest.SQLite(t), several(9))
	got := s.get(t, s.open(t, s.create(t, nil).ID, nil))
	if !strings.Contains(got.body, `data-search="found"`) || !strings.Contains(got.body, `<script type="module" src="/assets/search.`) {
		t.Errorf("the page has no search: %s", got.body)
	}
	if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self'") || !strings.Contains(policy, "connect-src 'self'") {
		t.Errorf("the policy refuses the search: %s", policy)
	}
}

func TestWhatABankNeedsIsAskedFor(t *testing.T) {
	each(t, several(2), func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		body := s.get(t, page+"&bank=bank-0").body
		for _, want := range []string{"Customer number", "Kind of customer", "IBAN of the account", "Change bank"} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %q: %s", want, body)
			}
		}
		if strings.Contains(body, "Not needed") {
			t.Error("the page asks for what is not required")
		}
		complete := url.Values{
			"bank": {"bank-0"}, "terms": {"1"}, "holder": {"Anne <Martin>"}, "number": {"FR76 3000 6000 0112 3456 7890 189"},
			"field.login": {"12345"}, "field.kind": {"private"},
		}
		for missing, problem := range map[string]string{
			"holder": "Something that your bank needs is missing", "number": "account to pay from is missing",
			"field.login": "Something that your bank needs is missing", "field.kind": "Something that your bank needs is missing",
		} {
			form := url.Values{}
			for name, values := range complete {
				form[name] = values
			}
			form.Set(missing, " ")
			got := s.post(t, page, "same-origin", form)
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, problem) {
				t.Errorf("without %s: answered %d: %s", missing, got.status, got.body)
			}
			wantMarked(t, got.body, missing)
			if missing != "holder" && !strings.Contains(got.body, `value="Anne &lt;Martin&gt;"`) {
				t.Errorf("without %s: what was filled in is gone", missing)
			}
		}
		if got := s.post(t, page, "same-origin", complete); got.location != page+"&step=onward" {
			t.Errorf("the complete form was answered with %d to %q: %s", got.status, got.location, got.body)
		}
	})
}

// wantMarked checks that a page marks only the field with a name or an id, and that the field refers
// to the message.
func wantMarked(t *testing.T, body, field string) {
	t.Helper()
	if n := strings.Count(body, `aria-invalid="true"`); n != 1 {
		t.Errorf("%d fields are marked, want only %s: %s", n, field, body)
	}
	if !regexp.MustCompile(`<(?:input|select|textarea|fieldset)[^>]* (?:name|id)="` + field + `"[^>]* aria-invalid="true" aria-describedby="problem[" ]`).MatchString(body) {
		t.Errorf("%s is not marked: %s", field, body)
	}
}

// ordering is a complete form for the first bank of several.
var ordering = url.Values{
	"bank": {"bank-0"}, "terms": {"1"}, "holder": {"Anne Martin"}, "number": {"FR76 3000 6000 0112 3456 7890 189"},
	"field.login": {"12345"}, "field.kind": {"private"},
}

// stuck is a bank that responds to an order only when the context of the bank call ends.
type stuck struct {
	bank
	asked chan struct{}
}

func (b stuck) Initiate(ctx context.Context, _ connector.Order) (payment.Report, error) {
	b.asked <- struct{}{}
	<-ctx.Done()
	return payment.Report{}, ctx.Err()
}

// A bank for which too many callers wait receives no further order. The page says so, and keeps the
// payer's input, so the payer only presses the button again.
func TestABankThatCannotBeReachedIsTriedAgainWithOnePress(t *testing.T) {
	t.Parallel() // the test waits until the calls to the bank time out
	s := start(t, storetest.SQLite(t), several(2))
	asked := make(chan struct{})
	free := s.Connectors
	var all []connector.Connector
	for _, c := range free.Initiators() {
		all = append(all, stuck{bank{c, c.Profile()}, asked})
	}
	page := s.open(t, s.create(t, nil).ID, nil)
	complete := ordering
	s.offer(t, all...)
	ctx, leave := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	defer callers.Wait()
	defer leave()
	failed := make(chan error, bankcall.MaxCallers)
	for range bankcall.MaxCallers {
		p := s.create(t, nil)
		callers.Go(func() {
			payer := passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Anne Martin"}
			_, err := s.Validate(ctx, s.domain, p.ID, initiation.Choice{
				Connector: "bank-0", Validated: true, WebviewURL: "https://shop.example/pay", Payer: &payer, Fields: map[string]string{"login": "1", "kind": "private"},
			})
			failed <- err
		})
		select {
		case <-asked:
		case err := <-failed:
			t.Fatalf("a caller did not wait: %v", err)
		}
	}
	got := s.post(t, page, "same-origin", complete)
	for _, want := range []string{
		"could not be reached, so nothing was sent", `name="bank" value="bank-0"`, `value="Anne Martin"`, `value="FR76 3000 6000 0112 3456 7890 189"`, `value="12345"`,
		`value="private" checked`,
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page lacks %q: %s", want, got.body)
		}
	}
	leave()
	callers.Wait()
	s.offer(t, free.All()...)
	if got := s.post(t, page, "same-origin", complete); got.location != page+"&step=onward" {
		t.Errorf("the second press was answered with %d to %q: %s", got.status, got.location, got.body)
	}
}

// lost is a bank whose response to an order is lost. At that time, the database becomes unavailable.
type lost struct {
	bank
	cut func()
}

func (b lost) Initiate(context.Context, connector.Order) (payment.Report, error) {
	b.cut()
	return payment.Report{}, errors.New("no response came")
}

// unavailable makes every access to payments fail as on a database server without resources.
var unavailable = []string{
	`CREATE FUNCTION fail() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no resources' USING ERRCODE = '53000'; END $$`,
	`ALTER TABLE payment RENAME TO hidden`, `CREATE VIEW payment AS SELECT * FROM hidden WHERE fail()`,
}

// The database fails after the bank may have received the order. The page does not say that nothing
// was sent.
func TestAnUnavailableDatabaseIsNoBankOutOfReach(t *testing.T) {
	url := storetest.Postgres(t)
	s := start(t, url, several(1))
	free := s.Connectors.Initiators()[0]
	s.offer(t, lost{bank{free, free.Profile()}, func() { storetest.Break(t, url, unavailable...) }})
	page := s.open(t, s.create(t, nil).ID, nil)
	got := s.post(t, page, "same-origin", ordering)
	if got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "nothing was sent") || !strings.Contains(got.body, "Nothing will be done twice") {
		t.Errorf("answered %d: %s", got.status, got.body)
	}
}

func TestABankThatIsNotOfferedIsRefused(t *testing.T) {
	each(t, several(2), func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		got := s.post(t, page, "same-origin", url.Values{"bank": {"bank-9"}})
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Choose one of the banks") {
			t.Errorf("answered %d: %s", got.status, got.body)
		}
	})
}

func TestTheBankChosenBeforeIsKept(t *testing.T) {
	each(t, several(3), func(t *testing.T, s *stack) {
		p := s.create(t, func(d *payment.Draft) { d.Connector = "bank-2" })
		page := s.open(t, p.ID, nil)
		body := s.get(t, page).body
		if !strings.Contains(body, `type="hidden" name="bank" value="bank-2"`) || strings.Contains(body, "Bank number 1") {
			t.Errorf("the page does not hold to the bank chosen before: %s", body)
		}
		if names := seen(s.get(t, page+"&bank=any").body); len(names) != 3 {
			t.Errorf("the list has %q", names)
		}
	})
}

func TestWithoutABankThereIsAWayBack(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		p := s.create(t, func(d *payment.Draft) { d.Instructions[0].Amount.Currency = "SEK" })
		for _, c := range []struct{ supplied, want string }{
			{"https://shop.example/sorry", "/sorry"},
			{"", "/back"},
		} {
			page := s.open(t, p.ID, url.Values{"redirect_uri": {c.supplied}})
			got := s.get(t, page)
			if !strings.Contains(got.body, "No bank can make this payment") {
				t.Errorf("redirect_uri %q: %s", c.supplied, got.body)
			}
			checkBack(t, s.leave(t, page, got), c.want, p.ID, url.Values{"payment_state": {"created"}})
		}
	})
}

// leave follows the link by which the payer leaves a page. The link first opens an address of the
// service, which records that the payer leaves.
func (s *stack) leave(t *testing.T, page string, shown answer) answer {
	t.Helper()
	away := page + "&step=leave"
	if !strings.Contains(shown.body, `href="`+html.EscapeString(away)+`"`) {
		t.Errorf("the page does not lead to %s: %s", away, shown.body)
	}
	return s.get(t, away)
}

func TestLargeFormsAreRefused(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		page := s.open(t, s.create(t, nil).ID, nil)
		got := s.post(t, page, "same-origin", url.Values{"bank": {strings.Repeat("x", 100_000)}})
		if got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "The form could not be read") {
			t.Errorf("answered %d: %s", got.status, got.body)
		}
		if got := s.post(t, "/webview/en/payment?payment_id=1"+number(passerelle.PaymentID(99)), "same-origin", nil); got.status != http.StatusUnauthorized {
			t.Errorf("a form without a cookie was answered with %d", got.status)
		}
	})
}

// In a sandbox, banks with realistic names come first. Banks with special behaviour follow under
// their own heading.
func TestRealisticSandboxBanksComeFirst(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		s.offer(t, s.simulated.Connectors()...)
		body := s.get(t, s.open(t, s.create(t, nil).ID, nil)).body
		names := seen(body)
		if len(names) < 15 || names[0] != "Banque Exemple" || names[1] != "Beispielbank" || strings.Contains(body, "checked") {
			t.Fatalf("the list does not begin with the test bank, or something is chosen: %v", names)
		}
		ordinary, peculiar, apart := strings.Cut(body, "Test banks with special behaviour")
		if !apart || strings.Contains(ordinary, "Sandbox Accept Only") || strings.Contains(peculiar, "Beispielbank") {
			t.Errorf("banks with a peculiarity are not apart: %s", body)
		}
	})
}
