package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// A user's changes of a document stay, whatever the provider reports later.
func TestEditsOfDocuments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from, who := s.subscriber(t, ""), s.domainOf("")
		path := "/documents/" + from["document"]
		set := `{"id_type":13,"id_category":7,"name":"Ma facture","date":"2026-01-31","duedate":"2026-02-28","total_amount":"12.30","untaxed_amount":10,"vat":2.3,"income":true}`
		want := map[string]any{
			"id_type": 13.0, "id_category": 7.0, "name": "Ma facture", "date": "2026-01-31", "timestamp": "2026-01-31 00:00:00", "duedate": "2026-02-28",
			"total_amount": 12.30, "untaxed_amount": 10.0, "vat": 2.3, "income": true, "readonly": false, "issuer": "Électricité du Parc",
		}
		holds := func(when string, r reply) {
			t.Helper()
			var got map[string]any
			if err := json.Unmarshal(r.body, &got); err != nil || r.status != 200 {
				t.Fatalf("%s: %d %s", when, r.status, r.body)
			}
			for name, value := range want {
				if diff := cmp.Diff(value, got[name]); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", when, name, diff)
				}
			}
		}
		before := s.record()
		holds("once set", s.do(t, ask{method: "POST", path: path, token: "user", body: set}))
		holds("read", s.do(t, ask{method: "GET", path: path, token: "user"}))

		documents, err := bankstore.From(s.DB).Documents(t.Context(), bankstore.DocumentFilter{Domain: who.domain.ID, User: who.user}, store.Window{Limit: 1000})
		must(t, err)
		subscriptions, err := bankstore.From(s.DB).Subscriptions(t.Context(), bankstore.SubscriptionFilter{Domain: who.domain.ID, User: who.user}, store.Window{Limit: 1})
		must(t, err)
		for _, d := range documents {
			if fmt.Sprint(d.ID) == from["document"] {
				said := passerelle.DocumentDetails{Key: d.Key, Type: "bill", Name: "Another", Issuer: d.Issuer, HasFile: true, MediaType: "application/pdf"}
				s.write(t, func(tx *store.Tx) error {
					return bankstore.In(tx).UpdateDocument(who.domain.ID, subscriptions[0], d.ID, said, opening, 99)
				})
			}
		}
		holds("after the provider said something else", s.do(t, ask{method: "GET", path: path, token: "user"}))
		if listed := s.papers(t, "/documents?max_amount=12.3"); len(listed) != 1 || listed[0].Date != "2026-01-31" || listed[0].IDType != 13 {
			t.Errorf("the list has %+v", listed)
		}

		want["readonly"] = true
		holds("read-only", s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"readonly":true}`}))
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"name":"x"}`}).says(t, 409, "conflict", "read-only")
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"name":"x","readonly":true}`}).says(t, 409, "conflict", "read-only")
		want["readonly"] = false
		holds("no longer", s.do(t, ask{method: "PUT", path: "/users/me" + path, token: "user", body: `{"readonly":false}`}))
		for body, field := range map[string]string{
			`{"id_type":99}`: "id_type", `{"date":"2026-02-30"}`: "date", `{"duedate":"x"}`: "duedate", `{"vat":"much"}`: "vat", `{"total_amount":"0.12345678901"}`: "total_amount",
			`{"file":"?"}`: "file", `{"file":""}`: "file",
		} {
			s.do(t, ask{method: "PUT", path: path, token: "user", body: body}).says(t, 400, "invalidValue", field)
		}
		s.do(t, ask{method: "PUT", path: "/documents/" + noID, token: "user", body: set}).says(t, 404, "notFound", "")
		holds("after a refused change", s.do(t, ask{method: "GET", path: path, token: "user"}))
		if rows, events := before.since(s.record()); len(rows)+len(events) > 0 {
			t.Errorf("it left %v %v", rows, events)
		}
	})
}

// The value null removes a date, an amount, a category or the user's name for the document,
// whatever the provider reports later.
func TestNullClearsFieldsOfDocuments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from, who := s.subscriber(t, ""), s.domainOf("")
		path := "/documents/" + from["document"]
		read := func() (d map[string]any) {
			t.Helper()
			s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &d)
			return d
		}
		first := read()
		for _, name := range []string{"duedate", "total_amount", "untaxed_amount", "vat", "name", "date"} {
			if first[name] == nil {
				t.Fatalf("the provider's %s is already null", name)
			}
		}
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"name":"mine","id_category":7,"total_amount":1,"date":"2026-01-31"}`}).says(t, 200, "", "")
		s.do(t, ask{method: "PUT", path: path, token: "user", contentType: "application/x-www-form-urlencoded", body: "duedate=null&vat=null"}).says(t, 200, "", "")
		s.do(t, ask{method: "PUT", path: path, token: "user", body: `{"name":null,"id_category":null,"total_amount":null,"untaxed_amount":null,"date":null}`}).says(t, 200, "", "")
		cleared := func(when string) {
			t.Helper()
			now := read()
			for _, name := range []string{"duedate", "total_amount", "untaxed_amount", "vat", "id_category", "date"} {
				if now[name] != nil {
					t.Errorf("%s: %s is %v", when, name, now[name])
				}
			}
			if now["name"] != first["name"] || !strings.HasPrefix(fmt.Sprint(now["timestamp"]), "2026-11-20 ") {
				t.Errorf("%s: name %v, timestamp %v", when, now["name"], now["timestamp"])
			}
		}
		cleared("at once")
		if all := s.papers(t, "/documents?max_amount=1000000"); len(all) == 0 {
			t.Error("no document has an amount")
		} else if slices.ContainsFunc(all, func(p paper) bool { return fmt.Sprint(p.ID) == from["document"] }) {
			t.Error("the document is found by its amount")
		}
		documents, err := bankstore.From(s.DB).Documents(t.Context(), bankstore.DocumentFilter{Domain: who.domain.ID, User: who.user}, store.Window{Limit: 1000})
		must(t, err)
		subscriptions, err := bankstore.From(s.DB).Subscriptions(t.Context(), bankstore.SubscriptionFilter{Domain: who.domain.ID, User: who.user}, store.Window{Limit: 1})
		must(t, err)
		another := documents[slices.IndexFunc(documents, func(d bankstore.StoredDocument) bool { return d.Total != nil })]
		for _, d := range documents {
			if said := d.DocumentDetails; fmt.Sprint(d.ID) == from["document"] {
				said.Total, said.Due, said.Date = another.Total, passerelle.DateOf(opening, time.UTC), passerelle.DateOf(opening, time.UTC)
				s.write(t, func(tx *store.Tx) error {
					return bankstore.In(tx).UpdateDocument(who.domain.ID, subscriptions[0], d.ID, said, opening, 99)
				})
			}
		}
		cleared("after the provider said something else")
		for body, field := range map[string]string{
			`{"name":""}`: "name", `{"name":"` + strings.Repeat("x", 256) + `"}`: "name", `{"id_category":0}`: "id_category", `{"total_amount":""}`: "total_amount", `{"duedate":""}`: "duedate",
		} {
			s.do(t, ask{method: "PUT", path: path, token: "user", body: body}).says(t, 400, "invalidValue", field)
		}
	})
}

// A user's own file replaces the provider's file.
func TestUploads(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from, who := s.subscriber(t, ""), s.domainOf("")
		path := "/documents/" + from["document"]
		s.fetched(t, who.domain)
		files := s.eyes.Count("SELECT count(*) FROM stored_file")
		const picture = "\x89PNG\r\n\x1a\nand more"
		form := "--b\r\nContent-Disposition: form-data; name=file; filename=\"x.html\"\r\nContent-Type: text/html\r\n\r\n" + picture + "\r\n--b--"
		for name, upload := range map[string]ask{
			"base64": {body: `{"name":"photo","file":"` + base64.StdEncoding.EncodeToString([]byte(picture)) + `"}`},
			"form":   {body: form, contentType: "multipart/form-data; boundary=b"},
		} {
			upload.method, upload.path, upload.token = "PUT", path, "user"
			s.do(t, upload).says(t, 200, "", "")
			r := s.do(t, ask{method: "GET", path: path + "/file", token: "user"})
			if r.status != 200 || string(r.body) != picture || r.header.Get("Content-Type") != "image/png" {
				t.Errorf("%s: %d %v %q", name, r.status, r.header, r.body)
			}
			must(t, s.Documents.RemoveFiles(t.Context()))
			if now := s.eyes.Count("SELECT count(*) FROM stored_file"); now != files {
				t.Errorf("%s: %d files are known, want %d", name, now, files)
			}
		}
	})
}

// The service stores a file and the other changes of a document together or not at all.
func TestUploadsWithTheRest(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from, who := s.subscriber(t, ""), s.domainOf("")
		s.fetched(t, who.domain)
		path := "/documents/" + from["document"]
		const first, second = "\x89PNG\r\n\x1a\nfirst", "%PDF-1.7 second"
		body := func(rest, file string) string {
			return `{` + rest + `,"file":"` + base64.StdEncoding.EncodeToString([]byte(file)) + `"}`
		}
		holds := func(when, name, file string, readonly bool) {
			t.Helper()
			var got struct {
				Name     string
				ReadOnly bool
			}
			s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &got)
			content := s.do(t, ask{method: "GET", path: path + "/file", token: "user"})
			if got.Name != name || got.ReadOnly != readonly || string(content.body) != file {
				t.Errorf("%s: %+v with %q", when, got, content.body)
			}
		}
		s.do(t, ask{method: "PUT", path: path, token: "user", body: body(`"name":"kept","readonly":true`, first)}).says(t, 200, "", "")
		holds("made read-only", "kept", first, true)
		must(t, s.Documents.RemoveFiles(t.Context()))
		before := s.lines()
		s.do(t, ask{method: "PUT", path: path, token: "user", body: body(`"name":"changed"`, second)}).says(t, 409, "conflict", "read-only")
		s.do(t, ask{method: "PUT", path: path, token: "user", body: body(`"name":"changed","readonly":true`, second)}).says(t, 409, "conflict", "read-only")
		after := s.lines()
		for _, table := range []string{"document", "stored_file", "event"} {
			if diff := cmp.Diff(before[table], after[table]); diff != "" {
				t.Errorf("a refused call changed %s (-before +after):\n%s", table, diff)
			}
		}
		holds("refused", "kept", first, true)
		s.do(t, ask{method: "PUT", path: path, token: "user", body: body(`"readonly":false`, second)}).says(t, 200, "", "")
		holds("free again", "kept", second, false)
	})
}
