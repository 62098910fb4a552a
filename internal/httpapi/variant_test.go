package httpapi_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The keys of a body select its variant. Unknown keys select no variant.
func TestVariantsOfABody(t *testing.T) {
	s := newService(t)
	got := func(body string) outcome { return outcome{status: 200, body: `{"got":[3,` + body + `]}`} }
	invalid := func(message string) outcome { return outcome{400, "invalidValue", message, ""} }
	for body, want := range map[string]outcome{
		`{"song":"la"}`:                           got(`{"Song":"la","Loud":false},null,null`),
		`{"song":"la","loud":true,"other":1}`:     got(`{"Song":"la","Loud":true},null,null`),
		`{"song":"la","tears":{"a":"b"}}`:         got(`null,{"Song":"la","Tears":{"a":"b"}},null`),
		`{"calm":false,"song":null,"tears":null}`: got(`null,null,{"Plain":false}`),
		`{"tears":{"a":"b"}}`:                     {400, "missingParameter", "song: is required", ""},
		`{"loud":true}`:                           {400, "missingParameter", "song: is required", ""},
		``:                                        {400, "missingParameter", "song: is required, or one of song (with tears), calm", ""},
		`{"calm":null,"other":1}`:                 {400, "missingParameter", "song: is required, or one of song (with tears), calm", ""},
		`{"loud":true,"tears":{}}`:                invalid("body: loud, tears belong to different requests; send one of them at a time; loud goes with song; tears goes with song"),
		`{"calm":true,"song":"la"}`:               invalid("body: calm, song belong to different requests; send one of them at a time"),
		`{"song":1}`:                              invalid("song: must be a string"),
		`{"song":"longer"}`:                       invalid("song: longer than 5"),
		`{"song":"longer","tears":{"a":1}}`:       invalid("tears.a: must be a string"),
		`{"calm":"yes"}`:                          invalid("calm: must be a boolean"),
		`{"song":"la","LOUD":true}`:               invalid("LOUD: unknown name; names are case-sensitive"),
		`[]`:                                      invalid("body: must be an object"),
	} {
		t.Run(body, func(t *testing.T) {
			s.check(t, call{method: "POST", url: "/2.0/items/3/moods", token: "admin", body: body}, want)
		})
	}
}

// Like other fields, the scalar fields of a variant may be in a form or in the query.
func TestVariantsFromElsewhere(t *testing.T) {
	s := newService(t)
	form := "application/x-www-form-urlencoded"
	strict := map[string]string{"Prefer": "handling=strict"}
	loud, plain := outcome{status: 200, body: `{"got":[3,{"Song":"la","Loud":true},null,null]}`}, outcome{status: 200, body: `{"got":[3,null,null,{"Plain":true}]}`}
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"form":                  {call{body: "song=la&loud=1", contentType: form}, loud},
		"query":                 {call{url: "?song=la&loud"}, loud},
		"query strictly":        {call{url: "?calm", header: strict}, plain},
		"both":                  {call{url: "?loud", body: `{"song":"la"}`}, loud},
		"different":             {call{url: "?calm", body: `{"song":"la"}`}, outcome{400, "invalidValue", "body: song, calm belong to different requests", ""}},
		"two values":            {call{url: "?song=a", body: `{"song":"la"}`}, outcome{400, "invalidValue", "song: has one value in the body", ""}},
		"unknown strictly":      {call{url: "?clam", header: strict}, outcome{400, "invalidValue", `clam: unknown; did you mean "calm"?`, ""}},
		"unknown key, strictly": {call{body: `{"calm":true,"x":1}`, header: strict}, outcome{400, "invalidValue", "x: unknown", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			test.call.method, test.call.url, test.call.token = "POST", "/2.0/items/3/moods"+test.call.url, "admin"
			s.check(t, test.call, test.want)
		})
	}
}

func TestDocumentDescribesVariants(t *testing.T) {
	document := newService(t).document(t)
	content := "paths /items/{itemId}/moods post requestBody content"
	for path, want := range map[string]string{
		content + " application/json schema":                  `{"anyOf":[{"$ref":"#/components/schemas/HappyMood"},{"$ref":"#/components/schemas/SadMood"},{"$ref":"#/components/schemas/CalmMood"}]}`,
		content + " application/x-www-form-urlencoded schema": `{"anyOf":[{"$ref":"#/components/schemas/HappyMood"},{"$ref":"#/components/schemas/CalmMood"}]}`,
		"components schemas SadMood required":                 `["song","tears"]`,
		"paths /guarded get security":                         `[{},{"bearer":["payments:read-only"]},{"bearer":["payments:admin"]}]`,
	} {
		var wanted any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, at(t, document, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// A public route can have a parameter with which a call needs a token. Without this parameter, the
// API ignores the token.
func TestGuardedParameter(t *testing.T) {
	s := newService(t)
	for name, test := range map[string]struct {
		call call
		want outcome
	}{
		"no token":                 {call{url: "/2.0/guarded"}, outcome{status: 200}},
		"worthless token":          {call{url: "/2.0/guarded?other=1", token: "nobody"}, outcome{status: 200}},
		"with it, no token":        {call{url: "/2.0/guarded?secret=1"}, outcome{401, "invalidToken", "Authorization", ""}},
		"with it, worthless token": {call{url: "/2.0/guarded?secret", token: "nobody"}, outcome{status: 401, code: "invalidToken", message: "token"}},
		"with it, another kind":    {call{url: "/2.0/guarded?a=b&secret=", token: "user"}, outcome{403, "forbidden", "scopes", ""}},
		"with it, right token":     {call{url: "/2.0/guarded?secret=1", token: "reader"}, outcome{status: 200}},
		"with it, spelt otherwise": {call{url: "/2.0/guarded?%73ecret=1"}, outcome{401, "invalidToken", "Authorization", ""}},
	} {
		t.Run(name, func(t *testing.T) { s.check(t, test.call, test.want) })
	}
}
