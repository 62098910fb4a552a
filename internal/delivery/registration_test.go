package delivery_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/store"
	"passerelle/webhook"
)

func wantFault(t *testing.T, err error, kind passerelle.Kind, field string) {
	t.Helper()
	var fault *passerelle.Error
	switch {
	case kind == "" && err == nil:
	case !errors.As(err, &fault):
		t.Errorf("got %v", err)
	case fault.Kind != kind || fault.Field != field:
		t.Errorf("got %s on %q (%s), want %s on %q", fault.Kind, fault.Field, fault.Message, kind, field)
	}
}

func TestRegistrationsAreChecked(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		live := r.newDomain("live", passerelle.Live)
		_, err := r.RegisterProvider(t.Context(), r.domain, "here", "")
		must(t, err)
		_, err = r.RegisterProvider(t.Context(), live, "there", "")
		must(t, err)
		const event = "PAYMENT_STATE_UPDATED"
		user := r.user()
		for name, test := range map[string]struct {
			domain passerelle.Domain
			delivery.Registration
			kind  passerelle.Kind
			field string
		}{
			"good":                      {r.domain, delivery.Registration{Event: event, URL: "http://a.example/b?c=d", Auth: "here"}, "", ""},
			"no event":                  {r.domain, delivery.Registration{URL: "http://a.example/"}, passerelle.Invalid, "event"},
			"unknown event":             {r.domain, delivery.Registration{Event: "payment_state_updated", URL: "http://a.example/"}, passerelle.Invalid, "event"},
			"no URL":                    {r.domain, delivery.Registration{Event: event}, passerelle.Invalid, "url"},
			"relative URL":              {r.domain, delivery.Registration{Event: event, URL: "/hook"}, passerelle.Invalid, "url"},
			"other scheme":              {r.domain, delivery.Registration{Event: event, URL: "ftp://a.example/"}, passerelle.Invalid, "url"},
			"user info":                 {r.domain, delivery.Registration{Event: event, URL: "http://u:p@a.example/"}, passerelle.Invalid, "url"},
			"long URL":                  {r.domain, delivery.Registration{Event: event, URL: "http://a.example/" + strings.Repeat("x", 2032)}, passerelle.Invalid, "url"},
			"unknown provider":          {r.domain, delivery.Registration{Event: event, URL: "http://a.example/", Auth: "nobody"}, passerelle.Invalid, "id_auth"},
			"provider of another":       {r.domain, delivery.Registration{Event: event, URL: "http://a.example/", Auth: "there"}, passerelle.Invalid, "id_auth"},
			"plain text in live domain": {live, delivery.Registration{Event: event, URL: "http://a.example/"}, passerelle.Invalid, "url"},
			"payments of a user":        {r.domain, delivery.Registration{Event: event, URL: "http://a.example/", User: user}, passerelle.Invalid, "id_user"},
			"accounts of a user":        {r.domain, delivery.Registration{Event: "ACCOUNT_SYNCED", URL: "http://a.example/", User: user}, "", ""},
			"live domain":               {live, delivery.Registration{Event: event, URL: "HTTPS://a.example/", Auth: "there"}, "", ""},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := r.Register(t.Context(), test.domain, test.Registration)
				wantFault(t, err, test.kind, test.field)
			})
		}
	})
}

func (r *fixture) user() passerelle.UserID {
	r.t.Helper()
	now := r.clock.Now()
	u := passerelle.User{Domain: r.domain.ID, Created: now, Permanent: &now}
	r.write(func(tx *store.Tx) error { return tx.CreateUser(&u) })
	return u.ID
}

// TestEventsOfNoUserAreNotLimitedToOne checks that no change can combine a user with an event
// that never belongs to a user.
func TestEventsOfNoUserAreNotLimitedToOne(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		user, none, payments, users := r.user(), passerelle.UserID(0), string(webhook.PaymentStateUpdated), string(webhook.UserSynced)
		w := r.webhook("http://a.example/", "")
		for _, test := range []struct {
			change delivery.WebhookUpdate
			kind   passerelle.Kind
		}{
			{delivery.WebhookUpdate{User: &user}, passerelle.Invalid},
			{delivery.WebhookUpdate{User: &user, Event: &users}, ""},
			{delivery.WebhookUpdate{Event: &payments}, passerelle.Invalid},
			{delivery.WebhookUpdate{Disabled: new(true)}, ""},
			{delivery.WebhookUpdate{Event: &payments, User: &none}, ""},
		} {
			_, err := r.Update(t.Context(), r.domain, w.ID, test.change)
			field := ""
			if test.kind != "" {
				field = "id_user"
			}
			wantFault(t, err, test.kind, field)
		}
		if w = r.now(w); string(w.Event) != payments || w.User != 0 {
			t.Errorf("it is for %s of user %d", w.Event, w.User)
		}
	})
}

// TestMakingLiveIsBounded checks that a deleted webhook cannot be restored when the domain already
// has the largest allowed number of webhooks.
func TestMakingLiveIsBounded(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		w := r.webhook("http://a.example/", "")
		must(t, r.Delete(t.Context(), r.domain, w.ID, "test"))
		var last store.Webhook
		r.write(func(tx *store.Tx) error {
			for range store.MaxWebhooks {
				last = store.Webhook{Domain: r.domain.ID, Event: webhook.PaymentStateUpdated, URL: "http://b.example/", Created: r.clock.Now()}
				if err := tx.CreateWebhook(&last); err != nil {
					return err
				}
			}
			return nil
		})
		live := delivery.WebhookUpdate{Deleted: new(false), URL: new("http://c.example/")}
		_, err := r.Update(t.Context(), r.domain, w.ID, live)
		conflict(t, err, "1000 webhooks")
		if got := r.now(w); got.Deleted == nil || got.URL != "http://a.example/" {
			t.Errorf("refused, and it is %+v", got)
		}
		_, err = r.Update(t.Context(), r.domain, last.ID, live) // this webhook is not deleted
		must(t, err)
		must(t, r.Delete(t.Context(), r.domain, last.ID, "test"))
		_, err = r.Update(t.Context(), r.domain, w.ID, live)
		must(t, err)
	})
}

func TestProvidersHaveNamesAndSecrets(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		for name, test := range map[string]struct {
			name string
			kind passerelle.Kind
		}{
			"good":            {"My shop_2-b", ""},
			"longest":         {strings.Repeat("a", 64), ""},
			"empty":           {"", passerelle.Invalid},
			"too long":        {strings.Repeat("a", 65), passerelle.Invalid},
			"other character": {"shop.fr", passerelle.Invalid},
			"accent":          {"été", passerelle.Invalid},
			"blank":           {" ", passerelle.Invalid},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := r.RegisterProvider(t.Context(), r.domain, test.name, "")
				wantFault(t, err, test.kind, "name")
			})
		}
		a, err := r.RegisterProvider(t.Context(), r.domain, "one", "")
		must(t, err)
		_, err = r.RegisterProvider(t.Context(), r.domain, "one", "")
		wantFault(t, err, passerelle.Conflict, "name")
		b, err := r.RegisterProvider(t.Context(), r.newDomain("other", passerelle.Sandbox), "one", "")
		must(t, err)
		if len(a.Secret) != 64 || a.Secret == b.Secret || a.Type != "hmac_signature" {
			t.Errorf("providers %+v and %+v", a, b)
		}
	})
}

func TestUpdateAndDelete(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		provider, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
		must(t, err)
		w := r.webhook("http://a.example/", "p")
		other, none, bad := "http://b.example/", "", "no such event"
		_, err = r.Update(t.Context(), r.domain, w.ID, delivery.WebhookUpdate{Event: &bad})
		wantFault(t, err, passerelle.Invalid, "event")
		_, err = r.Update(t.Context(), r.domain, w.ID, delivery.WebhookUpdate{URL: &other})
		must(t, err)
		stored, err := r.DB.Webhook(t.Context(), r.domain.ID, w.ID)
		must(t, err)
		if stored.URL != other || stored.Auth != provider.ID || stored.Event != webhook.PaymentStateUpdated {
			t.Errorf("stored %+v", stored)
		}
		updated, err := r.Update(t.Context(), r.domain, w.ID, delivery.WebhookUpdate{Auth: &none})
		must(t, err)
		if updated.Auth != 0 {
			t.Errorf("updated %+v", updated)
		}
		elsewhere := r.newDomain("elsewhere", passerelle.Sandbox)
		wantFault(t, r.Delete(t.Context(), elsewhere, w.ID, "test"), passerelle.NotFound, "")
		must(t, r.Delete(t.Context(), r.domain, w.ID, "test"))
		wantFault(t, r.Delete(t.Context(), r.domain, w.ID, "test"), passerelle.NotFound, "")
		_, err = r.Update(t.Context(), r.domain, w.ID, delivery.WebhookUpdate{URL: &other})
		wantFault(t, err, passerelle.NotFound, "")
	})
}

func TestReceiverJudgesSignatures(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		const path, body = "/2.0/sandbox/receiver/mine", `{"id":1}`
		now := r.clock.Now()
		header := func(secret string, date time.Time) http.Header {
			h := http.Header{"Authorization": {"Bearer secret"}, "X-Kept": {"yes"}}
			webhook.Sign(secret, path, date, []byte(body)).Set(h)
			return h
		}
		receive := func(h http.Header) string {
			result, err := r.Receive(t.Context(), r.domain, "mine", h, path, []byte(body))
			must(t, err)
			return result
		}
		unknown := receive(header("any", now))
		_, err := r.RegisterProvider(t.Context(), r.domain, "another", "")
		must(t, err)
		provider, err := r.RegisterProvider(t.Context(), r.domain, "my shop", "")
		must(t, err)
		half := header(provider.Secret, now)
		half.Del("SVC-Signature-Date")
		got := []string{
			unknown, receive(http.Header{}), receive(header(provider.Secret, now)), receive(header("any", now)),
			receive(header(provider.Secret, now.Add(-time.Hour))), receive(half),
		}
		want := []string{
			"invalid: no provider could have signed it", "no signature", "valid (provider my shop)",
			"invalid: the signature matches no provider", "invalid: the date of the signature is malformed or too far from now",
			"invalid: the signature and its date must come exactly once",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("signature checks (-want +got):\n%s", diff)
		}
		kept, err := r.DB.ReceivedRequests(t.Context(), r.domain.ID)
		must(t, err)
		var results []string
		for _, request := range kept {
			results = append(results, request.SignatureCheck)
			if strings.Contains(request.Headers, "Bearer") || string(request.Body) != body || request.Name != "mine" {
				t.Errorf("kept %+v", request)
			}
		}
		if diff := cmp.Diff(want, results); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		if !strings.Contains(kept[0].Headers, `"X-Kept":["yes"]`) {
			t.Errorf("kept headers %s", kept[0].Headers)
		}
	})
}

func TestReceiverTakesBodiesUpToABound(t *testing.T) {
	r := newFixture(t, "sqlite::memory:")
	for size, kind := range map[int]passerelle.Kind{0: "", delivery.MaxReceivedBody: "", delivery.MaxReceivedBody + 1: passerelle.TooLarge} {
		_, err := r.Receive(t.Context(), r.domain, "n", http.Header{}, "/", make([]byte, size))
		wantFault(t, err, kind, "")
	}
	_, err := r.Receive(t.Context(), r.domain, "n", nil, "/", nil)
	must(t, err)
}
