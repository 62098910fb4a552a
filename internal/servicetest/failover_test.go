//go:build torture

package servicetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"passerelle/internal/servicetest"
)

// TestFailover cuts the replication between two PostgreSQL servers while clients create payments,
// and kills the first server. With synchronous replication, no acknowledged payment may be lost.
// Without it, some must be lost, which proves that the test notices a loss.
func TestFailover(t *testing.T) {
	for name, synchronous := range map[string]bool{"synchronous": true, "asynchronous": false} {
		t.Run(name, func(t *testing.T) {
			for n := range amount("PASSERELLE_TEST_FAILOVERS", 1) {
				acknowledged, lost, stopped := failOver(t, synchronous)
				t.Logf("failover %d: %d payments acknowledged, %d of them lost, no answer for %v", n, acknowledged, lost, stopped.Round(time.Millisecond))
				if synchronous && lost > 0 {
					t.Errorf("%d acknowledged payments are lost", lost)
				}
				if !synchronous && lost == 0 {
					t.Error("the test does not see that something is lost")
				}
			}
		})
	}
}

func failOver(t *testing.T, synchronous bool) (acknowledged, lost int, stopped time.Duration) {
	folder, account := sharedFolder(t)
	etcd := servicetest.FreeAddress(t)
	peer := "http://" + servicetest.FreeAddress(t)
	run(t, nil, folder, "etcd", "--data-dir", filepath.Join(folder, "etcd"), "--listen-client-urls", "http://"+etcd, "--advertise-client-urls", "http://"+etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	first, second := newMember(t, folder, "first", account), newMember(t, folder, "second", account)
	first.start(etcd, synchronous)
	first.awaits("primary")
	second.start(etcd, synchronous)
	second.awaits("replica")
	if synchronous {
		second.awaits("sync")
	}
	p := servicetest.StartProcessWith(t, fmt.Sprintf("postgres://postgres:secret@%s,%s/postgres?sslmode=disable&target_session_attrs=read-write", first.address, second.address), "PASSERELLE_DATABASE_TIMEOUT=5s")
	d := newDriver(t, p)
	b := &book{d: d, made: map[string]int64{}}
	over, working := make(chan struct{}), sync.WaitGroup{}
	for n := range 8 {
		working.Go(func() { b.keep(n, over) })
	}
	b.until(100)
	first.network.Behave(servicetest.Manner{Silent: true})
	<-time.After(2 * time.Second)
	first.kill()
	killed := time.Now()
	acknowledged = b.count()
	second.awaits("primary")
	b.until(acknowledged + 8)
	stopped = time.Since(killed)
	close(over)
	working.Wait()
	return acknowledged, b.lost(), stopped
}

type book struct {
	d    *driver
	mu   sync.Mutex
	made map[string]int64
}

func (b *book) keep(client int, over <-chan struct{}) {
	for n := 0; !isClosed(over); n++ {
		state := fmt.Sprintf("client %d, payment %d", client, n)
		draft := servicetest.Draft()
		draft["client_state"] = state
		status, answer := b.d.send("POST", "/payments", b.d.token, state, draft)
		var made struct{ ID int64 }
		if status == http.StatusOK && json.Unmarshal(answer, &made) == nil {
			b.mu.Lock()
			b.made[state] = made.ID
			b.mu.Unlock()
		}
	}
}

func (b *book) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.made)
}

func (b *book) until(count int) {
	for deadline := time.Now().Add(waitLimit); b.count() < count; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			b.d.t.Fatalf("%d payments were acknowledged in time, not %d", b.count(), count)
		}
	}
}

func (b *book) lost() (lost int) {
	for state, id := range b.made {
		_, answer := b.d.send("GET", fmt.Sprint("/payments/", id), b.d.token, "", nil)
		var found struct {
			State string `json:"client_state"`
		}
		if json.Unmarshal(answer, &found) != nil || found.State != state {
			lost++
		}
	}
	return lost
}

type member struct {
	t                              *testing.T
	name, folder, address, restful string
	network                        *servicetest.Network
	account                        *syscall.Credential
	command                        *exec.Cmd
}

func sharedFolder(t *testing.T) (string, *syscall.Credential) {
	folder := must(os.MkdirTemp("", "passerelle-failover-"))
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	account := must(user.Lookup("postgres"))
	uid, gid := must(strconv.Atoi(account.Uid)), must(strconv.Atoi(account.Gid))
	if err := os.Chown(folder, uid, gid); err != nil {
		t.Fatal(err)
	}
	return folder, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func run(t *testing.T, account *syscall.Credential, folder, program string, args ...string) *exec.Cmd {
	t.Helper()
	log := must(os.CreateTemp(folder, "log-"))
	defer log.Close()
	command := exec.CommandContext(context.Background(), program, args...)
	command.Dir, command.Stdout, command.Stderr = folder, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Credential: account, Setpgid: true}
	servicetest.EndWithTest(command, syscall.SIGTERM) // Patroni then stops its PostgreSQL server
	if err := command.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%s: %s", program, text[max(0, len(text)-3000):])
		}
	})
	return command
}

func newMember(t *testing.T, folder, name string, account *syscall.Credential) *member {
	m := &member{t: t, name: name, folder: folder, address: servicetest.FreeAddress(t), restful: servicetest.FreeAddress(t), account: account}
	m.network = servicetest.StartNetwork(t, m.address)
	t.Cleanup(m.kill)
	return m
}

const settingsOfMember = `
scope: torture
name: %[1]s
restapi: {listen: "%[2]s", connect_address: "%[2]s"}
etcd3: {host: "%[3]s"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 1
    retry_timeout: 5
    maximum_lag_on_failover: 1073741824
    synchronous_mode: %[4]t
    postgresql: {use_pg_rewind: false, parameters: {max_connections: 200, wal_keep_size: 256MB}}
  initdb: [{encoding: UTF8}, {locale: C}]
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
postgresql:
  listen: "%[5]s"
  connect_address: "%[6]s"
  data_dir: "%[7]s"
  bin_dir: "%[8]s"
  pgpass: "%[7]s.pass"
  # Shared memory of a killed server would stay in use until the machine starts again.
  parameters: {unix_socket_directories: "", dynamic_shared_memory_type: mmap}
  authentication: {superuser: {username: postgres, password: secret}, replication: {username: replicator, password: secret}}
`

func (m *member) data() string { return filepath.Join(m.folder, m.name) }

func (m *member) start(etcd string, synchronous bool) {
	m.t.Helper()
	bin := strings.TrimSpace(string(must(exec.CommandContext(context.Background(), "../../scripts/postgres-bin").Output())))
	others := servicetest.HostOf(m.t, m.network.Through("tcp://x"))
	file := filepath.Join(m.folder, m.name+".yml")
	text := fmt.Sprintf(settingsOfMember, m.name, m.restful, etcd, synchronous, m.address, others, m.data(), bin)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
	m.command = run(m.t, m.account, m.folder, "patroni", file)
}

func (m *member) awaits(role string) {
	m.t.Helper()
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		answer, err := http.Get("http://" + m.restful + "/" + role)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return
		}
	}
	m.t.Fatalf("the member %s is not %s in time", m.name, role)
}

// kill suspends the server and only then lists the child processes, so no more processes start.
func (m *member) kill() {
	if m.command == nil {
		return
	}
	_ = m.command.Process.Kill()
	text, _ := os.ReadFile(filepath.Join(m.data(), "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	server, err := strconv.Atoi(first)
	if err != nil {
		return
	}
	_ = syscall.Kill(server, syscall.SIGSTOP)
	children, _ := exec.CommandContext(context.Background(), "ps", "--ppid", first, "-o", "pid=").Output()
	for _, field := range append(strings.Fields(string(children)), first) {
		if pid, err := strconv.Atoi(field); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
