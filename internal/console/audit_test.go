package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/audit"
	"passerelle/internal/oidc"
	"passerelle/internal/oidc/oidctest"
	"passerelle/internal/operators"
	"passerelle/internal/operatorstore"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func TestTheAuditLogOfADomain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		d := newFixture(t, servicetest.Start(t, url, servicetest.Options{}))
		d.enter(operators.Viewer)
		for i := range 60 {
			act := store.Audit{Domain: d.Domain.ID, At: d.Domain.Created, Request: "r", Act: "look", Subject: "payment", SubjectID: int64(i + 1)}
			must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.Audit(act) }))
		}
		elsewhere := store.Audit{Domain: d.Domain.ID + 1, At: d.Domain.Created, Act: "not from here"}
		must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { return tx.Audit(elsewhere) }))
		for waiting := int64(1); waiting > 0; { // the service adds acts to the chain at the same time
			must(t, (&audit.Log{DB: d.DB, Name: "test"}).Chain(t.Context()))
			var err error
			waiting, err = operatorstore.From(d.DB).CountUnchainedAudit(t.Context(), d.Domain.ID, 1)
			must(t, err)
		}
		page := d.domainPath("/audit")
		body := d.get(page).body
		if n := strings.Count(body, `<th scope="row">look`); n != 50 || strings.Contains(body, "not from here") || !strings.Contains(body, d.domainPath("/payments/60")) {
			t.Errorf("%d acts on the page: %s", n, body)
		}
		for query, want := range map[string]int{
			"?subject=payment&id=7": 1, "?subject=user": 0, "?act=look&id=8&refused=1": 0, "?operator=9999": 0, "?since=2020-01-01": 50, "?until=2020-01-01": 0,
		} {
			if n := strings.Count(d.get(page+query).body, `<th scope="row">look`); n != want {
				t.Errorf("%s: %d acts, want %d", query, n, want)
			}
		}
		for _, query := range []string{"?operator=x", "?id=-1", "?since=yesterday", "?since=2020-01-02&until=2020-01-01"} {
			if a := d.get(page + query); a.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d", query, a.status)
			}
		}
		if a := d.submit(page, page); a.status != http.StatusOK || !strings.Contains(a.body, "The chain is intact") {
			t.Errorf("%d %s", a.status, a.body)
		}
		storetest.Break(t, url, `UPDATE audit SET act = 'cancel' WHERE number = 7 AND act = 'look'`)
		if a := d.submit(page, page); !strings.Contains(a.body, "The chain is broken") || !strings.Contains(a.body, "Act 7: it was changed after it was stored") {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// A stranger signs in with a provider, and the page shows the stranger's identity at the provider.
// After this identity is linked to an operator, the operator signs in.
func TestSigningInWithAProviderInABrowser(t *testing.T) {
	t.Parallel()
	for _, window := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		t.Run(window.name, func(t *testing.T) {
			t.Parallel()
			id := oidctest.Start(t, false)
			time := newClock()
			id.Now = time.now
			config := oidc.Config{Issuer: id.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret}
			s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{Now: time.now, Identities: &config})
			p := newPerson(t, s, window.width, window.height)
			_, password, err := p.Operators.Create(t.Context(), "zoe", operators.Administrator)
			must(t, err)
			enter := func(shown string) {
				t.Helper()
				p.open("/console/sign-in")
				p.do(servicetest.Follow(`a[href$="/provider"]`), servicetest.Shown(shown))
			}
			p.open("/console/sign-in")
			p.checked(window.name + "-sign-in-provider")
			enter(`.problem`)
			p.checked(window.name + "-sign-in-stranger")
			if said := p.value(`document.querySelector(".problem").innerText`); !strings.Contains(said, `"person 1"`) {
				t.Errorf("a stranger is told %q", said)
			}
			_, err = p.Operators.Link(t.Context(), "zoe", id.URL, "person 1")
			must(t, err)
			enter(`.figures`)
			key := p.enrol(window.name, password, time)
			p.do(servicetest.Follow(`header form[action$="sign-out"] button`), servicetest.Shown(`#password`))
			enter(`#code`)
			time.seconds.Add(60)
			p.typeAndGo("main button", "#code", phoneCode(t, key, time.now()))
			p.do(servicetest.Shown(`.figures`))
			p.open(p.domainPath("/audit"))
			p.do(chromedp.Click(`.selection summary`), servicetest.Shown(`.filters`), servicetest.Follow(`section form button`), servicetest.Shown(`[role=status] h2`))
			p.checked(window.name + "-audit-checked")
		})
	}
}

func TestProviderSignInFromAnotherBrowserFails(t *testing.T) {
	id := oidctest.Start(t, false)
	config := oidc.Config{Issuer: id.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.Secret}
	d := newFixture(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{Identities: &config}))
	for _, path := range []string{"/console/provider/back", "/console/provider/back?state=x&code=y", "/console/provider/back?error=access_denied&state="} {
		if a := d.get(path); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "did not confirm who you are") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	a := d.get("/console/provider")
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.location, id.URL+"/authorize?") || !strings.Contains(a.header.Get("Set-Cookie"), "SameSite=Lax") {
		t.Errorf("%d %s %s", a.status, a.location, a.header)
	}
	without := newFixture(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}))
	for _, path := range []string{"/console/provider", "/console/provider/back"} {
		if a := without.get(path); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}
