package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// part requests the live part of a page, as the page's script does.
func (d *fixture) part(path, etag string) answer {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.Origin+path, nil)
	must(d.t, err)
	request.Header.Set("Passerelle-Part", "live")
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	return d.do(request)
}

func TestPartsOfPages(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Developer)
		id := d.Create(d.Token("payments:admin"), servicetest.Draft())
		for _, path := range []string{d.domainPath("/payments"), d.paymentPath(id), d.domainPath("/simulation/receiver")} {
			whole, part := d.get(path), d.part(path, "")
			if part.status != http.StatusOK || strings.Contains(part.body, "<html") || !strings.Contains(whole.body, part.body) {
				t.Errorf("%s: %d, the part is not one of the page: %s", path, part.status, part.body)
			}
			if again := d.part(path, part.header.Get("ETag")); again.status != http.StatusNotModified || again.body != "" {
				t.Errorf("%s, unchanged: %d %s", path, again.status, again.body)
			}
		}
		before := d.part(d.paymentPath(id), "").header.Get("ETag")
		d.submit(d.paymentPath(id), d.paymentPath(id), "act", "simulate payment", "state", "validating")
		after := d.part(d.paymentPath(id), before)
		if after.status != http.StatusOK || !strings.Contains(after.body, fmt.Sprintf("Payment %d is now in this state: waits for approval.", id)) {
			t.Errorf("after a change: %d %s", after.status, after.body)
		}
		for path, status := range map[string]int{"/console/account": 200, d.domainPath("/payments?state=x"): 422, d.paymentPath(999): 404} {
			if a := d.part(path, ""); a.status != status || !strings.Contains(a.body, "<html") {
				t.Errorf("%s has no part: %d", path, a.status)
			}
		}
		if a := newFixture(t, d.Instance).part(d.paymentPath(id), ""); a.status != http.StatusSeeOther || strings.Contains(a.body, "Payment") {
			t.Errorf("a stranger: %d %s", a.status, a.body)
		}
	})
}

func TestReloadingPageDoesNotExtendTheSession(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		clock := newClock()
		d := newFixture(t, servicetest.Start(t, url, servicetest.Options{Now: clock.now}))
		d.enter(operators.Viewer)
		for range 5 {
			clock.seconds.Add(int64((10 * time.Minute).Seconds()))
			if a := d.part(d.domainPath("/payments"), ""); a.status != http.StatusOK {
				t.Fatalf("meanwhile: %d", a.status)
			}
		}
		clock.seconds.Add(int64((11 * time.Minute).Seconds()))
		if a := d.part(d.domainPath("/payments"), ""); a.status != http.StatusSeeOther {
			t.Errorf("after an hour: %d", a.status)
		}
	})
}
