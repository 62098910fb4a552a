package notification_test

import (
	"errors"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/keys"
	"passerelle/internal/notification"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
	_ "passerelle/internal/store/storetest/migrated"
)

// TestAddresses checks that the service accepts only a complete, unchanged address of the domain.
func TestAddresses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database string) {
		ring := keys.Generate()
		db, err := store.Open(t.Context(), database, store.Options{Keys: ring, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		n := &notification.Notifications{DB: db, MAC: ring.MAC, Now: time.Now, Sync: func() {}}
		own, other := passerelle.Domain{ID: 1, BaseURL: "https://one.example/2.0"}, passerelle.Domain{ID: 2}
		state := func(address string) string {
			u, err := url.Parse(address)
			if err != nil || u.Path != "/2.0"+notification.Path {
				t.Fatalf("%s: %v", address, err)
			}
			return u.Query().Get("state")
		}
		order, consent := state(n.OfPayment(own, 7)), state(n.OfConsent(own, 7))
		for _, issued := range []string{order, consent} {
			if err := n.Receive(t.Context(), own, issued); err != nil {
				t.Errorf("%s: %v", issued, err)
			}
			for _, wrong := range []string{"", issued + "A", issued[1:], issued[:10] + "\n" + issued[10:], "A" + issued[1:len(issued)-1] + "_"} {
				if err := n.Receive(t.Context(), own, wrong); !errors.Is(err, passerelle.NotFound) {
					t.Errorf("%q is received: %v", wrong, err)
				}
			}
			if err := n.Receive(t.Context(), other, issued); !errors.Is(err, passerelle.NotFound) {
				t.Errorf("another domain receives: %v", err)
			}
		}
		if order == consent {
			t.Error("an order and a consent have the same address")
		}
	})
}
