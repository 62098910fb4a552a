package testbank_test

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"passerelle/testbank"
)

// aloneVariable makes the test binary run as the bank program. Its value is the data folder.
const aloneVariable = "PASSERELLE_TEST_BANK_FOLDER"

// alone runs the bank program in this process and prints the program's addresses.
func alone(t *testing.T) {
	const free = "127.0.0.1:0"
	program, err := testbank.Open(t.Context(), testbank.Config{
		Data: os.Getenv(aloneVariable), Listen: free, Pages: free, Control: free, Profiles: []string{"redirect"}, Settlement: settlement,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"opened": program.Opened, "control": program.Control})
	program.Serve(t.Context())
}

// kills returns how often the test kills the program. PASSERELLE_TEST_BANK_KILLS sets another
// number.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("PASSERELLE_TEST_BANK_KILLS")); err == nil {
		return n
	}
	return 5
}

// TestAKilledBankForgetsNothing kills the program with SIGKILL while orders arrive, and starts it
// again. The bank must know each order that got a response, and its books must be correct.
func TestAKilledBankForgetsNothing(t *testing.T) {
	if os.Getenv(aloneVariable) != "" {
		alone(t)
		return
	}
	w := newFixture(t, "redirect")
	w.stop()
	answered := map[string]bool{}
	for i := range kills() {
		process := w.spawn()
		enough := len(answered) + 5 + i%7
		var mu sync.Mutex
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for {
					r, err := w.try("POST", w.address("redirect", single), order(nil), present(nil))
					if err != nil {
						return // the program was killed
					}
					mu.Lock()
					answered[r.text("paymentId")] = true
					mu.Unlock()
				}
			})
		}
		waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(answered) >= enough })
		process.Process.Kill()
		process.Wait()
		callers.Wait()
	}
	w.start("redirect")
	known := map[string]bool{}
	all, _ := w.steer("GET", "redirect/orders", nil).at("orders").([]any)
	for _, one := range all {
		o, _ := one.(map[string]any)
		id, _ := o["id"].(string)
		known[id] = true
	}
	for id := range answered {
		if !known[id] {
			t.Errorf("the bank answered with order %s, and has forgotten it", id)
		}
	}
	t.Logf("%d kills, %d orders answered, %d known", kills(), len(answered), len(known))
	w.right("redirect")
}

func (w *fixture) spawn() *exec.Cmd {
	w.t.Helper()
	executable, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	command := exec.Command(executable, "-test.run=^TestAKilledBankForgetsNothing$")
	command.Env = append(os.Environ(), aloneVariable+"="+w.data)
	out, err := command.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		w.t.Fatal(err)
	}
	var printed struct {
		Opened  []testbank.Opened `json:"opened"`
		Control string            `json:"control"`
	}
	if err := json.Unmarshal(line, &printed); err != nil {
		w.t.Fatalf("the program printed %s: %v", line, err)
	}
	w.program = &testbank.Program{Opened: printed.Opened, Control: printed.Control}
	return command
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		if done() {
			return
		}
	}
}

func TestARestartKeepsEverything(t *testing.T) {
	w := newFixture(t, "redirect")
	w.pass("redirect", "240h")
	first := w.call(201, "POST", w.address("redirect", single), order(nil), present(nil))
	use := w.consent("redirect", wish(nil))
	before := w.steer("GET", "redirect/accounts", nil)
	clock := w.steer("GET", "redirect/clock", nil).text("now")
	w.stop()
	w.start("redirect")
	if after := w.steer("GET", "redirect/accounts", nil); string(after.raw) != string(before.raw) {
		t.Errorf("the accounts are %s, were %s", after.raw, before.raw)
	}
	if now := w.steer("GET", "redirect/clock", nil).text("now"); now < clock {
		t.Errorf("it is %s, and was %s", now, clock)
	}
	w.call(200, "GET", w.address("redirect", "v1/accounts"), nil, use)
	path := "v1/payments/sepa-credit-transfers/" + first.text("paymentId") + "/status"
	if got := w.call(200, "GET", w.address("redirect", path), nil, nil).text("transactionStatus"); got != "RCVD" {
		t.Errorf("the order is %s", got)
	}
}

// TestSimultaneousAdvances sends several requests at once that advance a bank's time. The bank must
// also have the new time after a restart.
func TestSimultaneousAdvances(t *testing.T) {
	w := newFixture(t, "redirect")
	w.steer("GET", "redirect/clock", nil) // makes the client that the callers share
	var callers sync.WaitGroup
	for range 40 {
		callers.Go(func() {
			if _, err := w.try("POST", w.program.Control+"/banks/redirect/clock", map[string]any{"advance": "1h"}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	before := w.steer("GET", "redirect/clock", nil).text("now")
	w.stop()
	w.start("redirect")
	if now := w.steer("GET", "redirect/clock", nil).text("now"); now < before {
		t.Errorf("the time is %s, was %s", now, before)
	}
}
