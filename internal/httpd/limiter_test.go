package httpd_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"passerelle/internal/httpd"
)

var errFull = errors.New("full")

func refuse(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

// While the largest allowed number of requests is running, the limiter refuses other requests
// immediately.
func TestLimiter(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	limiter := &httpd.Limiter{Limit: 2, Full: errFull, Refuse: refuse}
	s := start(t, limiter.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- true
		<-leave
	})), httpd.Options{})
	status := make(chan int)
	call := func() {
		answer, _ := s.get(t, "/")
		status <- answer.StatusCode
	}
	go call()
	go call()
	<-entered
	<-entered
	for range 3 {
		go call()
		if got := <-status; got != http.StatusServiceUnavailable {
			t.Errorf("with two inside the third got %d", got)
		}
	}
	leave <- true
	<-status
	go call()
	<-entered
	close(leave)
	for range 2 {
		if got := <-status; got != http.StatusOK {
			t.Errorf("inside one got %d", got)
		}
	}
}

// A request whose client sends the body slowly does not keep other requests out.
func TestSlowClientTakesNoPlace(t *testing.T) {
	limiter := &httpd.Limiter{Limit: 1, Full: errFull, Refuse: refuse}
	reading := make(chan bool, 1)
	s := start(t, limiter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	// The handler has begun to read, but may not be waiting for the client yet.
	for t.Context().Err() == nil {
		if answer, _ := s.get(t, "/"); answer.StatusCode == http.StatusOK {
			return
		}
	}
}

// The server cuts off a client that reads nothing of a response.
func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	const stall = 50 * time.Millisecond
	s, ended := startLongAnswer(t, stall)
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
	// On a busy machine, a reader may be late.
	for timeout := stall; ; timeout *= 4 {
		n, err := readAll(t, timeout)
		if n == longAnswer && err == nil {
			return
		}
		if timeout > 10*time.Second {
			t.Fatalf("one that reads got %d bytes, %v", n, err)
		}
	}
}

// While the responses in memory exceed the limit, the server cuts off clients that read nothing of a
// long response much earlier. It does so neither below the limit nor for short parts, which take
// little memory. A client that reads gets the whole response.
func TestResponsesInMemoryAreBounded(t *testing.T) {
	const stall, long, short = 1500 * time.Millisecond, 32 << 20, 32 << 10
	serve := func(most int64, piece int, stall time.Duration) (service, <-chan time.Duration) {
		cut := make(chan time.Duration, 1)
		return start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begun, body := time.Now(), make([]byte, piece)
			for sent := 0; sent < long; sent += piece {
				if _, err := w.Write(body); err != nil {
					cut <- time.Since(begun)
					return
				}
			}
		}), httpd.Options{Stall: stall, Unsent: most}), cut
	}
	for name, test := range map[string]struct {
		most     int64
		piece    int
		hurrying bool
	}{
		"above the limit":                  {long - 1, long, true},
		"below the limit":                  {long, long, false},
		"above the limit, in small pieces": {short / 2, short, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cut := serve(test.most, test.piece, stall)
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			if took := <-cut; took < stall != test.hurrying {
				t.Errorf("cut off after %v", took)
			}
		})
	}
	s, _ := serve(1, long, time.Minute)
	answer, body := s.get(t, "/")
	if answer.StatusCode != http.StatusOK || len(body) != long {
		t.Errorf("one that reads got %d, %d bytes", answer.StatusCode, len(body))
	}
}

// onWrite is a response that calls a function before each write.
type onWrite struct {
	http.ResponseWriter
	call func()
}

func (w onWrite) Write(p []byte) (int, error) {
	w.call()
	return w.ResponseWriter.Write(p)
}

// While a response waits for its client, it keeps room only for its bytes, even if the handler
// reserved more. The room comes back when the response ends.
func TestSlowClientKeepsRoomOnlyForBytes(t *testing.T) {
	const room, sent = 128 << 10, 32 << 10
	limiter := &httpd.Limiter{Limit: 9, Responses: room, Full: errFull, Refuse: refuse}
	inside := limiter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bytes, _ := strconv.ParseInt(r.URL.Query().Get("bytes"), 10, 64)
		if err := httpd.ReserveResponse(r.Context(), bytes); err != nil {
			refuse(w, r, err)
		} else if r.URL.Path == "/slow" {
			_, _ = w.Write(make([]byte, sent))
		}
	}))
	var s service
	reserve := func(bytes int) int {
		answer, _ := s.get(t, "/?bytes="+strconv.Itoa(bytes))
		return answer.StatusCode
	}
	s = start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			w = onWrite{w, func() {
				if reserve(room-sent) != http.StatusOK || reserve(room-sent+1) != http.StatusServiceUnavailable {
					t.Error("a response that waits for its client does not keep exactly the room for its bytes")
				}
			}}
		}
		inside.ServeHTTP(w, r)
	}), httpd.Options{})
	for range 2 {
		if answer, body := s.get(t, "/slow?bytes="+strconv.Itoa(room)); answer.StatusCode != http.StatusOK || len(body) != sent {
			t.Errorf("%d, %d bytes", answer.StatusCode, len(body))
		}
		if reserve(room) != http.StatusOK || reserve(room+1) != http.StatusServiceUnavailable {
			t.Error("after the response, the whole room is not free")
		}
	}
}

const longAnswer = 64 << 20

// startLongAnswer starts a server whose responses are larger than all buffers.
func startLongAnswer(t *testing.T, stall time.Duration) (service, <-chan error) {
	t.Helper()
	ended := make(chan error, 1)
	return start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for n := 0; n < longAnswer>>20 && err == nil; n++ {
			_, err = w.Write(make([]byte, 1<<20))
		}
		ended <- err
	}), httpd.Options{Stall: stall}), ended
}

func readAll(t *testing.T, stall time.Duration) (int64, error) {
	t.Helper()
	s, _ := startLongAnswer(t, stall)
	answer, err := http.Get("http://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return io.Copy(io.Discard, answer.Body)
}

// Beyond the limit, a connection waits until the request on another connection has ended.
func TestConnectionsAreBounded(t *testing.T) {
	begun, end := make(chan bool, 1), make(chan bool)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			begun <- true
			<-end
		}
		w.WriteHeader(http.StatusNoContent)
	}), httpd.Options{Connections: 1, Log: slog.New(slog.DiscardHandler)})
	first, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	fmt.Fprint(first, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
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
	close(end)
	<-answered
}

// At the limit, the server closes the connection that has waited longest for its next request. A
// client has its response before its connection counts as idle, so the test waits for an effect of
// the idle connection. The server has noted a connection when its TLS handshake is complete.
func TestIdleConnectionsGiveWay(t *testing.T) {
	donor := httptest.NewTLSServer(http.NotFoundHandler())
	defer donor.Close()
	held, end := make(chan bool), make(chan bool)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			held <- true
			<-end
		}
		w.WriteHeader(http.StatusNoContent)
	}), httpd.Options{Connections: 2, HeaderTimeout: time.Hour, TLS: &tls.Config{Certificates: donor.TLS.Certificates}})
	trusted, _ := donor.Client().Transport.(*http.Transport)
	connect := func() net.Conn {
		c, err := tls.Dial("tcp", s.Addr(), trusted.TLSClientConfig)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first := connect()
	fmt.Fprint(first, "GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
	<-held
	silent := connect()
	end <- true
	_ = silent.SetDeadline(time.Now().Add(time.Minute))
	if _, err := silent.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection that waited longest is open")
	}
	if _, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil {
		t.Fatalf("the newest idle connection was closed: %v", err)
	}
	if last := connect(); !asks(last) || asks(first) {
		t.Error("the newest was closed, or the idle connection was not")
	}
}

// When a new connection reaches the limit, the server can also close a connection that never sent a
// request. It closes the one that has waited longest.
func TestSilentConnectionsGiveWay(t *testing.T) {
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		httpd.Options{Connections: 3, HeaderTimeout: time.Hour, Log: slog.New(slog.DiscardHandler)})
	var clients []net.Conn
	for range 9 {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
	}
	_ = clients[8].SetDeadline(time.Now().Add(time.Minute))
	if !asks(clients[8]) {
		t.Error("silent connections kept another out")
	}
	if asks(clients[0]) {
		t.Error("the connection that waited longest was not closed")
	}
}

// Over HTTP/2, the server counts a connection as idle before it sends the response. It must not cut
// the connection then.
func TestAnswersOverHTTP2AreSentAtTheLimit(t *testing.T) {
	donor := httptest.NewTLSServer(http.NotFoundHandler())
	defer donor.Close()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }),
		httpd.Options{Connections: 1, TLS: &tls.Config{Certificates: donor.TLS.Certificates}})
	transport, _ := donor.Client().Transport.(*http.Transport)
	transport = transport.Clone()
	transport.ForceAttemptHTTP2 = true
	defer transport.CloseIdleConnections()
	for range 20 {
		answer, err := (&http.Client{Transport: transport}).Get("https://" + s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		proto, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || string(proto) != "HTTP/2.0" {
			t.Fatalf("answered %q, %v", proto, err)
		}
	}
}

func asks(c net.Conn) bool {
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	return err == nil && answer.Body.Close() == nil
}

// upload sends the first bytes of a request's body, after a header with the complete size.
func upload(t *testing.T, s service, size, sent int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size)
	_, _ = c.Write(make([]byte, sent)) // the write fails if the server refuses the request before the end of the body
	return c
}

func statusOn(t *testing.T, c net.Conn) (status int, ends bool) {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode, answer.Close
}

// The memory for unfinished bodies is limited. At the limit, the server still handles small
// requests.
func TestBodiesAreBounded(t *testing.T) {
	const clients, part = 100, 200 << 10
	read := make(chan error)
	limiter := &httpd.Limiter{Limit: clients, Bodies: 1 << 20, Full: errFull, Refuse: refuse}
	s := start(t, limiter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == part+1 {
			_, err := io.ReadFull(r.Body, make([]byte, part))
			read <- err
		}
		if _, err := io.ReadAll(r.Body); err != nil {
			refuse(w, r, err)
		}
	})), httpd.Options{})
	var holding []net.Conn
	for range clients {
		c := upload(t, s, part+1, part)
		if err := <-read; err == nil {
			holding = append(holding, c)
		} else if status, ends := statusOn(t, c); !errors.Is(err, errFull) || status != http.StatusServiceUnavailable || !ends {
			t.Errorf("%v is answered with %d, and the connection ends: %t", err, status, ends)
		}
	}
	if len(holding) != 5 {
		t.Errorf("%d bodies of %d bytes were held in %d", len(holding), part, limiter.Bodies)
	}
	const small, large = 16 << 10, 500 << 10
	if status, _ := statusOn(t, upload(t, s, small, small)); status != http.StatusOK {
		t.Errorf("a small one got %d", status)
	}
	if status, _ := statusOn(t, upload(t, s, large, large)); status != http.StatusServiceUnavailable {
		t.Errorf("a large one got %d", status)
	}
	for _, c := range holding {
		_ = c.Close()
	}
	for status := 0; status != http.StatusOK && t.Context().Err() == nil; {
		status, _ = statusOn(t, upload(t, s, large, large))
	}
}

// A decompressed body counts against the same memory limit as the body itself.
func TestInflatedBodiesAreBounded(t *testing.T) {
	limiter := &httpd.Limiter{Limit: 1, Bodies: 1 << 20, Full: errFull, Refuse: refuse}
	s := start(t, limiter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.RawQuery)
		if _, err := io.ReadAll(httpd.Counted(r.Context(), bytes.NewReader(make([]byte, size)))); err != nil {
			refuse(w, r, err)
		}
	})), httpd.Options{})
	for _, test := range []struct{ size, status int }{{2 << 20, 503}, {512 << 10, 200}, {2 << 20, 503}, {512 << 10, 200}} {
		if answer, _ := s.get(t, fmt.Sprint("/?", test.size)); answer.StatusCode != test.status {
			t.Errorf("%d bytes are answered with %d", test.size, answer.StatusCode)
		}
	}
}

func TestRequestIsRefusedWhenPlacesWereTakenDuringItsBody(t *testing.T) {
	limiter := &httpd.Limiter{Limit: 1, Full: errFull, Refuse: refuse}
	reading, entered, leave := make(chan bool, 1), make(chan bool), make(chan bool)
	s := start(t, limiter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			entered <- true
			<-leave
			return
		}
		reading <- true
		if _, err := io.ReadAll(r.Body); err != nil {
			refuse(w, r, err)
		}
	})), httpd.Options{})
	slow := upload(t, s, 2, 1)
	<-reading
	status := make(chan int)
	go func() {
		// The handler has begun to read, but may not be waiting for the client yet.
		for {
			if answer, _ := s.get(t, "/"); answer.StatusCode == http.StatusOK {
				status <- answer.StatusCode
				return
			}
		}
	}()
	<-entered
	_, _ = slow.Write([]byte("b"))
	if got, _ := statusOn(t, slow); got != http.StatusServiceUnavailable {
		t.Errorf("it got %d", got)
	}
	leave <- true
	if got := <-status; got != http.StatusOK {
		t.Errorf("who was inside got %d", got)
	}
}
