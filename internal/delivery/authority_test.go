package delivery_test

import (
	"fmt"
	"io"
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

func (r *fixture) application(domain passerelle.DomainID, name string) passerelle.ClientID {
	r.t.Helper()
	c := store.Client{Domain: domain, Name: name, SecretHash: []byte(name), Created: r.clock.Now()}
	r.write(func(tx *store.Tx) error { return tx.CreateClient(&c) })
	return c.ID
}

func (r *fixture) permanent(client passerelle.ClientID, user passerelle.UserID, text string) store.Token {
	r.t.Helper()
	token := store.Token{Domain: r.domain.ID, Client: client, Kind: "user", User: user, Hash: []byte(text), Created: r.clock.Now()}
	r.write(func(tx *store.Tx) error {
		if err := tx.CreateToken(&token); err != nil {
			return err
		}
		return tx.KeepUserToken(token, text)
	})
	return token
}

func (r *fixture) emitFor(user passerelle.UserID, version int64) {
	r.t.Helper()
	r.write(func(tx *store.Tx) error {
		return tx.Emit(store.EmittedEvent{
			Domain: r.domain.ID, Name: webhook.UserCreated, Subject: "user", SubjectID: int64(user), Version: version,
			User: user, Body: []byte(`{}`), Created: r.clock.Now(),
		})
	})
}

// TestUserTokens checks that a request about a user has the user's newest permanent token that was
// issued to the webhook's application. Without such a token, the request log must contain the
// reason.
func TestUserTokens(t *testing.T) {
	const (
		none   = "No user token: the webhook belongs to no application."
		absent = "No user token: application %d has no permanent token of user 7 that is valid."
	)
	for name, test := range map[string]struct {
		// When owned is set, the registration names the first application.
		clients int
		owned   bool
		tokens  func(r *fixture, clients []passerelle.ClientID)
		want    string
		detail  string
	}{
		"of the webhook's application": {2, true, func(r *fixture, c []passerelle.ClientID) {
			r.permanent(c[1], 7, "another's")
			r.permanent(c[0], 7, "own")
			r.permanent(c[0], 8, "another user's")
		}, "Bearer own", ""},
		"the newest": {1, true, func(r *fixture, c []passerelle.ClientID) {
			r.permanent(c[0], 7, "old")
			r.clock.advance(time.Second)
			r.permanent(c[0], 7, "new")
		}, "Bearer new", ""},
		"not one that was revoked": {1, true, func(r *fixture, c []passerelle.ClientID) {
			r.permanent(c[0], 7, "old")
			r.clock.advance(time.Second)
			revoked := r.permanent(c[0], 7, "new")
			r.write(func(tx *store.Tx) error { tx.RevokeToken(r.domain.ID, revoked.ID, r.clock.Now()); return nil })
		}, "Bearer old", ""},
		"of the only application": {1, false, func(r *fixture, c []passerelle.ClientID) { r.permanent(c[0], 7, "only") }, "Bearer only", ""},
		"of several applications": {2, false, func(r *fixture, c []passerelle.ClientID) { r.permanent(c[0], 7, "either") }, "", none},
		"of no application":       {0, false, func(*fixture, []passerelle.ClientID) {}, "", none},
		"none at all":             {1, true, func(*fixture, []passerelle.ClientID) {}, "", absent},
		"one that is not permanent": {1, true, func(r *fixture, c []passerelle.ClientID) {
			token := store.Token{Domain: r.domain.ID, Client: c[0], Kind: "user", User: 7, Hash: []byte("x"), Created: r.clock.Now(), Expires: new(r.clock.Now().Add(time.Hour))}
			r.write(func(tx *store.Tx) error { return tx.CreateToken(&token) })
		}, "", absent},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, r *fixture) {
				in := newGuarded(t)
				var clients []passerelle.ClientID
				for i := range test.clients {
					clients = append(clients, r.application(r.domain.ID, fmt.Sprint("c", i)))
				}
				r.application(r.newDomain("other", passerelle.Sandbox).ID, "foreign")
				test.tokens(r, clients)
				registration := delivery.Registration{Event: string(webhook.UserCreated), URL: in.url}
				detail := test.detail
				if test.owned {
					registration.Client = clients[0]
					if detail == absent {
						detail = fmt.Sprintf(absent, clients[0])
					}
				}
				_, err := r.Register(t.Context(), r.domain, registration)
				must(t, err)
				r.emitFor(7, 1)
				r.emitFor(7, 2) // the same user, so the request must have the same token
				r.run(2, 0)
				in.want(t, test.want, test.want)
				for id := range passerelle.DeliveryID(2) {
					attempts := r.attempts(id + 1)
					if len(attempts) != 1 || attempts[0].Detail != detail || attempts[0].Failure != "" {
						t.Errorf("attempts %+v, want the detail %q", attempts, detail)
					}
				}
			})
		})
	}
}

// TestWebhookKeepsItsApplication registers a webhook and names no application, while the domain has
// one application. Then a second application is created: the webhook must still send the tokens of
// the first. After the first application is deleted, the webhook must send no token. If a change of
// the webhook then names no application, the webhook must belong to the second.
func TestWebhookKeepsItsApplication(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		in, first := newGuarded(t), r.application(r.domain.ID, "first")
		r.permanent(first, 7, "first's")
		w, err := r.Register(t.Context(), r.domain, delivery.Registration{Event: string(webhook.UserCreated), URL: in.url})
		must(t, err)
		second := r.application(r.domain.ID, "second")
		r.permanent(second, 7, "second's")
		r.emitFor(7, 1)
		r.run(1, 0)
		in.want(t, "Bearer first's")

		r.write(func(tx *store.Tx) error { tx.DeleteClient(r.domain.ID, first, r.clock.Now()); return nil })
		r.emitFor(7, 2)
		r.run(1, 0)
		in.want(t, "")
		stored, err := r.DB.Webhook(t.Context(), r.domain.ID, w.ID)
		must(t, err)
		if w.Client != first || stored.Client != 0 || !strings.Contains(delivery.Warning(stored, store.Health{}), "not authenticated") {
			t.Errorf("the webhook of application %d belongs to %d, and after the deletion to %d", first, w.Client, stored.Client)
		}

		changed, err := r.Update(t.Context(), r.domain, w.ID, delivery.WebhookUpdate{Client: new(passerelle.ClientID(0))})
		must(t, err)
		r.emitFor(7, 3)
		r.run(1, 0)
		in.want(t, "Bearer second's")
		if changed.Client != second {
			t.Errorf("the webhook belongs to %d, want %d", changed.Client, second)
		}
	})
}

// TestUserTokensAreForEventsOfUsersWithoutAProvider checks that a request has no user token when
// the webhook has a provider or the event has no user.
func TestUserTokensAreForEventsOfUsersWithoutAProvider(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		client, in := r.application(r.domain.ID, "c"), newGuarded(t)
		r.permanent(client, 7, "user token")
		w := r.webhook(in.url, "") // for events of payments
		r.emit(1, 1)
		r.run(1, 0)
		in.want(t, "")
		must(t, r.Delete(t.Context(), r.domain, w.ID, ""))

		r.oauth("p", endpointAt(newTokenServer(t).url))
		registration := delivery.Registration{Event: string(webhook.UserCreated), URL: in.url, Auth: "p"}
		w, err := r.Register(t.Context(), r.domain, registration)
		must(t, err)
		r.emitFor(7, 1)
		r.run(1, 0)
		in.want(t, bearer(1)...)
		_, err = r.Update(t.Context(), r.domain, w.ID, delivery.WebhookUpdate{Auth: new("")})
		must(t, err)
		in.accepts = func(string) bool { return false }
		r.emitFor(7, 2)
		r.run(0, 1)
		in.want(t, "Bearer user token")
	})
}

// signers returns the names of the secrets that sign a request, and the number of headers for the
// next signature. It verifies the request with each secret alone, under both header prefixes.
func signers(t *testing.T, r *fixture, req *http.Request, body []byte, secrets map[string]string) (names string) {
	t.Helper()
	for _, name := range []string{"first", "second", "third", "fourth"} {
		if secrets[name] == "" {
			continue
		}
		svc := webhook.Verifier{Secret: secrets[name]}.Verify(req.Header, req.URL.EscapedPath(), body, r.clock.Now())
		alias := webhook.Verifier{Secret: secrets[name], Prefix: "BI"}.Verify(req.Header, req.URL.EscapedPath(), body, r.clock.Now())
		if (svc == nil) != (alias == nil) {
			t.Errorf("%s: %v under one prefix and %v under the other", name, svc, alias)
		}
		if svc == nil {
			names += name + " "
		}
	}
	return fmt.Sprintf("%s%d", names, len(req.Header["Svc-Signature-Next"]))
}

// TestRotatedSecretsOverlap rotates a secret in a domain whose clock is frozen. Both secrets must
// sign requests until the overlap has passed in real time.
func TestRotatedSecretsOverlap(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		secrets := map[string]string{}
		var got []string
		url := receiver(t, func(_ http.ResponseWriter, req *http.Request) {
			got = append(got, signers(t, r, req, readAll(t, req), secrets))
		})
		provider, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
		must(t, err)
		secrets["first"] = provider.Secret
		r.webhook(url, "p")
		still := r.clock.Now()
		r.write(func(tx *store.Tx) error {
			tx.SetClock(r.domain.ID, r.domain.Clock, passerelle.Clock{Frozen: &still})
			return nil
		})
		r.domain.Clock = passerelle.Clock{Frozen: &still}
		rotate := func(name string, overlap time.Duration) {
			a, secret, err := r.Rotate(t.Context(), r.domain, provider.ID, overlap, "")
			must(t, err)
			secrets[name] = secret
			stored, err := r.Provider(t.Context(), r.domain, provider.ID)
			must(t, err)
			present, next := stored.Secrets(r.clock.Now())
			if wantPresent, wantNext := a.Secrets(r.clock.Now()); present != wantPresent || next != wantNext {
				t.Errorf("rotated to %+v, stored %+v", a, stored)
			}
		}
		version := int64(0)
		send := func(want string) {
			t.Helper()
			version++
			r.emit(1, version)
			r.run(1, 0)
			if got[len(got)-1] != want {
				t.Errorf("signed by %s, want %s", got[len(got)-1], want)
			}
		}
		send("first 0")
		rotate("second", time.Hour)
		send("first second 1")
		r.clock.advance(time.Hour - time.Second)
		send("first second 1")
		r.clock.advance(time.Second)
		send("second 0")
		rotate("third", time.Hour)
		send("second third 1")
		rotate("fourth", 2*time.Hour) // replaces the third secret
		send("second fourth 1")
		r.clock.advance(time.Hour)
		send("second fourth 1")
		r.clock.advance(time.Hour)
		send("fourth 0")
		rotate("first", 30*24*time.Hour)
		send("first fourth 1")
		rotate("second", 0)
		send("second 0")
		if got, err := r.DB.AuthProvider(t.Context(), r.domain.ID, provider.ID); err != nil || got.NextFrom != nil || got.NextSecret != "" {
			t.Errorf("stored %+v, %v", got, err)
		}
	})
}

func TestRotationsAreChecked(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		provider, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
		must(t, err)
		endpoint := r.oauth("o", endpointAt("https://login.example/"))
		for name, test := range map[string]struct {
			id      int64
			overlap time.Duration
			kind    passerelle.Kind
			field   string
		}{
			"at once":           {provider.ID, 0, "", ""},
			"longest":           {provider.ID, 30 * 24 * time.Hour, "", ""},
			"too long":          {provider.ID, 30*24*time.Hour + 1, passerelle.Invalid, "overlap"},
			"negative":          {provider.ID, -1, passerelle.Invalid, "overlap"},
			"of none":           {provider.ID + 1000000, time.Hour, passerelle.NotFound, ""},
			"of a token server": {endpoint.ID, time.Hour, passerelle.Invalid, "type"},
		} {
			t.Run(name, func(t *testing.T) {
				_, _, err := r.Rotate(t.Context(), r.domain, test.id, test.overlap, "")
				wantFault(t, err, test.kind, test.field)
			})
		}
		_, _, err = r.Rotate(t.Context(), r.newDomain("other", passerelle.Sandbox), provider.ID, 0, "")
		wantFault(t, err, passerelle.NotFound, "")
	})
}

// TestReceiverJudgesBothSignatures checks that the built-in receiver accepts both secrets during a
// rotation, and after the rotation only the new secret.
func TestReceiverJudgesBothSignatures(t *testing.T) {
	onEach(t, func(t *testing.T, r *fixture) {
		provider, err := r.RegisterProvider(t.Context(), r.domain, "p", "")
		must(t, err)
		r.oauth("o", endpointAt("https://login.example/"))
		_, next, err := r.Rotate(t.Context(), r.domain, provider.ID, time.Hour, "")
		must(t, err)
		judge := func(secret string) string {
			header := http.Header{}
			webhook.Sign(secret, "/r", r.clock.Now(), []byte(`{}`)).Set(header)
			result, err := r.Receive(t.Context(), r.domain, "n", header, "/r", []byte(`{}`))
			must(t, err)
			return result
		}
		var got []string
		for range 2 {
			got = append(got, judge(provider.Secret), judge(next), judge(clientSecret))
			r.clock.advance(time.Hour)
		}
		const valid, invalid = "valid (provider p)", "invalid: the signature matches no provider"
		if diff := cmp.Diff([]string{valid, valid, invalid, invalid, valid, invalid}, got); diff != "" {
			t.Errorf("signature checks (-want +got):\n%s", diff)
		}
	})
}

func readAll(t *testing.T, req *http.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Error(err)
	}
	return body
}
