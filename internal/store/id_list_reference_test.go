package store_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest/lists"
	"passerelle/webhook"
)

// idRow is a row of a list by id, with the values that filters compare.
type idRow struct {
	id         int64
	domain     passerelle.DomainID
	kind, name string
	// A row with gone is never listed. A row with hidden is listed only when all rows are
	// requested.
	gone, hidden bool
}

func idSpot(r idRow) lists.Spot { return lists.Spot{ID: r.id} }

func idListing(w lists.Ways, rows []idRow, selected func(idRow) bool) lists.List {
	return lists.List{Ways: w, All: lists.Spots(rows, idSpot, lists.Any[idRow]), Selected: lists.Spots(rows, idSpot, selected)}
}

// drawDomain mostly draws the domain with the most rows.
func (s fixture) drawDomain(t *rapid.T) passerelle.DomainID {
	domain := s.domain
	lists.Maybe(t, "domain", &domain, s.other)
	return domain
}

func (s fixture) tokens() func(*rapid.T) lists.List {
	var all []idRow
	kinds := []string{"config", "users", "service", "user", "code"}
	for i := range 40 {
		row := idRow{domain: []passerelle.DomainID{s.domain, s.domain, s.other}[i%3], kind: kinds[i*i%7%5]}
		token := store.Token{Domain: row.domain, Kind: row.kind, Hash: []byte(fmt.Sprint(i)), Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateToken(&token) })
		row.id = token.ID
		all = append(all, row)
	}
	return func(t *rapid.T) lists.List {
		f := store.TokenFilter{All: rapid.Bool().Draw(t, "all")}
		f.Domain = s.drawDomain(t)
		if rapid.IntRange(0, 5).Draw(t, "one") == 0 {
			f.Only = rapid.SampledFrom(all).Draw(t, "token").id
		}
		q := idListing(lists.Ways{Directions: true}, all, func(r idRow) bool {
			return r.domain == f.Domain && (f.Only == 0 || f.Only == r.id) && (f.All || r.kind == "config" || r.kind == "users")
		})
		q.Read = func(w store.Window) ([]int64, error) {
			return lists.IDs(func(one store.Token) int64 { return one.ID })(s.db.Tokens(s.t.Context(), f, w))
		}
		return q
	}
}

func (s fixture) hooks() func(*rapid.T) lists.List {
	var all []idRow
	for i := range 40 {
		row := idRow{domain: []passerelle.DomainID{s.domain, s.domain, s.other}[i%3], hidden: i%4 > 1}
		w := store.Webhook{Domain: row.domain, Event: webhook.AccountFound, URL: "https://a.example", Created: now}
		if i%4 == 2 {
			w.Disabled = &now
		}
		s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
		if i%4 == 3 {
			s.write(func(tx *store.Tx) error {
				tx.Unit().Exec(`UPDATE webhook SET deleted = 1 WHERE id = $1`, int64(w.ID))
				return nil
			})
		}
		row.id = int64(w.ID)
		all = append(all, row)
	}
	return func(t *rapid.T) lists.List {
		f := store.WebhookFilter{All: rapid.Bool().Draw(t, "all")}
		f.Domain = s.drawDomain(t)
		q := idListing(lists.Ways{Skips: true}, all, func(r idRow) bool { return r.domain == f.Domain && (f.All || !r.hidden) })
		q.Read = func(w store.Window) ([]int64, error) {
			return lists.IDs(func(one store.Webhook) int64 { return int64(one.ID) })(s.db.Webhooks(s.t.Context(), f, w))
		}
		q.Count = func() (int64, error) { return s.db.CountWebhooks(s.t.Context(), f) }
		return q
	}
}

func (s fixture) applications() func(*rapid.T) lists.List {
	all := []idRow{{id: int64(s.client), domain: s.domain}, {id: int64(s.alien), domain: s.other}}
	for i := range 30 {
		row := idRow{domain: []passerelle.DomainID{s.domain, s.domain, s.other}[i%3], gone: i%4 == 3}
		c := store.Client{Domain: row.domain, Name: "app", SecretHash: []byte("hash"), Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateClient(&c) })
		if row.gone {
			s.write(func(tx *store.Tx) error { tx.DeleteClient(row.domain, c.ID, now); return nil })
		}
		row.id = int64(c.ID)
		all = append(all, row)
	}
	return func(t *rapid.T) lists.List {
		domain := s.drawDomain(t)
		q := idListing(lists.Ways{Directions: true}, all, func(r idRow) bool { return r.domain == domain && !r.gone })
		q.Read = func(w store.Window) ([]int64, error) {
			return lists.IDs(func(one store.Client) int64 { return int64(one.ID) })(s.db.ClientPage(s.t.Context(), domain, w))
		}
		return q
	}
}

func (s fixture) mails() func(*rapid.T) lists.List {
	var all []idRow
	for i := range 30 {
		domain := []passerelle.DomainID{s.domain, s.domain, s.other}[i%3]
		all = append(all, idRow{domain: domain, id: s.mail(store.Webhook{Domain: domain}, "subject").ID})
	}
	return func(t *rapid.T) lists.List {
		domain := s.drawDomain(t)
		q := idListing(lists.Ways{Newest: true, Skips: true}, all, func(r idRow) bool { return r.domain == domain })
		q.Read = func(w store.Window) ([]int64, error) {
			return lists.IDs(func(one store.Mail) int64 { return one.ID })(s.db.Mails(s.t.Context(), domain, w))
		}
		q.Count = func() (int64, error) { return s.db.CountMails(s.t.Context(), domain) }
		return q
	}
}

func (s fixture) authProviders() func(*rapid.T) lists.List {
	var all []idRow
	for i := range 30 {
		row := idRow{domain: []passerelle.DomainID{s.domain, s.domain, s.other}[i%3], name: fmt.Sprint("p", i/3), gone: i%4 == 3}
		a := s.provider(row.domain, row.name+fmt.Sprint(i%3), nil)
		row.id, row.name = a.ID, a.Name
		if row.gone {
			s.write(func(tx *store.Tx) error { tx.DeleteAuthProvider(row.domain, a.ID, now); return nil })
		}
		all = append(all, row)
	}
	return func(t *rapid.T) lists.List {
		f := store.ProviderFilter{}
		f.Domain = s.drawDomain(t)
		one, none := rapid.SampledFrom(all).Draw(t, "provider").name, ""
		lists.Maybe(t, "name", &f.Name, &one, &none)
		q := idListing(lists.Ways{Skips: true}, all, func(r idRow) bool { return r.domain == f.Domain && !r.gone && (f.Name == nil || *f.Name == r.name) })
		q.Read = func(w store.Window) ([]int64, error) {
			return lists.IDs(func(one store.AuthProvider) int64 { return one.ID })(s.db.AuthProviders(s.t.Context(), f, w))
		}
		q.Count = func() (int64, error) { return s.db.CountAuthProviders(s.t.Context(), f) }
		return q
	}
}

func TestListsByIDAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		lists.Compare(t, map[string]func(*rapid.T) lists.List{
			"tokens": s.tokens(), "webhooks": s.hooks(), "clients": s.applications(), "mails": s.mails(), "providers": s.authProviders(),
		})
	})
}

// Lists of users have a separate window type, in which the position is always set.
func TestUsersAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		var all []idRow
		for i := range 30 {
			u := passerelle.User{Domain: []passerelle.DomainID{s.domain, s.domain, s.other}[i%3], Created: now, Permanent: &now}
			s.write(func(tx *store.Tx) error { return tx.CreateUser(&u) })
			gone := i%4 == 3
			if gone {
				s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(u, now, now); return nil })
			}
			all = append(all, idRow{id: int64(u.ID), domain: u.Domain, gone: gone})
		}
		rapid.Check(t, func(rt *rapid.T) {
			domain := s.drawDomain(rt)
			q := idListing(lists.Ways{Skips: true}, all, func(r idRow) bool { return r.domain == domain && !r.gone })
			q.Read = func(w store.Window) ([]int64, error) {
				from := passerelle.UserID(0)
				if w.Backward {
					from = 1<<63 - 1
				}
				if w.From != nil {
					from = passerelle.UserID(w.From[0].(int64))
				}
				return lists.IDs(func(u passerelle.User) int64 { return int64(u.ID) })(s.db.Users(s.t.Context(), domain, store.UserWindow{Limit: w.Limit, Offset: w.Offset, From: from, Backward: w.Backward}))
			}
			q.Count = func() (int64, error) { return s.db.CountUsers(s.t.Context(), domain) }
			q.Check(rt)
		})
	})
}
