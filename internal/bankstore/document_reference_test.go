package bankstore_test

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
	"passerelle/internal/store/storetest/lists"
)

type filedDocument struct {
	passerelle.Document
	idRow
	// day is the day that determines the place in the list.
	day          passerelle.Date
	subscription bankstore.StoredSubscription
	transaction  passerelle.TransactionID
}

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
	lists.Maybe(t, "connection", &f.Connection, some.connection)
	lists.Maybe(t, "subscription", &f.Subscription, some.Subscription)
	lists.Maybe(t, "transaction", &f.Transaction, 1, 2, 3)
	lists.Maybe(t, "types", &f.Types, []string{}, []string{"bill"}, []string{"other", "statement", "bill"})
	lists.Maybe(t, "from", &f.From, day(0), day(1), day(2), day(3))
	lists.Maybe(t, "until", &f.Until, day(-1), day(0), day(1), day(2), day(3))
	lists.Maybe(t, "least", &f.Least, one("-5.0"), one("0"), one("0.1"), one("7.0000000001"))
	lists.Maybe(t, "most", &f.Most, one("-5.0"), one("0"), one("0.1"), one("7.0000000000"), one("1234567890123.44"))
	if rapid.IntRange(0, 9).Draw(t, "one") == 0 {
		f.ID = some.Document.ID
	}
	c.drawStamps(t, &f)
	return f
}

// drawStamps draws limits of the timestamp, most of them near the ends of days in several time
// zones.
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
		lists.Maybe(t, "found "+name, bound, rapid.SampledFrom(c.documents).Draw(t, "found").Found)
	}
}

func TestDocumentsAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		c := newDocumentSet(s)
		at := func(d *filedDocument) lists.Spot { return lists.Spot{Key: d.day.String(), ID: int64(d.Document.ID)} }
		rapid.Check(t, func(rt *rapid.T) {
			f := c.drawFilter(rt)
			q := lists.List{Ways: lists.Ways{Newest: true, Directions: true, Skips: true}, All: lists.Spots(c.documents, at, lists.Any[*filedDocument])}
			q.Selected = lists.Spots(c.documents, at, func(d *filedDocument) bool { return d.meets(f) })
			q.Read = func(w store.Window) ([]int64, error) {
				return lists.IDs(func(d bankstore.StoredDocument) int64 { return int64(d.ID) })(bankstore.From(s.db).Documents(s.t.Context(), f, w))
			}
			q.Count = func() (int64, error) { return bankstore.From(s.db).CountDocuments(s.t.Context(), f) }
			q.Check(rt)
		})
	})
}
