package httpd

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// idlers holds the connections that wait for a request. At the limit of connections, it closes the
// connection that has waited longest. Silent clients therefore do not keep other clients out. An
// HTTP/2 connection counts as idle before its last response is sent. idlers therefore leaves idle
// HTTP/2 connections to the idle timeout.
type idlers struct {
	most int

	mu sync.Mutex
	// open counts all connections except those in gone. This type has closed the connections in
	// gone, but the server has not reported their end yet.
	open    int
	longest *list.List // values are of type net.Conn; the longest waiting comes first
	places  map[net.Conn]*list.Element
	gone    map[net.Conn]bool
}

func newIdlers(most int) *idlers {
	return &idlers{most: most, longest: list.New(), places: map[net.Conn]*list.Element{}, gone: map[net.Conn]bool{}}
}

// note receives each change of a connection's state from the server. If a connection must make
// room, note closes it. It closes a TLS connection at the TCP layer, so the goroutine that accepts
// connections need not wait until TLS has sent its closing message.
func (i *idlers) note(c net.Conn, state http.ConnState) {
	goes := i.after(c, state)
	if over, isTLS := goes.(*tls.Conn); isTLS {
		goes = over.NetConn()
	}
	if goes != nil {
		_ = goes.Close() // an error means that the client has closed the connection
	}
}

// after returns the connection to close after a change, or nil. It never returns the connection
// that was just opened.
func (i *idlers) after(c net.Conn, state http.ConnState) net.Conn {
	var goes net.Conn
	i.mu.Lock()
	defer i.mu.Unlock()
	i.leave(c)
	ends := state == http.StateClosed || state == http.StateHijacked
	switch gone := i.gone[c]; {
	case gone && ends:
		delete(i.gone, c)
	case gone:
	case ends:
		i.open--
	case state == http.StateNew:
		i.open++
		goes = i.choose()
		i.places[c] = i.longest.PushBack(c)
	case state == http.StateIdle && !multiplexed(c):
		i.places[c] = i.longest.PushBack(c)
		goes = i.choose()
	}
	return goes
}

// choose returns the connection that has waited longest, if one connection must be closed.
func (i *idlers) choose() net.Conn {
	first := i.longest.Front()
	if i.open < i.most || first == nil {
		return nil
	}
	goes, _ := first.Value.(net.Conn)
	i.leave(goes)
	i.gone[goes] = true
	i.open--
	return goes
}

func (i *idlers) leave(c net.Conn) {
	if place := i.places[c]; place != nil {
		i.longest.Remove(place)
		delete(i.places, c)
	}
}

func multiplexed(c net.Conn) bool {
	over, isTLS := c.(*tls.Conn)
	return isTLS && over.ConnectionState().NegotiatedProtocol == "h2"
}
