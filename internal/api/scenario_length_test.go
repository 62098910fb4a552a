package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// input is a parameter of the query, or a member of the body at a position.
type input struct {
	parameter string
	place     []any
	longest   int
}

func (i input) String() string {
	if i.parameter != "" {
		return i.parameter
	}
	return fmt.Sprint(i.place...)
}

func (c *contract) textInputs(t *testing.T, pattern, method string) (all []input) {
	t.Helper()
	operations, known := c.paths[pattern].(map[string]any)
	if !known {
		t.Fatalf("%s is not in the document", pattern)
	}
	operation := operations[strings.ToLower(method)].(map[string]any)
	parameters, _ := operation["parameters"].([]any)
	for _, p := range parameters {
		parameter := p.(map[string]any)
		for _, found := range c.texts(parameter["schema"], nil) {
			if parameter["in"] == "query" {
				all = append(all, input{parameter: parameter["name"].(string), longest: found.longest})
			}
		}
	}
	if body, has := operation["requestBody"].(map[string]any); has {
		if content, is := body["content"].(map[string]any)["application/json"].(map[string]any); is {
			all = append(all, c.texts(content["schema"], nil)...)
		}
	}
	return all
}

func (c *contract) texts(of any, place []any) (all []input) {
	schema, is := of.(map[string]any)
	if !is || len(place) > 6 {
		return nil
	}
	if ref, named := schema["$ref"].(string); named {
		return c.texts(c.schemas[strings.TrimPrefix(ref, "#/components/schemas/")], place)
	}
	if longest, bounded := schema["maxLength"]; bounded {
		n, _ := longest.(json.Number).Int64()
		all = append(all, input{place: place, longest: int(n)})
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		all = append(all, c.texts(properties[name], stepped(place, name))...)
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		variants, _ := schema[word].([]any)
		for _, one := range variants {
			all = append(all, c.texts(one, place)...)
		}
	}
	all = append(all, c.texts(schema["items"], stepped(place, 0))...)
	return append(all, c.texts(schema["additionalProperties"], stepped(place, "website"))...)
}

func stepped(place []any, step any) []any { return append(slices.Clone(place), step) }

func placeText(value any, place []any, text string) any {
	if len(place) == 0 {
		return text
	}
	if name, member := place[0].(string); member {
		object, is := value.(map[string]any)
		if !is {
			object = map[string]any{}
		}
		object[name] = placeText(object[name], place[1:], text)
		return object
	}
	list, _ := value.([]any)
	if len(list) == 0 {
		list = []any{nil}
	}
	list[0] = placeText(list[0], place[1:], text)
	return list
}

// random returns random characters of four bytes, because databases would compress a pattern.
func random(seed *rand.Rand, length int) string {
	text := make([]rune, length)
	for i := range text {
		text[i] = rune(0x20000 + seed.IntN(0xa000))
	}
	return string(text)
}

func (i input) with(t *testing.T, a ask, text string) ask {
	t.Helper()
	if i.parameter != "" {
		separator := "?"
		if strings.Contains(a.path, "?") {
			separator = "&"
		}
		a.path += separator + i.parameter + "=" + url.QueryEscape(text)
		return a
	}
	var value any
	if a.body != "" {
		decoder := json.NewDecoder(strings.NewReader(a.body))
		decoder.UseNumber()
		must(t, decoder.Decode(&value))
	}
	encoded, err := json.Marshal(placeText(value, i.place, text))
	must(t, err)
	a.body = string(encoded)
	return a
}

// TestEveryTextIsBounded sends long texts to each text input in the document. The longest permitted
// text must not cause a server error. The service must refuse a text of 50,000 characters.
func TestEveryTextIsBounded(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		seed, sent := rand.New(rand.NewPCG(1, 2)), 0 //nolint:gosec // a fixed seed makes the test repeatable
		for call, path := range calls() {
			method, pattern, _ := strings.Cut(call, " ")
			for _, in := range s.contract.textInputs(t, pattern, method) {
				sent++
				a := s.fill(t, s.rightly(t, call, s.placed(call, path), s.mayCall(t, call)))
				longest := in.with(t, a, random(seed, in.longest))
				if len(longest.path) > 12<<10 {
					longest = in.with(t, a, random(seed, 1<<10)[:4<<10])
				}
				r := s.do(t, longest)
				if r.status >= 500 {
					t.Errorf("%s with the longest %s: %d %s", call, in, r.status, r.body)
				}
				if limit := limitOf(r.body); limit > 0 && limit < in.longest {
					s.wantShorter(t, call, in, limit, in.with(t, a, random(seed, limit)))
				}
				tooLong := in.with(t, a, strings.Repeat("a", 50_000))
				if r := s.do(t, tooLong); r.status != 400 && r.status != 413 && r.status != 414 {
					t.Errorf("%s with an endless %s: %d %s", call, in, r.status, r.body)
				}
			}
		}
		if sent < 300 {
			t.Errorf("only %d texts are inputs", sent)
		}
	})
}

// stricter contains the inputs whose limit may be lower than the document says. Each connector has
// its own limit for labels. For the value of a field, the document states the limit of an encrypted
// value, which is longer.
var stricter = map[string]bool{"instructions0label": true, "fieldswebsite": true}

// wantShorter sends a text that is as long as a refusal permits. Only inputs in the map stricter
// may have a limit below the document's limit.
func (s *fixture) wantShorter(t *testing.T, call string, in input, limit int, shorter ask) {
	t.Helper()
	if !stricter[in.String()] {
		t.Errorf("%s: the document permits %d characters of %s, and the service %d", call, in.longest, in, limit)
	}
	if r := s.do(t, shorter); r.status >= 300 {
		t.Errorf("%s with %d characters of %s: %d %s", call, limit, in, r.status, r.body)
	}
}

var permitted = regexp.MustCompile(`(?:at most|longer than|more than|\d to) (\d+) characters`)

// limitOf returns the number of characters that a refusal permits. It returns 0 when the refusal
// has another reason.
func limitOf(body []byte) int {
	found := permitted.FindSubmatch(body)
	if found == nil {
		return 0
	}
	limit, _ := strconv.Atoi(string(found[1]))
	return limit
}

func (s *fixture) mayCall(t *testing.T, call string) string {
	t.Helper()
	expected := expectations(t)[call]
	for _, token := range append(rights, "own:validate", "validate", "allow-sensitive", "code", "deployment") {
		if status := expected[token]; status != 0 && status != 401 && status != 403 {
			return token
		}
	}
	return ""
}
