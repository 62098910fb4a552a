package servicetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"passerelle/internal/leftout"
)

// Cluster is a PostgreSQL server for one test. Like an operator's server, it writes acknowledged
// data to disk.
type Cluster struct {
	t                      testing.TB
	programs, folder, port string
	data                   string
	// account runs the server, because PostgreSQL refuses to run as root.
	account *syscall.Credential
	server  *exec.Cmd
	ended   chan struct{}
}

// StartCluster starts a server, and removes it after the test.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	return StartClusterOn(t, "")
}

// StartClusterOn starts a server like StartCluster, with its tables on a disk that the test may
// fill. The transaction log is on another disk, because PostgreSQL stops when it cannot write its
// log.
func StartClusterOn(t testing.TB, disk string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, data: "data"}
	programs, err := exec.CommandContext(context.Background(), "../../scripts/postgres-bin").Output()
	if err != nil {
		leftout.Without(t, "PostgreSQL")
	}
	c.programs = strings.TrimSpace(string(programs))
	c.folder, err = os.MkdirTemp("", "passerelle-cluster-")
	c.must("make a folder", err)
	t.Cleanup(func() { _ = os.RemoveAll(c.folder) })
	if disk != "" {
		c.data = filepath.Join(disk, "data")
	}
	if os.Getuid() == 0 {
		c.must("give the folder to another account", c.leaveRoot(disk))
	}
	out, err := c.command("initdb", "--pgdata="+c.data, "--waldir="+filepath.Join(c.folder, "wal"), "--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C").CombinedOutput()
	c.must("make a cluster: "+string(out), err)
	_, c.port, err = net.SplitHostPort(FreeAddress(t))
	c.must("find a port", err)
	c.Start()
	t.Cleanup(c.stop)
	return c
}

func (c *Cluster) must(attempted string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%s: %v", attempted, err)
	}
}

func (c *Cluster) leaveRoot(disk string) error {
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return err
	}
	c.account = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if disk != "" {
		err = os.Chown(disk, int(uid), int(gid))
	}
	return errors.Join(err, os.Chown(c.folder, int(uid), int(gid)))
}

// command uses another process group, so an interrupt at the terminal does not end the server
// before the cleanup. Without a cleanup, the server ends with this process.
func (c *Cluster) command(program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(context.Background(), filepath.Join(c.programs, program), args...)
	command.Dir, command.SysProcAttr = c.folder, &syscall.SysProcAttr{Credential: c.account, Setpgid: true}
	endWithTest(command, syscall.SIGQUIT)
	return command
}

// URL returns the address of the initial database.
func (c *Cluster) URL() string { return c.address("postgres") }

func (c *Cluster) address(database string) string {
	return "postgres://postgres@127.0.0.1:" + c.port + "/" + database + "?sslmode=disable"
}

// Empty creates another database and returns its address.
func (c *Cluster) Empty(name string) string {
	c.t.Helper()
	out, err := c.command("createdb", "-h", "127.0.0.1", "-p", c.port, "-U", "postgres", name).CombinedOutput()
	c.must("make a database: "+string(out), err)
	return c.address(name)
}

// Start starts the server, and returns when the server has recovered and responds.
func (c *Cluster) Start() {
	c.t.Helper()
	log, err := os.OpenFile(filepath.Join(c.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	c.must("open the log of PostgreSQL", err)
	defer log.Close()
	c.server = c.command("postgres", "-D", c.data, "-h", "127.0.0.1", "-p", c.port, "-c", "unix_socket_directories=", "-c", "max_connections=200")
	c.server.Stdout, c.server.Stderr = log, log
	c.must("start PostgreSQL", c.server.Start())
	c.ended = make(chan struct{})
	go func(server *exec.Cmd, ended chan<- struct{}) {
		_ = server.Wait()
		close(ended)
	}(c.server, c.ended)
	for c.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", c.port).Run() != nil {
		select {
		case <-c.ended:
			text, err := os.ReadFile(log.Name())
			c.t.Fatalf("PostgreSQL did not start: %s %v", text[max(0, len(text)-2000):], err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Kill ends the server and its child processes, like a power cut. It first stops the server from
// starting new child processes, because a surviving child process could still commit.
func (c *Cluster) Kill() {
	select {
	case <-c.ended:
		return
	default:
	}
	server := c.server.Process.Pid
	_ = syscall.Kill(server, syscall.SIGSTOP)
	children := c.processes("--ppid", strconv.Itoa(server))
	for _, pid := range append(children, server) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-c.ended
	for _, pid := range children {
		for len(c.processes("--pid", strconv.Itoa(pid))) > 0 {
			<-time.After(time.Millisecond)
		}
	}
}

// stopLimit is the time after which stop kills a server that does not end.
const stopLimit = 30 * time.Second

// stop ends the server without a checkpoint. Unlike a killed server, it releases its shared memory.
// That memory would otherwise stay in use until the machine starts again.
func (c *Cluster) stop() {
	_ = c.server.Process.Signal(syscall.SIGQUIT) // fails when the server has ended
	select {
	case <-c.ended:
	case <-time.After(stopLimit):
		c.Kill()
	}
}

// Set changes a setting of the server.
func (c *Cluster) Set(name, value string) {
	c.t.Helper()
	for _, sql := range []string{"ALTER SYSTEM SET " + name + " = " + value, "SELECT pg_reload_conf()"} {
		// Without this SET, a read-only server would stay read-only.
		command := c.command("psql", "-h", "127.0.0.1", "-p", c.port, "-U", "postgres", "-c", "SET default_transaction_read_only = off", "-c", sql)
		out, err := command.CombinedOutput()
		c.must("set "+name+": "+string(out), err)
	}
}

func (c *Cluster) processes(selection ...string) []int {
	var pids []int
	out, err := exec.CommandContext(context.Background(), "ps", append(selection, "-o", "pid=,state=")...).Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) { // ps fails when it finds no process
		c.t.Errorf("list processes: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		var pid int
		var state string
		if _, err := fmt.Sscan(line, &pid, &state); err == nil && state != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}
