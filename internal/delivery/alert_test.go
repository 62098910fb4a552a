package delivery_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// TestTheCommandOfAnAlertRecoversAll sends events that happened hours before the first request
// failed. The alert contains a command and an API call to recover the webhook, each with a time.
// With this time, both must make all deliveries due.
func TestTheCommandOfAnAlertRecoversAll(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		r.domain = r.newDomain("it's mine", passerelle.Sandbox)
		must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.ManagerEmail: "ops@bank.example"}, r.clock.Now()))
		in := newInbox(t)
		in.answers(always(http.StatusBadGateway))
		w := r.webhook(in.url, "")
		for id := range int64(12) {
			r.emit(id+1, 1)
		}
		r.clock.advance(3 * time.Hour)
		r.run(0, 10)
		mails, err := r.DB.Mails(t.Context(), r.domain.ID, store.Window{Limit: 2})
		must(t, err)
		if len(mails) != 1 {
			t.Fatalf("%d mails", len(mails))
		}
		command := fmt.Sprintf(`passerelle webhook recover %d --domain 'it'\''s mine' --since '`, w.ID)
		if !strings.Contains(mails[0].Text, command) {
			t.Errorf("no %s in %s", command, mails[0].Text)
		}
		calls := regexp.MustCompile(`since(?:": "| ')([-0-9: ]{19})`).FindAllStringSubmatch(mails[0].Text, -1)
		if len(calls) != 2 {
			t.Errorf("%d ways to recover in %s", len(calls), mails[0].Text)
		}
		for _, written := range calls {
			since, err := passerelle.ParseDateTime("since", written[1], time.UTC)
			must(t, err)
			due, err := r.Recover(t.Context(), r.domain, w, since)
			must(t, err)
			if due != 12 {
				t.Errorf("since %s: %d are due", written[1], due)
			}
		}
	})
}

// TestAlertsWithStoredFaults alerts the managers of a domain with settings that no command stores
// any more. The mail goes to the valid addresses, and names the days that count.
func TestAlertsWithStoredFaults(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		for i, step := range []struct{ frequency, every string }{{"often", "day"}, {"01", "day"}, {"007", "7 days"}, {".5", "0.5 days"}} {
			r.domain = r.newDomain(fmt.Sprint("bank", i), passerelle.Sandbox)
			must(t, r.DB.Write(t.Context(), func(tx *store.Tx) error {
				tx.SetSetting(r.domain.ID, settings.AlertsFrequency, step.frequency, "command", r.clock.Now())
				tx.SetSetting(r.domain.ID, settings.ManagerEmail, "<ops>, ops@bank.example", "command", r.clock.Now())
				return nil
			}))
			in := newInbox(t)
			in.answers(always(http.StatusBadGateway))
			r.webhook(in.url, "")
			for id := range int64(12) {
				r.emit(id+1, 1)
			}
			r.run(0, 10)
			mails, err := r.DB.Mails(t.Context(), r.domain.ID, store.Window{Limit: 2})
			must(t, err)
			if len(mails) != 1 || mails[0].Recipient != "ops@bank.example" || !strings.Contains(mails[0].Text, "at most one every\n"+step.every+". The") {
				t.Errorf("%s: %+v", step.frequency, mails)
			}
		}
	})
}
