package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden is a file with the bodies of responses, by the name of the scenario.
type golden struct {
	path string
	want map[string]any
	got  map[string]any
}

func readGolden(t testing.TB, name string) *golden {
	t.Helper()
	g := &golden{path: filepath.Join("testdata", name+".json"), want: map[string]any{}, got: map[string]any{}}
	raw, err := os.ReadFile(g.path)
	if errors.Is(err, fs.ErrNotExist) && *update {
		return g
	}
	if err != nil {
		t.Fatalf("read the bodies, which make generate writes: %v", err)
	}
	g.want = exactly(t, raw).(map[string]any)
	return g
}

func (g *golden) compare(t testing.TB, name string, body []byte) {
	t.Helper()
	var got any
	if len(body) > 0 {
		got = exactly(t, body)
	}
	g.got[name] = steady("", got)
	if *update {
		return
	}
	want, known := g.want[name]
	if !known {
		t.Errorf("no body of %q in %s; run make generate and review it", name, g.path)
	}
	if diff := cmp.Diff(want, g.got[name]); diff != "" {
		t.Errorf("body; if that is meant, run make generate (-want +got):\n%s", diff)
	}
}

func (g *golden) close(t testing.TB) {
	t.Helper()
	if !*update {
		for name := range g.want {
			if _, asked := g.got[name]; !asked {
				t.Errorf("%s has a body of %q, which no scenario got; run make generate", g.path, name)
			}
		}
		return
	}
	if err := os.WriteFile(g.path, indented(t, []byte(encoded(t, g.got))), 0o644); err != nil {
		t.Fatal(err)
	}
}

func exactly(t testing.TB, raw []byte) any {
	t.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return value
}

func indented(t testing.TB, raw []byte) []byte {
	t.Helper()
	value := exactly(t, raw)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// These members have numbers and texts that differ from run to run.
var (
	volatileNumber = map[string]bool{"id": true, "id_payment": true, "id_auth": true, "id_service": true, "id_webhook_data": true, "id_user": true, "id_logo": true, "id_file": true, "id_account": true, "id_connection": true, "id_source": true, "id_parent": true}
	volatileText   = map[string]bool{"reference_id": true, "token": true, "request_id": true, "secret_key": true, "validate_uri": true, "next_try": true, "secret": true, "public_key": true, "jwt_token": true, "aud": true, "iss": true, "jti": true}
)

func steady(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			value[key] = steady(key, member)
		}
	case []any:
		for i, item := range value {
			value[i] = steady(name, item)
		}
	case string:
		return steadyText(name, value)
	case json.Number:
		if volatileNumber[name] {
			return "<" + name + ">"
		}
	}
	return value
}

func steadyText(name, text string) string {
	if name == "error_message" && strings.HasPrefix(text, "Redirecting to http") {
		return "Redirecting to <url>"
	}
	if name == "url" && strings.Contains(text, "/webauth?") {
		return "<url>"
	}
	if name == "thumb_url" || name == "url" && (strings.HasSuffix(text, "/file") || strings.Contains(text, "/2.0/files/")) {
		return "<" + name + ">"
	}
	if strings.HasPrefix(text, "psl_") || volatileText[name] && !strings.HasPrefix(text, "GIVEN") {
		return "<" + name + ">"
	}
	if name != "href" {
		return text
	}
	_, text, _ = strings.Cut(text, "/2.0")
	if before, _, found := strings.Cut(text, "cursor="); found {
		text = before + "cursor=<cursor>"
	}
	return text
}
