package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A new temporary user adds the rows in aGuest, and a new permanent user adds the rows in aUser.
// Another token of a permanent user adds the rows in aKey. The service stores the token of a
// permanent user to send the token with webhooks.
var (
	aGuest = map[string]int64{"end_user": 1, "token": 1, "event": 1}
	aUser  = with(aGuest, map[string]int64{"user_token": 1})
	aKey   = map[string]int64{"token": 1, "user_token": 1}
)

func TestUserScenarios(t *testing.T) {
	own := `"client_id":{client},"client_secret":"{secret}"`
	post := func(path, body string) ask { return ask{method: "POST", path: path, body: body} }
	by := func(token, method, path, body string) ask {
		return ask{method: method, path: path, token: token, body: body}
	}
	created := []string{"USER_CREATED user 1"}
	play(t, "users", []scenario{
		{name: "init without credentials", status: 200, rows: aGuest, events: created, ask: post("/auth/init", "")},
		{name: "init with an id alone", status: 200, rows: aGuest, events: created, ask: post("/auth/init", `{"client_id":"{client}"}`)},
		{name: "init with credentials", status: 200, rows: aUser, events: created, ask: post("/auth/init", `{`+own+`}`)},
		{name: "init with credentials as digits in a query", status: 200, rows: aUser, events: created, ask: post("/auth/init?client_id={client}&client_secret={secret}", "")},
		{name: "init with a config token", status: 200, rows: aUser, events: created, ask: by("config", "POST", "/auth/init", "")},
		{name: "init with a wrong secret", status: 401, ask: post("/auth/init", `{"client_id":{client},"client_secret":"wrong"}`)},
		{name: "init with a secret alone", status: 401, ask: post("/auth/init", `{"client_secret":"{secret}"}`)},
		{name: "init with another domain's credentials", status: 401, ask: post("/auth/init", `{"client_id":{other:client},"client_secret":"{other:secret}"}`)},
		{name: "init with a service token, which is ignored", status: 200, rows: aGuest, events: created, ask: by("admin", "POST", "/auth/init", "")},
		{name: "init with a user token, which is ignored", status: 200, rows: aGuest, events: created, ask: by("user", "POST", "/auth/init", "")},
		{name: "init with a bad token, which is ignored", status: 200, rows: aGuest, events: created, ask: by("unknown", "POST", "/auth/init", "")},

		{name: "code", status: 200, rows: aToken, ask: by("user", "GET", "/auth/token/code", "")},
		{name: "code for one use", status: 200, rows: aToken, ask: by("user", "GET", "/auth/token/code?type=singleAccess", "")},
		{name: "code by POST", status: 200, rows: aToken, ask: by("user", "POST", "/auth/token/code", `{"type":"requestAccess"}`)},
		{name: "code by an empty POST", status: 200, rows: aToken, ask: by("user", "POST", "/auth/token/code", `{}`)},
		{name: "code of an unknown type", status: 400, ask: by("user", "GET", "/auth/token/code?type=double", "")},

		{name: "exchange a code", status: 200, rows: aKey, ask: post("/auth/token/access", `{`+own+`,"code":"{code}","grant_type":"authorization_code"}`)},
		{name: "exchange with a redirect URI", status: 200, rows: aKey, ask: post("/auth/token/access", `{`+own+`,"code":"{code}","redirect_uri":"https://shop.example/back"}`)},
		{name: "exchange with another redirect URI", status: 400, ask: post("/auth/token/access", `{`+own+`,"code":"{code}","redirect_uri":"https://evil.example/back"}`)},
		{name: "exchange for another grant", status: 400, ask: post("/auth/token/access", `{`+own+`,"code":"{code}","grant_type":"password"}`)},
		{name: "exchange nothing", status: 400, ask: post("/auth/token/access", `{`+own+`}`)},
		{name: "exchange no code", status: 401, ask: post("/auth/token/access", `{`+own+`,"code":"psl_cod_00"}`)},
		{name: "exchange another domain's code", status: 401, ask: post("/auth/token/access", `{`+own+`,"code":"{other:code}"}`)},
		{name: "exchange without credentials", status: 401, ask: post("/auth/token/access", `{"code":"{code}"}`)},
		{name: "exchange a permanent token", status: 200, rows: aKey, ask: by("user", "POST", "/auth/token/access", `{`+own+`}`)},
		{name: "exchange a service token", status: 401, ask: by("admin", "POST", "/auth/token/access", `{`+own+`}`)},

		{name: "renew without a user", status: 200, rows: aUser, events: created, ask: post("/auth/renew", `{`+own+`,"grant_type":"client_credentials"}`)},
		{name: "renew", status: 200, rows: aKey, ask: post("/auth/renew", `{`+own+`,"id_user":{user}}`)},
		{name: "renew, id as digits", status: 200, rows: aKey, ask: post("/auth/renew", `{`+own+`,"id_user":"{user}"}`)},
		{name: "renew for nobody", status: 404, ask: post("/auth/renew", `{`+own+`,"id_user":`+noID+`}`)},
		{name: "renew for another domain's user", status: 404, ask: post("/auth/renew", `{`+own+`,"id_user":{other:user}}`)},
		{name: "renew for no number", status: 400, ask: post("/auth/renew", `{`+own+`,"id_user":"1.5"}`)},
		{name: "renew for another grant", status: 400, ask: post("/auth/renew", `{`+own+`,"grant_type":"authorization_code"}`)},
		{name: "renew without credentials", status: 401, ask: post("/auth/renew", `{"id_user":{user}}`)},

		{name: "sign without keys", status: 400, ask: post("/auth/jwt", `{`+own+`}`)},
		{name: "sign", status: 200, rows: aKey, ask: post("/auth/jwt", `{{signer},"id_user":{user}}`)},
		{name: "sign with a scope", status: 200, rows: aKey, ask: post("/auth/jwt", `{{signer},"id_user":{user},"scope":"accounts"}`)},
		{name: "sign for nobody", status: 404, ask: post("/auth/jwt", `{{signer},"id_user":`+noID+`}`)},

		{name: "read me", status: 200, ask: by("user", "GET", "/users/me", "")},
		{name: "read oneself", status: 200, ask: by("user", "GET", "/users/{user}", "")},
		{name: "read with a users token", status: 200, ask: by("users", "GET", "/users/{user}", "")},
		{name: "read me with a users token", status: 404, ask: by("users", "GET", "/users/me", "")},
		{name: "read another", status: 404, ask: by("user", "GET", "/users/"+noID, "")},
		{name: "read another domain's", status: 404, ask: by("users", "GET", "/users/{other:user}", "")},
		{name: "read with a code", status: 403, ask: by("code", "GET", "/users/me", "")},
		{name: "init in a live domain", status: 200, rows: aGuest, events: created, ask: ask{domain: "live", method: "POST", path: "/auth/init"}},
		{name: "list", status: 200, ask: ask{domain: "live", method: "GET", path: "/users?limit=2", token: "users"}},
		{name: "list with a user token", status: 403, ask: by("user", "GET", "/users", "")},

		{name: "note", status: 200, rows: map[string]int64{"user_setting": 2}, ask: by("user", "POST", "/users/me/config", `{"language":"fr","theme":"é"}`)},
		{name: "note anew", status: 200, ask: by("users", "PUT", "/users/{user}/config", `{"theme":"dark"}`)},
		{name: "note nothing", status: 200, ask: by("user", "POST", "/users/me/config", "")},
		{name: "note no text", status: 400, ask: by("user", "POST", "/users/me/config", `{"theme":1}`)},
		{name: "note under no key", status: 400, ask: by("user", "POST", "/users/me/config", `{"":"x"}`)},
		{name: "note too much", status: 400, ask: by("user", "POST", "/users/me/config", manyNotes(101))},
		{name: "note a long text", status: 400, ask: by("user", "POST", "/users/me/config", `{"a":"`+strings.Repeat("é", 4097)+`"}`)},
		{name: "note about nobody", status: 404, ask: by("users", "POST", "/users/"+noID+"/config", `{}`)},
		{name: "read notes", status: 200, ask: by("user", "GET", "/users/me/config", "")},
		{name: "read notes of nobody", status: 404, ask: by("users", "GET", "/users/"+noID+"/config", "")},
		{name: "forget too many notes", status: 400, ask: by("user", "DELETE", "/users/me/config?keys="+noteKeys(101), "")},
		{name: "forget a note", status: 204, rows: map[string]int64{"user_setting": -1}, ask: by("user", "DELETE", "/users/me/config?keys=theme,nothing"+strings.Repeat(",theme", 101), "")},
		{name: "forget without keys", status: 400, ask: by("user", "DELETE", "/users/me/config", "")},

		{name: "delete another", status: 404, ask: by("user", "DELETE", "/users/"+noID, "")},
		{name: "delete another domain's", status: 404, ask: by("users", "DELETE", "/users/{other:user}", "")},
		{name: "revoke", status: 204, rows: map[string]int64{"user_token": -1}, ask: by("user", "DELETE", "/auth/token", "")},
		{name: "use what is revoked", status: 401, ask: by("user", "DELETE", "/auth/token", "")},
	})
}

func manyNotes(n int) string {
	notes := map[string]string{}
	for i := range n {
		notes[fmt.Sprint("key", i)] = "x"
	}
	raw, _ := json.Marshal(notes)
	return string(raw)
}

func noteKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("key", i)
	}
	return strings.Join(keys, ",")
}

type person struct {
	Token string `json:"auth_token"`
	ID    int64  `json:"id_user"`
	In    *int64 `json:"expires_in"`
}

func (s *fixture) guest(t *testing.T) person {
	t.Helper()
	var p person
	s.do(t, ask{method: "POST", path: "/auth/init"}).decode(t, &p)
	return p
}

func (s *fixture) codeOf(t *testing.T, p person, kind string) string {
	t.Helper()
	var out struct{ Code string }
	s.do(t, ask{method: "GET", path: "/auth/token/code?type=" + kind, credential: p.Token}).decode(t, &out)
	return out.Code
}

func (s *fixture) credentials() string {
	main := s.domainOf("")
	return fmt.Sprintf(`"client_id":"%d","client_secret":%q`, main.client.ID, main.secret)
}

func (s *fixture) exchanged(code string) ask {
	return ask{method: "POST", path: "/auth/token/access", body: `{` + s.credentials() + `,"code":"` + code + `"}`}
}

func (s *fixture) kept(t *testing.T, r reply) string {
	t.Helper()
	var out struct {
		Token string `json:"access_token"`
		Type  string `json:"token_type"`
	}
	r.decode(t, &out)
	if out.Type != "Bearer" {
		t.Errorf("token_type %q", out.Type)
	}
	return out.Token
}

// USER_CREATED reports a temporary user once, when the user becomes permanent in any way.
func TestBecomingPermanent(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.Subscribe("USER_CREATED", "created")
		for name, way := range map[string]func(p person) ask{
			"a code":             func(p person) ask { return s.exchanged(s.codeOf(t, p, "requestAccess")) },
			"a code for one use": func(p person) ask { return s.exchanged(s.codeOf(t, p, "singleAccess")) },
			"a code, coded once": func(p person) ask { return s.exchanged(url.QueryEscape(s.codeOf(t, p, "singleAccess"))) },
			"the token":          func(p person) ask { return s.exchanged(p.Token) },
			"the token as bearer": func(p person) ask {
				return ask{method: "POST", path: "/auth/token/access", body: `{` + s.credentials() + `}`, credential: p.Token}
			},
			"a renewal": func(p person) ask {
				return ask{method: "POST", path: "/auth/renew", body: fmt.Sprintf(`{%s,"id_user":%d}`, s.credentials(), p.ID)}
			},
			"a code in a form":       func(p person) ask { return s.form("/auth/token/access", s.codeOf(t, p, "requestAccess"), "") },
			"a code, HTTP Basic":     func(p person) ask { return s.form("/auth/token/access", s.codeOf(t, p, "requestAccess"), "") },
			"a code, old HTTP Basic": func(p person) ask { return s.form("/auth/token/access", s.codeOf(t, p, "requestAccess"), ":") },
		} {
			p := s.guest(t)
			if p.In == nil || *p.In != 1800 {
				t.Errorf("a guest has %v seconds, want 1800", p.In)
			}
			if got := s.Received("created"); len(got) != 0 {
				t.Fatalf("%s: told of a temporary user: %v", name, got)
			}
			before := s.record()
			token := s.kept(t, s.do(t, way(p)))
			if _, events := before.since(s.record()); len(events) != 0 {
				t.Errorf("%s: more events: %v", name, events)
			}
			got := s.Received("created")
			if len(got) != 1 || !strings.Contains(got[0].Body, fmt.Sprintf(`"id":%d,`, p.ID)) {
				t.Fatalf("%s: told %v", name, got)
			}
			var me struct{ ID int64 }
			s.do(t, ask{method: "GET", path: "/users/me", credential: token}).decode(t, &me)
			if me.ID != p.ID {
				t.Errorf("%s: the token is of user %d, want %d", name, me.ID, p.ID)
			}
			s.do(t, ask{method: "DELETE", path: "/sandbox/receiver", token: "config"}).says(t, 204, "", "")
		}
	})
}

// form returns an exchange as older clients of this API family send it: as a form, with HTTP Basic.
func (s *fixture) form(path, code, tail string) ask {
	main := s.domainOf("")
	basic := base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%d:%s%s", main.client.ID, main.secret, tail)))
	return ask{
		method: "POST", path: path, body: url.Values{"code": {code}, "grant_type": {"authorization_code"}}.Encode(),
		contentType: "application/x-www-form-urlencoded", header: map[string]string{"Authorization": "Basic " + basic},
	}
}

// Only one of several simultaneous requests can exchange the same single-use code.
func TestOneExchangeWins(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for _, kind := range []string{"singleAccess", "requestAccess"} {
			p := s.guest(t)
			code := s.codeOf(t, p, kind)
			before := s.record()
			won := s.contest(t, 6, func(int) ask { return s.exchanged(code) })
			want := map[string]int{"singleAccess": 1, "requestAccess": 6}[kind]
			if won[200] != want || won[200]+won[401] != 6 {
				t.Errorf("%s: answers %v", kind, won)
			}
			rows, events := before.since(s.record())
			if rows["user_token"] != int64(want) || rows["token"] != int64(want) || len(events) != 0 {
				t.Errorf("%s: rows %v, events %v", kind, rows, events)
			}
		}
	})
}

// When the deletion of a user and the exchange of the user's code run at the same time, the
// deletion succeeds in either order. Afterwards the user does not exist.
func TestDeletionAgainstExchange(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for range 5 {
			p := s.guest(t)
			code := s.codeOf(t, p, "singleAccess")
			won := s.contest(t, 2, func(i int) ask {
				if i == 0 {
					return s.exchanged(code)
				}
				return ask{method: "DELETE", path: "/users/me", credential: p.Token}
			})
			if won[204] != 1 || won[200]+won[401] != 1 {
				t.Errorf("answers %v", won)
			}
			s.do(t, ask{method: "GET", path: fmt.Sprintf("/users/%d", p.ID), token: "users"}).says(t, 404, "notFound", "")
			s.do(t, ask{method: "GET", path: "/users/me", credential: p.Token}).says(t, 401, "invalidToken", "")
		}
	})
}

func (s *fixture) contest(t *testing.T, n int, of func(i int) ask) map[int]int {
	t.Helper()
	asks := make([]ask, n)
	for i := range asks {
		asks[i] = of(i)
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		start = make(chan struct{})
		count = map[int]int{}
	)
	for _, a := range asks {
		group.Go(func() {
			<-start
			r := s.do(t, a)
			mu.Lock()
			defer mu.Unlock()
			count[r.status]++
		})
	}
	close(start)
	group.Wait()
	return count
}

// While a user is deleted, the user's other calls succeed, or find that the user is gone.
func TestConnectingWhileTheUserIsDeleted(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for range 5 {
			var p person
			s.do(t, ask{method: "POST", path: "/auth/init", body: `{` + s.credentials() + `}`}).decode(t, &p)
			count := s.contest(t, 4, func(i int) ask {
				if i == 1 {
					return ask{method: "DELETE", path: "/users/me", credential: p.Token}
				}
				return ask{method: "POST", path: "/users/me/connections", credential: p.Token, body: connecting}
			})
			for status, n := range count {
				if status >= 500 {
					t.Errorf("%d calls have the status %d", n, status)
				}
			}
		}
	})
}

// A deletion erases the user's data, and the content of the events about the user. A payment of the
// user stays, without the user.
func TestDeletingAUser(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		hook := `{"event":"USER_DELETED","url":"` + s.Origin + `/sandbox/receiver/deleted","id_service":{client}}`
		s.do(t, s.fill(t, ask{method: "POST", path: "/webhooks", token: "config", body: hook})).says(t, 200, "", "")
		var p person
		s.do(t, ask{method: "POST", path: "/auth/init", body: `{` + s.credentials() + `}`}).decode(t, &p)
		s.do(t, ask{method: "POST", path: "/users/me/config", credential: p.Token, body: `{"a":"b"}`}).says(t, 200, "", "")
		identity := fmt.Sprintf(`{"payer_identity":{"id_user":%d,"first_name":"Ada","last_name":"Lovelace"},`, p.ID)
		var paid struct{ ID int64 }
		s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: strings.Replace(minimalDraft, "{", identity, 1)}).decode(t, &paid)
		path := fmt.Sprintf("/payments/%d", paid.ID)
		if r := s.do(t, ask{method: "GET", path: path, token: "admin"}); !strings.Contains(string(r.body), fmt.Sprintf(`"id_user":%d`, p.ID)) {
			t.Errorf("the payment does not name its user: %s", r.body)
		}

		before := s.record()
		s.do(t, ask{method: "DELETE", path: "/users/me", credential: p.Token}).says(t, 204, "", "")
		_, events := before.since(s.record())
		if diff := cmp.Diff([]string{"USER_DELETED user 2"}, events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		s.do(t, ask{method: "GET", path: "/users/me", credential: p.Token}).says(t, 401, "invalidToken", "")
		s.do(t, ask{method: "GET", path: fmt.Sprintf("/users/%d", p.ID), token: "users"}).says(t, 404, "notFound", "")
		s.do(t, ask{method: "DELETE", path: fmt.Sprintf("/users/%d", p.ID), token: "users"}).says(t, 404, "notFound", "")
		if r := s.do(t, ask{method: "GET", path: path, token: "admin"}); !strings.Contains(string(r.body), `"id_user":null`) {
			t.Errorf("the payment still names its user: %s", r.body)
		}
		got := s.Received("deleted")
		if len(got) != 1 || !strings.Contains(got[0].Body, fmt.Sprintf(`"id":%d,`, p.ID)) {
			t.Fatalf("told %v", got)
		}

		s.pass(2 * time.Minute)
		if err := s.Aggregation.EraseUsers(t.Context(), s.domainOf("").domain); err != nil {
			t.Fatal(err)
		}
		rows := s.eyes.Rows()
		if rows["end_user"]+rows["user_token"]+rows["user_setting"]+rows["erasure"] != 0 {
			t.Errorf("left are %v", rows)
		}
		for _, e := range s.eyes.Events() {
			if e.Subject == "user" && e.Body != "{}" {
				t.Errorf("the event %s still says %s", e.Name, e.Body)
			}
		}
		s.discreet(t)
		for name, secret := range map[string]string{"token": p.Token, "secret": s.domainOf("").secret, "webhook header": strings.TrimPrefix(p.Token, "psl_usr_")} {
			if strings.Contains(s.Logs.String(), secret) {
				t.Errorf("the log has the %s", name)
			}
		}
	})
}

// The request with USER_DELETED has the user's token in a header, so the receiver can identify the
// user. The token is no longer valid for calls.
func TestADeletionEventCarriesTheUsersToken(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		reported := make(chan string, 2)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			reported <- r.Header.Get("SVC-Event") + " " + r.Header.Get("Authorization")
		}))
		t.Cleanup(receiver.Close)
		hook := `{"event":"USER_DELETED","url":"` + receiver.URL + `","id_service":{client}}`
		s.do(t, s.fill(t, ask{method: "POST", path: "/webhooks", token: "config", body: hook})).says(t, 200, "", "")
		var p person
		s.do(t, ask{method: "POST", path: "/auth/init", body: `{` + s.credentials() + `}`}).decode(t, &p)
		s.do(t, ask{method: "DELETE", path: "/users/me", credential: p.Token}).says(t, 204, "", "")
		s.due(t)
		var got []string
		for range len(reported) {
			got = append(got, <-reported)
		}
		if diff := cmp.Diff([]string{"USER_DELETED Bearer " + p.Token}, got); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		s.do(t, ask{method: "GET", path: "/users/me", credential: p.Token}).says(t, 401, "invalidToken", "")
	})
}

// The service erases an expired temporary user and the user's data, and emits no USER_DELETED.
func TestExpiredTemporaryUsersAreErased(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.Subscribe("USER_CREATED", "created")
		s.Subscribe("USER_DELETED", "deleted")
		gone, code := s.guest(t), ""
		stays := s.guest(t)
		code = s.codeOf(t, gone, "requestAccess")
		s.kept(t, s.do(t, s.exchanged(stays.Token)))
		before := s.record()
		s.pass(30 * time.Minute)
		s.do(t, ask{method: "GET", path: "/users/me", credential: gone.Token}).says(t, 401, "invalidToken", "")
		s.do(t, ask{method: "GET", path: fmt.Sprintf("/users/%d", gone.ID), token: "users"}).says(t, 404, "notFound", "")
		s.do(t, s.exchanged(code)).says(t, 401, "invalidToken", "code")
		for _, loop := range []func() error{
			func() error { return s.Aggregation.ExpireUsers(t.Context(), s.domainOf("").domain) },
			func() error { return s.Aggregation.EraseUsers(t.Context(), s.domainOf("").domain) },
		} {
			if err := loop(); err != nil {
				t.Fatal(err)
			}
		}
		rows, _ := before.since(s.record())
		if rows["end_user"] != -1 || rows["event"] != -1 || rows["token"] != -2 {
			t.Errorf("rows %v", rows)
		}
		if created, deleted := s.Received("created"), s.Received("deleted"); len(created) != 1 || len(deleted) != 0 {
			t.Errorf("told of %d and %d", len(created), len(deleted))
		}
	})
}

// A renewal can revoke earlier tokens of the same application, but no tokens of other applications.
func TestRevokingPrevious(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var p person
		s.do(t, ask{method: "POST", path: "/auth/init", body: `{` + s.credentials() + `}`}).decode(t, &p)
		renewal := func(who, more string) string {
			body := fmt.Sprintf(`{%s,"id_user":%d%s}`, who, p.ID, more)
			return s.kept(t, s.do(t, ask{method: "POST", path: "/auth/renew", body: body}))
		}
		second := renewal(s.credentials(), "")
		foreign := renewal(s.signer(t, s.domainOf("")), "")
		third := renewal(s.credentials(), `,"revoke_previous":true`)
		for token, status := range map[string]int{p.Token: 401, second: 401, foreign: 200, third: 200} {
			s.do(t, ask{method: "GET", path: "/users/me", credential: token}).says(t, status, "", "")
		}
	})
}

// A signed token works until it expires, someone revokes it, or the application gets new keys. A
// forged token does not work.
func TestSignedTokens(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		signed := func(more string) (string, map[string]any) {
			var out struct {
				Token   string         `json:"jwt_token"`
				Payload map[string]any `json:"payload"`
			}
			s.do(t, ask{method: "POST", path: "/auth/jwt", body: `{` + s.signer(t, s.domainOf("")) + more + `}`}).decode(t, &out)
			return out.Token, out.Payload
		}
		me := func(token string, status int) {
			t.Helper()
			s.do(t, ask{method: "GET", path: "/users/me", credential: token}).says(t, status, "", "")
		}
		lasting, payload := signed("")
		if diff := cmp.Diff(payload, claims(t, lasting)); diff != "" {
			t.Errorf("the token says something else than is told of it (-told +says):\n%s", diff)
		}
		if _, ends := payload["exp"]; ends || payload["type"] != "sharedAccess" || payload["iss"] != s.domainOf("").domain.BaseURL {
			t.Errorf("payload %v", payload)
		}
		before := s.record()
		tooLong := `{` + s.signer(t, s.domainOf("")) + `,"scope":"` + strings.Repeat("x", 3000) + `"}`
		s.do(t, ask{method: "POST", path: "/auth/jwt", body: tooLong}).says(t, 400, "invalidValue", "scope")
		s.untouched(t, before)
		exchange := func(token string, status int) {
			t.Helper()
			own := `{` + s.signer(t, s.domainOf(""))
			s.do(t, ask{method: "POST", path: "/auth/token/access", body: own + `,"code":"` + token + `"}`}).says(t, status, "", "")
			s.do(t, ask{method: "POST", path: "/auth/token/access", credential: token, body: own + `}`}).says(t, status, "", "")
		}
		exchange(lasting, 200)
		ending, _ := signed(`,"expire":true`)
		revoked, _ := signed("")
		me(lasting, 200)
		me(ending, 200)
		s.do(t, ask{method: "DELETE", path: "/auth/token", credential: revoked}).says(t, 204, "", "")
		me(revoked, 401)
		exchange(revoked, 401)
		s.do(t, ask{domain: "other", method: "GET", path: "/users/me", credential: lasting}).says(t, 401, "invalidToken", "")
		for name, forged := range forgeries(t, lasting, ending) {
			if r := s.do(t, ask{method: "GET", path: "/users/me", credential: forged}); r.status != 401 {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
			if strings.Count(forged, ".") == 2 && len(forged) <= 4096 {
				exchange(forged, 401)
			}
		}
		s.pass(43200 * time.Minute)
		me(ending, 401)
		me(lasting, 200)
		var signer struct {
			ID json.Number `json:"client_id"`
		}
		if err := json.Unmarshal([]byte(`{`+s.signer(t, s.domainOf(""))+`}`), &signer); err != nil {
			t.Fatal(err)
		}
		s.do(t, ask{method: "POST", path: "/clients/" + signer.ID.String(), token: "config", body: `{"generate_keys":true}`}).says(t, 200, "", "")
		me(lasting, 401)
	})
}

// A config token issues signed config tokens, and tokens of users.
func TestTokensByAnOperator(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.signer(t, s.domainOf(""))
		post := func(path, token, body string) reply {
			t.Helper()
			return s.do(t, ask{method: "POST", path: path, token: token, body: body})
		}
		var out struct {
			Token   string `json:"jwt_token"`
			Payload map[string]any
		}
		configured := func(token string, status int) {
			t.Helper()
			s.do(t, ask{method: "GET", path: "/config", credential: token}).says(t, status, "", "")
		}
		post("/admin/jwt", "config", `{"application":"signer","duration":10}`).decode(t, &out)
		if _, has := out.Payload["id_user"]; has || out.Payload["scope"] != "config" || seconds(out.Payload["exp"])-seconds(out.Payload["iat"]) != 600 {
			t.Errorf("payload %v", out.Payload)
		}
		ending := out.Token
		out.Payload = nil
		post("/admin/jwt", "config", `{"application":"signer"}`).decode(t, &out)
		if _, ends := out.Payload["exp"]; ends {
			t.Errorf("payload %v", out.Payload)
		}
		if diff := cmp.Diff(out.Payload, claims(t, out.Token)); diff != "" {
			t.Errorf("the token says something else than is told of it (-told +says):\n%s", diff)
		}
		configured(ending, 200)
		configured(out.Token, 200)
		s.do(t, ask{method: "GET", path: "/users", credential: out.Token}).says(t, 403, "forbidden", "")
		s.do(t, ask{domain: "other", method: "GET", path: "/config", credential: out.Token}).says(t, 401, "invalidToken", "")
		s.pass(11 * time.Minute)
		configured(ending, 401)
		configured(out.Token, 200)
		s.do(t, ask{method: "DELETE", path: "/auth/token", credential: out.Token}).says(t, 204, "", "")
		configured(out.Token, 401)

		s.token(t, "", "user", 0)
		path := fmt.Sprintf("/users/%d/token", s.domainOf("").user)
		var granted struct{ Token string }
		post(path, "config", `{"application":"signer"}`).decode(t, &granted)
		s.do(t, ask{method: "GET", path: "/users/me", credential: granted.Token}).says(t, 200, "", "")

		before := s.record()
		for _, body := range []string{`{"application":"nobody"}`, `{"application":"0"}`, `{}`} { // with two applications, the name must match one of them
			post(path, "config", body).says(t, 400, "invalidValue", "application")
			post("/admin/jwt", "config", body).says(t, 400, "invalidValue", "application")
		}
		keyless := fmt.Sprintf(`{"application":"%d"}`, s.domainOf("").client.ID)
		post("/admin/jwt", "config", keyless).says(t, 400, "invalidValue", "application")
		post("/admin/jwt", "config", `{"application":"signer","scope":"users"}`).says(t, 400, "invalidValue", "scope")
		post("/admin/jwt", "config", `{"application":"signer","duration":-1}`).says(t, 400, "invalidValue", "duration")
		post("/users/"+noID+"/token", "config", `{"application":"signer"}`).says(t, 404, "notFound", "")
		s.untouched(t, before)
	})
}

func claims(t *testing.T, token string) (said map[string]any) {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		err = decoder.Decode(&said)
	}
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func seconds(reported any) int64 {
	number, _ := reported.(json.Number)
	n, _ := number.Int64()
	return n
}

func forgeries(t *testing.T, one, other string) map[string]string {
	t.Helper()
	parts, others := strings.Split(one, "."), strings.Split(other, ".")
	coded := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	head := func(text string) string { return coded(text) + "." + parts[1] + "." + parts[2] }
	return map[string]string{
		"no signature":           parts[0] + "." + parts[1] + ".",
		"another's signature":    parts[0] + "." + parts[1] + "." + others[2],
		"another payload":        parts[0] + "." + coded(`{"id_user":1}`) + "." + parts[2],
		"algorithm none":         head(`{"alg":"none","kid":"10000000"}`),
		"a shared secret":        head(`{"alg":"HS256","kid":"10000000"}`),
		"no key":                 head(`{"alg":"RS256"}`),
		"no number as key":       head(`{"alg":"RS256","kid":"../../etc/passwd"}`),
		"no application":         head(`{"alg":"RS256","kid":"9223372036854775808"}`),
		"not coded":              "a.b.c",
		"dots":                   "..",
		"very long":              parts[0] + "." + strings.Repeat("A", 8000) + "." + parts[2],
		"the digits in capitals": strings.ToUpper(one),
	}
}

// clientFrom returns a client that sends its requests from a loopback address.
func clientFrom(t *testing.T, address string) *http.Client {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// After several wrong secrets for an application, requests for this application from the same
// address must wait. Requests from another address need not wait.
func TestWrongSecretsAreThrottledByAddress(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		main := s.domainOf("")
		attempt := func(path string, client any, secret string) reply {
			return s.do(t, ask{method: "POST", path: path, body: fmt.Sprintf(`{"client_id":"%v","client_secret":%q,"scope":"payments:admin"}`, client, secret)})
		}
		paths := []string{"/auth/init", "/auth/token", "/auth/renew", "/auth/jwt", "/auth/token/access"}
		for _, path := range paths {
			attempt(path, main.client.ID, "guess").says(t, 401, "invalidToken", "")
		}
		before := s.record()
		for _, path := range paths {
			r := attempt(path, main.client.ID, main.secret).says(t, 429, "rateLimited", "too many wrong secrets")
			if wait := r.header.Get("Retry-After"); wait != "60" {
				t.Errorf("Retry-After %q", wait)
			}
		}
		s.untouched(t, before)
		here := s.client
		s.client = clientFrom(t, "127.0.0.2")
		attempt("/auth/token", main.client.ID, main.secret).says(t, 200, "", "")
		s.client = here
		attempt("/auth/token", main.client.ID, main.secret).says(t, 429, "rateLimited", "too many wrong secrets")
		attempt("/auth/token", 12345678, "guess").says(t, 401, "invalidToken", "")
		s.do(t, ask{domain: "other", method: "POST", path: "/auth/init"}).says(t, 200, "", "")
		s.pass(time.Minute)
		attempt("/auth/token", main.client.ID, main.secret).says(t, 200, "", "")
		for range 4 {
			attempt("/auth/token", main.client.ID, "guess").says(t, 401, "invalidToken", "")
		}
		attempt("/auth/token", main.client.ID, main.secret).says(t, 200, "", "")
		attempt("/auth/token", main.client.ID, "guess").says(t, 401, "invalidToken", "")
	})
}

// Calls that return a token ignore idempotency keys. Each call creates a new token, and the service
// stores no response that contains a token.
func TestAuthenticationIsNotRepeated(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var p struct{ ID int64 }
		s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: minimalDraft}).decode(t, &p)
		for _, a := range []ask{
			{method: "POST", path: "/auth/init", token: "config"},
			{method: "POST", path: fmt.Sprintf("/payments/%d/scopedtoken", p.ID), token: "admin", body: `{"scope":"payments:validate"}`},
		} {
			a.header = map[string]string{"Idempotency-Key": "same"}
			var tokens []string
			for range 2 {
				var out struct {
					Token string
					Init  string `json:"auth_token"`
				}
				r := s.do(t, a)
				r.decode(t, &out)
				tokens = append(tokens, out.Token+out.Init)
				if r.header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s: replayed", a.path)
				}
			}
			if tokens[0] == tokens[1] {
				t.Errorf("%s: one token was handed out twice", a.path)
			}
		}
		if n := s.eyes.Count("SELECT count(*) FROM idempotency"); n != 0 {
			t.Errorf("%d responses are stored", n)
		}
	})
}

// Pages of the list of users contain all users, in both directions.
func TestListingUsers(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var want []int64
		for range 7 {
			want = append(want, s.guest(t).ID)
		}
		slices.Sort(want)
		page := func(path string) (ids []int64, next, prev string) {
			var out struct {
				Users []struct{ ID int64 }
				Total int
				Links struct {
					Next, Prev *struct{ Href string }
				} `json:"_links"`
			}
			s.do(t, ask{method: "GET", path: path, token: "users"}).decode(t, &out)
			if out.Total != len(want) {
				t.Errorf("total %d, want %d", out.Total, len(want))
			}
			for _, u := range out.Users {
				ids = append(ids, u.ID)
			}
			for link, into := range map[*struct{ Href string }]*string{out.Links.Next: &next, out.Links.Prev: &prev} {
				if link != nil {
					*into = strings.TrimPrefix(link.Href, s.Origin+version)
				}
			}
			return ids, next, prev
		}
		first, next, _ := page("/users?limit=3")
		second, next, back := page(next)
		third, last, _ := page(next)
		if got := slices.Concat(first, second, third); !slices.Equal(got, want) || last != "" {
			t.Errorf("pages %v, want %v, then %q", got, want, last)
		}
		if again, _, _ := page(back); !slices.Equal(again, first) {
			t.Errorf("back at %v, want %v", again, first)
		}
		if skipped, _, _ := page("/users?limit=2&offset=4"); !slices.Equal(skipped, want[4:6]) {
			t.Errorf("skipped to %v", skipped)
		}
	})
}

func TestApplicationScenarios(t *testing.T) {
	by := func(token, method, path, body string) ask {
		return ask{method: method, path: path, token: token, body: body}
	}
	anApplication, aLogo, anAct := map[string]int64{"client": 1, "audit": 1}, map[string]int64{"client_logo": 1, "audit": 1}, map[string]int64{"audit": 1}
	noLogo := map[string]int64{"client_logo": -1, "audit": 1}
	play(t, "clients", []scenario{
		{name: "create", status: 200, rows: anApplication, ask: by("config", "POST", "/clients", `{"name":"shop"}`)},
		{name: "create with everything", status: 200, rows: anApplication, ask: by("config", "POST", "/clients", `{"name":"shop","redirect_uris":["https://a.example/x"],"generate_keys":true,"primary_color":"#0a0B0c","secondary_color":"777777","description":"d","description_banks":"b","description_providers":"p","pro":true,"config":{"a":"b"}}`)},
		{name: "create without a name", status: 400, ask: by("config", "POST", "/clients", `{}`)},
		{name: "create with an empty name", status: 400, ask: by("config", "POST", "/clients", `{"name":" "}`)},
		{name: "create with a bad redirect URI", status: 400, ask: by("config", "POST", "/clients", `{"name":"x","redirect_uris":["javascript:alert(1)"]}`)},
		{name: "create with a colour nobody can read", status: 400, ask: by("config", "POST", "/clients", `{"name":"x","primary_color":"#ff8800"}`)},
		{name: "create with a colour nobody can see", status: 400, ask: by("config", "POST", "/clients", `{"name":"x","secondary_color":"ffffff"}`)},
		{name: "create with a bad colour", status: 400, ask: by("config", "POST", "/clients", `{"name":"x","primary_color":"red;}"}`)},
		{name: "create with nested configuration", status: 400, ask: by("config", "POST", "/clients", `{"name":"x","config":{"a":{}}}`)},
		{name: "read", status: 200, ask: by("config", "GET", "/clients/{client}", "")},
		{name: "read by a user", status: 200, ask: by("user", "GET", "/clients/{client}", "")},
		{name: "read another by a user", status: 404, ask: by("user", "GET", "/clients/{application}", "")},
		{name: "read none", status: 404, ask: by("config", "GET", "/clients/1", "")},
		{name: "read another domain's", status: 404, ask: by("config", "GET", "/clients/{other:client}", "")},
		{name: "list", status: 200, ask: ask{domain: "live", method: "GET", path: "/clients", token: "config"}},
		{name: "update", status: 200, rows: anAct, ask: by("config", "PUT", "/clients/{client}", `{"description":"new","config":{"a":"1","b":"2"}}`)},
		{name: "update a part of the configuration", status: 200, rows: anAct, ask: by("config", "POST", "/clients/{client}", `{"update_config":true,"config":{"b":"3"}}`)},
		{name: "update the whole configuration", status: 200, rows: anAct, ask: by("config", "POST", "/clients/{client}", `{"config":{"b":"3"}}`)},
		{name: "update with nothing", status: 200, ask: by("config", "POST", "/clients/{client}", ``)},
		{name: "reset the secret", status: 200, rows: anAct, ask: by("config", "POST", "/clients/{application}", `{"secret":true}`)},
		{name: "update none", status: 404, ask: by("config", "POST", "/clients/1", `{}`)},
		{name: "update another domain's", status: 404, ask: by("config", "POST", "/clients/{other:client}", `{}`)},
		{name: "set a logo", status: 200, rows: aLogo, ask: by("config", "POST", "/clients/{client}/logo", `{"logo":"`+tinyPNG+`"}`)},
		{name: "set another logo", status: 200, rows: anAct, ask: by("config", "POST", "/clients/{client}/logo", `{"logo":"`+tinyPNG+`"}`)},
		{name: "set a picture that is none", status: 400, ask: by("config", "POST", "/clients/{client}/logo", `{"logo":"`+base64.StdEncoding.EncodeToString([]byte(`<svg onload="alert(1)"/>`))+`"}`)},
		{name: "set a logo of none", status: 404, ask: by("config", "POST", "/clients/1/logo", `{"logo":"`+tinyPNG+`"}`)},
		{name: "set a logo of another domain's", status: 404, ask: by("config", "POST", "/clients/{other:client}/logo", `{"logo":"`+tinyPNG+`"}`)},
		{name: "remove the logo", status: 204, rows: noLogo, ask: by("config", "DELETE", "/clients/{client}/logo", "")},
		{name: "remove it again", status: 404, ask: by("config", "DELETE", "/clients/{client}/logo", "")},
		{name: "delete", status: 204, ask: by("config", "DELETE", "/clients/{application}", ""), rows: noLogo},
		{name: "delete none", status: 404, ask: by("config", "DELETE", "/clients/1", "")},
		{name: "delete another domain's", status: 404, ask: by("config", "DELETE", "/clients/{other:client}", "")},
	})
}

// TestRedirectURIOfAnExchange checks that an application without registered redirect URIs may send
// any in a sandbox, but only one that could be registered.
func TestRedirectURIOfAnExchange(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var app struct {
			ID     json.Number
			Secret string
		}
		s.do(t, ask{method: "POST", path: "/clients", token: "config", body: `{"name":"shop"}`}).decode(t, &app)
		credentials := fmt.Sprintf(`"client_id":%s,"client_secret":%q`, app.ID, app.Secret)
		var user struct {
			Token string `json:"auth_token"`
		}
		s.do(t, ask{method: "POST", path: "/auth/init", body: `{` + credentials + `}`}).decode(t, &user)
		for uri, status := range map[string]int{
			"https://any.example/back": 200, "back": 400, "javascript:alert(1)": 400, "https://any.example/back?code=1": 400, "https://any.example/#back": 400,
		} {
			answer := s.do(t, ask{method: "POST", path: "/auth/token/access", body: fmt.Sprintf(`{%s,"code":%q,"redirect_uri":%q}`, credentials, user.Token, uri)})
			code, message := "", ""
			if status == 400 {
				code, message = "invalidValue", "redirect_uri: "
			}
			answer.says(t, status, code, message)
		}
	})
}
