package api_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"passerelle/connector/sandbox"
	"passerelle/internal/store"
)

func TestTermsScenarios(t *testing.T) {
	get := func(token, path string) ask { return ask{method: "GET", path: path, token: token} }
	accept := func(token, path, body string) ask {
		return ask{method: "POST", path: path + "/terms", token: token, body: body}
	}
	play(t, "terms", []scenario{
		{name: "read", status: 200, ask: get("", "/terms")},
		{name: "read in French, with a token that is none", status: 200, ask: get("malformed", "/terms?language=fr")},
		{name: "read in a language they are not in", status: 200, ask: get("", "/terms?language=tlh")},
		{name: "read in no language", status: 400, ask: get("", "/terms?language=a-language-of-more-than-thirty-five-letters")},
		{name: "to sign", status: 200, ask: get("own:read-only", "/payments/{payment}/terms")},
		{name: "of none", status: 404, ask: get("admin", "/payments/"+noID+"/terms")},
		{name: "of another domain's", status: 404, ask: get("admin", "/payments/{other:payment}/terms")},
		{name: "accept", status: 200, ask: accept("own:validate", "/payments/{payment}", `{"id_terms":1}`)},
		{name: "accept others", status: 400, ask: accept("validate", "/payments/{payment}", `{"id_terms":2}`)},
		{name: "accept after the validation", status: 409, ask: accept("admin", "/payments/{decoupled}", `{"id_terms":1}`)},
		{name: "accept for none", status: 404, ask: accept("admin", "/payments/"+noID, `{"id_terms":1}`)},
		{name: "accept for another domain's", status: 404, ask: accept("admin", "/payments/{other:payment}", `{"id_terms":1}`)},
		{name: "accept for another's", status: 404, ask: accept("another's:validate", "/payments/{payment}", `{"id_terms":1}`)},
	})
}

// Accepted terms stay accepted after the publication of new terms. A payer who has not accepted
// terms yet sees the new terms.
func TestTermsOfADomain(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		signed, open := "/payments/"+strconv.FormatInt(s.created(t, ""), 10), "/payments/"+strconv.FormatInt(s.created(t, ""), 10)
		s.do(t, ask{method: "POST", path: signed + "/terms", token: "validate", body: `{"id_terms":1}`}).says(t, 200, "", "")
		s.do(t, ask{method: "POST", path: signed + "/terms", token: "validate", body: `{"id_terms":1}`}).says(t, 200, "", "")
		published := store.Terms{Domain: s.Domain.ID, Version: "2027", Content: map[string]string{"de": "Neu"}, Created: s.now()}
		s.write(t, func(tx *store.Tx) error { return tx.PublishTerms(&published) })
		for path, want := range map[string]string{signed: `["0",""]`, open: `["2027","true"]`} {
			var got struct {
				Version string
				ToSign  string `json:"to_sign"`
			}
			s.do(t, ask{method: "GET", path: path + "/terms", token: "read-only"}).decode(t, &got)
			if diff := cmp.Diff(want, encoded(t, []string{got.Version, got.ToSign})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		}
		var now struct{ Content, Language string }
		s.do(t, ask{method: "GET", path: "/terms?language=fr"}).decode(t, &now)
		if now.Content != "Neu" || now.Language != "de" {
			t.Errorf("the terms in force: %+v", now)
		}
		s.do(t, ask{method: "POST", path: open + "/terms", token: "validate", body: `{"id_terms":1}`}).says(t, 400, "invalidValue", "id_terms: ")
		s.do(t, ask{method: "POST", path: open + "/terms", token: "validate", body: `{"id_terms":` + strconv.FormatInt(published.ID, 10) + `}`}).says(t, 200, "", "")
	})
}

func (s *fixture) encrypt(t *testing.T, domainName, value string) string {
	t.Helper()
	r := s.do(t, ask{domain: domainName, method: "GET", path: "/publickey"}).says(t, 200, "", "")
	var key jose.JSONWebKey
	if err := json.Unmarshal(r.body, &key); err != nil {
		t.Fatal(err)
	}
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.RSA_OAEP_256, Key: key.Key, KeyID: key.KeyID}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := encrypter.Encrypt([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := sealed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

// Values that are encrypted with the domain's key work like plain values, in the validation and
// afterwards. The service refuses values that are encrypted with another domain's key.
func TestEncryptedFields(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		path := "/payments/" + strconv.FormatInt(s.created(t, ""), 10)
		choice := `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":true,"fields":{"use_case_pay":` + strconv.Quote(s.encrypt(t, "", "otp_sms")) + `}}`
		if got := standing(t, s.do(t, ask{method: "POST", path: path, token: "validate", body: choice})); got != "validating  additionalInformationNeeded " {
			t.Fatalf("it is %q", got)
		}
		submit := func(value string) reply {
			return s.do(t, ask{method: "POST", path: path, token: "validate", body: `{"fields":{"openapisms":` + strconv.Quote(value) + `}}`})
		}
		submit("").says(t, 400, "missingParameter", `fields.openapisms: "Code received by SMS" is required, and must be text of at most 1000 characters`)
		submit(s.encrypt(t, "other", "1234")).says(t, 400, "invalidValue", "fields.openapisms: ")
		sealed := s.encrypt(t, "", "1234")
		submit(sealed[:len(sealed)-2]).says(t, 400, "invalidValue", "fields.openapisms: ")
		if got := standing(t, submit(sealed)); got != "done   " {
			t.Errorf("it is %q", got)
		}
	})
}

func TestSimulationScenarios(t *testing.T) {
	simulate := func(payment, body string) ask {
		return ask{method: "POST", path: "/sandbox/payments/" + payment + "/simulate", token: "config", body: body}
	}
	step := func(n int64) map[string]int64 { return map[string]int64{"payment_transition": n, "event": n} }
	play(t, "simulation", []scenario{
		{name: "expire", status: 200, rows: step(1), events: events(1), ask: simulate("{created}", `{"state":"expired"}`)},
		{name: "reject for a reason", status: 200, rows: step(1), events: events(1), ask: simulate("{created}", `{"state":"rejected","error_code":"invalidBeneficiary"}`)},
		{name: "approve", status: 200, rows: step(1), events: events(2), ask: simulate("{decoupled}", `{"state":"pending"}`)},
		{name: "execute", status: 200, rows: step(1), events: events(3), ask: simulate("{pending}", `{"state":"done"}`)},
		{name: "reject one line of three", status: 200, ask: simulate("{bulk}", `{"state":"rejected","error_code":"invalidLabel","instruction":1}`)},
		{name: "an edge that is none", status: 409, ask: simulate("{created}", `{"state":"done"}`)},
		{name: "back", status: 409, ask: simulate("{pending}", `{"state":"validating"}`)},
		{name: "what is final", status: 409, ask: simulate("{done}", `{"state":"rejected"}`)},
		{name: "a partial payment of one line", status: 409, ask: simulate("{pending}", `{"state":"partial"}`)},
		{name: "a line that is not there", status: 400, ask: simulate("{bulk}", `{"state":"done","instruction":3}`)},
		{name: "a line before the first", status: 400, ask: simulate("{bulk}", `{"state":"done","instruction":-1}`)},
		{name: "a line of a payment that is not pending", status: 409, ask: simulate("{decoupled}", `{"state":"done","instruction":0}`)},
		{name: "a state that lines do not have", status: 400, ask: simulate("{bulk}", `{"state":"expired","instruction":0}`)},
		{name: "an error without a rejection", status: 400, ask: simulate("{pending}", `{"state":"done","error_code":"invalidLabel"}`)},
		{name: "an unknown state", status: 400, ask: simulate("{pending}", `{"state":"lost"}`)},
		{name: "an unknown error", status: 400, ask: simulate("{pending}", `{"state":"rejected","error_code":"gremlins"}`)},
		{name: "no state", status: 400, ask: simulate("{pending}", `{}`)},
		{name: "none", status: 404, ask: simulate(noID, `{"state":"expired"}`)},
		{name: "another domain's", status: 404, ask: simulate("{other:payment}", `{"state":"expired"}`)},
		{name: "in a live domain", status: 404, ask: ask{domain: "live", method: "POST", path: "/sandbox/payments/{live:payment}/simulate", token: "config", body: `{"state":"expired"}`}},
		{name: "without the right token", status: 403, ask: ask{method: "POST", path: "/sandbox/payments/{created}/simulate", token: "admin", body: `{"state":"expired"}`}},
		{name: "scenarios of a live domain", status: 404, ask: ask{domain: "live", method: "GET", path: "/sandbox/scenarios", token: "config"}},
	})
}

// The response contains the scenarios of package sandbox.
func TestScenariosAreThoseOfTheBanks(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		var got struct {
			Scenarios []sandbox.Scenario
			Total     int
		}
		s.do(t, ask{method: "GET", path: "/sandbox/scenarios", token: "config"}).decode(t, &got)
		want := sandbox.Scenarios()
		if diff := cmp.Diff(encoded(t, want), encoded(t, got.Scenarios)); diff != "" || got.Total != len(want) {
			t.Errorf("total %d (-want +got):\n%s", got.Total, diff)
		}
	})
}
