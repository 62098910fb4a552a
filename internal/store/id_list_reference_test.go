package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"
	"pgregory.net/rapid"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// idRow is a row of a list by id, with the values that filters compare.
type idRow struct {
	id     int64
	domain passerelle.DomainID
	user   passerelle.UserID
	// connection is zero for rows without one.
	connection passerelle.ConnectionID
	kind, name string
	// gone rows are never listed. hidden ones are listed when all are requested.
	gone, hidden bool
}

func idSpot(r idRow) spot { return spot{nil, r.id} }

// idListing describes a list by id, of which a filter selects some rows.
func idListing(w ways, rows []idRow, selected func(idRow) bool) listing {
	return listing{ways: w, all: spotsOf(rows, idSpot, anyRow[idRow]), selected: spotsOf(rows, idSpot, selected)}
}

// drawOwner draws a domain and a user, mostly the user with the most rows.
func (s fixture) drawOwner(t *rapid.T) (passerelle.DomainID, passerelle.UserID) {
	domain, user := s.domain, passerelle.UserID(7)
	maybe(t, "domain", &domain, s.other)
	maybe(t, "user", &user, 8, 9)
	return domain, user
}

// connectionSet has connections of several users, with their accounts and subscriptions.
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

// below adds an account and a subscription in each condition to a connection.
func (c *connectionSet) below(of idRow) {
	for n, condition := range []string{"", "", "disabled", "deleted"} {
		row := of
		row.hidden = condition != ""
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

func (c *connectionSet) ofUser(t *rapid.T) listing {
	domain, user := c.drawOwner(t)
	q := idListing(ways{directions: true, skips: true}, c.connections, func(r idRow) bool { return r.domain == domain && r.user == user && !r.gone })
	q.read = func(w store.Window) ([]int64, error) {
		return numbersOf(func(one bankstore.Connection) int64 { return int64(one.ID) })(bankstore.From(c.db).Connections(c.t.Context(), domain, user, w))
	}
	q.count = func() (int64, error) { return bankstore.From(c.db).CountConnections(c.t.Context(), domain, user) }
	return q
}

func (c *connectionSet) inTrouble(t *rapid.T) listing {
	domain, _ := c.drawOwner(t)
	f := bankstore.TroubleFilter{Domain: domain}
	maybe(t, "state", &f.State, passerelle.ConnectionStates()...)
	maybe(t, "connector", &f.Connector, "c0", "c1", "c9")
	q := idListing(ways{directions: true}, c.connections, func(r idRow) bool {
		return r.domain == domain && !r.gone && r.kind != "" && (f.State == "" || string(f.State) == r.kind) && (f.Connector == "" || f.Connector == r.name)
	})
	q.read = func(w store.Window) ([]int64, error) {
		return numbersOf(func(one bankstore.Connection) int64 { return int64(one.ID) })(bankstore.From(c.db).ConnectionsInTrouble(c.t.Context(), f, w))
	}
	return q
}

// drawBelow draws a filter of objects that belong to connections: an owner, one or several
// connections, ids, and whether hidden objects are included. A nil list does not filter, and an
// empty list selects nothing.
func (c *connectionSet) drawBelow(t *rapid.T, rows []idRow) (f bankstore.AccountFilter, ids []int64) {
	f.Domain, f.User = c.drawOwner(t)
	f.All = rapid.Bool().Draw(t, "all")
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
		return r.domain == f.Domain && r.user == f.User && !r.gone && (f.All || !r.hidden) && (f.Connection == 0 || f.Connection == r.connection) &&
			(f.Connections == nil || slices.Contains(f.Connections, r.connection)) && (ids == nil || slices.Contains(ids, r.id))
	}
}

// as converts numbers to an id type; nil stays nil.
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

func (c *connectionSet) bankAccounts(t *rapid.T) listing {
	f, ids := c.drawBelow(t, c.accounts)
	q := idListing(ways{directions: true, skips: true}, c.accounts, isBelow(f, ids))
	f.IDs = as[passerelle.AccountID](ids)
	q.read = func(w store.Window) ([]int64, error) {
		return numbersOf(func(one bankstore.StoredAccount) int64 { return int64(one.ID) })(bankstore.From(c.db).BankAccounts(c.t.Context(), f, w))
	}
	q.count = func() (int64, error) { return bankstore.From(c.db).CountBankAccounts(c.t.Context(), f) }
	return q
}

func (c *connectionSet) subscribed(t *rapid.T) listing {
	below, ids := c.drawBelow(t, c.subscriptions)
	f := bankstore.SubscriptionFilter{Domain: below.Domain, User: below.User, Connection: below.Connection, Connections: below.Connections, IDs: as[passerelle.SubscriptionID](ids), All: below.All}
	q := idListing(ways{directions: true, skips: true}, c.subscriptions, isBelow(below, ids))
	q.read = func(w store.Window) ([]int64, error) {
		return numbersOf(func(one bankstore.StoredSubscription) int64 { return int64(one.ID) })(bankstore.From(c.db).Subscriptions(c.t.Context(), f, w))
	}
	q.count = func() (int64, error) { return bankstore.From(c.db).CountSubscriptions(c.t.Context(), f) }
	return q
}

// TestConnectionsAreThoseOfTheReference reads random windows of connections and of their
// objects.
func TestConnectionsAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		c := newConnectionSet(s)
		compareLists(t, map[string]func(*rapid.T) listing{
			"of a user": c.ofUser, "in trouble": c.inTrouble, "accounts": c.bankAccounts, "subscriptions": c.subscribed,
		})
	})
}

func (s fixture) tokens() func(*rapid.T) listing {
	var all []idRow
	kinds := []string{"config", "users", "service", "user", "code"}
	for i := range 40 {
		row := idRow{domain: []passerelle.DomainID{s.domain, s.domain, s.other}[i%3], kind: kinds[i*i%7%5]}
		token := store.Token{Domain: row.domain, Kind: row.kind, Hash: []byte(fmt.Sprint(i)), Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateToken(&token) })
		row.id = token.ID
		all = append(all, row)
	}
	return func(t *rapid.T) listing {
		f := store.TokenFilter{All: rapid.Bool().Draw(t, "all")}
		f.Domain, _ = s.drawOwner(t)
		if rapid.IntRange(0, 5).Draw(t, "one") == 0 {
			f.Only = rapid.SampledFrom(all).Draw(t, "token").id
		}
		q := idListing(ways{directions: true}, all, func(r idRow) bool {
			return r.domain == f.Domain && (f.Only == 0 || f.Only == r.id) && (f.All || r.kind == "config" || r.kind == "users")
		})
		q.read = func(w store.Window) ([]int64, error) {
			return numbersOf(func(one store.Token) int64 { return one.ID })(s.db.Tokens(s.t.Context(), f, w))
		}
		return q
	}
}

func (s fixture) hooks() func(*rapid.T) listing {
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
	return func(t *rapid.T) listing {
		f := store.WebhookFilter{All: rapid.Bool().Draw(t, "all")}
		f.Domain, _ = s.drawOwner(t)
		q := idListing(ways{skips: true}, all, func(r idRow) bool { return r.domain == f.Domain && (f.All || !r.hidden) })
		q.read = func(w store.Window) ([]int64, error) {
			return numbersOf(func(one store.Webhook) int64 { return int64(one.ID) })(s.db.Webhooks(s.t.Context(), f, w))
		}
		q.count = func() (int64, error) { return s.db.CountWebhooks(s.t.Context(), f) }
		return q
	}
}

func (s fixture) applications() func(*rapid.T) listing {
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
	return func(t *rapid.T) listing {
		domain, _ := s.drawOwner(t)
		q := idListing(ways{directions: true}, all, func(r idRow) bool { return r.domain == domain && !r.gone })
		q.read = func(w store.Window) ([]int64, error) {
			return numbersOf(func(one store.Client) int64 { return int64(one.ID) })(s.db.ClientPage(s.t.Context(), domain, w))
		}
		return q
	}
}

func (s fixture) mails() func(*rapid.T) listing {
	var all []idRow
	for i := range 30 {
		domain := []passerelle.DomainID{s.domain, s.domain, s.other}[i%3]
		all = append(all, idRow{domain: domain, id: s.mail(store.Webhook{Domain: domain}, "subject").ID})
	}
	return func(t *rapid.T) listing {
		domain, _ := s.drawOwner(t)
		q := idListing(ways{newest: true, skips: true}, all, func(r idRow) bool { return r.domain == domain })
		q.read = func(w store.Window) ([]int64, error) {
			return numbersOf(func(one store.Mail) int64 { return one.ID })(s.db.Mails(s.t.Context(), domain, w))
		}
		q.count = func() (int64, error) { return s.db.CountMails(s.t.Context(), domain) }
		return q
	}
}

func (s fixture) authProviders() func(*rapid.T) listing {
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
	return func(t *rapid.T) listing {
		f := store.ProviderFilter{}
		f.Domain, _ = s.drawOwner(t)
		one, none := rapid.SampledFrom(all).Draw(t, "provider").name, ""
		maybe(t, "name", &f.Name, &one, &none)
		q := idListing(ways{skips: true}, all, func(r idRow) bool { return r.domain == f.Domain && !r.gone && (f.Name == nil || *f.Name == r.name) })
		q.read = func(w store.Window) ([]int64, error) {
			return numbersOf(func(one store.AuthProvider) int64 { return one.ID })(s.db.AuthProviders(s.t.Context(), f, w))
		}
		q.count = func() (int64, error) { return s.db.CountAuthProviders(s.t.Context(), f) }
		return q
	}
}

// TestListsByIDAreThoseOfTheReference reads random windows of the lists that operators read.
func TestListsByIDAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		compareLists(t, map[string]func(*rapid.T) listing{
			"tokens": s.tokens(), "webhooks": s.hooks(), "clients": s.applications(), "mails": s.mails(), "providers": s.authProviders(),
		})
	})
}

// TestUsersAreThoseOfTheReference: lists of users have their own window type, whose position
// always exists.
func TestUsersAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		var all []idRow
		for i := range 30 {
			u := passerelle.User{Domain: []passerelle.DomainID{s.domain, s.domain, s.other}[i%3], Created: now, Permanent: &now}
			s.write(func(tx *store.Tx) error { return tx.CreateUser(&u) })
			gone := i%4 == 3
			if gone {
				s.write(func(tx *store.Tx) error { bankstore.In(tx).DeleteUser(u, now); return nil })
			}
			all = append(all, idRow{id: int64(u.ID), domain: u.Domain, gone: gone})
		}
		rapid.Check(t, func(rt *rapid.T) {
			domain, _ := s.drawOwner(rt)
			q := idListing(ways{skips: true}, all, func(r idRow) bool { return r.domain == domain && !r.gone })
			q.read = func(w store.Window) ([]int64, error) {
				from := passerelle.UserID(0)
				if w.Backward {
					from = 1<<63 - 1
				}
				if w.From != nil {
					from = passerelle.UserID(w.From[0].(int64))
				}
				return numbersOf(func(u passerelle.User) int64 { return int64(u.ID) })(s.db.Users(s.t.Context(), domain, store.UserWindow{Limit: w.Limit, Offset: w.Offset, From: from, Backward: w.Backward}))
			}
			q.count = func() (int64, error) { return s.db.CountUsers(s.t.Context(), domain) }
			q.check(rt)
		})
	})
}

// filedDocument is a document in the reference list.
type filedDocument struct {
	passerelle.Document
	idRow
	// day is the day in the list.
	day          passerelle.Date
	subscription bankstore.StoredSubscription
	transaction  passerelle.TransactionID
}

// documentSet has documents of subscriptions, at least one in each condition.
type documentSet struct {
	*connectionSet
	documents []*filedDocument
}

func newDocumentSet(s fixture) *documentSet {
	c := &documentSet{connectionSet: newConnectionSet(s)}
	for n, row := range c.subscriptions {
		found, err := bankstore.From(s.db).Subscriptions(s.t.Context(), bankstore.SubscriptionFilter{Domain: row.domain, User: row.user, IDs: []passerelle.SubscriptionID{passerelle.SubscriptionID(row.id)}, All: true}, store.Window{Limit: 1})
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range 4 {
			if len(found) > 0 {
				c.file(row, found[0], n+i*3)
			}
		}
	}
	return c
}

// file adds a document of the provider or of the user, with or without a day and a total.
func (c *documentSet) file(of idRow, s bankstore.StoredSubscription, n int) {
	d := &filedDocument{idRow: of, subscription: s, Document: passerelle.Document{DocumentDetails: passerelle.DocumentDetails{
		Key: fmt.Sprint(n), Type: []string{"bill", "statement", "unheard of"}[n%3], Name: `a "Date":"2026-01-02" b`, Due: day(n % 3),
	}, Found: time.Date(2026, 1, 1+n%3, 23*(n%2), 30, 0, 0, time.UTC), LastUpdate: now}}
	if n%2 == 0 {
		d.Date = day(n % 4)
	}
	if n%3 > 0 {
		d.Total = new(decimal.MustParse(values[n%len(values)]))
	}
	c.write(func(tx *store.Tx) error { return bankstore.In(tx).CreateDocument(of.domain, s, &d.Document, 1) })
	c.write(func(tx *store.Tx) error { bankstore.In(tx).CountDocuments(of.domain, s, 1); return nil })
	if d.day = d.Date; d.day.IsZero() {
		d.day = passerelle.DateOf(d.Found, time.UTC)
	}
	c.edit(d, n)
	c.documents = append(c.documents, d)
}

// edit changes a document as a user or a provider does.
func (c *documentSet) edit(d *filedDocument, n int) {
	var e bankstore.DocumentEdit
	switch n % 7 {
	case 1:
		e.Date, d.Date = bankstore.Own[passerelle.Date]{Set: true}, passerelle.Date{}
		d.day = passerelle.DateOf(d.Found, time.UTC)
	case 2:
		own := day(1)
		e.Date, d.Date, d.day = bankstore.Own[passerelle.Date]{Set: true, Value: &own}, own, own
	case 3:
		e.Total, d.Total = bankstore.Own[decimal.Decimal]{Set: true}, nil
	case 4:
		d.Deleted = &now
		c.write(func(tx *store.Tx) error {
			bankstore.In(tx).LoseDocument(d.idRow.domain, d.subscription, d.Document.ID, now, 1)
			bankstore.In(tx).CountDocuments(d.idRow.domain, d.subscription, -1)
			return nil
		})
	case 5:
		d.transaction = passerelle.TransactionID(1 + n%2)
		c.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`INSERT INTO transaction_document (domain_id, user_id, account_id, account_epoch, transaction_id, subscription_id, subscription_epoch, document_id) VALUES ($1, $2, 1, 0, $3, $4, 0, $5)`,
				int64(d.idRow.domain), int64(d.idRow.user), int64(d.transaction), int64(d.Subscription), int64(d.Document.ID))
			return nil
		})
	}
	if !e.None() {
		c.write(func(tx *store.Tx) error { return bankstore.In(tx).EditDocument(d.idRow.domain, d.Document, e, now) })
	}
}

// stamp is the timestamp of a document in a zone.
func (d *filedDocument) stamp(zone *time.Location) time.Time {
	if d.Date.IsZero() {
		return d.Found
	}
	return d.Date.In(zone)
}

func (d *filedDocument) meets(f bankstore.DocumentFilter) bool {
	kind := d.Type
	if !slices.Contains(passerelle.DocumentTypes(), kind) {
		kind = "other"
	}
	stamp := d.Found
	if f.Zone != nil {
		stamp = d.stamp(f.Zone)
	}
	return f.Domain == d.idRow.domain && f.User == d.idRow.user && !d.gone && (f.All || !d.hidden && d.Deleted == nil) && (f.Connection == 0 || f.Connection == d.connection) &&
		(f.Subscription == 0 || f.Subscription == d.Subscription) && (f.ID == 0 || f.ID == d.Document.ID) && (f.Types == nil || slices.Contains(f.Types, kind)) &&
		(f.Transaction == 0 || f.Transaction == d.transaction) && (f.From.IsZero() || d.day.Compare(f.From) >= 0) && (f.Until.IsZero() || d.day.Compare(f.Until) <= 0) &&
		(f.Since.IsZero() || !stamp.Before(f.Since)) && (f.Before.IsZero() || stamp.Before(f.Before)) &&
		(f.Least == nil || d.Total != nil && d.Total.Cmp(*f.Least) >= 0) && (f.Most == nil || d.Total != nil && d.Total.Cmp(*f.Most) <= 0)
}

func (c *documentSet) drawFilter(t *rapid.T) bankstore.DocumentFilter {
	one := func(text string) *decimal.Decimal { d := decimal.MustParse(text); return &d }
	f := bankstore.DocumentFilter{All: rapid.Bool().Draw(t, "all")}
	f.Domain, f.User = c.drawOwner(t)
	some := rapid.SampledFrom(c.documents).Draw(t, "document")
	maybe(t, "connection", &f.Connection, some.connection)
	maybe(t, "subscription", &f.Subscription, some.Subscription)
	maybe(t, "transaction", &f.Transaction, 1, 2, 3)
	maybe(t, "types", &f.Types, []string{}, []string{"bill"}, []string{"other", "statement", "bill"})
	maybe(t, "from", &f.From, day(0), day(1), day(2), day(3))
	maybe(t, "until", &f.Until, day(-1), day(0), day(1), day(2), day(3))
	maybe(t, "least", &f.Least, one("-5.0"), one("0"), one("0.1"), one("7.0000000001"))
	maybe(t, "most", &f.Most, one("-5.0"), one("0"), one("0.1"), one("7.0000000000"), one("1234567890123.44"))
	if rapid.IntRange(0, 9).Draw(t, "one") == 0 {
		f.ID = some.Document.ID
	}
	c.drawStamps(t, &f)
	return f
}

// drawStamps limits the timestamp to the ends of days in several time zones.
func (c *documentSet) drawStamps(t *rapid.T, f *bankstore.DocumentFilter) {
	zones := []*time.Location{time.UTC, time.FixedZone("east", 5*3600+1800), time.FixedZone("west", -9*3600)}
	f.Zone = rapid.SampledFrom(zones).Draw(t, "zone")
	bounds := map[string]*time.Time{"since": &f.Since, "before": &f.Before}
	for _, name := range []string{"since", "before"} { // in a fixed order, so that a seed repeats the run
		bound := bounds[name]
		if rapid.IntRange(0, 3).Draw(t, name) > 0 {
			continue
		}
		zone := rapid.SampledFrom(zones).Draw(t, "zone of "+name)
		*bound = day(rapid.IntRange(-1, 4).Draw(t, "day of "+name)).In(zone).Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "beside")) * time.Microsecond)
		maybe(t, "found "+name, bound, rapid.SampledFrom(c.documents).Draw(t, "found").Found)
	}
}

// TestDocumentsAreThoseOfTheReference reads arbitrary windows of arbitrary filters.
func TestDocumentsAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		c := newDocumentSet(s)
		at := func(d *filedDocument) spot { return spot{d.day.String(), int64(d.Document.ID)} }
		rapid.Check(t, func(rt *rapid.T) {
			f := c.drawFilter(rt)
			q := listing{ways: ways{newest: true, directions: true, skips: true}, all: spotsOf(c.documents, at, anyRow[*filedDocument])}
			q.selected = spotsOf(c.documents, at, func(d *filedDocument) bool { return d.meets(f) })
			q.read = func(w store.Window) ([]int64, error) {
				return numbersOf(func(d bankstore.StoredDocument) int64 { return int64(d.ID) })(bankstore.From(s.db).Documents(s.t.Context(), f, w))
			}
			q.count = func() (int64, error) { return bankstore.From(s.db).CountDocuments(s.t.Context(), f) }
			q.check(rt)
		})
	})
}
