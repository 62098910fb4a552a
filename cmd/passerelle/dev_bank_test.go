package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"passerelle/internal/servicetest"
)

type devOutput struct {
	BaseURL      string    `json:"base_url"`
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret"`
	Testbanks    banksView `json:"testbanks"`
}

func (d devOutput) call(t *testing.T, method, path, token string, body, into any) {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, d.BaseURL+path, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %v %s", method, path, answer.StatusCode, err, content)
	}
}

// TestDevWithTestBanks: a payment succeeds at a bank in another process. That process ends together
// with the service.
func TestDevWithTestBanks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	data := t.TempDir()
	dev, command := startDev(ctx, t, data)
	dev.pay(t, "redirect")
	cancel()
	_ = command.Wait() // the status is that of an interrupted process
	if _, err := http.Get(dev.Testbanks.Control + "/banks"); err == nil {
		t.Error("the test banks go on without the service")
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again, command := startDev(ctx, t, data)
	if again.Testbanks.Pages != dev.Testbanks.Pages || again.Testbanks.Control != dev.Testbanks.Control || again.Testbanks.Banks[0] != dev.Testbanks.Banks[0] {
		t.Errorf("after a restart, the test banks are at %+v, and were at %+v", again.Testbanks, dev.Testbanks)
	}
	cancel()
	_ = command.Wait()
}

// TestDevRestartsTestBanks: after the process of the test banks was killed, dev starts it again,
// and payments succeed at the same addresses.
func TestDevRestartsTestBanks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, diagnostics := io.Pipe()
	again := make(chan struct{})
	go func() {
		lines, once := bufio.NewScanner(out), sync.Once{}
		for lines.Scan() {
			if strings.Contains(lines.Text(), "the test banks run again") {
				once.Do(func() { close(again) })
			}
		}
	}()
	dev, command := startDevLogging(ctx, t, t.TempDir(), diagnostics)
	banks, err := os.FindProcess(dev.Testbanks.PID)
	if err == nil {
		err = banks.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-again:
		dev.pay(t, "redirect")
	case <-ctx.Done():
		t.Error("the test banks do not run again")
	}
	cancel()
	_ = command.Wait() // the status is that of an interrupted process
}

// startDev starts dev with test banks. Both programs end when the context ends.
func startDev(ctx context.Context, t *testing.T, data string) (devOutput, *exec.Cmd) {
	t.Helper()
	return startDevLogging(ctx, t, data, t.Output())
}

func startDevLogging(ctx context.Context, t *testing.T, data string, diagnostics io.Writer) (devOutput, *exec.Cmd) {
	t.Helper()
	command := exec.CommandContext(ctx, os.Args[0], "dev", "--json", "--bank", "--data", data, "--listen", "127.0.0.1:0")
	command.Args[0], command.Stderr, command.WaitDelay = "passerelle", diagnostics, 10*time.Second // testscript runs main by that name
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var dev devOutput
	if err := json.NewDecoder(out).Decode(&dev); err != nil {
		t.Fatal(err)
	}
	return dev, command
}

// TestKilledDevLeavesNoTestBanks: the test banks also end when the service is killed.
func TestKilledDevLeavesNoTestBanks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dev, command := startDev(ctx, t, t.TempDir())
	line, err := net.Dial("tcp", strings.TrimPrefix(dev.Testbanks.Control, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	if err := errors.Join(line.SetReadDeadline(time.Now().Add(30*time.Second)), command.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // the status is that of a killed process
	var silent net.Error
	if _, err := line.Read(make([]byte, 1)); err == nil || errors.As(err, &silent) && silent.Timeout() {
		t.Errorf("the test banks go on after the service was killed: %v", err)
	}
}

func (d devOutput) pay(t *testing.T, bank string) {
	t.Helper()
	var auth struct{ Token string }
	d.call(t, "POST", "/auth/token", "", map[string]any{"grant_type": "client_credentials", "client_id": d.ClientID, "client_secret": d.ClientSecret, "scope": "payments:admin"}, &auth)
	var p seenPayment
	draft := order(line("Shop", map[string]any{"execution_date_type": "instant"}))
	d.call(t, "POST", "/payments", auth.Token, draft, &p)
	banks := &banksOf{servicetest.TestBanks{Folder: d.Testbanks.Folder, Control: d.Testbanks.Control}, t}
	path := fmt.Sprint("/payments/", p.ID)
	d.call(t, "POST", path, auth.Token, map[string]any{"connector_uuid": banks.uuid(bank), "webview_url": strings.TrimSuffix(d.BaseURL, "/2.0") + "/sandbox/shop", "validated": true}, &p)
	if p.ValidateURI == nil {
		t.Fatalf("after validation: %s", inWords(p))
	}
	answer, err := http.PostForm(*p.ValidateURI, url.Values{"decision": {"approve"}, "customer": {"anna"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	d.call(t, "GET", path, auth.Token, nil, &p)
	if p.State != "done" {
		t.Errorf("in the end: %s", inWords(p))
	}
}
