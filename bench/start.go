package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"passerelle/internal/keys"
	"passerelle/internal/service"
)

// starts returns the rows about a program that starts with a database of one gigabyte.
func starts() []row {
	return []row{
		{
			name: "start to ready, existing SQLite of 1 GB", budget: 150, unit: "ms",
			open: startOf(0, readyAfter),
		},
		{
			name: "memory without files when idle, existing SQLite of 1 GB", budget: 60, unit: "MiB", limit: "heap and all else that is anonymous; caches of 8 MiB a connection as far as they are filled",
			open: startOf(idleFor, anonymous),
		},
	}
}

const (
	// gigabyte is the number of transactions in a database of one gigabyte.
	gigabyte = 750_000
	idleFor  = 5 * time.Second
)

// startOf measures a figure of the process some time after the program has started.
func startOf(wait time.Duration, figure func(pid int, took time.Duration) (float64, error)) func(context.Context, *place) (side, side, error) {
	return func(ctx context.Context, p *place) (side, side, error) {
		folder, err := p.large(ctx)
		if err != nil {
			return nil, nil, err
		}
		binary := filepath.Join(folder, "passerelle")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "passerelle/cmd/passerelle").CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("build the program: %w: %s", err, out)
		}
		return started(binary, folder, wait, figure), nil, nil
	}
}

// large makes a folder with a large database. The service that fills the database has stopped when
// the function returns.
func (p *place) large(ctx context.Context) (folder string, err error) {
	database, err := p.database(ctx, sqlite)
	if err != nil {
		return "", err
	}
	folder = filepath.Dir(strings.TrimPrefix(database, "sqlite:"))
	ring, err := keys.LoadOrCreate(filepath.Join(folder, "keys"))
	if err != nil {
		return "", err
	}
	within := &place{options: p.options}
	defer func() { err = errors.Join(err, within.close()) }()
	w, err := within.service(ctx, database, func(c *service.Config) { c.Keys = ring })
	if err != nil {
		return "", err
	}
	w.kind = sqlite
	_, err = w.longList(ctx, within, p.amount(gigabyte))
	return folder, err
}

func started(binary, folder string, wait time.Duration, figure func(pid int, took time.Duration) (float64, error)) side {
	return func(ctx context.Context) (m measured, err error) {
		command := exec.CommandContext(ctx, binary, "dev", "--json", "--data", folder, "--database", "sqlite:"+filepath.Join(folder, "database"), "--listen", "127.0.0.1:0")
		var complaint strings.Builder
		command.Stderr, command.Env = &complaint, []string{"PATH=/usr/bin:/bin"} // the program refuses unknown variables that begin with PASSERELLE_
		out, err := command.StdoutPipe()
		if err != nil {
			return m, err
		}
		begun := time.Now()
		if err := command.Start(); err != nil {
			return m, fmt.Errorf("start the program: %w", err)
		}
		defer func() { err = errors.Join(err, end(command)) }()
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			return m, fmt.Errorf("the program did not become ready: %w", errors.Join(command.Wait(), errors.New(complaint.String())))
		}
		took := time.Since(begun)
		pause(ctx, wait)
		m.figure, err = figure(command.Process.Pid, took)
		return m, err
	}
}

func end(command *exec.Cmd) error {
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the program: %w", err)
	}
	_ = command.Wait() // the exit status is not measured
	return nil
}

func readyAfter(_ int, took time.Duration) (float64, error) { return took.Seconds() * 1000, nil }

// anonymous returns the memory of a process in MiB, without memory that belongs to files.
func anonymous(pid int, _ time.Duration) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("ask the kernel: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kilobytes float64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		return 0, fmt.Errorf("read RssAnon: %w", err)
	}
	return kilobytes / 1024, nil
}
