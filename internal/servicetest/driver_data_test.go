package servicetest_test

import (
	cryptorand "crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

type reader struct {
	token      string
	connection int64
}

const syncs = 3

type people struct {
	*driver
	working sync.WaitGroup
	mu      sync.Mutex
	readers []*reader
}

func (p *people) connectAndRead(atOnce int, stop <-chan struct{}) {
	for range atOnce {
		p.working.Go(func() {
			for ended := false; !ended; ended = isClosed(stop) {
				p.one()
				<-time.After(p.rests)
			}
		})
	}
}

func (p *people) one() {
	r := p.connect()
	for range syncs {
		p.readConnection(r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readers = append(p.readers, r)
}

func (p *people) gone() []*reader {
	p.working.Wait()
	return p.readers
}

// connect repeats the request for the connection with the same key, so any number of attempts
// creates one connection.
func (d *driver) connect() *reader {
	r := &reader{}
	var user struct {
		Token string `json:"auth_token"`
	}
	d.read(d.call("POST", "/auth/init", "", map[string]any{"client_id": d.process.ClientID, "client_secret": d.process.ClientSecret}), &user)
	r.token = user.Token
	var made struct{ ID int64 }
	d.read(d.keep("POST", "/users/me/connections", r.token, cryptorand.Text(), map[string]any{
		"connector_uuid": testConnector, "source": "directaccess", "login": "anna", "password": "1234",
	}), &made)
	r.connection = made.ID
	return r
}

func (d *driver) readConnection(r *reader) {
	d.call("PUT", "/users/me/accounts?all", r.token, map[string]any{"disabled": false})
	d.call("PUT", fmt.Sprint("/users/me/connections/", r.connection), r.token, map[string]any{})
}

func (d *driver) checkReaders(readers []*reader) {
	d.t.Helper()
	for n, r := range readers {
		var connections struct {
			Connections []struct{ State *string }
		}
		d.read(d.call("GET", "/users/me/connections", r.token, nil), &connections)
		if len(connections.Connections) != 1 || connections.Connections[0].State != nil {
			d.t.Errorf("reader %d has the connections %+v, want one that is well", n, connections.Connections)
		}
		if got, want := d.holdings(r), d.holdings(readers[0]); got != want || got.transactions == 0 {
			d.t.Errorf("reader %d has %+v, the first one %+v", n, got, want)
		}
	}
	d.t.Logf("%d people, each with %+v", len(readers), d.holdings(readers[0]))
}

type holdings struct{ accounts, transactions int }

func (d *driver) holdings(r *reader) (h holdings) {
	var accounts struct{ Accounts []json.RawMessage }
	var transactions struct{ Total int }
	d.read(d.call("GET", "/users/me/accounts", r.token, nil), &accounts)
	d.read(d.call("GET", "/users/me/transactions?limit=1", r.token, nil), &transactions)
	return holdings{len(accounts.Accounts), transactions.Total}
}

func (d *driver) keep(method, path, token, key string, body any) []byte {
	return d.until2xx(method+" "+path, func() (int, []byte) { return d.send(method, path, token, key, body) })
}

func (d *driver) until2xx(what string, send func() (int, []byte)) []byte {
	wait := backoff{shortest: 20 * time.Millisecond}
	for begun := time.Now(); d.undisturbed(begun) < waitLimit; wait.pause() {
		status, answer := send()
		switch {
		case status/100 == 2:
			return answer
		case status/100 == 4 && status != http.StatusConflict && status != http.StatusTooManyRequests:
			d.t.Errorf("%s: %d %s", what, status, answer)
			return []byte("{}")
		}
	}
	d.t.Errorf("%s: no answer in time", what)
	return []byte("{}")
}

// disturb records the time of a failure that the test causes. Waiting clients then get the full
// time again.
func (d *driver) disturb() { d.disturbed.Store(time.Now().UnixNano()) }

func (d *driver) undisturbed(since time.Time) time.Duration {
	return min(time.Since(since), time.Since(time.Unix(0, d.disturbed.Load())))
}
