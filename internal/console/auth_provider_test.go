package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func (d *fixture) providersPath(more string) string { return d.webhooksPath("/auth" + more) }

func (d *fixture) onlyProvider() store.AuthProvider {
	d.t.Helper()
	all, err := d.DB.AuthProviders(d.t.Context(), store.ProviderFilter{Domain: d.Domain.ID}, store.Window{Limit: 10})
	must(d.t, err)
	if len(all) != 1 {
		d.t.Fatalf("%d providers", len(all))
	}
	return all[0]
}

// The page shows the secret of a signing provider once.
func TestProvidersThatSign(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Administrator)
		d.shows(d.providersPath(""), []string{"No providers yet."})
		form := d.providersPath("/new")
		d.wants(form+"?type=hmac_signature", form, 422, "Name:", "type", "hmac_signature", "name", hostile)
		d.wants(form+"?type=hmac_signature", form, 422, "Name:", "type", "hmac_signature")
		d.wants(form+"?type=hmac_signature", form, 400, "", "type", "password", "name", "shop")
		wantActs(t, d)
		secret := once(t, d.wantsOnce(form+"?type=hmac_signature", form, "shown only once", "type", "hmac_signature", "name", "shop"))
		kept := d.onlyProvider()
		page := d.providersPath(fmt.Sprint("/", kept.ID))
		if kept.Secret != secret || kept.Type != "hmac_signature" || kept.Name != "shop" {
			t.Errorf("%+v, shown %s", kept, secret)
		}
		d.wants(form+"?type=hmac_signature", form, 422, "another provider is called", "type", "hmac_signature", "name", "shop")
		hook := d.register("PAYMENT_STATE_UPDATED", "https://shop.example/hook", "shop")
		d.shows(page, []string{"signs requests", fmt.Sprintf(`href="%s"`, d.webhookPath(hook))}, secret)
		d.shows(d.providersPath(""), []string{"shop", fmt.Sprintf(`href="%s"`, page)}, secret)
		d.shows(d.webhookPath(hook), []string{fmt.Sprintf(`href="%s"`, page)})

		d.wants(page, page+"/rotate", 422, "Overlap:", "overlap", "soon")
		d.wants(page, page+"/rotate", 422, "Overlap:", "overlap", "31d")
		next := once(t, d.wantsOnce(page, page+"/rotate", "The new secret alone signs", "overlap", "2h"))
		if rotated := d.onlyProvider(); rotated.Secret != secret || rotated.NextSecret != next || rotated.NextFrom == nil {
			t.Errorf("beside it: %+v", rotated)
		}
		d.shows(page, []string{"The new secret alone signs"}, secret, next)
		last := once(t, d.wantsOnce(page, page+"/rotate", "shown only once", "overlap", "0s"))
		if rotated := d.onlyProvider(); rotated.Secret != last || rotated.NextFrom != nil {
			t.Errorf("at once: %+v", rotated)
		}

		d.wants(page+"/edit", page+"/edit", 422, "Name:", "name", "")
		d.wants(page+"/edit", page+"/edit", 303, "", "name", "the shop")
		d.wants(page, page+"/delete", 422, "Number:", "number", "1"+fmt.Sprint(kept.ID))
		d.wants(page, page+"/delete", 303, "", "number", fmt.Sprint(kept.ID))
		if a := d.get(page); a.status != http.StatusNotFound {
			t.Errorf("after that: %d", a.status)
		}
		d.shows(d.domainPath(fmt.Sprintf("/webhooks/%d", hook)), []string{"held back", "the authentication provider was deleted"}, page)
		on := fmt.Sprint(" authentication provider ", kept.ID)
		wantActs(t, d, "register authentication provider"+on, "rotate secret of authentication provider"+on, "rotate secret of authentication provider"+on,
			"change authentication provider"+on, "delete authentication provider"+on)
	})
}

// No page shows the client secret of an OAuth provider. An empty field keeps the secret.
func TestProvidersThatGetTokens(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		form := d.providersPath("/new")
		with := func(fields ...string) []string {
			return append([]string{"type", "oauth", "name", "tokens", "url", "https://token.example/get", "client_id", hostile, "client_secret", "of-the-client"}, fields...)
		}
		for reported, fields := range map[string][]string{
			"Token endpoint:": with("url", "token.example"), "Client id:": with("client_id", ""), "Client secret:": with("client_secret", ""),
			"Certificate:": with("public_cert", "x", "private_cert", "y"), "Private key:": with("public_cert", "x"), "Name:": with("name", "a/b"),
		} {
			a := d.wants(form+"?type=oauth", form, 422, reported, fields...)
			if strings.Contains(a.body, "of-the-client") || strings.Contains(a.body, hostile) {
				t.Errorf("%s the form comes back with %s", reported, a.body)
			}
		}
		d.wants(form+"?type=oauth", form, 303, "", with()...)
		kept := d.onlyProvider()
		page := d.providersPath(fmt.Sprint("/", kept.ID))
		if e := kept.Endpoint; kept.Secret != "of-the-client" || e.URL != "https://token.example/get" || e.ClientID != hostile || e.GrantType != "client_credentials" {
			t.Errorf("kept %+v %+v", kept, e)
		}
		for _, path := range []string{page, page + "/edit"} {
			d.shows(path, []string{"https://token.example/get", "planted"}, "of-the-client", hostile)
		}
		d.wants(page, page+"/rotate", 422, "has no secret to rotate", "overlap", "1h")
		d.wants(page+"/edit", page+"/edit", 422, "Token endpoint:", "name", "tokens", "url", "x", "client_id", "other")
		d.wants(page+"/edit", page+"/edit", 303, "", "name", "others", "url", "https://token.example/2", "client_id", "other", "client_secret", "")
		if changed := d.onlyProvider(); changed.Secret != "of-the-client" || changed.Name != "others" || changed.Endpoint.ClientID != "other" || changed.Endpoint.URL != "https://token.example/2" {
			t.Errorf("changed: %+v %+v", changed, changed.Endpoint)
		}
		d.wants(page+"/edit", page+"/edit", 303, "", "name", "others", "url", "https://token.example/2", "client_id", "other", "client_secret", "new")
		if changed := d.onlyProvider(); changed.Secret != "new" {
			t.Errorf("changed: %+v", changed)
		}
	})
}

// Operators who may not set up the domain see the providers. They see no forms to change providers.
func TestProvidersAreForWhoSetsUp(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.Subscribe("USER_CREATED", "signer")
		d.enter(operators.Viewer)
		page := d.providersPath(fmt.Sprint("/", d.onlyProvider().ID))
		d.shows(d.providersPath(""), []string{"signer"}, "Make one")
		d.shows(page, []string{"signer"}, `/rotate"`, `/delete"`, `/edit"`)
		for _, path := range []string{page + "/edit", d.providersPath("/new")} {
			if a := d.get(path); a.status != http.StatusForbidden {
				t.Errorf("%s: %d", path, a.status)
			}
		}
		if a := d.get(d.inLive().providersPath(page[strings.LastIndex(page, "/"):])); a.status != http.StatusNotFound {
			t.Errorf("in another domain: %d", a.status)
		}
	})
}

func TestProvidersInABrowser(t *testing.T) {
	t.Parallel()
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}), size.width, size.height)
			p.enterByForm()
			p.useSigner(size.name + "-provider")
			p.useTokens(size.name + "-provider-oauth")
		})
	}
}

func (p *person) useSigner(name string) {
	p.t.Helper()
	p.open(p.webhooksPath(""))
	p.do(servicetest.Follow(`a[href$="/webhooks/auth"]`), servicetest.Shown(`a[href$="type=hmac_signature"]`))
	p.checked(name + "s-none")
	p.do(servicetest.Follow(`a[href$="type=hmac_signature"]`), servicetest.Shown(`#name`))
	p.typeAndGo("main button", "#name", "a/b")
	p.do(servicetest.Shown(`.problem`))
	p.checked(name + "-form-wrong")
	p.clear("#name", "signer")
	p.do(servicetest.Follow("main button"), servicetest.Shown(`.shown-once`))
	p.checked(name + "-made")
	p.copies(`.shown-once button`, p.value(`document.querySelector(".shown-once .key").textContent`))
	page := p.providersPath(fmt.Sprint("/", p.onlyProvider().ID))
	p.open(page)
	p.do(chromedp.Click(`details:has(#overlap) summary`))
	p.clear("#overlap", "soon")
	p.do(servicetest.Follow(`form[action$="/rotate"] button`), servicetest.Shown(`.problem`))
	p.checked(name + "-rotate-wrong")
	p.clear("#overlap", "2d")
	p.do(servicetest.Follow(`form[action$="/rotate"] button`), servicetest.Shown(`.shown-once`))
	p.checked(name + "-rotated")
	p.open(page)
	p.do(chromedp.Click(`details:has(#number) summary`))
	p.typeAndGo(`form[action$="/delete"] button`, "#number", "0")
	p.do(servicetest.Shown(`.problem`))
	p.clear("#number", fmt.Sprint(p.onlyProvider().ID))
	p.do(servicetest.Follow(`form[action$="/delete"] button`), servicetest.Shown(`p.card`))
}

// copies presses a button that copies, and expects a text in the clipboard.
func (p *person) copies(button, text string) {
	p.t.Helper()
	p.do(chromedp.Click(button), servicetest.Shown(button+`[data-copied]`), chromedp.Focus("#find"))
	_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Commands: []string{"paste"}})
	must(p.t, err)
	if got := p.value(`document.querySelector("#find").value`); got != text {
		p.t.Errorf("the clipboard has %q, not %q", got, text)
	}
}

func (p *person) useTokens(name string) {
	p.t.Helper()
	p.open(p.providersPath("/new?type=oauth"))
	p.checked(name + "-form")
	p.typeAndGo("main button", "#name", "tokens", "#url", "nowhere", "#client_id", hostile, "#client_secret", "secret")
	p.do(servicetest.Shown(`.problem`))
	p.checked(name + "-form-wrong")
	p.clear("#url", "https://token.example/get")
	p.do(chromedp.SendKeys("#client_secret", "secret"))
	p.do(servicetest.Follow("main button"), servicetest.Shown(`.details`))
	p.checked(name)
	if shown := p.value(`document.querySelector("main").innerText`); strings.Count(shown, hostile) != 1 {
		p.t.Errorf("the hostile text is not shown as it is: %s", shown)
	}
	p.do(servicetest.Follow(`a[href$="/edit"]`), servicetest.Shown(`#url`))
	p.checked(name + "-edit")
	p.clear("#url", "https://token.example/other")
	p.do(servicetest.Follow("main button"), servicetest.Shown(`.details`))
	p.open(p.providersPath(""))
	p.checked(name + "s")
}

// TestListsOfSetUpBeginWithTheOldest checks the order of the providers and of the webhooks.
func TestListsOfSetUpBeginWithTheOldest(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		var providers, hooks []string
		for _, name := range []string{"first", "second", "third"} {
			p, err := d.Delivery.RegisterProvider(t.Context(), d.Domain, name, "test")
			must(t, err)
			w := d.register("PAYMENT_STATE_UPDATED", "https://shop.example/"+name, name)
			providers, hooks = append(providers, fmt.Sprintf(`href="%s"`, d.providersPath(fmt.Sprint("/", p.ID)))), append(hooks, fmt.Sprintf(`href="%s"`, d.webhookPath(w)))
		}
		for path, links := range map[string][]string{d.providersPath(""): providers, d.webhooksPath(""): hooks} {
			body := d.get(path).body
			if one, two, three := strings.Index(body, links[0]), strings.Index(body, links[1]), strings.Index(body, links[2]); one < 0 || two < one || three < two {
				t.Errorf("%s shows the links at %d, %d and %d", path, one, two, three)
			}
		}
	})
}
