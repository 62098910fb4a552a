package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// place is the position of a value in a body. It consists of keys, and indexes of lists.
type place []any

func (p place) String() string {
	var b strings.Builder
	for i, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, step)
		}
	}
	return b.String()
}

func put(body any, at place, value any) any {
	if len(at) == 0 {
		return value
	}
	if index, isIndex := at[0].(int); isIndex {
		items, _ := body.([]any)
		items = slices.Clone(items)
		for len(items) <= index {
			items = append(items, map[string]any{})
		}
		items[index] = put(items[index], at[1:], value)
		return items
	}
	members, _ := body.(map[string]any)
	members = maps.Clone(members)
	if members == nil {
		members = map[string]any{}
	}
	members[at[0].(string)] = put(members[at[0].(string)], at[1:], value)
	return members
}

// documented is a field of a body, as described in the OpenAPI document.
type documented struct {
	at       place
	types    []string
	enum     bool
	required bool
}

func (c *contract) fields(t *testing.T, schema map[string]any, at place) []documented {
	t.Helper()
	schema = c.resolve(t, schema)
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var all []documented
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		own := append(slices.Clone(at), name)
		property := c.resolve(t, properties[name].(map[string]any))
		all = append(all, documented{at: own, types: types(property), enum: property["enum"] != nil, required: slices.Contains(required, any(name))})
		all = append(all, c.fields(t, property, own)...)
		if items, ok := property["items"].(map[string]any); ok {
			all = append(all, c.fields(t, items, append(slices.Clone(own), 0))...)
		}
		if values, ok := property["additionalProperties"].(map[string]any); ok {
			all = append(all, documented{at: append(slices.Clone(own), "some_key"), types: types(values)})
		}
	}
	return all
}

func (c *contract) resolve(t *testing.T, schema map[string]any) map[string]any {
	t.Helper()
	ref, isRef := schema["$ref"].(string)
	if !isRef {
		return schema
	}
	target := c.schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	if target == nil {
		t.Fatalf("%s leads nowhere", ref)
	}
	return target.(map[string]any)
}

func types(schema map[string]any) []string {
	if word, single := schema["type"].(string); single {
		return []string{word}
	}
	var words []string
	several, _ := schema["type"].([]any)
	for _, word := range several {
		words = append(words, word.(string))
	}
	return words
}

// samples contains a value of each JSON type.
var samples = map[string]any{
	"string": "text", "number": json.Number("1.5"), "integer": json.Number("12"), "boolean": true,
	"array": []any{[]any{}}, "object": map[string]any{"a": map[string]any{}},
}

func (d documented) wrong() []any {
	var values []any
	for kind, value := range samples {
		fits := slices.Contains(d.types, kind) || kind == "integer" && slices.Contains(d.types, "number")
		if !fits {
			values = append(values, value)
		}
	}
	return values
}

// noText lists strings that every field must refuse, in JSON.
var noText = map[string]string{"NUL": `"a\u0000b"`, "raw invalid UTF-8": "\"a\xffb\"", "half a surrogate pair": `"a\ud800b"`}

const payer = `"payer":{"scheme_name":"iban","identification":"DE89370400440532013000","label":"Payer"}`

// complete returns a body of a call, to which the tests add fields. A call with alternative bodies
// has one body for each alternative.
func complete(t *testing.T, call string) any {
	t.Helper()
	raw := map[string]string{
		"POST /connector_programs":                                                                                    rightBody["POST /connector_programs"],
		"POST /users/{userId}/transactionsclusters":                                                                   `{"mean_amount":1,"wording":"w","id_account":1}`,
		"POST /users/{userId}/transactionsclusters/{clusterId}":                                                       `{}`,
		"POST /transactionsclusters":                                                                                  `{"mean_amount":1,"wording":"w","id_account":1}`,
		"POST /transactionsclusters/{clusterId}":                                                                      `{}`,
		"POST /users/{userId}/accounts/{accountId}/transactionsclusters":                                              `{"mean_amount":1,"wording":"w","id_account":1}`,
		"POST /users/{userId}/accounts/{accountId}/transactionsclusters/{clusterId}":                                  `{}`,
		"POST /accounts/{accountId}/transactionsclusters":                                                             `{"mean_amount":1,"wording":"w","id_account":1}`,
		"POST /accounts/{accountId}/transactionsclusters/{clusterId}":                                                 `{}`,
		"POST /users/{userId}/connections/{connectionId}/transactionsclusters":                                        `{"mean_amount":1,"wording":"w","id_account":1}`,
		"POST /users/{userId}/connections/{connectionId}/transactionsclusters/{clusterId}":                            `{}`,
		"POST /connections/{connectionId}/transactionsclusters":                                                       `{"mean_amount":1,"wording":"w","id_account":1}`,
		"POST /connections/{connectionId}/transactionsclusters/{clusterId}":                                           `{}`,
		"POST /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactionsclusters":                   `{"mean_amount":1,"wording":"w","id_account":1}`,
		"POST /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactionsclusters/{clusterId}":       `{}`,
		"POST /connections/{connectionId}/accounts/{accountId}/transactionsclusters":                                  `{"mean_amount":1,"wording":"w","id_account":1}`,
		"POST /connections/{connectionId}/accounts/{accountId}/transactionsclusters/{clusterId}":                      `{}`,
		"POST /users/{userId}/accounts/{accountId}/transactions":                                                      `{"transactions":[{"wording":"w","date":"2026-11-01","value":1}]}`,
		"POST /accounts/{accountId}/transactions":                                                                     `{"transactions":[{"wording":"w","date":"2026-11-01","value":1}]}`,
		"POST /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions":                           `{"transactions":[{"wording":"w","date":"2026-11-01","value":1}]}`,
		"POST /connections/{connectionId}/accounts/{accountId}/transactions":                                          `{"transactions":[{"wording":"w","date":"2026-11-01","value":1}]}`,
		"POST /users/{userId}/documents":                                                                              `{"name":"n"}`,
		"POST /documents":                                                                                             `{"name":"n"}`,
		"POST /users/{userId}/subscriptions/{subscriptionId}/documents":                                               `{"name":"n"}`,
		"POST /subscriptions/{subscriptionId}/documents":                                                              `{"name":"n"}`,
		"POST /users/{userId}/connections/{connectionId}/documents":                                                   `{"name":"n"}`,
		"POST /connections/{connectionId}/documents":                                                                  `{"name":"n"}`,
		"POST /users/{userId}/connections/{connectionId}/subscriptions/{subscriptionId}/documents":                    `{"name":"n"}`,
		"POST /connections/{connectionId}/subscriptions/{subscriptionId}/documents":                                   `{"name":"n"}`,
		"POST /users/{userId}/subscriptions":                                                                          `{}`,
		"POST /subscriptions":                                                                                         `{}`,
		"PATCH /connectors":                                                                                           `{}`,
		"POST /connectors/{connectorId}":                                                                              `{}`,
		"POST /connectors/{connectorId}/sources/{sourceId}":                                                           `{}`,
		"POST /users/{userId}/transactions/{transactionId}/documents":                                                 `{"id_document":1}`,
		"POST /users/{userId}/accounts/{accountId}/transactions/{transactionId}/documents":                            `{"id_document":1}`,
		"POST /users/{userId}/connections/{connectionId}/transactions/{transactionId}/documents":                      `{"id_document":1}`,
		"POST /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions/{transactionId}/documents": `{"id_document":1}`,
		"POST /transactions/{transactionId}/documents":                                                                `{"id_document":1}`,
		"POST /accounts/{accountId}/transactions/{transactionId}/documents":                                           `{"id_document":1}`,
		"POST /connections/{connectionId}/transactions/{transactionId}/documents":                                     `{"id_document":1}`,
		"POST /connections/{connectionId}/accounts/{accountId}/transactions/{transactionId}/documents":                `{"id_document":1}`,
		"POST /documenttypes/{typeId}":                                                                                `{}`,
		"POST /users/{userId}/connections/{connectionId}/files":                                                       `{}`,
		"POST /connections/{connectionId}/files":                                                                      `{}`,
		"POST /users/{userId}/connections/{connectionId}/sources/{sourceId}":                                          `{}`,
		"POST /connections/{connectionId}/sources/{sourceId}":                                                         `{}`,
		"POST /auth/init":                              `{}`,
		"POST /auth/token/code":                        `{}`,
		"POST /auth/token/access":                      `{"code":"x"}`,
		"POST /auth/renew":                             `{}`,
		"POST /users/{userId}/token":                   `{}`,
		"POST /admin/jwt":                              `{}`,
		"POST /webhooks/{webhookId}/add_to_data/{key}": `{}`,
		"POST /webhooks/{webhookId}/add_to_data":       `{"key":"crm"}`,
		"POST /auth/jwt":                               `{}`,
		"POST /users/{userId}/documents/{documentId}":  `{}`,
		"POST /documents/{documentId}":                 `{}`,
		"POST /users/{userId}/subscriptions/{subscriptionId}/documents/{documentId}":                            `{}`,
		"POST /subscriptions/{subscriptionId}/documents/{documentId}":                                           `{}`,
		"POST /users/{userId}/connections/{connectionId}/documents/{documentId}":                                `{}`,
		"POST /connections/{connectionId}/documents/{documentId}":                                               `{}`,
		"POST /users/{userId}/connections/{connectionId}/subscriptions/{subscriptionId}/documents/{documentId}": `{}`,
		"POST /connections/{connectionId}/subscriptions/{subscriptionId}/documents/{documentId}":                `{}`,
		"POST /users/{userId}/config":                                                                                    `{}`,
		"POST /users/{userId}/transactions/{transactionId}":                                                              `{}`,
		"POST /users/{userId}/accounts/{accountId}/transactions/{transactionId}":                                         `{}`,
		"POST /users/{userId}/connections/{connectionId}/transactions/{transactionId}":                                   `{}`,
		"POST /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions/{transactionId}":              `{}`,
		"POST /users/{userId}/transactions/{transactionId}/informations":                                                 `{}`,
		"POST /transactions/{transactionId}/informations":                                                                `{}`,
		"POST /users/{userId}/accounts/{accountId}/transactions/{transactionId}/informations":                            `{}`,
		"POST /accounts/{accountId}/transactions/{transactionId}/informations":                                           `{}`,
		"POST /users/{userId}/connections/{connectionId}/transactions/{transactionId}/informations":                      `{}`,
		"POST /connections/{connectionId}/transactions/{transactionId}/informations":                                     `{}`,
		"POST /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions/{transactionId}/informations": `{}`,
		"POST /connections/{connectionId}/accounts/{accountId}/transactions/{transactionId}/informations":                `{}`,
		"POST /users/{userId}/categories":                                                                                `{"name":"n"}`,
		"POST /users/{userId}/categories/full":                                                                           `{"name":"n"}`,
		"POST /users/{userId}/categories/{categoryId}":                                                                   `{}`,
		"POST /users/{userId}/categories/full/{categoryId}":                                                              `{}`,
		"POST /categorize": `{"transactions":[{"wording":"w"}]}`,
		"POST /users/{userId}/subscriptions/{subscriptionId}":                                `{}`,
		"POST /subscriptions/{subscriptionId}":                                               `{}`,
		"POST /transactions/{transactionId}":                                                 `{}`,
		"POST /accounts/{accountId}/transactions/{transactionId}":                            `{}`,
		"POST /connections/{connectionId}/transactions/{transactionId}":                      `{}`,
		"POST /connections/{connectionId}/accounts/{accountId}/transactions/{transactionId}": `{}`,
		"POST /connections":                                                    connecting,
		"POST /connections/{connectionId}":                                     `{}`,
		"POST /users/{userId}/accounts":                                        `{}`,
		"POST /accounts":                                                       `{}`,
		"POST /users/{userId}/connections/{connectionId}/accounts":             `{}`,
		"POST /connections/{connectionId}/accounts":                            `{}`,
		"POST /users/{userId}/accounts/{accountId}":                            `{}`,
		"POST /users/{userId}/connections/{connectionId}/accounts/{accountId}": `{}`,
		"POST /accounts/{accountId}":                                           `{}`,
		"POST /connections/{connectionId}/accounts/{accountId}":                `{}`,
		"POST /users/{userId}/connections":                                     connecting,
		"POST /users/{userId}/connections/{connectionId}":                      `{}`,

		"POST /clients":                 `{"name":"n"}`,
		"POST /clients/{clientId}":      `{}`,
		"POST /clients/{clientId}/logo": `{"logo":"AA=="}`,
		"POST /auth/token":              `{"grant_type":"client_credentials","scope":"payments:read-only"}`,
		"POST /payments":                strings.Replace(minimalDraft, "{", "{"+payer+",", 1),

		"POST /payments/{paymentId} PaymentValidateRequest":            `{` + payer + `,"connector_uuid":"` + testConnector + `","webview_url":"https://shop.example/pay"}`,
		"POST /payments/{paymentId} PaymentResumeRequest":              `{"resume":true}`,
		"POST /payments/{paymentId} PaymentSubmitFieldValuesRequest":   `{"fields":{"a":"b"}}`,
		"POST /payments/{paymentId} PaymentSubmitPSUValidationRequest": `{"psu_validate":true}`,
		"POST /payments/{paymentId} PaymentConfirmRequest":             `{"confirm":true}`,
		"POST /payments/{paymentId} PaymentCancelRequest":              `{"cancel":true,"client_redirect_uri":"https://shop.example/back"}`,
		"POST /payments/{paymentId}/terms":                             `{"id_terms":1}`,
		"POST /sandbox/payments/{paymentId}/simulate":                  `{"state":"expired"}`,
		"POST /payments/{paymentId}/scopedtoken":                       `{"scope":"payments:validate"}`,
		"POST /webhooks/auth":                                          `{"type":"hmac_signature","name":"n"}`,
		"POST /webhooks/auth/{authId}":                                 `{}`,
		"POST /webhooks/auth/{authId}/rotate":                          `{}`,
		"POST /webhooks":                                               `{"event":"USER_SYNCED","url":"https://client.example/"}`,
		"POST /webhooks/{webhookId}":                                   `{}`,
		"POST /webhooks/{webhookId}/recover":                           `{"since":"2026-11-20"}`,
		"POST /webhooks/{webhookId}/test":                              `{}`,
		"POST /config":                                                 `{}`,
		"POST /sandbox/clock":                                          `{}`,
		"POST /sandbox/events":                                         `{"event":"ACCOUNT_FOUND"}`,
	}[strings.Replace(call, "PUT", "POST", 1)]
	if raw == "" {
		t.Fatalf("no body for %s", call)
	}
	return exactly(t, []byte(raw))
}

// bodied returns the calls that have a body, with the body's schema. When a call accepts several
// bodies, each body is a separate entry.
func (c *contract) bodied() map[string]map[string]any {
	all := map[string]map[string]any{}
	for path, operations := range c.paths {
		for verb, operation := range operations.(map[string]any) {
			request, has := operation.(map[string]any)["requestBody"].(map[string]any)
			if !has {
				continue
			}
			media := request["content"].(map[string]any)["application/json"].(map[string]any)
			for name, schema := range alternatives(media["schema"].(map[string]any)) {
				all[strings.ToUpper(verb)+" "+path+name] = schema
			}
		}
	}
	return all
}

func (c *contract) takes(call, mediaType string) bool {
	verb, path, _ := strings.Cut(call, " ")
	path, _, _ = strings.Cut(path, " ")
	operations, _ := c.paths[path].(map[string]any)
	operation, _ := operations[strings.ToLower(verb)].(map[string]any)
	request, _ := operation["requestBody"].(map[string]any)
	content, _ := request["content"].(map[string]any)
	return content[mediaType] != nil
}

// alternatives returns schemas by name. A single schema has no name.
func alternatives(schema map[string]any) map[string]map[string]any {
	several, _ := schema["anyOf"].([]any)
	if several == nil {
		return map[string]map[string]any{"": schema}
	}
	all := map[string]map[string]any{}
	for _, one := range several {
		name := strings.TrimPrefix(one.(map[string]any)["$ref"].(string), "#/components/schemas/")
		all[" "+name] = one.(map[string]any)
	}
	return all
}

// wholeLists lists the calls whose body may be a list.
var wholeLists = map[string]bool{
	"POST /categorize": true, "POST /accounts/{accountId}/transactions": true, "POST /users/{userId}/accounts/{accountId}/transactions": true,
	"POST /connections/{connectionId}/accounts/{accountId}/transactions": true, "POST /users/{userId}/connections/{connectionId}/accounts/{accountId}/transactions": true,
}

// Every field of every body refuses values of other types and invalid text, and the error names the
// field. A missing required field is an error.
func TestEveryFieldRefusesWhatItIsNot(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		r := s.refuser(t)
		defer r.done(t)
		for call, schema := range s.contract.bodied() {
			body := complete(t, call)
			for _, field := range s.contract.fields(t, schema, nil) {
				r.field(t, call, body, field)
			}
			for _, document := range []string{`[]`, `"text"`, `12`, `true`, `null`} {
				if document == `[]` && wholeLists[call] {
					continue
				}
				r.refused(t, call, ask{body: document}, "invalidValue", "body: must be an object")
			}
		}
	})
}

func (r *refuser) field(t *testing.T, call string, body any, field documented) {
	name := field.at.String()
	for _, value := range field.wrong() {
		r.refused(t, call, ask{body: encoded(t, put(body, field.at, value))}, "invalidValue", name)
	}
	if field.required {
		r.refused(t, call, ask{body: without(t, body, field.at)}, "missingParameter", missed(call, name))
		r.refused(t, call, ask{body: encoded(t, put(body, field.at, nil))}, "missingParameter", missed(call, name))
	}
	if slices.Contains(field.types, "string") {
		for _, text := range noText {
			r.refused(t, call, ask{body: planted(t, body, field.at, text)}, "invalidValue", name+": ")
		}
		if field.enum {
			r.refused(t, call, ask{body: planted(t, body, field.at, `"no_such_word"`)}, "invalidValue", name+": must be one of")
		}
	}
	r.spelt(t, call, body, field.at)
}

// missed returns the beginning of the message for a missing required field. For a call with
// alternative bodies, the message only contains the name, because the body could be any of them.
func missed(call, name string) string {
	if strings.Count(call, " ") > 1 {
		return name
	}
	return name + ": "
}

// spelt sends a key twice, and then in capitals.
func (r *refuser) spelt(t *testing.T, call string, body any, at place) {
	key, isKey := at[len(at)-1].(string)
	if !isKey || key == "some_key" {
		return
	}
	twice := fmt.Sprintf(`1,%q:2`, key)
	r.refused(t, call, ask{body: planted(t, body, at, twice)}, "invalidValue", at.String()+": given twice")
	other := append(slices.Clone(at[:len(at)-1]), strings.ToUpper(key))
	r.refused(t, call, ask{body: encoded(t, put(body, other, "x"))}, "invalidValue", other.String()+": unknown name; names are case-sensitive")
}

func planted(t *testing.T, body any, at place, raw string) string {
	t.Helper()
	const mark = "planted-here"
	return strings.Replace(encoded(t, put(body, at, mark)), `"`+mark+`"`, raw, 1)
}

func without(t *testing.T, body any, at place) string {
	t.Helper()
	body = put(body, at, nil)
	holder := body
	for _, step := range at[:len(at)-1] {
		switch step := step.(type) {
		case int:
			holder = holder.([]any)[step]
		case string:
			holder = holder.(map[string]any)[step]
		}
	}
	delete(holder.(map[string]any), at[len(at)-1].(string))
	return encoded(t, body)
}

// refuser sends requests that the service must refuse.
type refuser struct {
	*fixture
	before     record
	digest     string
	call       string // the call of the last request
	paths      map[string]string
	credential map[string]string
}

func (s *fixture) refuser(t *testing.T) *refuser {
	t.Helper()
	payment, webhook, provider := s.thing(t, "home", "payment"), s.thing(t, "home", "webhook"), s.thing(t, "home", "oauth")
	r := &refuser{fixture: s, credential: map[string]string{
		"/payments": s.token(t, "", "admin+validate", 0), "/webhooks": s.token(t, "", "config", 0), "/sandbox": s.token(t, "", "config", 0),
		"/config": s.token(t, "", "config", 0), "/documenttypes": s.token(t, "", "config", 0), "/connectors": s.token(t, "", "config", 0), "/clients": s.token(t, "", "config", 0),
		"/subscriptions": s.token(t, "", "user", 0), "/documents": s.token(t, "", "user", 0), "/categorize": s.token(t, "", "user", 0), "/transactionsclusters": s.token(t, "", "user", 0),
		"/users/1/token": s.token(t, "", "config", 0), "/connector_programs": s.token(t, "", "deployment", 0), "/admin": s.token(t, "", "config", 0),
		"/users": s.token(t, "", "user", 0), "/auth/token/code": s.token(t, "", "user", 0),
	}}
	r.paths = map[string]string{"/users/{userId}/token": "/users/1/token", "{paymentId}": payment, "{webhookId}": webhook, "{authId}": provider, "{userId}": "me", "{connectorId}": testConnector, "{sourceId}": "401", "{typeId}": "4", "{clientId}": s.thing(t, "home", "client"), "{subscriptionId}": s.thing(t, "home", "subscription"), "{documentId}": s.thing(t, "home", "document")}
	for spelling, what := range map[string]string{"{connectionId}": "holder", "{accountId}": "holding", "{transactionId}": "transaction", "{categoryId}": "category", "{clusterId}": "series"} {
		r.paths[spelling] = s.thing(t, "home", what)
	}
	for _, prefix := range []string{"/transactions", "/accounts", "/connections"} {
		r.credential[prefix] = s.token(t, "", "user", 0)
	}
	// The background loop stores the first use of each token. This must happen before the digest of
	// the tables.
	for _, credential := range r.credential {
		s.do(t, ask{method: "GET", path: "/config", credential: credential})
	}
	must(t, s.Access.KeepUses(t.Context()))
	s.awaitAuditChain(t)
	r.before = s.record()
	r.digest = s.eyes.Digest()
	return r
}

func (r *refuser) done(t *testing.T) {
	t.Helper()
	r.discreet(t)
	if r.eyes.Digest() != r.digest {
		t.Error("refused requests changed what was stored")
	}
}

func (r *refuser) refused(t *testing.T, call string, a ask, code, message string) {
	t.Helper()
	words := strings.Fields(call)
	method, path := words[0], words[1]
	if call != r.call {
		// Once for each call, because the count takes longer than a request.
		if diff := r.changed(r.before); diff != "" {
			t.Errorf("refused requests of %s changed rows (-before +after):\n%s", r.call, diff)
			r.before = r.record()
		}
		r.call = call
	}
	for _, spelling := range longestFirst(r.paths) {
		path = strings.ReplaceAll(path, spelling, r.paths[spelling])
	}
	a.method, a.path = method, path+a.path
	all := longestFirst(r.credential)
	if at := slices.IndexFunc(all, func(prefix string) bool { return strings.HasPrefix(path, prefix) }); at >= 0 {
		a.credential = r.credential[all[at]]
	}
	got := r.do(t, a)
	gotCode, gotMessage := got.message(t)
	want := 400
	if code == "payloadTooLarge" {
		want = 413
	}
	if got.status != want || gotCode != code || !strings.Contains(gotMessage, message) {
		t.Errorf("%s %.300s: %d %s, want %d %s with %q", call, a.path+" "+a.body, got.status, got.body, want, code, message)
	}
}

func longestFirst(m map[string]string) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return len(b) - len(a) })
}

// discreet fails the test when the log contains personal or secret data, or a server error.
func (s *fixture) discreet(t *testing.T) {
	t.Helper()
	log := s.Logs.String()
	for _, word := range []string{"FR76", "Shop", "Invoice", "DE89", "Jeanne", "psl_", s.domainOf("").secret, "shop.example", `"level":"ERROR"`, "planted-here", "text"} {
		if at := strings.Index(log, word); at >= 0 {
			t.Errorf("the log has %q: %.300s", word, log[max(0, at-100):])
		}
	}
}
