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

// roundTrip is the total travel time of a message to a remote database and of its response.
const roundTrip = 2 * time.Millisecond

// distantConns is the limit of connections through a relay. A connection is busy while a message
// travels, so the default number would limit 64 clients.
const distantConns = 64

// distances returns the rows about PostgreSQL behind a network. They measure the throughput of many
// clients, and how long one client waits. That time depends on the round trips of a call.
func distances() []row {
	var all []row
	for _, a := range []struct {
		name    string
		act     act
		trips   int
		clients []int // a bank accepts fewer concurrent calls than a crowd would make
	}{
		{"create payment", act{do: (*customer).order}, 2, []int{manyClients, crowd}},
		{"get payment", act{[]step{(*customer).order}, (*customer).fetchPage}, 2, []int{manyClients, crowd}},
		{"validate up to the redirect", act{[]step{(*customer).order}, (*customer).validate}, 8, []int{manyClients}},
	} {
		all = append(all, row{
			name:   fmt.Sprintf("%s behind %v of round trip, one client, %s", a.name, roundTrip, postgres),
			beyond: true, budget: float64((time.Duration(a.trips+1) * roundTrip).Milliseconds()), unit: "ms",
			limit: fmt.Sprintf("itself through the same relay without delay; %d round trips", a.trips),
			open: func(ctx context.Context, p *place) (side, side, error) {
				return p.farBesideNear(ctx, func(w *instance) side { return p.waiting(w, a.act) })
			},
		})
		for _, clients := range a.clients {
			all = append(all, row{
				name: fmt.Sprintf("%s behind %v of round trip, %d clients, %s", a.name, roundTrip, clients, postgres), goal: 0.9,
				limit: "itself through the same relay without delay",
				open: func(ctx context.Context, p *place) (side, side, error) {
					return p.farBesideNear(ctx, func(w *instance) side { return p.acting(w, w.base, a.act, clients) })
				},
			})
		}
	}
	return all
}

// crowd is a larger number of clients. While some clients wait for the network, others are served.
// With enough clients, the delay therefore costs no throughput.
const crowd = 256

// waitsOf is the number of calls in a measurement of one client, at scale 1.
const waitsOf = 200

// waiting returns a side that measures how long one client waits for an act.
func (p *place) waiting(w *instance, a act) side {
	c := newCaller(w.token, 1)
	return func(ctx context.Context) (measured, error) {
		ready, err := a.ready(ctx, w, p.amount(waitsOf))
		if err != nil {
			return measured{}, err
		}
		return waited(ctx, len(ready), func(ctx context.Context, n int) error { return a.do(&ready[n-1], ctx, c, w.base) })
	}
}

// farBesideNear makes the same measurement with a remote and with a local server. Both use a relay,
// so that the comparison does not contain the cost of the relay.
func (p *place) farBesideNear(ctx context.Context, of func(*instance) side) (side, side, error) {
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

// relayed returns an address at which a server is reached with a delay for each message in both
// directions.
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

// relay forwards the messages of all connections after the same delay. They are due in the order of
// their arrival, so one queue is enough.
type relay struct {
	delay time.Duration
	queue chan message
}

// message is the result of one read, with its receiver and the time at which it is due. A message
// without bytes ends the connection.
type message struct {
	to    net.Conn
	bytes []byte
	due   time.Time
}

func (r relay) write(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case m := <-r.queue:
			m.deliver(ctx)
		case <-ctx.Done():
		}
	}
}

// deliver waits until the message is due and writes it. It ignores an error, because the reading
// side notices a failure.
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

// connect forwards messages in both directions until the server's side ends.
func (r relay) connect(ctx context.Context, near net.Conn, server string) {
	far, err := new(net.Dialer).DialContext(ctx, "tcp", server)
	if err != nil {
		_ = near.Close()
		return
	}
	go r.read(ctx, near, far)
	r.read(ctx, far, near)
}

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
