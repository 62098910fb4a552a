package servicetest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// TestCrashAtEachMark crashes the program at random marks while clients pay, read accounts and
// receive events. A mark is a place in the code before or after a commit, a bank call or a webhook
// request.
func TestCrashAtEachMark(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dieAtEachMark(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dieAtEachMark(t, storetest.Postgres(t))
	})
}

func dieAtEachMark(t *testing.T, database string) {
	chosen := seed()
	t.Logf("PASSERELLE_TEST_SEED=%d", chosen)
	random := rand.New(rand.NewPCG(chosen, 1))
	m := &marks{t: t, seen: filepath.Join(t.TempDir(), "seen"), more: make(chan struct{}, 4)}
	m.process = servicetest.StartMarked(t, database, m.environment("")...)
	m.underLoad(random, func(l *ledger) {
		m.ledger = l
		m.explore()
		each, most := amount("PASSERELLE_TEST_DEATHS", 1), amount("PASSERELLE_TEST_DEATH_MARKS", 3)
		all := m.chosen()
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		crashes, started := map[string]int{}, time.Now()
		for _, mark := range all[:min(most, len(all))] {
			for range each {
				if m.die(mark, passing(mark, random)) {
					crashes[mark]++
				}
			}
			if most >= len(all) && crashes[mark] == 0 {
				t.Errorf("it never died %s", mark)
			}
		}
		m.live()
		total := 0
		for _, n := range crashes {
			total += n
		}
		if total == 0 {
			t.Error("it never died")
		}
		t.Logf("%d deaths at %d of %d marks in %v", total, len(crashes), len(all), time.Since(started).Round(time.Second))
	})
}

type marks struct {
	t       *testing.T
	seen    string
	process *servicetest.Process
	ledger  *ledger
	// more is a channel that limits how many additional users connect at the same time.
	more chan struct{}
}

func (m *marks) environment(die string) []string {
	return []string{"PASSERELLE_TEST_DEATHS_SEEN=" + m.seen, "PASSERELLE_TEST_DEATH=" + die}
}

func (m *marks) underLoad(random *rand.Rand, do func(*ledger)) {
	load{t: m.t, random: random, processes: []*servicetest.Process{m.process}}.run(do)
}

func (m *marks) passed() []string {
	text, err := os.ReadFile(m.seen)
	if err != nil {
		m.t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(all)
	return slices.Compact(all)
}

// again is the pattern of marks that the program passes repeatedly under load.
var again = regexp.MustCompile(` in (initiation|delivery|aggregation|sandbox|httpapi|database|store)\.`)

func (m *marks) chosen() []string {
	return slices.DeleteFunc(m.passed(), func(mark string) bool {
		_, place, _ := strings.Cut(mark, " in ")
		return !again.MatchString(mark) || elsewhere[place] != "" || place == "delivery.(*Delivery).Purge" // Purge runs only once an hour
	})
}

func (m *marks) explore() {
	wanted := committing(m.t)
	for deadline := time.Now().Add(waitLimit); m.missing(wanted, 10*time.Second) != nil; {
		var missing []string
		m.rest(func() bool {
			missing = m.missing(wanted, 10*time.Second)
			return missing == nil
		})
		if missing != nil && time.Now().After(deadline) {
			m.t.Errorf("the load never commits in %q: have it do so, or list them with the reason", missing)
			return
		}
	}
}

func (m *marks) missing(wanted []string, within time.Duration) []string {
	for deadline := time.Now().Add(within); ; <-time.After(50 * time.Millisecond) {
		var missing []string
		passed := strings.Join(m.passed(), "\n") + "\n"
		for _, place := range wanted {
			if !strings.Contains(passed, " in "+place+"\n") {
				missing = append(missing, place)
			}
		}
		if missing == nil || time.Now().After(deadline) {
			return missing
		}
	}
}

// die restarts the process so that it crashes when it passes a mark for the nth time. The argument
// pass is n. die reports whether the process crashed.
func (m *marks) die(mark string, pass int) bool {
	p := m.process
	m.ledger.d.disturb()
	p.Kill()
	storetest.Lapse(m.t, p.Database())
	p.Environment = m.environment(fmt.Sprint(mark, "#", pass))
	if err := p.TryStart(); err != nil {
		return true // the process crashed during its start
	}
	if strings.Contains(mark, byPeople) {
		m.another()
	}
	died := p.DiesWithin(10*time.Second) || m.rest(func() bool {
		return p.DiesWithin(amountOf("PASSERELLE_TEST_DEATH_TIME", 20*time.Second))
	})
	if !died {
		m.t.Logf("in time it did not pass %s so often: %d", mark, pass)
	}
	return died
}

// another makes one more user connect, because the other users may be busy.
func (m *marks) another() {
	select {
	case m.more <- struct{}{}:
		m.ledger.people.working.Go(func() {
			defer func() { <-m.more }()
			m.ledger.people.one()
		})
	default:
	}
}

// rest runs a function while clients begin no work. With new work all the time, the webhook sender
// might never finish on a busy machine.
func (m *marks) rest(do func() bool) bool {
	m.ledger.d.begins.Lock()
	defer m.ledger.d.begins.Unlock()
	return do()
}

// byPeople is in the names of the marks that the program passes when users connect and read.
const byPeople = " in aggregation."

// passing returns the argument `pass` for die: a random number up to 3, or 1 for marks that the
// program passes only every few seconds.
func passing(mark string, random *rand.Rand) int {
	if strings.Contains(mark, byPeople) {
		return 1
	}
	return 1 + random.IntN(3)
}

func (m *marks) live() {
	m.process.Kill()
	m.process.Environment = m.environment("")
	m.process.Start()
}

// elsewhere lists committing functions that the load does not reach, with the reason.
var elsewhere = map[string]string{
	"initiation.(*Initiation).storeReturn":          "receivers who are told of every change miss none",
	"initiation.(*Initiation).keepNotes":            "banks of this load write nothing beside their answers",
	"initiation.(*Initiation).save":                 "banks of this load issue nothing in the middle of a call",
	"initiation.(*Initiation).keepReturn":           "payers of this load return while the bank can be asked",
	"initiation.(*Initiation).keepUntaken":          "banks of this load answer",
	"initiation.(*Initiation).forgetCallback":       "payers of this load return while the bank can be asked",
	"initiation.(*Initiation).makeKey":              "fields are encrypted in no payment of this load",
	"initiation.(*Initiation).postponeAttempt":      "banks of this load answer",
	"initiation.(*Initiation).dismiss":              "banks of this load know each order they were given",
	"aggregation.(*Aggregation).terminate":          "nobody in this load leaves",
	"aggregation.(*Aggregation).saveTermination":    "nobody in this load leaves",
	"initiation.(*Initiation).beginDue":             "payments of this load do not expire",
	"initiation.(*Initiation).postpone":             "a bank of this load has news whenever it is asked, or nobody asks",
	"delivery.(*Delivery).freeHeldBack":             "users of this load stay temporary, or do not",
	"initiation.(*Initiation).PublishTerms":         "an operator's act",
	"delivery.(*leaseSession).decide":               "an operator's act",
	"delivery.(*Delivery).changeAdditions":          "an operator's act",
	"delivery.(*leaseSession).once":                 "an operator's act",
	"delivery.(*Delivery).Test":                     "an operator's act",
	"delivery.(*Delivery).Recover":                  "an operator's act",
	"delivery.(*Delivery).keepProvider":             "done before the load",
	"delivery.(*Delivery).tryUpdate":                "an operator's act",
	"delivery.(*Delivery).endProviders":             "an operator's act",
	"delivery.(*Delivery).Rotate":                   "an operator's act",
	"delivery.(*Delivery).Receive":                  "receivers of this load are others",
	"delivery.(*Delivery).Register":                 "done before the load",
	"delivery.(*Delivery).change":                   "an operator's act",
	"aggregation.(*Aggregation).categories":         "nobody in this load has categories of their own",
	"aggregation.(*Aggregation).note":               "nobody in this load has settings of their own",
	"aggregation.(*Aggregation).disconnect":         "nobody in this load leaves",
	"aggregation.(*Aggregation).keep":               "nobody in this load becomes permanent",
	"aggregation.(*Aggregation).remove":             "nobody in this load leaves",
	"aggregation.(*lease).renew":                    "runs of this load are shorter than a lease",
	"aggregation.(*Aggregation).delay":              "connections of this load can be read",
	"aggregation.(*lease).release":                  "runs of this load find what to read",
	"aggregation.(*Aggregation).emitUserSyncedOnce": "people of this load have one connection each",
}

// through is the pattern of functions by which many other functions commit. The marks name the
// callers of these functions instead.
var through = regexp.MustCompile(`\.(commit|commitChoice|write|ask|callBank|begin|finish|limitDB)$`)

func committing(t *testing.T) (names []string) {
	for _, folder := range []string{"initiation", "delivery", "aggregation"} {
		files, err := filepath.Glob("../" + folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				names = append(names, committingIn(t, folder, file)...)
			}
		}
	}
	for name := range elsewhere {
		if !slices.Contains(names, name) {
			t.Errorf("%s, which is listed, does not commit", name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return elsewhere[name] != "" || through.MatchString(name) })
}

func committingIn(t *testing.T, folder, file string) (names []string) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, declared := range parsed.Decls {
		function, is := declared.(*ast.FuncDecl)
		if is && commits(function) {
			names = append(names, folder+"."+ownerOf(function)+function.Name.Name)
		}
	}
	return names
}

func commits(function *ast.FuncDecl) (found bool) {
	ast.Inspect(function, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is || len(call.Args) != 2 {
			return true
		}
		selector, is := call.Fun.(*ast.SelectorExpr)
		_, literal := call.Args[1].(*ast.FuncLit)
		found = found || is && literal && selector.Sel.Name == "Write"
		return true
	})
	return found
}

func ownerOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	if pointer, is := function.Recv.List[0].Type.(*ast.StarExpr); is {
		return "(*" + pointer.X.(*ast.Ident).Name + ")."
	}
	return function.Recv.List[0].Type.(*ast.Ident).Name + "."
}
