package servicetest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"passerelle/connector/remote/start"
)

// ConnectorSecret is what programs of StartProgram share with the service.
const ConnectorSecret = "a secret of thirty-two characters, or more" //nolint:gosec // of tests

// StartProgram runs a program of package start with a folder for its data, until the test
// ends, and returns its address.
func StartProgram(t *testing.T, name, folder string) string {
	t.Helper()
	code := t.TempDir()
	language, interpreter := "python", "python3"
	if filepath.Ext(name) == ".mjs" {
		language, interpreter = "node", "node"
	}
	if _, err := start.Write(language, code); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	ctx, stop := context.WithCancel(context.Background())
	program := exec.CommandContext(ctx, interpreter, filepath.Join(code, name), fmt.Sprint(port), folder)
	program.Env, program.Stderr = append(os.Environ(), "SECRET="+ConnectorSecret), os.Stderr
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = program.Wait() // it was killed
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%s did not start: %v", name, err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
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
