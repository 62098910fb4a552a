package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/audit"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestAuditLogIsReadAndVerified: `audit list` prints the log page by page. `audit verify` exits
// with 1 when a stored act was changed.
func TestAuditLogIsReadAndVerified(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		chained(t, url, 5)
		call := func(want int, args ...string) (string, string) {
			t.Helper()
			var out, diagnostics bytes.Buffer
			if got := run(t.Context(), append(args, "--json", "--database", url), nil, &out, &diagnostics); got != want {
				t.Fatalf("%v exits with %d, want %d: %s", args, got, want, &diagnostics)
			}
			return out.String(), diagnostics.String()
		}
		var pages []string
		for before := []string{}; ; {
			out, _ := call(0, append([]string{"audit", "list", "--limit", "2"}, before...)...)
			var acts []actView
			if err := json.Unmarshal([]byte(out), &acts); err != nil {
				t.Fatal(err)
			}
			if len(acts) == 0 {
				break
			}
			for _, a := range acts {
				pages = append(pages, a.Act)
				before = []string{"--before", strconv.FormatInt(a.ID, 10)}
			}
		}
		if got := strings.Join(pages, ""); got != "edcba" {
			t.Errorf("the pages have %s", got)
		}
		var views []chainView
		out, _ := call(0, "audit", "verify")
		if err := json.Unmarshal([]byte(out), &views); err != nil || len(views) != 1 || views[0].Acts != 5 || views[0].Result != "intact" {
			t.Fatalf("%s, %v", out, err)
		}
		seen := views[0].Checkpoint
		call(0, "audit", "verify", "--no-domain", "--checkpoint", seen)
		call(0, "doctor", "--invariants")
		storetest.Break(t, url, `UPDATE audit SET act = 'x' WHERE number = 3`)
		out, said := call(1, "audit", "verify", "--no-domain", "--checkpoint", seen)
		if !strings.Contains(out, `"broken_at":3,"why":"act 3: it was changed after it was stored"`) || !strings.Contains(said, errBroken.Error()) {
			t.Errorf("%s %s", out, said)
		}
		out, _ = call(1, "doctor", "--invariants")
		if !strings.Contains(out, "chain 0 at act 3: it was changed after it was stored") {
			t.Error(out)
		}
	})
}

// A command that begins or ends the maintenance leaves an act in the audit log of the deployment, and
// a command that changes nothing leaves none.
func TestMaintenanceIsOnRecord(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		var out, diagnostics bytes.Buffer
		call := func(args ...string) {
			t.Helper()
			out.Reset()
			if status := run(t.Context(), append(args, "--database", url), nil, &out, &diagnostics); status != succeeded {
				t.Fatalf("%v: %d %s", args, status, diagnostics.String())
			}
		}
		call("migrate")
		for _, state := range []string{"off", "on", "on", "off", "off"} {
			call("maintenance", state)
		}
		call("audit", "list", "--no-domain", "--json")
		var acts []actView
		if err := json.Unmarshal(out.Bytes(), &acts); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range acts {
			names = append(names, a.Act)
		}
		if got := strings.Join(names, ", "); got != "end maintenance, begin maintenance" {
			t.Errorf("the audit log has %s", got)
		}
	})
}

// TestADeletedUserIsOnRecord deletes a user with the command, which must leave an act in the audit
// log of the domain.
func TestADeletedUserIsOnRecord(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		storeConnections(t, url)
		db, err := store.Open(t.Context(), url, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := db.Domains(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		user := passerelle.User{Domain: all[0].ID, Platform: "sharedAccess", Created: time.Now(), Expires: new(time.Now().Add(time.Hour))}
		err = db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateUser(&user) })
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		var out, diagnostics bytes.Buffer
		for _, args := range [][]string{{"user", "delete", strconv.FormatInt(int64(user.ID), 10)}, {"audit", "list", "--domain", "shop"}} {
			out.Reset()
			if got := run(t.Context(), append(args, "--json", "--database", url), nil, &out, &diagnostics); got != 0 {
				t.Fatalf("%v exits with %d: %s", args, got, &diagnostics)
			}
		}
		if want := fmt.Sprintf(`"act":"delete user","subject":"user","id_subject":%d}]`, user.ID); strings.Count(out.String(), `"act"`) != 1 || !strings.Contains(out.String(), want) {
			t.Errorf("on record is %s, want %s", &out, want)
		}
	})
}

func chained(t *testing.T, url string, acts int) {
	t.Helper()
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Database.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range acts {
		act := store.Audit{At: time.Date(2026, 11, 21, 9, i, 0, 0, time.UTC), Act: string(rune('a' + i))}
		if err := db.Write(t.Context(), func(tx *store.Tx) error { return tx.Audit(act) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&audit.Log{DB: db, Name: "test"}).Chain(t.Context()); err != nil {
		t.Fatal(err)
	}
}
