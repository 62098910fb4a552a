package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

// TestDoctorFindsStoredFaults stores a webhook after as many webhooks as a domain may have, and
// settings that no command would store. Simultaneous registrations and earlier versions can leave
// such rows. The doctor must report each of them.
func TestDoctorFindsStoredFaults(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		db, err := store.Open(t.Context(), url, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Database.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		bank := passerelle.Domain{Name: "bank", Kind: passerelle.Live, BaseURL: "https://bank.example/2.0"}
		err = db.Write(t.Context(), func(tx *store.Tx) error { return tx.CreateDomain(&bank, "bank.example") })
		if err != nil {
			t.Fatal(err)
		}
		err = db.Write(t.Context(), func(tx *store.Tx) error {
			for i := range store.MaxWebhooks + 1 {
				host := map[bool]string{true: "127.0.0.1", false: "8.8.8.8"}[i == store.MaxWebhooks]
				tx.Unit().Exec(`INSERT INTO webhook (id, domain_id, event, url, created) VALUES ($1, $2, 'PAYMENT_STATE_UPDATED', $3, 0)`, i+1, bank.ID, "https://"+host+"/hook")
			}
			tx.SetSetting(bank.ID, "autosync.enabled", "true", "command", bank.Created)
			tx.SetSetting(bank.ID, "autosync.frequency", "often", "command", bank.Created)
			tx.SetSetting(bank.ID, "webhooks.alerts_frequency", "007", "command", bank.Created)
			tx.SetSetting(bank.ID, "webhooks.timeout_seconds", "20", "command", bank.Created)
			return nil
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		var out, diagnostics bytes.Buffer
		if status := run(t.Context(), []string{"doctor"}, []string{"PASSERELLE_DATABASE=" + url}, &out, &diagnostics); status != 1 {
			t.Errorf("status %d, %s", status, diagnostics.String())
		}
		for _, want := range []string{
			fmt.Sprintf("webhook %d: its host has an address or port that is not allowed", store.MaxWebhooks+1),
			`bank: the stored value of autosync.enabled must be "0" or "1"; the default counts instead, or the valid words of a list`,
			"bank: the stored value of autosync.frequency must be a number of days from 0.01 to 365, such as 1 or 0.5; the default counts instead",
		} {
			if strings.Count(out.String(), want) != 1 {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
		if n := strings.Count(out.String(), "the stored value") + strings.Count(out.String(), "webhook "); n != 3 {
			t.Errorf("%d faults, want 3:\n%s", n, out.String())
		}
	})
}
