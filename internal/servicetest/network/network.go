// Package network is a TCP proxy between two programs, for tests. It forwards the data of both
// sides, and counts how often the client waits for a response. It delays data or fails as
// configured.
//
// The package owns the connections through the proxy. It does not interpret the content.
//
// The proxy does not start when it cannot listen. It resets a connection when it cannot connect to
// the target.
package network

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Network is a proxy in front of a host and port. It is safe for concurrent use.
type Network struct {
	target   string
	listener net.Listener
	trips    atomic.Int64

	mu     sync.Mutex
	manner Manner
	// changed is closed when the manner changes.
	changed chan struct{}
	open    map[net.Conn]bool
}

// Manner describes how a network treats the data that it receives. The zero value forwards
// everything.
type Manner struct {
	// Refuse resets new connections.
	Refuse bool
	// Silent forwards nothing in either direction, as after a cut cable. HoldsAnswers forwards the
	// client's data and holds the responses back.
	Silent, HoldsAnswers bool
	// Delay is the travel time of each piece of data.
	Delay time.Duration
	// Trickle forwards one byte of the responses per second.
	Trickle bool
	// Reset cuts off both sides when the server begins to respond. Truncate cuts off both sides
	// after at most this number of bytes of a response.
	Reset    bool
	Truncate int
}

// Start starts a network in front of a host and port. It runs until Close.
func Start(target string) (*Network, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("make a network: %w", err)
	}
	n := &Network{target: target, listener: listener, changed: make(chan struct{}), open: map[net.Conn]bool{}}
	go n.serve()
	return n, nil
}

// Through returns the address with the host and port of the network. Requests to the result reach
// the target through the network.
func (n *Network) Through(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("put a network before %q: %w", address, err)
	}
	u.Host = n.listener.Addr().String()
	return u.String(), nil
}

// Trips returns how often a client has sent data and waited for the response. All data that the
// client sends before a response arrives counts as one trip.
func (n *Network) Trips() int64 { return n.trips.Load() }

// Behave changes the manner. The change also applies to open connections.
func (n *Network) Behave(m Manner) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.manner = m
	close(n.changed)
	n.changed = make(chan struct{})
}

// Close cuts all connections, and refuses new connections.
func (n *Network) Close() {
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
		var waits atomic.Bool
		go n.pass(near, far, n.forth, func() {
			if !waits.Swap(true) {
				n.trips.Add(1)
			}
		})
		answered := func() { waits.Store(false) }
		back := func(p piece, from, to net.Conn) error { return n.back(p, from, to, answered) }
		go n.pass(far, near, back, func() {})
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

// pass forwards pieces until one side ends. Each piece travels for the same time, even when other
// pieces are under way.
func (n *Network) pass(from, to net.Conn, carry func(piece, net.Conn, net.Conn) error, received func()) {
	pieces, gone := make(chan piece, 1024), make(chan struct{})
	go n.deliver(pieces, gone, from, to, carry)
	defer close(pieces)
	for {
		p := make([]byte, 32<<10)
		read, err := from.Read(p)
		if err != nil {
			return
		}
		received()
		select {
		case pieces <- piece{p[:read], time.Now()}:
		case <-gone:
			return
		}
	}
}

type piece struct {
	text []byte
	said time.Time
}

func (n *Network) deliver(pieces <-chan piece, gone chan<- struct{}, from, to net.Conn, carry func(piece, net.Conn, net.Conn) error) {
	defer func() {
		close(gone)
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, c := range []net.Conn{from, to} {
			_ = c.Close()
			delete(n.open, c)
		}
	}()
	for p := range pieces {
		if carry(p, from, to) != nil {
			return
		}
	}
}

func (n *Network) forth(p piece, _, to net.Conn) error {
	n.hold(func(m Manner) bool { return m.Silent })
	m, _ := n.now()
	p.wait(m.Delay)
	_, err := to.Write(p.text)
	return err
}

func (n *Network) back(p piece, from, to net.Conn, answered func()) error {
	n.hold(func(m Manner) bool { return m.Silent || m.HoldsAnswers })
	m, changed := n.now()
	p.wait(m.Delay)
	answered()
	switch {
	case m.Reset:
		reset(from, to)
		return io.ErrUnexpectedEOF
	case m.Truncate > 0:
		_, _ = to.Write(p.text[:min(m.Truncate, len(p.text))])
		return io.ErrUnexpectedEOF
	case m.Trickle:
		return trickle(p.text, to, changed)
	}
	_, err := to.Write(p.text)
	return err
}

func (p piece) wait(delay time.Duration) {
	if rest := time.Until(p.said.Add(delay)); rest > 0 {
		<-time.After(rest)
	}
}

func (n *Network) hold(such func(Manner) bool) {
	for {
		m, changed := n.now()
		if !such(m) {
			return
		}
		<-changed
	}
}

// trickle writes one byte per second. When the manner changes, it writes the rest immediately.
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
