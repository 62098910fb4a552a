package api_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	program "passerelle/internal/service"
	"passerelle/internal/servicetest"
)

func newUUID() string {
	raw := make([]byte, 16)
	rand.Read(raw) // never returns an error, according to its documentation
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
}

func outsideAddress(t *testing.T) string {
	t.Helper()
	return servicetest.ServeProgram(t, newUUID())
}

func (s *fixture) outsideProgram(t *testing.T) string {
	t.Helper()
	added, err := program.Programs(s.DB).Add(t.Context(), outsideAddress(t), servicetest.ConnectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(added.Number(), 10)
}

// The audit log records successful additions, checks and removals of programs. A program is a
// connector of all domains until its removal.
func TestConnectorPrograms(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const path = "/connector_programs"
		call := func(method, path, body string) reply {
			return s.do(t, ask{method: method, path: path, token: "deployment", body: body})
		}
		body := func(address, secret string) string { return fmt.Sprintf(`{"address":%q,"secret":%q}`, address, secret) }
		uuid := newUUID()
		address := servicetest.ServeProgram(t, uuid)
		for _, wrong := range []struct {
			address, secret, message string
			status                   int
		}{
			{"ftp://x", servicetest.ConnectorSecret, "address: must be the https address", 400},
			{address, "short", "secret: must have 32 to 256", 400},
			{address, "another secret of thirty-two characters", "the signature is missing or wrong", 503},
			{"http://127.0.0.1:1", servicetest.ConnectorSecret, "it cannot be reached", 503},
		} {
			r := call("POST", path, body(wrong.address, wrong.secret))
			if _, message := r.message(t); r.status != wrong.status || !strings.Contains(message, wrong.message) {
				t.Errorf("%s: %d %s", wrong.message, r.status, r.body)
			}
		}
		s.wantProgramActs(t)
		var added struct {
			ID                  int64
			UUID, Address, Name string
			Capabilities        []string
			Error               *string
		}
		r := call("POST", path, body(address, servicetest.ConnectorSecret))
		if r.decode(t, &added); added.UUID != uuid || added.Address != address || added.Name != "Outside" || len(added.Capabilities) != 1 || added.Error != nil {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if strings.Contains(string(r.body), servicetest.ConnectorSecret) {
			t.Error("the secret is shown")
		}
		if r := call("POST", path, body(address, servicetest.ConnectorSecret)); r.status != 400 || !strings.Contains(string(r.body), "already exists") {
			t.Errorf("a second time: %d %s", r.status, r.body)
		}
		var list struct {
			Programs []struct{ UUID string } `json:"connector_programs"`
			Total    int
		}
		if call("GET", path, "").decode(t, &list); list.Total != 1 || list.Programs[0].UUID != uuid {
			t.Errorf("the list is %+v", list)
		}
		s.ReloadBanks(t.Context())
		for _, domain := range []string{"", "other", "live"} {
			s.do(t, ask{domain: domain, method: "GET", path: "/connectors/" + uuid}).says(t, 200, "", "")
		}
		at := path + "/" + uuid
		call("GET", at, "").says(t, 200, "", "")
		call("POST", at+"/check", "").says(t, 200, "", "")
		call("GET", path+"/1", "").says(t, 404, "notFound", "")
		s.do(t, ask{method: "DELETE", path: at, token: "config"}).says(t, 403, "forbidden", "")
		call("DELETE", path+"/"+strconv.FormatInt(added.ID, 10), "").says(t, 204, "", "")
		call("DELETE", at, "").says(t, 404, "notFound", "")
		s.wantProgramActs(t, "add connector", "check connector", "remove connector")
		s.ReloadBanks(t.Context())
		s.do(t, ask{method: "GET", path: "/connectors/" + uuid}).says(t, 404, "notFound", "")
	})
}

// A program that no longer responds is listed with an error, after a check as well as after a read,
// until a call succeeds.
func TestErrorsOfConnectorPrograms(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		uuid := newUUID()
		origin, err := url.Parse(servicetest.ServeProgram(t, uuid))
		if err != nil {
			t.Fatal(err)
		}
		var down atomic.Bool
		program := httputil.NewSingleHostReverseProxy(origin)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			program.ServeHTTP(w, r)
		}))
		defer server.Close()
		call := func(method, path, body string) reply {
			return s.do(t, ask{method: method, path: "/connector_programs" + path, token: "deployment", body: body})
		}
		wants := func(when, want string) {
			t.Helper()
			var list struct {
				Programs []struct{ Error *string } `json:"connector_programs"`
			}
			call("GET", "", "").decode(t, &list)
			got := ""
			if e := list.Programs[0].Error; e != nil {
				got = *e
			}
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s: error %q, want %q", when, got, want)
			}
		}
		call("POST", "", fmt.Sprintf(`{"address":%q,"secret":%q}`, server.URL, servicetest.ConnectorSecret)).says(t, 200, "", "")
		s.ReloadBanks(t.Context())
		wants("a new program", "")
		down.Store(true)
		call("POST", "/"+uuid+"/check", "").says(t, 503, "unavailable", "but with 502")
		wants("after a failed check", "calls have failed, 1 in a row, the last one at 20")
		s.do(t, ask{method: "POST", path: "/connections", token: "user", body: `{"connector_uuid":"` + uuid + `"}`}).says(t, 200, "", "")
		wants("after a failed read", "calls have failed, 2 in a row, the last one at 20")
		down.Store(false)
		call("POST", "/"+uuid+"/check", "").says(t, 200, "", "")
		wants("after a successful check", "")
	})
}

func (s *fixture) wantProgramActs(t *testing.T, want ...string) {
	t.Helper()
	got := s.eyes.Lines(map[string]string{"audit": `SELECT act, request_id <> '' FROM audit WHERE subject = 'connector' AND subject_id > 1000000 ORDER BY id`})["audit"]
	if len(got) != len(want) {
		t.Fatalf("on record are %q, want %q", got, want)
	}
	for i, act := range want {
		if !strings.Contains(strings.Join(got, "\n"), act) {
			t.Errorf("on record is %q, want %q", got[i], act)
		}
	}
}
