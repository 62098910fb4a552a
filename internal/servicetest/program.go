package servicetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"passerelle/connector"
	"passerelle/connector/remote"
	"passerelle/connector/remote/start"
	"passerelle/connector/statements"
	"passerelle/internal/leftout"
)

// ConnectorSecret is the shared secret of programs that StartProgram starts.
const ConnectorSecret = "a secret of thirty-two characters, or more" //nolint:gosec // only for tests

// aProgram is a connector for files that acts as a connector program.
type aProgram struct {
	statements.Connector
	uuid string
}

func (p aProgram) Profile() connector.Profile {
	described := p.Connector.Profile()
	data := *described.Data
	data.TakesFiles = false
	described.UUID, described.Name, described.Data = p.uuid, "Outside", &data
	return described
}

// ServeProgram serves a connector program with the UUID until the test ends, and returns its
// address. The program has the name Outside and the secret ConnectorSecret.
func ServeProgram(t testing.TB, uuid string) string {
	t.Helper()
	handler, err := remote.Handler(aProgram{uuid: uuid}, ConnectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// languages maps file extensions to the languages of package start.
var languages = map[string]struct {
	name, interpreter string
	needs             []string
}{
	".go":  {name: "go"},
	".mjs": {"node", "node", []string{"node"}},
	".py":  {"python", "python3", []string{"python3"}},
	".sh":  {"shell", "bash", []string{"bash", "socat", "jq"}},
}

// Program is a program of package start that a test can kill and start again.
type Program struct {
	// Address is the address at which the program listens.
	Address string
	// Messages receives the standard error of the program. It is os.Stderr unless a test changes it
	// before Start.
	Messages io.Writer
	t        *testing.T
	name     string
	command  []string
	running  *exec.Cmd
}

// StartProgram runs a program of package start until the test ends, and returns its address. The
// folder is for the program's data.
func StartProgram(t *testing.T, name, folder string) string {
	t.Helper()
	return StartKillable(t, name, folder).Address
}

// StartKillable does the same as StartProgram, but returns the program.
func StartKillable(t *testing.T, name, folder string) *Program {
	t.Helper()
	p := NewProgram(t, name, folder)
	p.Start()
	return p
}

// NewProgram does the same as StartKillable, but does not start the program.
func NewProgram(t *testing.T, name, folder string) *Program {
	t.Helper()
	code, port := t.TempDir(), freePort(t)
	language := languages[filepath.Ext(name)]
	for _, program := range language.needs {
		leftout.Needs(t, program)
	}
	if _, err := start.Write(language.name, code); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(code, name)
	p := &Program{Address: fmt.Sprintf("http://127.0.0.1:%d", port), Messages: os.Stderr, t: t, name: name, command: []string{language.interpreter, path}}
	if language.interpreter == "" {
		p.command = []string{compile(t, path)}
	}
	p.command = append(p.command, fmt.Sprint(port), folder)
	return p
}

// Start starts the program, and returns when the program listens. The end of the test kills the
// program.
func (p *Program) Start() {
	p.t.Helper()
	p.running = exec.CommandContext(context.Background(), p.command[0], p.command[1:]...) //nolint:gosec // a file of this repository
	p.running.Env, p.running.Stderr = append(os.Environ(), "SECRET="+ConnectorSecret, "TEST=1"), p.Messages
	endWithTest(p.running, syscall.SIGKILL)
	out, err := p.running.StdoutPipe()
	if err == nil {
		err = p.running.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.Kill)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		p.t.Fatalf("%s did not start: %v", p.name, err)
	}
}

// Kill ends the program immediately.
func (p *Program) Kill() {
	_ = p.running.Process.Kill()
	_ = p.running.Wait() // the error only says that the program was killed
}

func compile(t *testing.T, path string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, path, filepath.Join(filepath.Dir(path), "protocol.go"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", path, err, out)
	}
	return binary
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	at, _ := listener.Addr().(*net.TCPAddr)
	return at.Port
}
