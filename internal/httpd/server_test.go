package httpd_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"passerelle/internal/httpd"
)

// lines is a log that the test can read while the server writes it.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) entries(t *testing.T, message string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range strings.Lines(l.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry["msg"] == message {
			found = append(found, entry)
		}
	}
	return found
}

type service struct {
	*httpd.Server
	log *lines
}

func start(t *testing.T, handler http.Handler, o httpd.Options) service {
	t.Helper()
	log := &lines{}
	o.Log = slog.New(slog.NewJSONHandler(log, nil))
	server, err := httpd.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	server.Start(handler)
	t.Cleanup(func() { server.Stop(context.Background()) })
	return service{server, log}
}

func (s service) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	answer, err := http.Get("http://" + s.Addr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// stop drains the server. The log is then complete.
func (s service) stop(t *testing.T) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestRequestIDs(t *testing.T) {
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, httpd.RequestID(r.Context()))
	}), httpd.Options{})
	var last int64
	for range 50 {
		answer, body := s.get(t, "/")
		id, err := strconv.ParseInt(body, 10, 64)
		if err != nil || id <= last {
			t.Fatalf("id %q after %d (error %v), want a greater number", body, last, err)
		}
		if header := answer.Header.Get("X-Request-Id"); header != body {
			t.Errorf("header %s, want %s", header, body)
		}
		last = id
	}
	if id := httpd.RequestID(context.Background()); id != "" {
		t.Errorf("id %q outside of a request", id)
	}
}

func TestAccessLogNamesTheRouteAndNothingOfTheClient(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /payments/{id}", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "seven b")
	})
	mux.HandleFunc("GET /silent", func(http.ResponseWriter, *http.Request) {})
	inner := http.NewServeMux()
	inner.HandleFunc("/deep/{id}", func(_ http.ResponseWriter, r *http.Request) { httpd.SetRoute(r.Context(), r.Pattern) })
	mux.HandleFunc("/deep/", func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r.WithContext(r.Context()))
	})
	s := start(t, mux, httpd.Options{})
	for _, path := range []string{"/payments/s3cret?access_token=s3cret", "/silent", "/s3cret", "/deep/s3cret"} {
		s.get(t, path)
	}
	s.stop(t)

	if strings.Contains(s.log.String(), "s3cret") {
		t.Errorf("the log shows what the client sent:\n%s", s.log)
	}
	var got []map[string]any
	for _, entry := range s.log.entries(t, "request") {
		if entry["request_id"] == "" || entry["duration_us"].(float64) < 0 {
			t.Errorf("incomplete entry %v", entry)
		}
		for _, varying := range []string{"time", "level", "msg", "request_id", "duration_us"} {
			delete(entry, varying)
		}
		got = append(got, entry)
	}
	want := []map[string]any{
		{"method": "GET", "route": "GET /payments/{id}", "status": 202., "bytes": 7.},
		{"method": "GET", "route": "GET /silent", "status": 200., "bytes": 0.},
		{"method": "GET", "route": "unmatched", "status": 404., "bytes": 19.},
		{"method": "GET", "route": "/deep/{id}", "status": 200., "bytes": 0.},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPanicIsAnsweredByTheFailureWriter(t *testing.T) {
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "12345")
		panic("nil map")
	}), httpd.Options{Failure: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, "bug "+httpd.RequestID(r.Context()))
	}})
	answer, body := s.get(t, "/")
	id := answer.Header.Get("X-Request-Id")
	if answer.StatusCode != 500 || id == "" || body != "bug "+id {
		t.Errorf("answered %d %q with id %q", answer.StatusCode, body, id)
	}
	s.stop(t)
	panics := s.log.entries(t, "handler panicked")
	if len(panics) != 1 || panics[0]["panic"] != "nil map" || panics[0]["request_id"] != id {
		t.Errorf("logged %v", panics)
	}
	if requests := s.log.entries(t, "request"); len(requests) != 1 || requests[0]["status"] != 500. {
		t.Errorf("logged %v", requests)
	}
}

func TestPanicWithoutAFailureWriter(t *testing.T) {
	s := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("bug") }), httpd.Options{})
	if answer, body := s.get(t, "/"); answer.StatusCode != 500 || body != "" {
		t.Errorf("answered %d %q", answer.StatusCode, body)
	}
}

func TestCutAnswersAreNotTakenForWholeOnes(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  float64
	}{
		"panic in the middle": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "half")
			http.NewResponseController(w).Flush()
			panic("bug")
		}, 200},
		"deliberate": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, test.handler, httpd.Options{})
			answer, err := http.Get("http://" + s.Addr())
			if err == nil {
				_, err = io.ReadAll(answer.Body)
				answer.Body.Close()
			}
			if err == nil {
				t.Error("the client took the answer for a whole one")
			}
			s.stop(t)
			if requests := s.log.entries(t, "request"); len(requests) != 1 || requests[0]["status"] != test.status {
				t.Errorf("logged %v", requests)
			}
		})
	}
}

func TestLongCallOutlivesTheReadTimeouts(t *testing.T) {
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			w.WriteHeader(http.StatusInternalServerError)
		case <-time.After(time.Second):
		}
	}), httpd.Options{HeaderTimeout: 500 * time.Millisecond, ReadTimeout: 500 * time.Millisecond})
	if answer, _ := s.get(t, "/"); answer.StatusCode != 200 {
		t.Errorf("answered %d, want the call to go on", answer.StatusCode)
	}
}

func TestSlowAndOversizedHeadersEndTheConnection(t *testing.T) {
	for name, test := range map[string]struct {
		timeout       time.Duration
		request, want string
	}{
		"slow":      {20 * time.Millisecond, "GET / HTTP/1.1\r\nHost: a\r\n", ""},
		"oversized": {time.Minute, "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 16<<10) + "\r\n\r\n", "HTTP/1.1 431 Request Header Fields Too Large"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, http.NotFoundHandler(), httpd.Options{HeaderTimeout: test.timeout, MaxHeaderBytes: 1 << 10})
			connection, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if _, err := io.WriteString(connection, test.request); err != nil {
				t.Fatal(err)
			}
			line, _ := bufio.NewReader(connection).ReadString('\n')
			if strings.TrimSpace(line) != test.want {
				t.Errorf("answered %q, want %q", line, test.want)
			}
		})
	}
}

func held() (handler http.Handler, arrived, proceed chan struct{}) {
	arrived, proceed = make(chan struct{}), make(chan struct{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		select {
		case <-proceed:
		case <-r.Context().Done():
		}
	}), arrived, proceed
}

func TestStopDrains(t *testing.T) {
	handler, arrived, proceed := held()
	s := start(t, handler, httpd.Options{})
	status := make(chan int)
	go func() {
		answer, err := http.Get("http://" + s.Addr())
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		answer.Body.Close()
		status <- answer.StatusCode
	}()
	<-arrived
	stopped := make(chan error)
	go func() { stopped <- s.Stop(context.Background()) }()
	if err, open := <-s.Ended(); open {
		t.Errorf("serving ended with %v", err)
	}
	close(proceed)
	if got := <-status; got != 200 {
		t.Errorf("the request under way was answered %d", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("the address still answers")
	}
}

// TestDrainEndsEachConnectionAfterAnAnswer checks that a draining server still responds on idle and
// new connections, in both versions of HTTP. Each connection must end after one response.
func TestDrainEndsEachConnectionAfterAnAnswer(t *testing.T) {
	donor := httptest.NewTLSServer(http.NotFoundHandler())
	defer donor.Close()
	for name, multiplexed := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, r.Proto+" "+r.RemoteAddr)
			}), httpd.Options{TLS: &tls.Config{Certificates: donor.TLS.Certificates}})
			trust := donor.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: multiplexed}}
			before := connectionOf(t, client, s)
			s.Drain()
			last, next, after := connectionOf(t, client, s), connectionOf(t, client, s), connectionOf(t, client, s)
			if !strings.HasPrefix(before, name+" ") || last != before || next == last || after == next {
				t.Errorf("the connections are %q, want the first twice and then new ones", []string{before, last, next, after})
			}
		})
	}
}

func connectionOf(t *testing.T, client *http.Client, s service) string {
	t.Helper()
	answer, err := client.Get("https://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestStopCutsWhatOutlivesTheDeadline(t *testing.T) {
	handler, arrived, _ := held()
	s := start(t, handler, httpd.Options{})
	failed := make(chan error)
	go func() {
		_, err := http.Get("http://" + s.Addr())
		failed <- err
	}()
	<-arrived
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
}

func TestStopTwiceAndBeforeStart(t *testing.T) {
	server, err := httpd.Listen(httpd.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	server.Start(http.NotFoundHandler())
	if err, open := <-server.Ended(); open {
		t.Errorf("serving ended with %v", err)
	}
}

func TestListenSaysWhyNot(t *testing.T) {
	s := start(t, http.NotFoundHandler(), httpd.Options{})
	if _, err := httpd.Listen(httpd.Options{Addr: s.Addr(), Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("two servers on one address")
	}
}

func TestServesTLS(t *testing.T) {
	donor := httptest.NewTLSServer(http.NotFoundHandler())
	defer donor.Close()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}), httpd.Options{TLS: donor.TLS.Clone()})
	answer, err := donor.Client().Get("https://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.TLS == nil || answer.StatusCode != 200 {
		t.Errorf("answered %d over TLS %v", answer.StatusCode, answer.TLS != nil)
	}
}

// The server permits 16 concurrent requests on an HTTP/2 connection.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	donor := httptest.NewTLSServer(http.NotFoundHandler())
	defer donor.Close()
	s := start(t, http.NotFoundHandler(), httpd.Options{TLS: &tls.Config{Certificates: donor.TLS.Certificates}})
	trust := donor.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trust.NextProtos = []string{"h2"}
	c, err := tls.Dial("tcp", s.Addr(), trust)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, http2.ClientPreface)
	frames := http2.NewFramer(c, c)
	if err := frames.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := frames.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	settings, is := frame.(*http2.SettingsFrame)
	if !is {
		t.Fatalf("began with %v", frame)
	}
	if most, message := settings.Value(http2.SettingMaxConcurrentStreams); !message || most != 16 {
		t.Errorf("%d streams, told: %t", most, message)
	}
}

// A request with both Transfer-Encoding and Content-Length ends its connection, and so does an
// HTTP/1.0 request with Transfer-Encoding. The server must not read the following bytes as another
// request.
func TestAmbiguousLengthsEndTheConnection(t *testing.T) {
	var asked atomic.Int64
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}), httpd.Options{})
	for _, request := range []string{
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		asked.Store(0)
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second)) // an error shows when reading
		io.WriteString(c, request+"GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n")
		answer, err := io.ReadAll(c)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		if n := strings.Count(string(answer), "HTTP/1."); n != 1 || !strings.Contains(string(answer), "Connection: close") || asked.Load() != 1 {
			t.Errorf("%q: %d requests came, and the answer is %s", request, asked.Load(), answer)
		}
	}
}

// A client gets the response to a body that is too large, even if it writes up to 8 MiB before it
// reads. The connection then stays open. After a longer body, the connection ends.
func TestTooLargeIsAnAnswer(t *testing.T) {
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var over *http.MaxBytesError
		if _, err := io.ReadAll(httpd.Bounded(w, r.Body, 1<<10)); !errors.As(err, &over) || over.Limit != 1<<10 {
			t.Errorf("read with %v", err)
		}
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}), httpd.Options{})
	for _, size := range []int{1<<10 + 1, 1 << 20, 8 << 20, 64 << 20} {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", size)
		n, err := c.Write(make([]byte, size))
		drained := size <= 8<<20
		if drained && err != nil {
			t.Errorf("of %d bytes %d could be written: %v", size, n, err)
		}
		reader := bufio.NewReader(c)
		answer, err := http.ReadResponse(reader, nil)
		if !drained && err != nil {
			continue // the server does not discard a body of this size
		}
		if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge || answer.Close == drained {
			t.Errorf("%d bytes are answered with %v (%v)", size, answer, err)
		}
	}
}
