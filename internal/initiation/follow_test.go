package initiation_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/payment"
)

// TestASlowBankDelaysOnlyItself checks that a pass asks the other banks while one bank does not
// respond. Until it responds, the slow bank must be asked only once about each payment.
func TestASlowBankDelaysOnlyItself(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		slow := &line{Initiator: w.line.Initiator, profile: w.line.Initiator.Profile()}
		slow.profile.UUID, slow.profile.ID, slow.profile.Name = "5b0c1d7e-0f5c-4b57-9d5e-0000000000ab", 99, "Slow"
		slow.profile.Sources = slices.Clone(slow.profile.Sources)
		for i := range slow.profile.Sources {
			slow.profile.Sources[i].ID += 9000
		}
		registry, err := connector.NewRegistry(w.line, slow)
		must(t, err)
		var again atomic.Int64
		w.Connectors, w.PassTime, w.FollowAgain = registry, time.Millisecond, func() { again.Add(1) }
		other, client := w.createDomain("other", passerelle.Sandbox)
		for d, by := range map[*passerelle.Domain]store.Client{&w.domain: w.client, &other: client} {
			for _, uuid := range []string{slow.profile.UUID, slow.profile.UUID, testConnector} {
				p, err := w.Create(t.Context(), *d, initiation.Creation{By: by.ID, Draft: draft(1)})
				must(t, err)
				_, err = w.Validate(t.Context(), *d, p.ID, initiation.Choice{Connector: uuid, WebviewURL: webviewURL, Validated: true})
				must(t, err)
			}
		}
		answer := make(chan struct{})
		var asked, quick atomic.Int64
		var slowPayments sync.Map
		slow.breaks(nil, func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
			asked.Add(1)
			slowPayments.Store(o.Payment.ID, true)
			<-answer
			return next(ctx, o)
		})
		w.line.breaks(nil, func(ctx context.Context, o connector.Order, next exchange) (payment.Report, error) {
			quick.Add(1)
			return next(ctx, o)
		})
		follow := func() {
			t.Helper()
			w.leasesLapse()
			w.execute(`UPDATE payment SET next_check = 0`)
			for _, d := range []passerelle.Domain{w.domain, other} {
				_, err := w.Follow(t.Context(), d)
				must(t, err)
			}
		}
		for quick.Load() < 6 {
			follow()
		}
		many := func() int {
			n := 0
			slowPayments.Range(func(any, any) bool { n++; return true })
			return n
		}
		for many() < 4 {
			follow()
		}
		if asked.Load() != 4 {
			t.Errorf("the slow bank was called %d times before it answered, want once for each of 4 payments", asked.Load())
		}
		close(answer)
		for w.AwaitFollowed(); asked.Load() < 8; w.AwaitFollowed() {
			follow()
		}
		if again.Load() == 0 {
			t.Error("no further pass was due when the slow bank had answered")
		}
	})
}
