package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/settings"
	"passerelle/internal/store/storetest"
)

var windows = []struct {
	name          string
	width, height int64
}{{"desktop", 1280, 900}, {"phone", 390, 844}}

func inWindows(t *testing.T, run func(p *person, window string, have plants)) {
	for _, window := range windows {
		t.Run(window.name, func(t *testing.T) {
			t.Parallel()
			p, have := arrivePlanted(t, window.width, window.height)
			run(p, window.name, have)
		})
	}
}

func arrivePlanted(t *testing.T, width, height int64) (*person, plants) {
	t.Helper()
	p := newPerson(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}), width, height)
	_, password, err := p.Operators.Create(t.Context(), "zoe", operators.Administrator)
	must(t, err)
	have := p.plant()
	p.open("/console/")
	p.typeAndGo("main button", "#name", "zoe", "#password", password)
	p.do(servicetest.Shown(`.figures`))
	return p, have
}

// plants has the number of a client, and of a user with three connections: one works, one fails and
// one waits.
type plants struct {
	user, client int64
	connections  []int64
}

// plant creates the objects in plants. It stores the text `hostile` in an account name, a setting
// and the texts of the client.
func (p *person) plant() (have plants) {
	user, token := p.fixture.user()
	have.user = user
	for _, login := range []string{"anna", "down", "otp"} {
		have.connections = append(have.connections, p.connect(token, login))
	}
	var list struct{ Accounts []struct{ ID int64 } }
	p.JSON(p.OK(p.Call("GET", "/users/me/accounts?all", token, nil)), &list)
	p.OK(p.Call("PUT", fmt.Sprintf("/users/me/accounts/%d?all", list.Accounts[0].ID), token, map[string]any{"disabled": false, "name": hostile}))
	p.OK(p.Call("POST", "/config", p.ConfigToken, map[string]any{"cat.of_a.client": hostile, "api.timezone": "Europe/Paris"}))
	var made struct{ ID int64 }
	p.JSON(p.OK(p.Call("POST", "/clients", p.ConfigToken, map[string]any{"name": hostile, "description": hostile, "generate_keys": true})), &made)
	must(p.t, p.Access.KeepUses(p.t.Context()))
	have.client = made.ID
	return have
}

func (p *person) openPages(pages map[string]string) {
	p.t.Helper()
	for name, path := range pages {
		p.open(path)
		p.do(servicetest.Shown(`h1`))
		for _, window := range windows {
			p.do(chromedp.EmulateViewport(window.width, window.height))
			p.checked(window.name + "-" + name)
		}
	}
	p.says.Silent(p.t)
}

func TestPagesAboutDataInABrowser(t *testing.T) {
	t.Parallel()
	p, have := arrivePlanted(t, windows[0].width, windows[0].height)
	for _, window := range windows {
		p.open(p.domainPath(""))
		p.do(chromedp.EmulateViewport(window.width, window.height), servicetest.Follow(`.attention article a`), servicetest.Shown(`.filters`))
	}
	p.openPages(map[string]string{
		"users": p.domainPath("/users"), "user": p.userPath(have.user, ""), "accounts": p.userPath(have.user, "/accounts"),
		"subscriptions": p.userPath(have.user, "/subscriptions"), "consents": p.userPath(have.user, "/consents"),
		"connection": p.userPath(have.user, fmt.Sprint("/connections/", have.connections[1])), "connections": p.domainPath("/connections"),
	})
}

func TestPagesAboutSettingsInABrowser(t *testing.T) {
	t.Parallel()
	p, have := arrivePlanted(t, windows[0].width, windows[0].height)
	p.openPages(map[string]string{
		"domains": "/console/domains", "programs": "/console/programs", "connectors": p.domainPath("/connectors"), "connector": p.domainPath("/connectors/40"),
		"configuration": p.domainPath("/configuration"), "key": p.domainPath("/configuration/key?name=" + settings.Timezone),
		"certificates": p.domainPath("/configuration/key?name=" + settings.Authorities), "log": p.domainPath("/configuration/log"),
		"clients": p.domainPath("/clients"), "client": p.domainPath(fmt.Sprint("/clients/", have.client)), "tokens": p.domainPath("/tokens?all=1"),
		"domain": p.domainPath("/domain"), "audit": p.domainPath("/audit"), "providers": p.domainPath("/webhooks/auth"),
	})
}

func TestFormsAboutSettingsInABrowser(t *testing.T) {
	t.Parallel()
	inWindows(t, func(p *person, window string, _ plants) {
		p.open(p.domainPath("/configuration/key?name=" + settings.Timezone))
		p.do(servicetest.Shown(`#value`), chromedp.SendKeys(`#value`, "x"), servicetest.Follow(`[value=set]`), servicetest.Shown(`.problem`))
		p.checked(window + "-key-wrong")
		p.do(servicetest.Follow(`[value=reset]`), chromedp.WaitNotPresent(`[value=reset]`))
		p.open(p.domainPath("/clients"))
		p.typeAndGo(`form[action$="clients"] button`, "#name", "Shop", "#redirect_uris", "https://shop.example/back")
		p.do(servicetest.Shown(`.key`))
		p.checked(window + "-client-made")
		p.open(p.domainPath("/tokens"))
		p.do(servicetest.Follow(`form[action$="tokens"] button`), servicetest.Shown(`.key`))
		p.checked(window + "-token-made")
		p.open(p.domainPath("/domain"))
		p.do(servicetest.Follow(`form[action$="sign-key"] button`), servicetest.Shown(`table`))
		p.checked(window + "-domain-key")
	})
}

func TestFormsAboutDataInABrowser(t *testing.T) {
	t.Parallel()
	inWindows(t, func(p *person, window string, have plants) {
		p.open(p.userPath(have.user, "/accounts"))
		p.do(servicetest.Follow(`form.act button`), servicetest.Shown(`[role=status]`))
		p.checked(window + "-accounts-shown")
		p.open(p.userPath(have.user, ""))
		p.do(chromedp.Click(`summary`), servicetest.Shown(`#number`))
		p.checked(window + "-user-deleting")
		p.typeAndGo(`button.grave`, "#number", fmt.Sprint(have.user))
		p.do(servicetest.Shown(`.filters`))
	})
}
