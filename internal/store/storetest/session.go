package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// sessions contains the PostgreSQL sessions that a connection of this program has left, by the
// settings of their startup message. A new session is a new process of the server that first loads
// the schema, which takes longer than most tests.
var sessions struct {
	sync.Mutex
	kept  map[string][]*session
	count int
}

// keptSessions limits the kept sessions of one program. The server of the tests accepts 300 in all.
const keptSessions = 60

// session is an established session with what the server sent when it began.
type session struct {
	net.Conn
	startup  string // its settings
	greeting []byte
}

// Dial connects to a server. On the server at PASSERELLE_TEST_POSTGRES, the connection gets a kept
// session with the same settings if there is one, and leaves its session when it closes. The server
// resets the session in between, so a connection finds what a new session would have.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if !isTestServer(address) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	conn := &connection{dial: func() (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, network, address) }}
	if !anyKept() {
		return conn, conn.connect()
	}
	return conn, nil
}

func isTestServer(address string) bool {
	server, err := url.Parse(os.Getenv("PASSERELLE_TEST_POSTGRES"))
	return err == nil && server.Host == address
}

// connection is a connection that reaches its session with the first message, which contains the
// settings of the session.
type connection struct {
	net.Conn // nil before the first message if there are kept sessions
	dial     func() (net.Conn, error)
	deadline time.Time // the deadline that was set without a connection

	started  bool
	keep     bool // the session can be kept
	session  *session
	unread   []byte // the rest of a kept session's greeting
	greeted  bool   // the server has accepted the session
	finished bool   // the program has sent its last message
}

func (c *connection) connect() (err error) {
	if c.Conn == nil {
		c.Conn, err = c.dial()
	}
	return err
}

func (c *connection) Write(b []byte) (int, error) {
	switch {
	case !c.started:
		c.started = true
		return c.start(b)
	case c.keep && c.greeted && bytes.Equal(b, terminate):
		c.finished = true
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// start finds a session for a startup message, or begins a new one.
func (c *connection) start(b []byte) (int, error) {
	settings, ok := startupSettings(b)
	if ok {
		c.session, c.keep = takeSession(settings), true
	}
	if c.session != nil {
		if c.Conn != nil {
			_ = c.Conn.Close() // no message was sent
		}
		c.Conn, c.unread, c.greeted = c.session.Conn, c.session.greeting, true
		return len(b), c.Conn.SetDeadline(c.deadline)
	}
	if err := c.connect(); err != nil {
		return 0, err
	}
	c.session = &session{Conn: c.Conn, startup: settings}
	if err := c.Conn.SetDeadline(c.deadline); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *connection) Read(b []byte) (int, error) {
	if len(c.unread) > 0 {
		n := copy(b, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	if c.finished { // a program that still reads waits for the end of the session
		c.finished, c.keep = false, false
		if _, err := c.Conn.Write(terminate); err != nil {
			return 0, err
		}
	}
	if c.Conn == nil {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(b)
	if c.keep && !c.greeted {
		c.session.greeting = append(c.session.greeting, b[:n]...)
		c.greeted = bytes.HasSuffix(c.session.greeting, idle)
	}
	return n, err
}

func (c *connection) Close() error {
	if c.Conn == nil {
		return nil
	}
	if c.finished {
		c.finished = false
		if c.session.reset() == nil && keepSession(c.session) {
			c.Conn = nil
			return nil
		}
		_, _ = c.Conn.Write(terminate) // as the program did
	}
	return c.Conn.Close()
}

func (c *connection) SetDeadline(t time.Time) error {
	if c.deadline = t; c.Conn == nil {
		return nil
	}
	return c.Conn.SetDeadline(t)
}

func (c *connection) SetReadDeadline(t time.Time) error {
	if c.Conn == nil {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *connection) SetWriteDeadline(t time.Time) error {
	if c.Conn == nil {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *connection) LocalAddr() net.Addr {
	if c.Conn == nil {
		return &net.TCPAddr{}
	}
	return c.Conn.LocalAddr()
}

func (c *connection) RemoteAddr() net.Addr {
	if c.Conn == nil {
		return &net.TCPAddr{}
	}
	return c.Conn.RemoteAddr()
}

// Messages of PostgreSQL's protocol 3.0, section "Message Formats" of its documentation.
var (
	terminate = []byte{'X', 0, 0, 0, 4}
	idle      = []byte{'Z', 0, 0, 0, 5, 'I'} // ready for a query, outside a transaction
	discard   = append([]byte{'Q', 0, 0, 0, 16}, "DISCARD ALL\x00"...)
)

// startupSettings returns the settings of a startup message in a fixed order, because pgx sends
// them in random order. It reports false for another message, for example a cancellation.
func startupSettings(message []byte) (string, bool) {
	const version = 3 << 16
	if len(message) < 8 || binary.BigEndian.Uint32(message[4:])>>16 != version>>16 {
		return "", false
	}
	fields := strings.Split(strings.TrimRight(string(message[8:]), "\x00"), "\x00")
	settings := make([]string, 0, len(fields)/2)
	for pair := range slices.Chunk(fields, 2) {
		settings = append(settings, strings.Join(pair, "="))
	}
	slices.Sort(settings)
	return strings.Join(settings, "\x00"), true
}

func anyKept() bool {
	sessions.Lock()
	defer sessions.Unlock()
	return sessions.count > 0
}

// takeSession returns a kept session that the server has not ended, or nil.
func takeSession(settings string) *session {
	sessions.Lock()
	defer sessions.Unlock()
	for kept := sessions.kept[settings]; len(kept) > 0; kept = sessions.kept[settings] {
		s := kept[len(kept)-1]
		sessions.kept[settings] = kept[:len(kept)-1]
		sessions.count--
		if s.quiet() {
			return s
		}
		_ = s.Close()
	}
	return nil
}

func keepSession(s *session) bool {
	sessions.Lock()
	defer sessions.Unlock()
	if sessions.count >= keptSessions {
		return false
	}
	if sessions.kept == nil {
		sessions.kept = map[string][]*session{}
	}
	sessions.kept[s.startup] = append(sessions.kept[s.startup], s)
	sessions.count++
	return true
}

// quiet reports whether the session is open and the server has sent nothing.
func (s *session) quiet() bool {
	raw, err := s.Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return false
	}
	var received error
	err = raw.Read(func(fd uintptr) bool {
		_, _, received = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return err == nil && errors.Is(received, syscall.EAGAIN)
}

var errNotReset = errors.New("the server did not reset the session")

// resetLimit is the longest time that a reset may take.
const resetLimit = 2 * time.Second

// reset removes everything that a program changed in the session. It fails in a transaction.
func (s *session) reset() error {
	if err := s.SetDeadline(time.Now().Add(resetLimit)); err != nil {
		return err
	}
	if _, err := s.Write(discard); err != nil {
		return err
	}
	for head := make([]byte, 5); ; {
		if _, err := io.ReadFull(s, head); err != nil {
			return err
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(s, body); err != nil {
			return err
		}
		switch {
		case head[0] == 'Z' && body[0] == 'I':
			return s.SetDeadline(time.Time{})
		case !slices.Contains([]byte{'C', 'S', 'N'}, head[0]), head[0] == 'C' && string(body) != "DISCARD ALL\x00":
			return errNotReset
		}
	}
}
