package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"passerelle/internal/store/storetest"
)

// TestReleasedSchemas migrates the data that scripts/released-schema made with each release. No row
// is lost, all invariants hold, and the applications of the release still work.
func TestReleasedSchemas(t *testing.T) {
	releases, err := filepath.Glob("testdata/released/*")
	if err != nil || len(releases) == 0 {
		t.Fatalf("there are no releases: %v", err)
	}
	for _, release := range releases {
		t.Run(filepath.Base(release)+" sqlite", func(t *testing.T) {
			folder := unpacked(t, filepath.Join(release, "data.tar.gz"))
			upgrade(t, folder, "sqlite:"+filepath.Join(folder, "passerelle.db"))
		})
		t.Run(filepath.Base(release)+" postgres", func(t *testing.T) {
			folder, database := unpacked(t, filepath.Join(release, "postgres-data.tar.gz")), emptyDatabase(t)
			passes(t, "restore", "--database", database, "--from", filepath.Join(release, "postgres.dump"))
			upgrade(t, folder, database)
		})
	}
}

func unpacked(t *testing.T, archive string) string {
	t.Helper()
	folder := t.TempDir()
	if out, err := exec.Command("tar", "-C", folder, "-xzf", archive).CombinedOutput(); err != nil {
		t.Fatalf("unpack %s: %v: %s", archive, err, out)
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// emptyDatabase returns a PostgreSQL database without tables.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	address, err := url.Parse(storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	execute := func(statement string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), address.String())
		if err == nil {
			_, err = conn.Exec(t.Context(), statement)
			conn.Close(t.Context())
		}
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(t.Name())))
	execute("DROP DATABASE IF EXISTS " + name)
	execute("CREATE DATABASE " + name)
	empty := *address
	query := empty.Query()
	query.Del("search_path")
	empty.Path, empty.RawQuery = name, query.Encode()
	return empty.String()
}

func passes(t *testing.T, args ...string) {
	t.Helper()
	var out, diagnostics bytes.Buffer
	if status := run(t.Context(), args, nil, &out, &diagnostics); status != succeeded {
		t.Fatalf("%v: exit status %d: %s%s", args, status, &out, &diagnostics)
	}
}

func upgrade(t *testing.T, folder, database string) {
	inspection := storetest.Inspect(t, database)
	before := inspection.Rows()
	if before["payment"] < 3 || before["event"] == 0 || before["bank_transaction"] == 0 {
		t.Fatalf("the release left next to nothing: %v", before)
	}
	passes(t, "migrate", "--database", database)
	checks := func() {
		t.Helper()
		passes(t, "doctor", "--invariants", "--key-file", filepath.Join(folder, "keys"), "--database", database)
		passes(t, "audit", "verify", "--database", database)
	}
	checks()
	after := inspection.Rows()
	maps.DeleteFunc(before, func(table string, _ int64) bool { return table == "schema_migration" })
	maps.DeleteFunc(after, func(table string, _ int64) bool { _, known := before[table]; return !known })
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("rows were lost or added (-before +after):\n%s", diff)
	}
	goesOn(t, folder, database, func() bool {
		return inspection.Count(`SELECT (SELECT count(*) FROM payment_word_earlier) + (SELECT count(*) FROM payment_name_earlier)`) == 0
	})
	if words := inspection.Count(`SELECT count(DISTINCT payment_id) FROM payment_word`); words != before["payment"]+1 {
		t.Errorf("%d payments are found by word, want the %d of the release and the new one", words, before["payment"])
	}
	checks()
}

// goesOn runs the service until the background work of an upgrade is done.
func goesOn(t *testing.T, folder, database string, done func() bool) {
	t.Helper()
	said, stop := started(t, "dev", "--json", "--data", folder, "--database", database, "--listen", "127.0.0.1:0")
	defer func() {
		if status := stop(); status != succeeded {
			t.Errorf("exit status %d", status)
		}
	}()
	base := said["base_url"].(string)
	var token struct{ Token string }
	ask(t, base+"/auth/token", "", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {said["client_id"].(string)}, "client_secret": {said["client_secret"].(string)}, "scope": {"payments:admin"},
	}, &token)
	var list struct{ Payments []struct{ State string } }
	ask(t, base+"/payments", token.Token, nil, &list)
	states := make([]string, len(list.Payments))
	for i, one := range list.Payments {
		states[i] = one.State
	}
	if len(states) != 3 || !slices.Contains(states, "created") || slices.IndexFunc(states, func(state string) bool { return state != "created" }) < 0 {
		t.Errorf("the payments of the release are %v", states)
	}
	var made struct {
		ID    int64
		State string
	}
	ask(t, base+"/payments", token.Token, `{"client_redirect_uri": "https://shop.example/back", "instructions": [{"amount": 1, "currency": "EUR", "label": "New",
		"execution_date_type": "instant", "beneficiary": {"scheme_name": "iban", "identification": "FR7630006000011234567890189", "label": "Shop"}}]}`, &made)
	ask(t, fmt.Sprint(base, "/payments/", made.ID), token.Token,
		`{"connector_uuid": "338178e6-3d01-564f-9a7b-52ca442459bf", "webview_url": "https://shop.example/webview", "validated": true}`, &made)
	if made.State != "validating" {
		t.Errorf("a new payment is %s", made.State)
	}
	for deadline := time.Now().Add(time.Minute); !done(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the upgrade goes on for more than a minute")
		}
	}
}

func ask(t *testing.T, address, token string, body any, into any) {
	t.Helper()
	method, kind, text := http.MethodPost, "application/json", ""
	switch body := body.(type) {
	case nil:
		method = http.MethodGet
	case url.Values:
		kind, text = "application/x-www-form-urlencoded", body.Encode()
	case string:
		text = body
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s answers %d", address, answer.StatusCode)
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
}
