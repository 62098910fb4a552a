package delivery_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// TestChangesOfProvidersAreAudited checks that the log contains each change of a provider with its
// actor.
func TestChangesOfProvidersAreAudited(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		var log strings.Builder
		r.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		}}))
		signer, err := r.RegisterProvider(t.Context(), r.domain, "signer", "a")
		must(t, err)
		oauth, err := r.RegisterOAuth(t.Context(), r.domain, "oauth", endpointAt("https://canary.example/token"), "b")
		must(t, err)
		_, err = r.UpdateProvider(t.Context(), r.domain, oauth.ID, delivery.ProviderChange{Endpoint: delivery.EndpointChange{ClientSecret: new("other canary")}, By: "c"})
		must(t, err)
		_, secret, err := r.Rotate(t.Context(), r.domain, signer.ID, time.Hour, "d")
		must(t, err)
		must(t, r.DeleteProvider(t.Context(), r.domain, signer.ID, "e"))
		must(t, r.DeleteProviders(t.Context(), r.domain, "f"))

		_, refused := r.RegisterProvider(t.Context(), r.domain, "", "g")
		_, absent := r.UpdateProvider(t.Context(), r.domain, signer.ID, delivery.ProviderChange{By: "g"})
		_, _, gone := r.Rotate(t.Context(), r.domain, signer.ID, 0, "g")
		for _, err := range []error{refused, absent, gone, r.DeleteProvider(t.Context(), r.domain, signer.ID, "g")} {
			if err == nil {
				t.Error("not refused")
			}
		}
		var want strings.Builder
		line := func(what string, provider int64, by string) {
			fmt.Fprintf(&want, "msg=%q domain=%d provider=%d by=%s\n", "provider "+what, r.domain.ID, provider, by)
		}
		line("registered", signer.ID, "a")
		line("registered", oauth.ID, "b")
		line("changed", oauth.ID, "c")
		line("given a new secret", signer.ID, "d")
		line("deleted", signer.ID, "e")
		fmt.Fprintf(&want, "msg=\"all providers deleted\" domain=%d by=f\n", r.domain.ID)
		if diff := cmp.Diff(want.String(), log.String()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		for _, hidden := range []string{"canary", signer.Secret, secret} {
			if strings.Contains(log.String(), hidden) {
				t.Errorf("the log has %q", hidden)
			}
		}
	})
}

// meanwhile runs a function at each call of the clock, except for the calls by the function itself.
// An update calls the clock after it has read the provider, and before it stores the change.
func (r *fixture) meanwhile(do func()) {
	real, within := r.Now, false
	r.Now = func() time.Time {
		if !within {
			within = true
			do()
			within = false
		}
		return real()
	}
}

func TestUpdatesAtOnceAreBothMade(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		a := r.oauth("p", endpointAt("https://first.example/token"))
		first := true
		r.meanwhile(func() {
			if !first {
				return
			}
			first = false
			_, err := r.UpdateProvider(t.Context(), r.domain, a.ID, delivery.ProviderChange{Endpoint: delivery.EndpointChange{ClientID: new("other"), ClientSecret: new("secret")}})
			must(t, err)
		})
		answered, err := r.UpdateProvider(t.Context(), r.domain, a.ID, delivery.ProviderChange{Endpoint: delivery.EndpointChange{URL: new("https://second.example/token")}})
		must(t, err)
		stored, err := r.Provider(t.Context(), r.domain, a.ID)
		must(t, err)
		want := store.TokenEndpoint{URL: "https://second.example/token", ClientID: "other", GrantType: delivery.ClientCredentials}
		for _, got := range []store.AuthProvider{answered, stored} {
			if *got.Endpoint != want || got.Secret != "secret" {
				t.Errorf("%+v", got)
			}
		}
	})
}

// TestAnUpdateGivesUp changes the provider during each try of an update. The update must be refused
// and change nothing.
func TestAnUpdateGivesUp(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		a, n := r.oauth("p", endpointAt("https://first.example/token")), 0
		r.meanwhile(func() {
			n++
			_, err := r.UpdateProvider(t.Context(), r.domain, a.ID, delivery.ProviderChange{Endpoint: delivery.EndpointChange{ClientID: new(fmt.Sprint(n))}})
			must(t, err)
		})
		_, err := r.UpdateProvider(t.Context(), r.domain, a.ID, delivery.ProviderChange{Endpoint: delivery.EndpointChange{URL: new("https://second.example/token")}})
		wantFault(t, err, passerelle.Conflict, "")
		stored, err := r.Provider(t.Context(), r.domain, a.ID)
		must(t, err)
		if stored.Endpoint.URL != "https://first.example/token" || stored.Endpoint.ClientID != fmt.Sprint(n) {
			t.Errorf("%+v", stored.Endpoint)
		}
	})
}

// TestADeletedProviderHoldsItsWebhooks deletes the provider of a webhook. The service must send
// nothing to the webhook until the webhook has another provider.
func TestADeletedProviderHoldsItsWebhooks(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		must(t, settings.Set(t.Context(), r.DB, r.domain.ID, map[string]string{settings.ManagerEmail: "ops@bank.example, it@bank.example"}, r.clock.Now()))
		var requests, unsigned atomic.Int64
		var status atomic.Int64
		status.Store(http.StatusBadGateway)
		signed := receiver(t, func(w http.ResponseWriter, req *http.Request) {
			requests.Add(1)
			if req.Header.Get("SVC-Signature") == "" {
				unsigned.Add(1)
			}
			w.WriteHeader(int(status.Load()))
		})
		first, err := r.RegisterProvider(t.Context(), r.domain, "first", "a")
		must(t, err)
		w := r.webhook(signed, strconv.FormatInt(first.ID, 10))
		r.webhook(newInbox(t).url, "")
		r.emit(1, 1)
		r.run(1, 1)
		must(t, r.DeleteProvider(t.Context(), r.domain, first.ID, "b"))
		status.Store(http.StatusOK)
		for id := range int64(3) {
			r.emit(id+2, 1)
		}
		r.clock.advance(3 * time.Hour)
		r.run(3, 0) // sent to the other webhook
		mails, err := r.DB.Mails(t.Context(), r.domain.ID, store.Window{Limit: 9})
		must(t, err)
		mails = slices.DeleteFunc(mails, func(m store.Mail) bool { return m.Kind != delivery.HeldMail })
		if len(mails) != 2 || !strings.Contains(mails[0].Text, fmt.Sprintf("Webhooks:           %d\n", w.ID)) {
			t.Fatalf("%d mails: %+v", len(mails), mails)
		}
		second, err := r.RegisterProvider(t.Context(), r.domain, "second", "c")
		must(t, err)
		_, err = r.Update(t.Context(), r.domain, w.ID, delivery.WebhookUpdate{Auth: new(strconv.FormatInt(second.ID, 10)), By: "d"})
		must(t, err)
		r.run(4, 0)
		if requests.Load() != 5 || unsigned.Load() != 0 {
			t.Errorf("%d requests, %d of them unsigned", requests.Load(), unsigned.Load())
		}
	})
}
