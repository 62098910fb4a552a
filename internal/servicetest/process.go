package servicetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// Process is the program as its own process, started with the command dev, to
// be killed and started again on the same data.
type Process struct {
	BaseURL      string `json:"base_url"`
	WebviewURL   string `json:"webview_url"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ConfigToken  string `json:"config_token"`
	UsersToken   string `json:"users_token"`
	PID          int    `json:"pid"`

	t       testing.TB
	binary  string
	args    []string
	command *exec.Cmd
}

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "passerelle-binary-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "passerelle")
	_, err = exec.CommandContext(context.Background(), "go", "build", "-o", binary, "passerelle/cmd/passerelle").Output()
	return binary, err
})

// Where the arguments are that tell one process from another.
const (
	dataArgument     = 3
	listenArgument   = 5
	databaseArgument = 7
)

// StartProcess builds the program, once per test binary, and starts it on a
// data folder of its own, with a fixed free port, so that a restart answers at
// the same address. An empty database URL means SQLite in the data folder.
func StartProcess(t testing.TB, database string) *Process {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatalf("build the program: %v", err)
	}
	p := &Process{t: t, binary: binary, args: []string{"dev", "--json", "--data", t.TempDir(), "--listen", FreeAddress(t)}}
	if database != "" {
		p.args = append(p.args, "--database", database)
	}
	p.Start()
	t.Cleanup(p.Kill)
	return p
}

// FreeAddress is a loopback address nobody listens on, with a port below those
// that the kernel hands out: it stays free while its owner is dead.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000))
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Replica starts the program once more beside this one, on the same database,
// which has to be PostgreSQL, and with the same keys.
func (p *Process) Replica() *Process {
	p.t.Helper()
	other := &Process{t: p.t, binary: p.binary, args: slices.Clone(p.args)}
	other.args[listenArgument] = FreeAddress(p.t)
	other.Start()
	p.t.Cleanup(other.Kill)
	return other
}

// Configure gives a configuration key of the sandbox a value, by the command
// for it.
func (p *Process) Configure(key, value string) {
	p.t.Helper()
	p.run("config", "set", key, value, "--database", p.Database())
}

// Doctor looks through all that is stored for what must never be, by the command
// for it.
func (p *Process) Doctor() {
	p.t.Helper()
	p.DoctorOf(p.Database())
}

// DoctorOf is Doctor for another database that was sealed with the same keys.
func (p *Process) DoctorOf(database string) {
	p.t.Helper()
	p.run("doctor", "--invariants", "--key-file", filepath.Join(p.DataFolder(), "keys"), "--database", database)
}

// Backup copies the database to a file while the program serves from it, and
// Restore makes another database of it.
func (p *Process) Backup(file string) {
	p.t.Helper()
	p.run("backup", "--to", file, "--database", p.Database())
}

// Restore makes a database of a file that Backup has made.
func (p *Process) Restore(file, database string) {
	p.t.Helper()
	p.run("restore", "--from", file, "--database", database)
}

// run has a command of the program do its work; one that fails ends the test.
func (p *Process) run(args ...string) {
	p.t.Helper()
	command := exec.CommandContext(context.Background(), p.binary, args...)
	if out, err := command.CombinedOutput(); err != nil {
		p.t.Fatalf("passerelle %s: %v: %s", args[0], err, out)
	}
}

// Start starts the program and returns when it says that it is ready.
func (p *Process) Start() {
	p.t.Helper()
	p.command = exec.CommandContext(context.Background(), p.binary, p.args...)
	p.command.Stderr = p.t.Output()
	out, err := p.command.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		p.t.Fatalf("start the program: %v", err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("the program did not become ready: %v", err)
	}
	if err := json.Unmarshal(line, p); err != nil {
		p.t.Fatalf("the program said %q: %v", line, err)
	}
}

// Kill ends the program at once, as a power cut would.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// Terminate asks the program to stop and returns its exit status.
func (p *Process) Terminate() int {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait()
	return p.command.ProcessState.ExitCode()
}

// DataFolder is where the program keeps its database and credentials.
func (p *Process) DataFolder() string { return p.args[dataArgument] }

// Database is the address of the database.
func (p *Process) Database() string {
	if len(p.args) > databaseArgument {
		return p.args[databaseArgument]
	}
	return "sqlite:" + filepath.Join(p.DataFolder(), "passerelle.db")
}
