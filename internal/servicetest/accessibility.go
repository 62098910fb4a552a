package servicetest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"passerelle/internal/leftout"
)

// engineSum contains the name of the accessibility engine and its SHA-256, in the format of
// sha256sum. scripts/install-tools downloads the engine.
//
//go:embed axe-core.sha256
var engineSum string

// schemes lists the colour schemes, with the rules that each of them is checked against.
var schemes = []struct{ name, rules string }{{"light", everyRule}, {"dark", inColour}}

// everyRule selects all rules. inColour selects the rules whose result depends on colours. The
// colour scheme changes nothing else.
const (
	everyRule = `runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
		rules: {"target-size": {enabled: true}}`
	inColour = `runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}`
)

const judge = `axe.run(document, {%s, resultTypes: ["violations"], iframes: false})
	.then(({violations}) => violations.flatMap((rule) => rule.nodes.map((node) =>
	rule.id + " at " + node.target.join(" ") + ": " + node.failureSummary.replace(/\s+/g, " ") + " " + node.html.slice(0, 200))))`

// Violations runs an accessibility engine on the shown page, in both colour schemes, and lists its
// findings. The content security policy of the page stays active, and the page's scripts cannot
// reach the engine. Without the engine, Violations skips the test, or fails it in CI.
func Violations(ctx context.Context, t testing.TB) []string {
	t.Helper()
	Settle(ctx, t)
	world := engineWorld(ctx, t)
	var all []string
	for _, scheme := range schemes {
		Scheme(ctx, t, scheme.name)
		found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(judge, scheme.rules), chromedp.EvalAwaitPromise, within(world)))
		if err != nil {
			t.Fatalf("run the accessibility engine: %v", err)
		}
		for _, violation := range found {
			all = append(all, scheme.name+": "+violation)
		}
	}
	Scheme(ctx, t, "")
	return all
}

// Scheme makes the browser prefer a colour scheme. An empty scheme removes the preference.
func Scheme(ctx context.Context, t testing.TB, scheme string) {
	t.Helper()
	preferred := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, preferred); err != nil {
		t.Fatalf("prefer the colour scheme %q: %v", scheme, err)
	}
}

func engineWorld(ctx context.Context, t testing.TB) runtime.ExecutionContextID {
	t.Helper()
	tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		t.Fatalf("ask for the frames of the page: %v", err)
	}
	world, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.Frame.ID, WorldName: "accessibility"})
	if err != nil {
		t.Fatalf("make a world for the accessibility engine: %v", err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](engine(t)+";0", within(world.ExecutionContextID))); err != nil {
		t.Fatalf("load the accessibility engine: %v", err)
	}
	return world.ExecutionContextID
}

func within(world runtime.ExecutionContextID) chromedp.EvaluateOption {
	return func(p *runtime.EvaluateParams) { p.ContextID = world }
}

func engine(t testing.TB) string {
	t.Helper()
	sum, name, _ := strings.Cut(strings.TrimSpace(engineSum), "  ")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("find the folder of caches: %v", err)
	}
	script, err := os.ReadFile(filepath.Join(cache, "passerelle", filepath.FromSlash(name)))
	if err != nil {
		leftout.Without(t, "the accessibility engine (scripts/install-tools axe)")
	}
	if found := sha256.Sum256(script); hex.EncodeToString(found[:]) != sum {
		t.Fatalf("the accessibility engine %s is not the one that was checked (scripts/install-tools axe fetches it)", name)
	}
	return string(script)
}
