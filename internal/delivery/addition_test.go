package delivery_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// TestAdditions checks that the JSON payload of a webhook with an addition contains the text that
// is stored for the event's user. The signature must cover the text.
func TestAdditions(t *testing.T) {
	var big bytes.Buffer
	large(1 << 20)(&big)
	const added = `"crm":"a\"b é","none":null,`
	for name, test := range map[string]struct {
		event store.EmittedEvent
		write func(io.Writer)
		want  string
	}{
		"small":     {store.EmittedEvent{Body: []byte(`{"id":1}`)}, nil, `{"id_webhook_data":1,` + added + `"id":1}`},
		"empty":     {store.EmittedEvent{Body: []byte(`{}`)}, nil, `{"id_webhook_data":1,` + strings.TrimSuffix(added, ",") + `}`},
		"in parts":  {store.EmittedEvent{}, large(1 << 20), `{"id_webhook_data":1,` + added + big.String()[1:]},
		"statement": {store.EmittedEvent{MediaType: "text/plain; charset=us-ascii", Subject: "connection", SubjectID: 7, Account: 9, Body: []byte("01 X\n")}, nil, "01 X\n"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *fixture) {
				provider, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
				must(t, err)
				url, got := r.verifyingReceiver(provider.Secret)
				w := r.webhook(url, "p")
				for u := (passerelle.User{}); u.ID < 8; {
					u = passerelle.User{Domain: r.domain.ID, Created: r.clock.Now(), Permanent: new(r.clock.Now())}
					r.write(func(tx *store.Tx) error { return tx.CreateUser(&u) })
				}
				r.write(func(tx *store.Tx) error {
					tx.SetUserSetting(r.domain.ID, 7, "customer", `a"b é`)
					tx.SetUserSetting(r.domain.ID, 8, "customer", "another")
					return nil
				})
				must(t, r.AddToData(t.Context(), r.domain, w.ID, "crm", "customer", "t"))
				must(t, r.AddToData(t.Context(), r.domain, w.ID, "none", "nothing", "t"))
				r.emitEvent(test.event, test.write)
				r.run(1, 0)
				wantRequest(t, (*got)[0], test.want, test.event, false)
				sent, err := r.Sent(t.Context(), r.domain, r.reload(w), 1)
				if err != nil || !sent.Erased && (len(sent.Payload) == 0 || !strings.HasPrefix(test.want, string(sent.Payload))) {
					t.Errorf("shown as sent: %v %.200s", err, sent.Payload)
				}
			})
		})
	}
}

func (r *fixture) reload(w store.Webhook) store.Webhook {
	r.t.Helper()
	w, err := r.DB.Webhook(r.t.Context(), r.domain.ID, w.ID)
	must(r.t, err)
	return w
}

// TestAdditionsAreNullInEventsWithoutUser checks that the added members have the value null in an
// event without a user.
func TestAdditionsAreNullInEventsWithoutUser(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		provider, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
		must(t, err)
		url, got := r.verifyingReceiver(provider.Secret)
		w := r.webhook(url, "p")
		must(t, r.AddToData(t.Context(), r.domain, w.ID, "crm", "customer", "t"))
		r.emitBody(1, 1, `{"id":1}`)
		r.run(1, 0)
		must(t, r.RemoveFromData(t.Context(), r.domain, w.ID, "crm", "t"))
		r.emitBody(2, 1, `{"id":2}`)
		r.run(1, 0)
		for i, want := range []string{`{"id_webhook_data":1,"crm":null,"id":1}`, `{"id_webhook_data":2,"id":2}`} {
			if sent := (*got)[i]; sent.fault != nil || string(sent.body) != want {
				t.Errorf("sent %s, want %s: %v", sent.body, want, sent.fault)
			}
		}
		if w = r.reload(w); len(w.AddToData) > 0 {
			t.Errorf("left: %v", w.AddToData)
		}
	})
}

// TestAdditionsAreBounded checks that an addition cannot repeat a member of the payload, and
// that the number of additions is limited.
func TestAdditionsAreBounded(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		w := r.webhook("https://client.example/", "")
		for _, bad := range append(webhook.Members(), "", "id_webhook_data", "a b", `a"`, "é", strings.Repeat("a", 101)) {
			if err := r.AddToData(t.Context(), r.domain, w.ID, bad, "customer", "t"); !errors.Is(err, passerelle.Invalid) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		for _, bad := range []string{"a\nb", strings.Repeat("a", 256)} {
			if err := r.AddToData(t.Context(), r.domain, w.ID, "crm", bad, "t"); !errors.Is(err, passerelle.Invalid) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		want := map[string]string{}
		for i := range 20 {
			want[fmt.Sprint("m", i)] = "k"
			must(t, r.AddToData(t.Context(), r.domain, w.ID, fmt.Sprint("m", i), "k", "t"))
		}
		if err := r.AddToData(t.Context(), r.domain, w.ID, "m20", "k", "t"); !errors.Is(err, passerelle.Conflict) {
			t.Errorf("one too many: %v", err)
		}
		must(t, r.AddToData(t.Context(), r.domain, w.ID, "m19", "other", "t"))
		if want["m19"] = "other"; !maps.Equal(r.reload(w).AddToData, want) {
			t.Errorf("%v", r.reload(w).AddToData)
		}
		must(t, r.RemoveFromData(t.Context(), r.domain, w.ID, "", "t"))
		must(t, r.Delete(t.Context(), r.domain, w.ID, "t"))
		for _, gone := range []error{
			r.AddToData(t.Context(), r.domain, w.ID, "m", "k", "t"), r.RemoveFromData(t.Context(), r.domain, w.ID, "", "t"),
			r.RemoveFromData(t.Context(), r.domain, r.webhook("https://client.example/", "").ID, "m", "t"),
		} {
			if !errors.Is(gone, passerelle.NotFound) {
				t.Errorf("of what is not there: %v", gone)
			}
		}
	})
}
