package servicetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBanks says where a running test bank program has its bank files and its control API.
type TestBanks struct {
	// Folder has the bank files. Control is the address for controlling the banks.
	Folder  string `json:"folder"`
	Control string `json:"control"`
}

// Steer calls the control API of a bank, and decodes the response. The path begins with the bank's
// name.
func (b TestBanks) Steer(method, path string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(context.Background(), method, b.Control+"/banks/"+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, path, answer.StatusCode, content)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(content, into)
}

// UUID returns the UUID of the connector in the file of a bank.
func (b TestBanks) UUID(t testing.TB, bank string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(b.Folder, bank+".toml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(content, []byte(`uuid = "`))
	uuid, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(uuid)
}

// TestBank is the program of test banks, as a separate process. The test can kill it and start it
// again with the same books.
type TestBank struct {
	TestBanks

	t       testing.TB
	args    []string
	command *exec.Cmd
	network *Network
	log     io.Writer
}

// StartTestBank starts the test bank program at a fixed address. The program has a bank for each
// profile, and the banks settle immediately. A TCP proxy is in front of the banks' API.
func StartTestBank(t testing.TB, profiles ...string) *TestBank {
	t.Helper()
	listen := FreeAddress(t)
	b := &TestBank{t: t, log: logOf(t), network: StartNetwork(t, listen)}
	b.args = []string{
		"testbank", "--json", "--data", t.TempDir(), "--listen", listen, "--address", HostOf(t, b.network.Through("https://"+listen)), "--pages", FreeAddress(t), "--control", FreeAddress(t),
		"--profile", strings.Join(profiles, ","), "--settlement", "1ms",
	}
	b.Start()
	t.Cleanup(b.Kill)
	return b
}

// Network returns the network between the service and the bank.
func (b *TestBank) Network() *Network { return b.network }

// Start starts the program, and returns when the program is ready.
func (b *TestBank) Start() {
	b.t.Helper()
	b.command = exec.CommandContext(context.Background(), present(b.t), b.args...)
	b.command.Stderr = b.log
	endWithTest(b.command, syscall.SIGKILL)
	out, err := b.command.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.command.Start(); err != nil {
		b.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, b)
	}
	if err != nil {
		b.t.Fatalf("the test bank said %q: %v", line, err)
	}
}

// Kill ends the program immediately.
func (b *TestBank) Kill() {
	_ = b.command.Process.Kill()
	_ = b.command.Wait()
}
