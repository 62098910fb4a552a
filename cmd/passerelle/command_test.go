package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"github.com/rogpeppe/go-internal/testscript"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup/berlingrouptest"
	"passerelle/connector/remote"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// The test binary is also the program, because scripts run it as a separate process.
func TestMain(m *testing.M) {
	database.Watch(storetest.Collect)
	testscript.Main(closing{m}, map[string]func(){"passerelle": main})
}

// closing runs the tests, and then closes the browser that they shared.
type closing struct{ m *testing.M }

func (c closing) Run() int {
	defer servicetest.CloseBrowser()
	return c.m.Run()
}

func TestCommands(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	certificates := t.TempDir()
	berlingrouptest.NewAuthority(t).Furnish(certificates)
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, database string) {
				play(t, script, "PASSERELLE_DATABASE="+database, "CERTS="+certificates)
			})
		})
	}
}

func TestDatabaseFiles(t *testing.T) { play(t, "testdata/sqlite/files.txtar") }

func TestCopies(t *testing.T) { play(t, "testdata/sqlite/backup.txtar") }

func TestOrphans(t *testing.T) { play(t, "testdata/sqlite/orphans.txtar") }

func TestKeyFiles(t *testing.T) { play(t, "testdata/sqlite/keys.txtar") }

func TestCommandsBesideAServer(t *testing.T) {
	data := t.TempDir()
	said, stop := started(t, "dev", "--json", "--data", data, "--listen", "127.0.0.1:0")
	t.Cleanup(func() { stop() }) // the script is a parallel subtest, so a deferred stop would run before it
	base := said["base_url"].(string)
	play(t, "testdata/beside/server.txtar",
		"PASSERELLE_DATABASE=sqlite:"+filepath.Join(data, "passerelle.db"), "KEYS="+filepath.Join(data, "keys"),
		"BASE="+base, "RECEIVER="+strings.TrimSuffix(base, "/2.0")+"/sandbox/receiver/commands")
}

// play runs a script. In scripts, "run" and "status" call the program in this process, and "exec"
// starts a process. Most commands take less time than the start of a process.
func play(t *testing.T, script string, variables ...string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Files:               []string{script},
		WorkdirRoot:         t.TempDir(), // testscript removes a folder of its own only if the script runs
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			file := filepath.Join(env.WorkDir, "keys")
			env.Vars = append(append(env.Vars, "PASSERELLE_KEY_FILE="+file, storetest.StatementFolder+"="+os.Getenv(storetest.StatementFolder)), variables...)
			return keys.Generate().Save(file)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"run": succeed, "status": status, "keep": keep, "token": token},
	})
}

func succeed(ts *testscript.TestScript, _ bool, args []string) {
	status(ts, false, append([]string{strconv.Itoa(succeeded)}, args...))
}

// status runs the program, which must exit with the status in the first argument.
func status(ts *testscript.TestScript, _ bool, args []string) {
	if args[1] != "passerelle" {
		ts.Fatalf("status is only for passerelle")
	}
	before, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(before)) }()
	ts.Check(ts.Exec("env", "-0")) // testscript does not show which variables a script has set
	environment := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\x00"), "\x00")
	if got := run(context.Background(), args[2:], environment, ts.Stdout(), ts.Stderr()); strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// keep sets a variable to a member of the JSON object in standard output.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	decoder.UseNumber()
	ts.Check(decoder.Decode(&object))
	value, found := object[args[1]]
	if !found {
		ts.Fatalf("%s is not in %v", args[1], object)
	}
	ts.Setenv(args[0], fmt.Sprint(value))
}

// token requests a service token and checks that the status equals the first argument.
func token(ts *testscript.TestScript, _ bool, args []string) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {args[1]}, "client_secret": {args[2]}, "scope": {"payments:admin"}}
	answer, err := http.PostForm(ts.Getenv("BASE")+"/auth/token", form)
	ts.Check(err)
	defer answer.Body.Close()
	if strconv.Itoa(answer.StatusCode) != args[0] {
		var body bytes.Buffer
		_, _ = body.ReadFrom(answer.Body)
		ts.Fatalf("answered %d, want %s: %s", answer.StatusCode, args[0], &body)
	}
}

func TestConnectorPrograms(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "current.csv"), []byte("2026-01-02,-12.50,Bread\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, wrong := servicetest.StartProgram(t, "source.py", folder), forgetful(t)
	storetest.Each(t, func(t *testing.T, database string) {
		play(t, "testdata/program/connector.txtar", "PASSERELLE_DATABASE="+database, "PROGRAM="+address, "WRONG="+wrong)
	})
}

// forgetful starts a program that gives its transactions different keys in each read.
func forgetful(t *testing.T) string {
	t.Helper()
	h, err := remote.Handler(keyless{}, servicetest.ConnectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

type keyless struct{}

func (keyless) Profile() connector.Profile {
	return connector.Profile{
		UUID: "0d6c6f0e-58c1-4a5e-9b51-3f4be1f7a0aa", Name: "Forgetful", Countries: []string{"FR"}, Data: &connector.DataSettings{Capabilities: []string{"bank"}},
		Sources: []connector.Source{{Name: "openapi", Mechanisms: []passerelle.AuthMechanism{passerelle.ByCredentials}}},
	}
}

func (keyless) Read(_ context.Context, _ connector.DataRequest, out connector.Sink) (connector.Outcome, error) {
	if err := out.Accounts([]passerelle.AccountDetails{{Key: "a", Currency: "EUR"}}); err != nil {
		return connector.Outcome{}, err
	}
	day, wanted := out.Wanted("a")
	if !wanted {
		return connector.Outcome{}, nil
	}
	page := []passerelle.TransactionDetails{{Key: rand.Text(), Date: passerelle.DateOf(time.Now(), time.UTC), Value: decimal.One}}
	return connector.Outcome{}, errors.Join(out.Transactions("a", page), out.AccountRead("a", day))
}
