package api_test

import (
	"fmt"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

func (s *fixture) annexed(t *testing.T, domainName string) string {
	t.Helper()
	document := s.subscriber(t, domainName)["document"]
	path := "/transactions/" + s.held(t, domainName, "transaction") + "/documents"
	s.do(t, ask{domain: domainName, method: "PUT", path: path, token: "user", body: `{"id_document":` + document + `}`}).says(t, 200, "", "")
	return document
}

func TestTransactionDocumentScenarios(t *testing.T) {
	by := func(method, path, body string) ask { return ask{method: method, path: path, token: "user", body: body} }
	kind := func(body string) ask {
		return ask{method: "PUT", path: "/documenttypes/4", token: "config", body: body}
	}
	const (
		of     = "/users/me/transactions/{transaction}/documents"
		attach = `{"id_document":{document}}`
	)
	rows := func(n int64) map[string]int64 { return map[string]int64{"transaction_document": n} }
	play(t, "transactiondocuments", []scenario{
		{name: "none", status: 200, ask: by("GET", of, "")},
		{name: "attach", status: 200, rows: rows(1), ask: by("PUT", of, attach)},
		{name: "attach again", status: 200, ask: by("PUT", "/connections/{holder}/accounts/{holding}/transactions/{transaction}/documents", attach)},
		{name: "attach in a form", status: 200, ask: ask{method: "PUT", path: of, token: "user", contentType: "application/x-www-form-urlencoded", body: "id_document={document}"}},
		{name: "list", status: 200, ask: by("GET", "/accounts/{holding}/transactions/{transaction}/documents?expand=type", "")},
		{name: "list what is not of the type", status: 200, ask: by("GET", of+"?id_type=1", "")},
		{name: "list strictly without limit", status: 400, ask: ask{method: "GET", path: of, token: "user", header: map[string]string{"Prefer": "handling=strict"}}},
		{name: "read", status: 200, ask: by("GET", of+"/{document}", "")},
		{name: "see them", status: 200, ask: by("GET", "/transactions/{transaction}?expand=documents", "")},
		{name: "count them", status: 200, ask: by("GET", "/transactions/{transaction}", "")},

		{name: "attach nothing", status: 400, ask: by("PUT", of, `{}`)},
		{name: "attach none", status: 400, ask: by("PUT", of, `{"id_document":`+noID+`}`)},
		{name: "attach another domain's", status: 400, ask: by("PUT", of, `{"id_document":{other:document}}`)},
		{name: "attach to none", status: 404, ask: by("PUT", "/transactions/"+noID+"/documents", attach)},
		{name: "attach to another domain's", status: 404, ask: by("PUT", "/transactions/{other:transaction}/documents", attach)},
		{name: "attach with POST", status: 200, ask: by("POST", of, attach)},
		{name: "list another domain's", status: 404, ask: by("GET", "/transactions/{other:transaction}/documents", "")},
		{name: "read none", status: 404, ask: by("GET", of+"/"+noID, "")},
		{name: "read another domain's", status: 404, ask: by("GET", of+"/{other:document}", "")},
		{name: "detach another domain's", status: 404, ask: by("DELETE", of+"/{other:document}", "")},
		{name: "detach", status: 204, rows: rows(-1), ask: by("DELETE", of+"/{document}", "")},
		{name: "detach again", status: 404, ask: by("DELETE", of+"/{document}", "")},
		{name: "read after that", status: 404, ask: by("GET", of+"/{document}", "")},
		{name: "attach once more", status: 200, rows: rows(1), ask: by("PUT", of, attach)},
		{name: "detach all", status: 204, rows: rows(-1), ask: by("DELETE", of, "")},
		{name: "detach nothing", status: 204, ask: by("DELETE", of, "")},

		{name: "a type", status: 200, ask: by("GET", "/documenttypes/4", "")},
		{name: "no type", status: 404, ask: by("GET", "/documenttypes/99", "")},
		{name: "change a type", status: 200, rows: map[string]int64{"document_type": 1, "setting_change": 2}, ask: kind(`{"name":"Facture","attacheable":false}`)},
		{name: "change nothing of it", status: 200, ask: kind(`{}`)},
		{name: "attach one of it", status: 400, ask: by("PUT", of, attach)},
		{name: "list one of it", status: 200, ask: by("GET", "/documents?limit=1&expand=type", "")},
		{name: "change it to what it is", status: 200, ask: kind(`{"name":"Facture","attacheable":false}`)},
		{name: "not elsewhere", status: 200, ask: ask{domain: "other", method: "GET", path: "/documenttypes/4"}},
		{name: "change one thing of it", status: 200, rows: aSettingChange, ask: ask{method: "POST", path: "/documenttypes/4", token: "config", contentType: "application/x-www-form-urlencoded", body: "attacheable=1"}},
		{name: "attach one of it now", status: 200, rows: rows(1), ask: by("PUT", of, attach)},
		{name: "as it was at first", status: 200, rows: map[string]int64{"setting_change": 2}, ask: kind(`{"name":null,"attacheable":null}`)},
		{name: "its changes on record", status: 200, ask: ask{method: "GET", path: "/config/logs?search=documenttypes", token: "config"}},
		{name: "without a name", status: 400, ask: kind(`{"name":""}`)},
		{name: "with a long name", status: 400, ask: kind(`{"name":"` + strings.Repeat("é", 101) + `"}`)},
		{name: "with a name of two lines", status: 400, ask: kind(`{"name":"a\nb"}`)},
		{name: "change no type", status: 404, ask: ask{method: "PUT", path: "/documenttypes/99", token: "config", body: `{"name":"n"}`}},
	})
}

// The documents_count of a transaction equals the length of its list of documents. The service
// detaches a document when the user stops sharing the document's subscription or the transaction's
// account.
func TestWhatIsAttachedGoesWithWhatItBelongsTo(t *testing.T) {
	for name, path := range map[string]string{"the subscription": "/subscriptions/{subscription}", "the account": "/accounts/{holding}"} {
		t.Run(name, func(t *testing.T) {
			onEachFixture(t, func(t *testing.T, s *fixture) {
				a := s.fill(t, ask{path: path})
				s.annexed(t, "")
				transaction := "/transactions/" + s.held(t, "", "transaction")
				counted := func() (n int) {
					t.Helper()
					var out struct {
						Count     int `json:"documents_count"`
						Documents []struct{ ID int64 }
					}
					s.do(t, ask{method: "GET", path: transaction + "?expand=documents", token: "user"}).decode(t, &out)
					if len(out.Documents) != out.Count {
						t.Errorf("%d documents are counted, and there are %d", out.Count, len(out.Documents))
					}
					return out.Count
				}
				if n := counted(); n != 1 {
					t.Fatalf("%d documents are attached", n)
				}
				s.do(t, ask{method: "PUT", path: a.path, token: "user", body: `{"disabled":true}`}).says(t, 200, "", "")
				if name == "the subscription" && counted() != 0 {
					t.Error("what is withheld is still counted")
				}
				must(t, s.Aggregation.EraseWithdrawn(t.Context()))
				if left := s.eyes.Count("SELECT count(*) FROM transaction_document"); left != 0 {
					t.Errorf("%d rows are left", left)
				}
			})
		})
	}
}

// A transaction has at most twenty documents. A document that the provider no longer lists does
// not count.
func TestDocumentsOfATransactionAreBounded(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.subscriber(t, "")
		who, path := s.domainOf(""), "/transactions/"+s.held(t, "", "transaction")
		share := aggregation.SubscriptionChange{Disabled: new(false), Origin: "api"}
		must(t, s.Aggregation.ChangeSubscriptions(t.Context(), who.domain, who.user, []passerelle.SubscriptionID{s.subscribed(t, who, s.subscribe(t, who, who.user))[0].ID}, share))
		s.runDue(t)
		f := bankstore.DocumentFilter{Domain: who.domain.ID, User: who.user}
		documents, err := bankstore.From(s.DB).Documents(t.Context(), f, store.Window{Limit: aggregation.MaxAttached + 1})
		if must(t, err); len(documents) != aggregation.MaxAttached+1 {
			t.Fatalf("%d documents", len(documents))
		}
		attach := func(i int) reply {
			return s.do(t, ask{method: "PUT", path: path + "/documents", token: "user", body: fmt.Sprintf(`{"id_document":%d}`, documents[i].ID)})
		}
		for i := range aggregation.MaxAttached {
			attach(i).says(t, 200, "", "")
		}
		before := s.record()
		attach(aggregation.MaxAttached).says(t, 409, "conflict", "At most 20 documents")
		attach(3).says(t, 200, "", "")
		s.untouched(t, before)
		subscriptions, err := bankstore.From(s.DB).Subscriptions(t.Context(), bankstore.SubscriptionFilter{Domain: f.Domain, User: f.User}, store.Window{Limit: 10})
		must(t, err)
		for _, of := range subscriptions {
			if of.ID == documents[0].Subscription {
				s.write(t, func(tx *store.Tx) error {
					bankstore.In(tx).LoseDocument(f.Domain, of, documents[0].ID, opening, 99)
					return nil
				})
			}
		}
		var out struct {
			Count int `json:"documents_count"`
		}
		s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &out)
		if out.Count != aggregation.MaxAttached-1 {
			t.Errorf("%d documents are counted", out.Count)
		}
	})
}
