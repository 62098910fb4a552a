package servicetest

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

// StartProcess builds the program, once per test binary, and starts it on a
// data folder of its own, with a fixed free port, so that a restart answers at
// the same address. An empty database URL means SQLite in the data folder.
func StartProcess(t testing.TB, database string) *Process {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatalf("build the program: %v", err)
	}
	p := &Process{t: t, binary: binary, args: []string{"dev", "--json", "--data", t.TempDir(), "--listen", freeAddress(t)}}
	if database != "" {
		p.args = append(p.args, "--database", database)
	}
	p.Start()
	t.Cleanup(p.Kill)
	return p
}

// freeAddress is a loopback address nobody listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
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
func (p *Process) DataFolder() string { return p.args[3] }
