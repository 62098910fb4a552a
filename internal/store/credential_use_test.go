package store_test

import (
	"testing"
	"time"

	"passerelle/internal/store"
)

// TestUseOfCredentials checks that the store records a use only in the domain of the credential. A
// second use within an hour must not replace the recorded time.
func TestUseOfCredentials(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		used, unused := store.Token{Domain: s.domain, Kind: "config", Hash: []byte("a"), Created: now}, store.Token{Domain: s.domain, Kind: "users", Hash: []byte("b"), Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateToken(&used) })
		s.write(func(tx *store.Tx) error { return tx.CreateToken(&unused) })
		soon, later := now.Add(time.Minute), now.Add(2*time.Hour)
		for _, at := range []time.Time{now, soon} {
			s.write(func(tx *store.Tx) error {
				tx.NoteTokenUse(s.domain, used.ID, at, at.Add(-time.Hour))
				tx.NoteTokenUse(s.other, unused.ID, at, at.Add(-time.Hour))
				tx.NoteClientUse(s.domain, s.client, at, at.Add(-time.Hour))
				tx.NoteClientUse(s.other, s.client, at, at.Add(-time.Hour))
				return nil
			})
		}
		used.Used = &now
		s.wantToken(used)
		s.wantToken(unused)
		client, err := s.db.Client(t.Context(), s.domain, s.client)
		wantSame(t, &now, client.Used, err)
		s.write(func(tx *store.Tx) error { tx.NoteTokenUse(s.domain, used.ID, later, later.Add(-time.Hour)); return nil })
		used.Used = &later
		s.wantToken(used)
	})
}

// TestListsOfTokensAndClients reads pages of both lists. Without the field All, a list of tokens
// must contain only the kinds config and users.
func TestListsOfTokensAndClients(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		var tokens []store.Token
		for i, kind := range []string{"config", "service", "users", "user"} {
			token := store.Token{Domain: s.domain, Kind: kind, Hash: []byte{byte(i)}, Created: now}
			s.write(func(tx *store.Tx) error { return tx.CreateToken(&token) })
			tokens = append(tokens, token)
		}
		s.write(func(tx *store.Tx) error {
			return tx.CreateToken(&store.Token{Domain: s.other, Kind: "config", Hash: []byte("x"), Created: now})
		})
		newest := store.Window{Descending: true, Limit: 2}
		list := func(f store.TokenFilter, w store.Window, want ...store.Token) {
			t.Helper()
			f.Domain = s.domain
			got, err := s.db.Tokens(t.Context(), f, w)
			wantSame(t, want, got, err)
		}
		list(store.TokenFilter{}, newest, tokens[2], tokens[0])
		list(store.TokenFilter{All: true}, newest, tokens[3], tokens[2])
		list(store.TokenFilter{All: true}, store.Window{Descending: true, Limit: 2, From: []any{tokens[2].ID}}, tokens[1], tokens[0])
		list(store.TokenFilter{All: true}, store.Window{Descending: true, Backward: true, Limit: 2, From: []any{tokens[1].ID}}, tokens[2], tokens[3])
		list(store.TokenFilter{All: true, Only: tokens[1].ID}, newest, tokens[1])
		list(store.TokenFilter{Only: tokens[1].ID}, newest)

		second := store.Client{Domain: s.domain, Name: "second", SecretHash: []byte("s"), RedirectURIs: []string{}, Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateClient(&second) })
		first, err := s.db.Client(t.Context(), s.domain, s.client)
		if err != nil {
			t.Fatal(err)
		}
		page, err := s.db.ClientPage(t.Context(), s.domain, newest)
		wantSame(t, []store.Client{second, first}, page, err)
		page, err = s.db.ClientPage(t.Context(), s.domain, store.Window{Descending: true, Limit: 2, From: []any{int64(second.ID)}})
		wantSame(t, []store.Client{first}, page, err)
		s.write(func(tx *store.Tx) error { tx.DeleteClient(s.domain, second.ID, now); return nil })
		page, err = s.db.ClientPage(t.Context(), s.domain, newest)
		wantSame(t, []store.Client{first}, page, err)
	})
}

func TestAuthorOfASetting(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		later := now.Add(time.Minute)
		s.write(func(tx *store.Tx) error {
			tx.SetSetting(s.domain, "a", "1", "token 1", now)
			tx.SetSetting(s.domain, "b", "1", "token 1", now)
			tx.SetSetting(s.other, "a", "3", "token 9", now)
			return nil
		})
		s.write(func(tx *store.Tx) error {
			tx.SetSetting(s.domain, "a", "2", "operator 1", later)
			tx.SetSetting(s.domain, "b", "1", "operator 1", later) // no change
			return nil
		})
		values, err := s.db.SettingRecords(t.Context(), s.domain)
		wantSame(t, map[string]store.Setting{"a": {"2", "operator 1", later}, "b": {"1", "token 1", now}}, values, err)
		changes, err := s.db.SettingChanges(t.Context(), store.SettingChanges{Domain: s.domain, Key: "a"}, store.Window{Limit: 5})
		var by []string
		for _, c := range changes {
			by = append(by, c.Key+" "+c.By)
		}
		wantSame(t, []string{"a operator 1", "a token 1"}, by, err)
	})
}
