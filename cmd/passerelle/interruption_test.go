package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alecthomas/kong"

	"passerelle/internal/servicetest"
)

// interruption is a context that ends after a number of uses.
type interruption struct {
	context.Context
	end  context.CancelFunc
	left atomic.Int64
}

func newInterruption(t *testing.T, uses int64) *interruption {
	i := &interruption{}
	i.Context, i.end = context.WithCancel(t.Context())
	i.left.Store(uses)
	return i
}

func (i *interruption) use() {
	if i.left.Add(-1) == 0 {
		i.end()
	}
}

func (i *interruption) Done() <-chan struct{} {
	i.use()
	return i.Context.Done()
}

func (i *interruption) Err() error {
	i.use()
	return i.Context.Err()
}

type longCommand struct {
	args     func(p place) []string
	prepare  func(p place)
	finished func(p place)
}

type place struct {
	t        *testing.T
	database string
	// other is a second database of the same kind, which no preparation fills.
	other  string
	folder string
}

func (p place) file(name string) string { return filepath.Join(p.folder, name) }

func (p place) must(args ...string) string {
	p.t.Helper()
	var out bytes.Buffer
	if status := run(p.t.Context(), args, nil, &out, p.t.Output()); status != succeeded {
		p.t.Fatalf("%v: exit status %d", args, status)
	}
	return out.String()
}

// filled fills the database with secrets and with entries of the audit log.
func (p place) filled() {
	p.t.Helper()
	p.must("migrate", "--database", p.database)
	p.must("keys", "create", "--key-file", p.file("keys"))
	p.must("domain", "create", "shop", "--kind", "sandbox", "--base-url", "https://shop.example/2.0", "--database", p.database)
	for _, name := range []string{"a", "b"} {
		p.must("operator", "create", name, "--role", "viewer", "--database", p.database)
		p.must("webhook", "auth", "create", "--type", "hmac_signature", "--name", name, "--key-file", p.file("keys"), "--database", p.database)
	}
}

// longCommands contains each command with the struct tag resume.
var longCommands = map[string]longCommand{
	"migrate": {
		args:     func(p place) []string { return []string{"--database", p.database} },
		finished: func(p place) { p.must("migrate", "--check", "--database", p.database) },
	},
	"backup": {
		args:    func(p place) []string { return []string{"--database", p.database, "--to", p.file("copy")} },
		prepare: place.filled,
		finished: func(p place) {
			if left, err := filepath.Glob(p.file("copy*")); err != nil || len(left) != 1 {
				p.t.Errorf("the folder has %v, %v", left, err)
			}
		},
	},
	"restore": {
		args: func(p place) []string { return []string{"--database", p.other, "--from", p.file("copy")} },
		prepare: func(p place) {
			p.filled()
			p.must("backup", "--database", p.database, "--to", p.file("copy"))
		},
		finished: func(p place) { p.must("doctor", "--database", p.other, "--key-file", p.file("keys"), "--invariants") },
	},
	"keys rewrap": {
		args: func(p place) []string {
			return []string{"--database", p.database, "--key-file", p.file("keys"), "--retire"}
		},
		prepare: func(p place) {
			p.filled()
			p.must("keys", "rotate", "--key-file", p.file("keys"))
		},
		finished: func(p place) {
			if all := p.must("keys", "list", "--key-file", p.file("keys"), "--json"); strings.Count(all, `"id"`) != 1 {
				p.t.Errorf("the keys are %s", all)
			}
		},
	},
	"keys seal": {
		args: func(p place) []string {
			return []string{"--database", p.database, "--key-file", p.file("keys")}
		},
		prepare: place.filled,
	},
	"files orphans": {
		args:    func(p place) []string { return []string{"--database", p.database, "--files", p.folder} },
		prepare: place.filled,
	},
	"audit verify": {args: func(p place) []string { return []string{"--database", p.database} }, prepare: place.filled},
	"doctor": {
		args: func(p place) []string {
			return []string{"--database", p.database, "--key-file", p.file("keys"), "--invariants"}
		},
		prepare: place.filled,
	},
	"import": {
		args: func(p place) []string {
			return []string{"--base-url", p.text("base"), "--token-file", p.file("token"), p.file("statements")}
		},
		prepare: func(p place) {
			base, token := userOfDev(p.t)
			writeFile(p.t, p.file("base"), base)
			if err := os.Rename(token, p.file("token")); err != nil {
				p.t.Fatal(err)
			}
			if err := os.Mkdir(p.file("statements"), 0o700); err != nil {
				p.t.Fatal(err)
			}
			for _, name := range []string{"a.csv", "b.csv", "c.csv"} {
				writeFile(p.t, p.file("statements/"+name), "account,currency,date,amount\n"+name[:1]+"77,CHF,2026-11-02,-10.00\n")
			}
		},
	},
}

func (p place) text(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(p.file(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// TestLongCommandsGoOnAfterAnInterruption interrupts each long command at many moments. Each time,
// the command says how to continue.
func TestLongCommandsGoOnAfterAnInterruption(t *testing.T) {
	parser, err := newParser(&program{}, nil, io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	resumes := map[string]string{}
	for _, leaf := range parser.Model.Leaves(false) {
		if resume := leaf.Tag.Get("resume"); resume != "" {
			resumes[pathOf(leaf)] = resume
		}
	}
	if got, want := slices.Sorted(maps.Keys(longCommands)), slices.Sorted(maps.Keys(resumes)); !slices.Equal(got, want) {
		t.Errorf("the test has the long commands %q, the program %q", got, want)
	}
	t.Run("sqlite", func(t *testing.T) {
		interruptEach(t, resumes, func(t *testing.T, name string) string { return "sqlite:" + filepath.Join(t.TempDir(), name) })
	})
	t.Run("postgres", func(t *testing.T) {
		server := servicetest.StartCluster(t)
		interruptEach(t, resumes, func(_ *testing.T, name string) string { return server.Empty(name) })
	})
}

func interruptEach(t *testing.T, resumes map[string]string, empty func(t *testing.T, name string) string) {
	t.Helper()
	for path, command := range longCommands {
		t.Run(path, func(t *testing.T) {
			name := strings.ReplaceAll(path, " ", "_")
			p := place{t: t, database: empty(t, name), other: empty(t, name+"_other"), folder: t.TempDir()}
			if command.prepare != nil {
				command.prepare(p)
			}
			args := append(strings.Fields(path), command.args(p)...)
			t.Logf("interrupted %d times", interruptUntilDone(t, args, resumes[path]))
			if command.finished != nil {
				command.finished(p)
			}
		})
	}
}

func pathOf(leaf *kong.Node) string {
	_, path, _ := strings.Cut(leaf.FullPath(), " ")
	return path
}

// interruptUntilDone repeats a command until it succeeds, and interrupts each run later than the
// previous run.
func interruptUntilDone(t *testing.T, args []string, resume string) int {
	t.Helper()
	times := 0
	for uses := int64(1); ; uses += 1 + uses/2 {
		var said bytes.Buffer
		status := run(newInterruption(t, uses), args, nil, io.Discard, &said)
		if status == succeeded {
			return times
		}
		times++
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		if last := lines[len(lines)-1]; status != failed || last != "passerelle: interrupted; "+resume {
			t.Fatalf("at use %d of the context: exit status %d: %s", uses, status, last)
		}
	}
}
