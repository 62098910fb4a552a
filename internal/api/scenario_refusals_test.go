package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"passerelle/internal/settings"
)

// placeOf parses a place such as "instructions[0].amount".
func placeOf(t *testing.T, path string) place {
	t.Helper()
	var at place
	for word := range strings.SplitSeq(path, ".") {
		key, index, indexed := strings.Cut(strings.TrimSuffix(word, "]"), "[")
		at = append(at, key)
		if !indexed {
			continue
		}
		n, err := strconv.Atoi(index)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		at = append(at, n)
	}
	return at
}

// edit is a change that makes a valid body invalid. The error code is invalidValue unless code is
// set.
type edit struct {
	name  string
	set   map[string]any
	field string
	code  string
}

func one(field string, values ...any) []edit {
	var edits []edit
	for _, value := range values {
		edits = append(edits, edit{name: fmt.Sprintf("%s %.60v", field, value), set: map[string]any{field: value}, field: field})
	}
	return edits
}

func inLine(field string, values ...any) []edit { return one("instructions[0]."+field, values...) }

func decimal(text string) json.Number { return json.Number(text) }

func individual() map[string]any {
	return map[string]any{"first_name": "Jeanne", "last_name": "Martin"}
}

func company() map[string]any {
	return map[string]any{
		"kind": "corporate", "org_name": "O", "org_legal_status": "S", "org_hq_address": "H", "org_business_address": "B",
		"scheme_name": "siren", "identification": "732829320",
	}
}

func altered(of map[string]any, key string, value any) map[string]any {
	of[key] = value
	if value == nil {
		delete(of, key)
	}
	return of
}

func amountEdits() []edit {
	var edits []edit
	for currency, amounts := range map[string][]any{
		"EUR": {
			decimal("0"), decimal("-0"), decimal("0.00"), decimal("-1"), decimal("-0.01"), decimal("12.501"), decimal("0.001"), decimal("1e2"), decimal("1E2"),
			decimal("1.5e1"), decimal("1000000000"), decimal("999999999.991"), decimal("99999999999999999999999999"), decimal("0.00000000000000000000001"),
			"", " ", "12,50", "1e2", "+1", "012", "1.", ".5", "0x10", "NaN", "Infinity", "12 ", "１２", "1_000", "twelve", "12.501",
		},
		"JPY": {decimal("1.1"), decimal("0.5"), "100.5", decimal("1000000000")},
		"BHD": {decimal("1.0001")},
	} {
		for _, amount := range amounts {
			edits = append(edits, edit{
				name: fmt.Sprintf("%s %v", currency, amount), field: "instructions[0].amount",
				set: map[string]any{"instructions[0].currency": currency, "instructions[0].amount": amount},
			})
		}
	}
	return edits
}

func accountEdits(at string) []edit {
	var edits []edit
	for scheme, numbers := range map[string][]any{
		"iban": {
			"FR7630006000011234567890188", "FR763000600001123456789018", "FR76300060000112345678901899", "FR7A30006000011234567890189", "XX7630006000011234567890189",
			"FR", "F", "FR00 3000 6000 0112 3456 7890 189", "GB82WEST1234569876543", "DE8937040044053201300O", "Ｆ R7630006000011234567890189", "20000055779911", "FR7630006000011234567890189\n;",
		},
		"sort_code_account_number": {"20000055779", "2000005577991", "200000557799111", "20-00-0O 55779911", "FR7630006000011234567890189", "２０００００55779911", "20/00/00 55779911"},
	} {
		for _, number := range numbers {
			edits = append(edits, edit{
				name: at + " " + scheme + " " + fmt.Sprint(number), field: at + ".identification",
				set: map[string]any{at: map[string]any{"scheme_name": scheme, "identification": number, "label": "Shop"}},
			})
		}
	}
	for field, value := range map[string]any{"scheme_name": "bban", "issuer": "NOBIC", "label": strings.Repeat("é", 141)} {
		edits = append(edits, edit{
			name: at + "." + field, field: at + "." + field,
			set: map[string]any{at: altered(map[string]any{"scheme_name": "iban", "identification": "DE89370400440532013000", "label": "Shop"}, field, value)},
		})
	}
	return append(edits,
		edit{name: at + " empty number", code: "missingParameter", field: at + ".identification", set: map[string]any{at: map[string]any{"scheme_name": "iban", "identification": " ", "label": "Shop"}}},
		edit{name: at + " BIC of a sort code", field: at + ".issuer", set: map[string]any{at: map[string]any{"scheme_name": "sort_code_account_number", "identification": "20000055779911", "label": "Shop", "issuer": "COBADEFF"}}},
	)
}

func identityEdits(at string) []edit {
	wrong := func(field, code string, identity map[string]any) edit {
		return edit{name: at + "." + field + " " + code, field: at + "." + field, code: code, set: map[string]any{at: identity}}
	}
	edits := []edit{
		wrong("first_name", "missingParameter", altered(individual(), "first_name", nil)),
		wrong("last_name", "missingParameter", altered(individual(), "last_name", "")),
		wrong("id_user", "", altered(individual(), "id_user", decimal("7"))),
		wrong("id_user", "", altered(individual(), "id_user", decimal("0"))),
		wrong("kind", "", altered(individual(), "kind", "robot")),
		wrong("birth_date", "", altered(individual(), "birth_date", "1980-02-30")),
		wrong("birth_date", "", altered(individual(), "birth_date", "29/02/1980")),
		wrong("birth_country", "", altered(individual(), "birth_country", "ZZ")),
		wrong("birth_country", "", altered(individual(), "birth_country", "France")),
		wrong("scheme_name", "", altered(altered(individual(), "scheme_name", "siren"), "identification", "1")),
		wrong("scheme_name", "missingParameter", altered(individual(), "identification", "1")),
		wrong("scheme_name", "", altered(company(), "scheme_name", "rna")),
		wrong("scheme_name", "", altered(company(), "scheme_name", "siret")),
		wrong("scheme_name", "", altered(company(), "kind", "government")),
	}
	for _, field := range []string{"org_name", "org_legal_status", "org_hq_address", "org_business_address", "scheme_name", "identification"} {
		edits = append(edits, wrong(field, "missingParameter", altered(company(), field, nil)))
	}
	for field, limit := range map[string]int{"external_ref": 255, "org_name": 255, "org_legal_status": 128, "org_hq_address": 512, "org_business_address": 512, "identification": 255, "issuer": 255} {
		edits = append(edits, wrong(field, "", altered(company(), field, strings.Repeat("é", limit+1))))
	}
	for field, limit := range map[string]int{"first_name": 255, "last_name": 255, "postal_address": 512, "email": 255} {
		edits = append(edits, wrong(field, "", altered(individual(), field, strings.Repeat("é", limit+1))))
	}
	return edits
}

func dateEdits() []edit {
	dated := func(field, code string, dates map[string]any) edit {
		set := map[string]any{}
		for key, value := range dates {
			set["instructions[0]."+key] = value
		}
		return edit{name: fmt.Sprint(dates), field: "instructions[0]." + field, code: code, set: set}
	}
	edits := []edit{
		dated("execution_date", "missingParameter", map[string]any{"execution_date_type": "deferred"}),
		dated("start_date", "missingParameter", map[string]any{"execution_date_type": "periodic", "frequency": "monthly"}),
		dated("frequency", "missingParameter", map[string]any{"execution_date_type": "periodic", "start_date": "2026-12-01"}),
		dated("frequency", "", map[string]any{"execution_date_type": "periodic", "start_date": "2026-12-01", "frequency": "hourly"}),
		dated("start_date", "", map[string]any{"execution_date_type": "periodic", "start_date": "2026-11-19", "frequency": "weekly"}),
		dated("end_date", "", map[string]any{"execution_date_type": "periodic", "start_date": "2026-12-02", "end_date": "2026-12-01", "frequency": "weekly"}),
		dated("execution_date", "", map[string]any{"execution_date_type": "periodic", "start_date": "2026-12-02", "execution_date": "2026-12-02", "frequency": "weekly"}),
		dated("execution_date_type", "", map[string]any{"execution_date_type": "someday"}),
		dated("execution_date_type", "", map[string]any{"execution_date_type": "Instant"}),
	}
	for _, day := range []string{"2026-11-19", "1970-01-01", "2026-02-30", "2026-13-01", "2026-12-1", "01/12/2026", "2026-12-01 00:00:00", "2026-12-01T00:00:00Z", "tomorrow", "+2026-12-01", "26-12-01", "20261201"} {
		edits = append(edits, dated("execution_date", "", map[string]any{"execution_date_type": "deferred", "execution_date": day}))
	}
	for _, kind := range []string{"instant", "first_open_day"} {
		for field, value := range map[string]string{"execution_date": "2026-12-01", "start_date": "2026-12-01", "end_date": "2026-12-01", "frequency": "monthly"} {
			edits = append(edits, dated(field, "", map[string]any{"execution_date_type": kind, field: value}))
		}
	}
	return edits
}

func bulkEdits(t *testing.T) []edit {
	line := func() map[string]any {
		return exactly(t, []byte(minimalDraft)).(map[string]any)["instructions"].([]any)[0].(map[string]any)
	}
	many := make([]any, 1001)
	for i := range many {
		many[i] = line()
	}
	second := func(key string, value any) []any { return []any{line(), altered(line(), key, value)} }
	deferred := func(day string) map[string]any {
		return altered(altered(line(), "execution_date_type", "deferred"), "execution_date", day)
	}
	periodic := altered(altered(altered(line(), "execution_date_type", "periodic"), "start_date", "2026-12-01"), "frequency", "monthly")
	lines := func(name, field, code string, lines ...any) edit {
		return edit{name: name, field: field, code: code, set: map[string]any{"instructions": lines}}
	}
	return []edit{
		lines("none", "instructions", "missingParameter"),
		lines("1001", "instructions", "", many...),
		lines("two currencies", "instructions[1].currency", "", second("currency", "GBP")...),
		lines("two date types", "instructions[1].execution_date_type", "", second("execution_date_type", "instant")...),
		lines("two days", "instructions[1].execution_date", "", deferred("2026-12-01"), deferred("2026-12-02")),
		lines("two periodic", "instructions", "", periodic, periodic),
		lines("a second line that is wrong", "instructions[1].amount", "", second("amount", decimal("0"))...),
		lines("a line that is nothing", "instructions[1]", "", line(), nil),
	}
}

// When a payment breaks a rule, the error names the field, and the service writes nothing.
func TestPaymentsRefused(t *testing.T) {
	edits := append(amountEdits(), accountEdits("payer")...)
	edits = append(edits, accountEdits("instructions[0].beneficiary")...)
	for _, at := range []string{"payer_identity", "operator_identity", "instructions[0].beneficiary_identity"} {
		edits = append(edits, identityEdits(at)...)
	}
	edits = append(append(edits, dateEdits()...), bulkEdits(t)...)
	for _, more := range [][]edit{
		inLine("currency", "eur", "EURO", "XXX", "BTC", "978", "€", "DEM", "E"),
		inLine("label", strings.Repeat("x", 141)),
		inLine("reference_id", strings.Repeat("A", 32), "accentué", "under_score", " A", "A ", "/A", "A/", "A//B", "A\nB", "A;B", "<A>"),
		one("client_redirect_uri", badRedirects("?", "?a=1")...),
		one("client_state", strings.Repeat("é", 2001)),
		one("connector_uuid", "no-such-connector", "40x", strings.ToUpper(testConnector)+"0"),
	} {
		edits = append(edits, more...)
	}
	edits = append(edits,
		edit{name: "blank label", field: "instructions[0].label", code: "missingParameter", set: map[string]any{"instructions[0].label": " "}},
		edit{name: "unknown connector number", field: "id_connector", set: map[string]any{"id_connector": 99}},
	)
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.configure(t, "home", map[string]string{"payment.periodic.enabled": "1"})
		refuse(t, s, "POST /payments", minimalDraft, edits)
	})
}

// badRedirects returns forbidden redirect addresses.
func badRedirects(more ...string) []any {
	bad := []any{
		"/back", "back", "//shop.example/back", "javascript:alert(1)", "JavaScript://shop.example/%0aalert(1)", "data:text/html,x", "file:///etc/passwd", "ftp://shop.example/",
		"https://", "https:///back", "https://:443/back", "https://u@shop.example/back", "https://u:p@shop.example/back", "https://shop.example/back#x", "https://shop.example/back#",
		"https://shop.example:0/", "https://shop.example:99999/", "https://shop.example:x/", "https://shop.example /back", "https://shop.example\\@evil.example/", "https://shöp.example/", "\thttps://shop.example/back",
		"https://shop.example/back\r\nLocation: https://evil.example", "https://shop.example/%zz", "https://[::1/", "https://shop.example/" + strings.Repeat("x", 2048),
	}
	for _, end := range more {
		bad = append(bad, "https://shop.example/back"+end)
	}
	return bad
}

func refuse(t *testing.T, s *fixture, call, body string, edits []edit) {
	t.Helper()
	r := s.refuser(t)
	defer r.done(t)
	for _, e := range edits {
		altered := exactly(t, []byte(body))
		for path, value := range e.set {
			altered = put(altered, placeOf(t, path), value)
		}
		code := e.code
		if code == "" {
			code = "invalidValue"
		}
		t.Run(e.name, func(t *testing.T) {
			r.refused(t, call, ask{body: encoded(t, altered)}, code, e.field)
		})
	}
}

func TestChoicesRefused(t *testing.T) {
	right := `{"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay?a=1"}`
	edits := one("webview_url", badRedirects()...)
	edits = append(edits, accountEdits("payer")...)
	edits = append(edits, one("validate_mechanism", "credentials", "WEBAUTH")...)
	edits = append(edits, one("fields.use_case_pay", "Redirect", "x")...)
	onEachFixture(t, func(t *testing.T, s *fixture) {
		refuse(t, s, "POST /payments/{paymentId}", right, edits)
		refuse(t, s, "PUT /payments/{paymentId}", strings.Replace(right, "}", `,"validated":true}`, 1), edits[:3])
	})
}

func TestWebhooksRefused(t *testing.T) {
	edits := one("url", badRedirects()...)
	edits = append(edits, one("event", "payment_state_updated", "*", "PAYMENT_STATE_UPDATED ")...)
	edits = append(edits, one("id_auth", "nobody", decimal("0"), decimal("-1"), decimal("1.5"), decimal("1e3"))...)
	edits = append(edits, one("id_user", decimal("0"), decimal("-1"), decimal(noID), decimal("1.5"), "me")...)
	edits = append(edits, one("disabled", "2026-11-20", decimal("1"))...)
	names := one("name", strings.Repeat("x", 65), "a/b", "é", " a", "a\tb", "<script>")
	services := one("id_service", decimal("0"), decimal("-1"), decimal(noID), decimal("9223372036854775808"))
	onEachFixture(t, func(t *testing.T, s *fixture) {
		refuse(t, s, "POST /webhooks", `{"event":"USER_SYNCED","url":"https://client.example/"}`, append(edits, services...))
		refuse(t, s, "PUT /webhooks/{webhookId}", `{}`, append(edits, one("deleted", "", "yes", "2026-02-30", "2026-11-20T10:00:00Z", true)...))
		refuse(t, s, "POST /webhooks/auth", `{"type":"hmac_signature","name":"n"}`, append(names, one("type", "HMAC_SIGNATURE", "")...))
		refuse(t, s, "POST /webhooks/auth", oauthDraft, endpointEdits(t))
		refuse(t, s, "PUT /webhooks/auth/{authId}", `{}`, append(endpointEdits(t), names...))
	})
}

func (s *fixture) configure(t *testing.T, domainName string, values map[string]string) {
	t.Helper()
	if err := settings.Set(t.Context(), s.DB, s.domainOf(domainName).domain.ID, values, s.now()); err != nil {
		t.Fatal(err)
	}
}

// Every call with a body refuses malformed bodies, bodies that are too large, and content types
// that it does not know.
func TestBodiesThatAreNone(t *testing.T) {
	form, parts := "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	part := func(disposition, content string) string {
		return "--b\r\nContent-Disposition: " + disposition + "\r\n\r\n" + content + "\r\n--b--\r\n"
	}
	onEachFixture(t, func(t *testing.T, s *fixture) {
		r := s.refuser(t)
		defer r.done(t)
		for call := range s.contract.bodied() {
			for _, bad := range []struct{ contentType, body, code, message string }{
				{"", `{`, "invalidValue", "body: not JSON at byte 1"},
				{"", `{"a":1,}`, "invalidValue", "body: not JSON at byte 8"},
				{"", `{"a":01}`, "invalidValue", "body: not JSON at byte 7"},
				{"", `{} {}`, "invalidValue", "body: not JSON at byte 4"},
				{"", `{'a':1}`, "invalidValue", "body: not JSON at byte 2"},
				{"", "\xef\xbb\xbf{}", "invalidValue", "body: not JSON at byte 1"},
				{"", "{\"a\":\"\x01\"}", "invalidValue", "body: not JSON at byte 7"},
				{"", "<xml/>", "invalidValue", "body: not JSON at byte 1"},
				{"", `{"a":NaN}`, "invalidValue", "body: not JSON at byte 6"},
				{"", `{"unknown\u0000key":1}`, "invalidValue", "NUL"},
				{"", `{"unknown":1,"unknown":1}`, "invalidValue", "unknown: given twice"},
				{"", strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), "invalidValue", "nested deeper than"},
				{"", `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "invalidValue", ""},
				{"", `{"a":"` + strings.Repeat("x", mostMiB(call)<<20) + `"}`, "payloadTooLarge", fmt.Sprint(mostMiB(call), " MiB")},
				{form, strings.Repeat("a=b&", mostMiB(call)<<18) + "c=d", "payloadTooLarge", fmt.Sprint(mostMiB(call), " MiB")},
				{form, "a[b]=1", "invalidValue", "a[b]: a form cannot have nested members"},
				{form, "instructions%5B0%5D%5Bamount%5D=1", "invalidValue", "instructions[0][amount]: a form cannot have nested members"},
				{form, "a=%zz", "invalidValue", "body: not a form"},
				{form, "a=1;b=2", "invalidValue", "body: not a form"},
				{form, "a=%00", "invalidValue", "a: must not contain a NUL character"},
				{form, "a=%ff", "invalidValue", "a: not valid UTF-8"},
				{form, "a=1&a=2", "invalidValue", "a: given twice with different values"},
				{parts, part(`form-data; name="a"; filename="x"`, "1"), "invalidValue", "must be a field with a name"},
				{parts, part(`form-data; name="a[b]"`, "1"), "invalidValue", "a[b]: a form cannot have nested members"},
				{parts, part(`form-data; name="a"`, "\xff"), "invalidValue", "a: not valid UTF-8"},
				{parts, "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1", "invalidValue", "body: not multipart/form-data"},
				{"multipart/form-data", "x", "invalidValue", "Content-Type: multipart/form-data needs a boundary"},
				{"text/plain", "{}", "invalidValue", "Content-Type: must be one of"},
				{"application/xml", "<a/>", "invalidValue", "Content-Type: must be one of"},
				{"image/png", "x", "invalidValue", "Content-Type: must be one of"},
				{"no media type", "{}", "invalidValue", "Content-Type: not a media type"},
				{"application/json; charset", "{}", "invalidValue", "Content-Type: not a media type"},
				{"application/json; charset=utf-16", "{\x00}", "invalidValue", "body: not JSON at byte 2"},
			} {
				if strings.HasPrefix(bad.message, "Content-Type: must be one of") && s.contract.takes(call, bad.contentType) {
					continue // for this call, the body itself is a file
				}
				r.refused(t, call, ask{contentType: bad.contentType, body: bad.body}, bad.code, bad.message)
			}
		}
	})
}

// The response to an invalid id or address is "not found".
func TestAddressesThatAreNone(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		id := strconv.FormatInt(s.created(t, ""), 10)
		before := s.record()
		for _, word := range []string{
			"0", "-1", "+1", "01", "1.0", "1e0", "abc", "me", "9223372036854775808", "99999999999999999999999999", "0x1", "1%20", "%31%00", "%ff", "%C3%28", "null", "*", "'", "1%2F2",
		} {
			for _, path := range []string{"/payments/" + word, "/payments/" + word + "/scopedtoken", "/webhooks/" + word} {
				s.nothing(t, ask{method: "POST", path: path, token: map[bool]string{true: "config", false: "admin"}[strings.HasPrefix(path, "/webhooks")], body: `{"scope":"payments:validate","webview_url":"https://shop.example/pay"}`})
			}
		}
		for _, path := range []string{
			"/", "", "//payments", "/payments//", "/payments//" + id, "/./payments", "/payments/../payments", "/payments/%2e%2e/payments", "/payments/" + id + "/", "/Payments", "/payments/" + id + "/scopedToken",
			"/payments%2F" + id, "/webhooks/auth/1/2", "/sandbox", "/sandbox/receiver/x", "/openapi.yaml", "/payments;x=1", "/..", "/%2e", "/a/b/c/d/e/f/g/h/i/j/k/l/m", "/" + strings.Repeat("x", 5000),
		} {
			if path != "/payments/"+id+"/" {
				s.nothing(t, ask{method: "GET", path: "/2.0" + path, token: "admin"})
			}
		}
		for _, path := range []string{"/payments", "/", "/2.0", "/2.0/2.0/2.0/payments", "/1.0/payments", "/2.00/payments", "/webhooks", "/webhooks/1"} {
			s.nothing(t, ask{method: "GET", path: path, bare: true, token: "admin"})
		}
		s.untouched(t, before)
	})
}

func (s *fixture) nothing(t *testing.T, a ask) {
	t.Helper()
	r := s.do(t, a)
	if code, _ := r.message(t); r.status != http.StatusNotFound || code != "notFound" {
		t.Errorf("%s %.100s: %d %s", a.method, a.path, r.status, r.body)
	}
}

// The service does not treat a path with two slashes at its beginning as a host.
func TestDoubleSlashInFront(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET //2.0/payments HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", s.Addr())
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404 ") || !strings.Contains(string(answer), `"code":"notFound"`) {
			t.Errorf("%v %s", err, answer)
		}
	})
}

func TestQueriesRefused(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		r := s.refuser(t)
		defer r.done(t)
		for query, message := range map[string]string{
			"limit=x": "limit", "limit=": "limit", "limit=-1": "limit", "limit=1.0": "limit", "limit=1e2": "limit", "limit=9223372036854775808": "limit", "limit=1&limit=2": "limit: given twice",
			"offset=x": "offset", "offset=9223372036854775808": "offset", "limit=%00": "limit: must not contain", "limit=%ff": "limit: not valid UTF-8",
			"state=Created": "state: must be one of", "state=%00": "state", "state=created&state=done": "state: given twice", "order_by=instructions": "order_by", "filter=x": "filter",
			"reverse=yes": "reverse", "reverse=2": "reverse", "show_sensitive=maybe": "show_sensitive", "min_date=2026-W01": "min_date", "min_date=20261120": "min_date", "min_date=2026-11-20%2000:00:00": "min_date",
			"min_date=0000": "min_date", "max_date=10000": "max_date", "max_date=yesterday": "max_date", "cursor=x": "cursor", "cursor=%00": "cursor", "cursor=.": "cursor", "cursor=e30.e30": "cursor",
			"connector_uuid=%00": "connector_uuid", "connector_uuid=%ff": "connector_uuid: not valid UTF-8", "connector_uuid=a&connector_uuid=b": "connector_uuid: given twice", "connector_uuid=null&connector_uuid=a": "connector_uuid: given twice",
			"id_connector=x": "id_connector", "id_connector=": "id_connector", "id_connector=1.5": "id_connector", "id_connector=NULL": "id_connector", "id_connector=9223372036854775808": "id_connector",
			"id_connector_source=x": "id_connector_source", "id_connector_source=null": "id_connector_source", "error_code=cancelledByUser": "error_code: must be one of", "error_code=%00": "error_code",
			"execution_date_type=now": "execution_date_type: must be one of", "country=France": "country: must be", "country=FR,ZZ": "country: must be", "country=%ff": "country: not valid UTF-8",
			"bank_payment_id=%00": "bank_payment_id", "website=%ff": "website", "payer_identification=%00": "payer_identification", "beneficiary_identification=%ff": "beneficiary_identification", "reference_id=%00": "reference_id",
			"payer_end=189": "payer_end", "beneficiary_end=00189": "beneficiary_end", "label=%00": "label", "id_client=x": "id_client", "min_amount=0": "min_amount: must be more", "max_amount=1.001": "max_amount", "min_amount=-1": "min_amount",
			"expand=transitions[": "expand: expected", "expand=a[b[c[d[e]]]]": "expand: nested deeper", "expand=%00": "expand",
			"%zz": "query string", "a=1;b=2": "query string",
		} {
			r.refused(t, "GET /payments", ask{path: "?" + query}, "invalidValue", message)
		}
		r.refused(t, "POST /payments", ask{path: "?client_state=a", body: strings.Replace(minimalDraft, "{", `{"client_state":"b",`, 1)}, "invalidValue", "client_state: has one value in the body and another in the query string")
		r.refused(t, "POST /payments", ask{path: "?client_state=%ff", body: minimalDraft}, "invalidValue", "client_state: not valid UTF-8")
		r.refused(t, "POST /payments", ask{path: "?show_sensitive=x", body: minimalDraft}, "invalidValue", "show_sensitive")
	})
}
