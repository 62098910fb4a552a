package domains_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/domains"
	"passerelle/internal/keys"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

func TestBaseURLs(t *testing.T) {
	const sandboxed, live = passerelle.Sandbox, passerelle.Live
	for _, test := range []struct {
		kind passerelle.DomainKind
		url  string
		host string // empty when the URL must be refused
	}{
		{live, "https://bank.example/2.0", "bank.example"},
		{live, "https://Bank.Example:8443/2.0", "bank.example:8443"},
		{live, "https://[2001:db8::1]/2.0", "[2001:db8::1]"},
		{live, "http://127.0.0.1:8080/2.0", "127.0.0.1:8080"},
		{live, "http://localhost/2.0", "localhost"},
		{live, "http://bank.example/2.0", ""},
		{sandboxed, "http://bank.example/2.0", "bank.example"},
		{sandboxed, "https://bank.example:443/2.0", ""},
		{sandboxed, "http://bank.example:80/2.0", ""},
		{sandboxed, "https://bank.example:/2.0", ""},
		{sandboxed, "https://bank.example:0/2.0", ""},
		{sandboxed, "https://bank.example", ""},
		{sandboxed, "https://bank.example/2.0/", ""},
		{sandboxed, "https://bank.example/2.0?", ""},
		{sandboxed, "https://bank.example/2.0#top", ""},
		{sandboxed, "https://bank.example/2.0#", ""},
		{sandboxed, "https://bank.example/2%2E0", ""},
		{sandboxed, "https://user@bank.example/2.0", ""},
		{sandboxed, "https://bank;x.example/2.0", ""},
		{sandboxed, "https://bank.example,other/2.0", ""},
		{sandboxed, "https:///2.0", ""},
		{sandboxed, "ftp://bank.example/2.0", ""},
		{sandboxed, " https://bank.example/2.0", ""},
	} {
		host, err := domains.HostOf(test.kind, test.url)
		if host != test.host || (test.host == "") != errors.Is(err, passerelle.Invalid) {
			t.Errorf("%s domain at %q: got %q and %v, want %q", test.kind, test.url, host, err, test.host)
		}
	}
}

// TestDomainsAreMadeAndMoved checks that two domains cannot have the same name or host. When a
// value is wrong or belongs to another domain, the error must name the field, and no act may be
// recorded.
func TestDomainsAreMadeAndMoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		db, err := store.Open(t.Context(), url, store.Options{Keys: keys.Generate()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if err := db.Database.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC)
		act := store.Audit{At: now, Operator: 7, Act: "make", Subject: "domain", Request: "r"}
		first := passerelle.Domain{Name: "first", Kind: passerelle.Sandbox, BaseURL: "https://first.example/2.0", Created: now}
		if err := domains.Create(t.Context(), db, &first, act); err != nil {
			t.Fatal(err)
		}
		for field, d := range map[string]passerelle.Domain{
			"name":     {Name: " ", Kind: passerelle.Sandbox, BaseURL: "https://x.example/2.0"},
			"kind":     {Name: "x", Kind: "other", BaseURL: "https://x.example/2.0"},
			"base_url": {Name: "x", Kind: passerelle.Live, BaseURL: "http://x.example/2.0"},
		} {
			wantRefused(t, domains.Create(t.Context(), db, &d, act), passerelle.Invalid, field)
		}
		for field, taken := range map[string]passerelle.Domain{
			"name":     {Name: "first", Kind: passerelle.Sandbox, BaseURL: "https://x.example/2.0", Created: now},
			"base_url": {Name: "second", Kind: passerelle.Sandbox, BaseURL: first.BaseURL, Created: now},
		} {
			wantRefused(t, domains.Create(t.Context(), db, &taken, act), passerelle.Conflict, field)
		}
		second := passerelle.Domain{Name: "second", Kind: passerelle.Live, BaseURL: "https://second.example/2.0", Created: now}
		if err := domains.Create(t.Context(), db, &second, act); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, domains.Move(t.Context(), db, &second, first.BaseURL, act), passerelle.Conflict, "base_url")
		wantRefused(t, domains.Move(t.Context(), db, &second, "x", act), passerelle.Invalid, "base_url")
		act.SubjectID = int64(second.ID)
		if err := domains.Move(t.Context(), db, &second, "https://new.example/2.0", act); err != nil {
			t.Fatal(err)
		}
		if moved, err := db.ServedDomainByHost(t.Context(), "new.example"); err != nil || moved.ID != second.ID || moved.BaseURL != second.BaseURL {
			t.Errorf("%+v, %v", moved, err)
		}
		var about []int64
		acts, err := operatorstore.From(db).Audits(t.Context(), operatorstore.AuditFilter{Operator: 7}, store.Window{Limit: 10})
		for _, a := range acts {
			about = append(about, a.SubjectID)
		}
		if want := []int64{int64(second.ID), int64(second.ID), int64(first.ID)}; err != nil || !slices.Equal(about, want) {
			t.Errorf("on record are acts on %v, %v, want %v", about, err, want)
		}
	})
}

func wantRefused(t *testing.T, err error, kind passerelle.Kind, field string) {
	t.Helper()
	var wrong *passerelle.Error
	if !errors.As(err, &wrong) || wrong.Kind != kind || wrong.Field != field || !strings.HasPrefix(wrong.Message, field+": ") {
		t.Errorf("got %v, want %s of %s", err, kind, field)
	}
}
