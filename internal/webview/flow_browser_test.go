package webview_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"passerelle/connector/sandbox/customers"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

type window struct {
	name, lang    string
	width, height int64
}

var windows = []window{{"desk", "en", 1280, 900}, {"phone", "fr", 390, 844}}

type browserWalker struct {
	*walker
	ctx  context.Context
	name string
	site string
	// private identifies the window among the windows of parallel tests.
	private cdp.BrowserContextID
}

func startBrowserWalker(t *testing.T, w window) *browserWalker {
	t.Helper()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	back := shop(t)
	s.OK(s.Call("PUT", "/clients/"+s.ClientID, s.ConfigToken, map[string]any{"redirect_uris": []string{back}}))
	ctx := servicetest.Browser(t, w.width, w.height)
	return &browserWalker{newWalker(t, s), ctx, w.name + "-" + w.lang, back, chromedp.FromContext(ctx).BrowserContextID}
}

// enter opens a link in the language of the window.
func (p *browserWalker) enter(w window, flow string, pairs ...string) {
	p.t.Helper()
	link := p.link(flow, append([]string{"redirect_uri", p.site}, pairs...)...)
	p.do(servicetest.Navigate(strings.Replace(link, "/en/", "/"+w.lang+"/", 1)))
}

func (p *browserWalker) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	for n, step := range steps {
		if err := chromedp.Do(p.ctx, step); err != nil {
			servicetest.Picture(p.ctx, p.t, p.name+"-failed")
			p.t.Fatalf("step %d: %v", n, err)
		}
	}
}

// see waits for an element on a page. It then checks the page against all rules for pages.
func (p *browserWalker) see(selector, name string) {
	p.t.Helper()
	p.do(servicetest.Shown(selector))
	servicetest.Inspect(p.ctx, p.t, p.name+"-"+name)
}

func step(name string) string { return `form:has(input[name="step"][value="` + name + `"])` }

func TestFlowsInABrowser(t *testing.T) {
	t.Parallel()
	for _, w := range windows {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			p := startBrowserWalker(t, w)
			console := servicetest.Listen(p.ctx, t)
			p.enter(w, "connect", "max_connections", "2")
			p.see(step("begin"), "credentials")
			p.do(chromedp.SetValue(`#field\.login`, "otp"), chromedp.SetValue(`#field\.password`, "0000"), chromedp.Click(step("begin")+` button`))
			p.see(step("fill")+` input[type=password]`, "wrong")
			p.do(chromedp.SetValue(`#field\.login`, "otp"), chromedp.SetValue(`#field\.password`, customers.Password), chromedp.Click(step("fill")+` button`))
			p.see(`#field\.otp`, "code")
			p.do(chromedp.SetValue(`#field\.otp`, "123456"), chromedp.Click(step("fill")+` button`))
			p.see(step("share"), "share")
			p.do(chromedp.Click(`#accounts li:first-child input`), chromedp.Click(step("share")+` button:not([name])`))
			p.see(`a[href*="step=done"]`, "more")
			p.do(chromedp.Click(`a[href*="step=done"]`), servicetest.Shown(`#landed`))

			id := p.waiting("app")
			p.enter(w, "reconnect", "connection_id", id)
			p.see(step("resume"), "app")
			p.do(chromedp.Click(step("resume")+` button`), servicetest.Shown(`#landed`))

			p.waiting("action")
			p.enter(w, "manage")
			p.see(`.choices`, "list")
			p.do(chromedp.Click(`.choices li:first-child a`))
			p.see(step("share"), "manage")
			p.do(chromedp.Click(`a[href*="step=forget"]`))
			p.see(step("forget"), "forget")
			p.do(chromedp.Click(step("forget")+` button`), servicetest.Shown(`.choices`))
			p.do(chromedp.Click(`.choices li:last-child a`))
			p.see(step("again"), "action")
			console.Silent(t)

			// Browsers log a response with an error status on their console.
			p.do(chromedp.Click(`a[href*="step=leave"]`), servicetest.Shown(`#landed`))
			p.enter(w, "connect")
			p.do(chromedp.SetValue(`#field\.login`, "anna"), chromedp.SetValue(`#field\.password`, customers.Password), chromedp.Click(step("begin")+` button`))
			p.do(servicetest.Shown(step("share")), chromedp.Click(step("share")+` button:not([name])`))
			p.see(`#problem`, "share-nothing")
			framed, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`[...document.querySelectorAll("fieldset .choices")].every((list) => getComputedStyle(list).outlineStyle === "solid")`))
			if must(t, err); !framed {
				t.Error("the lists that the message is about have no frame")
			}
		})
	}
}

// In a real browser, a person chooses from a list of institutions, and connects on the
// institution's own page.
func TestThePageOfTheInstitutionInABrowser(t *testing.T) {
	t.Parallel()
	for _, w := range windows {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			p := startBrowserWalker(t, w)
			console := servicetest.Listen(p.ctx, t)
			p.enter(w, "connect", "connector_capabilities", "document")
			p.see(`.banks`, "institutions")
			p.do(chromedp.Click(`.banks li:first-child a`))
			p.see(step("begin"), "documents")
			p.enter(w, "connect")
			p.do(servicetest.Shown(`a[href*="by=webauth"]`), chromedp.Click(`a[href*="by=webauth"]`))
			p.see(`a[href*="by=credentials"]`, "page")
			p.do(chromedp.Click(step("begin")+` button`), servicetest.Shown(`button.refuse`), chromedp.Click(`button.refuse`))
			p.see(step("bank"), "refused")
			p.do(chromedp.Click(step("bank")+` button`), servicetest.Shown(`#login`), chromedp.SetValue(`#login`, "many"), chromedp.Click(`button.approve`))
			p.see(`button[name=all]`, "many")
			p.do(chromedp.Click(`button[name=all]`), servicetest.Shown(`a[href*="step=done"]`), chromedp.Click(`a[href*="step=done"]`), servicetest.Shown(`#landed`))
			console.Silent(t)
		})
	}
}

// Browsers do not send the fragment of an address. If the fragment contains a code, the page's
// script sends the code to the service, and removes it from the address.
func TestCodeInTheFragment(t *testing.T) {
	t.Parallel()
	p := startBrowserWalker(t, windows[0])
	p.connection("anna")
	for _, c := range []struct{ flow, capabilities, arrived string }{
		{"manage", "", `.choices`}, {"connect", "", step("begin") + `[action*="session"]`}, {"connect", "document", `.banks`},
	} {
		flow, arrived := c.flow, c.arrived
		link := p.link(flow, "redirect_uri", p.site, "code", "", "connector_capabilities", c.capabilities)
		link = strings.Replace(link, "/webview/", "/2.0/auth/webview/", 1)
		p.do(servicetest.Navigate(link+"#"+p.code()), servicetest.Shown(arrived), chromedp.WaitNotPresent(`form[data-handover]`))
		address, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`location.href`))
		must(t, err)
		if u, _ := url.Parse(address); u.Fragment != "" || !u.Query().Has("session") {
			t.Errorf("%s: the browser is at %s", flow, address)
		}
	}
}

// A click disables the button, so a double click submits the form only once.
func TestDoubleClickInABrowser(t *testing.T) {
	t.Parallel()
	p := startBrowserWalker(t, windows[0])
	p.enter(windows[0], "connect", "code", "")
	p.do(servicetest.Shown(step("begin")), chromedp.SetValue(`#field\.login`, "anna"), chromedp.SetValue(`#field\.password`, customers.Password))
	clicked, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`new Promise((done) => {
		const button = document.querySelector('form:has(input[name="step"][value="begin"]) button');
		button.click();
		setTimeout(() => done(button.disabled));
	})`, chromedp.EvalAwaitPromise))
	must(t, err)
	if !clicked {
		t.Error("the button can be clicked again")
	}
	p.see(step("share"), "double-click")
}

// parent serves a page of the application on another site. The page shows a link in a frame, and
// sets its own title to the last message.
func parent(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>nothing yet</title><iframe src="%s" width="600" height="900"></iframe>
			<script>addEventListener("message", (e) => { document.title = e.origin + " " + JSON.stringify(e.data); });</script>`,
			html.EscapeString(r.URL.Query().Get("link")))
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

func (p *browserWalker) inside() context.Context {
	p.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		all, err := chromedp.Targets(p.ctx)
		must(p.t, err)
		for _, one := range all {
			if one.Type == "iframe" && one.BrowserContextID == p.private {
				ctx, leave := chromedp.NewContext(p.ctx, chromedp.WithTargetID(one.TargetID))
				p.t.Cleanup(leave)
				return ctx
			}
		}
	}
	p.t.Fatal("there is nothing in the frame")
	return nil
}

// In a frame of the application's page, the flow ends with a message to that page.
func TestInsideAPageOfTheApplication(t *testing.T) {
	t.Parallel()
	p, origin := startBrowserWalker(t, windows[0]), parent(t)
	p.OK(p.Call("PUT", "/clients/"+p.ClientID, p.ConfigToken, map[string]any{"config": map[string]string{"webview.origins": "https://other.example " + origin}}))
	p.do(servicetest.Navigate(origin + "/?link=" + url.QueryEscape(p.link("connect", "redirect_uri", p.site))))
	p.ctx = p.inside()
	p.do(
		servicetest.Shown(step("begin")), chromedp.SetValue(`#field\.login`, "one"), chromedp.SetValue(`#field\.password`, customers.Password), chromedp.Click(step("begin")+` button`),
		servicetest.Shown(step("share")), chromedp.Click(`#accounts input`), chromedp.Click(step("share")+` button:not([name])`),
		servicetest.Shown(`a[href*="step=done"]`), chromedp.Click(`a[href*="step=done"]`), servicetest.Shown(`[data-message]`),
	)
	title := ""
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(title, "powens") && time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		all, err := chromedp.Targets(p.ctx)
		must(t, err)
		for _, one := range all {
			if one.Type == "page" && one.BrowserContextID == p.private {
				title = one.Title
			}
		}
	}
	id := p.connections(p.token)[0].ID.String()
	if want := p.Origin + ` {"data":{"connectionId":"` + id + `","state":"a b&c=ü"},"type":"powensWebviewTermination"}`; title != want {
		t.Errorf("the page around is told %s, want %s", title, want)
	}
}
