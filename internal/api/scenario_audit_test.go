package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The audit log records each registration, change and deletion of webhooks and their providers,
// with the id of the request. It does not record refused calls.
func TestChangesOfWebhooksAreAudited(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		const oauth = `{"type":"oauth","name":"o","config":{"url":"https://client.example/token","client_id":"c","client_secret":"s","grant_type":"client_credentials"}}`
		made := map[string]string{}
		for _, step := range []struct {
			name, method, path, body string
			want                     string
		}{
			{"p", "POST", "/webhooks/auth", `{"type":"hmac_signature","name":"p"}`, "register authentication provider"},
			{"o", "POST", "/webhooks/auth", oauth, "register authentication provider"},
			{"p", "PUT", "/webhooks/auth/%s", `{"name":"q"}`, "change authentication provider"},
			{"p", "POST", "/webhooks/auth/%s/rotate", "", "rotate secret of authentication provider"},
			{"", "POST", "/webhooks/auth", `{"type":"hmac_signature","name":"q"}`, ""},
			{"w", "POST", "/webhooks", `{"event":"USER_CREATED","url":"https://client.example/"}`, "register webhook"},
			{"w", "PUT", "/webhooks/%s", `{"url":"https://client.example/2"}`, "change webhook"},
			{"w", "PUT", "/webhooks/%s", `{"url":"ftp://x"}`, ""},
			{"w", "POST", "/webhooks/%s/add_to_data", `{"key":"customer"}`, "change webhook"},
			{"w", "PUT", "/webhooks/%s/add_to_data/customer", `{"value":"number"}`, "change webhook"},
			{"w", "DELETE", "/webhooks/%s/add_to_data/customer", "", "change webhook"},
			{"w", "DELETE", "/webhooks/%s/add_to_data", "", "change webhook"},
			{"w", "DELETE", "/webhooks/%s", "", "delete webhook"},
			{"w", "DELETE", "/webhooks/%s", "", ""},
			{"p", "DELETE", "/webhooks/auth/%s", "", "delete authentication provider"},
			{"", "DELETE", "/webhooks", "", "delete all webhooks"},
			{"", "DELETE", "/webhooks/auth", "", "delete all authentication providers"},
		} {
			path := step.path
			if id := made[step.name]; id != "" {
				path = fmt.Sprintf(path, id)
			}
			before := s.eyes.Count(`SELECT COALESCE(max(id), 0) FROM audit`)
			r := s.do(t, ask{method: step.method, path: path, token: "config", body: step.body})
			if (r.status < 300) != (step.want != "") {
				t.Fatalf("%s %s: %d %s", step.method, path, r.status, r.body)
			}
			if step.method == "POST" && made[step.name] == "" && step.name != "" {
				var out struct{ ID int64 }
				r.decode(t, &out)
				made[step.name] = fmt.Sprint(out.ID)
			}
			got, want := s.acts(before), step.want+" "+made[step.name]
			if step.want == "" && len(got) > 0 || step.want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
				t.Errorf("%s %s is recorded as %q, want %q", step.method, path, got, step.want)
			}
		}
	})
}

// The audit log records each test, recovery and resend, like the console and the commands. It does
// not record refused calls.
func TestSendingByHandIsAudited(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		sent := s.sent(t, "")
		id, data, _ := strings.Cut(sent, "/data/")
		for _, step := range []struct {
			path, body string
			want       []string
		}{
			{"/webhooks/" + id + "/test", "", []string{`["test webhook ` + id + `"]`}},
			{"/webhooks/" + id + "/recover", `{"since":"2026-11-20"}`, []string{`["recover webhook ` + id + `"]`}},
			{"/webhooks/" + sent + "/resend", "", []string{`["resend webhook data ` + data + `"]`}},
			{"/test/webhooks", "", []string{`["test webhook ` + id + `"]`}},
			{"/webhooks/" + id + "/test", `{"data":[]}`, nil},
			{"/webhooks/" + id + "/recover", `{}`, nil},
			{"/webhooks/" + id + "/data/" + noID + "/resend", "", nil},
		} {
			before := s.eyes.Count(`SELECT COALESCE(max(id), 0) FROM audit`)
			r := s.do(t, ask{method: "POST", path: step.path, token: "config", body: step.body})
			if got := s.acts(before); (r.status < 300) != (step.want != nil) || !slices.Equal(got, step.want) {
				t.Errorf("POST %s: %d, recorded as %q, want %q", step.path, r.status, got, step.want)
			}
		}
	})
}

// The audit log records each change of an application, and each config token that a config token
// creates, and the revocation of a config token. It does not record refused calls.
func TestChangesOfApplicationsAreAudited(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var made struct{ ID int64 }
		for _, step := range []struct {
			method, path, body string
			want               []string
		}{
			{"POST", "/clients", `{"name":"shop","generate_keys":true}`, []string{"create client"}},
			{"POST", "/clients", `{"name":""}`, nil},
			{"PUT", "/clients/%d", `{"name":"other"}`, []string{"change client"}},
			{"PUT", "/clients/%d", `{"secret":true,"generate_keys":true}`, []string{"reset client secret", "make keys of client"}},
			{"PUT", "/clients/%d", `{"primary_color":"red","secret":true}`, nil},
			{"POST", "/clients/%d/logo", `{"logo":"` + tinyPNG + `"}`, []string{"set logo of client"}},
			{"DELETE", "/clients/%d/logo", "", []string{"delete logo of client"}},
			{"DELETE", "/clients/%d/logo", "", nil},
			{"POST", "/admin/jwt", `{"application":"%d"}`, []string{"create token"}},
			{"DELETE", "/clients/%d", "", []string{"delete client"}},
			{"DELETE", "/clients/%d", "", nil},
			{"DELETE", "/auth/token", "", []string{"revoke token"}},
		} {
			path, body := step.path, step.body
			if made.ID != 0 {
				path, body = strings.ReplaceAll(path, "%d", fmt.Sprint(made.ID)), strings.ReplaceAll(body, "%d", fmt.Sprint(made.ID))
			}
			before := s.eyes.Count(`SELECT COALESCE(max(id), 0) FROM audit`)
			r := s.do(t, ask{method: step.method, path: path, token: "config", body: body})
			if made.ID == 0 {
				r.decode(t, &made)
			}
			var want []string
			for _, act := range step.want {
				id := fmt.Sprint(made.ID)
				switch act {
				case "create token":
					id = fmt.Sprint(s.eyes.Count(`SELECT max(id) FROM token`))
				case "revoke token":
					id = fmt.Sprint(s.eyes.Count(`SELECT id FROM token WHERE client_id IS NULL AND revoked IS NOT NULL`))
				}
				want = append(want, fmt.Sprintf("[%q]", act+" "+id))
			}
			got := s.acts(before)
			slices.Sort(got)
			slices.Sort(want)
			if (r.status < 300) != (step.want != nil) || !slices.Equal(got, want) {
				t.Errorf("%s %s: %d, recorded as %q, want %q", step.method, path, r.status, got, want)
			}
		}
	})
}

func (s *fixture) acts(after int64) []string {
	return s.eyes.Lines(map[string]string{"audit": fmt.Sprintf(`SELECT act || ' ' || COALESCE(CAST(subject_id AS TEXT), '') FROM audit
		WHERE domain_id = %d AND id > %d AND request_id <> '' AND operator_id IS NULL`, s.domainOf("").domain.ID, after)})["audit"]
}
