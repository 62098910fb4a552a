package bankstore_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest/lists"
)

func at(n int) time.Time { return now.Add(time.Duration(n) * time.Minute) }

func recordSpot(at time.Time, id int64) lists.Spot {
	return lists.Spot{Key: database.Micros(at), ID: id}
}

type bounds struct{ from, until time.Time }

func drawTimes(t *rapid.T) (b bounds) {
	instants := []time.Time{at(-1), at(0), at(1), at(2), at(3), at(4), at(1).Add(time.Microsecond)}
	lists.Maybe(t, "from", &b.from, instants...)
	lists.Maybe(t, "until", &b.until, instants...)
	return b
}

func (b bounds) hold(at time.Time) bool {
	return (b.from.IsZero() || !at.Before(b.from)) && (b.until.IsZero() || at.Before(b.until))
}

type loggedSync struct {
	bankstore.ConnectionLog
	domain passerelle.DomainID
	gone   bool
}

func (s fixture) loggedSyncs() []loggedSync {
	connections := []bankstore.Connection{
		s.connect(s.domain, 7, "c1", "", false), s.connect(s.domain, 7, "c1", "", false), s.connect(s.domain, 7, "c1", "", true),
		s.connect(s.domain, 8, "c1", "", false), s.connect(s.other, 7, "c1", "", false),
	}
	var all []loggedSync
	for i := range 60 {
		c := connections[i*i%13%5]
		one := loggedSync{gone: c.ID == connections[2].ID, domain: c.Domain, ConnectionLog: bankstore.ConnectionLog{User: c.User, Connection: c.ID, Source: passerelle.SourceID(i % 3), Started: now, At: at((60 - i) % 4)}}
		s.write(func(tx *store.Tx) error { return bankstore.In(tx).LogSync(c.Domain, one.ConnectionLog) })
		one.ID = s.count(`SELECT max(id) FROM connection_log`)
		all = append(all, one)
	}
	return all
}

func (s fixture) connectionLogs() func(*rapid.T) lists.List {
	all := s.loggedSyncs()
	spotOf := func(v loggedSync) lists.Spot { return recordSpot(v.At, v.ID) }
	return func(t *rapid.T) lists.List {
		times, of := drawTimes(t), rapid.SampledFrom(all).Draw(t, "connection")
		f := bankstore.ConnectionLogFilter{Domain: of.domain, User: of.User, Connection: of.Connection, From: times.from, Until: times.until}
		lists.Maybe(t, "user", &f.User, 7, 8)
		lists.Maybe(t, "domain", &f.Domain, s.domain, s.other)
		lists.Maybe(t, "source", &f.Source, 1, 2, 9)
		return lists.List{
			Ways: lists.Ways{Newest: true, Skips: true}, All: lists.Spots(all, spotOf, lists.Any[loggedSync]),
			Selected: lists.Spots(all, spotOf, func(v loggedSync) bool {
				return f.Domain == v.domain && f.User == v.User && f.Connection == v.Connection && (f.Source == 0 || f.Source == v.Source) && times.hold(v.At)
			}),
			Read: func(w store.Window) ([]int64, error) {
				return lists.IDs(func(l bankstore.ConnectionLog) int64 { return l.ID })(bankstore.From(s.db).ConnectionLogs(s.t.Context(), f, w))
			},
			Count: func() (int64, error) { return bankstore.From(s.db).CountConnectionLogs(s.t.Context(), f) },
		}
	}
}

func (s fixture) consents() func(*rapid.T) lists.List {
	type agreed struct {
		bankstore.Consent
		domain passerelle.DomainID
	}
	var all []agreed
	for i := range 40 {
		domain := []passerelle.DomainID{s.domain, s.domain, s.other}[i%3]
		one := agreed{bankstore.Consent{User: passerelle.UserID(7 + i/3%2), Connection: passerelle.ConnectionID(i%3 + 1), TextVersion: "1", Origin: "o", Granted: at((40 - i) % 4)}, domain}
		s.write(func(tx *store.Tx) error { return bankstore.In(tx).RecordConsent(domain, one.Consent) })
		one.ID = s.count(`SELECT max(id) FROM consent`)
		all = append(all, one)
	}
	spotOf := func(c agreed) lists.Spot { return recordSpot(c.Granted, c.ID) }
	return func(t *rapid.T) lists.List {
		f := bankstore.ConsentFilter{Domain: s.domain, User: 7}
		lists.Maybe(t, "domain", &f.Domain, s.other)
		lists.Maybe(t, "user", &f.User, 8, 9)
		return lists.List{
			Ways: lists.Ways{Newest: true, Skips: true}, All: lists.Spots(all, spotOf, lists.Any[agreed]),
			Selected: lists.Spots(all, spotOf, func(c agreed) bool { return c.domain == f.Domain && c.User == f.User }),
			Read: func(w store.Window) ([]int64, error) {
				return lists.IDs(func(c bankstore.Consent) int64 { return c.ID })(bankstore.From(s.db).Consents(s.t.Context(), f, w))
			},
			Count: func() (int64, error) { return bankstore.From(s.db).CountConsents(s.t.Context(), f) },
		}
	}
}

// TestConnectionLogsOfAUserMatchTheReference compares the syncs of a user's connections, except
// deleted ones, with a reference. The lists begin at random positions.
func TestConnectionLogsOfAUserMatchTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		all := s.loggedSyncs()
		slices.SortFunc(all, func(a, b loggedSync) int {
			return cmp.Or(cmp.Compare(a.Connection, b.Connection), a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
		})
		rapid.Check(t, func(rt *rapid.T) {
			w := store.Window{Limit: rapid.IntRange(0, 61).Draw(rt, "limit")}
			from := loggedSync{}
			if rapid.Bool().Draw(rt, "from a place") {
				from = rapid.SampledFrom(all).Draw(rt, "place")
				from.ID += rapid.Int64Range(-1, 1).Draw(rt, "beside")
				w.From = []any{int64(from.Connection), database.Micros(from.At), from.ID}
			}
			var want []int64
			for _, v := range all {
				beyond := cmp.Or(cmp.Compare(v.Connection, from.Connection), v.At.Compare(from.At), cmp.Compare(v.ID, from.ID)) > 0
				if v.domain == s.domain && v.User == 7 && !v.gone && (w.From == nil || beyond) && len(want) < w.Limit {
					want = append(want, v.ID)
				}
			}
			got, err := lists.IDs(func(l bankstore.ConnectionLog) int64 { return l.ID })(bankstore.From(s.db).ConnectionLogsOf(s.t.Context(), s.domain, 7, w))
			if err != nil || !slices.Equal(got, want) {
				rt.Errorf("%+v lists %v, want %v; %v", w, got, want, err)
			}
		})
	})
}

func TestRecordsAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		lists.Compare(t, map[string]func(*rapid.T) lists.List{"connection logs": s.connectionLogs(), "consents": s.consents()})
	})
}
