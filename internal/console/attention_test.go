package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/bankstore"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
)

// TestAgeOfTheBackup checks that the first page of a live domain reports an old or missing backup.
// The first page of a sandbox must not report it.
func TestAgeOfTheBackup(t *testing.T) {
	clock := newClock()
	servicetest.Each(t, servicetest.Options{Now: clock.now}, func(t *testing.T, s *servicetest.Instance) {
		d := newFixture(t, s)
		d.enter(operators.Viewer)
		live, err := service.EnsureDomain(t.Context(), d.DB, passerelle.Domain{Name: "shop", Kind: passerelle.Live, BaseURL: "https://shop.example/2.0", Created: clock.now()})
		must(t, err)
		ofLive := *d
		ofLive.Instance = &servicetest.Instance{}
		*ofLive.Instance = *s
		ofLive.Domain = live
		first := ofLive.domainPath("")
		d.shows(first, []string{"No backup was made yet", `href="/docs/guides/operating#9-back-up-and-restore"`})
		if guide := d.get("/docs/guides/operating"); !strings.Contains(guide.body, `id="9-back-up-and-restore"`) {
			t.Error("the remedy leads nowhere")
		}
		note := func(begun time.Time) {
			t.Helper()
			must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { tx.NoteBackup(begun); return nil }))
		}
		for _, step := range []struct {
			age   time.Duration
			shown string
		}{
			{100 * time.Hour, "The last backup is 4 days old"},
			{48*time.Hour + time.Second, "The last backup is 2 days old"},
			{48 * time.Hour, ""},
			{time.Minute, ""},
			{30 * 24 * time.Hour, ""}, // recording a backup that is older than the newest backup has no effect
		} {
			note(clock.now().Add(-step.age))
			if step.shown == "" {
				d.shows(first, []string{"Needs attention"}, "backup")
				continue
			}
			d.shows(first, []string{step.shown, "Read how to back up"}, "No backup")
		}
		d.shows(d.domainPath(""), []string{"Needs attention"}, "backup")
	})
}

func TestConnectionsAreGrouped(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		_, token := d.user()
		waiting := []int64{d.connect(token, "otp"), d.connect(token, "action"), d.connect(token, "otp")}
		failing := []int64{d.connect(token, "down"), d.connect(token, "limited")}
		body := d.shows(d.domainPath(""), []string{
			"3 connections wait for their users", "Bank asks the user: 2, user must act at the bank: 1. Ask these users to open the webview again.", d.domainPath("/connections?state=user"),
			"2 connections cannot be read", "Too many requests: 1, bank not reachable: 1. The service retries automatically.", d.domainPath("/connections?state=retry"),
		}).body
		if n := strings.Count(body, "<article"); n != 2 {
			t.Errorf("there are %d problems: %s", n, body)
		}
		for kind, want := range map[string][]int64{"user": waiting, "retry": failing} {
			list := d.get(d.domainPath("/connections?state=" + kind)).body
			for _, id := range want {
				if !strings.Contains(list, fmt.Sprint("/connections/", id, `"`)) {
					t.Errorf("%s lacks connection %d", kind, id)
				}
			}
			if n := strings.Count(list, "<tr><th scope=\"row\""); n != len(want) {
				t.Errorf("%s lists %d connections", kind, n)
			}
		}
	})
}

// numbered is a bank whose field `asked` counts the calls of Health.
type numbered struct {
	bank
	number int64
	ill    bool
	asked  *atomic.Int64
}

func (n numbered) Profile() connector.Profile {
	return connector.Profile{UUID: fmt.Sprintf("00000000-0000-0000-0000-%012d", n.number), ID: n.number, Name: fmt.Sprint("Bank ", n.number), Payments: n.bank.Profile().Payments, Data: n.bank.Profile().Data}
}

func (n numbered) Health() connector.BankHealth {
	n.asked.Add(1)
	return connector.BankHealth{Open: n.ill, Failures: 5}
}

// TestOverviewWithManyBanks checks that the home page names the first failing banks and counts the
// others.
func TestOverviewWithManyBanks(t *testing.T) {
	quiet(t, func(t *testing.T, d *fixture, c *clock) {
		d.enter(operators.Viewer)
		model, _ := d.Aggregation.Connectors.DataReader(sandbox.TestConnector)
		var asked atomic.Int64
		const banks = 2000
		var all []connector.Connector
		for i := range int64(banks) {
			all = append(all, numbered{model.(bank), i + 1, i%250 == 0, &asked})
		}
		registry, err := connector.NewRegistry(all...)
		must(t, err)
		d.Aggregation.Connectors = registry
		for range 20 {
			d.shows(d.domainPath(""), []string{"Bank 1 does not answer", "Bank 1001 does not answer", "3 more problems with banks", `href="` + d.domainPath("/connectors") + `"`}, "Bank 1251")
		}
		if n := asked.Load(); n != banks {
			t.Errorf("20 views ask %d times for the health of %d banks", n, banks)
		}
		c.seconds.Add(5)
		d.shows(d.domainPath(""), []string{"Bank 1 does not answer"})
		if n := asked.Load(); n != 2*banks {
			t.Errorf("after five seconds, a view asks %d times", n-banks)
		}
	})
}

// TestManyProblems checks that the home page counts the problems that it does not list.
func TestManyProblems(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		bad := newReceiver(t, 500, "no")
		for i := range 7 {
			d.register("PAYMENT_STATE_UPDATED", fmt.Sprint(bad.URL, "/", i), nil)
		}
		d.shows(d.domainPath("/payments"), []string{"No payments yet."})
		d.pay()
		d.shows(d.domainPath("/payments/unknown"), []string{"No payment has an unknown outcome."}, "No payments yet")
		d.shows(d.domainPath(""), []string{"2 more failing webhooks", `href="` + d.domainPath("/webhooks?failing") + `"`}, "with an unknown outcome")
		bank, _ := d.Initiation.Connectors.Initiator(sandbox.TestConnector)
		must(t, d.Initiation.Connectors.Replace(forgetful{bank}))
		for range 6 {
			id := passerelle.PaymentID(d.Create(d.Token("payments:admin"), servicetest.Draft()))
			_, err := d.Initiation.Validate(t.Context(), d.Domain, id, initiation.Choice{Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before"})
			must(t, err)
		}
		d.shows(d.domainPath(""), []string{"1 more payment with an unknown outcome", `href="` + d.domainPath("/payments/unknown") + `"`})
		if n := rows(d.shows(d.domainPath("/payments/unknown"), []string{"<strong>6</strong> payments", "Outcome unknown"}, "Download as CSV")); n != 6 {
			t.Errorf("%d payments have an unknown outcome", n)
		}
		d.register("PAYMENT_STATE_UPDATED", newReceiver(t, 200, "").URL, nil)
		for list, want := range map[string]int{"/webhooks?failing": 7, "/webhooks": 8} {
			if n := strings.Count(d.shows(d.domainPath(list), nil).body, `<tr><th scope="row"`); n != want {
				t.Errorf("%s lists %d webhooks, want %d", list, n, want)
			}
		}
	})
}

// TestConsentsThatEnd checks that the home page counts the consents that end within 7 days.
func TestConsentsThatEnd(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		user, token := d.user()
		var ids []int64
		for _, days := range []int{6, 3, 8} {
			id := d.connect(token, "one")
			ids = append(ids, id)
			c, err := bankstore.From(d.DB).Connection(t.Context(), d.Domain.ID, passerelle.UserID(user), passerelle.ConnectionID(id))
			must(t, err)
			end := time.Now().AddDate(0, 0, days)
			former := c.Version
			c.ConsentUntil, c.Version = &end, former+1
			must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { bankstore.In(tx).SaveConnection(c, former); return nil }))
		}
		list := d.domainPath("/connections?ends=7")
		d.shows(d.domainPath(""), []string{"Consents that expire within 7 days: 2", `href="` + list + `"`})
		at := func(i int) string { return fmt.Sprint("/connections/", ids[i], `"`) }
		body := d.shows(list, []string{"Consents that end within 7 days", "Consent ends", at(0), at(1)}, at(2)).body
		if strings.Index(body, at(1)) > strings.Index(body, at(0)) {
			t.Errorf("the consent that ends first is not first: %s", body)
		}
		d.shows(d.domainPath("/connections?ends=30"), []string{at(0), at(1), at(2)})
		d.shows(d.domainPath("/connections?ends=1"), []string{"No connections match."}, "No connection fails")
		for _, wrong := range []string{"0", "-1", "x", "367"} {
			if a := d.get(d.domainPath("/connections?ends=" + wrong)); a.status != http.StatusUnprocessableEntity {
				t.Errorf("%s days are answered with %d", wrong, a.status)
			}
		}
	})
}

// TestPaymentsThatWaitLong checks that the first page compares a waiting payment with the usual
// time of its bank, or with a fixed time for a bank with few payments.
func TestPaymentsThatWaitLong(t *testing.T) {
	quiet(t, func(t *testing.T, d *fixture, c *clock) {
		d.enter(operators.Viewer)
		wait := func() passerelle.PaymentID {
			id := passerelle.PaymentID(d.amounted("3.00"))
			_, err := d.Initiation.Validate(t.Context(), d.Domain, id, initiation.Choice{Connector: sandbox.TestConnector, Validated: true, WebviewURL: d.Origin + "/before"})
			must(t, err)
			return id
		}
		first := wait()
		c.seconds.Add(3 * 3600)
		d.enter(operators.Developer)
		d.shows(d.domainPath(""), []string{"Nothing needs attention."})
		for range 20 {
			d.executed(c, "2.00", 1)
		}
		d.shows(d.domainPath(""), []string{
			fmt.Sprintf("Payment %d has been waiting for approval at Banque Exemple for 3 h", first), "Payments with this bank usually take 1 s.", `href="` + d.paymentPath(int64(first)) + `"`,
		})
	})
}

// TestManyBanksThatWait checks the line that counts the banks that the page does not name.
func TestManyBanksThatWait(t *testing.T) {
	quiet(t, func(t *testing.T, d *fixture, c *clock) {
		p, err := d.DB.Payment(t.Context(), d.Domain.ID, passerelle.PaymentID(d.amounted("30.00")), false)
		must(t, err)
		banks, err := d.Initiation.Offered(t.Context(), d.Domain, p)
		must(t, err)
		waiting := 0
		for _, bank := range banks {
			id := passerelle.PaymentID(d.amounted("30.00"))
			_, err := d.Initiation.Validate(t.Context(), d.Domain, id, initiation.Choice{Connector: bank.UUID, Validated: true, WebviewURL: d.Origin + "/before"})
			if err == nil && d.state(int64(id)) == "validating" {
				waiting++
			}
			if waiting == 7 {
				break
			}
		}
		c.seconds.Add(49 * 3600)
		d.enter(operators.Viewer)
		d.shows(d.domainPath(""), []string{"2 more banks have payments that have been waiting for approval longer than usual", "/payments?state=validating"})
	})
}
