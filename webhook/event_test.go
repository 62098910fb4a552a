package webhook_test

import (
	"regexp"
	"strings"
	"testing"

	"passerelle/webhook"
)

func TestCatalogueIsComplete(t *testing.T) {
	events := webhook.Events()
	if len(events) != 17 {
		t.Errorf("webhook/event.go has %d events, want 17: for a new event, follow docs/checklists/event.md and change the number in webhook/event_test.go", len(events))
	}
	name, numbers := regexp.MustCompile(`^[A-Z]+(_[A-Z]+)+$`), map[int]bool{}
	for _, entry := range events {
		if !name.MatchString(string(entry.Event)) || entry.Description == "" || entry.Subject == "" || entry.Payload == "" {
			t.Errorf("incomplete entry %+v", entry)
		}
		if entry.Number < 1 || entry.Number == 13 || numbers[entry.Number] {
			t.Errorf("%s: number %d is reserved or taken", entry.Event, entry.Number)
		}
		numbers[entry.Number] = true
		if entry.Deprecated != (entry.Event == webhook.UserSynced) {
			t.Errorf("%s: deprecated is %v", entry.Event, entry.Deprecated)
		}
	}
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]webhook.Subject{
		"USER_DELETED":          webhook.SubjectUser,
		"ACCOUNT_SYNCED":        webhook.SubjectConnection,
		"SUBSCRIPTION_FOUND":    webhook.SubjectConnection,
		"PAYMENT_STATE_UPDATED": webhook.SubjectPayment,
		"payment_state_updated": "",
		"TRANSACTIONS_SYNCED":   "",
	} {
		entry, found := webhook.Lookup(name)
		if entry.Subject != want || found != (want != "") {
			t.Errorf("%s: subject %q, found %v", name, entry.Subject, found)
		}
	}
}

func TestOnlyPaymentsBelongToNobody(t *testing.T) {
	for _, entry := range webhook.Events() {
		if entry.OfUser() == strings.HasPrefix(string(entry.Event), "PAYMENT_") {
			t.Errorf("%s: of a user is %v", entry.Event, entry.OfUser())
		}
	}
}

func TestEventsHandsOutACopy(t *testing.T) {
	webhook.Events()[0].Event = "CHANGED"
	if webhook.Events()[0].Event != webhook.UserCreated {
		t.Error("a caller changed the catalogue")
	}
}
