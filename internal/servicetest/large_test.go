package servicetest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// answerTime is shorter than the time for which the service waits for the rest of a body.
const answerTime = 20 * time.Second

type large struct {
	header string
	status int
	// size is the declared length of the body. sent is the actual length.
	size, sent int
}

// answered acts like a client that reads the response only after it has sent everything.
func (l large) answered(t *testing.T, host string) (status int, body []byte, closes bool) {
	t.Helper()
	line, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	if err := line.SetDeadline(time.Now().Add(answerTime)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(line, "%sHost: %s\r\nContent-Length: %d\r\n\r\n", l.header, host, l.size)
	_, _ = io.Copy(line, strings.NewReader(strings.Repeat(" ", l.sent))) // the server may stop reading before the end
	answer, err := http.ReadResponse(bufio.NewReader(line), nil)
	if err != nil {
		t.Fatalf("no answer to %d of %d bytes: %v", l.sent, l.size, err)
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(answer.Body); err != nil {
		t.Fatalf("the answer is cut off: %v", err)
	}
	return answer.StatusCode, body, answer.Close
}

// TestABodyThatIsTooLargeIsAnswered sends a far too large body, and the beginning of a slightly too
// large body. Both requests get a complete response, and the connection ends.
func TestABodyThatIsTooLargeIsAnswered(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	host := strings.TrimPrefix(s.Origin, "http://")
	const mib = 1 << 20
	for name, place := range map[string]struct {
		header string
		most   int
		status int
	}{
		"the interface": {"POST /2.0/payments HTTP/1.1\r\nAuthorization: Bearer " + s.Token("payments:admin") + "\r\n", mib, 413},
		"the receiver":  {"POST /sandbox/receiver/n HTTP/1.1\r\n", 4 * mib, 413},
		"the console":   {"POST /console/sign-in HTTP/1.1\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n", mib / 16, 413},
	} {
		t.Run(name, func(t *testing.T) {
			for _, l := range []large{
				{place.header, place.status, 32 * mib, 32 * mib},
				{place.header, place.status, place.most + mib/8, place.most + 1},
			} {
				status, body, closes := l.answered(t, host)
				if status != l.status || !closes {
					t.Errorf("%d of %d bytes are answered with %d, and the connection ends: %t", l.sent, l.size, status, closes)
				}
				if name != "the console" && !json.Valid(body) {
					t.Errorf("the body is %q", body)
				}
			}
		})
	}
}
