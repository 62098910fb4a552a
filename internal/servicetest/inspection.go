package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// wrongs finds violations of the rules for pages. If a page does not escape a test's hostile text,
// the text makes an element or a title named "planted".
const wrongs = `Object.entries({
	"wider than the window": document.documentElement.scrollWidth > innerWidth,
	"heavier than 100 kB": performance.getEntries().reduce((n, e) => n + (e.encodedBodySize || 0), 0) > 100000,
	"made of things from afar": performance.getEntriesByType("resource").some((e) => !e.name.startsWith(location.origin)),
	"changed by a hostile text": document.querySelector("#planted") !== null || document.title === "planted",
	"without one heading": document.querySelectorAll("h1").length !== 1,
	"with a field without label": [...document.querySelectorAll("input:not([type=hidden], [hidden]), select, textarea")].some((f) => f.labels.length === 0),
	"with a table that a phone cannot show": innerWidth <= 640 && [...document.querySelectorAll("main .sideways")].some((e) => e.scrollWidth > e.clientWidth),
	"with scripts or styles of its own": document.querySelector("script:not([src]), [style], [onclick]") !== null,
}).filter(([, wrong]) => wrong).map(([name]) => name)`

// The smallest phone is 320 CSS pixels wide. A window of at most 400 CSS pixels counts as a phone.
const smallest, phone = 320, 400

func inspectSizes(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	size, err := chromedp.Run(ctx, chromedp.Evaluate[[]int64](`[innerWidth, innerHeight]`))
	if err != nil {
		t.Fatalf("measure the window of page %s: %v", name, err)
	}
	findWrongs(ctx, t, name)
	if size[0] <= smallest || size[0] > phone {
		return
	}
	resize(ctx, t, smallest, size[1])
	findWrongs(ctx, t, name+"-smallest")
	Picture(ctx, t, name+"-smallest")
	resize(ctx, t, size[0], size[1])
}

func findWrongs(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	wrong, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](wrongs))
	if err != nil {
		t.Fatalf("look at page %s: %v", name, err)
	}
	if len(wrong) > 0 {
		t.Errorf("page %s is %s", name, strings.Join(wrong, ", "))
	}
}

func resize(ctx context.Context, t testing.TB, width, height int64) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height)); err != nil {
		t.Fatalf("make the window %d wide: %v", width, err)
	}
}

// Inspect checks the shown page against the rules for all pages, and checks its accessibility. It
// saves pictures of the page under the name, in both colour schemes.
func Inspect(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	Settle(ctx, t)
	inspectSizes(ctx, t, name)
	for _, violation := range Violations(ctx, t) {
		t.Errorf("page %s keeps people out: %s", name, violation)
	}
	for _, scheme := range schemes {
		Scheme(ctx, t, scheme.name)
		Picture(ctx, t, name+"-"+scheme.name)
	}
	Scheme(ctx, t, "")
}

// Paper shows the page as the browser prints it.
func Paper(ctx context.Context, t testing.TB) {
	t.Helper()
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatalf("show the page on paper: %v", err)
	}
}

// HiddenOnPaper is a script that looks at closed sections without a part of a form. It returns whether
// the page has such sections, and the number of their elements that are not visible.
const HiddenOnPaper = `(() => {
	const parts = [...document.querySelectorAll("main details:not([open], :has(form), form details) > :not(summary)")];
	return [parts.length > 0, parts.filter((part) => !part.checkVisibility()).length].join(" ");
})()`

// Console has the browser's messages about its pages.
type Console struct {
	ctx  context.Context
	said chan string
}

// Listen starts to collect the browser's messages.
func Listen(ctx context.Context, t testing.TB) Console {
	t.Helper()
	c := Console{ctx, make(chan string, 1000)}
	err := chromedp.Listen(ctx, func(event any) {
		for _, kind := range []string{"log.EventEntryAdded", "runtime.EventExceptionThrown", "runtime.EventConsoleAPICalled"} {
			if strings.Contains(fmt.Sprintf("%T", event), kind) {
				text, _ := json.Marshal(event)
				c.said <- kind + " " + string(text)
			}
		}
	})
	if err != nil {
		t.Fatalf("listen to the browser: %v", err)
	}
	return c
}

// Silent checks that the browser has sent no messages, except messages that contain a text in the
// argument `but`.
func (c Console) Silent(t testing.TB, but ...string) {
	t.Helper()
	const end = "the end"
	if err := chromedp.Do(c.ctx, chromedp.Evaluate[chromedp.Void](`console.error("`+end+`")`)); err != nil {
		t.Fatalf("have the browser say something: %v", err)
	}
	for said := c.next(t); !strings.Contains(said, end); said = c.next(t) {
		if !slices.ContainsFunc(but, func(meant string) bool { return strings.Contains(said, meant) }) {
			t.Errorf("the browser said: %s", said)
		}
	}
}

func (c Console) next(t testing.TB) string {
	t.Helper()
	select {
	case said := <-c.said:
		return said
	case <-c.ctx.Done():
		t.Fatal("the browser does not say anything at all")
		return ""
	}
}
