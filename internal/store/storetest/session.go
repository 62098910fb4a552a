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

// sessions contains PostgreSQL sessions that are still open, although the connections of this
// program that used them are closed. The key is the settings of the startup message. For a new
// session, the server starts a process that first loads the schema. This takes longer than most
// tests.
var sessions struct {
	sync.Mutex
	kept  map[string][]*session
	count int
}

// keptSessions limits the kept sessions of one program. The server of the tests accepts 300 in all.
const keptSessions = 60

// session is an established session, with the bytes that the server sent at its beginning.
type session struct {
	net.Conn
	startup  string // its settings
	greeting []byte
}

// Dial connects to a server. On the server at PASSERELLE_TEST_POSTGRES, the connection gets a kept
// session with the same settings if there is one. When the connection closes, its session stays
// open for a later connection if possible. The server resets the session in between, so that it is
// like a new session.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := func() (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, network, address) }
	if !isTestServer(address) {
		return dial()
	}
	conn := &connection{started: make(chan struct{}), dial: dial}
	if !anyKept() {
		return conn, conn.connect()
	}
	return conn, nil
}

func isTestServer(address string) bool {
	server, err := url.Parse(os.Getenv("PASSERELLE_TEST_POSTGRES"))
	return err == nil && server.Host == address
}

// connection finds its session when the program sends the first message, because this message
// contains the settings of the session. pgx may read from a second goroutine when a write takes
// long.
type connection struct {
	dial     func() (net.Conn, error)
	started  chan struct{} // closed when the first message was sent, or the connection was closed
	deadline time.Time     // the deadline before the first message

	sync.Mutex
	net      net.Conn // nil before the first message if there are kept sessions, and after Close
	session  *session // nil if the session cannot be kept
	unread   []byte   // the rest of a kept session's greeting
	greeted  bool     // the server has accepted the session
	finished bool     // the program has sent its last message
	reads    int      // the reads that wait for the server
}

func (c *connection) connect() error {
	if c.net != nil {
		return nil
	}
	var err error
	c.net, err = c.dial()
	return err
}

// Write does not lock the connection while it writes: the server may read only after the program
// has read.
func (c *connection) Write(b []byte) (int, error) {
	server, err := c.beforeWrite(b)
	switch {
	case err != nil:
		return 0, err
	case server == nil:
		return len(b), nil
	}
	return server.Write(b)
}

// beforeWrite returns the connection to write to, or nil for a message that the server must not
// get.
func (c *connection) beforeWrite(b []byte) (net.Conn, error) {
	c.Lock()
	defer c.Unlock()
	select {
	case <-c.started:
	default:
		defer close(c.started)
		if startup := startupSettings(b); startup != "" && c.take(startup) {
			return nil, nil //nolint:nilnil // the session has begun already
		}
	}
	if c.session != nil && c.greeted && bytes.Equal(b, terminate) {
		c.finished = true
		return nil, nil //nolint:nilnil // Close decides whether the session ends
	}
	err := c.connect()
	return c.net, err
}

// take reports whether the connection found a kept session with the same settings. Otherwise its
// own session can be kept later.
func (c *connection) take(startup string) bool {
	if kept := takeSession(startup); kept != nil {
		if c.net != nil {
			_ = c.net.Close() // no message was sent
		}
		c.net, c.session, c.unread, c.greeted = kept.Conn, kept, kept.greeting, true
		return c.net.SetDeadline(c.deadline) == nil
	}
	if c.connect() == nil {
		c.session = &session{Conn: c.net, startup: startup}
	}
	return false
}

func (c *connection) Read(b []byte) (int, error) {
	<-c.started
	server, n, err := c.beforeRead(b)
	if n > 0 || err != nil {
		return n, err
	}
	n, err = server.Read(b)
	c.Lock()
	defer c.Unlock()
	c.reads--
	if c.session != nil && !c.greeted {
		c.session.greeting = append(c.session.greeting, b[:n]...)
		c.greeted = bytes.HasSuffix(c.session.greeting, idle)
	}
	return n, err
}

// beforeRead reads the greeting of a kept session, or returns the connection to read from. A
// program that reads after its last message waits for the end of the session.
func (c *connection) beforeRead(b []byte) (net.Conn, int, error) {
	c.Lock()
	defer c.Unlock()
	switch {
	case c.net == nil:
		return nil, 0, net.ErrClosed
	case len(c.unread) > 0:
		n := copy(b, c.unread)
		c.unread = c.unread[n:]
		return nil, n, nil
	case c.finished:
		c.finished, c.session = false, nil
		if _, err := c.net.Write(terminate); err != nil {
			return nil, 0, err
		}
	}
	c.reads++
	return c.net, 0, nil
}

func (c *connection) Close() error {
	c.Lock()
	defer c.Unlock()
	select {
	case <-c.started:
	default:
		close(c.started)
	}
	server := c.net
	if c.net = nil; server == nil {
		return nil
	}
	if c.finished {
		if c.reads == 0 && c.session.reset() == nil && keepSession(c.session) {
			return nil
		}
		_, _ = server.Write(terminate) // as the program did
	}
	return server.Close()
}

func (c *connection) SetDeadline(t time.Time) error {
	return c.limit(t, net.Conn.SetDeadline)
}

func (c *connection) SetReadDeadline(t time.Time) error {
	return c.limit(t, net.Conn.SetReadDeadline)
}

func (c *connection) SetWriteDeadline(t time.Time) error {
	return c.limit(t, net.Conn.SetWriteDeadline)
}

func (c *connection) limit(t time.Time, set func(net.Conn, time.Time) error) error {
	c.Lock()
	defer c.Unlock()
	c.deadline = t
	if c.net == nil {
		return nil
	}
	return set(c.net, t)
}

func (c *connection) LocalAddr() net.Addr { return c.address(net.Conn.LocalAddr) }

func (c *connection) RemoteAddr() net.Addr { return c.address(net.Conn.RemoteAddr) }

func (c *connection) address(of func(net.Conn) net.Addr) net.Addr {
	c.Lock()
	defer c.Unlock()
	if c.net == nil {
		return &net.TCPAddr{}
	}
	return of(c.net)
}

// Messages of PostgreSQL's protocol 3.0, section "Message Formats" of its documentation.
var (
	terminate = []byte{'X', 0, 0, 0, 4}
	idle      = []byte{'Z', 0, 0, 0, 5, 'I'} // ready for a query, outside a transaction
	discard   = append([]byte{'Q', 0, 0, 0, 16}, "DISCARD ALL\x00"...)
)

// startupSettings returns the settings of a startup message in a fixed order, because pgx sends
// them in random order. It returns an empty text for another message, for example a cancellation.
func startupSettings(message []byte) string {
	const version = 3 << 16
	if len(message) < 8 || binary.BigEndian.Uint32(message[4:])>>16 != version>>16 {
		return ""
	}
	fields := strings.Split(strings.TrimRight(string(message[8:]), "\x00"), "\x00")
	settings := make([]string, 0, len(fields)/2)
	for pair := range slices.Chunk(fields, 2) {
		settings = append(settings, strings.Join(pair, "="))
	}
	slices.Sort(settings)
	return strings.Join(settings, "\x00")
}

func anyKept() bool {
	sessions.Lock()
	defer sessions.Unlock()
	return sessions.count > 0
}

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
	tcp, isTCP := s.Conn.(*net.TCPConn)
	if !isTCP {
		return false
	}
	raw, err := tcp.SyscallConn()
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
