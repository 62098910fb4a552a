package httpd_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"passerelle/internal/httpd"
)

// Whoever comes while as many as may be are inside is turned away at once, and
// let in again when one of them has left.
func TestTheDoor(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	door := &httpd.Door{Limit: 2, Full: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }}
	s := start(t, door.Around(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- true
		<-leave
	})), httpd.Options{})
	status := make(chan int)
	visit := func() {
		answer, _ := s.get(t, "/")
		status <- answer.StatusCode
	}
	go visit()
	go visit()
	<-entered
	<-entered
	for range 3 {
		go visit()
		if got := <-status; got != http.StatusServiceUnavailable {
			t.Errorf("with two inside the third got %d", got)
		}
	}
	leave <- true
	<-status
	go visit()
	<-entered
	close(leave)
	for range 2 {
		if got := <-status; got != http.StatusOK {
			t.Errorf("inside one got %d", got)
		}
	}
}

// A request whose client is slow to send or to take does not keep others out.
func TestWhoWaitsForTheClientIsNotInside(t *testing.T) {
	door := &httpd.Door{Limit: 1, Full: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }}
	reading := make(chan bool, 1)
	s := start(t, door.Around(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			reading <- true
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})), httpd.Options{})
	slow, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprint(slow, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na")
	<-reading
	// It has begun to read, but may not have got to where it waits.
	for t.Context().Err() == nil {
		if answer, _ := s.get(t, "/"); answer.StatusCode == http.StatusOK {
			return
		}
	}
}

// A client that takes nothing of an answer is cut off; one that takes some of it
// in time goes on, however long the whole lasts.
func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	const stall = 50 * time.Millisecond
	ended := make(chan error, 1)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for n := 0; n < 64 && err == nil; n++ {
			_, err = w.Write(make([]byte, 1<<20))
		}
		ended <- err
	}), httpd.Options{Stall: stall})
	begun := time.Now()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if err := <-ended; err == nil || time.Since(begun) < stall {
		t.Errorf("it was sent everything, or cut off too early: %v after %v", err, time.Since(begun))
	}
	answer, err := http.Get("http://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); n != 64<<20 || err != nil {
		t.Errorf("one that reads got %d bytes, %v", n, err)
	}
}

// No more connections than may be are served at once; the next is served when one
// of them has ended.
func TestConnectionsAreBounded(t *testing.T) {
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		httpd.Options{Connections: 1, Log: slog.New(slog.DiscardHandler)})
	first, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(first, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := first.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	answered := make(chan bool)
	go func() {
		s.get(t, "/")
		close(answered)
	}()
	select {
	case <-answered:
		t.Error("a second connection was served beside the first")
	case <-time.After(50 * time.Millisecond):
	}
	_ = first.Close()
	<-answered
}
