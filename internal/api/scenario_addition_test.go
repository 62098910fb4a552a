package api_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The webhook and a separate list both show the additions to the webhook's payloads.
func TestAdditionsOfAWebhook(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var made struct {
			ID        int64
			AddToData map[string]string `json:"add_to_data"`
		}
		config := func(method, path, body string) reply {
			return s.do(t, ask{method: method, path: path, token: "config", body: body})
		}
		config("POST", "/webhooks", `{"event":"USER_SYNCED","url":"https://client.example/"}`).decode(t, &made)
		if made.AddToData == nil || len(made.AddToData) > 0 {
			t.Errorf("a new one has %v", made.AddToData)
		}
		path := fmt.Sprintf("/webhooks/%d/add_to_data", made.ID)
		config("POST", path, `{"key":"crm","value":"customer_number"}`).says(t, 200, "", "")
		config("POST", path, `{"key":"branch"}`).says(t, 200, "", "")
		config("GET", fmt.Sprintf("/webhooks/%d", made.ID), "").decode(t, &made)
		if diff := cmp.Diff(map[string]string{"crm": "customer_number", "branch": "branch"}, made.AddToData); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		type addition struct{ Key, Value string }
		var one addition
		config("GET", path+"/crm", "").decode(t, &one)
		var all struct {
			All   []addition `json:"add_to_data"`
			Total int
		}
		config("GET", path, "").decode(t, &all)
		if one != (addition{"crm", "customer_number"}) || all.Total != 2 || all.All[0].Key != "branch" || all.All[1] != one {
			t.Errorf("%v in %v", one, all)
		}
		config("PUT", path+"/crm", `{"value":"number"}`).says(t, 200, "", "")
		config("GET", path+"/crm", "").decode(t, &one)
		if one != (addition{"crm", "number"}) {
			t.Errorf("changed to %v", one)
		}
		before := s.record()
		config("POST", path, `{"value":"x"}`).says(t, 400, "missingParameter", "key")
		config("POST", path, `{"key":"id_webhook_data"}`).says(t, 400, "invalidValue", "key")
		config("POST", path, `{"key":"user"}`).says(t, 400, "invalidValue", "key")
		config("GET", path+"/none", "").says(t, 404, "notFound", "")
		config("DELETE", path+"/none", "").says(t, 404, "notFound", "")
		s.do(t, ask{domain: "other", method: "GET", path: path, token: "config"}).says(t, 404, "notFound", "")
		s.untouched(t, before)
		config("DELETE", path+"/crm", "").says(t, 204, "", "")
		config("GET", path+"/crm", "").says(t, 404, "notFound", "")
		config("DELETE", path, "").says(t, 204, "", "")
		config("GET", path, "").decode(t, &all)
		if all.Total != 0 {
			t.Errorf("left: %v", all)
		}
	})
}

func TestTestRequestsToReceivers(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		sync := func() reply { return s.do(t, ask{method: "POST", path: "/test/sync", token: "config", body: `{}`}) }
		sync().says(t, 409, "conflict", "No connection")
		from := s.subscriber(t, "")
		var read struct {
			ID    int64
			State *string
		}
		sync().decode(t, &read)
		if fmt.Sprint(read.ID) != from["subscribing"] || read.State != nil {
			t.Errorf("read %+v", read)
		}
		var out struct {
			Tests []struct {
				IDWebhook int64 `json:"id_webhook"`
				Success   bool
				Error     *string
				Log       *struct {
					IDData int64 `json:"id_webhook_data"`
				}
			}
			Total int
		}
		try := ask{method: "POST", path: "/test/webhooks", token: "config", body: `{}`}
		s.do(t, try).decode(t, &out)
		none := out.Total
		var made struct{ ID int64 }
		s.do(t, ask{method: "POST", path: "/webhooks", token: "config", body: `{"event":"USER_SYNCED","url":"http://127.0.0.1:1/"}`}).decode(t, &made)
		s.do(t, try).decode(t, &out)
		if out.Total != none+1 {
			t.Fatalf("%d tests, %d before there was another webhook", out.Total, none)
		}
		last := out.Tests[none]
		if last.IDWebhook != made.ID || last.Success || last.Error == nil || last.Log == nil || last.Log.IDData == 0 {
			t.Errorf("a receiver that is not there: %+v", last)
		}
	})
}
