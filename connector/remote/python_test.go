package remote_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"passerelle/connector"
	"passerelle/connector/connectortest"
	"passerelle/connector/remote"
)

// TestPython holds the connector in Python to the rules.
func TestPython(t *testing.T) {
	folder := t.TempDir()
	for name, lines := range map[string]string{"current": "2026-01-02,-12.50,Bread\n2026-01-03,1000.00,Wage\n", "joint": "2026-02-01,-1.00,Fee\n"} {
		if err := os.WriteFile(filepath.Join(folder, name+".csv"), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	python := exec.CommandContext(ctx, "python3", "testdata/folder.py", "0", folder)
	python.Env, python.Stderr = append(os.Environ(), "SECRET="+sharedSecret), os.Stderr
	out, err := python.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := python.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = python.Wait() })
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	program, err := remote.NewProgram("http://127.0.0.1:"+strings.TrimSpace(port), sharedSecret)
	if err != nil {
		t.Fatal(err)
	}
	program = program.Strict()
	described, err := program.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := program.Connector(described, 1000)
	if err != nil {
		t.Fatal(err)
	}
	reader, _ := c.(connector.DataReader)
	connectortest.RunReader(t, func(*testing.T) connectortest.Customer {
		return connectortest.Customer{Reader: reader, Request: func() connector.DataRequest { return connector.DataRequest{Source: "openapi", Present: true} }}
	})
}
