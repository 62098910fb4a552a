package servicetest_test

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

type manner int

const (
	// The receiver accepts immediately, accepts after a while, or closes the connection before the
	// sender receives the acceptance.
	accepts manner = iota
	slowly
	forgets
	// The receiver responds with the status 500, waits until the sender gives up or ends, or closes
	// the connection.
	refuses
	hangs
	leaves
)

type receiver struct {
	origin    string
	mu        sync.Mutex
	random    *rand.Rand
	endpoints map[string]*endpoint
}

type endpoint struct {
	url string

	mu         sync.Mutex
	behaviours []manner
	requests   int
	// bodies has the body of the first request for each id_webhook_data.
	bodies map[int64]string
	// accepted has the ids in the order of their first acceptance. again is the number of later
	// acceptances.
	accepted []int64
	isKnown  map[int64]bool
	again    int
	// differing has the ids of repeated requests with a different body.
	differing []int64
	// seen is a function that the endpoint calls at each first acceptance.
	seen func(id int64, body string)
}

func newReceiver(t *testing.T, random *rand.Rand) *receiver {
	r := &receiver{random: random, endpoints: map[string]*endpoint{}}
	server := httptest.NewServer(r)
	r.origin = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections() // hanging requests must not delay the end
		server.Close()
	})
	return r
}

func (r *receiver) endpoint(path string) *endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &endpoint{url: r.origin + path, behaviours: []manner{accepts}, bodies: map[int64]string{}, isKnown: map[int64]bool{}}
	r.endpoints[path] = e
	return e
}

func (e *endpoint) behave(choices ...manner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.behaviours = choices
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed while it was sending
	}
	r.mu.Lock()
	e, chance, pause := r.endpoints[request.URL.Path], r.random.IntN(1000), time.Duration(r.random.IntN(50))*time.Millisecond
	r.mu.Unlock()
	how := e.note(chance, string(raw))
	if how == slowly {
		<-time.After(pause)
	}
	if how < refuses {
		e.accept(string(raw))
	}
	switch how {
	case hangs:
		<-request.Context().Done()
	case refuses:
		w.WriteHeader(http.StatusInternalServerError)
	case forgets, leaves:
		panic(http.ErrAbortHandler)
	}
}

func idOf(body string) int64 {
	var read struct {
		ID int64 `json:"id_webhook_data"`
	}
	_ = json.NewDecoder(strings.NewReader(body)).Decode(&read)
	return read.ID
}

func (e *endpoint) note(chance int, body string) manner {
	id := idOf(body)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
	first, repeated := e.bodies[id]
	if !repeated {
		e.bodies[id] = body
	} else if first != body {
		e.differing = append(e.differing, id)
	}
	return e.behaviours[chance%len(e.behaviours)]
}

// accept records an acceptance before the caller writes the response, and so before the sender's
// next act.
func (e *endpoint) accept(body string) {
	id := idOf(body)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isKnown[id] {
		e.again++
		return
	}
	e.isKnown[id] = true
	e.accepted = append(e.accepted, id)
	if e.seen != nil {
		e.seen(id, body)
	}
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

type account struct {
	requests, again     int
	accepted, differing []int64
	bodies              map[int64]string
}

func (e *endpoint) account() account {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := account{requests: e.requests, again: e.again, bodies: map[int64]string{}}
	a.accepted, a.differing = append(a.accepted, e.accepted...), append(a.differing, e.differing...)
	for id, body := range e.bodies {
		a.bodies[id] = body
	}
	return a
}
