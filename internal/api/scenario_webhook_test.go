package api_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/store/storetest"
)

func (s *fixture) webhookFor(t *testing.T, domainName, event string) string {
	t.Helper()
	var out struct{ ID int64 }
	body := fmt.Sprintf(`{"event":%q,"url":"%s/sandbox/receiver/listening"}`, event, s.Origin)
	s.do(t, ask{domain: domainName, method: "POST", path: "/webhooks", token: "config", body: body}).decode(t, &out)
	return strconv.FormatInt(out.ID, 10)
}

// sent returns the path of a webhook's delivery, below /webhooks.
func (s *fixture) sent(t *testing.T, domainName string) string {
	t.Helper()
	id := s.webhookFor(t, domainName, "USER_SYNCED")
	var out struct {
		ID int64 `json:"id_webhook_data"`
	}
	s.do(t, ask{domain: domainName, method: "POST", path: "/webhooks/" + id + "/test", token: "config", body: `{"data":{"id":7}}`}).decode(t, &out)
	return fmt.Sprintf("%s/data/%d", id, out.ID)
}

// The test of a webhook adds the rows in aTest. A resend adds the rows in aRequest.
var (
	aTest    = map[string]int64{"event": 1, "delivery": 1, "delivery_attempt": 1, "webhook_health": 1, "received": 1, "audit": 1}
	aRequest = map[string]int64{"delivery_attempt": 1, "received": 1, "audit": 1}
)

func TestRegistrationScenarios(t *testing.T) {
	config := func(method, path, body string) ask {
		return ask{method: method, path: path, token: "config", body: body}
	}
	hook := `{"event":"ACCOUNT_SYNCED","url":"https://client.example/hook"`
	play(t, "registrations", []scenario{
		{name: "events", status: 200, ask: ask{method: "GET", path: "/webhooks_events", token: "read-only"}},
		{name: "events without a token", status: 401, ask: ask{method: "GET", path: "/webhooks_events"}},
		{name: "create with everything", status: 200, rows: aWebhook, ask: config("POST", "/webhooks", hook+`,"id_user":{user},"id_service":{client},"id_auth":{provider},"disabled":true}`)},
		{name: "create in a form", status: 200, rows: aWebhook, ask: ask{method: "POST", path: "/webhooks", token: "config", contentType: "application/x-www-form-urlencoded", body: "event=ACCOUNT_SYNCED&url=https%3A%2F%2Fclient.example%2Fhook&id_user=null&disabled=false"}},
		{name: "create for a user of another domain", status: 400, ask: config("POST", "/webhooks", hook+`,"id_user":{other:user}}`)},
		{name: "create for user 0", status: 400, ask: config("POST", "/webhooks", hook+`,"id_user":0}`)},
		{name: "read", status: 200, ask: config("GET", "/webhooks/{webhook}?expand=webhook_event", "")},
		{name: "read none", status: 404, ask: config("GET", "/webhooks/"+noID, "")},
		{name: "list with events", status: 200, ask: config("GET", "/webhooks?limit=1&expand=webhook_event", "")},
		{name: "disable", status: 200, rows: anAct, ask: config("PUT", "/webhooks/{webhook}", `{"disabled":true}`)},
		{name: "change the application to another domain's", status: 400, ask: config("POST", "/webhooks/{webhook}", `{"id_service":{other:client}}`)},
		{name: "delete by a date", status: 200, rows: anAct, ask: config("POST", "/webhooks/{webhook}", `{"deleted":"2026-11-20"}`)},
		{name: "delete by an instant", status: 200, rows: anAct, ask: config("POST", "/webhooks/{webhook}", `{"deleted":"2026-11-20 10:00:00"}`)},
		{name: "delete by no date", status: 400, ask: config("POST", "/webhooks/{webhook}", `{"deleted":"yes"}`)},
		{name: "make live what is live", status: 200, rows: anAct, ask: config("POST", "/webhooks/{webhook}", `{"deleted":null}`)},
		{name: "the word null in JSON", status: 200, rows: anAct, ask: config("POST", "/webhooks/{webhook}", `{"deleted":"null"}`)},
		{name: "delete all of a domain", status: 204, rows: anAct, ask: ask{domain: "other", method: "DELETE", path: "/webhooks?x={other:webhook}{other:webhook}", token: "config"}},
		{name: "none is left", status: 200, ask: ask{domain: "other", method: "GET", path: "/webhooks", token: "config"}},
	})
}

func TestWebhookDataScenarios(t *testing.T) {
	config := func(method, path, body string) ask {
		return ask{method: method, path: path, token: "config", body: body}
	}
	play(t, "webhookdata", []scenario{
		{name: "test", status: 200, rows: aTest, events: []string{"USER_SYNCED test 1"}, ask: config("POST", "/webhooks/{listening}/test", "")},
		{name: "test with data", status: 200, rows: aTest, events: []string{"USER_SYNCED test 2"}, ask: config("POST", "/webhooks/{listening}/test", `{"data":{"any":[1.50,null]}}`)},
		{name: "test with null", status: 200, rows: aTest, events: []string{"USER_SYNCED test 3"}, ask: config("POST", "/webhooks/{listening}/test", `{"data":null}`)},
		{name: "test with an array", status: 400, ask: config("POST", "/webhooks/{listening}/test", `{"data":[]}`)},
		{name: "test with too much", status: 400, ask: config("POST", "/webhooks/{listening}/test", `{"data":{"a":"`+strings.Repeat("x", 256<<10)+`"}}`)},
		{name: "test of none", status: 404, ask: config("POST", "/webhooks/"+noID+"/test", "")},
		{name: "resend", status: 200, rows: aRequest, ask: config("POST", "/webhooks/{sent}/resend", "")},
		{name: "resend nothing", status: 404, ask: config("POST", "/webhooks/{listening}/data/"+noID+"/resend", "")},
		{name: "resend of none", status: 404, ask: config("POST", "/webhooks/"+noID+"/data/1/resend", "")},
		{name: "recover nothing", status: 200, rows: anAct, ask: config("POST", "/webhooks/{listening}/recover", `{"since":"2026-11-01 12:00:00"}`)},
		{name: "recover since when", status: 400, ask: config("POST", "/webhooks/{listening}/recover", `{}`)},
		{name: "recover since yesterday", status: 400, ask: config("POST", "/webhooks/{listening}/recover", `{"since":"yesterday"}`)},
		{name: "recover none", status: 404, ask: config("POST", "/webhooks/"+noID+"/recover", `{"since":"2026-11-01"}`)},
		{name: "data of none", status: 404, ask: config("GET", "/webhooks/"+noID+"/data", "")},
		{name: "data without any", status: 200, ask: config("GET", "/webhooks/{listening}/data?state=pending&min_date=2026-11", "")},
		{name: "data in an unknown state", status: 400, ask: config("GET", "/webhooks/{listening}/data?state=lost", "")},
		{name: "logs without any", status: 200, ask: config("GET", "/webhooks/{listening}/logs", "")},
		{name: "logs of user 0", status: 400, ask: config("GET", "/webhooks/{listening}/logs?id_user=0", "")},
		{name: "logs of none", status: 404, ask: config("GET", "/webhooks/"+noID+"/logs", "")},
	})
}

type item struct {
	ID       int64
	Success  bool
	State    string
	Data     *string
	Code     *int             `json:"response_code"`
	NextTry  *string          `json:"next_try"`
	Count    int              `json:"attempt_count"`
	Attempts []map[string]any `json:"attempts"`
}

func (s *fixture) items(t *testing.T, path string) (all []item, total int) {
	t.Helper()
	var out map[string]json.RawMessage
	s.do(t, ask{method: "GET", path: path, token: "config"}).decode(t, &out)
	for key, raw := range out {
		var into any = &all
		switch key {
		case "total":
			into = &total
		case "_links":
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	return all, total
}

func (s *fixture) deliveredEvents(t *testing.T) {
	t.Helper()
	path := "/payments/" + strconv.FormatInt(s.created(t, ""), 10)
	s.do(t, ask{method: "POST", path: path, token: "validate", body: validation}).says(t, 200, "", "")
	s.due(t)
}

func (s *fixture) due(t *testing.T) {
	t.Helper()
	s.do(t, ask{method: "POST", path: "/sandbox/run", token: "config"}).says(t, 200, "", "")
}

func (s *fixture) change(t *testing.T, webhook, body string) {
	t.Helper()
	s.do(t, ask{method: "PUT", path: "/webhooks/" + webhook, token: "config", body: body}).says(t, 200, "", "")
}

// A disabled or deleted webhook receives nothing. After it is enabled or restored, it receives the
// deliveries that were undelivered before the pause, but no events from the pause.
func TestPausesOfWebhooks(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for pause, resume := range map[string]string{`{"disabled":true}`: `{"disabled":false}`, `{"deleted":"2026-11-20"}`: `{"deleted":"null"}`} {
			id := s.webhookFor(t, "", "PAYMENT_STATE_UPDATED")
			away := "http://127.0.0.1:1/away"
			s.change(t, id, `{"url":"`+away+`"}`)
			s.deliveredEvents(t)
			s.change(t, id, strings.Replace(pause, "}", `,"url":"`+s.Origin+`/sandbox/receiver/back`+id+`"}`, 1))
			s.deliveredEvents(t)
			s.pass(time.Hour)
			s.due(t)
			if got := s.Received("back" + id); len(got) != 0 {
				t.Errorf("%s: %d arrived", pause, len(got))
			}
			s.nothing(t, ask{method: "GET", path: "/webhooks/" + id, token: "config"})
			s.change(t, id, resume)
			s.due(t)
			if got := s.Received("back" + id); len(got) != 1 {
				t.Errorf("%s: %d arrived afterwards", resume, len(got))
			}
			s.do(t, ask{method: "GET", path: "/webhooks/" + id, token: "config"}).says(t, 200, "", "")
			s.do(t, ask{method: "DELETE", path: "/webhooks/" + id, token: "config"}).says(t, 204, "", "")
		}
	})
}

// Without the parameter all, GET does not find a disabled or deleted webhook, and PUT cannot change
// its event.
func TestHiddenWebhooks(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for _, hide := range []string{`{"disabled":true}`, `{"deleted":"2026-11-20"}`} {
			id := s.thing(t, "", "webhook")
			path := "/webhooks/" + id
			s.change(t, id, hide)
			s.nothing(t, ask{method: "GET", path: path, token: "config"})
			s.nothing(t, ask{method: "PUT", path: path, token: "config", body: `{"event":"ACCOUNT_FOUND"}`})
			s.do(t, ask{method: "GET", path: path + "?all", token: "config"}).says(t, 200, "", "")
			listed, _ := s.items(t, "/webhooks?all")
			if shown, total := s.items(t, "/webhooks"); len(shown) != 0 || total != 0 || len(listed) == 0 {
				t.Errorf("%s: %d are shown, total %d, of %d", hide, len(shown), total, len(listed))
			}
		}
		id := s.thing(t, "", "webhook")
		s.do(t, ask{method: "DELETE", path: "/webhooks/" + id, token: "config"}).says(t, 204, "", "")
		s.nothing(t, ask{method: "DELETE", path: "/webhooks/" + id, token: "config"})
		s.nothing(t, ask{method: "PUT", path: "/webhooks/" + id + "?all", token: "config", body: `{"deleted":"2026-11-20"}`})
		s.nothing(t, ask{method: "PUT", path: "/webhooks/" + id + "?all", token: "config", body: `{"event":"ACCOUNT_FOUND"}`})
		for _, call := range []string{"test", "recover"} {
			s.do(t, ask{method: "POST", path: "/webhooks/" + id + "/" + call, token: "config", body: `{"since":"2026"}`}).says(t, 409, "conflict", "deleted")
		}
	})
}

// Null removes the optional properties of a webhook. In a form, the word null has the same effect.
func TestNullClearsPropertiesOfWebhooks(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for contentType, body := range map[string]string{
			"application/json":                  `{"id_service":null,"id_user":null,"id_auth":null}`,
			"application/x-www-form-urlencoded": "id_service=null&id_user=null&id_auth=null",
		} {
			for _, method := range []string{"PUT", "POST"} {
				create := `{"event":"ACCOUNT_SYNCED","url":"https://client.example/hook","id_user":{user},"id_service":{client},"id_auth":{provider}}`
				var made, changed, left map[string]any
				s.do(t, s.fill(t, ask{method: "POST", path: "/webhooks", token: "config", body: create})).decode(t, &made)
				path := fmt.Sprint("/webhooks/", made["id"])
				s.do(t, ask{method: method, path: path, token: "config", contentType: contentType, body: body}).decode(t, &changed)
				s.do(t, ask{method: "GET", path: path, token: "config"}).decode(t, &left)
				for _, key := range []string{"id_service", "id_user", "id_auth"} {
					if made[key] == nil || changed[key] != nil || left[key] != nil {
						t.Errorf("%s %s: %s was %v and is %v, %v", method, body, key, made[key], changed[key], left[key])
					}
				}
			}
		}
	})
}

// The lists of data and logs show a delivery that failed, was made due again, was accepted, and was
// sent again.
func TestLifeOfADelivery(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		id := s.webhookFor(t, "", "PAYMENT_STATE_UPDATED")
		base := "/webhooks/" + id
		s.change(t, id, `{"url":"http://127.0.0.1:1/away"}`)
		s.deliveredEvents(t)
		pending, total := s.items(t, base+"/data?state=pending&expand=attempts")
		if len(pending) != 1 || total != 1 || pending[0].Count != 1 || pending[0].NextTry == nil || len(pending[0].Attempts) != 1 || pending[0].Success {
			t.Fatalf("pending %+v of %d", pending, total)
		}
		logs, _ := s.items(t, base+"/logs")
		if len(logs) != 1 || logs[0].Code != nil || logs[0].NextTry == nil {
			t.Errorf("logs %+v", logs)
		}
		s.change(t, id, `{"url":"`+s.Origin+`/sandbox/receiver/back"}`)
		s.due(t) // the delivery is not due yet
		if got := s.Received("back"); len(got) != 0 {
			t.Errorf("%d arrived before their time", len(got))
		}
		for since, due := range map[string]int{"2026-11-21": 0, "2026-11-20 09:00:00": 1} {
			var out struct {
				Due  int
				More bool
			}
			s.do(t, ask{method: "POST", path: base + "/recover", token: "config", body: `{"since":"` + since + `"}`}).decode(t, &out)
			if out.Due != due || out.More {
				t.Errorf("since %s: %+v", since, out)
			}
		}
		s.due(t)
		delivered, total := s.items(t, base+"/data?state=delivered&min_date=2026-11-20&max_date=2026-11-20")
		if len(delivered) != 1 || total != 1 || delivered[0].ID != pending[0].ID || delivered[0].Count != 2 || delivered[0].NextTry != nil || !delivered[0].Success {
			t.Fatalf("delivered %+v", delivered)
		}
		s.resent(t, base, delivered[0])
	})
}

// Nothing is sent to a webhook whose authentication provider was deleted, so its payloads have no
// next try until it has another provider.
func TestNextTryWithoutProvider(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		id, provider := s.webhookFor(t, "", "PAYMENT_STATE_UPDATED"), s.thing(t, "", "provider")
		base := "/webhooks/" + id
		s.change(t, id, `{"url":"http://127.0.0.1:1/away","id_auth":`+provider+`}`)
		s.deliveredEvents(t)
		s.do(t, ask{method: "DELETE", path: "/webhooks/auth/" + provider, token: "config"}).says(t, 204, "", "")
		for _, known := range []bool{false, true} {
			for _, list := range []string{"/data", "/logs"} {
				if shown, _ := s.items(t, base+list); len(shown) != 1 || (shown[0].NextTry != nil) != known {
					t.Errorf("%s, with another provider %t: %+v", list, known, shown)
				}
			}
			s.change(t, id, `{"id_auth":`+s.thing(t, "", "provider")+`}`)
		}
	})
}

// Without min_date, the range of the logs is one month. The month before the end of 30 March begins
// on the last day of February.
func TestMonthOfWebhookLogs(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		base := "/webhooks/" + s.webhookFor(t, "", "PAYMENT_STATE_UPDATED")
		s.deliveredEvents(t)
		for moment, want := range map[string]int{"2026-02-27": 0, "2026-02-28": 1, "2026-03-01": 1} {
			at, err := time.Parse(time.DateOnly, moment)
			must(t, err)
			storetest.Break(t, s.url, fmt.Sprintf(`UPDATE delivery_attempt SET at = %d`, at.UnixMicro()))
			if logs, _ := s.items(t, base+"/logs?max_date=2026-03-30"); len(logs) != want {
				t.Errorf("%d logs of %s, want %d", len(logs), moment, want)
			}
		}
	})
}

// resent checks that a delivery is sent again with the same request body.
func (s *fixture) resent(t *testing.T, base string, d item) {
	t.Helper()
	path := fmt.Sprintf("%s/data/%d/resend", base, d.ID)
	var out item
	s.do(t, ask{method: "POST", path: path, token: "config"}).decode(t, &out)
	if out.Count != 3 || len(out.Attempts) != 3 || out.State != "delivered" {
		t.Errorf("resent %+v", out)
	}
	got := s.Received("back")
	if len(got) != 2 || got[0].Body != got[1].Body || d.Data == nil || got[1].Body != *d.Data || !strings.Contains(*d.Data, fmt.Sprintf(`{"id_webhook_data":%d,`, d.ID)) {
		t.Errorf("received %+v, and the list shows %v", got, d.Data)
	}
	if logs, total := s.items(t, base+"/logs?limit=2"); len(logs) != 2 || total != 3 || *logs[0].Code != 204 {
		t.Errorf("logs %+v of %d", logs, total)
	}
	for _, end := range []struct{ body, message string }{{`{"disabled":true}`, "disabled"}, {`{"deleted":"2026-11-20"}`, "deleted"}} {
		s.do(t, ask{method: "PUT", path: base + "?all", token: "config", body: end.body}).says(t, 200, "", "")
		s.do(t, ask{method: "POST", path: path, token: "config"}).says(t, 409, "conflict", end.message)
	}
	if logs, _ := s.items(t, base+"/logs"); len(logs) != 3 {
		t.Errorf("a deleted webhook has %d logs", len(logs))
	}
}

// The success rate of a webhook covers the last 24 hours.
func TestHealthOfWebhooks(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		id := s.webhookFor(t, "", "PAYMENT_STATE_UPDATED")
		health := func() (rate string, warning string, failures int) {
			var out struct {
				Health struct {
					Rate     json.Number `json:"success_rate"`
					Failures int         `json:"consecutive_failures"`
				} `json:"health_data"`
				Warning string
			}
			s.do(t, ask{method: "GET", path: "/webhooks/" + id, token: "config"}).decode(t, &out)
			return out.Health.Rate.String(), out.Warning, out.Health.Failures
		}
		want := func(rate, warning string, failures int) {
			t.Helper()
			gotRate, gotWarning, gotFailures := health()
			if gotRate != rate || !strings.Contains(gotWarning, warning) || gotFailures != failures {
				t.Errorf("rate %q, %d failures, %q; want %q, %d, %q", gotRate, gotFailures, gotWarning, rate, failures, warning)
			}
		}
		want("", "are not authenticated", 0)
		for range 3 {
			s.do(t, ask{method: "POST", path: "/webhooks/" + id + "/test", token: "config"}).says(t, 200, "", "")
		}
		want("1", "are not authenticated", 0)
		s.change(t, id, `{"url":"http://127.0.0.1:1/away","id_auth":`+s.thing(t, "", "provider")+`}`)
		s.do(t, ask{method: "POST", path: "/webhooks/" + id + "/test", token: "config"}).says(t, 200, "", "")
		want("0.75", "In the last 24 hours, 1 of 4 requests failed.", 1)
		s.pass(26 * time.Hour)
		want("", "", 1)
	})
}

// The service deletes old, finished events with all their data.
func TestRetention(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		id := s.webhookFor(t, "", "PAYMENT_STATE_UPDATED")
		s.deliveredEvents(t)
		s.change(t, id, `{"url":"http://127.0.0.1:1/away"}`)
		s.deliveredEvents(t)
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"webhooks.retention_days":"7","webhooks.flush_interval_seconds":"86400"}`}).says(t, 200, "", "")
		states := func() string {
			all, _ := s.items(t, "/webhooks/"+id+"/data")
			var words []string
			for _, one := range all {
				words = append(words, one.State)
			}
			return strings.Join(words, " ")
		}
		var got []string
		for _, by := range []string{"144h", "25h", "240h"} {
			s.do(t, ask{method: "POST", path: "/sandbox/clock", token: "config", body: `{"advance":"` + by + `"}`}).says(t, 200, "", "")
			got = append(got, states())
		}
		s.change(t, id, `{"deleted":"2026-11-20"}`)
		for _, by := range []string{"23h", "2h"} {
			s.do(t, ask{method: "POST", path: "/sandbox/clock", token: "config", body: `{"advance":"` + by + `"}`}).says(t, 200, "", "")
			got = append(got, states())
		}
		if diff := cmp.Diff([]string{"pending delivered", "pending", "pending", "pending", ""}, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		rows := s.eyes.Rows()
		for _, table := range []string{"event", "delivery", "delivery_attempt"} {
			if rows[table] != 0 {
				t.Errorf("%d rows are left in %s", rows[table], table)
			}
		}
	})
}
