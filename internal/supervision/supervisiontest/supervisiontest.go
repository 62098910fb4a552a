// Package supervisiontest replaces systemd in tests. It provides the socket to which a service
// sends its messages.
//
// It owns the socket and the environment variables of systemd. It does not decide which messages
// are right. A test fails when no message arrives within a minute.
package supervisiontest

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// maxMessage is larger than any message of the service, in bytes.
const maxMessage = 100

// Manager receives the messages of a service.
type Manager struct {
	t      *testing.T
	socket *net.UnixConn
}

// Listen sets the environment variables that systemd sets for a service with a watchdog. The
// argument is the watchdog's interval in microseconds. An empty interval means that there is no
// watchdog.
func Listen(t *testing.T, watchdog string) Manager {
	t.Helper()
	address := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	t.Setenv("NOTIFY_SOCKET", address)
	t.Setenv("WATCHDOG_USEC", watchdog)
	return Manager{t: t, socket: socket}
}

// Want receives messages and compares each with an expected one.
func (m Manager) Want(messages ...string) {
	m.t.Helper()
	for i, want := range messages {
		if got := m.receive(); got != want {
			m.t.Errorf("message %d is %q, want %q", i, got, want)
		}
	}
}

// WantNone fails if the service has sent a message that no test received yet. It does not wait: it
// sends a message to the socket itself, and this message must be the next one.
func (m Manager) WantNone() {
	m.t.Helper()
	own, err := (&net.Dialer{}).DialContext(m.t.Context(), "unixgram", m.socket.LocalAddr().String())
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	const marker = "nothing before this"
	if _, err := own.Write([]byte(marker)); err != nil {
		m.t.Fatal(err)
	}
	m.Want(marker)
}

// WantLast receives the last message of a service. It skips earlier reports that the service is
// alive.
func (m Manager) WantLast(want string) {
	m.t.Helper()
	last := m.receive()
	for last == "WATCHDOG=1" {
		last = m.receive()
	}
	if last != want {
		m.t.Errorf("the last message is %q, want %q", last, want)
	}
}

func (m Manager) receive() string {
	m.t.Helper()
	message := make([]byte, maxMessage)
	_ = m.socket.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := m.socket.Read(message)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(message[:n])
}
