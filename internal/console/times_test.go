package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/bankstore"
	"passerelle/internal/console"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// written matches a day or a time of day as people write it.
var written = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}:\d{2}(:\d{2})?\b`)

// quoted lists the elements and classes with content that is not a text of the page, such as raw
// data and sample input. The list contains svg because a tooltip in a chart cannot contain a time
// element.
var quoted = []string{"pre", "textarea", "option", "label", "script", "style", "svg", "json", "headers", "value", "code"}

// timesOn counts the time elements of a page. It also collects times that are neither in such an
// element nor quoted, and time elements without an exact time.
func timesOn(n *html.Node, bare *[]string) (elements int) {
	if n.Type == html.TextNode {
		*bare = append(*bare, written.FindAllString(n.Data, -1)...)
		return 0
	}
	attributes := map[string]string{}
	for _, a := range n.Attr {
		attributes[a.Key] = a.Val
	}
	if n.Type == html.ElementNode && n.Data == "time" {
		if text := n.FirstChild.Data; !written.MatchString(attributes["title"]+text) || attributes["datetime"] == "" {
			*bare = append(*bare, "a time element without the exact time: "+text)
		}
		return 1
	}
	if n.Type == html.ElementNode && slices.ContainsFunc(append(strings.Fields(attributes["class"]), n.Data), func(one string) bool { return slices.Contains(quoted, one) }) {
		return 0
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		elements += timesOn(child, bare)
	}
	return elements
}

// wantsExactTimes reports the findings of timesOn for a page. It returns the number of time
// elements in the main part of the page.
func (d *fixture) wantsExactTimes(path string) int {
	d.t.Helper()
	a := d.get(path)
	if a.status != http.StatusOK && a.status != http.StatusForbidden {
		d.t.Errorf("%s: %d", path, a.status)
	}
	bar, main, _ := strings.Cut(a.body, "<main")
	elements := 0
	for _, part := range []string{bar, "<main" + main} {
		root, err := html.Parse(strings.NewReader(part))
		must(d.t, err)
		var bare []string
		elements = timesOn(root, &bare)
		if len(bare) > 0 {
			d.t.Errorf("%s shows %q", path, bare)
		}
	}
	return elements
}

// elsewhere lists the routes that the loop over all routes does not open.
var elsewhere = []string{"", "provider", "provider/back", "sign-in", "second-factor", "domains/#/clients/#/logo/#", "domains/#/payments/#/support", "domains/#/payments/#/confirm", "domains/#/payments/#/refund"}

// timed is a populated sandbox with the numbers of its objects.
type timed struct {
	*fixture
	people
}

func newTimed(t *testing.T, s *servicetest.Instance) timed {
	t.Helper()
	d := newFixture(t, s)
	d.enter(operators.Administrator)
	populate(t, s)
	model, _ := d.Aggregation.Connectors.DataReader(sandbox.TestConnector)
	registry, err := connector.NewRegistry(disturbed{model.(bank)})
	must(t, err)
	d.Aggregation.Connectors, d.Initiation.Connectors = registry, registry
	form := d.providersPath("/new")
	d.wants(form+"?type=hmac_signature", form, http.StatusSeeOther, "", "type", "hmac_signature", "name", "timed")
	providers, err := d.DB.AuthProviders(t.Context(), store.ProviderFilter{Domain: d.Domain.ID}, store.Window{Limit: 10})
	must(t, err)
	last := providers[len(providers)-1].ID
	d.wants(d.providersPath(fmt.Sprint("/", last)), d.providersPath(fmt.Sprintf("/%d/rotate", last)), http.StatusSeeOther, "", "overlap", "2h")
	key := d.domainPath("/configuration/key?name=api.timezone")
	d.wants(key, d.domainPath("/configuration/key"), http.StatusSeeOther, "", "name", "api.timezone", "act", "set", "value", "Europe/Paris")
	connections, err := bankstore.From(d.DB).ConnectionsInTrouble(t.Context(), bankstore.TroubleFilter{Domain: d.Domain.ID}, store.Window{Limit: 1})
	must(t, err)
	if len(connections) == 0 {
		t.Fatal("no connection fails")
	}
	clients, err := d.DB.Clients(t.Context(), d.Domain.ID)
	must(t, err)
	return timed{d, people{d, map[string]int64{
		"domains": int64(d.Domain.ID), "payments": 1, "users": int64(connections[0].User), "connections": int64(connections[0].ID), "webhooks": 1, "data": 1, "events": 14,
		"clients": int64(clients[0].ID), "connectors": model.Profile().ID, "auth": last,
	}, 0}}
}

func TestEveryTimeIsShownWithTheExactTime(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{Now: newClock().now})
	sandboxed := newTimed(t, s)
	live := newPeople(t, s)
	without := map[string]bool{}
	for _, route := range console.Routes() {
		if route.Method != http.MethodGet || slices.Contains(elsewhere, route.Pattern) {
			continue
		}
		path := sandboxed.address(route.Pattern)
		if route.Pattern == "domains/#/configuration/key" {
			path += "?name=api.timezone"
		}
		without[route.Pattern] = sandboxed.wantsExactTimes(path) == 0
		if absent[route.Pattern] == "" {
			sandboxed.wantsExactTimes(live.address(route.Pattern))
		}
	}
	for _, query := range []string{"/payments?column=registered", "/audit?of=deployment", "/tokens?all=1", "/connections?ends=90", "?by=days", "/search?q=1", "/webhooks?all", "/payments/1/confirm?act=cancel+payment"} {
		if a := sandboxed.get(sandboxed.domainPath(query)); a.status == http.StatusOK {
			sandboxed.wantsExactTimes(sandboxed.domainPath(query))
		}
	}
	for _, pattern := range []string{"account", "domains", "domains/#/domain", "domains/#/payments/#", "domains/#/connectors/#", "domains/#/clients", "domains/#/webhooks/#/data/#", "domains/#/audit"} {
		if without[pattern] {
			t.Errorf("%s shows no time", pattern)
		}
	}
}

func TestTimesNameTheirClock(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{Now: time.Now})
	d := newFixture(t, s)
	d.enter(operators.Viewer)
	id := d.Create(d.Token("payments:admin"), servicetest.Draft())
	d.shows(d.paymentPath(id), []string{" UTC, by the clock of the sandbox"}, "in real time")
	d.shows(d.domainPath("/clients"), []string{" UTC, in real time"}, "by the clock of the sandbox")
	d.shows("/console/account", []string{` UTC">just now <small>`}, "by the clock of the sandbox", "in real time")
}

func TestAClockAheadIsNamed(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		d.register("PAYMENT_STATE_UPDATED", newReceiver(t, http.StatusOK, "").URL, nil)
		d.pay()
		pages := map[string]string{
			"/webhooks": "Times on this page are by this clock.", "/clients": "Times on this page are real, not by this clock.", "/configuration": "",
			d.temporary(): "Times on this page are by this clock, unless they are marked as real time.",
		}
		for page := range pages {
			d.shows(d.domainPath(page), nil, "Times on this page", "(real time)")
		}
		simulated := d.domainPath("/simulation")
		d.submit(simulated, simulated+"/clock", "advance", "3h")
		for page, want := range pages {
			body := d.shows(d.domainPath(page), []string{"Its clock is 3 h ahead:", want}).body
			if mixed := strings.Contains(want, "marked"); strings.Contains(body, "(real time)") != mixed {
				t.Errorf("%s marks times: %t", page, !mixed)
			}
		}
	})
}

// temporary creates a user who expires, and returns the path of the user's page below the domain.
func (d *fixture) temporary() string {
	d.t.Helper()
	now, end := time.Now(), time.Now().Add(time.Hour)
	u := passerelle.User{Domain: d.Domain.ID, Platform: passerelle.SharedAccess, Created: now, Expires: &end, Version: 1}
	must(d.t, d.DB.Write(d.t.Context(), func(tx *store.Tx) error { return tx.CreateUser(&u) }))
	return fmt.Sprint("/users/", u.ID)
}

// TestExactTimesWithoutAMouse checks that, on a phone, a list shows the exact time below each
// relative time, such as "3 min ago". The payment's timeline and the audit log must show exact
// times in a wide window too.
func TestExactTimesWithoutAMouse(t *testing.T) {
	t.Parallel()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	p := arriveAt(t, s, operators.Viewer, 390, 900)
	id := p.Create(p.Token("payments:admin"), servicetest.Draft())
	p.Subscribe("PAYMENT_STATE_UPDATED", "shop") // the audit log records this registration
	const hidden = `[...document.querySelectorAll("%s")].filter((one) => !one.checkVisibility()).length`
	p.open(p.domainPath("/payments"))
	p.do(servicetest.Shown("main time small"))
	if got := p.value(fmt.Sprintf(hidden, "main time small")); got != "0" {
		t.Errorf("a phone does not show %s exact times", got)
	}
	for path, place := range map[string]string{p.paymentPath(id): ".timeline", p.domainPath("/audit"): ".exactly"} {
		p.do(chromedp.EmulateViewport(1280, 900))
		p.open(path)
		p.do(servicetest.Shown(place + " time small"))
		if got := p.value(fmt.Sprintf(hidden, place+" time small")); got != "0" {
			t.Errorf("%s does not show %s exact times", path, got)
		}
	}
}
