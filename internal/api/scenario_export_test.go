package api_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/archive"
	"passerelle/internal/exports"
)

func (s *fixture) exported(t *testing.T, token, path string) (totals, sizes map[string]int, text string) {
	t.Helper()
	r := s.do(t, ask{method: "GET", path: path, token: token})
	if r.status != 200 || r.header.Get("Content-Type") != "application/zip" || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment; filename=user-") {
		t.Fatalf("%d %v", r.status, r.header)
	}
	read, err := zip.NewReader(bytes.NewReader(r.body), int64(len(r.body)))
	must(t, err)
	totals, sizes = map[string]int{}, map[string]int{}
	for _, entry := range read.File {
		file, err := entry.Open()
		must(t, err)
		content, err := io.ReadAll(file)
		must(t, err)
		if strings.HasPrefix(entry.Name, "files/") {
			sizes[entry.Name] = len(content)
			continue
		}
		var list struct{ Total int }
		if err := json.Unmarshal(content, &list); err != nil {
			t.Errorf("%s: %v", entry.Name, err)
		}
		totals[entry.Name] = list.Total
		text += string(content)
	}
	return totals, sizes, text
}

// TestExport checks that a user's archive contains all stored data, in the form of the API's lists,
// and every file.
func TestExport(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"autosync.enabled":"0"}`}).says(t, 200, "", "")
		s.unreachableWebhook(t)
		marks := s.plant(t)
		totals, sizes, text := s.exported(t, "user", "/users/me/export")
		for table, file := range map[string]string{
			"consent": "consents", "connection": "connections", "bank_account": "accounts", "bank_transaction": "transactions", "subscription": "subscriptions", "document": "documents",
			"connection_log": "connectionlogs", "investment_value": "investmentvalues", "category": "categories", "transaction_cluster": "transactionsclusters",
		} {
			if got, want := totals[file+".json"], int(s.eyes.Rows()[table]); got != want || want == 0 {
				t.Errorf("%s: %d, want %d", file, got, want)
			}
		}
		assets := totals["investments.json"] + totals["marketorders.json"] + totals["pockets.json"] + totals["loanamortizations.json"]
		rows := s.eyes.Rows()
		got := []int{assets, len(sizes), totals["account_ownerships.json"], strings.Count(text, `"mime_type"`), strings.Count(text, `"note":"`+mark+`"`)}
		want := []int{int(rows["asset"]), s.foldered(t), totals["accounts.json"], int(rows["attachment"]), 2}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("assets, files, holders, attachments, notes of the user and of a transaction (-want +got):\n%s", diff)
		}
		for _, mark := range marks {
			if !strings.Contains(text, mark) {
				t.Errorf("the archive has no %q", mark)
			}
		}
		for name, size := range sizes {
			if size == 0 {
				t.Errorf("%s is empty", name)
			}
		}
		s.exportedAlone(t, marks)
	})
}

func (s *fixture) exportedAlone(t *testing.T, marks []string) {
	t.Helper()
	id := s.domainOf("").user
	delete(s.domainOf("").tokens, "user")
	totals, sizes, text := s.exported(t, "user", "/users/me/export")
	for name, n := range totals {
		if n != 0 {
			t.Errorf("%s of nobody: %d", name, n)
		}
	}
	for _, mark := range marks {
		if len(sizes) > 0 || strings.Contains(text, mark) {
			t.Errorf("the archive of another user has %q, or files", mark)
		}
	}
	path := "/users/" + strconv.FormatInt(int64(id), 10) + "/export"
	s.do(t, ask{method: "GET", path: path, token: "user"}).says(t, 404, "notFound", "")
	if _, sizes, _ := s.exported(t, "users", path); len(sizes) == 0 {
		t.Error("the operator's archive has no files")
	}
	if r := s.do(t, ask{method: "HEAD", path: "/users/me/export", token: "user"}); r.status != 200 || len(r.body) != 0 || r.header.Get("Content-Type") != "application/zip" {
		t.Errorf("HEAD: %d %v", r.status, r.header)
	}
}

// deleting receives an archive, and deletes the archive's user when the archive begins.
type deleting struct {
	do func()
}

func (d *deleting) Write(p []byte) (int, error) {
	if d.do != nil {
		d.do()
		d.do = nil
	}
	return len(p), nil
}

// TestExportOfOneWhoIsDeleted deletes a user while the service sends the user's archive. The
// archive must then end with an error.
func TestExportOfOneWhoIsDeleted(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"autosync.enabled":"0"}`}).says(t, 200, "", "")
		c, ids := s.discovered(t, "", "one")
		s.do(t, ask{method: "PUT", path: "/accounts/" + ids[0] + "?all", token: "user", body: `{"disabled":false}`}).says(t, 200, "", "")
		s.do(t, ask{method: "PUT", path: fmt.Sprint("/connections/", c.ID), token: "user"}).says(t, 200, "", "")
		who := s.domainOf("")
		u, err := s.DB.User(t.Context(), who.domain.ID, who.user)
		must(t, err)
		w := &deleting{func() { must(t, s.Aggregation.DeleteUser(t.Context(), who.domain, who.user)) }}
		err = archive.Write(t.Context(), s.Aggregation, s.Documents.Files, who.domain, u, s.now().Location(), w)
		if !errors.Is(err, passerelle.NotFound) {
			t.Errorf("the archive ended: %v", err)
		}
	})
}

// The archive of a user waits while other exports execute queries.
func TestArchivesTakeTurns(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.token(t, "", "user", 0)
		who := s.domainOf("")
		u, err := s.DB.User(t.Context(), who.domain.ID, who.user)
		must(t, err)
		entered, leave := make(chan bool), make(chan bool)
		var others sync.WaitGroup
		turns := max(1, runtime.GOMAXPROCS(0)/2)
		for range turns {
			others.Go(func() {
				_, _ = exports.InTurn(t.Context(), func() (any, error) { entered <- true; <-leave; return nil, nil })
			})
		}
		for range turns {
			<-entered
		}
		write := func(ctx context.Context) error {
			return archive.Write(ctx, s.Aggregation, s.Documents.Files, who.domain, u, s.now().Location(), io.Discard)
		}
		soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := write(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beside %d other exports: %v", turns, err)
		}
		close(leave)
		others.Wait()
		must(t, write(t.Context()))
	})
}
