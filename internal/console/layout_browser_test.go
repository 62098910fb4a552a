package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestLongWordsInABrowser checks that long words in a name and a label push no column out of sight,
// and that a name has the width of a phone.
func TestLongWordsInABrowser(t *testing.T) {
	t.Parallel()
	p := arriveAt(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}), operators.Viewer, 1280, 900)
	draft := servicetest.Draft()
	line(draft)["label"] = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
	line(draft)["beneficiary"].(map[string]any)["label"] = "Wohnungsbaugenossenschaft Mecklenburg"
	id := p.Create(p.Token("payments:admin"), draft)
	for _, path := range []string{p.domainPath("/payments"), p.paymentPath(id)} {
		p.open(path)
		p.do(servicetest.Shown(`main td.words`))
		if got := p.value(`[...document.querySelectorAll("main .sideways")].every((e) => e.scrollWidth <= e.clientWidth)`); got != "true" {
			t.Errorf("%s: a table is wider than its place", path)
		}
	}
	p.do(chromedp.EmulateViewport(320, 700))
	p.open(p.domainPath("/payments"))
	p.do(servicetest.Shown(`main td.words`))
	if got := p.value(`document.querySelector("main td.words").offsetHeight < 60`); got != "true" {
		t.Errorf("the name is squeezed: it is %s pixels wide", p.value(`document.querySelector("main td.words").offsetWidth`))
	}
}

// TestWrongFieldsInABrowser checks that a wrong field has a frame, also in the search box of each page.
func TestWrongFieldsInABrowser(t *testing.T) {
	t.Parallel()
	p := arriveAt(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}), operators.Viewer, 1280, 900)
	for _, path := range []string{"/payments?id=odd", "/search?q=" + strings.Repeat("x", 201)} {
		p.open(p.domainPath(path))
		p.do(servicetest.Shown(`[aria-invalid]`))
		if got := p.value(`getComputedStyle(document.querySelector("[aria-invalid]")).boxShadow`); !strings.Contains(got, "inset") {
			t.Errorf("%.20s: the wrong field has the shadow %s", path, got)
		}
	}
}

// TestPrintingInABrowser checks that a printed payment has no buttons, no menu and no cut tables.
func TestPrintingInABrowser(t *testing.T) {
	t.Parallel()
	p := arriveAt(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}), operators.Administrator, 794, 1100)
	p.open(p.paymentPath(p.Create(p.Token("payments:admin"), servicetest.Draft())))
	servicetest.Paper(p.ctx, t)
	for _, unwanted := range []string{"button", ".button", ".bar", ".menu"} {
		script := fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()).length`, unwanted)
		if got := p.value(script); got != "0" {
			t.Errorf("on paper, there are %s of %s", got, unwanted)
		}
	}
	if got := p.value(`document.documentElement.scrollWidth <= innerWidth`); got != "true" {
		t.Error("a part of the page is outside the paper")
	}
	if got := p.value(servicetest.HiddenOnPaper); got != "true 0" {
		t.Errorf("the page has closed sections, and hides some of their elements on paper: %s", got)
	}
	if got := p.value(`[...document.querySelectorAll("td.words")].every((e) => e.offsetWidth >= 88)`); got != "true" {
		t.Error("on paper, the name of the payee breaks inside a word")
	}
	for _, path := range []string{"/clients/" + p.ClientID, "/payments?state=pending"} {
		p.open(p.domainPath(path))
		p.do(servicetest.Shown(`details:has(form)`))
		const closed = `[...document.querySelectorAll("details:not([open]) form, form details:not([open]) > :not(summary)")]`
		if got := p.value(`[` + closed + `.length > 0, ` + closed + `.filter((e) => e.checkVisibility()).length].join(" ")`); got != "true 0" {
			t.Errorf("%s has closed sections with a part of a form, and shows some of them on paper: %s", path, got)
		}
	}
}
