package httpapi

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type fuzzInput struct {
	Text   string            `body:"text"`
	Count  *int64            `body:"count"`
	Flag   bool              `body:"flag"`
	Amount Number            `body:"amount"`
	Words  WordList          `body:"words"`
	Owner  Nullable[string]  `body:"owner"`
	Map    map[string]string `body:"map"`
	List   []fuzzItem        `body:"list"`
}

type fuzzItem struct {
	Label string `body:"label" max:"3"`
}

var fuzzPlan = newPlan(reflect.TypeFor[fuzzInput]())

func bindFuzz(body node, strict bool) (fuzzInput, error) {
	var in fuzzInput
	err := fuzzPlan.body.set(&binding{strict: strict}, reflect.ValueOf(&in).Elem(), &body)
	return in, err
}

// plain converts a node to the value that encoding/json would decode.
func plain(n node) any {
	switch n.shape {
	case null:
		return nil
	case boolean:
		return n.text == "true"
	case number:
		return json.Number(n.text)
	case list:
		items := []any{}
		for _, item := range n.nodes {
			items = append(items, plain(item))
		}
		return items
	case object:
		members := map[string]any{}
		for _, member := range n.nodes {
			members[member.name] = plain(member)
		}
		return members
	}
	return n.text
}

// FuzzDecodeJSON checks that an accepted value equals the value that encoding/json decodes.
func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"text":"a\u00e9\ud83d\ude00","count":12,"flag":true}`, `{"list":[{"label":"x"},null],"map":{"a":"b"}}`,
		`{"amount":1.50,"words":["a","b"],"owner":null}`, `{"text":"\ud800"}`, "{\"text\":\"\xff\"}", `{"text":"\\\"","text":1}`,
		`[{"a":[[[]]]}]`, `{"a":-0.0e+10 , "b" : [ 1 , 2 ] }`, `{"Text":"x"}`, "{\"text\":\"\ufffd\\uFFFD\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		parsed, err := parseJSON(t.Context(), body)
		if err != nil {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatalf("accepted what is not JSON: %v", err)
		}
		if diff := cmp.Diff(want, plain(parsed)); diff != "" {
			t.Fatalf("another value than encoding/json (-want +got):\n%s", diff)
		}
		for _, strict := range []bool{false, true} {
			if _, err := bindFuzz(parsed, strict); err != nil && !utf8.ValidString(err.Error()) {
				t.Fatalf("error is not text: %q", err)
			}
		}
	})
}

// FuzzFlatBodies checks that a body without nesting means the same in JSON and as a form.
func FuzzFlatBodies(f *testing.F) {
	f.Add("a", "12", true, "1.5")
	f.Add("", "-1", false, "abc")
	f.Add("é&=%\x00", "9223372036854775808", true, "1e3")
	f.Fuzz(func(t *testing.T, content, count string, flag bool, amount string) {
		values := url.Values{"text": {content}, "count": {count}, "amount": {amount}, "words": {content}, "flag": {map[bool]string{true: "true", false: "false"}[flag]}}
		form, formError := parseForm(t.Context(), []byte(values.Encode()), nil)
		quoted, err := json.Marshal(map[string]any{"text": content, "amount": amount, "words": content, "flag": flag, "count": json.RawMessage(count)})
		if err != nil || !utf8.ValidString(content) || !utf8.ValidString(amount) || !json.Valid([]byte(count)) || strings.TrimLeft(count, "-0123456789") != "" {
			return
		}
		body, bodyError := parseJSON(t.Context(), quoted)
		if (formError == nil) != (bodyError == nil) {
			t.Fatalf("form: %v, JSON: %v", formError, bodyError)
		}
		if formError != nil {
			return
		}
		fromForm, formError := bindFuzz(form, false)
		fromBody, bodyError := bindFuzz(body, false)
		if (formError == nil) != (bodyError == nil) {
			t.Fatalf("form: %v, JSON: %v", formError, bodyError)
		}
		if diff := cmp.Diff(fromBody, fromForm); formError == nil && diff != "" {
			t.Fatalf("JSON and form differ (-JSON +form):\n%s", diff)
		}
	})
}

type tree struct {
	A *tree  `json:"a" expand:"true"`
	B []tree `json:"b" expand:"true"`
	C string `json:"c"`
}

// FuzzExpand renders an accepted expansion as text and parses that text again. The result must be
// the same expansion.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"", "a", "a,b[c,d[e]]", "a[b],a[c]", " a , b [ c ] ", "a[", "a]", ",", "a[b[c[d[e]]]]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := parseExpansion(s)
		if err != nil {
			return
		}
		again, err := parseExpansion(parsed.String())
		if err != nil {
			t.Fatalf("%q printed as %q: %v", s, parsed, err)
		}
		if diff := cmp.Diff(parsed, again); diff != "" || parsed.String() != again.String() {
			t.Fatalf("%q printed as %q (-want +got):\n%s", s, parsed, diff)
		}
		kept, err := parsed.among(Linked(reflect.TypeFor[tree]()), false)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if all, err := kept.among(Linked(reflect.TypeFor[tree]()), true); err != nil || all.String() != kept.String() {
			t.Fatalf("what is kept of %q is unknown: %v", s, err)
		}
	})
}

// FuzzCursor checks that only an unchanged cursor opens, and only for the list for which it was
// sealed.
func FuzzCursor(f *testing.F) {
	mac := func(purpose string, data []byte) []byte { return fakeMAC(purpose, data) }
	place := []byte("1 0 0 /items?")
	sealed, err := cursor{Position: Position{int64(1 << 60), "x", nil}, Total: 3}.seal(mac, place)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed, int64(1), "a", false, int64(2))
	f.Add("", int64(-1), "", true, int64(0))
	f.Add(".", int64(0), "\xff", true, int64(0))
	f.Fuzz(func(t *testing.T, foreign string, n int64, word string, backward bool, total int64) {
		if _, err := openCursor(foreign, mac, place); err == nil && foreign != sealed {
			t.Fatalf("opened %q", foreign)
		}
		word = strings.ToValidUTF8(word, "?")
		want := cursor{Position: Position{n, word, nil, backward}, Backward: backward, Total: total}
		sealed, err := want.seal(mac, place)
		if err != nil {
			t.Fatal(err)
		}
		got, err := openCursor(sealed, mac, place)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("cursor (-sealed +opened):\n%s", diff)
		}
		if _, err := openCursor(sealed, mac, append(place, '&')); err == nil {
			t.Fatal("opened elsewhere")
		}
	})
}

// fakeMAC returns a fast hash that is not secure.
func fakeMAC(purpose string, data []byte) []byte {
	sum := uint64(14695981039346656037)
	for _, b := range append([]byte(purpose), data...) {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return []byte{byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24), byte(sum >> 32), byte(sum >> 40), byte(sum >> 48), byte(sum >> 56)}
}

// FuzzQueryFlags checks that the flag "all" is refused, or has the value in flagWords.
func FuzzQueryFlags(f *testing.F) {
	for _, seed := range []string{"all", "all=", "all=true", "all=True", "all=0", "all=x", "all=1&all=0", "x&all&y=%20", "all=%"} {
		f.Add(seed)
	}
	p := newPlan(reflect.TypeFor[All]())
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		x := &exchange{endpoint: &endpoint{plan: p}, query: query}
		var in All
		err = x.bindQuery(&binding{}, reflect.ValueOf(&in).Elem())
		want, known := flagWords[strings.ToLower(query.Get("all"))]
		if err == nil && query.Has("all") && (!known || in.WithDisabled != want) {
			t.Fatalf("%q read as %v", raw, in.WithDisabled)
		}
		if err == nil && !query.Has("all") && in.WithDisabled {
			t.Fatalf("%q read as true", raw)
		}
	})
}
