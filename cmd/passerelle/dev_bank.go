package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"passerelle"
)

// bankStop is the time in which the program of test banks can end before it is killed. bankPause is
// the pause before the program starts again. Each further pause is twice as long, up to
// longestBankPause. After a run longer than longestBankPause, the pause is bankPause again.
const (
	bankStop         = 5 * time.Second
	bankPause        = 100 * time.Millisecond
	longestBankPause = time.Minute
)

// testbanks represents the test banks of dev. They run as a separate process.
type testbanks struct {
	banksView
	// ended is closed after the test banks have ended and err is set.
	ended chan struct{}
	err   error
}

// connectBanks starts the test banks if the flag requests them, and makes the service read their
// files. It starts them again when they end too early. The test banks end when the returned
// function is called or this process ends.
func (d *devCommand) connectBanks(c *console) (*banksView, func(), error) {
	if !d.Bank {
		return nil, func() {}, nil
	}
	if d.Banks != "" {
		return nil, nil, passerelle.InvalidField("--bank", "uses its own bank files: omit --banks")
	}
	ctx, cancel := context.WithCancel(c.ctx)
	banks, err := startBanks(ctx, d.Data, c.log, c.err)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	d.Banks = banks.Folder
	over := make(chan struct{})
	go func() {
		defer close(over)
		keepBanks(ctx, banks, c.log, func() (*testbanks, error) { return startBanks(ctx, d.Data, c.log, c.err) })
	}()
	return &banks.banksView, func() { cancel(); <-over }, nil
}

// keepBanks starts the test banks again each time that they end. It returns after the context and
// the banks have ended.
func keepBanks(ctx context.Context, banks *testbanks, log *slog.Logger, start func() (*testbanks, error)) {
	for pause := bankPause; ; pause = min(2*pause, longestBankPause) {
		begun := time.Now()
		<-banks.ended
		if time.Since(begun) > longestBankPause {
			pause = bankPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		next, err := start()
		if err != nil && ctx.Err() == nil {
			log.Error("the test banks cannot start again", "error", err)
		}
		if next != nil {
			banks = next
			log.Warn("the test banks run again", "control", banks.Control)
		}
	}
}

// startBanks starts this program again as test banks with files in the data folder, and waits until
// the banks are ready. The banks end when the context or this process ends.
func startBanks(ctx context.Context, data string, log *slog.Logger, diagnostics io.Writer) (*testbanks, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	folder := filepath.Join(data, "testbank")
	at := formerAddresses(folder)
	command := exec.CommandContext(ctx, program, "testbank", "run", "--json", "--until-input", "--data", folder,
		"--listen", at.API, "--pages", at.Pages, "--control", at.Control)
	command.Args[0], command.Stderr, command.WaitDelay = os.Args[0], diagnostics, bankStop
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	out, err := command.StdoutPipe()
	if err == nil {
		_, err = command.StdinPipe() // the pipe closes when this process ends, for any reason
	}
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the test banks: %w", err)
	}
	banks := &testbanks{ended: make(chan struct{})}
	err = json.NewDecoder(out).Decode(&banks.banksView)
	go banks.wait(ctx, command, out, log, err == nil)
	if err != nil {
		<-banks.ended
		return nil, fmt.Errorf("start the test banks: %w", errors.Join(err, banks.err))
	}
	return banks, rememberAddresses(folder, banks.banksView)
}

// bankAddresses are the hosts and ports of the test banks. They are stored in the data folder,
// because the links of payments in progress must lead to the banks after a restart.
type bankAddresses struct{ API, Pages, Control string }

const addressFile = "addresses.json"

// formerAddresses returns the addresses of the last start. At the first start, or when another
// program uses one of these addresses, it returns free ports.
func formerAddresses(folder string) bankAddresses {
	const free = "127.0.0.1:0"
	former := bankAddresses{}
	content, err := os.ReadFile(filepath.Join(folder, addressFile))
	if err != nil || json.Unmarshal(content, &former) != nil {
		return bankAddresses{free, free, free}
	}
	for _, address := range []string{former.API, former.Pages, former.Control} {
		listener, err := net.Listen("tcp", address)
		if err != nil || listener.Close() != nil {
			return bankAddresses{free, free, free}
		}
	}
	return former
}

func rememberAddresses(folder string, v banksView) error {
	host := func(address string) string {
		_, rest, _ := strings.Cut(address, "://")
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	content, err := json.Marshal(bankAddresses{API: host(v.Banks[0].API), Pages: host(v.Pages), Control: host(v.Control)})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, addressFile), content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("store the addresses of the test banks: %w", err)
	}
	return nil
}

// wait waits until the test banks have ended. If they were ready and end too early, it logs this.
func (b *testbanks) wait(ctx context.Context, command *exec.Cmd, out io.Reader, log *slog.Logger, ready bool) {
	defer close(b.ended)
	_, _ = io.Copy(io.Discard, out)
	b.err = command.Wait()
	if ready && ctx.Err() == nil {
		log.Error("the test banks have ended", "error", b.err)
	}
}

const welcomeBanks = `
Test banks run as a second program. The service reaches them over mutual TLS:

  bank files     {folder}
  their pages    {pages} (with the apps in which customers approve)
  their control  {control}/banks

In the webview, choose "{title}" to pay there.
`
