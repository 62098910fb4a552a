package store_test

import (
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

func TestDomainIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		want := passerelle.Domain{ID: s.domain, Name: "first", Kind: passerelle.Sandbox, BaseURL: "https://first.example/2.0", Created: now}
		got, err := s.db.Domain(t.Context(), s.domain)
		wantSame(t, want, got, err)
		got, err = s.db.DomainByName(t.Context(), "first")
		wantSame(t, want, got, err)
		all, err := s.db.Domains(t.Context())
		if err != nil || len(all) != 2 || all[0].ID != s.domain || all[1].ID != s.other {
			t.Errorf("domains %+v, %v", all, err)
		}
		got, err = s.db.Domain(t.Context(), 999)
		wantNotFound(t, got, err)
		got, err = s.db.DomainByName(t.Context(), "First")
		wantNotFound(t, got, err)
	})
}

func TestServedDomain(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		want := store.ServedDomain{
			Domain:   passerelle.Domain{ID: s.domain, Name: "first", Kind: passerelle.Sandbox, BaseURL: "https://first.example/2.0", Created: now},
			Settings: map[string]string{},
		}
		same := func() {
			t.Helper()
			got, err := s.db.ServedDomainByHost(t.Context(), "first.example")
			wantSame(t, want, got, err)
			got, err = s.db.FirstServedDomain(t.Context())
			wantSame(t, want, got, err)
		}
		same()
		s.write(func(tx *store.Tx) error {
			tx.SetSetting(s.domain, "a", "1", "test", now)
			tx.SetSetting(s.domain, "b", "", "test", now)
			tx.SetSetting(s.other, "c", "3", "test", now)
			tx.CloseForMaintenance(now)
			return nil
		})
		want.Settings, want.Closed = map[string]string{"a": "1", "b": ""}, true
		same()
		s.write(func(tx *store.Tx) error {
			tx.DeleteSetting(s.domain, "a", "test", now)
			tx.EndMaintenance()
			return nil
		})
		want.Settings, want.Closed = map[string]string{"b": ""}, false
		same()
		got, err := s.db.ServedDomainByHost(t.Context(), "example")
		wantNotFound(t, got, err)
	})
}

func TestDomainsDiffer(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		create := func(name, host string) error {
			d := passerelle.Domain{Name: name, Kind: passerelle.Live, BaseURL: "x", Created: now}
			return s.try(func(tx *store.Tx) error { return tx.CreateDomain(&d, host) })
		}
		wantError(t, create("first", "third.example"), store.ErrDuplicate)
		wantError(t, create("third", "first.example"), store.ErrDuplicate)
		move := func(id passerelle.DomainID, host string) error {
			return s.try(func(tx *store.Tx) error { tx.MoveDomain(id, host, "https://"+host+"/2.0"); return nil })
		}
		wantError(t, move(s.domain, "second.example"), store.ErrDuplicate)
		wantError(t, move(999, "third.example"), store.ErrNotFound)
		if err := move(s.domain, "third.example"); err != nil {
			t.Fatal(err)
		}
		got, err := s.db.ServedDomainByHost(t.Context(), "third.example")
		if err != nil || got.ID != s.domain || got.BaseURL != "https://third.example/2.0" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestClockIsComparedAndSet checks that SetClock fails in a live domain, and when the stored clock
// differs from the argument `from`.
func TestClockIsComparedAndSet(t *testing.T) {
	frozen, epoch := now.Add(time.Hour), time.UnixMicro(-1).UTC()
	clocks := []passerelle.Clock{{}, {Offset: 400 * 24 * time.Hour}, {Frozen: &frozen}, {Offset: time.Second, Frozen: &epoch}, {Frozen: &epoch}, {}}
	onEachDatabase(t, func(t *testing.T, s fixture) {
		set := func(id passerelle.DomainID, from, to passerelle.Clock) error {
			return s.try(func(tx *store.Tx) error { tx.SetClock(id, from, to); return nil })
		}
		for i := range len(clocks) - 1 {
			from, to := clocks[i], clocks[i+1]
			wantError(t, set(s.domain, to, from), store.ErrConflict)
			if err := set(s.domain, from, to); err != nil {
				t.Fatalf("from %+v to %+v: %v", from, to, err)
			}
			got, err := s.db.Domain(t.Context(), s.domain)
			wantSame(t, to, got.Clock, err)
		}
		live, _ := s.createDomain("live", passerelle.Live)
		wantError(t, set(live, passerelle.Clock{}, clocks[1]), store.ErrConflict)
		wantError(t, s.sql(`UPDATE domain SET clock_offset = 1 WHERE id = $1`, int64(live)), store.ErrConstraint)
	})
}

func TestClientIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		c := store.Client{Domain: s.domain, Name: "shop", SecretHash: []byte{0, 255}, RedirectURIs: []string{"https://a.example/x", "https://b.example"}, Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateClient(&c) })
		if c.ID < 10_000_000 {
			t.Errorf("id %d has less than eight digits", c.ID)
		}
		got, err := s.db.Client(t.Context(), s.domain, c.ID)
		wantSame(t, c, got, err)
		former := c
		c.Name, c.SecretHash, c.RedirectURIs, c.Config = "other", []byte("new"), []string{}, map[string]string{"a": "é"}
		c.Appearance = store.Appearance{"#0a0B0c", "#ffffff", "text", "about banks", "about providers", true}
		s.write(func(tx *store.Tx) error { return tx.UpdateClient(former, c) })
		wantError(t, s.try(func(tx *store.Tx) error { return tx.UpdateClient(former, c) }), store.ErrConflict)
		got, err = s.db.Client(t.Context(), s.domain, c.ID)
		wantSame(t, c, got, err)
		all, err := s.db.Clients(t.Context(), s.domain)
		if err != nil || len(all) != 2 || all[1].ID != c.ID {
			t.Errorf("clients %+v, %v", all, err)
		}
	})
}

func TestClientOfAnotherDomain(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		got, err := s.db.Client(t.Context(), s.domain, s.alien)
		wantNotFound(t, got, err)
		foreign := store.Client{ID: s.alien, Domain: s.domain, Name: "taken over", SecretHash: []byte("x")}
		wantError(t, s.try(func(tx *store.Tx) error { return tx.UpdateClient(foreign, foreign) }), store.ErrNotFound)
		wantError(t, s.try(func(tx *store.Tx) error { tx.DeleteClient(s.domain, s.alien, now); return nil }), store.ErrNotFound)
	})
}

func TestDeletedClient(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		mine, foreign := s.token(s.domain, s.client, "mine"), s.token(s.other, s.alien, "foreign")
		remove := func() error {
			return s.try(func(tx *store.Tx) error { tx.DeleteClient(s.domain, s.client, now); return nil })
		}
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		wantError(t, remove(), store.ErrNotFound)
		got, err := s.db.Client(t.Context(), s.domain, s.client)
		wantNotFound(t, got, err)
		all, err := s.db.Clients(t.Context(), s.domain)
		wantSame(t, nil, all, err)
		wantError(t, s.try(func(tx *store.Tx) error {
			gone := store.Client{ID: s.client, Domain: s.domain, SecretHash: []byte{1}}
			return tx.UpdateClient(gone, gone)
		}), store.ErrNotFound)
		mine.Revoked = new(now)
		s.wantToken(mine)
		s.wantToken(foreign)
	})
}

func (s fixture) token(domain passerelle.DomainID, client passerelle.ClientID, hash string) store.Token {
	s.t.Helper()
	t := store.Token{Domain: domain, Client: client, Kind: "service", Hash: []byte(hash), Scopes: "payments:admin", Created: now}
	s.write(func(tx *store.Tx) error { return tx.CreateToken(&t) })
	return t
}

func (s fixture) wantToken(want store.Token) {
	s.t.Helper()
	got, err := s.db.TokenByHash(s.t.Context(), want.Domain, want.Hash)
	wantSame(s.t, want, got, err)
}

func TestTokenIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		expires := now.Add(time.Hour)
		for _, token := range []store.Token{
			{Domain: s.domain, Kind: "config", Hash: []byte("a"), Scopes: "config", Created: now},
			{Domain: s.domain, Client: s.client, Kind: "code", Hash: []byte("d"), User: s.user(false).ID, Single: true, Created: now},
			{Domain: s.domain, Client: s.client, Kind: "payment", Hash: []byte("b"), Scopes: "x y", Payment: 7, Created: now, Expires: &expires},
			{Domain: s.other, Client: s.alien, Kind: "service", Hash: []byte("c"), Created: now},
		} {
			s.write(func(tx *store.Tx) error { return tx.CreateToken(&token) })
			s.wantToken(token)
			got, err := s.db.TokenByHash(t.Context(), s.domain+s.other-token.Domain, token.Hash)
			wantNotFound(t, got, err)
		}
		listed, err := s.db.Tokens(t.Context(), store.TokenFilter{Domain: s.domain, All: true}, store.Window{Descending: true, Limit: 1})
		if err != nil || len(listed) != 1 || string(listed[0].Hash) != "b" {
			t.Errorf("newest token %+v, %v", listed, err)
		}
	})
}

func TestTokensTheSchemaRefuses(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.token(s.domain, s.client, "taken")
		for name, test := range map[string]struct {
			token store.Token
			want  error
		}{
			"the hash of another":         {store.Token{Domain: s.other, Kind: "config", Hash: []byte("taken")}, store.ErrDuplicate},
			"a kind that is not known":    {store.Token{Domain: s.domain, Kind: "master", Hash: []byte("1")}, store.ErrConstraint},
			"a payment token without one": {store.Token{Domain: s.domain, Kind: "payment", Hash: []byte("2")}, store.ErrConstraint},
			"a payment of another kind":   {store.Token{Domain: s.domain, Kind: "service", Payment: 1, Hash: []byte("3")}, store.ErrConstraint},
			"a client of another domain":  {store.Token{Domain: s.domain, Client: s.alien, Kind: "service", Hash: []byte("4")}, store.ErrNoClient},
			"no domain":                   {store.Token{Kind: "config", Hash: []byte("5")}, store.ErrConstraint},
		} {
			err := s.try(func(tx *store.Tx) error { return tx.CreateToken(&test.token) })
			t.Run(name, func(t *testing.T) { wantError(t, err, test.want) })
		}
	})
}

func TestRevokedToken(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		token := s.token(s.domain, s.client, "hash")
		revoke := func(domain passerelle.DomainID) error {
			return s.try(func(tx *store.Tx) error { tx.RevokeToken(domain, token.ID, now); return nil })
		}
		wantError(t, revoke(s.other), store.ErrNotFound)
		s.wantToken(token)
		if err := revoke(s.domain); err != nil {
			t.Fatal(err)
		}
		token.Revoked = new(now)
		s.wantToken(token)
		wantError(t, revoke(s.domain), store.ErrNotFound)
	})
}

func TestExpiredTokensArePurged(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.token(s.domain, s.client, "permanent")
		for i, hash := range []string{"oldest", "older", "boundary", "valid"} {
			token := store.Token{Domain: s.domain, Kind: "config", Hash: []byte(hash), Created: now, Expires: new(now.Add(time.Duration(i-2) * time.Hour))}
			s.write(func(tx *store.Tx) error { return tx.CreateToken(&token) })
		}
		for _, want := range []int64{4, 3, 3} {
			s.write(func(tx *store.Tx) error { tx.PurgeTokens(now, 1); return nil })
			if n := s.count(`SELECT count(*) FROM token`); n != want {
				t.Errorf("%d tokens are left, want %d", n, want)
			}
		}
		got, err := s.db.TokenByHash(t.Context(), s.domain, []byte("older"))
		wantNotFound(t, got, err)
	})
}

func TestSettingsAreReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.write(func(tx *store.Tx) error {
			tx.SetSetting(s.domain, "a", "1", "command", now)
			tx.SetSetting(s.domain, "a", "é", "command", now)
			tx.SetSetting(s.domain, "b", "", "command", now)
			tx.SetSetting(s.other, "a", "other", "command", now)
			return nil
		})
		got, err := s.db.Settings(t.Context(), s.domain)
		wantSame(t, map[string]string{"a": "é", "b": ""}, got, err)
		s.write(func(tx *store.Tx) error {
			tx.DeleteSetting(s.domain, "a", "command", now)
			tx.DeleteSetting(s.domain, "never set", "command", now)
			return nil
		})
		got, err = s.db.Settings(t.Context(), s.domain)
		wantSame(t, map[string]string{"b": ""}, got, err)
		got, err = s.db.Settings(t.Context(), s.other)
		wantSame(t, map[string]string{"a": "other"}, got, err)
		got, err = s.db.Settings(t.Context(), 0)
		wantSame(t, map[string]string{}, got, err)
	})
}
