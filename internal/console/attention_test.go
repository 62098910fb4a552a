package console_test

import (
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/operators"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
)

// TestAgeOfTheBackup checks that the first page of a live domain reports an old or missing backup.
// The first page of a sandbox must not.
func TestAgeOfTheBackup(t *testing.T) {
	clock := newClock()
	servicetest.Each(t, servicetest.Options{Now: clock.now}, func(t *testing.T, s *servicetest.Instance) {
		d := newFixture(t, s)
		d.enter(operators.Viewer)
		live, err := service.EnsureDomain(t.Context(), d.DB, passerelle.Domain{Name: "shop", Kind: passerelle.Live, BaseURL: "https://shop.example/2.0", Created: clock.now()})
		must(t, err)
		ofLive := *d
		ofLive.Instance = &servicetest.Instance{}
		*ofLive.Instance = *s
		ofLive.Domain = live
		first := ofLive.domainPath("")
		d.shows(first, []string{"No backup was made yet", `href="/docs/guides/operating#9-back-up-and-restore"`})
		if guide := d.get("/docs/guides/operating"); !strings.Contains(guide.body, `id="9-back-up-and-restore"`) {
			t.Error("the remedy leads nowhere")
		}
		note := func(begun time.Time) {
			t.Helper()
			must(t, d.DB.Write(t.Context(), func(tx *store.Tx) error { tx.NoteBackup(begun); return nil }))
		}
		for _, step := range []struct {
			age   time.Duration
			shown string
		}{
			{100 * time.Hour, "The last backup is 4 days old"},
			{48*time.Hour + time.Second, "The last backup is 2 days old"},
			{48 * time.Hour, ""},
			{time.Minute, ""},
			{30 * 24 * time.Hour, ""}, // a backup that is older than the newest one changes nothing
		} {
			note(clock.now().Add(-step.age))
			if step.shown == "" {
				d.shows(first, []string{"Needs attention"}, "backup")
				continue
			}
			d.shows(first, []string{step.shown, "Read how to back up"}, "No backup")
		}
		d.shows(d.domainPath(""), []string{"Needs attention"}, "backup")
	})
}
