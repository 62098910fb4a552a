package main

import (
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
		name  string
		act   act
		trips int
	}{
		{"create payment", act{do: (*customer).order}, 3},
		{"get payment", act{[]step{(*customer).order}, (*customer).fetchPage}, 2},
		{"validate up to the redirect", act{[]step{(*customer).order}, (*customer).validate}, 8},
	} {
		all = append(all, row{
			name:   fmt.Sprintf("%s behind %v of round trip, one client, %s", a.name, roundTrip, postgres),
			beyond: true, budget: float64((time.Duration(a.trips+1) * roundTrip).Milliseconds()), unit: "ms",
			limit: fmt.Sprintf("itself beside the server; %d round trips", a.trips),
			open: func(ctx context.Context, p *place) (side, side, error) {
				return p.farBesideNear(ctx, func(w *world) side { return p.waiting(w, a.act) })
			},
		}, row{
			name: fmt.Sprintf("%s behind %v of round trip, 64 clients, %s", a.name, roundTrip, postgres), goal: 0.9,
			limit: "itself beside the server",
			open: func(ctx context.Context, p *place) (side, side, error) {
				return p.farBesideNear(ctx, func(w *world) side { return p.acting(w, w.base, a.act) })
			},
		})
	}
	return all
}

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
func (p *place) farBesideNear(ctx context.Context, of func(*world) side) (side, side, error) {
	return p.both(func(far bool) (side, error) {
		database, err := p.database(ctx, postgres)
		if err != nil {
			return nil, err
		}
		if far {
			if database, err = p.distant(ctx, database); err != nil {
				return nil, err
			}
		}
		w, err := p.payingService(ctx, postgres, database)
		if err != nil {
			return nil, err
		}
		return of(w), nil
	})
}

// distant is the address of a server by a way on which every message takes half of
// roundTrip, in either direction, however many are under way.
func (p *place) distant(ctx context.Context, database string) (string, error) {
	address, err := url.Parse(database)
	if err != nil {
		return "", errors.New("the address of the database is not a URL")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	p.later(listener.Close)
	go func(server string) {
		for near, err := listener.Accept(); err == nil; near, err = listener.Accept() {
			go connect(ctx, near, server)
		}
	}(address.Host)
	address.Host = listener.Addr().String()
	query := address.Query()
	query.Set("pool_max_conns", strconv.Itoa(distantConns))
	address.RawQuery = query.Encode()
	return address.String(), nil
}

// connect passes on what one side says until it ends, and then ends both.
func connect(ctx context.Context, near net.Conn, server string) {
	far, err := new(net.Dialer).DialContext(ctx, "tcp", server)
	if err != nil {
		_ = near.Close()
		return
	}
	go carryLate(ctx, near, far)
	carryLate(ctx, far, near)
}

// message is what was read at once, and when it arrives.
type message struct {
	bytes []byte
	due   time.Time
}

func carryLate(ctx context.Context, from io.ReadCloser, to io.WriteCloser) {
	under := make(chan message, 1024)
	go func() {
		for m := range under {
			pause(ctx, time.Until(m.due))
			_, _ = to.Write(m.bytes) // the reader finds out
		}
		_, _ = to.Close(), from.Close()
	}()
	defer close(under)
	for {
		piece := make([]byte, 16<<10)
		n, err := from.Read(piece)
		if err != nil {
			return
		}
		under <- message{piece[:n], time.Now().Add(roundTrip / 2)}
	}
}
