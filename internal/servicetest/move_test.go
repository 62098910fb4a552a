//go:build torture

package servicetest_test

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestDomainMovesUnderLoad moves a domain's database to another PostgreSQL server, as
// docs/scaling.md describes, while clients pay. Clients of another domain must not notice anything.
func TestDomainMovesUnderLoad(t *testing.T) {
	t.Parallel() // the test mostly waits
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	first, second := servicetest.StartCluster(t), servicetest.StartCluster(t)
	front := newFrontend(t)
	moving, staying := servicetest.StartProcess(t, first.Empty("moving")), servicetest.StartProcess(t, second.Empty("staying"))
	front.open("127.0.0.1", moving)
	front.open("localhost", staying)
	neighbour, over, paying := newDriver(t, staying), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(paying)
		neighbour.payAll(1, orders(math.MaxInt, over, always))
	}()
	var moved *ledger
	o := load{t: t, random: rand.New(rand.NewPCG(chosen, 1)), processes: []*servicetest.Process{moving}, timeout: "30"} // only the machine is slow here, and not the receivers
	o.run(func(l *ledger) {
		moved = l
		l.d.until(30)
		left := front.move("127.0.0.1", moving, second.Empty("moved"))
		l.d.until(len(l.d.paid()) + 30)
		if left.Digest() != left.digest {
			t.Error("somebody wrote to the database that the domain has left")
		}
	})
	moved.checkOnce()
	close(over)
	<-paying
	neighbour.checkUndisturbed()
	staying.Doctor()
}

// frontend is one address in front of several deployments. It forwards requests by their host.
type frontend struct {
	t       *testing.T
	port    string
	mu      sync.Mutex
	targets map[string]string
}

func newFrontend(t *testing.T) *frontend {
	t.Helper()
	f := &frontend{t: t, targets: map[string]string{}}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // clients report the requests without a response
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", f.target(r.In.Host)
			r.Out.Host = r.In.Host
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.target(r.Host) == "" {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "moving", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	_, f.port, _ = net.SplitHostPort(server.Listener.Addr().String())
	return f
}

func (f *frontend) target(host string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.targets[host]
}

func (f *frontend) route(name, target string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.targets[net.JoinHostPort(name, f.port)] = target
}

func (f *frontend) open(name string, p *servicetest.Process) {
	f.t.Helper()
	p.BaseURL = "http://" + net.JoinHostPort(name, f.port) + "/2.0"
	p.Command("domain", "update", "sandbox", "--base-url", p.BaseURL, "--database", p.Database())
	f.route(name, p.Address())
}

type leftDatabase struct {
	*storetest.Inspection
	digest string
}

func (f *frontend) move(name string, p *servicetest.Process, to string) leftDatabase {
	f.t.Helper()
	begun, copied := time.Now(), filepath.Join(f.t.TempDir(), "copy")
	f.route(name, "")
	if status := p.Terminate(); status != 0 {
		f.t.Errorf("the process that was to stop ended with status %d", status)
	}
	p.Backup(copied)
	p.Restore(copied, to)
	left := leftDatabase{Inspection: storetest.Inspect(f.t, p.Database())}
	left.digest = left.Digest()
	if storetest.Inspect(f.t, to).Digest() != left.digest {
		f.t.Error("the database that the domain moved to has other content")
	}
	*p = *p.On(to)
	f.open(name, p)
	f.t.Logf("the domain was away for %v", time.Since(begun).Round(time.Millisecond))
	return left
}

func (d *driver) checkUndisturbed() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for status, n := range d.answers {
		if status == 0 || status >= http.StatusInternalServerError {
			d.t.Errorf("%d answers had the status %d", n, status)
		}
	}
	d.t.Logf("answers by status to clients of the domain that stays: %v", d.answers)
}
