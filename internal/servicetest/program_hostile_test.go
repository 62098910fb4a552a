package servicetest_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

type hostileProgram struct {
	uuid string
	read func(s *signedStream)
}

// signedStream is a response with lines and a signature at its end.
type signedStream struct {
	http.ResponseWriter
	lines io.Writer
	sum   interface{ Sum([]byte) []byte }
}

func answerSigned(w http.ResponseWriter, r *http.Request) *signedStream {
	sum := hmac.New(sha256.New, []byte(servicetest.ConnectorSecret))
	io.WriteString(sum, "answer\n200\n"+r.Header.Get("Passerelle-Nonce")+"\n")
	return &signedStream{w, io.MultiWriter(w, sum), sum}
}

func (s *signedStream) send(lines ...string) bool {
	for _, line := range lines {
		if _, err := io.WriteString(s.lines, line+"\n"); err != nil {
			return false
		}
	}
	return true
}

func (s *signedStream) end() {
	s.send(`{"end":{}}`)
	fmt.Fprintf(s, "{\"signature\":%q}\n", hex.EncodeToString(s.sum.Sum(nil)))
}

func (h *hostileProgram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	whole := ""
	switch name := filepath.Base(r.URL.Path); name {
	case "profile":
		whole = fmt.Sprintf(`{"uuid":%q,"name":"Hostile","countries":["FR"],"data":{"capabilities":["bank"]}}`, h.uuid)
	case "accounts":
		whole = `{"accounts":[{"key":"current","name":"current","type":"checking","currency":"EUR"}]}`
	default:
		h.read(answerSigned(w, r))
		return
	}
	var body bytes.Buffer
	answer := answerSigned(w, r)
	body.WriteString(whole)
	_, _ = answer.sum.(io.Writer).Write(body.Bytes()) //nolint:forcetypeassert // sum is a hash, and its Write never fails
	w.Header().Set("Passerelle-Signature", hex.EncodeToString(answer.sum.Sum(nil)))
	_, _ = w.Write(body.Bytes())
}

const (
	recordOfBread = `{"account":"current","transactions":[{"key":"1","date":"2026-01-02","value":"-12.50","wording":"Bread"}]}`
	recordOfEnd   = `{"account":"current","read":true,"from":"2026-01-01"}`
)

// endless computes no signature, because the program shares the processors with the measured
// service.
func endless(s *signedStream, line string) {
	line += "\n"
	for sent := 0; sent < 10<<30; sent += len(line) {
		if _, err := io.WriteString(s.ResponseWriter, line); err != nil {
			return
		}
	}
}

var hostileReads = map[string]struct {
	read  func(s *signedStream)
	state string
	kept  int
}{
	"honest": {func(s *signedStream) { s.send(recordOfBread, recordOfEnd); s.end() }, "", 1},
	"dies in its stream": {func(s *signedStream) {
		s.send(recordOfBread)
		_ = http.NewResponseController(s.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}, "websiteUnavailable", 1},
	"ends early": {func(s *signedStream) { s.send(recordOfBread, recordOfEnd) }, "websiteUnavailable", 1},
	"signs something else": {func(s *signedStream) {
		s.send(recordOfBread)
		io.WriteString(s, recordOfBread+"\n")
		s.send(recordOfEnd)
		s.end()
	}, "websiteUnavailable", 1},
	"repeats":         {func(s *signedStream) { s.send(recordOfBread, recordOfBread, recordOfBread, recordOfEnd); s.end() }, "", 1},
	"is out of order": {func(s *signedStream) { s.send(recordOfEnd, recordOfBread); s.end() }, "bug", 0},
	"has another's":   {func(s *signedStream) { s.send(strings.Replace(recordOfBread, "current", "other", 1)); s.end() }, "bug", 0},
	"has floats":      {func(s *signedStream) { s.send(strings.Replace(recordOfBread, `"-12.50"`, "-12.5", 1)); s.end() }, "websiteUnavailable", 0},
	"has a long line": {func(s *signedStream) { endless(s, strings.Repeat("x", 1<<21)) }, "websiteUnavailable", 0},
	"is one long line": {func(s *signedStream) {
		for sent := 0; sent < 10<<30; sent += 1 << 20 {
			if _, err := s.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}, "websiteUnavailable", 0},
	"never ends":        {func(s *signedStream) { endless(s, recordOfBread+strings.Repeat(" ", 1<<19)) }, "websiteUnavailable", 1},
	"says nothing more": {func(s *signedStream) { endless(s, `{"account":"current"`+strings.Repeat(" ", 1<<19)+"}") }, "websiteUnavailable", 0},
}

// hostileHeap is the most by which the service's heap may grow, in bytes.
const hostileHeap = 200 << 20

// TestHostilePrograms lets programs send hostile responses. After each one, a read from an honest
// program must succeed.
func TestHostilePrograms(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // hostileHeap holds for this setting
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		var before, after runtime.MemStats
		uuids := map[string]string{}
		for name, one := range hostileReads {
			uuids[name] = fmt.Sprintf("5b0c1d7e-0f5c-4b57-9d5e-%012x", len(uuids))
			server := httptest.NewServer(&hostileProgram{uuids[name], one.read})
			t.Cleanup(server.Close)
			if _, err := service.Programs(s.DB).Add(t.Context(), server.URL, servicetest.ConnectorSecret); err != nil {
				t.Fatal(err)
			}
		}
		s.ReloadBanks(t.Context())
		honest := newHolder(t, s, uuids["honest"])
		runtime.ReadMemStats(&before)
		for name, one := range hostileReads {
			p := newHolder(t, s, uuids[name])
			if state, kept := p.sync(); state != one.state || kept != one.kept {
				t.Errorf("a program that %s: the state is %q and %d transactions are stored, want %q and %d", name, state, kept, one.state, one.kept)
			}
			if state, kept := honest.sync(); state != "" || kept != 1 {
				t.Errorf("beside a program that %s: %q, %d", name, state, kept)
			}
		}
		if runtime.ReadMemStats(&after); after.HeapSys > before.HeapSys+hostileHeap {
			t.Errorf("the heap grew from %d to %d MiB", before.HeapSys>>20, after.HeapSys>>20)
		}
	})
}

type holder struct {
	*person
	at string
}

func newHolder(t *testing.T, s *servicetest.Instance, uuid string) holder {
	t.Helper()
	p := newPerson(t, s)
	var connection struct{ ID int64 }
	p.JSON(p.OK(p.Call("POST", "/users/me/connections", p.token, map[string]any{"connector_uuid": uuid})), &connection)
	p.OK(p.Call("PUT", "/users/me/accounts?all", p.token, map[string]any{"disabled": false}))
	return holder{p, fmt.Sprint("/users/me/connections/", connection.ID)}
}

func (h holder) sync() (string, int) {
	h.t.Helper()
	answer := h.Call("PUT", h.at, h.token, nil)
	for deadline := time.Now().Add(time.Minute); answer.Status == http.StatusConflict && time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		answer = h.Call("PUT", h.at, h.token, nil)
	}
	var connection struct{ State string }
	h.JSON(h.OK(answer), &connection)
	var all struct{ Transactions []json.RawMessage }
	h.JSON(h.OK(h.Call("GET", "/users/me/transactions?limit=10", h.token, nil)), &all)
	return connection.State, len(all.Transactions)
}

// TestHostileProgramsCostOthersNothing measures the creation of payments twice: while the service
// reads from a correct program, and while it reads from a hostile program. PASSERELLE_TEST_PAIRS is
// the number of these pairs of measurements. In the median pair, the hostile program may increase
// the 99th percentile by a factor of at most 1.2.
func TestHostileProgramsCostOthersNothing(t *testing.T) {
	if pairs() == 0 {
		measureOthers(t, "dies in its stream", 20) // this only checks that the measurement works
		return
	}
	for name := range hostileReads {
		t.Run(name, func(t *testing.T) {
			var ratios []float64
			for range pairs() {
				alone, beside := measureOthers(t, "honest", othersCalls), measureOthers(t, name, othersCalls)
				t.Logf("%v beside a correct program, %v beside this one", alone, beside)
				ratios = append(ratios, float64(beside+time.Millisecond)/float64(alone+time.Millisecond))
			}
			slices.Sort(ratios)
			if t.Logf("%.2f", ratios); ratios[len(ratios)/2] > 1.2 {
				t.Errorf("beside a program that %s calls take %.2f times as long", name, ratios[len(ratios)/2])
			}
		})
	}
}

const (
	othersCalls = 2000
	readPersons = 8
)

// measureOthers returns the 99th percentile of call times while the service reads from a program.
func measureOthers(t *testing.T, name string, calls int) time.Duration {
	t.Helper()
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	const uuid = "5b0c1d7e-0f5c-4b57-9d5e-000000000001"
	server := httptest.NewServer(&hostileProgram{uuid, hostileReads[name].read})
	defer server.Close()
	if _, err := service.Programs(s.DB).Add(t.Context(), server.URL, servicetest.ConnectorSecret); err != nil {
		t.Fatal(err)
	}
	s.ReloadBanks(t.Context())
	persons := make([]holder, readPersons)
	for i := range persons {
		persons[i] = newHolder(t, s, uuid)
	}
	token := s.Token("payments:admin")
	over := make(chan struct{})
	var reading sync.WaitGroup
	for _, p := range persons {
		reading.Go(func() {
			for tick := time.NewTicker(50 * time.Millisecond); !isClosed(over); <-tick.C {
				p.Call("PUT", p.at, p.token, nil) // the service refuses this call while an earlier read is running
			}
		})
	}
	took := make([]time.Duration, calls)
	for i := range took {
		begun := time.Now()
		s.Create(token, servicetest.Draft())
		took[i] = time.Since(begun)
	}
	close(over)
	server.CloseClientConnections() // otherwise the service would read an endless stream for minutes
	reading.Wait()
	slices.Sort(took)
	return took[len(took)*99/100]
}

// TestRestartedProgramBooksOnce kills bank.py, a connector program that is also a bank, and starts
// it again, while clients pay. The bank has one order for each payment that is done, and at most
// one for each other payment.
func TestRestartedProgramBooksOnce(t *testing.T) {
	t.Parallel()
	restarts := amount("PASSERELLE_TEST_PROGRAM_RESTARTS", 2)
	folder := t.TempDir()
	bank := servicetest.StartKillable(t, "bank.py", folder)
	p := servicetest.StartProcess(t, "")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(servicetest.ConnectorSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Command("connector", "add", bank.Address, "--secret-file", secret, "--key-file", filepath.Join(p.DataFolder(), "keys"), "--database", p.Database())
	p.Kill()
	p.Start()
	s := &merchant{driver: newDriver(t, p), banks: []bankConnector{{"bank.py", "c1f6a4de-3f3a-4b0b-8f0d-2f7f5a8f1c55"}}, kinds: []string{"single"}, done: map[string]int{}}
	over := make(chan struct{})
	var shopping sync.WaitGroup
	for range bankClients {
		shopping.Go(func() { s.sell(over) })
	}
	random := rand.New(rand.NewPCG(seed(), 7))
	for range restarts {
		s.awaitDone(1+random.IntN(5), 5*time.Second)
		bank.Kill()
		<-time.After(time.Duration(random.IntN(300)) * time.Millisecond)
		bank.Start()
	}
	s.awaitDone(1, time.Minute)
	close(over)
	shopping.Wait()
	s.finish(true)
	orders, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	atBank := map[string][]string{} // the status of each order, by the key of the sale
	for _, name := range orders {
		var o struct{ To, Status string }
		s.read(must(os.ReadFile(name)), &o)
		atBank[o.To] = append(atBank[o.To], o.Status)
	}
	done := 0
	for _, o := range s.sold {
		seen, _ := s.inspectSale(o)
		statuses := atBank[o.key]
		delete(atBank, o.key)
		settled := slices.Contains(statuses, "settled")
		if seen.State == payment.Done {
			done++
		}
		if len(statuses) > 1 || settled != (seen.State == payment.Done) {
			t.Errorf("payment %d is %s, and its orders are %q", o.id, seen.State, statuses)
		}
	}
	t.Logf("%d of %d payments are done; %d orders at the bank", done, len(s.sold), len(orders))
	if done == 0 || len(atBank) > 0 {
		t.Errorf("%d payments are done, and the bank has orders without a payment: %v", done, atBank)
	}
	p.Doctor()
}
