package network_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"passerelle/internal/servicetest/network"
)

// echo starts a network in front of a server. The server returns each byte to the client, and then
// sends the byte to a channel.
func echo(t *testing.T) (n *network.Network, c net.Conn, received chan byte) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	received = make(chan byte, 100)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				for p := make([]byte, 1); ; received <- p[0] {
					if _, err := c.Read(p); err != nil {
						return
					}
					_, _ = c.Write(p)
				}
			}()
		}
	}()
	n, err = network.Start(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	address, err := n.Through("tcp://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err = new(net.Dialer).DialContext(context.Background(), "tcp", address[len("tcp://"):])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return n, c, received
}

func say(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := c.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c net.Conn, bytes int) {
	t.Helper()
	if _, err := io.ReadFull(c, make([]byte, bytes)); err != nil {
		t.Fatal(err)
	}
}

// TestTrips: data after a response counts as another trip, and further data before the response
// does not.
func TestTrips(t *testing.T) {
	n, c, received := echo(t)
	for range 3 {
		say(t, c)
		receive(t, c, 1)
		<-received
	}
	n.Behave(network.Manner{HoldsAnswers: true})
	for range 5 {
		say(t, c)
		<-received
	}
	n.Behave(network.Manner{})
	receive(t, c, 5)
	if got := n.Trips(); got != 4 {
		t.Errorf("%d trips, want 4", got)
	}
}

// TestDelay checks that many pieces travel at the same time.
func TestDelay(t *testing.T) {
	const pieces, delay = 20, 20 * time.Millisecond
	n, c, _ := echo(t)
	n.Behave(network.Manner{Delay: delay})
	begun := time.Now()
	for range pieces {
		say(t, c)
	}
	receive(t, c, pieces)
	if took := time.Since(begun); took < 2*delay || took > pieces*delay {
		t.Errorf("it took %v, with a delay of %v each way", took, delay)
	}
}
