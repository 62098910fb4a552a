package bankstore_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest/lists"
)

type idRow struct {
	id         int64
	domain     passerelle.DomainID
	user       passerelle.UserID
	connection passerelle.ConnectionID
	kind, name string
	// gone rows are never listed. hidden rows are listed only when all rows are requested. disabled
	// rows are hidden, but are also listed when disabled rows are requested.
	gone, hidden, disabled bool
}

func idListing(w lists.Ways, rows []idRow, selected func(idRow) bool) lists.List {
	spot := func(r idRow) lists.Spot { return lists.Spot{ID: r.id} }
	return lists.List{Ways: w, All: lists.Spots(rows, spot, lists.Any[idRow]), Selected: lists.Spots(rows, spot, selected)}
}

// drawOwner mostly draws the user with the most rows.
func (s fixture) drawOwner(t *rapid.T) (passerelle.DomainID, passerelle.UserID) {
	domain, user := s.domain, passerelle.UserID(7)
	lists.Maybe(t, "domain", &domain, s.other)
	lists.Maybe(t, "user", &user, 8, 9)
	return domain, user
}

type connectionSet struct {
	fixture
	connections, accounts, subscriptions []idRow
}

func newConnectionSet(s fixture) *connectionSet {
	c := &connectionSet{fixture: s}
	states := append(passerelle.ConnectionStates(), "", "")
	for i := range 40 {
		domain, user := []passerelle.DomainID{s.domain, s.domain, s.other}[i%3], passerelle.UserID(7+i%4/3)
		row := idRow{domain: domain, user: user, kind: string(states[i*i%17%len(states)]), name: fmt.Sprint("c", i%2), gone: i%5 == 4}
		stored := s.connect(domain, user, row.name, passerelle.ConnectionState(row.kind), row.gone)
		row.id, row.connection = int64(stored.ID), stored.ID
		c.connections = append(c.connections, row)
		if i < 12 {
			c.below(row)
		}
	}
	return c
}

// below adds four accounts and four subscriptions to a connection. Two of each are enabled, one is
// disabled and one is deleted.
func (c *connectionSet) below(of idRow) {
	for n, condition := range []string{"", "", "disabled", "deleted"} {
		row := of
		row.hidden, row.disabled = condition != "", condition == "disabled"
		account, err := bankstore.NewAccountID(c.t.Context(), c.db)
		if err != nil {
			c.t.Fatal(err)
		}
		subscription, err := bankstore.NewSubscriptionID(c.t.Context(), c.db)
		if err != nil {
			c.t.Fatal(err)
		}
		c.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`INSERT INTO bank_account (id, domain_id, user_id, connection_id, key, type, details, digest) VALUES ($1, $2, $3, $4, $5, 'checking', '{}', 1)`,
				int64(account), int64(of.domain), int64(of.user), int64(of.connection), fmt.Sprint(n))
			tx.Unit().Exec(`INSERT INTO subscription (id, domain_id, user_id, connection_id, key, details, digest) VALUES ($1, $2, $3, $4, $5, '{}', 1)`,
				int64(subscription), int64(of.domain), int64(of.user), int64(of.connection), fmt.Sprint(n))
			if condition != "" {
				tx.Unit().Exec(`UPDATE bank_account SET `+condition+` = 1 WHERE id = $1`, int64(account))
				tx.Unit().Exec(`UPDATE subscription SET `+condition+` = 1 WHERE id = $1`, int64(subscription))
			}
			return nil
		})
		row.id = int64(account)
		c.accounts = append(c.accounts, row)
		row.id = int64(subscription)
		c.subscriptions = append(c.subscriptions, row)
	}
}

func (c *connectionSet) ofUser(t *rapid.T) lists.List {
	domain, user := c.drawOwner(t)
	q := idListing(lists.Ways{Directions: true, Skips: true}, c.connections, func(r idRow) bool { return r.domain == domain && r.user == user && !r.gone })
	q.Read = func(w store.Window) ([]int64, error) {
		return lists.IDs(func(one bankstore.Connection) int64 { return int64(one.ID) })(bankstore.From(c.db).Connections(c.t.Context(), domain, user, w))
	}
	q.Count = func() (int64, error) { return bankstore.From(c.db).CountConnections(c.t.Context(), domain, user) }
	return q
}

func (c *connectionSet) inTrouble(t *rapid.T) lists.List {
	domain, _ := c.drawOwner(t)
	f := bankstore.TroubleFilter{Domain: domain}
	f.States = rapid.SliceOfNDistinct(rapid.SampledFrom(passerelle.ConnectionStates()), 0, 3, rapid.ID).Draw(t, "states")
	lists.Maybe(t, "connector", &f.Connector, "c0", "c1", "c9")
	q := idListing(lists.Ways{Directions: true}, c.connections, func(r idRow) bool {
		return r.domain == domain && !r.gone && r.kind != "" && (len(f.States) == 0 || slices.Contains(f.States, passerelle.ConnectionState(r.kind))) && (f.Connector == "" || f.Connector == r.name)
	})
	q.Read = func(w store.Window) ([]int64, error) {
		return lists.IDs(func(one bankstore.Connection) int64 { return int64(one.ID) })(bankstore.From(c.db).ConnectionsInTrouble(c.t.Context(), f, w))
	}
	return q
}

// drawBelow draws a filter for objects that belong to connections. A nil list does not filter, and
// an empty list selects nothing.
func (c *connectionSet) drawBelow(t *rapid.T, rows []idRow) (f bankstore.AccountFilter, ids []int64) {
	f.Domain, f.User = c.drawOwner(t)
	f.Disabled, f.All = rapid.Bool().Draw(t, "disabled"), rapid.Bool().Draw(t, "all")
	one := rapid.Map(rapid.SampledFrom(c.connections), func(r idRow) passerelle.ConnectionID { return r.connection })
	if rapid.IntRange(0, 4).Draw(t, "of a connection") == 0 {
		f.Connection = one.Draw(t, "connection")
	}
	if rapid.IntRange(0, 4).Draw(t, "of connections") == 0 {
		f.Connections = rapid.SliceOfN(one, 0, 7).Draw(t, "connections")
	}
	if rapid.IntRange(0, 4).Draw(t, "of ids") == 0 {
		ids = rapid.SliceOfN(rapid.Map(rapid.SampledFrom(rows), func(r idRow) int64 { return r.id }), 0, 9).Draw(t, "ids")
	}
	return f, ids
}

func isBelow(f bankstore.AccountFilter, ids []int64) func(idRow) bool {
	return func(r idRow) bool {
		return r.domain == f.Domain && r.user == f.User && !r.gone && (f.All || !r.hidden || f.Disabled && r.disabled) && (f.Connection == 0 || f.Connection == r.connection) &&
			(f.Connections == nil || slices.Contains(f.Connections, r.connection)) && (ids == nil || slices.Contains(ids, r.id))
	}
}

func as[T ~int64](numbers []int64) []T {
	if numbers == nil {
		return nil
	}
	typed := []T{}
	for _, n := range numbers {
		typed = append(typed, T(n))
	}
	return typed
}

func (c *connectionSet) bankAccounts(t *rapid.T) lists.List {
	f, ids := c.drawBelow(t, c.accounts)
	q := idListing(lists.Ways{Directions: true, Skips: true}, c.accounts, isBelow(f, ids))
	f.IDs = as[passerelle.AccountID](ids)
	q.Read = func(w store.Window) ([]int64, error) {
		return lists.IDs(func(one bankstore.StoredAccount) int64 { return int64(one.ID) })(bankstore.From(c.db).BankAccounts(c.t.Context(), f, w))
	}
	q.Count = func() (int64, error) { return bankstore.From(c.db).CountBankAccounts(c.t.Context(), f) }
	return q
}

func (c *connectionSet) subscribed(t *rapid.T) lists.List {
	below, ids := c.drawBelow(t, c.subscriptions)
	f := bankstore.SubscriptionFilter{Domain: below.Domain, User: below.User, Connection: below.Connection, Connections: below.Connections, IDs: as[passerelle.SubscriptionID](ids), Disabled: below.Disabled, All: below.All}
	q := idListing(lists.Ways{Directions: true, Skips: true}, c.subscriptions, isBelow(below, ids))
	q.Read = func(w store.Window) ([]int64, error) {
		return lists.IDs(func(one bankstore.StoredSubscription) int64 { return int64(one.ID) })(bankstore.From(c.db).Subscriptions(c.t.Context(), f, w))
	}
	q.Count = func() (int64, error) { return bankstore.From(c.db).CountSubscriptions(c.t.Context(), f) }
	return q
}

func TestConnectionsAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		c := newConnectionSet(s)
		lists.Compare(t, map[string]func(*rapid.T) lists.List{
			"of a user": c.ofUser, "in trouble": c.inTrouble, "accounts": c.bankAccounts, "subscriptions": c.subscribed,
		})
	})
}
