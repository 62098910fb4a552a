package servicetest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/operatorstore"
	"passerelle/internal/servicetest"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// Each of the damages executes SQL statements that break rules about stored data. In statements and
// expectations, # means the payment's number, and #0 means a number far from all other numbers.
var damages = []struct {
	name       string
	statements []string
	seen       map[string]string
}{
	{"a step from elsewhere", []string{
		`UPDATE payment_transition SET from_state = 'pending' WHERE payment_id = # AND seq = 1`,
	}, map[string]string{"edges": "payment # at step 1"}},
	{"a state of its own", []string{
		`UPDATE payment SET state = 'accepted' WHERE id = #`,
	}, map[string]string{"state": "payment #", "roll-up": "payment #"}},
	{"a history of nobody", []string{
		`INSERT INTO payment_transition (payment_id, seq, domain_id, to_state, cause, actor, bank_status, at)
			SELECT #0, 0, domain_id, 'created', cause, actor, bank_status, at FROM payment_transition WHERE payment_id = # AND seq = 0`,
	}, map[string]string{"owners": "payment #0"}},
	{"an event lost", []string{
		`DELETE FROM delivery_attempt WHERE delivery_id IN (SELECT id FROM delivery WHERE subject = 'payment' AND subject_id = # AND version = 2)`,
		`DELETE FROM delivery WHERE subject = 'payment' AND subject_id = # AND version = 2`,
		`DELETE FROM event WHERE subject = 'payment' AND subject_id = # AND version = 2`,
	}, map[string]string{"step events": "payment # at step 2"}},
	{"an event of nothing", []string{
		`INSERT INTO event (id, domain_id, name, subject, subject_id, version, body, created)
			SELECT #0, domain_id, name, subject, subject_id, 9, body, created FROM event WHERE subject = 'payment' AND subject_id = # AND version = 1`,
	}, map[string]string{"event steps": "event #0"}},
	{"given up after it was delivered", []string{
		`UPDATE delivery SET id = #0, dropped = delivered + 1 WHERE subject = 'payment' AND subject_id = # AND version = 1`,
	}, map[string]string{"deliveries": "delivery #0"}},
	{"the later before the earlier", []string{
		`UPDATE delivery SET id = #0, delivered = NULL, not_before = 4102444800000000 WHERE subject = 'payment' AND subject_id = # AND version = 1`,
	}, map[string]string{"order": "delivery #0"}},
	{"a cent more", []string{
		`UPDATE payment SET amount = amount + 1 WHERE id = #`,
	}, map[string]string{"sums": "payment #"}},
	{"a line that says otherwise", []string{
		`UPDATE instruction SET state = 'accepted' WHERE payment_id = #`,
	}, map[string]string{"roll-up": "payment #"}},
	{"no intent", []string{
		`DELETE FROM attempt WHERE payment_id = #`,
	}, map[string]string{"intent": "payment #"}},
	{"an order for no bank", []string{
		`UPDATE payment SET connector_uuid = NULL, connector_name = NULL WHERE id = #`,
	}, map[string]string{"attempts": "payment #"}},
	{"an order given twice", []string{
		`UPDATE sandbox_order SET submissions = 2, key = 'twice' WHERE key = (SELECT key FROM attempt WHERE payment_id = # AND kind = 'initiation')`,
	}, map[string]string{"submissions": "order twice"}},
	{"waiting for nothing", []string{
		`UPDATE payment SET action = 'redirect' WHERE id = #`,
	}, map[string]string{"waiting": "payment #"}},
	{"an act that nobody did", []string{
		`INSERT INTO audit (id, domain_id, at, request_id, act, refused, number, previous, hash)
			SELECT #0, domain_id, registered, '', 'none', FALSE, #0, x, x FROM (SELECT domain_id, registered, (SELECT secret_hash FROM client LIMIT 1) AS x FROM payment WHERE id = #) AS p`,
	}, map[string]string{"chain": "act #0|the end, 3"}},
}

// TestInvariantsAreSeenToBreak damages one payment after another. The check must report exactly the
// violations so far.
func TestInvariantsAreSeenToBreak(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		s := servicetest.Start(t, url, servicetest.Options{})
		s.Subscribe(stateUpdated, "shop")
		s.OK(s.Call("POST", "/webhooks/1/test", s.ConfigToken, nil)) // the delivery of a test counts as dropped even when it was delivered
		for {                                                        // until these acts have their places in the audit log
			_, err := operatorstore.From(&s.DB.Reader).NextUnchained(t.Context(), -1)
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
		want := map[string][]string{}
		for _, damage := range damages {
			id := fmt.Sprint(finished(t, s))
			if diff := cmp.Diff(want, breaches(t, s)); diff != "" {
				t.Fatalf("before %s: %s", damage.name, diff)
			}
			here := strings.NewReplacer("#0", id+"000000", "#", id)
			for _, statement := range damage.statements {
				storetest.Break(t, url, here.Replace(statement))
			}
			for rule, what := range damage.seen {
				want[rule] = append(want[rule], strings.Split(here.Replace(what), "|")...)
				slices.Sort(want[rule])
			}
			if diff := cmp.Diff(want, breaches(t, s)); diff != "" {
				t.Fatalf("after %s: %s", damage.name, diff)
			}
		}
		for _, rule := range store.Invariants() {
			if want[rule.Name] == nil {
				t.Errorf("nothing here breaks the rule %q", rule.Name)
			}
		}
		behind, err := s.DB.SequencesBehind(t.Context())
		if diff := cmp.Diff([]string{"audit", "event"}, behind); err != nil || diff != "" {
			t.Errorf("sequences behind their tables: %v %s", err, diff)
		}
	})
}

func finished(t *testing.T, s *servicetest.Instance) int64 {
	t.Helper()
	token := s.Token("payments:admin")
	id := s.Create(token, servicetest.Draft())
	var p paymentAnswer
	s.JSON(s.OK(s.Call("POST", fmt.Sprint("/payments/", id), token, map[string]any{
		"connector_uuid": testConnector, "webview_url": "https://shop.example/webview", "validated": true,
	})), &p)
	approve(t, s, *p.ValidateURI)
	s.Received("shop")
	return id
}

func breaches(t *testing.T, s *servicetest.Instance) map[string][]string {
	t.Helper()
	found, err := s.DB.CheckInvariants(t.Context(), s.Domain.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, breach := range found {
		all[breach.Invariant.Name] = breach.What
	}
	return all
}
