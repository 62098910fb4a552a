package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"passerelle/internal/keys"
	"passerelle/internal/store/storetest"
	"passerelle/internal/supervision/supervisiontest"
)

// started returns the output of a serving command when the command is ready, and a function that
// stops the command.
func started(t testing.TB, args ...string) (said map[string]any, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // it must outlive the test function, which returns before its parallel subtests run
	out, in := io.Pipe()
	exited := make(chan int, 1)
	go func() {
		exited <- run(ctx, args, nil, in, t.Output())
		in.Close()
	}()
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatalf("%v did not become ready: %v", args, err)
	}
	return said, func() int {
		cancel()
		return <-exited
	}
}

func keyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if err := keys.Generate().Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func got(t *testing.T, url string) *http.Response {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer
}

func answers(t *testing.T, url string, want int) {
	t.Helper()
	if answer := got(t, url); answer.StatusCode != want {
		t.Errorf("%s answers %d, want %d", url, answer.StatusCode, want)
	}
}

func TestServeServesUntilItIsStopped(t *testing.T) {
	said, stop := started(t, "serve", "--json", "--database", "sqlite:"+filepath.Join(t.TempDir(), "bank.db"),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--base-url", "https://bank.example/2.0", "--key-file", keyFile(t))
	answers(t, "http://"+said["listen"].(string)+"/readyz", http.StatusOK)
	answers(t, "http://"+said["ops"].(string)+"/metrics", http.StatusOK)
	if status := stop(); status != succeeded {
		t.Errorf("exit status %d", status)
	}
}

func startProgram(t *testing.T, flags ...string) (*exec.Cmd, serving) {
	t.Helper()
	program := exec.CommandContext(t.Context(), "passerelle", append([]string{
		"serve", "--json", "--database", "sqlite:" + filepath.Join(t.TempDir(), "bank.db"),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--base-url", "https://bank.example/2.0", "--key-file", keyFile(t),
	}, flags...)...)
	program.Stderr = t.Output()
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said serving
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatal(err)
	}
	return program, said
}

// TestServeAcceptsRequestsBeforeItStops: during --shutdown-delay, /readyz tells load balancers that
// the program will stop. Other requests succeed. A second signal ends the program.
func TestServeAcceptsRequestsBeforeItStops(t *testing.T) {
	program, said := startProgram(t, "--shutdown-delay", "1h")
	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for drains := false; !drains; {
		answer := got(t, "http://"+said.Listen+"/readyz")
		drains = answer.StatusCode == http.StatusServiceUnavailable
	}
	for range 3 {
		if answer := got(t, "http://"+said.Listen+"/healthz"); answer.StatusCode != http.StatusOK || !answer.Close {
			t.Errorf("answered %d, ends the connection: %t, want 200 on a connection that ends", answer.StatusCode, answer.Close)
		}
	}
	_ = program.Process.Signal(syscall.SIGTERM)
	var ended *exec.ExitError
	if err := program.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the program ended with %v, want the second signal", err)
	}
}

func TestServeStopsAfterTheDelay(t *testing.T) {
	const delay = 100 * time.Millisecond
	_, stop := started(t, "serve", "--json", "--database", "sqlite:"+filepath.Join(t.TempDir(), "bank.db"),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--base-url", "https://bank.example/2.0", "--key-file", keyFile(t), "--shutdown-delay", delay.String())
	begun := time.Now()
	if status := stop(); status != succeeded || time.Since(begun) < delay {
		t.Errorf("exit status %d after %v", status, time.Since(begun))
	}
}

// TestServeSurvivesAHangup: without a folder of banks, the program responds after SIGHUP, which
// systemd sends for every reload.
func TestServeSurvivesAHangup(t *testing.T) {
	program, said := startProgram(t)
	for range 2 {
		if err := program.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		answers(t, "http://"+said.Listen+"/readyz", http.StatusOK)
	}
	if err := errors.Join(program.Process.Signal(syscall.SIGTERM), program.Wait()); err != nil {
		t.Errorf("the program ended with: %v", err)
	}
}

// A start with a different base URL reports that the domain has moved.
func TestServeSaysThatItMovedTheFirstDomain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database string) {
		file := keyFile(t)
		for _, test := range []struct{ url, warns string }{
			{"https://bank.example/2.0", ""},
			{"https://bank.example/2.0", ""},
			{"https://other.example/2.0", `"domain":"main","from":"https://bank.example/2.0","to":"https://other.example/2.0"`},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			ready := stopAt{cancel}
			var log bytes.Buffer
			args := []string{"serve", "--json", "--database", database, "--listen", "127.0.0.1:0", "--ops-listen", "", "--key-file", file, "--base-url", test.url, "--files", t.TempDir()}
			if status := run(ctx, args, nil, ready, &log); status != succeeded {
				t.Fatalf("exit status %d; said %s", status, &log)
			}
			warned := strings.Contains(log.String(), "the first domain has moved")
			if warned != (test.warns != "") || !strings.Contains(log.String(), test.warns) {
				t.Errorf("%s: want a warning with %q in the log: %s", test.url, test.warns, &log)
			}
		}
	})
}

// stopAt stops a serving command when it prints that it is ready.
type stopAt struct{ cancel context.CancelFunc }

func (s stopAt) Write(said []byte) (int, error) {
	s.cancel()
	return len(said), nil
}

func TestDevKeepsItsCredentials(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	var secrets, console []any
	for range 2 {
		said, stop := started(t, "dev", "--json", "--data", data, "--listen", "127.0.0.1:0")
		secrets, console = append(secrets, said["client_secret"]), append(console, said["console_password"])
		if said["console_user"] != "admin" || !strings.HasSuffix(fmt.Sprint(said["console_url"]), "/console/") {
			t.Errorf("said %v", said)
		}
		answers(t, said["base_url"].(string)+"/openapi.json", http.StatusOK)
		if status := stop(); status != succeeded {
			t.Errorf("exit status %d", status)
		}
	}
	if secrets[0] == "" || secrets[0] != secrets[1] {
		t.Error("the second start made new credentials")
	}
	if console[0] == "" || console[0] != console[1] {
		t.Errorf("the first operator's password went from %q to %q", console[0], console[1])
	}
	if stat, err := os.Stat(filepath.Join(data, "credentials.json")); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("the credentials are not the owner's alone: %v, %v", stat, err)
	}
}

// A restart does not change a password that the first operator has changed.
func TestDevLeavesAChangedPasswordAlone(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, want := range []func(string) bool{func(s string) bool { return s != "" }, func(s string) bool { return s == "" }, func(s string) bool { return s == "" }} {
		said, stop := started(t, "dev", "--json", "--data", data, "--listen", "127.0.0.1:0")
		if password := fmt.Sprint(said["console_password"]); !want(password) {
			t.Errorf("the password is %q", password)
		}
		stop()
		var out, diagnostics bytes.Buffer
		change := []string{"operator", "password", "admin", "--database", "sqlite:" + filepath.Join(data, "passerelle.db")}
		if status := run(t.Context(), change, nil, &out, &diagnostics); status != succeeded {
			t.Fatalf("exit status %d: %s", status, &diagnostics)
		}
	}
}

// dev reports that its application's secret was reset, or that the application was deleted.
func TestDevSaysWhatBecameOfItsCredentials(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	at := []string{"--database", "sqlite:" + filepath.Join(data, "passerelle.db")}
	dev := func() (said map[string]any, log string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		var out, diagnostics bytes.Buffer
		if status := run(ctx, []string{"dev", "--json", "--data", data, "--listen", "127.0.0.1:0"}, nil, io.MultiWriter(&out, stopAt{cancel}), &diagnostics); status != succeeded {
			t.Fatalf("exit status %d: %s", status, &diagnostics)
		}
		if err := json.Unmarshal(out.Bytes(), &said); err != nil {
			t.Fatal(err)
		}
		return said, diagnostics.String()
	}
	command := func(words ...string) {
		t.Helper()
		var out, diagnostics bytes.Buffer
		if status := run(t.Context(), append(words, at...), nil, &out, &diagnostics); status != succeeded {
			t.Fatalf("%v: exit status %d: %s", words, status, &diagnostics)
		}
	}
	first, log := dev()
	if first["client_secret"] == "" || strings.Contains(log, "was reset") {
		t.Errorf("at first: %v %s", first, log)
	}
	id := fmt.Sprint(first["client_id"])
	command("client", "update", id, "--reset-secret")
	for _, warns := range []bool{true, false} {
		said, log := dev()
		if said["client_id"] != id || said["client_secret"] != "" || said["config_token"] != first["config_token"] || strings.Contains(log, "was reset") != warns {
			t.Errorf("once its secret was reset: %v %s", said, log)
		}
	}
	command("client", "delete", id)
	said, log := dev()
	if said["client_id"] == id || said["client_secret"] == "" || said["users_token"] != first["users_token"] || !strings.Contains(log, "application of the last start no longer exists") {
		t.Errorf("once it was deleted: %v %s", said, log)
	}
}

// When dev switches from one database to another and back, it keeps the credentials of both.
func TestDevKeepsTheCredentialsOfEachDatabase(t *testing.T) {
	storetest.Each(t, func(t *testing.T, other string) {
		data := filepath.Join(t.TempDir(), "data")
		own := "sqlite:" + filepath.Join(data, "passerelle.db")
		secrets := map[string]any{}
		for _, database := range []string{own, other, own, other} {
			said, stop := started(t, "dev", "--json", "--data", data, "--listen", "127.0.0.1:0", "--database", database)
			if kept := secrets[database]; kept != nil && kept != said["client_secret"] {
				t.Error("going back made new credentials")
			}
			secrets[database] = said["client_secret"]
			if status := stop(); status != succeeded {
				t.Errorf("exit status %d", status)
			}
		}
		files, err := filepath.Glob(filepath.Join(data, "*credentials*"))
		if err != nil || len(files) != 2 {
			t.Errorf("found %v, %v, want a file for each", files, err)
		}
	})
}

// A second dev on the data folder of a running one names the folder, and the flag for another one.
func TestDevNamesAFolderInUse(t *testing.T) {
	data := t.TempDir()
	args := []string{"dev", "--json", "--data", data, "--listen", "127.0.0.1:0"}
	_, stop := started(t, args...)
	defer stop()
	refuses(t, args, "another server uses the data folder "+data+": stop that server, or name another folder with --data")
	refuses(t, append(args, "--database", "sqlite:"+filepath.Join(data, "passerelle.db")), "another server uses this SQLite database")
}

func TestDevMakesNoKeysBesideADatabaseInUse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database string) {
		data := t.TempDir()
		_, stop := started(t, "dev", "--json", "--data", data, "--listen", "127.0.0.1:0", "--database", database)
		if status := stop(); status != succeeded {
			t.Errorf("exit status %d", status)
		}
		file := filepath.Join(data, "keys")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		refuses(t, []string{"dev", "--data", data, "--listen", "127.0.0.1:0", "--database", database}, "its key file "+file+" is missing")
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a key file: %v", err)
		}
		if err := keys.Generate().Save(file); err != nil {
			t.Fatal(err)
		}
		refuses(t, []string{"dev", "--data", data, "--listen", "127.0.0.1:0", "--database", database}, "the key file does not belong to this database")
		refuses(t, []string{"webhook", "auth", "create", "--name", "n", "--database", database, "--key-file", file}, "the key file does not belong to this database")
	})
}

func refuses(t *testing.T, args []string, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // in case it serves instead of failing
	defer cancel()
	var out, diagnostics bytes.Buffer
	status := run(ctx, args, nil, &out, &diagnostics)
	if status != failed || !strings.Contains(diagnostics.String(), why) || out.Len() > 0 {
		t.Errorf("%v: exit status %d, want %d with %q; said %s%s", args, status, failed, why, &out, &diagnostics)
	}
}

func TestServeRefusesWhatIsNotSafe(t *testing.T) {
	safe := map[string]string{
		"--listen": "127.0.0.1:0", "--ops-listen": "", "--base-url": "https://bank.example/2.0", "--key-file": keyFile(t),
	}
	open := keyFile(t)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		flag, value string
		status      int
		says        string
	}{
		"a remote database without TLS":  {"--database", "postgres://u@db.example/bank", misused, "--database: a remote database needs TLS"},
		"a remote host in a parameter":   {"--database", "postgres:///bank?host=db.example", misused, "--database: a remote database needs TLS"},
		"a remote host behind a local":   {"--database", "postgres:///bank?host=/tmp,192.0.2.1", misused, "--database: a remote database needs TLS"},
		"no address of a database":       {"--database", "postgres://u@127.0.0.1:port/bank", misused, "--database: read the PostgreSQL address"},
		"a key file others can read":     {"--key-file", open, failed, "has mode 0644"},
		"no key file":                    {"--key-file", filepath.Join(t.TempDir(), "none"), failed, "create it with passerelle keys create --key-file "},
		"a base URL without the version": {"--base-url", "https://bank.example", misused, "--base-url: must be an address such as"},
		"a proxy that is not a network":  {"--trusted-proxies", "proxy", misused, `--trusted-proxies: "proxy" is not a network`},
		"a mail server and no sender":    {"--smtp-url", "smtp://mail.example", misused, "--mail-from: must be the e-mail address"},
		"a sender and no mail server":    {"--mail-from", "ops@bank.example", misused, "--smtp-url: must be like"},
		"half of a certificate":          {"--tls-cert", "cert.pem", failed, "load --tls-cert and --tls-key"},
		"an outdated schema":             {"--no-migrate", "true", failed, "not up to date"},
		"a flag without sense":           {"--shutdown-timeout", "soon", misused, "--shutdown-timeout: expected duration"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"serve", "--database=sqlite:" + filepath.Join(t.TempDir(), "bank.db")}
			for flag, value := range safe {
				args = append(args, flag+"="+value)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // in case it serves instead of failing
			defer cancel()
			var out, diagnostics bytes.Buffer
			status := run(ctx, append(args, test.flag+"="+test.value), nil, &out, &diagnostics)
			if status != test.status || !strings.Contains(diagnostics.String(), test.says) || out.Len() > 0 {
				t.Errorf("exit status %d, want %d with %q; said %s%s", status, test.status, test.says, &out, &diagnostics)
			}
		})
	}
}

func TestServeTakesItsFlagsFromTheEnvironment(t *testing.T) {
	environment := []string{
		"PASSERELLE_DATABASE=postgres://u@db.example/bank", "PASSERELLE_LISTEN=127.0.0.1:0",
		"PASSERELLE_BASE_URL=https://bank.example/2.0", "PASSERELLE_KEY_FILE=keys",
	}
	var out, diagnostics bytes.Buffer
	status := run(t.Context(), []string{"serve"}, environment, &out, &diagnostics)
	if status != misused || !strings.Contains(diagnostics.String(), "needs TLS") {
		t.Errorf("exit status %d; said %s", status, &diagnostics)
	}
}

// TestHealthcheckAsksTheService: the command checks liveness and readiness, also at the address
// 0.0.0.0.
func TestHealthcheckAsksTheService(t *testing.T) {
	database := "sqlite:" + filepath.Join(t.TempDir(), "bank.db")
	said, stop := started(t, "serve", "--json", "--database", database,
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--base-url", "https://bank.example/2.0", "--key-file", keyFile(t))
	ops := said["ops"].(string)
	check := func(want int, args ...string) string {
		t.Helper()
		var out, diagnostics bytes.Buffer
		if status := run(t.Context(), append([]string{"healthcheck", "--json"}, args...), nil, &out, &diagnostics); status != want {
			t.Errorf("%v: exit status %d, want %d: %s", args, status, want, &diagnostics)
		}
		return out.String() + diagnostics.String()
	}
	if said := check(succeeded, "--ops-listen", ops); said != `{"healthy":true,"server":"Passerelle/development"}`+"\n" {
		t.Errorf("said %s", said)
	}
	_, port, _ := strings.Cut(ops, ":")
	check(succeeded, "--ops-listen", "0.0.0.0:"+port, "--ready")
	if status := run(t.Context(), []string{"maintenance", "on", "--database", database}, nil, io.Discard, io.Discard); status != succeeded {
		t.Fatal("maintenance cannot begin")
	}
	if said := check(failed, "--ops-listen", ops, "--ready"); !strings.Contains(said, `the service answered 503: {"failing":["maintenance"],"ready":false}`) {
		t.Errorf("said %s", said)
	}
	check(succeeded, "--ops-listen", ops)
	check(misused, "--ops-listen", "")
	stop()
	check(failed, "--ops-listen", ops)
}

// TestServeNotifiesSystemd: the service notifies systemd when it is ready, while it is alive,
// and when it stops.
func TestServeNotifiesSystemd(t *testing.T) {
	systemd := supervisiontest.Listen(t, "300000")
	_, stop := started(t, "serve", "--json", "--database", "sqlite:"+filepath.Join(t.TempDir(), "bank.db"),
		"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--base-url", "https://bank.example/2.0", "--key-file", keyFile(t))
	systemd.Want("READY=1", "WATCHDOG=1", "WATCHDOG=1")
	if status := stop(); status != succeeded {
		t.Errorf("exit status %d", status)
	}
	systemd.WantLast("STOPPING=1\nEXTEND_TIMEOUT_USEC=45000000")
}

func TestDevOnAllAddressesPrintsOneOfThem(t *testing.T) {
	said, stop := started(t, "dev", "--json", "--data", t.TempDir(), "--listen", "0.0.0.0:0")
	defer stop()
	for _, name := range []string{"base_url", "webview_url", "console_url"} {
		if address := fmt.Sprint(said[name]); !strings.HasPrefix(address, "http://127.0.0.1:") {
			t.Errorf("%s is %s", name, address)
		}
	}
}
