package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	aSetting       = map[string]int64{"setting": 1, "setting_change": 1}
	aSettingChange = map[string]int64{"setting_change": 1}
)

func TestConfigScenarios(t *testing.T) {
	get := func(path string) ask { return ask{method: "GET", path: path, token: "config"} }
	post := func(path, body string) ask {
		return ask{method: "POST", path: path, token: "config", body: body}
	}
	form := func(path, body string) ask {
		return ask{method: "POST", path: path, token: "config", body: body, contentType: "application/x-www-form-urlencoded"}
	}
	play(t, "config", []scenario{
		{name: "all, as they are by default", status: 200, ask: get("/config")},
		{name: "search", status: 200, ask: get("/config?search=Manager")},
		{name: "search for nothing there is", status: 200, ask: get("/config?search=no.such")},
		{name: "set under an old name", status: 200, rows: aSetting, ask: post("/config?search=manager", `{"biapi.manager.email":"ops@bank.example"}`)},
		{name: "set to what it is", status: 200, ask: post("/config?search=manager", `{"svc.manager.email":"ops@bank.example"}`)},
		{name: "update under the other name, in a form", status: 200, rows: aSettingChange, ask: form("/config?search=manager", `svc.manager.email=alerts%40bank.example`)},
		{name: "both names agree", status: 200, rows: aSetting, ask: post("/config?search=compression", `{"webhooks.compression.enabled":"1","webhooks.compressions.enabled":"1"}`)},
		{name: "both names disagree", status: 400, ask: post("/config", `{"webhooks.compression.enabled":"1","webhooks.compressions.enabled":"0"}`)},
		{name: "one name given and one reset", status: 400, ask: post("/config", `{"webhooks.compression.enabled":"1","webhooks.compressions.enabled":null}`)},
		{name: "reset", status: 200, rows: map[string]int64{"setting": -1, "setting_change": 1}, ask: post("/config?search=compression", `{"webhooks.compressions.enabled":null}`)},
		{name: "reset what is not set", status: 200, ask: post("/config?search=compression", `{"webhooks.compressions.enabled":null}`)},
		{name: "a key without effect", status: 200, rows: aSetting, ask: post("/config?search=autosync.freq", `{"autosync.frequency":"2"}`)},
		{name: "a key of a family", status: 200, rows: aSetting, ask: post("/config?search=cat.", `{"cat.some_thing.enabled":"x"}`)},
		{name: "reset one in a form", status: 200, rows: map[string]int64{"setting": -1, "setting_change": 1}, ask: form("/config?search=cat.", `cat.some_thing.enabled=null`)},
		{name: "nothing", status: 200, ask: post("/config?search=payment.max", `{}`)},
		{name: "by PUT", status: 200, ask: ask{method: "PUT", path: "/config?search=autosync.freq", token: "config", body: `{"autosync.frequency":"2"}`}},
		{name: "all or nothing", status: 400, ask: post("/config", `{"payment.max_amount":"5","api.timezone":"Mars"}`)},
		{name: "an unknown key", status: 400, ask: post("/config", `{"payment.max_amount":"5","payment.max_amont":"6"}`)},
		{name: "resetting an unknown key", status: 400, ask: post("/config", `{"payment.max_amont":null}`)},
		{name: "a number", status: 400, ask: post("/config", `{"payment.max_amount":5}`)},
		{name: "a boolean", status: 400, ask: post("/config", `{"payment.periodic.enabled":true}`)},
		{name: "an object", status: 400, ask: post("/config", `{"payment.max_amount":{}}`)},
		{name: "an array", status: 400, ask: post("/config", `[]`)},
		{name: "days of retention", status: 400, ask: post("/config", `{"webhooks.retention_days":"0"}`)},
		{name: "a search that is too long", status: 400, ask: get("/config?search=" + strings.Repeat("x", 101))},
		{name: "the record", status: 200, ask: get("/config/logs")},
		{name: "the record of a key by its old name", status: 200, ask: get("/config/logs?search=BIAPI.manager")},
		{name: "what was reset", status: 200, ask: get("/config/logs?type=delete")},
		{name: "what was added today", status: 200, ask: get("/config/logs?type=add&min_date=2026-11-20&max_date=2026-11-20&limit=2")},
		{name: "until yesterday", status: 200, ask: get("/config/logs?max_date=2026-11-19")},
		{name: "a percent sign is one", status: 200, ask: get("/config/logs?search=%25")},
		{name: "an unknown type", status: 400, ask: get("/config/logs?type=change")},
		{name: "another domain's record", status: 200, ask: ask{domain: "other", method: "GET", path: "/config/logs", token: "config"}},
		{name: "another domain's values", status: 200, ask: ask{domain: "other", method: "GET", path: "/config?search=manager", token: "config"}},
		{name: "reading with a users token", status: 403, ask: ask{method: "GET", path: "/config", token: "users"}},
	})
}

// The list of changes has pages, and each change names its actor.
func TestConfigRecordHasPages(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for i := range 7 {
			s.do(t, ask{method: "POST", path: "/config", token: "config", body: fmt.Sprintf(`{"payment.max_amount":"%d"}`, i+1)}).says(t, 200, "", "")
		}
		var got []string
		for path := "/config/logs?limit=3"; path != ""; {
			var p struct {
				Configlogs []struct {
					Previous  string `json:"previous_value"`
					New       string `json:"new_value"`
					Type      string
					ChangedBy string `json:"changed_by"`
				}
				Total int
				Links struct{ Next *struct{ Href string } } `json:"_links"`
			}
			s.do(t, ask{method: "GET", path: path, token: "config"}).decode(t, &p)
			if path = ""; p.Links.Next != nil {
				path = s.follow(t, p.Links.Next)
			}
			for _, c := range p.Configlogs {
				if !strings.HasPrefix(c.ChangedBy, "token ") || p.Total != 7 {
					t.Errorf("by %q of %d", c.ChangedBy, p.Total)
				}
				got = append(got, c.Type+" "+c.Previous+" "+c.New)
			}
		}
		want := []string{"update 6 7", "update 5 6", "update 4 5", "update 3 4", "update 2 3", "update 1 2", "add  1"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
}

// A changed configuration value applies from the next request.
func TestConfigHasAnEffect(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		create := ask{method: "POST", path: "/payments", token: "admin", body: minimalDraft}
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"payment.max_amount":"10"}`}).says(t, 200, "", "")
		s.do(t, create).says(t, 400, "invalidValue", "10")
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"payment.max_amount":null}`}).says(t, 200, "", "")
		s.do(t, create).says(t, 200, "", "")
	})
}

// The certificates of authorities may be longer than other values.
func TestLongConfigValues(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		authority, _ := certificate(t, opening.AddDate(1, 0, 0))
		long, err := json.Marshal(map[string]string{"webhooks.ca_cert": strings.Repeat(authority, 20)})
		must(t, err)
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: string(long)}).says(t, 200, "", "")
		longer := `{"webhooks.ca_cert":"` + strings.Repeat("x", 32769) + `"}`
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: longer}).says(t, 400, "invalidValue", "webhooks.ca_cert: longer than 32768 characters")
		other := `{"svc.manager.email":"` + strings.Repeat("x", 4097) + `"}`
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: other}).says(t, 400, "invalidValue", "svc.manager.email: ")
	})
}

// Browsers may call the API only from pages of a listed origin.
func TestOriginsThatMayCall(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const page = "https://app.example"
		read := ask{method: "GET", path: "/users/me", token: "user", header: map[string]string{"Origin": page}}
		asks := ask{method: "OPTIONS", path: "/users/me/connections", header: map[string]string{"Origin": page, "Access-Control-Request-Method": "POST"}}
		wants := func(when, allowed string, status int) {
			t.Helper()
			if got := s.do(t, read); got.status != 200 || got.header.Get("Access-Control-Allow-Origin") != allowed {
				t.Errorf("%s: a call is answered %d for %q", when, got.status, got.header.Get("Access-Control-Allow-Origin"))
			}
			if got := s.do(t, asks); got.status != status || strings.Contains(got.header.Get("Access-Control-Allow-Methods"), "POST") != (allowed != "") {
				t.Errorf("%s: a question is answered %d with %v", when, got.status, got.header)
			}
		}
		wants("at first", "", 405)
		s.configure(t, "", map[string]string{"biapi.allowed_origins": "https://other.example, " + page})
		wants("listed", page, 204)
		read.domain, asks.domain = "other", "other"
		wants("elsewhere", "", 405)
		read.domain, asks.domain = "", ""
		s.configure(t, "", map[string]string{"api.allowed_origins": ""})
		wants("not any more", "", 405)
	})
}
