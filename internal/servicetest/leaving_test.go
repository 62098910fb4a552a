package servicetest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/service"
	"passerelle/internal/servicetest"
)

// slowProgram sends a value to the channel "asked" when a read begins. It ends the read when it
// receives a value from the channel "answer".
type slowProgram struct {
	asked, answer chan struct{}
}

func (p *slowProgram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	program := hostileProgram{slowUUID, func(s *signedStream) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // otherwise the program would not notice that the service closes the connection
			return
		}
		p.asked <- struct{}{}
		select {
		case <-p.answer:
			s.send(recordOfBread, recordOfEnd)
			s.end()
		case <-r.Context().Done():
		}
	}}
	program.ServeHTTP(w, r)
}

const slowUUID = "5b0c1d7e-0f5c-4b57-9d5e-0000000000aa"

func slowHolder(t *testing.T, s *servicetest.Instance) (*slowProgram, holder) {
	t.Helper()
	p := &slowProgram{asked: make(chan struct{}, 1), answer: make(chan struct{}, 1)}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	if _, err := service.Programs(s.DB).Add(t.Context(), server.URL, servicetest.ConnectorSecret); err != nil {
		t.Fatal(err)
	}
	s.ReloadBanks(t.Context())
	h := newHolder(t, s, slowUUID)
	p.once(h)
	return p, h
}

func (p *slowProgram) once(h holder) {
	h.t.Helper()
	p.answer <- struct{}{}
	state, kept := h.sync()
	<-p.asked
	if state != "" || kept != 1 {
		h.t.Errorf("a read ends in %q with %d transactions", state, kept)
	}
}

// begin starts a read, and returns a function that makes the client of this read leave.
func (p *slowProgram) begin(h holder) (leave func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, h.Base+h.at, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+h.token)
	left := make(chan struct{})
	go func() {
		defer close(left)
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
		}
	}()
	<-p.asked
	return func() { cancel(); <-left }
}

func (h holder) ends() (all []string) {
	h.t.Helper()
	var logs struct {
		Connectionlogs []struct{ Error *string }
	}
	h.JSON(h.OK(h.Call("GET", h.at+"/logs", h.token, nil)), &logs)
	for _, one := range logs.Connectionlogs {
		if one.Error != nil {
			all = append(all, *one.Error)
		}
	}
	var connection struct{ State *string }
	h.JSON(h.OK(h.Call("GET", h.at, h.token, nil)), &connection)
	if connection.State != nil {
		all = append(all, *connection.State)
	}
	return all
}

// TestClientsWhoLeaveDoNotEndTheirSync: a read continues when its client leaves, and ends without
// an error.
func TestClientsWhoLeaveDoNotEndTheirSync(t *testing.T) {
	servicetest.Each(t, servicetest.Options{LeaseTimeout: time.Minute, Quiet: true}, func(t *testing.T, s *servicetest.Instance) {
		p, h := slowHolder(t, s)
		before := len(h.logs())
		p.begin(h)()
		if after := h.logs(); len(after) != before {
			t.Errorf("a read ended when its client left: %v", after)
		}
		p.answer <- struct{}{}
		p.once(h)
		if diff := cmp.Diff(before+2, len(h.logs())); diff != "" {
			t.Errorf("reads that ended (-want +got):\n%s", diff)
		}
		if states := h.ends(); states != nil {
			t.Errorf("reads ended in %v", states)
		}
	})
}

func (h holder) logs() (all []any) {
	h.t.Helper()
	var out struct{ Connectionlogs []any }
	h.JSON(h.OK(h.Call("GET", h.at+"/logs", h.token, nil)), &out)
	return out.Connectionlogs
}

// TestStoppingReleasesSyncs: after the service stops during a read, the next process can read the
// connection at once.
func TestStoppingReleasesSyncs(t *testing.T) {
	servicetest.Each(t, servicetest.Options{Quiet: true}, func(t *testing.T, s *servicetest.Instance) {
		p, h := slowHolder(t, s)
		defer p.begin(h)()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("stopped with %v, want the deadline of the client who waits", err)
		}
		next := s.Replica()
		next.ReloadBanks(t.Context())
		person := *h.person
		person.Instance = next
		h = holder{&person, h.at}
		if states := h.ends(); states != nil {
			t.Errorf("reads ended in %v", states)
		}
		p.answer <- struct{}{}
		if answer := h.Call("PUT", h.at, h.token, nil); answer.Status != http.StatusOK {
			t.Errorf("the next process cannot read the connection: %d %s", answer.Status, answer.Body)
		}
	})
}
