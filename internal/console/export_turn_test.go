package console_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle/internal/exports"
	"passerelle/internal/operators"
)

// waitingExports begins so many exports that further exports are refused. The returned function ends
// them.
func waitingExports(t *testing.T) func() {
	t.Helper()
	var begun sync.WaitGroup
	refused, leave := make(chan error, 100), make(chan struct{})
	for range cap(refused) {
		begun.Go(func() {
			_, err := exports.Begin(t.Context(), func() (any, error) { <-leave; return nil, nil })
			if err != nil {
				refused <- err
			}
		})
	}
	select {
	case <-refused:
	case <-time.After(time.Minute):
		t.Fatal("no export is refused")
	}
	return func() { close(leave); begun.Wait() }
}

// While too many exports wait, the API and the console refuse further exports, and record none.
func TestExportsAreRefusedWhileManyWait(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Acting)
		id, token := d.user()
		end := waitingExports(t)
		if a := d.Call(http.MethodGet, "/users/me/export", token, nil); a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.Body), "Too many exports") {
			t.Errorf("the API's archive: %d %v %s", a.Status, a.Header, a.Body)
		}
		page := d.userPath(id, "")
		d.wants(page, page+"/export", http.StatusServiceUnavailable, "Not available right now")
		if a, _ := d.file(); a.status != http.StatusServiceUnavailable || a.header.Get("Content-Disposition") != "" {
			t.Errorf("the file of payments: %d %v", a.status, a.header)
		}
		d.wantOnRecord()
		end()
		d.OK(d.Call(http.MethodGet, "/users/me/export", token, nil))
		d.wants(page, page+"/export", http.StatusOK, "")
		if a, _ := d.file(); a.status != http.StatusOK {
			t.Errorf("the file of payments: %d %v", a.status, a.header)
		}
	})
}
