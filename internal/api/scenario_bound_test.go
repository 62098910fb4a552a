package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/api"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
)

// bound is a call whose path contains a placeholder for the id of an object.
type bound struct {
	call, path string
	// right is the name of a token that may make the call.
	right string
}

var rights = []string{"user", "users", "config", "admin"}

func (s *fixture) boundCalls(t *testing.T) (all []bound) {
	t.Helper()
	expected, wire := expectations(t), map[string][]string{httpapi.Update: {"POST", "PUT"}}
	for _, route := range (&api.Service{}).Routes() {
		methods := wire[route.Method]
		if methods == nil {
			methods = []string{route.Method}
		}
		for _, method := range methods {
			call := method + " " + route.Pattern
			right := slices.IndexFunc(rights, func(token string) bool { return expected[call][token] != 0 && expected[call][token] < 400 })
			for _, path := range append([]string{route.Pattern}, route.Aliases...) {
				path, _, _ = strings.Cut(s.placed(call, path), "?")
				if hole.MatchString(path) && expected[call][""] == 401 && right >= 0 {
					all = append(all, bound{call, path, rights[right]})
				}
			}
		}
	}
	return all
}

// flags returns the query parameters that the call requires.
func (b bound) flags() string {
	return map[string]string{"DELETE /users/{userId}/config": "?keys=language"}[b.call]
}

// TestObjectsOfOthersAreNotFound makes every call about an object of another domain, and every user
// call about an object of another user. Each response is 404, and the service writes nothing.
func TestObjectsOfOthersAreNotFound(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		stranger := s.someone(t, s.domainOf(""))
		for _, b := range s.boundCalls(t) {
			elsewhere := hole.ReplaceAllString(b.path, "{other:$2}")
			s.notFound(t, b, "another domain", elsewhere, b.right, "")
			if b.right != "user" || !strings.Contains(b.call, "{userId}") {
				continue // the object belongs to no user
			}
			s.notFound(t, b, "another user", b.path, "", stranger.Text)
			if mine := strings.Replace(b.path, "{user}", "me", 1); mine != b.path && hole.MatchString(mine) {
				s.notFound(t, b, "another user", mine, "", stranger.Text)
			}
		}
	})
}

// notFound makes a call about an object of somebody else, with a token of the fixture or with a
// credential. The response must be 404.
func (s *fixture) notFound(t *testing.T, b bound, owner, path, token, credential string) {
	t.Helper()
	what := fmt.Sprintf("%s of %s at %s", b.call, owner, path)
	s.withoutEffect(t, what, func() func() {
		a := s.fill(t, s.rightly(t, b.call, path+b.flags(), token))
		if credential != "" {
			a.credential = credential
		}
		return func() { s.do(t, a).isRefusal(t, what, 404) }
	})
}

// TestEndedTokensOfUsers makes every user call about an object several times: once without a token,
// and once with each invalid token. Each response has the status 401, and the service writes nothing.
func TestEndedTokensOfUsers(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		ended := map[string]string{
			"none": "", "of another domain": s.someone(t, s.domainOf("other")).Text, "of a deleted user": s.deleted(t), "revoked": s.revokedUser(t),
			"of a temporary user whose time is over": s.lapsed(t),
		}
		for _, b := range s.boundCalls(t) {
			if b.right != "user" {
				continue
			}
			s.withoutEffect(t, b.call+" with an invalid token", func() func() {
				a := s.fill(t, s.rightly(t, b.call, b.path+b.flags(), ""))
				return func() {
					for name, token := range ended {
						a.credential = token
						s.do(t, a).isRefusal(t, fmt.Sprintf("%s at %s with a token %s", b.call, b.path, name), 401)
					}
				}
			})
			if t.Failed() {
				t.FailNow()
			}
		}
	})
}

func (s *fixture) deleted(t *testing.T) string {
	t.Helper()
	grant := s.someone(t, s.domainOf(""))
	must(t, s.Aggregation.DeleteUser(t.Context(), s.domainOf("").domain, grant.Token.User))
	return grant.Text
}

func (s *fixture) revokedUser(t *testing.T) string {
	t.Helper()
	grant := s.someone(t, s.domainOf(""))
	s.write(t, func(tx *store.Tx) error {
		tx.RevokeToken(s.domainOf("").domain.ID, grant.Token.ID, s.now())
		return nil
	})
	return grant.Text
}

func (s *fixture) lapsed(t *testing.T) string {
	t.Helper()
	who := s.domainOf("")
	var grant access.Grant
	_, err := s.Aggregation.CreateUser(t.Context(), who.domain, false, func(tx *store.Tx, u passerelle.User) (err error) {
		grant, err = s.Access.GrantUser(tx, who.client.ID, u)
		return err
	})
	must(t, err)
	s.pass(time.Hour)
	return grant.Text
}
