package servicetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Two navigations can overlap, for example after a click on a page that is still loading. The
// driver then searches for elements in a page that the browser no longer shows. The functions in
// this file query the shown page instead.

// Navigate opens an address, and waits until the page at the address is complete.
func Navigate(address string) chromedp.Action[chromedp.Void] {
	return elsewhere(func(ctx context.Context, t *chromedp.Target) error {
		res, err := cdp.Call(ctx, t, page.Navigate, page.NavigateParams{URL: address})
		if err == nil && res.ErrorText != "" {
			err = fmt.Errorf("go to %s: %s", address, res.ErrorText)
		}
		return err
	})
}

// Back presses the browser's back button, and waits until the page is complete.
func Back() chromedp.Action[chromedp.Void] {
	return elsewhere(func(ctx context.Context, t *chromedp.Target) error {
		history, err := cdp.Call(ctx, t, page.GetNavigationHistory, cdp.Empty{})
		if err != nil || history.CurrentIndex == 0 {
			return fmt.Errorf("there is no way back: %w", err)
		}
		before := history.Entries[history.CurrentIndex-1].ID
		_, err = cdp.Call(ctx, t, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: before})
		return err
	})
}

// Follow clicks a link, and waits until the page is complete. The link may open the same page.
func Follow(selector string) chromedp.Action[chromedp.Void] {
	return elsewhere(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Click(selector)(ctx, t)
		return err
	})
}

// Shown waits until an element that matches a selector is visible.
func Shown(selector string) chromedp.Action[chromedp.Void] {
	visible := fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.checkVisibility({visibilityProperty: true}))`, selector)
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { return until(ctx, t, visible) })
}

// A new page does not have the mark of the old page.
const (
	mark     = `void (window.leaving = true)`
	arrived  = `!window.leaving && document.readyState === "complete"`
	complete = `document.readyState === "complete"`
)

// elsewhere does a step that opens another page, and waits until that page is complete. A new
// address opens no other page when only its fragment differs.
func elsewhere(step func(ctx context.Context, t *chromedp.Target) error) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if err := until(ctx, t, complete); err != nil {
			return err
		}
		if _, err := chromedp.Evaluate[chromedp.Void](mark)(ctx, t); err != nil {
			return err
		}
		if err := step(ctx, t); err != nil {
			return err
		}
		return until(ctx, t, arrived)
	})
}

// The pauses between queries become longer, because queries slow down the page.
const (
	firstPause   = 4 * time.Millisecond
	longestPause = 64 * time.Millisecond
)

// until ignores errors, because a page that is loading does not respond at first.
func until(ctx context.Context, t *chromedp.Target, condition string) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if holds, err := chromedp.Evaluate[bool](condition)(ctx, t); err == nil && holds {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for a page on which %s: %w", condition, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Settle waits until the page that the browser shows is complete.
func Settle(ctx context.Context, t testing.TB) {
	t.Helper()
	err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error { return until(ctx, target, complete) }))
	if err != nil {
		t.Fatal(err)
	}
}
