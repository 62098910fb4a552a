package servicetest

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Network is what lies between a program and one it speaks to: it passes on all
// that either says, or misbehaves as it is told.
type Network struct {
	t        testing.TB
	target   string
	listener net.Listener

	mu     sync.Mutex
	manner Manner
	// changed is closed when the manner is another one.
	changed chan struct{}
	open    map[net.Conn]bool
}

// Manner is how a network treats what passes through it. The zero value passes on
// everything.
type Manner struct {
	// Refuse resets connections when they come.
	Refuse bool
	// Silent passes on nothing, either way, as if a cable was cut; Deaf only what
	// the one who connected says, and no answer.
	Silent, Deaf bool
	// Delay is how long each piece is on its way.
	Delay time.Duration
	// Trickle passes on answers a byte a second.
	Trickle bool
	// Reset cuts both sides off once the other one begins to answer, and Truncate
	// after so many bytes of an answer.
	Reset    bool
	Truncate int
}

// StartNetwork makes a network before a host and port, until the test ends.
func StartNetwork(t testing.TB, target string) *Network {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("make a network: %v", err)
	}
	n := &Network{t: t, target: target, listener: listener, changed: make(chan struct{}), open: map[net.Conn]bool{}}
	go n.serve()
	t.Cleanup(n.close)
	return n
}

// Through is the address of the target by way of the network.
func (n *Network) Through(address string) string {
	n.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		n.t.Fatalf("put a network before %q: %v", address, err)
	}
	u.Host = n.listener.Addr().String()
	return u.String()
}

// HostOf is the host and port of an address.
func HostOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("find the host of %q: %v", address, err)
	}
	return u.Host
}

// Behave changes the manner, for connections that are open as well.
func (n *Network) Behave(m Manner) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.manner = m
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *Network) close() {
	_ = n.listener.Close()
	n.Behave(Manner{})
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.open {
		_ = c.Close()
	}
}

func (n *Network) now() (Manner, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.manner, n.changed
}

func (n *Network) serve() {
	for {
		near, err := n.listener.Accept()
		if err != nil {
			return
		}
		if m, _ := n.now(); m.Refuse {
			reset(near)
			continue
		}
		far, err := new(net.Dialer).DialContext(context.Background(), "tcp", n.target)
		if err != nil {
			reset(near)
			continue
		}
		n.note(near, far)
		go n.pass(near, far, n.forth)
		go n.pass(far, near, n.back)
	}
}

func (n *Network) note(connections ...net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range connections {
		n.open[c] = true
	}
}

func reset(connections ...net.Conn) {
	for _, c := range connections {
		if tcp, is := c.(*net.TCPConn); is {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// pass moves pieces from one side to the other until one of them ends.
func (n *Network) pass(from, to net.Conn, carry func(p []byte, from, to net.Conn) error) {
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, c := range []net.Conn{from, to} {
			_ = c.Close()
			delete(n.open, c)
		}
	}()
	p := make([]byte, 32<<10)
	for {
		read, err := from.Read(p)
		if err == nil {
			err = carry(p[:read], from, to)
		}
		if err != nil {
			return
		}
	}
}

// forth carries what the one who connected says.
func (n *Network) forth(p []byte, _, to net.Conn) error {
	n.hold(func(m Manner) bool { return m.Silent })
	m, _ := n.now()
	<-time.After(m.Delay)
	_, err := to.Write(p)
	return err
}

// back carries answers.
func (n *Network) back(p []byte, from, to net.Conn) error {
	n.hold(func(m Manner) bool { return m.Silent || m.Deaf })
	m, changed := n.now()
	<-time.After(m.Delay)
	switch {
	case m.Reset:
		reset(from, to)
		return io.ErrUnexpectedEOF
	case m.Truncate > 0:
		_, _ = to.Write(p[:min(m.Truncate, len(p))])
		return io.ErrUnexpectedEOF
	case m.Trickle:
		return trickle(p, to, changed)
	}
	_, err := to.Write(p)
	return err
}

// hold waits while the manner is such.
func (n *Network) hold(such func(Manner) bool) {
	for {
		m, changed := n.now()
		if !such(m) {
			return
		}
		<-changed
	}
}

// trickle writes a byte a second, and the rest when the manner changes.
func trickle(p []byte, to net.Conn, changed <-chan struct{}) error {
	for len(p) > 0 {
		size := 1
		select {
		case <-changed:
			size = len(p)
		case <-time.After(time.Second):
		}
		if _, err := to.Write(p[:size]); err != nil {
			return err
		}
		p = p[size:]
	}
	return nil
}
