package api_test

import (
	"fmt"
	"strings"
	"testing"
)

func mostMiB(call string) int {
	switch {
	case call == "POST /sandbox/events":
		return 4
	case strings.HasSuffix(call, "/documents/{documentId}"), strings.HasSuffix(call, "/documents") && !strings.Contains(call, "/transactions/"):
		return 10 // the call accepts a file
	case strings.HasSuffix(call, "/connections/{connectionId}/files"):
		return 32 // the call accepts a statement file
	}
	return 1
}

// A client can trigger events in a sandbox, with its own data or a sample. It cannot trigger
// USER_CREATED, USER_DELETED and the events of payments.
func TestTriggerScenarios(t *testing.T) {
	trigger := func(body string) ask {
		return ask{method: "POST", path: "/sandbox/events", token: "config", body: body}
	}
	// The versions of triggered events are higher than those of all other events.
	triggered := func(name string, n int64) []string { return []string{fmt.Sprint(name, " ", 1<<40+n)} }
	anEvent := map[string]int64{"event": 1}
	play(t, "triggers", []scenario{
		{name: "a sample", status: 200, rows: anEvent, ask: trigger(`{"event":"CONNECTION_SYNCED"}`), events: triggered("CONNECTION_SYNCED connection", 1)},
		{name: "data about a connection", status: 200, rows: anEvent, ask: trigger(`{"event":"ACCOUNT_SYNCED","id_connection":7,"data":{"id":1,"balance":12.30}}`), events: triggered("ACCOUNT_SYNCED connection", 2)},
		{name: "no data in it", status: 200, rows: anEvent, ask: trigger(`{"event":"USER_SYNCED","data":{}}`), events: triggered("USER_SYNCED user", 3)},
		{name: "in a form", status: 200, rows: anEvent, ask: ask{method: "POST", path: "/sandbox/events", token: "config", contentType: "application/x-www-form-urlencoded", body: "event=ACCOUNT_FOUND&id_connection=8"}, events: triggered("ACCOUNT_FOUND connection", 4)},
		{name: "payments", status: 400, ask: trigger(`{"event":"PAYMENT_STATE_UPDATED"}`)},
		{name: "users created", status: 400, ask: trigger(`{"event":"USER_CREATED"}`)},
		{name: "users deleted", status: 400, ask: trigger(`{"event":"USER_DELETED"}`)},
		{name: "an event that does not exist", status: 400, ask: trigger(`{"event":"TRANSACTIONS_CLUSTERED"}`)},
		{name: "no event", status: 400, ask: trigger(`{"data":{}}`)},
		{name: "a user that does not exist", status: 400, ask: trigger(`{"event":"ACCOUNT_FOUND","id_user":987654321}`)},
		{name: "a connection without a number", status: 400, ask: trigger(`{"event":"ACCOUNT_FOUND","id_connection":0}`)},
		{name: "data that is no object", status: 400, ask: trigger(`{"event":"ACCOUNT_FOUND","data":[]}`)},
		{name: "data with the id of a delivery", status: 400, ask: trigger(`{"event":"ACCOUNT_FOUND","data":{"x":1,"id_webhook_data":5}}`)},
		{name: "in a live domain", status: 404, ask: ask{domain: "live", method: "POST", path: "/sandbox/events", token: "config", body: `{"event":"ACCOUNT_FOUND"}`}},
	})
}

// Every webhook for a triggered event gets its own delivery.
func TestTriggeredEventsAreDelivered(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		for range 2 {
			s.do(t, ask{method: "POST", path: "/webhooks", token: "config", body: `{"event":"ACCOUNT_ENABLED","url":"https://client.example/hook"}`}).says(t, 200, "", "")
		}
		var out struct {
			Event      string
			Subject    string
			Deliveries []int64
		}
		s.do(t, ask{method: "POST", path: "/sandbox/events", token: "config", body: `{"event":"ACCOUNT_ENABLED"}`}).decode(t, &out)
		if out.Event != "ACCOUNT_ENABLED" || out.Subject != "connection" || len(out.Deliveries) != 2 || out.Deliveries[0] == out.Deliveries[1] {
			t.Errorf("%+v", out)
		}
	})
}
