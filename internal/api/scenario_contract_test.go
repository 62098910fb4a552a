package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"passerelle/internal/httpapi"
)

// contract contains the schemas of the OpenAPI document. The tests compile each schema once,
// because compiling it for every message would be slow.
type contract struct {
	paths, schemas map[string]any
	// patterns has the words of each path of the document, by the number of words.
	patterns map[int]map[string][]string
	// requests accepts unknown members of an object, like the service. answers accepts no unknown
	// members, so undocumented members fail the test.
	requests, answers *jsonschema.Compiler
	mu                sync.Mutex
	compiled          map[string]*jsonschema.Schema
}

const contractURL = "https://contract.example/openapi.json"

func served(t testing.TB, handler http.Handler) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/2.0/openapi.json", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("the OpenAPI document: %d %s", w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// readContract parses the document only once, because parsing takes half a second.
func readContract(t testing.TB, handler http.Handler) *contract {
	t.Helper()
	theContract.Lock()
	defer theContract.Unlock()
	if theContract.contract == nil {
		theContract.contract = parseContract(t, served(t, handler))
	}
	return theContract.contract
}

var theContract struct {
	sync.Mutex
	contract *contract
}

func parseContract(t testing.TB, raw []byte) *contract {
	t.Helper()
	c := &contract{compiled: map[string]*jsonschema.Schema{}, patterns: map[int]map[string][]string{}}
	for _, into := range []**jsonschema.Compiler{&c.requests, &c.answers} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if into == &c.answers {
			walk(doc, closeObject)
		}
		*into = jsonschema.NewCompiler()
		if err := (*into).AddResource(contractURL, doc); err != nil {
			t.Fatal(err)
		}
		c.paths, c.schemas = at(t, doc, "paths").(map[string]any), at(t, doc, "components schemas").(map[string]any)
	}
	for pattern := range c.paths {
		words := strings.Split(pattern, "/")
		if c.patterns[len(words)] == nil {
			c.patterns[len(words)] = map[string][]string{}
		}
		c.patterns[len(words)][pattern] = words
	}
	return c
}

func closeObject(schema map[string]any) {
	if _, isObject := schema["properties"].(map[string]any); isObject && schema["type"] == "object" && schema["additionalProperties"] == nil {
		schema["additionalProperties"] = false
	}
}

func (c *contract) operation(method, path string) (pattern, verb string, found bool) {
	path, _, _ = strings.Cut(path, "?")
	path, versioned := strings.CutPrefix(path, version)
	if !versioned {
		return "", "", false
	}
	path = strings.TrimPrefix(path, version)
	least, supplied := 100, strings.Split(strings.TrimSuffix(path, "/"), "/")
	for candidate, words := range c.patterns[len(supplied)] {
		if holes, fits := fit(words, supplied); fits && holes < least {
			pattern, least = candidate, holes
		}
	}
	verb = strings.ToLower(method)
	if verb == "head" {
		verb = "get"
	}
	operations, _ := c.paths[pattern].(map[string]any)
	return pattern, verb, operations[verb] != nil
}

func fit(words, supplied []string) (holes int, fits bool) {
	for i, word := range words {
		if strings.HasPrefix(word, "{") {
			holes++
		} else if word != supplied[i] {
			return 0, false
		}
	}
	return holes, true
}

// check validates a response, and an accepted request, against the document.
func (c *contract) check(a ask, request *http.Request, r reply) error {
	pattern, verb, found := c.operation(a.method, request.URL.Opaque)
	if !found || r.status == http.StatusMethodNotAllowed {
		return nil
	}
	operation := c.paths[pattern].(map[string]any)[verb].(map[string]any)
	responses, _ := operation["responses"].(map[string]any)
	if responses[strconv.Itoa(r.status)] == nil {
		return fmt.Errorf("status %d is not documented", r.status)
	}
	place := "/paths/" + pointer(pattern) + "/" + verb
	if len(r.body) > 0 && r.header.Get("Content-Type") == "application/json" {
		if err := c.holds(c.answers, place+"/responses/"+strconv.Itoa(r.status), r.body); err != nil {
			return err
		}
	}
	// Query parameters may supply some members of a body, and a body may be a list. The document
	// does not mention these forms for each body.
	inBody := request.Header.Get("Content-Type") == "application/json" && strings.TrimSpace(a.body) != "" && !strings.HasPrefix(a.body, "[") && !strings.Contains(a.path, "?")
	if operation["requestBody"] == nil || !inBody || r.status >= http.StatusBadRequest {
		return nil
	}
	return c.holds(c.requests, place+"/requestBody", []byte(a.body))
}

func (c *contract) holds(compiler *jsonschema.Compiler, place string, raw []byte) error {
	schema, err := c.compile(compiler, place+"/content/application~1json/schema")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (c *contract) compile(compiler *jsonschema.Compiler, place string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.compiled[place] != nil {
		return c.compiled[place], nil
	}
	schema, err := compiler.Compile(contractURL + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(place))
	c.compiled[place] = schema
	return schema, err
}

// lists reports whether the response of an operation has a total.
func (c *contract) lists(operation map[string]any) bool {
	ref, found := dig(operation, "responses", "200", "content", "application/json", "schema", "$ref").(string)
	if !found {
		return false
	}
	required, _ := dig(c.schemas, strings.TrimPrefix(ref, "#/components/schemas/"), "required").([]any)
	return slices.Contains(required, any("total"))
}

func dig(value any, keys ...string) any {
	for _, key := range keys {
		members, _ := value.(map[string]any)
		value = members[key]
	}
	return value
}

func pointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

const goldenDocument = "../../docs/openapi.json"

// The OpenAPI document may change only on purpose.
func TestDocumentIsTheOneReviewed(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		raw := served(t, s.API())
		got := indented(t, raw)
		if *update {
			if err := os.WriteFile(goldenDocument, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(goldenDocument)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("the OpenAPI document changed; if that is meant, run make generate (-reviewed +got):\n%s", diff)
		}
		doc, err := openapi3.NewLoader().LoadFromData(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := doc.Validate(t.Context()); err != nil {
			t.Errorf("not a valid OpenAPI document: %v", err)
		}
	})
}

// Each GET that returns a total accepts limit and offset, except the list of scenarios.
func TestEachListHasPages(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		lists := 0
		for path, item := range s.contract.paths {
			get, found := item.(map[string]any)["get"].(map[string]any)
			if !found || !s.contract.lists(get) || path == "/sandbox/scenarios" {
				continue
			}
			lists++
			if parameters := fmt.Sprint(get["parameters"]); !strings.Contains(parameters, "name:limit") || !strings.Contains(parameters, "name:offset") {
				t.Errorf("GET %s has no limit or no offset", path)
			}
		}
		if lists < 100 {
			t.Errorf("only %d lists are in the document", lists)
		}
	})
}

// The parameter limit also cuts a list that fits on one page, and the total stays the same.
func TestPagesOfShortLists(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		var all, page struct {
			Currencies []struct{ ID string }
			Total      int
		}
		s.do(t, ask{method: "GET", path: "/currencies"}).decode(t, &all)
		s.do(t, ask{method: "GET", path: "/currencies?limit=2&offset=1"}).decode(t, &page)
		if diff := cmp.Diff(all.Currencies[1:3], page.Currencies); diff != "" || page.Total != len(all.Currencies) {
			t.Errorf("total %d of %d, items (-want +got):\n%s", page.Total, len(all.Currencies), diff)
		}
		s.do(t, ask{method: "GET", path: "/currencies?limit=100&offset=1000"}).decode(t, &page)
		if len(page.Currencies) != 0 || page.Total != len(all.Currencies) {
			t.Errorf("after the end: %+v", page)
		}
		for _, limit := range []int{0, httpapi.MaxLimit() + 1} {
			if r := s.do(t, ask{method: "GET", path: fmt.Sprintf("/currencies?limit=%d", limit)}); r.status != http.StatusBadRequest {
				t.Errorf("limit %d: %d", limit, r.status)
			}
		}
	})
}

// The document says at which number a total of payments stops. This number is the largest limit of
// a page.
func TestDocumentNamesTheCount(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		texts := regexp.MustCompile(`total[^"]* stops at (\d+)`).FindAllSubmatch(served(t, s.API()), -1)
		if len(texts) != 2 {
			t.Errorf("%d texts name the number", len(texts))
		}
		for _, text := range texts {
			if string(text[1]) != fmt.Sprint(httpapi.MaxLimit()) {
				t.Errorf("%s, but a page has up to %d payments", text[0], httpapi.MaxLimit())
			}
		}
	})
}

// The service and its document have no calls for transfers, recipients and payment links.
func TestDocumentPromisesNothingMore(t *testing.T) {
	onSQLite(t, func(t *testing.T, s *fixture) {
		for _, path := range []string{"/transfers", "/recipients", "/payment-links"} {
			r := s.do(t, ask{method: "GET", path: path, token: "admin"})
			if _, _, found := s.contract.operation("GET", version+path); found || r.status != http.StatusNotFound {
				t.Errorf("GET %s: %d, in the document: %v", path, r.status, found)
			}
		}
	})
}

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

func walk(value any, call func(map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		call(value)
		for _, member := range value {
			walk(member, call)
		}
	case []any:
		for _, item := range value {
			walk(item, call)
		}
	}
}
