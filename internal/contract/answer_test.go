package contract_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/servicetest"
)

// answersFile is the file with sample responses of the service for the pages of the reference. The
// samples come from the successful requests of the rows, and from the requests in more.
const answersFile = "../reference/answers.json"

var update = flag.Bool("update", false, "write "+answersFile+" anew")

// sample is a request that succeeded, with its response.
type sample struct {
	Status int             `json:"status"`
	Kind   string          `json:"kind,omitempty"`
	Body   string          `json:"body,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	// exact is set when the row has no query and its body, if any, is JSON.
	exact bool
}

// samples contains one sample of each operation, by method and path.
type samples struct {
	paths map[string]map[string]json.RawMessage
	found map[string]sample
}

func newSamples(t *testing.T, s *servicetest.Instance) *samples {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	s.JSON(s.OK(s.Call("GET", "/openapi.json", "", nil)), &document)
	return &samples{document.Paths, map[string]sample{}}
}

// operation returns the operation that a row calls. It returns an empty text when the API has no
// such operation.
func (all *samples) operation(r row) string {
	method, address, _ := strings.Cut(r.call, " ")
	address, _, _ = strings.Cut(strings.TrimPrefix(address, "/2.0"), "?")
	best, most := "", -1
	for path, methods := range all.paths {
		if _, is := methods[strings.ToLower(method)]; !is {
			continue
		}
		if same, matches := alike(path, address); matches && same > most {
			best, most = method+" "+path, same
		}
	}
	return best
}

// alike reports whether an address matches a path. It also returns the number of equal segments.
func alike(path, address string) (same int, matches bool) {
	want, got := strings.Split(path, "/"), strings.Split(address, "/")
	if len(want) != len(got) {
		return 0, false
	}
	for i := range want {
		switch {
		case want[i] == got[i]:
			same++
		case !strings.HasPrefix(want[i], "{"):
			return 0, false
		}
	}
	return same, true
}

// take stores the successful response to a row as the sample of its operation. It replaces an
// earlier sample only if the new sample is the first exact one.
func (all *samples) take(t *testing.T, w *fixture, r row, a servicetest.Answer) {
	t.Helper()
	key := all.operation(r)
	if key == "" || a.Status >= http.StatusMultipleChoices || r.kind == asMultipart {
		return
	}
	exact := !strings.Contains(r.call, "?") && (r.body == "" || r.kind == asJSON)
	if before, is := all.found[key]; is && (before.exact || !exact) {
		return
	}
	one := sample{Status: a.Status, exact: exact}
	if r.body != "" {
		one.Kind, one.Body = r.kind, w.anonymous(w.fill(t, r.body))
	}
	if r.shapes != "" && len(a.Body) > 0 {
		one.Answer = json.RawMessage(w.anonymous(string(w.short(t, a.Body))))
	}
	all.found[key] = one
}

// secret matches a text that looks like a key or a token. Such texts differ in each run.
var secret = regexp.MustCompile(`"([A-Za-z0-9_./+=-]{12})[A-Za-z0-9_./+=-]{20,}"`)

// random matches UUIDs, IBANs, URLs and paths, which are not secret.
var random = regexp.MustCompile(`^"(?:[0-9a-f]{8}-|[A-Z]{2}[0-9]{2}|https?:|/)`)

// anonymous shortens the secrets in a text, and replaces the service's address with bank.example.
func (w *fixture) anonymous(text string) string {
	text = strings.ReplaceAll(text, w.Origin, "https://bank.example")
	text = strings.ReplaceAll(text, strings.TrimPrefix(w.Origin, "http://"), "bank.example")
	return secret.ReplaceAllStringFunc(text, func(found string) string {
		if random.MatchString(found) {
			return found
		}
		return secret.ReplaceAllString(found, `"$1…"`)
	})
}

// short returns the response with at most one item in each list, and without the ends of long
// texts.
func (w *fixture) short(t *testing.T, raw []byte) []byte {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(cut(value)); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(out.Bytes())
}

// longest is the largest length in bytes of a text in a sample.
const longest = 300

func cut(value any) any {
	switch value := value.(type) {
	case []any:
		kept := make([]any, 0, 1)
		for _, one := range value[:min(len(value), 1)] {
			kept = append(kept, cut(one))
		}
		return kept
	case map[string]any:
		for name, member := range value {
			value[name] = cut(member)
		}
	case string:
		if len(value) > longest {
			return strings.ToValidUTF8(value[:longest], "") + "…"
		}
	}
	return value
}

// names returns the names of the members in each operation's response.
func names(t *testing.T, found map[string]sample) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for key, one := range found {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(one.Answer, &members) // a response that is not an object has no members
		all[key] = slices.Sorted(maps.Keys(members))
	}
	return all
}

// check compares the members of the responses in the file with those of the samples. With the flag
// -update, it first writes the file.
func (all *samples) check(t *testing.T) {
	t.Helper()
	if *update {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(all.found); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(answersFile, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(answersFile)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]sample{}
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names(t, kept), names(t, all.found)); diff != "" {
		t.Errorf("the answers of the reference are out of date: go test ./internal/contract -run TestFacts -update\n%s", diff)
	}
}
