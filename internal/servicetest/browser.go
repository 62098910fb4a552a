package servicetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"passerelle/internal/leftout"
)

// browserTimeout limits all actions of a test in a browser.
const browserTimeout = 3 * time.Minute

// Browser starts a headless Chromium for a test. Its window has the width and height in CSS pixels.
// Without Chromium the test is skipped.
func Browser(t testing.TB, width, height int64) context.Context {
	t.Helper()
	leftout.Needs(t, leftout.Browsers...)
	// Chromium leaves sockets behind, and refuses the long paths of test folders.
	temporary, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temporary) })
	timed, cancel := context.WithTimeout(context.Background(), browserTimeout)
	t.Cleanup(cancel)
	ctx, closeBrowser := chromedp.NewContext(timed, chromedp.WithAllocatorOptions(
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR="+temporary),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-quic", true),
	))
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height)); err != nil {
		t.Fatalf("start Chromium (make test installs it where it can): %v", err)
	}
	return ctx
}

// Picture saves a picture of the shown page as NAME.png in the folder PASSERELLE_TEST_PICTURES. It
// does nothing without that variable.
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
