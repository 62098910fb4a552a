package api_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/blob"
	"passerelle/internal/store/storetest"
)

func (s *fixture) fetched(t testing.TB, d passerelle.Domain) {
	t.Helper()
	for _, c := range s.Bank.Connectors() {
		for n := 1; n > 0; {
			var err error
			n, err = s.Documents.FetchFiles(t.Context(), d, c.Profile().UUID)
			must(t, err)
		}
	}
}

// The service fetches files in the background after a user shares a subscription.
func TestFilesOfSharedSubscriptionsAreFetched(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.token(t, "", "user", 0)
		who := s.domainOf("")
		share := aggregation.SubscriptionChange{Disabled: new(false), Origin: "api"}
		first := s.subscribed(t, who, s.subscribe(t, who, who.user))[0].ID
		must(t, s.Aggregation.ChangeSubscriptions(t.Context(), who.domain, who.user, []passerelle.SubscriptionID{first}, share))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for s.eyes.Count("SELECT count(*) FROM stored_file WHERE stored IS NOT NULL") == 0 {
			if runtime.Gosched(); ctx.Err() != nil {
				t.Fatal("no file came")
			}
		}
	})
}

// The stored content of a file is encrypted. Responses contain the plain content, also for ranges.
func TestFilesAreSealedAtRest(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from := s.subscriber(t, "")
		path := "/documents/" + from["document"] + "/file"
		got := s.do(t, ask{method: "GET", path: path, token: "user"}).says(t, 200, "", "")
		kept, sealed := s.Documents.Files.(blob.Sealed)
		if !sealed {
			t.Fatalf("files are kept in a %T", s.Documents.Files)
		}
		var document struct {
			File passerelle.FileID `json:"id_file"`
		}
		s.do(t, ask{method: "GET", path: "/documents/" + from["document"], token: "user"}).decode(t, &document)
		f, err := kept.Store.Open(t.Context(), document.File)
		must(t, err)
		defer f.Close()
		raw, err := io.ReadAll(f)
		must(t, err)
		if len(raw) <= len(got.body) {
			t.Errorf("%d bytes are kept of %d", len(raw), len(got.body))
		}
		for part := range slices.Chunk(got.body, 12) {
			if len(part) == 12 && bytes.Contains(raw, part) {
				t.Errorf("the part %q is kept in the clear", part)
			}
		}
		part := s.do(t, ask{method: "GET", path: path, token: "user", header: map[string]string{"Range": "bytes=5-9"}}).says(t, 206, "", "")
		if !bytes.Equal(part.body, got.body[5:10]) {
			t.Errorf("a part is %q, want %q", part.body, got.body[5:10])
		}
	})
}

// The files of a connection wait while the service cannot read the connection. The service fetches
// the files after the next successful read.
func TestFilesWaitForTheirConnection(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from, who := s.subscriber(t, ""), s.domainOf("")
		connection := ask{method: "POST", path: "/connections/" + from["subscribing"], token: "user", body: `{"password":"wrong"}`}
		s.do(t, connection).says(t, 400, "wrongpass", "")
		storetest.Break(t, s.url, `UPDATE stored_file SET stored = NULL, size = 0, next_fetch = 0`)
		s.fetched(t, who.domain)
		s.do(t, ask{method: "GET", path: "/documents/" + from["document"] + "/file", token: "user"}).says(t, 503, "unavailable", "later")
		if n := s.eyes.Count("SELECT count(*) FROM stored_file WHERE stored IS NOT NULL OR failures > 0"); n != 0 {
			t.Errorf("%d files came or failed while the password was wrong", n)
		}
		connection.body = `{"password":"1234"}`
		s.do(t, connection).says(t, 200, "", "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for s.eyes.Count("SELECT count(*) FROM stored_file WHERE stored IS NULL") > 0 {
			if runtime.Gosched(); ctx.Err() != nil {
				t.Fatal("not every file came")
			}
		}
	})
}

// The file of a document is available at each of its paths, completely and in ranges.
func TestDownloads(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from := s.subscriber(t, "")
		var d struct {
			URL    string
			IDFile int64 `json:"id_file"`
		}
		of := func(path string) ask { return ask{method: "GET", path: path, token: "user"} }
		document := "/documents/" + from["document"]
		s.do(t, of(document)).decode(t, &d)
		_, path, _ := strings.Cut(d.URL, version)
		if d.IDFile == 0 || path != fmt.Sprintf("/users/%d%s/file", s.domainOf("").user, document) {
			t.Fatalf("file %d at %s", d.IDFile, d.URL)
		}
		whole := s.do(t, of(path))
		if whole.status != 200 || !bytes.HasPrefix(whole.body, []byte("%PDF-1.4")) || !bytes.HasSuffix(whole.body, []byte("%%EOF\n")) {
			t.Fatalf("%d %q", whole.status, whole.body)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/pdf", "Content-Disposition": "inline; filename*=utf-8''%C3%89lectricit%C3%A9%202026-11.pdf",
			"X-Content-Type-Options": "nosniff", "Cache-Control": "private, no-cache", "Content-Length": fmt.Sprint(len(whole.body)),
		} {
			if got := whole.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		for _, place := range []string{
			document + "/file", document + "/file/facture.pdf", "/users/me" + document + "/file/%C3%A9%2F..%2F..",
			"/subscriptions/" + from["subscription"] + document + "/file", "/connections/" + from["subscribing"] + document + "/file/x",
			"/users/me/connections/" + from["subscribing"] + "/subscriptions/" + from["subscription"] + document + "/file",
		} {
			if r := s.do(t, of(place)); r.status != 200 || !bytes.Equal(r.body, whole.body) || r.header.Get("ETag") != whole.header.Get("ETag") {
				t.Errorf("%s: %d, %d bytes", place, r.status, len(r.body))
			}
		}
		part := of(path)
		part.header = map[string]string{"Range": "bytes=1-3"}
		if r := s.do(t, part); r.status != 206 || string(r.body) != "PDF" {
			t.Errorf("a range: %d %q", r.status, r.body)
		}
		part.header = map[string]string{"If-None-Match": whole.header.Get("ETag")}
		if r := s.do(t, part); r.status != 304 || len(r.body) > 0 {
			t.Errorf("what the caller has: %d %q", r.status, r.body)
		}
		part.header = map[string]string{"Range": "bytes=1000000-"}
		s.do(t, part).says(t, 416, "rangeNotSatisfiable", "ends before")
	})
}

// The thumbnail of a document is the same at each of its paths. An upload of another file changes
// the thumbnail.
func TestThumbnails(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from := s.subscriber(t, "")
		document := "/documents/" + from["document"]
		var d struct {
			URL string `json:"thumb_url"`
		}
		of := func(path string) ask { return ask{method: "GET", path: path, token: "user"} }
		s.do(t, of(document)).decode(t, &d)
		_, path, _ := strings.Cut(d.URL, version)
		whole := s.do(t, of(path))
		shown, err := png.Decode(bytes.NewReader(whole.body))
		if err != nil || whole.status != 200 || whole.header.Get("Content-Type") != "image/png" || shown.Bounds().Dx() < 100 {
			t.Fatalf("%d %v: %v", whole.status, whole.header, err)
		}
		for _, place := range []string{document + "/thumbnail", document + "/thumbnail/x.png", "/subscriptions/" + from["subscription"] + document + "/thumbnail/x.png"} {
			if r := s.do(t, of(place)); r.status != 200 || !bytes.Equal(r.body, whole.body) {
				t.Errorf("%s: %d, %d bytes", place, r.status, len(r.body))
			}
		}
		again := of(path)
		again.header = map[string]string{"If-None-Match": whole.header.Get("ETag")}
		if r := s.do(t, again); r.status != 304 || len(r.body) > 0 {
			t.Errorf("what the caller has: %d %q", r.status, r.body)
		}
		s.do(t, ask{method: "PUT", path: document, token: "user", body: `{"file":"` + tinyPNG + `"}`}).says(t, 200, "", "")
		if r := s.do(t, again); r.status != 200 || bytes.Equal(r.body, whole.body) {
			t.Errorf("of another file: %d, %d bytes", r.status, len(r.body))
		}
	})
}

// No user gets the file of another user, or the file of a document that is not shared.
func TestDownloadsOfOthers(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		from, other := s.subscriber(t, ""), s.subscriber(t, "other")
		for _, path := range []string{
			"/documents/" + noID + "/file", "/documents/" + other["document"] + "/file",
			"/users/" + noID + "/documents/" + from["document"] + "/file",
			"/subscriptions/" + from["withheld"] + "/documents/" + from["document"] + "/file",
			"/documents/" + other["document"] + "/thumbnail", "/subscriptions/" + from["withheld"] + "/documents/" + from["document"] + "/thumbnail/x.png",
		} {
			s.do(t, ask{method: "GET", path: path, token: "user"}).says(t, 404, "notFound", "")
		}
		document := "/documents/" + from["document"] + "/file"
		s.do(t, ask{method: "GET", path: document, token: "user"}).says(t, 200, "", "")
		s.do(t, ask{method: "PUT", path: "/subscriptions/" + from["subscription"], token: "user", body: `{"disabled":true}`}).says(t, 200, "", "")
		s.do(t, ask{method: "GET", path: document + "?all", token: "user"}).says(t, 404, "notFound", "")
	})
}

// The service erases the files of a withdrawn subscription, a deleted connection or a deleted user,
// with all data about the files.
func TestFilesGoWithWhatTheyBelongTo(t *testing.T) {
	for name, withdraw := range map[string]func(t *testing.T, s *fixture, from map[string]string){
		"a subscription": func(t *testing.T, s *fixture, from map[string]string) {
			s.do(t, ask{method: "PUT", path: "/subscriptions/" + from["subscription"], token: "user", body: `{"disabled":true}`}).says(t, 200, "", "")
		},
		"a connection": func(t *testing.T, s *fixture, from map[string]string) {
			s.do(t, ask{method: "DELETE", path: "/connections/" + from["subscribing"], token: "user"}).says(t, 204, "", "")
		},
		"the user": func(t *testing.T, s *fixture, _ map[string]string) {
			s.do(t, ask{method: "DELETE", path: "/users/me", token: "user"}).says(t, 204, "", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachFixture(t, func(t *testing.T, s *fixture) {
				who, kept := s.domainOf(""), s.subscriber(t, "")
				share := aggregation.SubscriptionChange{Disabled: new(false), Origin: "api"}
				second := s.subscribe(t, who, who.user)
				must(t, s.Aggregation.ChangeSubscriptions(t.Context(), who.domain, who.user, []passerelle.SubscriptionID{s.subscribed(t, who, second)[0].ID}, share))
				s.runDue(t)
				s.fetched(t, who.domain)
				all, err := bankstore.From(s.DB).Files(t.Context(), who.domain.ID, who.user, 0, 1000)
				if must(t, err); len(all) < 40 {
					t.Fatalf("%d files were fetched", len(all))
				}
				withdraw(t, s, kept)
				must(t, s.Aggregation.EraseWithdrawn(t.Context()))
				must(t, s.Documents.RemoveFiles(t.Context()))
				left := 0
				if name != "the user" {
					left = len(all) / 2
				}
				if rows := s.eyes.Count("SELECT count(*) FROM stored_file"); rows != int64(left) {
					t.Errorf("%d files are known, want %d", rows, left)
				}
				there := 0
				for _, f := range all {
					if file, err := s.Documents.Files.Open(t.Context(), f.ID); err == nil {
						there++
						must(t, file.Close())
					}
				}
				if there != left {
					t.Errorf("the bytes of %d files are there, want %d", there, left)
				}
			})
		})
	}
}
