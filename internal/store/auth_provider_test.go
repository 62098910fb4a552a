package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func (s fixture) provider(domain passerelle.DomainID, name string, e *store.TokenEndpoint) store.AuthProvider {
	s.t.Helper()
	a := store.AuthProvider{Domain: domain, Type: "hmac_signature", Name: name, Secret: "secret of " + name, Endpoint: e, Created: now}
	if e != nil {
		a.Type = "oauth"
	}
	s.write(func(tx *store.Tx) error { return tx.CreateAuthProvider(&a) })
	return a
}

func (s fixture) wantProvider(want store.AuthProvider) {
	s.t.Helper()
	got, err := s.db.AuthProvider(s.t.Context(), want.Domain, want.ID)
	wantSame(s.t, want, got, err)
}

var someEndpoint = store.TokenEndpoint{URL: "https://a.example/", ClientID: "c", GrantType: "client_credentials", PublicCert: "cert", PrivateCert: "private canary"}

func TestAuthProviderIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		signer, endpoint := s.provider(s.domain, "signer", nil), s.provider(s.domain, "endpoint", &someEndpoint)
		foreign := s.provider(s.other, "signer", nil)
		for _, a := range []store.AuthProvider{signer, endpoint, foreign} {
			s.wantProvider(a)
			got, err := s.db.AuthProvider(t.Context(), s.domain+s.other-a.Domain, a.ID)
			wantNotFound(t, got, err)
			got, err = s.db.AuthProviderNamed(t.Context(), a.Domain, a.Name)
			wantSame(t, a, got, err)
		}
		got, err := s.db.AuthProviderNamed(t.Context(), s.domain, "Signer")
		wantNotFound(t, got, err)
		wantError(t, s.try(func(tx *store.Tx) error {
			return tx.CreateAuthProvider(&store.AuthProvider{Domain: s.domain, Type: "oauth", Name: "signer", Endpoint: &someEndpoint})
		}), store.ErrDuplicate)
		for _, wrong := range []store.AuthProvider{{Type: "token"}, {Type: "oauth"}, {Type: "hmac_signature", Endpoint: &someEndpoint}} {
			wrong.Domain, wrong.Name = s.domain, "wrong"
			wantError(t, s.try(func(tx *store.Tx) error { return tx.CreateAuthProvider(&wrong) }), store.ErrConstraint)
		}
	})
}

func TestAuthProvidersAreListedInPages(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		for i := range 4 {
			s.provider(s.domain, fmt.Sprint("p", i), nil)
		}
		s.provider(s.other, "p0", nil)
		list := func(f store.ProviderFilter, w store.Window) (names string, first any) {
			f.Domain = s.domain
			all, err := s.db.AuthProviders(t.Context(), f, w)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range all {
				names += a.Name + " "
			}
			if len(all) > 0 {
				first = all[0].ID
			}
			return names, first
		}
		_, second := list(store.ProviderFilter{}, store.Window{Limit: 1, Offset: 1})
		for want, page := range map[string]struct {
			f store.ProviderFilter
			w store.Window
		}{
			"p0 p1 p2 p3 ": {store.ProviderFilter{}, store.Window{Limit: 9}},
			"p2 p3 ":       {store.ProviderFilter{}, store.Window{Limit: 9, From: []any{second}}},
			"p0 ":          {store.ProviderFilter{}, store.Window{Limit: 9, From: []any{second}, Backward: true}},
			"p3 p2 ":       {store.ProviderFilter{}, store.Window{Limit: 2, Backward: true}},
			"p1 ":          {store.ProviderFilter{Name: new("p1")}, store.Window{Limit: 9}},
			"":             {store.ProviderFilter{Name: new("p4")}, store.Window{Limit: 9}},
		} {
			if got, _ := list(page.f, page.w); got != want {
				t.Errorf("%+v: %q, want %q", page, got, want)
			}
		}
		for name, want := range map[string]int64{"p1": 1, "p4": 0} {
			n, err := s.db.CountAuthProviders(t.Context(), store.ProviderFilter{Domain: s.domain, Name: &name})
			wantSame(t, want, n, err)
		}
	})
}

func TestADomainHasSoManyAuthProviders(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		fill := func(from, to int) error {
			return s.try(func(tx *store.Tx) error {
				for i := from; i < to; i++ {
					if err := tx.CreateAuthProvider(&store.AuthProvider{Domain: s.domain, Type: "hmac_signature", Name: fmt.Sprint("p", i)}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := fill(0, store.MaxAuthProviders); err != nil {
			t.Fatal(err)
		}
		wantError(t, fill(store.MaxAuthProviders, store.MaxAuthProviders+1), store.ErrFull)
		n, err := s.db.CountAuthProviders(t.Context(), store.ProviderFilter{Domain: s.domain})
		wantSame(t, int64(store.MaxAuthProviders), n, err)
		s.provider(s.other, "p", nil)
	})
}

func TestChangedAuthProviders(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		later := now.Add(time.Hour)
		a, signer := s.provider(s.domain, "a", &someEndpoint), s.provider(s.domain, "signer", nil)
		former := a
		a.Name, a.Secret, a.Updated = "b", "other", &later
		a.Endpoint = &store.TokenEndpoint{URL: "https://b.example/", ClientID: "d", GrantType: "client_credentials"}
		update := func(former, a store.AuthProvider) error {
			return s.try(func(tx *store.Tx) error {
				tx.RenameAuthProvider(s.domain, a.ID, &a.Name, later)
				return tx.UpdateTokenEndpoint(former, a, later)
			})
		}
		if err := update(former, a); err != nil {
			t.Fatal(err)
		}
		s.wantProvider(a)
		wantError(t, update(former, former), store.ErrConflict)
		otherSecret, otherEndpoint := a, a
		otherSecret.Secret, otherEndpoint.Endpoint = former.Secret, former.Endpoint
		wantError(t, update(otherSecret, former), store.ErrConflict)
		wantError(t, update(otherEndpoint, former), store.ErrConflict)
		s.wantProvider(a)
		taken, foreign := a, a
		taken.Name, foreign.Domain = "signer", s.other
		wantError(t, update(a, taken), store.ErrDuplicate)
		wantError(t, update(a, foreign), store.ErrNotFound)
		wantError(t, update(signer, signer), store.ErrNotFound) // a signing provider has no token endpoint
		s.wantProvider(signer)
		s.wantProvider(a)
	})
}

func TestRotatedSecrets(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a, endpoint := s.provider(s.domain, "a", nil), s.provider(s.domain, "endpoint", &someEndpoint)
		rotate := func(r store.Rotation, real time.Time) error {
			return s.try(func(tx *store.Tx) error { return tx.RotateSecret(r, real, now) })
		}
		at := func(hours int) *time.Time { return new(now.Add(time.Duration(hours) * time.Hour)) }
		for i, step := range []struct {
			secret       string
			at           int // hours from now
			from         *time.Time
			kept, follow string
		}{
			{"1", 0, at(2), "secret of a", "1"},
			{"2", 1, at(3), "secret of a", "2"}, // secret 1 never took effect
			{"3", 3, at(4), "2", "3"},           // secret 2 has taken effect
			{"4", 5, nil, "4", ""},
			{"5", 5, at(6), "4", "5"},
			{"6", 5, nil, "6", ""},
		} {
			if err := rotate(store.Rotation{s.domain, a.ID, step.secret, step.from}, *at(step.at)); err != nil {
				t.Fatal(err)
			}
			a.Secret, a.NextSecret, a.NextFrom, a.Updated = step.kept, step.follow, step.from, new(now)
			got, err := s.db.AuthProvider(t.Context(), s.domain, a.ID)
			if wantSame(t, a, got, err); t.Failed() {
				t.Fatalf("step %d", i)
			}
		}
		for _, r := range []store.Rotation{{s.other, a.ID, "x", nil}, {s.domain, endpoint.ID, "x", nil}, {s.domain, endpoint.ID, "x", at(1)}} {
			wantError(t, rotate(r, now), store.ErrNotFound)
		}
		s.wantProvider(a)
		s.wantProvider(endpoint)
	})
}

func TestSecretsOfAnInstant(t *testing.T) {
	a := store.AuthProvider{Secret: "present", NextSecret: "next", NextFrom: new(now)}
	for offset, want := range map[time.Duration]string{-1: "present next", 0: "next ", 1: "next "} {
		if present, next := a.Secrets(now.Add(offset)); present+" "+next != want {
			t.Errorf("%d: %s %s, want %s", offset, present, next, want)
		}
	}
}

func TestSecretsOfAuthProvidersAreSealed(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.provider(s.domain, "a", &someEndpoint)
		b := s.provider(s.domain, "b", nil)
		s.write(func(tx *store.Tx) error {
			return tx.RotateSecret(store.Rotation{s.domain, b.ID, "next secret", new(now)}, now, now)
		})
		stored, err := database.Collect(t.Context(), s.db.Rows(), func(row database.Row) (string, error) {
			var secret, next, config []byte
			err := row.Scan(&secret, &next, &config)
			return fmt.Sprintf("%s %s %s", secret, next, config), err
		}, `SELECT secret, next_secret, config FROM auth_provider`)
		if err != nil || len(stored) != 2 {
			t.Fatalf("%d rows, %v", len(stored), err)
		}
		for _, plain := range []string{"secret", "canary", "a.example", "client_id"} {
			if strings.Contains(strings.Join(stored, " "), plain) {
				t.Errorf("%q is in clear", plain)
			}
		}
		// An encrypted value can be decrypted only in its own row and column.
		for _, statement := range []string{
			`UPDATE auth_provider SET secret = (SELECT secret FROM auth_provider WHERE id = $2) WHERE id = $1`,
			`UPDATE auth_provider SET config = (SELECT secret FROM auth_provider WHERE id = $1) WHERE id = $1 AND $2 <> 0`,
		} {
			if err := s.sql(statement, a.ID, b.ID); err != nil {
				t.Fatal(err)
			}
			if got, err := s.db.AuthProvider(t.Context(), s.domain, a.ID); err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("opened as %+v, %v", got, err)
			}
		}
	})
}

func TestDeletedAuthProviders(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		used, free, foreign := s.provider(s.domain, "used", nil), s.provider(s.domain, "free", nil), s.provider(s.other, "free", nil)
		w := store.Webhook{Domain: s.domain, Event: "USER_SYNCED", URL: "https://a.example/", Auth: used.ID, Created: now}
		s.write(func(tx *store.Tx) error {
			tx.UseAuthProvider(s.domain, used.ID)
			return tx.CreateWebhook(&w)
		})
		remove := func(id int64) error {
			return s.try(func(tx *store.Tx) error { tx.DeleteAuthProvider(s.domain, id, now); return nil })
		}
		all := func() error {
			return s.try(func(tx *store.Tx) error { tx.DeleteAuthProviders(s.domain, now); return nil })
		}
		use := func(id int64) error {
			return s.try(func(tx *store.Tx) error { tx.UseAuthProvider(s.domain, id); return nil })
		}
		held := func(want bool) {
			t.Helper()
			got, err := s.db.Webhook(t.Context(), s.domain, w.ID)
			if err != nil || got.AuthDeleted != want || got.Auth != used.ID {
				t.Errorf("%+v, %v", got, err)
			}
		}
		wantError(t, remove(foreign.ID), store.ErrNotFound)
		wantError(t, use(foreign.ID), store.ErrNotFound)
		for _, a := range []store.AuthProvider{used, free, foreign} {
			s.wantProvider(a)
		}
		if err := remove(free.ID); err != nil {
			t.Fatal(err)
		}
		wantError(t, remove(free.ID), store.ErrNotFound)
		wantError(t, use(free.ID), store.ErrNotFound)
		s.provider(s.domain, "free", nil) // the name is available again
		for provider, want := range map[int64]int{used.ID: 1, free.ID: 0, 0: 1} {
			users, err := s.db.WebhooksWithProvider(t.Context(), s.domain, provider, 5)
			if err != nil || len(users) != want {
				t.Errorf("webhooks with provider %d: %v, %v", provider, users, err)
			}
		}
		held(false)
		if err := remove(used.ID); err != nil {
			t.Fatal(err)
		}
		held(true)
		second := s.provider(s.domain, "second", nil)
		used = second
		s.write(func(tx *store.Tx) error {
			tx.UseAuthProvider(s.domain, second.ID)
			tx.ChangeWebhook(s.domain, w.ID, store.WebhookChange{Auth: &second.ID}, now)
			return nil
		})
		held(false)
		if err := all(); err != nil {
			t.Fatal(err)
		}
		held(true)
		n, err := s.db.CountAuthProviders(t.Context(), store.ProviderFilter{Domain: s.domain})
		wantSame(t, int64(0), n, err)
		s.wantProvider(foreign)
	})
}

// TestAuthProvidersOutliveTheirMigration migrates a database whose schema has only signing
// providers. References to a provider must stay, and its secret must still decrypt.
func TestAuthProvidersOutliveTheirMigration(t *testing.T) {
	const before = 7
	storetest.EachEmpty(t, func(t *testing.T, url string) {
		ring := keys.Generate()
		run, renew := outdated(t, url, before, ring)
		a := store.AuthProvider{ID: 41, Domain: 1, Type: "hmac_signature", Name: "signer", Secret: "kept", Created: now}
		sealed, err := ring.Seal(a.SecretPlace(), []byte(a.Secret))
		if err != nil {
			t.Fatal(err)
		}
		run(`INSERT INTO domain (id, name, kind, base_url, host, created) VALUES (1, 'first', 'sandbox', 'https://first.example/2.0', 'first.example', 0)`)
		for id, deleted := range map[int64]*int64{41: nil, 40: new(int64(5))} {
			run(`INSERT INTO auth_provider (id, domain_id, type, name, secret, created, deleted) VALUES ($1, 1, 'hmac_signature', 'signer', $2, $3, $4)`, id, sealed, database.Micros(now), deleted)
			run(`INSERT INTO webhook (id, domain_id, event, url, auth_id, created) VALUES ($1, 1, 'USER_SYNCED', 'https://a.example/', $1, 0)`, id)
		}
		s := fixture{t: t, db: renew()}
		s.wantProvider(a)
		got, err := s.db.AuthProvider(t.Context(), 1, 40)
		wantNotFound(t, got, err)
		for _, id := range []int64{40, 41} {
			if n := s.count(`SELECT count(*) FROM webhook JOIN auth_provider p ON p.id = auth_id WHERE webhook.id = $1 AND p.id = $1`, id); n != 1 {
				t.Errorf("webhook %d has lost its provider", id)
			}
		}
		wantError(t, s.sql(`UPDATE webhook SET auth_id = 42 WHERE id = 41`), store.ErrConstraint)
		s.write(func(tx *store.Tx) error { return tx.RotateSecret(store.Rotation{1, 41, "new", nil}, now, now) })
		a.Secret, a.Updated = "new", new(now)
		s.wantProvider(a)
		s.provider(1, "endpoint", &someEndpoint)
		s.write(func(tx *store.Tx) error { tx.DeleteAuthProvider(1, 41, now); return nil })
		if w, err := s.db.Webhook(t.Context(), 1, 41); err != nil || !w.AuthDeleted {
			t.Errorf("the webhook of a provider that was deleted: %+v, %v", w, err)
		}
	})
}
