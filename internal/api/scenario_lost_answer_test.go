package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/api"
	"passerelle/internal/database"
	"passerelle/internal/store/storetest"
)

// creations returns each POST call whose objects a GET call reads: the path of the GET is the path
// of the POST with one more parameter. It leaves out calls that return a token.
func creations(t *testing.T) []string {
	t.Helper()
	read, all := map[string]bool{}, map[string]bool{}
	for _, r := range (&api.Service{}).Routes() {
		for _, path := range append([]string{r.Pattern}, r.Aliases...) {
			if at := strings.LastIndex(path, "/{"); r.Method == http.MethodGet && strings.HasSuffix(path, "}") {
				read[path[:at]] = true
			}
		}
	}
	for _, r := range (&api.Service{}).Routes() {
		if r.Method != http.MethodPost || !read[r.Pattern] || r.Tokens {
			continue
		}
		all["POST "+r.Pattern] = true
		if r.Creates == "" && !remembers[r.Pattern] {
			t.Errorf("POST %s does not remember what it created", r.Pattern)
		}
		for _, path := range r.Aliases {
			if r.Creates != "" && !r.Resumes && !read[path] {
				t.Errorf("POST %s: no call reads what it created", path)
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// remembers lists the creations for which Route.Creates is empty. Most of them pass
// Caller.Execution to the use case, which records the new object under the idempotency key.
var remembers = map[string]bool{"/payments": true, "/webhooks": true, "/users/{userId}/connections": true, additions: true}

// additions is the path of the additions to a webhook's payloads. A repetition of this POST stores
// the same addition again.
const additions = "/webhooks/{webhookId}/add_to_data"

// TestLostAnswersOfCreations loses the response to each of the creations. A repetition must create
// nothing, and return the same object.
func TestLostAnswersOfCreations(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		expected := expectations(t)
		for _, call := range creations(t) {
			a := s.fill(t, s.rightly(t, call, s.placed(call, calls()[call]), accepted(expected[call])))
			a.header = map[string]string{"Idempotency-Key": call}
			first := s.do(t, a)
			if first.status != http.StatusOK && first.status != http.StatusAccepted {
				t.Errorf("%s: %d %s", call, first.status, first.body)
				continue
			}
			storetest.Break(t, s.url, `UPDATE idempotency SET answer = NULL, lease_until = 0`)
			before := s.counts()
			again := s.do(t, a)
			if call == "POST "+additions { // the audit log has the repetition
				before.rows["audit"]++
			}
			if diff := s.changed(before); diff != "" || again.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("%s is executed again (-before +after):\n%s", call, diff)
			}
			var made, shown map[string]any
			first.decode(t, &made)
			again.decode(t, &shown)
			maps.DeleteFunc(made, func(name string, _ any) bool { _, both := shown[name]; return !both })
			maps.DeleteFunc(shown, func(name string, _ any) bool { _, both := made[name]; return !both })
			if diff := cmp.Diff(made, shown); diff != "" || len(shown) == 0 || first.status != again.status {
				t.Errorf("%s: %d, then %d (-first +again):\n%s", call, first.status, again.status, diff)
			}
		}
	})
}

// TestLateCreations interrupts each of the creations directly before it stores its object, until a
// repetition has taken over the key and has created the object. The late execution must create
// nothing, and return the response of the repetition.
func TestLateCreations(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		s := newFixtureWith(t, url, url, true)
		expected := expectations(t)
		takeOver := s.interrupted("UPDATE idempotency SET subject = $1")
		for _, call := range creations(t) {
			if call == "POST "+additions {
				continue
			}
			a := s.fill(t, s.rightly(t, call, s.placed(call, calls()[call]), accepted(expected[call])))
			a.header = map[string]string{"Idempotency-Key": call}
			var second reply
			var before record
			repetition := s.request(t, a)
			takeOver.Store(new(func() error {
				storetest.Break(t, s.url, `UPDATE idempotency SET lease_until = 0 WHERE answer IS NULL`)
				response, err := s.client.Do(repetition)
				if err != nil {
					return err
				}
				defer response.Body.Close()
				second = reply{status: response.StatusCode, header: response.Header}
				second.body, err = io.ReadAll(response.Body)
				before = s.counts()
				return err
			}))
			late := s.do(t, a)
			if second.status != http.StatusOK && second.status != http.StatusAccepted || second.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("%s: the repetition gets %d %s", call, second.status, second.body)
				continue
			}
			if late.status != second.status || !bytes.Equal(late.body, second.body) || late.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s: the late execution gets %d %s, want %d %s", call, late.status, late.body, second.status, second.body)
			}
			if diff := s.changed(before); diff != "" {
				t.Errorf("%s: the late execution changes data (-before +after):\n%s", call, diff)
			}
		}
	})
}

// interrupted returns a place for a function. The service calls the function once, directly before
// it executes a unit with the SQL text.
func (s *fixture) interrupted(text string) *atomic.Pointer[func() error] {
	var place atomic.Pointer[func() error]
	s.DB.Database.Observe(func(_ context.Context, statements []database.Statement) error {
		if !slices.ContainsFunc(statements, func(one database.Statement) bool { return strings.Contains(one.SQL, text) }) {
			return nil
		}
		if now := place.Swap(nil); now != nil {
			return (*now)()
		}
		return nil
	})
	return &place
}

// TestTokenWhileThePaymentEnds ends a payment directly before the service stores a new token for
// it. The client gets the same error as for a payment that ended before.
func TestTokenWhileThePaymentEnds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		s := newFixtureWith(t, url, url, true)
		path := fmt.Sprintf("/payments/%d", s.created(t, "home"))
		cancel := s.request(t, ask{method: "POST", path: path, token: "cancel", body: cancellation})
		a := ask{method: "POST", path: path + "/scopedtoken", token: "admin", body: `{"scope":"payments:validate"}`}
		s.request(t, a) // makes the token of the call
		before := s.counts()
		s.interrupted("INSERT INTO token").Store(new(func() error {
			response, err := s.client.Do(cancel)
			if err == nil {
				err = response.Body.Close()
			}
			return err
		}))
		s.do(t, a).says(t, 409, "conflict", "The payment is rejected; a token for it can no longer be used.")
		if made := s.counts().rows["token"] - before.rows["token"]; made != 0 {
			t.Errorf("%d tokens were made", made)
		}
		s.do(t, a).says(t, 409, "conflict", "The payment is rejected; a token for it can no longer be used.")
	})
}

// After a lost response, the response to the repetition is signed too.
func TestLostSignedAnswer(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.configure(t, "home", map[string]string{"api.sign_responses": "1"})
		a := ask{method: "POST", path: "/clients?sign_response", token: "config", body: `{"name":"signed"}`, header: map[string]string{"Idempotency-Key": "k"}}
		for range 2 {
			response, err := s.client.Do(s.request(t, a))
			must(t, err)
			response.Body.Close()
			if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/jose" {
				t.Errorf("%d %v", response.StatusCode, response.Header)
			}
			storetest.Break(t, s.url, `UPDATE idempotency SET answer = NULL, lease_until = 0`)
		}
		if n := s.eyes.Count("SELECT count(*) FROM client WHERE name = 'signed'"); n != 1 {
			t.Errorf("%d applications were created", n)
		}
	})
}

func accepted(status map[string]int) string {
	for _, token := range columns {
		if of := status[token]; of != 0 && of < http.StatusBadRequest {
			return token
		}
	}
	return ""
}
