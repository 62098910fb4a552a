package httpapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/httpapi"
)

func (s *service) document(t *testing.T) map[string]any {
	t.Helper()
	w := s.do(call{url: "/2.0/openapi.json"})
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("%d %v", w.Code, err)
	}
	return got
}

// at returns the value at a path of keys, separated by spaces.
func at(t testing.TB, value any, path string) any {
	t.Helper()
	for key := range strings.FieldsSeq(path) {
		members, ok := value.(map[string]any)
		if !ok || members[key] == nil {
			t.Fatalf("no %q on the way %q", key, path)
		}
		value = members[key]
	}
	return value
}

func TestDocumentListsEveryRoute(t *testing.T) {
	s := newService(t)
	paths := at(t, s.document(t), "paths").(map[string]any)
	for _, r := range s.routes() {
		for _, pattern := range append(r.Aliases, r.Pattern) {
			methods := []string{strings.ToLower(r.Method)}
			if r.Method == "UPDATE" {
				methods = []string{"post", "put"}
			}
			for _, method := range methods {
				at(t, paths, pattern+" "+method)
			}
		}
	}
	at(t, paths, "/openapi.json get")
}

func TestDocumentDescribesAnEndpoint(t *testing.T) {
	document := newService(t).document(t)
	for path, want := range map[string]string{
		"openapi":                                                                   `"3.1.0"`,
		"servers":                                                                   `[{"url":"/2.0"}]`,
		"components securitySchemes":                                                `{"bearer":{"description":"Authorization: Bearer <token>","scheme":"bearer","type":"http"}}`,
		"paths /items post security":                                                `[{"bearer":["payments:admin"]}]`,
		"paths /flag get security":                                                  `[]`,
		"paths /items post operationId":                                             `"postItems"`,
		"paths /items/{itemId} put operationId":                                     `"putItemsItemId"`,
		"paths /items/{itemId} get parameters":                                      `[{"in":"path","name":"itemId","required":true,"schema":{"format":"int64","minimum":1,"type":"integer"}}]`,
		"paths /users/{userId}/things get parameters":                               `[{"in":"path","name":"userId","required":true,"schema":{"anyOf":[{"format":"int64","minimum":1,"type":"integer"},{"const":"me"}]}}]`,
		"paths /items post responses 409 description":                               `"conflict, noAccount"`,
		"paths /items post responses 400 description":                               `"invalidValue, missingParameter"`,
		"paths /items/{itemId} delete responses 204":                                `{"description":"success"}`,
		"paths /webhooks/auth post responses 202 description":                       `"success"`,
		"paths /items get responses 200 content application/json schema":            `{"$ref":"#/components/schemas/ItemList"}`,
		"components schemas ItemList required":                                      `["items","total","_links"]`,
		"components schemas Links properties next":                                  `{"anyOf":[{"$ref":"#/components/schemas/Link"},{"type":"null"}]}`,
		"components schemas ErrorBody required":                                     `["code","description","message","request_id"]`,
		"components schemas CreateItem required":                                    `["name"]`,
		"components schemas CreateItem properties name":                             `{"description":"what it is called","examples":["a chair"],"maxLength":10,"type":"string"}`,
		"components schemas CreateItem properties colour":                           `{"enum":["red","green","blue"],"type":"string"}`,
		"components schemas CreateItem properties count":                            `{"format":"int64","maximum":9,"minimum":1,"type":"integer"}`,
		"components schemas CreateItem properties lines":                            `{"items":{"$ref":"#/components/schemas/Line"},"type":"array"}`,
		"components schemas CreateItem properties fields":                           `{"additionalProperties":{"maxLength":4096,"type":"string"},"type":"object"}`,
		"components schemas CreateItem properties owner":                            `{"maxLength":4096,"type":["string","null"]}`,
		"paths /items/{itemId} post requestBody content multipart/form-data schema": `{"$ref":"#/components/schemas/UpdateItem"}`,
		"paths /items post requestBody content":                                     `{"application/json":{"schema":{"$ref":"#/components/schemas/CreateItem"}}}`,
	} {
		got, err := json.Marshal(at(t, document, path))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
			t.Fatalf("%s: not JSON", path)
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestDocumentDescribesPaging(t *testing.T) {
	document := newService(t).document(t)
	var limit any
	for _, p := range at(t, document, "paths /items get parameters").([]any) {
		if at(t, p, "name") == "limit" {
			limit = at(t, p, "schema")
		}
	}
	want := map[string]any{"type": "integer", "format": "int64", "minimum": 1.0, "maximum": float64(httpapi.MaxLimit()), "default": 1000.0}
	if diff := cmp.Diff(want, limit); diff != "" {
		t.Errorf("limit (-want +got):\n%s", diff)
	}
}

// TestDocumentHoldsTogether checks that every reference has a target, and that names of operations
// are unique.
func TestDocumentHoldsTogether(t *testing.T) {
	document := newService(t).document(t)
	var ids []string
	walk(document, func(members map[string]any) {
		if ref, ok := members["$ref"].(string); ok {
			at(t, document, strings.ReplaceAll(strings.TrimPrefix(ref, "#/"), "/", " "))
		}
		if id, ok := members["operationId"].(string); ok {
			if slices.Contains(ids, id) {
				t.Errorf("two operations called %s", id)
			}
			ids = append(ids, id)
			at(t, members, "responses 500")
		}
	})
	if len(ids) == 0 {
		t.Error("no operations")
	}
}

func walk(value any, do func(map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		do(value)
		for _, member := range value {
			walk(member, do)
		}
	case []any:
		for _, item := range value {
			walk(item, do)
		}
	}
}
