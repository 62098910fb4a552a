package webhook_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle/webhook"
)

type vector struct {
	Name, Method, URL, Path, Date, Secret string
	Body                                  []struct {
		Text  string
		Times int
	}
	Encoding      string `json:"content_encoding"`
	Sent          []byte `json:"sent_base64"`
	Signature     string
	NextSecret    string `json:"next_secret"`
	NextSignature string `json:"next_signature"`
}

func (v *vector) payload() []byte {
	var whole bytes.Buffer
	for _, piece := range v.Body {
		for range piece.Times {
			whole.WriteString(piece.Text)
		}
	}
	return whole.Bytes()
}

func (v *vector) sent() []byte {
	if v.Encoding == "" {
		return v.payload()
	}
	return v.Sent
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("../docs/webhook-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestVectors(t *testing.T) {
	largest := 0
	for _, v := range vectors(t) {
		date, err := time.Parse(webhook.DateFormat, v.Date)
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(v.payload()))
		got := webhook.Sign(v.Secret, v.Path, date, v.payload())
		if got.Value != v.Signature || got.Date != v.Date || v.Method != "POST" {
			t.Errorf("%s: signature %s, want %s", v.Name, got.Value, v.Signature)
		}
		if next := webhook.Sign(v.NextSecret, v.Path, date, v.payload()).Value; v.NextSecret != "" && next != v.NextSignature {
			t.Errorf("%s: next signature %s, want %s", v.Name, next, v.NextSignature)
		}
	}
	if largest < 3<<20 {
		t.Errorf("the largest payload has %d bytes", largest)
	}
}

type attempt struct {
	Name    string      `json:"name"`
	Secret  string      `json:"secret"`
	Path    string      `json:"path"`
	Headers [][2]string `json:"headers"`
	Body    []byte      `json:"body"`
	Now     int64       `json:"now"`
	want    string
}

const signedSecond = 1795166104 // the date of the vectors, in seconds

func (v *vector) attempt() attempt {
	a := attempt{
		Name: v.Name, Secret: v.Secret, Path: v.Path, Body: v.sent(), Now: signedSecond,
		Headers: [][2]string{{"SVC-Signature-Date", v.Date}, {"SVC-Signature", v.Signature}},
		want:    fmt.Sprintf("%x", sha256.Sum256(v.payload())),
	}
	if v.Encoding != "" {
		a.Headers = append(a.Headers, [2]string{"Content-Encoding", v.Encoding})
	}
	if v.NextSignature != "" {
		a.Headers = append(a.Headers, [2]string{"SVC-Signature-Next", v.NextSignature})
	}
	return a
}

func (a *attempt) header(name, value string) {
	a.Headers = append(slices.Clone(a.Headers), [2]string{name, value})
}

func (a *attempt) without(name string) {
	a.Headers = slices.DeleteFunc(slices.Clone(a.Headers), func(h [2]string) bool { return h[0] == name })
}

func (a *attempt) replace(name, value string) {
	a.without(name)
	a.header(name, value)
}

// changes modify an accepted request. The snippets must accept the request after a change whose
// name begins with "ok", and refuse it after all others.
var changes = map[string]func(*attempt){
	"ok by the next secret": func(a *attempt) {
		a.header("SVC-Signature-Next", signatureOf(a))
		a.replace("SVC-Signature", strings.Repeat("A", 43)+"=")
	},
	"ok four minutes late":  func(a *attempt) { a.Now += 240 },
	"ok four minutes early": func(a *attempt) { a.Now -= 240 },
	"six minutes late":      func(a *attempt) { a.Now += 360 },
	"six minutes early":     func(a *attempt) { a.Now -= 360 },
	"another secret":        func(a *attempt) { a.Secret += "0" },
	"another path":          func(a *attempt) { a.Path += "/" },
	"another body":          func(a *attempt) { a.Body = append(slices.Clone(a.Body), ' ') },
	"no body":               func(a *attempt) { a.Body = nil },
	"wrong signature":       func(a *attempt) { a.replace("SVC-Signature", strings.Repeat("A", 43)+"=") },
	"short signature":       func(a *attempt) { a.replace("SVC-Signature", "vco7") },
	"signature beyond ASCII": func(a *attempt) {
		a.replace("SVC-Signature", strings.Repeat("é", 44))
	},
	"empty signature":     func(a *attempt) { a.replace("SVC-Signature", "") },
	"no signature":        func(a *attempt) { a.without("SVC-Signature") },
	"no date":             func(a *attempt) { a.without("SVC-Signature-Date") },
	"no header":           func(a *attempt) { a.Headers = [][2]string{} },
	"signature twice":     func(a *attempt) { a.header("SVC-Signature", signatureOf(a)) },
	"a wrong second one":  func(a *attempt) { a.header("SVC-Signature", "x") },
	"date twice":          func(a *attempt) { a.header("SVC-Signature-Date", "2026-11-20T09:15:04.123456Z") },
	"next twice":          func(a *attempt) { a.header("SVC-Signature-Next", "x"); a.header("SVC-Signature-Next", "y") },
	"date replaced":       func(a *attempt) { a.replace("SVC-Signature-Date", "2026-11-20T09:15:05.123456Z") },
	"date of words":       func(a *attempt) { a.replace("SVC-Signature-Date", "yesterday") },
	"empty date":          func(a *attempt) { a.replace("SVC-Signature-Date", "") },
	"not compressed":      func(a *attempt) { a.header("Content-Encoding", "gzip") },
	"next but no present": func(a *attempt) { a.header("SVC-Signature-Next", signatureOf(a)); a.without("SVC-Signature") },
}

func signatureOf(a *attempt) string {
	date, err := time.Parse(webhook.DateFormat, "2026-11-20T09:15:04.123456Z")
	if err != nil {
		panic(err)
	}
	return webhook.Sign(a.Secret, a.Path, date, a.Body).Value
}

func attempts(t *testing.T) []attempt {
	t.Helper()
	var all []attempt
	for _, v := range vectors(t) {
		all = append(all, v.attempt())
	}
	for name, change := range changes {
		a := all[0]
		a.Name = name
		change(&a)
		if !strings.HasPrefix(name, "ok ") {
			a.want = "refused"
		}
		all = append(all, a)
	}
	return append(all, broken(t)...)
}

// broken returns requests with valid signatures, but with compressed bodies that must be refused.
func broken(t *testing.T) []attempt {
	t.Helper()
	large := strings.Repeat(" ", 65<<20)
	bomb, whole := compressed(t, large), compressed(t, payload)
	var all []attempt
	for name, of := range map[string]struct{ body, holds string }{
		"bomb": {bomb, large}, "cut": {whole[:len(whole)-12], payload}, "cut in the trailer": {whole[:len(whole)-4], payload},
	} {
		a := attempt{Name: name, Secret: secret, Path: "/hook", Body: []byte(of.holds), Now: signedSecond, want: "refused"}
		a.Headers = [][2]string{{"Content-Encoding", "gzip"}, {"SVC-Signature-Date", "2026-11-20T09:15:04.123456Z"}, {"SVC-Signature", signatureOf(&a)}}
		a.Body = []byte(of.body)
		all = append(all, a)
	}
	return all
}

// languages lists how the snippets of docs/webhooks.md are run. A program consists of the snippet
// and a main file that calls it. For Go, these stay two files. For the other languages, the test
// joins them.
var languages = []struct {
	name, main, file string
	command          []string
}{
	{"go", "main.go.txt", "verify.go", []string{"go", "run", "verify.go", "main.go"}},
	{"python", "main.py", "verify.py", []string{"python3", "verify.py"}},
	{"js", "main.js", "verify.js", []string{"node", "verify.js"}},
	{"php", "main.php", "verify.php", []string{"php", "verify.php"}},
	{"ruby", "main.rb", "verify.rb", []string{"ruby", "verify.rb"}},
}

func TestSnippetsOfThePageVerify(t *testing.T) {
	all := attempts(t)
	input, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, language := range languages {
		if _, err := exec.LookPath(language.command[0]); err != nil && language.name != "go" {
			t.Logf("%s is not installed: its snippet was not run", language.command[0])
			continue
		}
		ran++
		t.Run(language.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, language.file, language.main, snippet(t, language.name))
			run := exec.CommandContext(t.Context(), language.command[0], language.command[1:]...)
			run.Dir, run.Stdin, run.Stderr = dir, bytes.NewReader(input), os.Stderr
			out, err := run.Output()
			if err != nil {
				t.Fatal(err)
			}
			judge(t, all, string(out))
		})
	}
	t.Logf("%d of %d snippets ran", ran, len(languages))
}

func write(t *testing.T, dir, file, main, snippet string) {
	t.Helper()
	feeder, err := os.ReadFile(filepath.Join("testdata/snippets", main))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{file: snippet + string(feeder)}
	if file == "verify.go" {
		files = map[string]string{file: snippet, "main.go": string(feeder)}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func judge(t *testing.T, all []attempt, out string) {
	t.Helper()
	results := map[string]string{}
	for line := range strings.Lines(out) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), "\t")
		results[name] = result
	}
	for _, a := range all {
		if got := cmp.Or(results[a.Name], "no verdict"); got != a.want {
			t.Errorf("%s: %s, want %s", a.Name, got, a.want)
		}
	}
}

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func snippet(t *testing.T, language string) string {
	t.Helper()
	blocks := strings.Split(page(t), "\n```"+language+"\n")
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of %s on the page", len(blocks)-1, language)
	}
	code, _, _ := strings.Cut(blocks[1], "\n```")
	return code + "\n"
}

// TestWorkedExample: the worked example in docs/webhooks.md is the first vector.
func TestWorkedExample(t *testing.T) {
	text, v := page(t), vectors(t)[0]
	for _, part := range []string{v.Secret, v.Signature, "POST." + v.Path + "." + v.Date + "." + string(v.payload())} {
		if strings.Count(text, part) < 2 && part != v.Secret || !strings.Contains(text, part) {
			t.Errorf("the page does not show %s", part)
		}
	}
}

func TestTableOfEvents(t *testing.T) {
	var table strings.Builder
	fmt.Fprintln(&table, "| Event | Sent | Payload | Subject | Of a user | Number |\n|---|---|---|---|---|---|")
	for _, entry := range webhook.Events() {
		sent, ofUser := entry.Description, "yes"
		if entry.Deprecated {
			sent += " (deprecated)"
		}
		if !entry.OfUser() {
			ofUser = "no"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %d |\n", entry.Event, sent, entry.Payload, entry.Subject, ofUser, entry.Number)
	}
	marks := regexp.MustCompile(`(?s)(<!-- events[^\n]*\n)(.*?)(<!-- end -->)`)
	text := page(t)
	found := marks.FindStringSubmatch(text)
	if found == nil {
		t.Fatal("the page has no place for the table")
	}
	if *update {
		text = strings.Replace(text, found[0], found[1]+table.String()+found[3], 1)
		if err := os.WriteFile("../docs/webhooks.md", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if found[2] != table.String() {
		t.Error("the table of events in docs/webhooks.md is not the catalogue; run make generate")
	}
}
