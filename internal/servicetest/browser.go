package servicetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"passerelle/internal/leftout"
)

const browserTimeout = 3 * time.Minute

// chromium is the browser that all tests of a package share, because its start takes longer than
// many tests.
var chromium struct {
	sync.Mutex
	ctx  context.Context
	stop func()
}

// Browser returns a new private window of the browser, with its own cookies, cache and storage. The
// window has the width and height in CSS pixels, and closes with the test. Without Chromium,
// Browser skips the test, or fails it in CI. The TestMain of the package must call CloseBrowser.
func Browser(t testing.TB, width, height int64) context.Context {
	t.Helper()
	leftout.Needs(t, leftout.Browsers...)
	timed, cancel := context.WithTimeout(startBrowser(t), browserTimeout)
	t.Cleanup(cancel)
	ctx, closeWindow := chromedp.NewContext(timed, chromedp.WithNewBrowserContext())
	t.Cleanup(closeWindow)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height)); err != nil {
		t.Fatalf("open a window of Chromium: %v", err)
	}
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatalf("put a window of Chromium in front: %v", err)
	}
	return ctx
}

func startBrowser(t testing.TB) context.Context {
	t.Helper()
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.ctx != nil {
		return chromium.ctx
	}
	// Chromium leaves sockets behind, and refuses the long paths of test folders.
	folder, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(folder, "profile")), chromedp.Env("TMPDIR="+folder),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		// With SpareRendererForSitePerProcess, Chromium would start a spare process for each window.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess"),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-quic", true),
	))
	end := func() { stop(); _ = os.RemoveAll(folder) }
	if err := chromedp.Do(ctx); err != nil {
		end()
		t.Fatalf("start Chromium (make test installs it where it can): %v", err)
	}
	chromium.ctx, chromium.stop = ctx, end
	return ctx
}

// CloseBrowser ends the browser, if a test started it.
func CloseBrowser() {
	if chromium.stop != nil {
		chromium.stop()
	}
}

// Picture saves the shown page as NAME.png in the folder that PASSERELLE_TEST_PICTURES names.
// Without that variable, Picture does nothing.
func Picture(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	folder := os.Getenv("PASSERELLE_TEST_PICTURES")
	if folder == "" {
		return
	}
	Settle(ctx, t)
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatalf("take a picture of the page: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}
