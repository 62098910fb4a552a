package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/console"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/payment"
)

// personal lists parts of the fixture's texts about people, in lower case and without spaces.
var personal = []string{
	"erika", "mustermann", "giftfor", "vermieter", "@home.example", "kunde-4711",
	"fr7630006000011234567890189", "30006000011234567890189", "de89370400440532013000", "370400440532013000", "de93999999990000000001", "999999990000000001",
}

// people is a live domain in which objects of many kinds name a person. numbers maps the word
// before a number in an address to the number of an object.
type people struct {
	*fixture
	numbers map[string]int64
	done    int64
}

func newPeople(t *testing.T, s *servicetest.Instance) people {
	t.Helper()
	d := newFixture(t, s)
	_, user, connection := d.live()
	live := d.inLive()
	id := live.searchResults()
	hook, data := plantLive(t, live)
	clients, err := d.DB.Clients(t.Context(), live.Domain.ID)
	must(t, err)
	p := people{live, map[string]int64{
		"domains": int64(live.Domain.ID), "payments": id, "users": int64(user), "connections": int64(connection), "webhooks": int64(hook.ID), "data": data, "events": 3, // the samples of other events have the account of the payment
		"clients": int64(clients[0].ID), "connectors": 40, "sources": 401, "tokens": 1, "auth": 1, "sessions": 1, "programs": 1, "logo": 1,
	}, 0}
	p.readBadly(user, connection)
	p.refundable()
	return p
}

func (p *people) readBadly(user passerelle.UserID, id passerelle.ConnectionID) {
	p.t.Helper()
	now := time.Now()
	c, err := bankstore.From(p.DB).Connection(p.t.Context(), p.Domain.ID, user, id)
	must(p.t, err)
	former := c.Version
	c.State, c.Message, c.Version = passerelle.ActionNeeded, "Erika must call us", former+1
	subscription, err := bankstore.NewSubscriptionID(p.t.Context(), p.DB)
	must(p.t, err)
	must(p.t, p.DB.Write(p.t.Context(), func(tx *store.Tx) error {
		in := bankstore.In(tx)
		in.SaveConnection(c, former)
		if err := in.LogSync(p.Domain.ID, bankstore.ConnectionLog{User: user, Connection: id, Started: now, At: now, State: c.State, Message: c.Message}); err != nil {
			return err
		}
		return in.CreateSubscription(p.Domain.ID, &bankstore.StoredSubscription{Subscription: passerelle.Subscription{
			ID: subscription, Connection: id, User: user,
			SubscriptionDetails: passerelle.SubscriptionDetails{Key: "s", Label: "Gift for Erika", Number: "KUNDE-4711", Subscriber: "Erika Mustermann"},
		}})
	}))
}

func (p *people) refundable() {
	p.t.Helper()
	client, _, err := p.Access.Register(p.t.Context(), p.Domain.ID, "other shop", []string{"https://shop.example/back"})
	must(p.t, err)
	identity := &passerelle.Identity{Kind: passerelle.Individual, ExternalRef: "customer 1", Sensitive: &passerelle.Sensitive{
		FirstName: "Erika", LastName: "Mustermann", Email: "erika@home.example", PostalAddress: "Weg 1, Mustermannstadt",
	}}
	made, err := p.Initiation.Create(p.t.Context(), p.Domain, initiation.Creation{By: client.ID, Draft: payment.Draft{
		ClientRedirectURI: "https://shop.example/back", PayerIdentity: identity,
		Payer: &passerelle.Account{Scheme: passerelle.IBAN, Identification: "FR7630006000011234567890189", Label: "Erika Mustermann"},
		Instructions: []payment.Instruction{{
			Amount: passerelle.Money{Minor: 1250, Currency: "EUR"}, Label: "Gift for Erika", DateType: payment.FirstOpenDay, BeneficiaryIdentity: identity,
			Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: "DE89370400440532013000", Label: "Vermieter"},
		}},
	}})
	must(p.t, err)
	simulated := p.Domain
	simulated.Kind = passerelle.Sandbox
	for _, state := range []payment.State{payment.Validating, payment.Pending, payment.Done} {
		_, err := p.Initiation.Simulate(p.t.Context(), simulated, made.ID, initiation.SimulatedChange{State: state})
		must(p.t, err)
	}
	p.done = int64(made.ID)
}

// address returns the address for a pattern, with a number in place of each #.
func (p *people) address(pattern string) string {
	p.t.Helper()
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if part != "#" {
			continue
		}
		number, known := p.numbers[parts[i-1]]
		if !known {
			p.t.Fatalf("%s: say which %s the fixture has", pattern, parts[i-1])
		}
		parts[i] = strconv.FormatInt(number, 10)
	}
	return "/console/" + strings.Join(parts, "/")
}

// absent lists the pages that the fixture does not have, with the reason.
var absent = map[string]string{
	"domains/#/simulation": "of sandboxes", "domains/#/simulation/scenarios": "of sandboxes", "domains/#/simulation/receiver": "of sandboxes",
	"domains/#/connectors/#": "simulated banks are of sandboxes", "domains/#/clients/#/logo/#": "there is no logo", "domains/#/configuration/key": "needs a key, see more",
	"domains/#/webhooks/auth/#": "there is no provider", "domains/#/webhooks/auth/#/edit": "there is no provider",
	"provider": "no identity provider", "provider/back": "no identity provider",
}

func (p *people) furtherAddresses() []string {
	done := p.paymentPath(p.done)
	return []string{
		done, done + "/refund", done + "/support", p.paymentPath(p.numbers["payments"]) + "/confirm?act=cancel+payment",
		p.domainPath("/payments?column=reference"), p.domainPath("/payments?state=done"), p.domainPath("/payments?column=label&column=payee&column=bank&column=client"),
		p.domainPath(fmt.Sprint("/search?q=", p.done)), p.domainPath("/search?q=0189"), p.domainPath("/search?q=gift"), p.domainPath("/search?q=000001"),
		p.domainPath("/connections?state=actionNeeded"), p.domainPath("/audit?of=deployment"), p.domainPath("/audit?subject=payment"),
		p.domainPath("/configuration/key?name=api.timezone"), p.domainPath("?by=days"), p.domainPath("/tokens?all=1"),
	}
}

func namesNobody(t *testing.T, who, what string, a answer) {
	t.Helper()
	text := strings.ToLower(html.UnescapeString(a.body + a.location))
	text, bare := withoutSpaces(text), withoutSpaces(tag.ReplaceAllString(text, ""))
	for _, one := range personal {
		if strings.Contains(text, one) || strings.Contains(bare, one) {
			t.Errorf("%s reads %q at %s", who, one, what)
		}
	}
}

func withoutSpaces(text string) string { return strings.Join(strings.Fields(text), "") }

// stays lists the forms that the test does not send.
var stays = []string{"sign-out", "account/sessions/#/end", "sign-in", "second-factor"}

// TestPagesHidePersonalDataWithoutPermission fetches every page in the table of routes. The test
// acts as operators who may not read personal data, and as operators who may read such data but do
// not ask for it.
func TestPagesHidePersonalDataWithoutPermission(t *testing.T) {
	clock := newClock()
	servicetest.Each(t, servicetest.Options{Now: clock.now}, func(t *testing.T, s *servicetest.Instance) {
		p := newPeople(t, s)
		for _, role := range operators.Roles() {
			for _, twice := range []bool{false, true} {
				visitor := newFixture(t, s)
				if twice {
					visitor.enterTwice(role, clock)
				} else {
					visitor.enter(role)
				}
				reveals := twice && slices.Contains([]operators.Role{operators.Acting, operators.Administrator}, role)
				p.walk(t, visitor, fmt.Sprintf("%s, second factor %t", role, twice), reveals, twice && role == operators.Administrator)
			}
		}
	})
}

// formOfTest is a page with a sample payload. The sample contains an account of the fixture.
const (
	formOfTest = "domains/#/webhooks/#/test"
	ofExample  = "FR7630006000011234567890189"
)

// walk opens every page as visitor. Unless setsUp is true, the service may refuse some pages. If
// reveals is false, walk also sends every form except those in stays.
func (p *people) walk(t *testing.T, visitor *fixture, who string, reveals, setsUp bool) {
	t.Helper()
	for _, route := range console.Routes() {
		if route.Method != http.MethodGet {
			continue
		}
		address := p.address(route.Pattern)
		a := visitor.get(address)
		if route.Pattern == formOfTest {
			a.body = strings.ReplaceAll(a.body, ofExample, "")
		}
		fine := a.status == http.StatusOK || a.status == http.StatusSeeOther || a.status == http.StatusForbidden && !setsUp
		if absent[route.Pattern] == "" && !fine {
			t.Errorf("%s at %s: %d", who, address, a.status)
		}
		namesNobody(t, who, address, a)
		if strings.Contains(a.body, `<header class="bar">`) && !strings.Contains(a.body, `<input id="find" name="q"`) {
			t.Errorf("%s has no search box", address)
		}
	}
	for _, address := range p.furtherAddresses() {
		a := visitor.get(address)
		if a.status >= http.StatusInternalServerError {
			t.Errorf("%s at %s: %d", who, address, a.status)
		}
		namesNobody(t, who, address, a)
	}
	if reveals {
		p.revealed(t, visitor)
		return
	}
	form := url.Values{"csrf": {visitor.token("/console/account")}}
	for _, route := range console.Routes() {
		if route.Method != http.MethodPost || slices.Contains(stays, route.Pattern) {
			continue
		}
		address := p.address(route.Pattern)
		a := visitor.post(address, "same-origin", form)
		if a.status >= http.StatusInternalServerError {
			t.Errorf("%s sends %s: %d", who, address, a.status)
		}
		namesNobody(t, who, "the form "+address, a)
	}
}

// revealed checks that an operator who asks sees the names of people. This proves that the test can
// detect names.
func (p *people) revealed(t *testing.T, visitor *fixture) {
	t.Helper()
	for _, pattern := range []string{
		"domains/#/payments/#/reveal", "domains/#/users/#/accounts", "domains/#/users/#/subscriptions", "domains/#/users/#/connections/#", "domains/#/webhooks/#/data/#/reveal",
	} {
		address := p.address(pattern)
		if a := visitor.submit("/console/account", address); a.status != http.StatusOK || !strings.Contains(a.body, "Erika") && !strings.Contains(a.body, "Mustermann") {
			t.Errorf("who asks does not read what %s has: %d %s", address, a.status, a.body)
		}
	}
	address := p.address("domains/#/payments/#/confirm") + "?act=cancel+payment"
	if a := visitor.submit("/console/account", address); a.status != http.StatusOK || !strings.Contains(a.body, "Vermieter") || !strings.Contains(a.body, "DE89370400440532013000") {
		t.Errorf("who asks does not recognise the payee: %d %s", a.status, a.body)
	}
}
