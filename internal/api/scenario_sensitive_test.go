package api_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// canaries returns sensitive fields with unique values.
func canaries(role string) map[string]string {
	fields := map[string]string{}
	for _, name := range []string{
		"first_name", "last_name", "birth_city", "nationality", "postal_address", "email", "identification", "issuer", "ultimate_owner_text", "ultimate_owner_extra_text",
		"org_hq_address", "org_business_address",
	} {
		fields[name] = "CANARY" + strings.ToUpper(role+name)
	}
	return fields
}

func identityOf(role, kind, scheme string, without ...string) map[string]any {
	identity := map[string]any{"kind": kind, "scheme_name": scheme, "external_ref": "reference of " + role, "pep": true}
	for name, value := range canaries(role) {
		identity[name] = value
	}
	if kind == "individual" {
		identity["birth_date"], identity["birth_country"] = "1903-04-05", "FR"
	} else {
		identity["org_name"], identity["org_legal_status"] = "Organisation", "GmbH"
	}
	for _, name := range without {
		delete(identity, name)
	}
	return identity
}

var canary = regexp.MustCompile(`CANARY\w*|1903-04-05|19030405`)

// A response contains sensitive fields only if the caller requests them and may see them. No event,
// request to a receiver, error, log or database file contains them.
func TestSensitiveFieldsStayInside(t *testing.T) {
	storetest.Each(t, func(t *testing.T, address string) {
		s := newFixture(t, address)
		s.Subscribe("PAYMENT_STATE_UPDATED", "leaks")
		path := s.sensitivePayment(t)
		s.readByAll(t, path)
		s.validateLoudly(t, path)
		got := s.Received("leaks")
		if len(got) == 0 {
			t.Error("the receiver got nothing")
		}
		clean(t, "requests to the receiver", []byte(fmt.Sprint(got)))
		clean(t, "events", []byte(fmt.Sprint(s.eyes.Events())))
		clean(t, "the log", []byte(s.Logs.String()))
		if file, isFile := strings.CutPrefix(address, "sqlite:"); isFile {
			s.files(t, file)
		}
	})
}

func clean(t *testing.T, what string, content []byte) {
	t.Helper()
	if leak := canary.Find(content); leak != nil {
		t.Errorf("%s shows %s", what, leak)
	}
}

// sensitivePayment creates a payment with an identity in each role.
func (s *fixture) sensitivePayment(t *testing.T) string {
	t.Helper()
	body := any(servicetest.Draft())
	for at, identity := range map[string]map[string]any{
		"payer_identity":                       identityOf("payer", "individual", "passport_number", "org_hq_address", "org_business_address"),
		"operator_identity":                    identityOf("operator", "government", "incorporation_number", "first_name", "last_name"),
		"instructions[0].beneficiary_identity": identityOf("beneficiary", "corporate", "siren"),
	} {
		body = put(body, placeOf(t, at), identity)
	}
	var made struct{ ID int64 }
	r := s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: encoded(t, body)})
	clean(t, "the answer to the creation", r.body)
	r.decode(t, &made)
	r = s.do(t, ask{method: "POST", path: "/payments?show_sensitive", token: "admin+allow-sensitive", body: encoded(t, body)})
	s.shows(t, r, "payer", "beneficiary")
	return "/payments/" + strconv.FormatInt(made.ID, 10)
}

// shows requires the sensitive fields of the roles. A response must never show the fields of the
// operator.
func (s *fixture) shows(t *testing.T, r reply, roles ...string) {
	t.Helper()
	inapplicable := regexp.MustCompile(`CANARYPAYERORG|CANARYBENEFICIARY(FIRST|LAST)_NAME|CANARYBENEFICIARY(BIRTH|NATION)`)
	for _, role := range roles {
		for name, value := range canaries(role) {
			if !inapplicable.MatchString(value) && !bytes.Contains(r.body, []byte(`"`+name+`":"`+value+`"`)) {
				t.Errorf("%s of %s is not shown to who may see it: %s", name, role, r.body)
			}
		}
	}
	if bytes.Contains(r.body, []byte("CANARYOPERATOR")) {
		t.Errorf("the operator is shown: %s", r.body)
	}
}

// readByAll reads with every scope, with and without show_sensitive.
func (s *fixture) readByAll(t *testing.T, path string) {
	t.Helper()
	id, _ := strconv.ParseInt(strings.TrimPrefix(path, "/payments/"), 10, 64)
	both, own := []string{"payer", "beneficiary"}, []string{"payer"}
	maySee := map[string][]string{"validate": both, "allow-sensitive": both, "own:validate": own, "own:allow-sensitive": both, "admin+validate": both}
	for _, token := range []string{"admin", "read-only", "cancel", "validate", "allow-sensitive", "admin+validate", "own:read-only", "own:cancel", "own:validate", "own:allow-sensitive"} {
		credential := s.token(t, "", token, id)
		for _, at := range []string{path + "?expand=transitions", "/payments?expand=transitions", path + "/incompatibilities", path + "/terms", "/connectors?id_payment=" + strconv.FormatInt(id, 10)} {
			clean(t, token+" reading "+at, s.do(t, ask{method: "GET", path: at, credential: credential}).says(t, 200, "", "").body)
		}
		for _, at := range []string{path, "/payments"} {
			clean(t, token+" reading "+at, s.do(t, ask{method: "GET", path: at, credential: credential}).says(t, 200, "", "").body)
			r := s.do(t, ask{method: "GET", path: at + "?show_sensitive", credential: credential})
			if roles := maySee[token]; roles != nil {
				s.shows(t, r.says(t, 200, "", ""), roles...)
				if len(roles) == 1 && bytes.Contains(r.body, []byte("CANARYBENEFICIARY")) {
					t.Errorf("%s reading %s sees the beneficiary: %s", token, at, r.body)
				}
				continue
			}
			clean(t, token+" wishing to see "+at, r.says(t, 403, "forbidden", "payments:validate payments:allow-sensitive").body)
		}
	}
}

// validateLoudly sends requests that fail and contain canaries, and then validates the payment.
func (s *fixture) validateLoudly(t *testing.T, path string) {
	t.Helper()
	for _, bad := range []string{
		`{"client_redirect_uri":"https://shop.example/back","payer_identity":{"first_name":"CANARYERROR"},"instructions":[]}`,
		`{"client_redirect_uri":"https://shop.example/back","payer_identity":{"first_name":"CANARYERROR","birth_date":"CANARY1"},"instructions":[]}`,
		strings.Replace(minimalDraft, `fr76 3000 6000 0112 3456 7890 189`, `CANARYIBAN`, 1),
		strings.Replace(minimalDraft, `12.5`, `"CANARYAMOUNT"`, 1),
		`{"client_redirect_uri":"https://shop.example/back" "CANARYSYNTAX"}`,
		`"CANARYBODY"`,
	} {
		clean(t, "an error", s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: bad}).says(t, 400, "", "").body)
	}
	choice := `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay","validated":true}`
	clean(t, "the answer to the validation", s.do(t, ask{method: "POST", path: path, token: "validate", body: choice}).says(t, 200, "", "").body)
}

func (s *fixture) files(t *testing.T, file string) {
	t.Helper()
	names, err := filepath.Glob(file + "*")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files of the database: %v", err)
	}
	seen := false
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		clean(t, filepath.Base(name), content)
		seen = seen || bytes.Contains(content, []byte("reference of payer"))
	}
	if !seen {
		t.Error("the files have not even what is not sensitive, so this looked at the wrong ones")
	}
}
