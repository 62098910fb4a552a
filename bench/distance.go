package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"
)

// roundTrip is how long a message to the database and its answer are on their way, in
// the rows about a database that is a network away.
const roundTrip = 2 * time.Millisecond

// distantConns is how many connections the service has to a database that is a network away:
// each is taken while a message is on its way, so that the default would bound what 64 clients
// get done.
const distantConns = 64

// distances are the rows about PostgreSQL behind a network: what a client waits, by how
// often a call may wait for the database, and how much many clients get done.
func distances() []row {
	var all []row
	for _, a := range []struct {
		name    string
		act     act
		trips   int
		clients []int // a bank takes fewer calls at once than a crowd makes
	}{
		{"create payment", act{do: (*customer).order}, 3, []int{manyClients, crowd}},
		{"get payment", act{[]step{(*customer).order}, (*customer).fetchPage}, 2, []int{manyClients, crowd}},
		{"validate up to the redirect", act{[]step{(*customer).order}, (*customer).validate}, 8, []int{manyClients}},
	} {
		all = append(all, row{
			name:   fmt.Sprintf("%s behind %v of round trip, one client, %s", a.name, roundTrip, postgres),
			beyond: true, budget: float64((time.Duration(a.trips+1) * roundTrip).Milliseconds()), unit: "ms",
			limit: fmt.Sprintf("itself through the same relay without delay; %d round trips", a.trips),
			open: func(ctx context.Context, p *place) (side, side, error) {
				return p.farBesideNear(ctx, func(w *world) side { return p.waiting(w, a.act) })
			},
		})
		for _, clients := range a.clients {
			all = append(all, row{
				name: fmt.Sprintf("%s behind %v of round trip, %d clients, %s", a.name, roundTrip, clients, postgres), goal: 0.9,
				limit: "itself through the same relay without delay",
				open: func(ctx context.Context, p *place) (side, side, error) {
					return p.farBesideNear(ctx, func(w *world) side { return p.acting(w, w.base, a.act, clients) })
				},
			})
		}
	}
	return all
}

// crowd is enough clients that some are served while the others wait for the network. Each of
// n clients waits for its own answer, so they get at most n done in the time of a call: where
// 64 are served 4,000 times a second, 6 ms more leave 0.73 of that, whatever the service does.
const crowd = 256

// waitsOf is how many calls one client waits for in a measurement.
const waitsOf = 200

// waiting is how long one client waits for an act.
func (p *place) waiting(w *world, a act) side {
	c := newCaller(w.token, 1)
	return func(ctx context.Context) (measured, error) {
		ready, err := a.ready(ctx, w, p.amount(waitsOf))
		if err != nil {
			return measured{}, err
		}
		return waited(ctx, len(ready), func(ctx context.Context, n int) error { return a.do(&ready[n-1], ctx, c, w.base) })
	}
}

// farBesideNear measures the same with a server that is far away and with one that is not.
// Both speak through a relay and have as many connections, so that the ratio shows what the
// distance costs, and not what the relay does.
func (p *place) farBesideNear(ctx context.Context, of func(*world) side) (side, side, error) {
	return p.both(func(far bool) (side, error) {
		database, err := p.database(ctx, postgres)
		if err != nil {
			return nil, err
		}
		delay := time.Duration(0)
		if far {
			delay = roundTrip / 2
		}
		if database, err = p.relayed(ctx, database, delay); err != nil {
			return nil, err
		}
		w, err := p.payingService(ctx, postgres, database)
		if err != nil {
			return nil, err
		}
		return of(w), nil
	})
}

// relayed is the address of a server by a way on which every message takes a delay, in
// either direction, however many are under way.
func (p *place) relayed(ctx context.Context, database string, delay time.Duration) (string, error) {
	address, err := url.Parse(database)
	if err != nil {
		return "", errors.New("the address of the database is not a URL")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	p.later(listener.Close)
	r := relay{delay, make(chan message, 4096)}
	go r.write(ctx)
	go func(server string) {
		for near, err := listener.Accept(); err == nil; near, err = listener.Accept() {
			go r.connect(ctx, near, server)
		}
	}(address.Host)
	address.Host = listener.Addr().String()
	query := address.Query()
	query.Set("pool_max_conns", strconv.Itoa(distantConns))
	address.RawQuery = query.Encode()
	return address.String(), nil
}

// relay passes on what two sides say, each message a delay after it was said. The delay is
// one for all, so messages of all connections are due in the order in which they came: one
// queue and one timer serve them, and the relay takes little from what it measures.
type relay struct {
	delay time.Duration
	queue chan message
}

// message is what was read at once, to whom it goes, and when it arrives. One without bytes
// ends the connection.
type message struct {
	to    net.Conn
	bytes []byte
	due   time.Time
}

// write writes messages as they are due.
func (r relay) write(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case m := <-r.queue:
			m.deliver(ctx)
		case <-ctx.Done():
		}
	}
}

// deliver waits until the message is due and writes it. What fails is noticed by the side
// that reads.
func (m message) deliver(ctx context.Context) {
	if early := time.Until(m.due); early > 0 {
		pause(ctx, early)
	}
	if len(m.bytes) == 0 {
		_ = m.to.Close()
		return
	}
	_, _ = m.to.Write(m.bytes)
}

// connect passes on what either side says until both have ended.
func (r relay) connect(ctx context.Context, near net.Conn, server string) {
	far, err := new(net.Dialer).DialContext(ctx, "tcp", server)
	if err != nil {
		_ = near.Close()
		return
	}
	go r.read(ctx, near, far)
	r.read(ctx, far, near)
}

// read takes what one side says until it ends.
func (r relay) read(ctx context.Context, from io.Reader, to net.Conn) {
	piece := make([]byte, 16<<10)
	for {
		n, err := from.Read(piece)
		select {
		case r.queue <- message{to, bytes.Clone(piece[:n]), time.Now().Add(r.delay)}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
