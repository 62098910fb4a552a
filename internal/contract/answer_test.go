package contract_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/servicetest"
)

// answersFile contains the sample responses that the pages of the reference show.
const answersFile = "../reference/answers.json"

var update = flag.Bool("update", false, "write "+answersFile+" anew")

type sample struct {
	Status int             `json:"status"`
	Kind   string          `json:"kind,omitempty"`
	Body   string          `json:"body,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	// exact is set when the row has no query and its body, if any, is JSON.
	exact bool
}

// samples contains one sample of each operation that succeeded, by method and path.
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

// alike reports whether an address matches a path, and the number of equal segments.
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

// take keeps one sample of each operation: the first exact one, or else the first.
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

// random contains patterns of values that differ in each run, and the texts that replace these
// values.
var random = []struct {
	form *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`(psl_[a-z]{3}_)[0-9a-f]{8,}`), "${1}5e1f…"},
	{regexp.MustCompile(`"[0-9a-f]{40,}"`), `"a0c3e1d29b47…"`},
	{regexp.MustCompile(`"[\w+/-]{43}=?"`), `"g9a6KM5lkyZ4…"`},
	{regexp.MustCompile(`"n":"[^"]*"`), `"n":"yyvUDLjnohL4…"`},
	{regexp.MustCompile(`"eyJ[^"]*"`), `"eyJhbGciOiJSUzI1NiIs…"`},
	{regexp.MustCompile(`(BEGIN PUBLIC KEY-----\\n.{12})[^"]*"`), `${1}…"`},
	{regexp.MustCompile(`(cursor=[\w-]+)\.[\w-]+`), "${1}…"},
	{regexp.MustCompile(`"reference_id":"\w*"`), `"reference_id":"D8YEX74MKWP3ASAXY3GPDSGG312M281"`},
	{regexp.MustCompile(`(/sandbox/bank/)[\w-]+`), "${1}AAAAAAAAAAFl…"},
}

func (w *fixture) anonymous(text string) string {
	text = strings.ReplaceAll(text, w.Origin, "https://bank.example")
	text = strings.ReplaceAll(text, strings.TrimPrefix(w.Origin, "http://"), "bank.example")
	for _, one := range random {
		text = one.form.ReplaceAllString(text, one.text)
	}
	return text
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

func (all *samples) check(t *testing.T) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(all.found); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(answersFile, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(answersFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(stored), text.String()); diff != "" {
		t.Errorf("%s does not have the responses of the service; run make generate (-file +service):\n%s", answersFile, diff)
	}
}
