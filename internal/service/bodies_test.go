package service_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"passerelle/internal/delivery"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // heaps are never that large
}

// begin sends a request to the built-in receiver, except the last bytes of the body. The parameter
// `without` is the number of these bytes.
func begin(c net.Conn, header, body string, without int) {
	fmt.Fprintf(c, "POST /sandbox/receiver/n HTTP/1.1\r\nHost: test.example\r\nContent-Length: %d\r\n%s\r\n", len(body), header)
	_, _ = io.WriteString(c, body[:len(body)-without]) // writing fails when the service refuses the request before its end
}

func post(t *testing.T, s *service.Service, header, body string, without int) net.Conn {
	t.Helper()
	c := dial(t, s.Addr())
	begin(c, header, body, without)
	return c
}

func answerOn(t *testing.T, c net.Conn) (servicetest.Answer, http.Header) {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return servicetest.Answer{Status: answer.StatusCode, Body: body}, answer.Header
}

const (
	crowd     = 100
	maxBodies = 16 << 20
	// margin is the memory that the service and the test need in addition to the bodies.
	margin = 64 << 20
)

// TestBodiesThatNeverEnd checks that unfinished bodies use a limited amount of memory. Beyond this
// amount, the service must refuse large bodies, and still accept small bodies.
func TestBodiesThatNeverEnd(t *testing.T) {
	s := opened(t, service.Config{Database: storetest.SQLite(t), Loopback: true, MaxBodies: maxBodies})
	s.Start()
	body := strings.Repeat("b", delivery.MaxReceivedBody)
	before := heap()
	answers := make(chan string, crowd)
	for range crowd {
		c := dial(t, s.Addr())
		go func() {
			begin(c, "", body, 1)
			line, _ := bufio.NewReader(c).ReadString('\n')
			answers <- line
		}()
	}
	// At most four bodies fit, so the service refuses the other requests.
	for range crowd - maxBodies/delivery.MaxReceivedBody {
		if line := <-answers; !strings.HasPrefix(line, "HTTP/1.1 503 ") {
			t.Errorf("answered %q", line)
		}
	}
	if grown := heap() - before; grown > maxBodies+margin {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	if answer, _ := answerOn(t, post(t, s, "", "small", 0)); answer.Status != http.StatusNoContent {
		t.Errorf("a small one got %d %s", answer.Status, answer.Body)
	}
}

// TestCompressedBodiesThatNeverEnd checks that compressed bodies stay compressed in memory until
// they are complete.
func TestCompressedBodiesThatNeverEnd(t *testing.T) {
	s := opened(t, service.Config{Database: storetest.SQLite(t), Loopback: true, MaxBodies: maxBodies})
	s.Start()
	body := pack(t, strings.Repeat("b", delivery.MaxReceivedBody))
	before := heap()
	var clients []net.Conn
	for range crowd {
		clients = append(clients, post(t, s, "Content-Encoding: gzip\r\n", body, 1))
	}
	for range crowd {
		if answer, _ := answerOn(t, post(t, s, "", "small", 0)); answer.Status != http.StatusNoContent {
			t.Fatalf("a small one got %d %s", answer.Status, answer.Body)
		}
	}
	if grown := heap() - before; grown > maxBodies+margin {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	for _, c := range clients {
		_, _ = c.Write([]byte(body[len(body)-1:]))
	}
	taken := 0
	for _, c := range clients {
		switch answer, header := answerOn(t, c); {
		case answer.Status == http.StatusNoContent:
			taken++
		case header.Get("Retry-After") != "1":
			t.Errorf("refused without when to come again: %v", header)
		default:
			refused(t, answer, http.StatusServiceUnavailable, "unavailable")
		}
	}
	if taken == 0 {
		t.Error("none of them was taken when it was whole")
	}
}

// TestNoRoomForABody checks that the API, the built-in receiver and the forms of the console refuse
// a body that exceeds the memory limit. The API also refuses a small body with too many values.
func TestNoRoomForABody(t *testing.T) {
	s := opened(t, service.Config{Database: storetest.SQLite(t), Loopback: true, MaxBodies: 1})
	s.Start()
	large := strings.Repeat("b", 40<<10)
	for name, place := range map[string]struct{ path, media, body string }{
		"the interface": {"/2.0/auth/init", "application/json", `{"a":"` + large + `"}`},
		"many values":   {"/2.0/auth/init", "application/json", `{"a":[0` + strings.Repeat(",0", 1000) + `]}`},
		"the receiver":  {"/sandbox/receiver/n", "text/plain", large},
		"a form":        {"/console/sign-in", "application/x-www-form-urlencoded", "name=" + large},
		"an upload": {
			"/console/sign-in", "multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n" + large + "\r\n--x--\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Addr()+place.path, strings.NewReader(place.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", place.media)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "1" {
				body, _ := io.ReadAll(answer.Body)
				t.Errorf("answered %d, %v, %s", answer.StatusCode, answer.Header, body)
			}
		})
	}
}
