package console_test

import (
	"fmt"
	"testing"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

func TestPagesAboutProblemsInABrowser(t *testing.T) {
	t.Parallel()
	for name, width := range map[string]int64{"desktop": 1280, "phone": 390, "narrow": 320} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := arriveAt(t, servicetest.Start(t, storetest.SQLite(t), servicetest.Options{}), operators.Administrator, width, 900)
			in := p.trouble()
			p.OK(p.Call("POST", "/sandbox/clock", p.ConfigToken, map[string]any{"advance": "3h"}))
			waits := p.connect(in.token, "otp") // an unfinished connection would not outlast the three hours
			for _, page := range []struct{ name, path, seen string }{
				{"webhook", fmt.Sprint("/webhooks/", in.stopped), "section.problem"},
				{"event", "/webhooks/events/12", ".json"},
				{"connection", fmt.Sprintf("/users/%d/connections/%d", in.user, waits), ".hint"},
				{"users", "/users", `[data-state="failing"]`},
				{"search", "/search?q=0189", "main table"},
			} {
				p.open(p.domainPath(page.path))
				p.do(servicetest.Shown(page.seen))
				p.checked(name + "-trouble-" + page.name)
				if got := p.value(`document.documentElement.scrollWidth <= innerWidth`); got != "true" {
					t.Errorf("the page %s is wider than its window", page.name)
				}
			}
			p.says.Silent(t)
		})
	}
}
