package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/webhook"
)

func (s fixture) user(permanent bool) passerelle.User {
	s.t.Helper()
	u := passerelle.User{Domain: s.domain, Platform: passerelle.SharedAccess, Created: now, Version: 1}
	if permanent {
		u.Permanent = new(now)
	} else {
		u.Expires = new(now.Add(30 * time.Minute))
	}
	s.write(func(tx *store.Tx) error { return tx.CreateUser(&u) })
	return u
}

func (s fixture) userToken(u passerelle.User, client passerelle.ClientID, text string, at time.Time) store.Token {
	s.t.Helper()
	t := store.Token{Domain: u.Domain, Client: client, Kind: "user", User: u.ID, Hash: []byte(text), Created: at}
	s.write(func(tx *store.Tx) error {
		if err := tx.CreateToken(&t); err != nil {
			return err
		}
		return tx.KeepUserToken(t, text)
	})
	return t
}

func (s fixture) wantWebhookToken(client passerelle.ClientID, user passerelle.UserID, want string) {
	s.t.Helper()
	got, err := s.db.WebhookToken(s.t.Context(), s.domain, client, user)
	if want == "" {
		wantNotFound(s.t, got, err)
		return
	}
	wantSame(s.t, want, got, err)
}

func (s fixture) emitted(u passerelle.User, name webhook.Event, version int64) {
	s.t.Helper()
	s.write(func(tx *store.Tx) error {
		return tx.Emit(store.EmittedEvent{
			Domain: s.domain, Name: name, Subject: "user", SubjectID: int64(u.ID), Version: version,
			User: u.ID, Held: u.Permanent == nil, Body: []byte(`{"id":1}`), Created: now,
		})
	})
}

func TestUserIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		for _, want := range []passerelle.User{s.user(true), s.user(false)} {
			got, err := s.db.User(t.Context(), s.domain, want.ID)
			wantSame(t, want, got, err)
			got, err = s.db.User(t.Context(), s.other, want.ID)
			wantNotFound(t, got, err)
		}
		for name, u := range map[string]passerelle.User{
			"neither permanent nor temporary": {Domain: s.domain, Created: now},
			"both":                            {Domain: s.domain, Created: now, Permanent: new(now), Expires: new(now)},
			"of no domain":                    {Created: now, Permanent: new(now)},
		} {
			t.Run(name, func(t *testing.T) {
				wantError(t, s.try(func(tx *store.Tx) error { return tx.CreateUser(&u) }), store.ErrConstraint)
			})
		}
	})
}

func TestUsersAreListed(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		var all []passerelle.User
		for i := range 5 {
			all = append(all, s.user(i%2 == 0))
		}
		for name, test := range map[string]struct {
			window store.UserWindow
			want   []passerelle.User
		}{
			"from the start": {store.UserWindow{Limit: 2}, all[:2]},
			"past some":      {store.UserWindow{Limit: 2, Offset: 3}, all[3:]},
			"after one":      {store.UserWindow{Limit: 9, From: all[1].ID}, all[2:]},
			"before one":     {store.UserWindow{Limit: 2, From: all[3].ID, Backward: true}, []passerelle.User{all[2], all[1]}},
			"after the last": {store.UserWindow{Limit: 9, From: all[4].ID}, nil},
		} {
			got, err := s.db.Users(t.Context(), s.domain, test.window)
			t.Run(name, func(t *testing.T) { wantSame(t, test.want, got, err) })
		}
		got, err := s.db.Users(t.Context(), s.other, store.UserWindow{Limit: 9})
		wantSame(t, nil, got, err)
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(all[0], now, now); return nil })
		total, err := s.db.CountUsers(t.Context(), s.domain)
		wantSame(t, 4, total, err)
	})
}

func TestKeepingAUser(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		keep := func(domain passerelle.DomainID, id passerelle.UserID, realNow time.Time) error {
			return s.try(func(tx *store.Tx) error { tx.KeepUser(domain, id, now, realNow); return nil })
		}
		kept, late := s.user(false), s.user(false)
		wantError(t, keep(s.other, kept.ID, now), store.ErrConflict)
		if err := keep(s.domain, kept.ID, now); err != nil {
			t.Fatal(err)
		}
		wantError(t, keep(s.domain, kept.ID, now), store.ErrConflict)
		wantError(t, keep(s.domain, late.ID, *late.Expires), store.ErrConflict)
		wantError(t, s.try(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(kept, now, now); return nil }), store.ErrConflict)
		expired, err := s.db.ExpiredUsers(t.Context(), s.domain, *late.Expires, 0, 9)
		wantSame(t, []passerelle.User{late}, expired, err)
		kept.Permanent, kept.Expires = new(now), nil
		got, err := s.db.User(t.Context(), s.domain, kept.ID)
		wantSame(t, kept, got, err)
	})
}

func TestVersionsOfAUser(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		u := s.user(true)
		next := u
		next.Version++
		bump := func() error { return s.try(func(tx *store.Tx) error { tx.BumpUser(next); return nil }) }
		if err := bump(); err != nil {
			t.Fatal(err)
		}
		wantError(t, bump(), store.ErrConflict)
		wantError(t, s.try(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(u, now, now); return nil }), store.ErrConflict)
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(next, now, now); return nil })
		wantError(t, bump(), store.ErrConflict)
	})
}

func TestWebhookToken(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		u, stranger := s.user(true), s.user(true)
		other := store.Client{Domain: s.domain, Name: "other", SecretHash: []byte("x"), Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateClient(&other) })
		s.wantWebhookToken(s.client, u.ID, "")
		newest := s.userToken(u, s.client, "newest", now.Add(time.Second))
		s.userToken(u, s.client, "older", now)
		s.userToken(u, other.ID, "another client's", now.Add(time.Hour))
		s.userToken(u, 0, "nobody's", now.Add(time.Hour))
		s.wantWebhookToken(s.client, u.ID, "newest")
		s.wantWebhookToken(other.ID, u.ID, "another client's")
		s.wantWebhookToken(s.client, stranger.ID, "")
		got, err := s.db.WebhookToken(t.Context(), s.other, s.client, u.ID)
		wantNotFound(t, got, err)
		s.write(func(tx *store.Tx) error { tx.RevokeToken(s.domain, newest.ID, now); return nil })
		s.wantWebhookToken(s.client, u.ID, "older")
		s.write(func(tx *store.Tx) error { tx.RevokeUserTokens(s.domain, s.client, u.ID, now); return nil })
		s.wantWebhookToken(s.client, u.ID, "")
		s.wantWebhookToken(0, u.ID, "")
		s.wantWebhookToken(other.ID, u.ID, "another client's")
		s.write(func(tx *store.Tx) error { tx.DeleteClient(s.domain, other.ID, now); return nil })
		s.wantWebhookToken(other.ID, u.ID, "")
	})
}

func TestKeptTokensAreSealedWhereTheyAre(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		u := s.user(true)
		token := s.userToken(u, s.client, "psl_usr_canary", now)
		moved := s.userToken(u, s.client, "psl_usr_other", now.Add(time.Second))
		if n := s.count(`SELECT count(*) FROM user_token WHERE CAST(sealed AS TEXT) LIKE '%canary%'`); n != 0 {
			t.Error("a token is stored in clear")
		}
		if err := s.sql(`UPDATE user_token SET sealed = (SELECT sealed FROM user_token WHERE token_id = $1) WHERE token_id = $2`, token.ID, moved.ID); err != nil {
			t.Fatal(err)
		}
		_, err := s.db.WebhookToken(t.Context(), s.domain, s.client, u.ID)
		wantError(t, err, store.ErrSealed)
	})
}

// TestErasure follows a deleted user to the end of its erasure. After the first step, the database
// must still contain the event that a receiver must get, and the token that the event carries.
func TestErasure(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		u, neighbour := s.user(true), s.user(true)
		w := store.Webhook{Domain: s.domain, Client: s.client, Event: webhook.UserDeleted, URL: "https://a.example", Created: now}
		also := store.Webhook{Domain: s.domain, Client: s.client, Event: webhook.UserCreated, URL: "https://a.example", Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
		s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&also) })
		token := s.userToken(u, s.client, "token", now)
		s.userToken(neighbour, s.client, "its token", now)
		s.emitted(u, webhook.UserCreated, 1)
		s.emitted(neighbour, webhook.UserCreated, 1)
		u.Version = 2
		s.write(func(tx *store.Tx) error { tx.BumpUser(u); return nil })
		s.emitted(u, webhook.UserDeleted, 2)
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(u, now, now); return nil })
		_, err := s.db.TokenByHash(t.Context(), s.domain, token.Hash)
		wantError(t, err, store.ErrNotFound)

		left := func() []int64 {
			return []int64{
				s.count(`SELECT count(*) FROM token WHERE user_id = $1`, int64(u.ID)),
				s.count(`SELECT count(*) FROM user_token WHERE user_id = $1`, int64(u.ID)),
				s.count(`SELECT count(*) FROM event WHERE user_id = $1 AND erased IS NULL`, int64(u.ID)),
				s.count(`SELECT count(*) FROM delivery d JOIN event e ON e.id = d.event_id WHERE e.user_id = $1 AND d.dropped IS NULL AND d.delivered IS NULL`, int64(u.ID)),
				s.count(`SELECT count(*) FROM erasure`),
			}
		}
		wantSame(t, []int64{1, 1, 2, 2, 1}, left(), nil)
		later := now.Add(10 * time.Minute)
		s.eraseDue(now, later, 1)
		wantSame(t, []int64{0, 1, 1, 1, 1}, left(), nil)
		s.wantWebhookToken(s.client, u.ID, "token")
		due, err := s.db.ErasuresDue(t.Context(), s.domain, later.Add(-1), 0, 9)
		wantSame(t, 0, len(due), err)

		if err := s.sql(`UPDATE delivery SET delivered = 1 WHERE webhook_id = $1`, int64(w.ID)); err != nil {
			t.Fatal(err)
		}
		s.eraseDue(later, later, 1)
		wantSame(t, []int64{0, 0, 0, 0, 0}, left(), nil)
		s.wantWebhookToken(s.client, neighbour.ID, "its token")
		if n := s.count(`SELECT count(*) FROM event WHERE user_id = $1 AND erased IS NULL`, int64(neighbour.ID)); n != 1 {
			t.Error("another user's event was erased")
		}
	})
}

// In TestDeletionEventReachesARestoredWebhook, a webhook is deleted and then restored within a day.
// It must still get the event about a user's deletion, and the user's token. A webhook that stays
// deleted for more than a day does not delay the erasure.
func TestDeletionEventReachesARestoredWebhook(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		u := s.user(true)
		w := store.Webhook{Domain: s.domain, Client: s.client, Event: webhook.UserDeleted, URL: "https://a.example", Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
		s.userToken(u, s.client, "token", now)
		s.emitted(u, webhook.UserDeleted, 2)
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(u, now, now); return nil })
		deleted := func(yes bool) {
			t.Helper()
			s.write(func(tx *store.Tx) error {
				tx.ChangeWebhook(s.domain, w.ID, store.WebhookChange{Deleted: &yes}, now)
				return nil
			})
		}
		later := now.Add(10 * time.Minute)
		deleted(true)
		s.eraseDue(now, later, 1)
		deleted(false)
		s.wantWebhookToken(s.client, u.ID, "token")
		left, err := s.db.Undelivered(t.Context(), w, 0, 9)
		if err != nil || len(left) != 1 || left[0].Erased || string(left[0].Body) != `{"id":1}` {
			t.Errorf("to be delivered: %+v (%v)", left, err)
		}
		deleted(true)
		if err := s.db.PurgeUndeliverable(t.Context(), s.domain, now.Add(25*time.Hour), 9, 9); err != nil {
			t.Fatal(err)
		}
		s.eraseDue(later, later, 1)
		s.wantWebhookToken(s.client, u.ID, "")
		if n := s.count(`SELECT count(*) FROM erasure`) + s.count(`SELECT count(*) FROM event WHERE erased IS NULL`); n != 0 {
			t.Errorf("%d things are left", n)
		}
	})
}

func (s fixture) eraseDue(realNow, next time.Time, want int) {
	s.t.Helper()
	due, err := s.db.ErasuresDue(s.t.Context(), s.domain, realNow, 0, 9)
	wantSame(s.t, want, len(due), err)
	for _, e := range due {
		if err := s.db.Erase(s.t.Context(), e, 1, now, realNow, next); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestDeletingATemporaryUserErasesItsEvents checks that a deleted temporary user leaves no events,
// because no webhook should receive them.
func TestDeletingATemporaryUserErasesItsEvents(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		u := s.user(false)
		s.emitted(u, webhook.UserCreated, 1)
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(u, now, now); return nil })
		if n := s.count(`SELECT count(*) FROM event`); n != 0 {
			t.Errorf("%d events are left", n)
		}
	})
}

// TestIdentitiesForgetTheirUser checks that a payment stays when the user of its identities is
// deleted. The payment must no longer show which user this was.
func TestIdentitiesForgetTheirUser(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		u := s.user(true)
		d := draft(1)
		d.PayerIdentity = &passerelle.Identity{IDUser: u.ID, Kind: passerelle.Individual, Sensitive: &passerelle.Sensitive{FirstName: "A", LastName: "B"}}
		p := s.create(d, now)
		if got := s.load(p).PayerIdentity.IDUser; got != u.ID {
			t.Errorf("the identity is of user %d, want %d", got, u.ID)
		}
		s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(u, now, now); return nil })
		want := *p
		without := *p.PayerIdentity
		without.IDUser = 0
		want.PayerIdentity = &without
		if diff := cmp.Diff(want.PayerIdentity, s.load(p).PayerIdentity, dates); diff != "" {
			t.Error(diff)
		}
	})
}
