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

// manner is how a receiver treats a request.
type manner int

const (
	// accepts at once; slowly after a while. forgets cuts the connection before the sender
	// learns that it was accepted.
	accepts manner = iota
	slowly
	forgets
	// refuses with status 500; hangs until the sender gives up or is dead; leaves closes the
	// connection.
	refuses
	hangs
	leaves
)

// receiver is the other side of webhooks, with as many endpoints as there are
// paths.
type receiver struct {
	origin    string
	mu        sync.Mutex
	random    *rand.Rand
	endpoints map[string]*endpoint
}

// endpoint is one receiving URL and its requests.
type endpoint struct {
	url string

	mu sync.Mutex
	// behaviours are the manners it may take at present.
	behaviours []manner
	requests   int
	// bodies are the bodies of the first request for each id_webhook_data.
	bodies map[int64]string
	// accepted are the ids in the order of their first acceptance; again counts further
	// acceptances.
	accepted []int64
	isKnown  map[int64]bool
	again    int
	// differing are ids whose repeated request had another body.
	differing []int64
	// seen gets each first acceptance, unless it is nil.
	seen func(id int64, body string)
}

// newReceiver starts a receiver that stops with the test.
func newReceiver(t *testing.T, random *rand.Rand) *receiver {
	r := &receiver{random: random, endpoints: map[string]*endpoint{}}
	server := httptest.NewServer(r)
	r.origin = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections() // whoever hangs must not hold this up
		server.Close()
	})
	return r
}

// endpoint makes an endpoint at a path, which accepts everything.
func (r *receiver) endpoint(path string) *endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &endpoint{url: r.origin + path, behaviours: []manner{accepts}, bodies: map[int64]string{}, isKnown: map[int64]bool{}}
	r.endpoints[path] = e
	return e
}

// behave sets how an endpoint treats requests from now on: with a random one of these
// behaviours.
func (e *endpoint) behave(choices ...manner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.behaviours = choices
}

// ServeHTTP receives a webhook.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender died on the way
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

// idOf is the id_webhook_data of a body.
func idOf(body string) int64 {
	var read struct {
		ID int64 `json:"id_webhook_data"`
	}
	_ = json.NewDecoder(strings.NewReader(body)).Decode(&read)
	return read.ID
}

// note counts a request and decides how to treat it.
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

// accept is called before the answer is written, so the sender's next act comes after it.
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

// count is how many requests there were.
func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests
}

// account is a copy of what an endpoint has seen.
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
