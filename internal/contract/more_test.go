package contract_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// more lists, in order, the requests that supply samples in addition to the rows in facts. The
// field keep is the name under which the fixture stores the id of a created object.
var more = []struct{ keep, as, call, body string }{
	{"hmac", "config", "POST /webhooks/auth", `{"type":"hmac_signature","name":"sample"}`},
	{"", "config", "GET /webhooks/auth/{hmac}", ""},
	{"", "config", "POST /webhooks/auth/{hmac}", `{"name":"shop"}`},
	{"", "config", "POST /webhooks/auth/{hmac}/rotate", `{"overlap":"24h"}`},
	{"hook", "config", "POST /webhooks", `{"event":"PAYMENT_STATE_UPDATED","url":"{origin}/sandbox/receiver/sample","id_auth":"shop"}`},
	{"", "config", "GET /webhooks/{hook}", ""},
	{"", "config", "POST /webhooks/{hook}", `{"url":"{origin}/sandbox/receiver/shop"}`},
	{"", "config", "POST /webhooks/{hook}/add_to_data", `{"key":"customer","value":"customer_number"}`},
	{"", "config", "GET /webhooks/{hook}/add_to_data", ""},
	{"", "config", "GET /webhooks/{hook}/add_to_data/customer", ""},
	{"", "config", "POST /webhooks/{hook}/add_to_data/customer", `{"value":"number"}`},
	{"", "config", "DELETE /webhooks/{hook}/add_to_data/customer", ""},
	{"", "config", "DELETE /webhooks/{hook}/add_to_data", ""},
	{"", "config", "POST /webhooks/{hook}/test", `{"data":{"id":42,"state":"done"}}`},
	{"", "config", "GET /webhooks/{hook}/data", ""},
	{"", "config", "GET /webhooks/{hook}/logs", ""},
	{"", "config", "POST /webhooks/{hook}/recover", `{"since":"2026-11-20"}`},
	{"order", "service", "POST /payments", `{"client_redirect_uri":"{origin}/sandbox/shop/back","client_state":"order 42","instructions":[{"amount":12.50,"currency":"EUR","label":"Invoice 42","execution_date_type":"instant","beneficiary":{"scheme_name":"iban","identification":"FR7630006000011234567890189","label":"Shop"}}]}`},
	{"", "service", "POST /payments/{order}", `{"connector_uuid":"{test connector}","validated":true,"webview_url":"{origin}/sandbox/shop/back"}`},
	{"", "config", "POST /sandbox/payments/{order}/simulate", `{"state":"pending"}`},
	{"", "config", "GET /sandbox/clock", ""},
	{"", "config", "GET /sandbox/receiver", ""},
	{"", "config", "GET /sandbox/scenarios", ""},
	{"", "config", "GET /sandbox/mails", ""},
	{"", "config", "POST /sandbox/run", ""},
	{"", "config", "DELETE /sandbox/receiver", ""},
	{"", "user", "GET /users/me/consents", ""},
	{"", "user", "GET /users/me/logs", ""},
	{"", "user", "PUT /users/me/config", `{"customer_number":"42"}`},
	{"", "user", "GET /users/me/account_types/6", ""},
	{"", "user", "GET /accounts/{account}/categories", ""},
	{"", "user", "GET /accounts/{account}/delta", ""},
	{"", "user", "GET /accounts/{account}/logs", ""},
	{"", "user", "GET /accounts/{account}/sources", ""},
	{"", "user", "GET /connections/{connection}/accounts/{account}", ""},
	{"", "user", "PUT /connections/{connection}/accounts/{account}", `{"name":"Household"}`},
	{"", "user", "POST /accounts?all", `{"disabled":false}`},
	{"", "user", "POST /subscriptions?all", `{"disabled":false}`},
	{"", "user", "POST /transactions/{transaction}/informations", `{"key":"invoice","value":"42"}`},
	{"", "user", "GET /documenttypes/1", ""},
	{"", "", "GET /sign-keys", ""},
	{"", "config", "POST /webhooks/auth", `{"type":"hmac_signature","name":"last"}`},
	{"", "config", "DELETE /webhooks/{hook}", ""},
	{"", "config", "DELETE /webhooks/auth/{hmac}", ""},
	{"", "config", "POST /sandbox/clock", `{"advance":"15m"}`},
}

func (all *samples) takeMore(t *testing.T, w *fixture) {
	t.Helper()
	for _, one := range more {
		method, path, _ := strings.Cut(one.call, " ")
		r := row{call: method + " /2.0" + path, as: one.as, kind: asJSON, body: one.body, shapes: "Any"}
		if one.body == "" {
			r.kind = ""
		}
		a := w.Do(r.request(t, w))
		if a.Status >= http.StatusMultipleChoices {
			t.Errorf("%s: %d %s", one.call, a.Status, a.Body)
			continue
		}
		if one.keep != "" {
			var made struct{ ID json.Number }
			w.JSON(a, &made)
			w.things[one.keep] = made.ID.String()
		}
		all.take(t, w, r, a)
	}
}
