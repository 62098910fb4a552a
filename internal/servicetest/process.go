package servicetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is the program as a separate process, which runs the command dev.
type Process struct {
	BaseURL      string `json:"base_url"`
	WebviewURL   string `json:"webview_url"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ConfigToken  string `json:"config_token"`
	UsersToken   string `json:"users_token"`
	PID          int    `json:"pid"`
	// Environment has variables that the program gets in addition to the test's environment.
	Environment []string `json:"-"`

	t       testing.TB
	binary  string
	args    []string
	command *exec.Cmd
	ended   chan struct{}
	// log is set by the first start.
	log io.Writer
}

// buildMarked builds the program with marks, at which a test can make the program crash.
var (
	build       = sync.OnceValues(func() (string, error) { return builtWith("passerelle", "") })
	buildMarked = sync.OnceValues(func() (string, error) {
		return builtWith("passerelle-marked", "-X passerelle/internal/failpoint.active=yes")
	})
)

var programs = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "passerelle-binary-") })

// RemovePrograms deletes the built programs. The test binary calls it after all tests.
func RemovePrograms() {
	if folder, err := programs(); err == nil {
		_ = os.RemoveAll(folder)
	}
}

func builtWith(name, linkerFlags string) (string, error) {
	folder, err := programs()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(folder, name)
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-ldflags", linkerFlags, "-o", binary, "passerelle/cmd/passerelle").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}

// PASSERELLE_TEST_PROGRAM can name a program that was built before, such as the program in a
// Linux package.
func present(t testing.TB) string {
	t.Helper()
	if program := os.Getenv("PASSERELLE_TEST_PROGRAM"); program != "" {
		return program
	}
	return built(t, build)
}

func built(t testing.TB, build func() (string, error)) string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatalf("build the program: %v", err)
	}
	return binary
}

// These are the indexes of the arguments that differ between processes.
const (
	dataArgument     = 3
	listenArgument   = 5
	databaseArgument = 7
)

// StartProcess starts the program with a new data folder. The program gets a fixed free port, so
// its address stays the same after a restart. An empty database URL means SQLite in the data
// folder.
func StartProcess(t testing.TB, database string) *Process {
	t.Helper()
	return startProcess(t, "", t.TempDir(), database)
}

// StartProcessWith starts the program like StartProcess, with additional variables in the program's
// environment.
func StartProcessWith(t testing.TB, database string, environment ...string) *Process {
	t.Helper()
	return startProcess(t, "", t.TempDir(), database, environment...)
}

// StartProcessWithBanks starts the program like StartProcess, with the bank files in a folder.
func StartProcessWithBanks(t testing.TB, database, banks string) *Process {
	t.Helper()
	p := &Process{t: t, binary: present(t), args: []string{"dev", "--json", "--data", t.TempDir(), "--listen", FreeAddress(t)}}
	if database == "" {
		database = p.Database()
	}
	p.args = append(p.args, "--database", database, "--banks", banks)
	p.Start()
	t.Cleanup(p.Kill)
	return p
}

// StartMarked starts the program like StartProcessWith, with marks at which the program can crash.
func StartMarked(t testing.TB, database string, environment ...string) *Process {
	t.Helper()
	return startProcess(t, built(t, buildMarked), t.TempDir(), database, environment...)
}

// StartProcessIn starts the program like StartProcess, with an existing data folder.
func StartProcessIn(t testing.TB, folder string) *Process {
	t.Helper()
	return startProcess(t, "", folder, "")
}

// StartBinary starts a program like StartProcess. The binary was built before, and may have a
// different version.
func StartBinary(t testing.TB, binary, database string) *Process {
	t.Helper()
	return startProcess(t, binary, t.TempDir(), database)
}

func startProcess(t testing.TB, binary, folder, database string, environment ...string) *Process {
	t.Helper()
	if binary == "" {
		binary = present(t)
	}
	p := &Process{t: t, binary: binary, Environment: environment, args: []string{"dev", "--json", "--data", folder, "--listen", FreeAddress(t)}}
	if database != "" {
		p.args = append(p.args, "--database", database)
	}
	p.Start()
	t.Cleanup(p.Kill)
	return p
}

// FreeAddress returns an unused loopback address. Its port is below the ports that the kernel
// assigns. The kernel therefore assigns the port to no other process while the test restarts its
// server.
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

// Replica starts another process of the program with the same keys on the same database. The
// database must be PostgreSQL.
func (p *Process) Replica() *Process {
	p.t.Helper()
	return p.beside(p.binary)
}

// Other starts another process like Replica, for a program of another version. An empty binary
// means the current version.
func (p *Process) Other(binary string) *Process {
	p.t.Helper()
	if binary == "" {
		binary = present(p.t)
	}
	return p.beside(binary)
}

// On starts the program on another database, with the same keys, credentials and files.
func (p *Process) On(database string) *Process {
	p.t.Helper()
	other := p.copied(p.binary)
	other.args[databaseArgument] = database
	other.Start()
	p.t.Cleanup(other.Kill)
	return other
}

func (p *Process) copied(binary string) *Process {
	other := &Process{t: p.t, binary: binary, Environment: p.Environment, args: slices.Clone(p.args)}
	other.args[listenArgument] = FreeAddress(p.t)
	return other
}

func (p *Process) beside(binary string) *Process {
	p.t.Helper()
	other := p.copied(binary)
	other.Start()
	p.t.Cleanup(other.Kill)
	return other
}

// Memory returns the number of bytes of memory that the process uses now.
func (p *Process) Memory() int64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	p.t.Fatal("the process has no memory")
	return 0
}

// Configure runs the command config set, which changes a setting of the sandbox.
func (p *Process) Configure(key, value string) {
	p.t.Helper()
	p.Command("config", "set", key, value, "--database", p.Database())
}

// Doctor checks the invariants of all stored data with the command doctor.
func (p *Process) Doctor() {
	p.t.Helper()
	p.DoctorOf(p.Database())
}

// DoctorOf checks another database like Doctor. The values in that database must be encrypted with
// the same keys.
func (p *Process) DoctorOf(database string) {
	p.t.Helper()
	p.Command("doctor", "--invariants", "--key-file", filepath.Join(p.DataFolder(), "keys"), "--database", database)
}

// Backup copies the database to a file, even while the program uses the database.
func (p *Process) Backup(file string) {
	p.t.Helper()
	p.Command("backup", "--to", file, "--database", p.Database())
}

// Restore creates a database from a file that Backup has written.
func (p *Process) Restore(file, database string) {
	p.t.Helper()
	p.Command("restore", "--from", file, "--database", database)
}

// Command runs a command of the program. The command must succeed.
func (p *Process) Command(args ...string) {
	p.t.Helper()
	command := exec.CommandContext(context.Background(), p.binary, args...)
	if out, err := command.CombinedOutput(); err != nil {
		p.t.Fatalf("passerelle %s: %v: %s", args[0], err, out)
	}
}

// Start starts the program, and returns when the program is ready.
func (p *Process) Start() {
	p.t.Helper()
	if err := p.TryStart(); err != nil {
		p.t.Fatal(err)
	}
}

// TryStart starts the program like Start. It returns an error when the program ends before it is
// ready.
func (p *Process) TryStart() error {
	p.command = exec.CommandContext(context.Background(), p.binary, p.args...)
	if p.log == nil {
		p.log = logOf(p.t)
	}
	p.command.Stderr, p.command.Env = p.log, append(os.Environ(), p.Environment...)
	endWithTest(p.command, syscall.SIGKILL)
	out, err := p.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.command.Start(); err != nil {
		return fmt.Errorf("start the program: %w", err)
	}
	line, early := bufio.NewReader(out).ReadBytes('\n')
	p.ended = make(chan struct{})
	go func(command *exec.Cmd, ended chan<- struct{}) {
		_ = command.Wait()
		close(ended)
	}(p.command, p.ended)
	if early != nil {
		return fmt.Errorf("the program did not become ready: %w", early)
	}
	if err := json.Unmarshal(line, p); err != nil {
		return fmt.Errorf("the program said %q: %w", line, err)
	}
	return nil
}

// DiesWithin reports whether the program ends by itself in this time.
func (p *Process) DiesWithin(length time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(length):
		return false
	}
}

// Kill ends the program immediately, like a power cut.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// Terminate asks the program to stop, and returns the program's exit status.
func (p *Process) Terminate() int {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	<-p.ended
	return p.command.ProcessState.ExitCode()
}

// Hangup makes the program read its bank files again. It ends the command dev if dev has no bank
// files.
func (p *Process) Hangup() { _ = p.command.Process.Signal(syscall.SIGHUP) }

// Address returns the host and port at which the program listens.
func (p *Process) Address() string { return p.args[listenArgument] }

// DataFolder returns the program's data folder.
func (p *Process) DataFolder() string { return p.args[dataArgument] }

// Database returns the address of the database.
func (p *Process) Database() string {
	if len(p.args) > databaseArgument {
		return p.args[databaseArgument]
	}
	return "sqlite:" + filepath.Join(p.DataFolder(), "passerelle.db")
}
