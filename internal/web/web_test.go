package web_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"passerelle/internal/web"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

var templates = fstest.MapFS{
	"_frame.html": file(`{{define "after"}}<footer>{{.Say "end"}}</footer>{{end}}`),
	"plain.html":  file(`{{define "content"}}<h1>{{.Body.Name}}</h1>{{end}}`),
	"part.html":   file(`{{define "live"}}<p>{{.Body}}</p>{{end}}{{define "content"}}{{template "live" .}}{{end}}`),
}

var texts = fstest.MapFS{
	"en.json": file(`{"end": "The end", "greeting": "Good day, %s"}`),
	"fr.json": file(`{"end": "Fin", "greeting": "Bonjour, %s"}`),
}

func words() web.Words { return web.MustDictionary(texts, "en").In("en") }

func TestPagesAreSentWhole(t *testing.T) {
	answer := httptest.NewRecorder()
	err := web.MustPages(templates).Send(answer, web.Page{
		Name: "plain", Status: http.StatusTeapot, Words: words(), Title: "A <title>", Body: struct{ Name string }{"<b>"},
		Module: "filter.mjs", FormTargets: []string{"https://client.example"}, Refresh: 3 * time.Second, RefreshTo: "https://bank.example/?a=1",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>&lt;b&gt;</h1>", "<title>A &lt;title&gt;</title>", "<footer>The end</footer>", `<html lang="en">`, `<script type="module" src="/assets/filter.`} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("the page lacks %s: %s", want, answer.Body)
		}
	}
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Refresh": "3; url=https://bank.example/?a=1", "Content-Language": "en",
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self' https://client.example; " +
			"frame-ancestors 'none'; base-uri 'none'; script-src 'self'",
	} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if answer.Code != http.StatusTeapot {
		t.Errorf("the status is %d", answer.Code)
	}
}

func TestABrokenPageSendsNothing(t *testing.T) {
	for _, page := range []web.Page{
		{Name: "unknown"},
		{Name: "plain", Body: struct{ Other string }{}},
		{Name: "plain", Body: struct{ Name string }{}, Module: "unknown.mjs"},
	} {
		answer := httptest.NewRecorder()
		if err := web.MustPages(templates).Send(answer, page); err == nil {
			t.Errorf("page %+v was sent", page)
		}
		if answer.Body.Len() > 0 || len(answer.Header()) > 0 {
			t.Errorf("half of a page was sent: %v %s", answer.Header(), answer.Body)
		}
	}
}

// A client that already has the current content of a part gets a 304 without content.
func TestPartsOfPages(t *testing.T) {
	send := func(body, etag string) *httptest.ResponseRecorder {
		answer, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		if etag != "" {
			request.Header.Set("If-None-Match", etag)
		}
		if err := web.MustPages(templates).SendPart(answer, request, web.Page{Name: "part", Words: words(), Body: body, Module: "filter.mjs", Asks: true}, "live"); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	first := send("<b>", "")
	if first.Code != http.StatusOK || first.Body.String() != "<p>&lt;b&gt;</p>" || first.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %s", first.Code, first.Header(), first.Body)
	}
	if policy := first.Header().Get("Content-Security-Policy"); !strings.HasSuffix(policy, "script-src 'self'; connect-src 'self'") {
		t.Errorf("the policy is %s", policy)
	}
	tag := first.Header().Get("ETag")
	if same := send("<b>", tag); same.Code != http.StatusNotModified || same.Body.Len() > 0 {
		t.Errorf("unchanged: %d %s", same.Code, same.Body)
	}
	if other := send("c", tag); other.Code != http.StatusOK || other.Header().Get("ETag") == tag {
		t.Errorf("changed: %d %v", other.Code, other.Header())
	}
	pages := web.MustPages(templates)
	for _, name := range []string{"plain", "unknown"} {
		answer := httptest.NewRecorder()
		if err := pages.SendPart(answer, httptest.NewRequest(http.MethodGet, "/", nil), web.Page{Name: name}, "live"); err == nil || answer.Body.Len() > 0 || pages.Has(name, "live") {
			t.Errorf("page %s has a part: %v %s", name, err, answer.Body)
		}
	}
}

func TestAttachmentsAreKept(t *testing.T) {
	answer := httptest.NewRecorder()
	web.Download(answer, "text/csv; charset=utf-8", "payments-1.csv")
	for name, want := range map[string]string{
		"Content-Disposition": `attachment; filename="payments-1.csv"`, "Content-Type": "text/csv; charset=utf-8",
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestAssetsAreKeptForEver(t *testing.T) {
	for name, kind := range map[string]string{
		"passerelle.css": "text/css; charset=utf-8", "filter.mjs": "text/javascript; charset=utf-8", "mark.svg": "image/svg+xml",
	} {
		address, err := web.Asset(name)
		if err != nil {
			t.Fatal(err)
		}
		answer := httptest.NewRecorder()
		web.Assets().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address, nil))
		header := answer.Header()
		if answer.Code != http.StatusOK || header.Get("Content-Type") != kind || !strings.Contains(header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", address, answer.Code, header)
		}
	}
}

func TestOtherAddressesAreNoAssets(t *testing.T) {
	for _, address := range []string{"/assets/", "/assets/passerelle.css", "/assets/passerelle.000000000000.css", "/assets/..%2fweb.go"} {
		answer := httptest.NewRecorder()
		web.Assets().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address, nil))
		if answer.Code != http.StatusNotFound || answer.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", address, answer.Code, answer.Header())
		}
	}
	if _, err := web.Asset("unknown.css"); err == nil {
		t.Error("an unknown file has an address")
	}
}

// sealed sets a cookie. It returns the cookie in the form that a browser would send.
func sealed(t *testing.T, sealer *web.Sealer, name, value string) *http.Cookie {
	t.Helper()
	answer := httptest.NewRecorder()
	if err := sealer.Set(answer, web.Cookie{Name: name, Path: "/", Life: time.Hour}, value); err != nil {
		t.Fatal(err)
	}
	return answer.Result().Cookies()[0]
}

func TestCookiesOpenOnlyAsTheyWereSealed(t *testing.T) {
	sealer := web.NewSealer([32]byte{1})
	good, long := sealed(t, sealer, "a", "secret"), sealed(t, sealer, "a", strings.Repeat("x", 2000))
	if strings.Contains(good.Value, "secret") || len(long.Value) < 2000 {
		t.Fatal("the value is not sealed")
	}
	for _, c := range []struct {
		name    string
		cookies []*http.Cookie
		key     byte
		want    string
	}{
		{"as sealed", []*http.Cookie{good}, 1, "secret"},
		{"after one that does not open", []*http.Cookie{{Name: "a", Value: "old"}, good}, 1, "secret"},
		{"none", nil, 1, ""},
		{"not base64", []*http.Cookie{{Name: "a", Value: "!"}}, 1, ""},
		{"too short", []*http.Cookie{{Name: "a", Value: "AAAA"}}, 1, ""},
		{"altered", []*http.Cookie{{Name: "a", Value: strings.ToUpper(good.Value)}}, 1, ""},
		{"renamed", []*http.Cookie{{Name: "a", Value: sealed(t, sealer, "b", "secret").Value}}, 1, ""},
		{"other key", []*http.Cookie{good}, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			for _, cookie := range c.cookies {
				request.AddCookie(cookie)
			}
			var got string
			err := web.NewSealer([32]byte{c.key}).Read(request, "a", &got)
			if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, web.ErrNoCookie) {
				t.Errorf("read %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestCookiesThatBrowsersDropAreRefused(t *testing.T) {
	answer := httptest.NewRecorder()
	err := web.NewSealer([32]byte{}).Set(answer, web.Cookie{Name: "a"}, strings.Repeat("x", 4096))
	if !errors.Is(err, web.ErrLongCookie) || len(answer.Header()) > 0 {
		t.Errorf("set: %v, %v", err, answer.Header())
	}
}

func TestForgedRequests(t *testing.T) {
	for _, c := range []struct {
		method, header, value string
		want                  bool
	}{
		{http.MethodPost, "Sec-Fetch-Site", "same-origin", false},
		{http.MethodPost, "Sec-Fetch-Site", "none", false},
		{http.MethodPost, "Sec-Fetch-Site", "same-site", true},
		{http.MethodPost, "Sec-Fetch-Site", "cross-site", true},
		{http.MethodPost, "Origin", "http://example.com", false},
		{http.MethodPost, "Origin", "http://evil.example", true},
		{http.MethodPost, "Origin", "null", false},
		{http.MethodGet, "Sec-Fetch-Site", "cross-site", false},
	} {
		request := httptest.NewRequest(c.method, "http://example.com/", nil)
		request.Header.Set(c.header, c.value)
		if got := web.Forged(request); got != c.want {
			t.Errorf("%s with %s %s: forged is %t", c.method, c.header, c.value, got)
		}
	}
}

func TestBestLanguageOfAcceptLanguage(t *testing.T) {
	dictionary := web.MustDictionary(texts, "en")
	for accept, want := range map[string]string{
		"": "en", "fr": "fr", "fr-CA,en;q=0.9": "fr", "de,fr;q=0.5": "fr", "de": "en", "en-GB,fr;q=0.9": "en", "*": "en", "\x00;;;q": "en",
	} {
		if got := dictionary.Best(accept).Lang; got != want {
			t.Errorf("Accept-Language %q gets %s, want %s", accept, got, want)
		}
	}
	if got := dictionary.In("xx").Lang; got != "en" {
		t.Errorf("an unknown language gets %s", got)
	}
	french := dictionary.In("fr")
	for key, want := range map[string]string{"greeting": "Bonjour, 100%", "unknown": "unknown"} {
		if got := french.Say(key, "100%"); got != want {
			t.Errorf("%s says %q, want %q", key, got, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	for address, want := range map[string]string{
		"https://shop.example:8443/a?b": "https://shop.example:8443", "http://shop.example": "http://shop.example",
		"/relative": "", "mybank://pay": "", "javascript:alert(1)": "", "%": "", "": "",
	} {
		if got := web.Origin(address); got != want {
			t.Errorf("the origin of %q is %q, want %q", address, got, want)
		}
	}
}

// A page that other sites may show in a frame lists these sites in Content-Security-Policy, and has
// no X-Frame-Options. A cookie with Framed is partitioned.
func TestPagesInsideOfOthers(t *testing.T) {
	answer := httptest.NewRecorder()
	err := web.MustPages(templates).Send(answer, web.Page{
		Name: "plain", Words: words(), Body: struct{ Name string }{}, Ancestors: []string{"https://a.example", "https://b.example"},
	})
	policy := answer.Header().Get("Content-Security-Policy")
	if err != nil || !strings.Contains(policy, "frame-ancestors https://a.example https://b.example;") || answer.Header().Get("X-Frame-Options") != "" {
		t.Errorf("%v: %s, %s", err, policy, answer.Header().Get("X-Frame-Options"))
	}
	sealer := web.NewSealer([32]byte{1})
	if err := sealer.Set(answer, web.Cookie{Name: "a", Path: "/", Framed: true}, "x"); err != nil {
		t.Fatal(err)
	}
	if cookie := answer.Header().Get("Set-Cookie"); !strings.HasSuffix(cookie, "; HttpOnly; Secure; SameSite=None; Partitioned") {
		t.Errorf("cookie %s", cookie)
	}
}

func TestSealedTexts(t *testing.T) {
	sealer := web.NewSealer([32]byte{1})
	text, err := sealer.Seal("ticket", 7)
	if err != nil {
		t.Fatal(err)
	}
	var got int
	if !sealer.Open("ticket", text, &got) || got != 7 {
		t.Errorf("opened as %d", got)
	}
	for _, wrong := range []struct{ name, text string }{{"other", text}, {"ticket", text[:len(text)-2]}, {"ticket", ""}, {"ticket", "!"}} {
		if sealer.Open(wrong.name, wrong.text, &got) {
			t.Errorf("%q opens as %q", wrong.text, wrong.name)
		}
	}
	if web.NewSealer([32]byte{2}).Open("ticket", text, &got) {
		t.Error("another key opens it")
	}
}
