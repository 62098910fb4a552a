package service_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/internal/keys"
	"passerelle/internal/service"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestASlowClientDoesNotKeepTheServiceFromStopping: while a client does not finish its request, the
// service reports that it is draining, and closes the database in time.
func TestASlowClientDoesNotKeepTheServiceFromStopping(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		ring := keys.Generate()
		s := opened(t, service.Config{Database: url, Keys: ring, Loopback: true})
		s.Start()
		hang(t, s.Addr())
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		stopped := make(chan error, 1)
		go func() { stopped <- s.Stop(ctx) }()
		awaitDraining(t, s)
		if err := <-stopped; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped with %v, want the deadline of the slow client", err)
		}
		if ctx.Err() != nil {
			t.Error("stopped after its deadline")
		}
		if err := s.DB.Write(t.Context(), func(tx *store.Tx) error { tx.EndMaintenance(); return nil }); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a write afterwards gives %v, want ErrClosed", err)
		}
		opened(t, service.Config{Database: url, Keys: ring})
	})
}

func hang(t *testing.T, address string) {
	t.Helper()
	connection := dial(t, address)
	_, err := fmt.Fprintf(connection, "POST /sandbox/receiver/n HTTP/1.1\r\nHost: test.example\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(connection).ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("answered %q, %v", line, err)
	}
}

func awaitDraining(t *testing.T, s *service.Service) {
	t.Helper()
	handler := s.Handler()
	for t.Context().Err() == nil {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
		var said struct{ Failing []string }
		if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil {
			t.Fatal(err)
		}
		if w.Code == http.StatusOK {
			continue
		}
		if !slices.Equal(said.Failing, []string{"draining"}) {
			t.Errorf("not ready because of %v", said.Failing)
		}
		return
	}
}

// TestAMissingKeyIsNamedOnce: after keys rewrap, a process without the newest key is not ready. Its
// log says once what to do.
func TestAMissingKeyIsNamedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		var log bytes.Buffer
		ring := keys.Generate()
		s := opened(t, service.Config{Database: url, Keys: ring, Log: slog.New(slog.NewTextHandler(&log, nil))})
		ready := func() string {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
			return w.Body.String()
		}
		fresh, err := store.Open(t.Context(), url, store.Options{Keys: ring.Rotated()})
		if err != nil {
			t.Fatal(err)
		}
		defer fresh.Close()
		if said := ready(); strings.Contains(said, "keys") || strings.Contains(log.String(), "master key") {
			t.Errorf("before, it says %s, and logs %s", said, &log)
		}
		if _, _, err := fresh.Rewrap(t.Context(), 10, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if said := ready(); !strings.Contains(said, `"failing":["keys"]`) {
				t.Errorf("afterwards, it says %s", said)
			}
			if err := service.NoteKeys(t.Context(), s); err != nil {
				t.Errorf("the loop fails: %v", err)
			}
		}
		if n := strings.Count(log.String(), "restart the process with the newest key file"); n != 1 {
			t.Errorf("the log names the cause %d times, want once: %s", n, &log)
		}
	})
}

func TestAnotherKeyFileIsNoticed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		c := service.Config{Database: url, Keys: keys.Generate()}
		s := opened(t, c)
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Keys = keys.Generate()
		if _, err := service.Open(t.Context(), c); !errors.Is(err, store.ErrOtherKeys) {
			t.Errorf("opened with other keys: %v, want ErrOtherKeys", err)
		}
	})
}
