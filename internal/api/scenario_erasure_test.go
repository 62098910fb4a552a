package api_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// mark is part of the texts that the test writes for a user.
const mark = "Zyzzyva"

// kept lists the tables that may keep rows of a deleted user, with the reason.
var kept = map[string]string{
	"event":              "that it happened is kept for webhooks.retention_days, without its body",
	"delivery":           "that it was to be told goes with its event",
	"delivery_attempt":   "that it was tried goes with its delivery, without what was answered",
	"erasure":            "says that something is left, and goes with the last of it",
	"withdrawal":         "says what is to be erased, and goes with the last of it",
	"payment":            "belongs to the domain",
	"payment_identity":   "belongs to a payment, and does not say any more whose it is",
	"instruction":        "belongs to a payment",
	"payment_transition": "belongs to a payment",
	"payment_word":       "belongs to a payment, and stands for its texts",
	"webhook":            "belongs to an application",
	"webhook_health":     "counts requests",
	"counter":            "counts rows",
	"sequence":           "numbers rows",
	"connector_name":     "names institutions",
	"audit":              "what operators and requests changed, which names no person; the service numbers the rows later",
	"audit_end":          "hashes of that",
}

// apart lists the tables that cannot contain a user's data, with the reason.
var apart = map[string]string{
	"attempt": "of payments", "payment_edge": "of payments", "payment_given": "of payments", "payment_note": "of payments", "payment_evidence": "of payments", "sandbox_order": "of payments", "payment_word_earlier": "of the domain", "payment_name_earlier": "of the domain",
	"terms": "of payments", "terms_text": "of payments", "client": "of applications", "client_logo": "of applications", "auth_provider": "of applications",
	"domain": "of the operator", "setting": "of the operator", "setting_change": "of the operator", "mail": "to the operator",
	"operator": "of the operator", "operator_identity": "of the operator", "console_session": "of the operator", "sign_in_failure": "of the operator", "audit_turn": "of the program",
	"maintenance": "of the operator", "last_backup": "of the operator", "schema_migration": "of the program", "sealing": "of the program", "key_check": "of the program", "purge_place": "of the program",
	"field_key": "keys of the domain", "sign_key": "keys of the domain",
	"document_type":     "what the domain says of types",
	"connector_program": "of the deployment",
	"bank_disturbance":  "of the program",
	"received":          "what the built-in receiver of a sandbox got, which is for trying out",
}

func (s *fixture) lines() map[string][]string {
	queries := map[string]string{}
	for table := range s.eyes.Rows() {
		queries[table] = `SELECT * FROM "` + table + `"`
	}
	return s.eyes.Lines(queries)
}

func beyond(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(line string) bool { _, there := slices.BinarySearch(before, line); return there })
}

// TestNothingIsLeftOfADeletedUser fills every table that can contain data of a user, deletes the
// user, and searches for rows, marks and files. For a new table, extend plant, kept or apart.
func TestNothingIsLeftOfADeletedUser(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		s.do(t, ask{method: "POST", path: "/config", token: "config", body: `{"autosync.enabled":"0"}`}).says(t, 200, "", "")
		s.token(t, "", "admin", 0)
		s.unreachableWebhook(t)
		must(t, s.Access.KeepUses(t.Context())) // the time of the last use of credentials may stay
		before := s.lines()
		marks := s.plant(t)
		planted := s.lines()
		s.do(t, ask{method: "DELETE", path: "/users/me", token: "user"}).says(t, 204, "", "")
		for range 2 { // the second pass erases the rows that the first pass wrote
			must(t, s.Aggregation.EraseUsers(t.Context(), s.domainOf("").domain))
			must(t, s.Aggregation.EraseWithdrawn(t.Context()))
			must(t, s.Documents.RemoveFiles(t.Context()))
			s.elapsed.Add(int64(2 * time.Minute))
		}
		after := s.lines()
		for _, named := range []map[string]string{kept, apart} {
			for table := range named {
				if after[table] == nil {
					t.Errorf("%s is no table", table)
				}
			}
		}
		for table := range after {
			s.wantNothing(t, table, len(beyond(before[table], planted[table])), beyond(before[table], after[table]))
			for _, line := range after[table] {
				for _, m := range marks {
					if strings.Contains(line, m) {
						t.Errorf("%s still has %q: %.300s", table, m, line)
					}
				}
			}
		}
		if n := s.eyes.Count(`SELECT count(*) FROM payment_identity WHERE user_id IS NOT NULL`) + s.eyes.Count(`SELECT count(*) FROM event WHERE user_id IS NOT NULL AND (erased IS NULL OR holds IS NOT NULL)`) +
			s.eyes.Count(`SELECT count(*) FROM erasure`) + s.eyes.Count(`SELECT count(*) FROM withdrawal`); n != 0 {
			t.Errorf("%d rows still say whose they are, or that more is to be erased", n)
		}
		if n := s.foldered(t); n != 0 {
			t.Errorf("%d files are left", n)
		}
	})
}

func (s *fixture) wantNothing(t *testing.T, table string, came int, left []string) {
	t.Helper()
	switch {
	case apart[table] != "" && came > 0:
		t.Errorf("%s got %d rows of the user, and is said to hold nothing: %s", table, came, apart[table])
	case apart[table] != "" || kept[table] != "":
	case came == 0:
		t.Errorf("%s: nothing was planted; have plant fill it, or say why it holds nothing of a user", table)
	case len(left) > 0:
		t.Errorf("%s: %d rows are left, such as %.300s", table, len(left), left[0])
	}
}

func (s *fixture) foldered(t *testing.T) (n int) {
	t.Helper()
	must(t, filepath.WalkDir(s.Folder(), func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return err
	}))
	return n
}

// unreachableWebhook registers webhooks for events about users, and leases them. No sender can then
// deliver to them.
func (s *fixture) unreachableWebhook(t *testing.T) {
	t.Helper()
	for _, entry := range webhook.Events() {
		if entry.Event == webhook.UserDeleted || !entry.OfUser() {
			continue
		}
		id, err := strconv.ParseInt(s.webhookFor(t, "", string(entry.Event)), 10, 64)
		must(t, err)
		s.write(t, func(tx *store.Tx) error {
			tx.LeaseWebhook(store.Webhook{Domain: s.domainOf("").domain.ID, ID: passerelle.WebhookID(id)}, "test", 24*time.Hour)
			return nil
		})
	}
}

// plant gives the user rows in every table that can contain data of a user. It returns the texts
// that the deletion must remove.
func (s *fixture) plant(t *testing.T) (marks []string) {
	t.Helper()
	call := func(method, path, body string) reply {
		t.Helper()
		return s.do(t, ask{method: method, path: path, token: "user", body: body, header: map[string]string{"Idempotency-Key": mint("key")}})
	}
	call("POST", "/users/me/config", `{"note":"`+mark+`"}`).says(t, 200, "", "")
	call("POST", "/auth/token/code", "{}").says(t, 200, "", "")
	payer := fmt.Sprintf(`{"payer_identity":{"first_name":"A","last_name":"B","id_user":%d},`, s.domainOf("").user)
	s.do(t, ask{method: "POST", path: "/payments", token: "admin", body: strings.Replace(minimalDraft, "{", payer, 1)}).says(t, 200, "", "")

	var connection struct{ ID int64 }
	call("POST", "/connections", strings.Replace(connecting, "one", "anna", 1)).decode(t, &connection)
	path := fmt.Sprint("/connections/", connection.ID)
	for _, login := range []string{"wealth", "receipts"} {
		call("POST", "/connections", strings.Replace(connecting, "one", login, 1)).says(t, 200, "", "")
	}
	call("POST", "/connections", `{"connector_uuid":"`+testConnector+`","source":"openapi"}`).says(t, 202, "", "")
	accounts, ids := s.listed(t, "/accounts?all")
	call("PUT", "/accounts/"+ids+"?all", `{"disabled":false,"name":"`+mark+`"}`).says(t, 200, "", "")
	_, subscriptions := s.listed(t, "/subscriptions?all")
	call("PUT", "/subscriptions/"+subscriptions+"?all", `{"disabled":false}`).says(t, 200, "", "")
	call("PUT", path, "").says(t, 200, "", "")
	s.elapsed.Add(int64(48 * time.Hour)) // enough time for the values of investments to change
	call("PUT", "/connections", "").says(t, 200, "", "")
	transactions, _ := s.listed(t, "/transactions?limit=1")
	call("POST", "/transactions/"+transactions["id"], `{"comment":"`+mark+`"}`).says(t, 200, "", "")
	call("POST", "/transactions/"+transactions["id"]+"/informations", `{"note":"`+mark+`"}`).says(t, 200, "", "")
	s.ownCategory(t, "")
	s.tried(t)
	s.fetched(t, s.domainOf("").domain)
	if s.foldered(t) == 0 {
		t.Error("no file was planted")
	}
	documents, _ := s.listed(t, "/documents?limit=1")
	call("PUT", "/transactions/"+transactions["id"]+"/documents", `{"id_document":`+documents["id"]+`}`).says(t, 200, "", "")
	return []string{mark, accounts["iban"], accounts["number"], transactions["original_wording"], documents["name"]}
}

func (s *fixture) listed(t *testing.T, path string) (first map[string]string, ids string) {
	t.Helper()
	var list map[string]any
	s.do(t, ask{method: "GET", path: path, token: "user"}).decode(t, &list)
	var all []string
	for _, value := range list {
		items, _ := value.([]any)
		for _, item := range items {
			members, _ := item.(map[string]any)
			all = append(all, fmt.Sprint(members["id"]))
			if first == nil {
				first = map[string]string{}
				for name, member := range members {
					first[name] = fmt.Sprint(member)
				}
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s lists nothing", path)
	}
	return first, strings.Join(all, ",")
}

// tried stores requests to receivers, with the receivers' responses.
func (s *fixture) tried(t *testing.T) {
	t.Helper()
	domain := s.domainOf("").domain.ID
	by := map[passerelle.WebhookID][]store.DeliveryAttempt{}
	for _, d := range s.eyes.Deliveries() {
		id := passerelle.WebhookID(d.Webhook)
		by[id] = append(by[id], store.DeliveryAttempt{Delivery: passerelle.DeliveryID(d.ID), At: s.now(), Status: 500, Failure: "status", Answer: mark, Detail: mark})
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		s.write(t, func(tx *store.Tx) error {
			return tx.RecordBatches(domain, store.Batch{Webhook: id, Holder: "test", Lease: 24 * time.Hour, Attempts: by[id], Now: s.now(), NextFlush: s.now().AddDate(1, 0, 0)})
		})
	}
}
