package api_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
)

// attached returns a transaction with an attachment.
func (s *fixture) attached(t *testing.T) (transaction int64) {
	t.Helper()
	c, _ := s.discovered(t, "", "receipts")
	who := s.domainOf("")
	accounts, err := bankstore.From(s.DB).AccountsOf(t.Context(), c.Domain, c.ID)
	must(t, err)
	_, err = s.Aggregation.ChangeAccounts(t.Context(), who.domain, who.user, []passerelle.AccountID{accounts[0].ID}, aggregation.AccountChange{Disabled: new(false), Origin: "api"})
	must(t, err)
	s.runDue(t)
	var list struct {
		Transactions []struct {
			ID          int64
			Attachments []struct{ ID int64 }
		}
	}
	s.do(t, ask{method: "GET", path: "/transactions?limit=100&expand=attachments", token: "user"}).decode(t, &list)
	for _, of := range list.Transactions {
		if len(of.Attachments) > 0 {
			return of.ID
		}
	}
	t.Fatalf("none of %d transactions has an attachment", len(list.Transactions))
	return 0
}

// A transaction lists its attachment from the institution. An event reports the attachment once,
// and users can download it.
func TestAttachments(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.token(t, "", "user", 0)
		before := s.record()
		of := s.attached(t)
		get := func(path string) ask { return ask{method: "GET", path: path, token: "user"} }
		path := fmt.Sprintf("/transactions/%d/attachments", of)
		var list struct {
			Attachments []struct {
				ID       int64
				Name     string
				MimeType string `json:"mime_type"`
				Size     *int64
				URL      string
			}
			Total int
		}
		s.do(t, get("/users/me"+path)).decode(t, &list)
		if list.Total != 1 || len(list.Attachments) != 1 || list.Attachments[0].MimeType != "application/pdf" {
			t.Fatalf("%+v", list)
		}
		one := list.Attachments[0]
		_, place, _ := strings.Cut(one.URL, version)
		if want := fmt.Sprintf("/users/%d%s/%d/file", s.domainOf("").user, path, one.ID); place != want {
			t.Errorf("it is at %s, want %s", place, want)
		}
		file := s.do(t, get(place))
		if file.status != 200 || !bytes.HasPrefix(file.body, []byte("%PDF-")) || !strings.Contains(file.header.Get("Content-Disposition"), one.Name) {
			t.Errorf("%d %v with %d bytes", file.status, file.header, len(file.body))
		}
		s.do(t, get(path)).decode(t, &list)
		if size := list.Attachments[0].Size; size == nil || *size != int64(len(file.body)) {
			t.Errorf("its size is %v, and it has %d bytes", size, len(file.body))
		}
		for _, path := range []string{path + "/" + noID + "/file", "/transactions/" + noID + "/attachments", "/users/" + noID + path} {
			s.do(t, get(path)).says(t, 404, "notFound", "")
		}
		stored := s.eyes.Count("SELECT count(DISTINCT transaction_id) FROM attachment")
		s.advance(t, "25h") // the service reads the connection again
		_, events := before.since(s.record())
		if reported := int64(strings.Count(fmt.Sprint(events), "TRANSACTION_ATTACHMENTS_FOUND")); reported < stored || reported != s.eyes.Count("SELECT count(DISTINCT transaction_id) FROM attachment") {
			t.Errorf("told of %d transactions with attachments, of which there are %d and more", reported, stored)
		}
		// The fetch must end first, because the service does not remove a file that it is fetching.
		s.fetched(t, s.domainOf("").domain)
		s.do(t, ask{method: "DELETE", path: "/connections", token: "user"}).says(t, 204, "", "")
		must(t, s.Aggregation.EraseWithdrawn(t.Context()))
		must(t, s.Documents.RemoveFiles(t.Context()))
		if left := s.eyes.Count("SELECT count(*) FROM attachment") + s.eyes.Count("SELECT count(*) FROM stored_file"); left != 0 {
			t.Errorf("%d rows are left", left)
		}
	})
}
