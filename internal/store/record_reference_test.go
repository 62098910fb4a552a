package store_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/operatorstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest/lists"
	"passerelle/webhook"
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

type sentPayload struct {
	id      int64
	domain  passerelle.DomainID
	webhook passerelle.WebhookID
	user    passerelle.UserID
	created time.Time
	state   store.WebhookState
}

type sentRequest struct {
	*sentPayload
	id int64
	at time.Time
}

type webhookSet struct {
	fixture
	webhooks []store.Webhook
	payloads []*sentPayload
	requests []sentRequest
}

func newWebhookSet(s fixture) *webhookSet {
	p := &webhookSet{fixture: s}
	for _, domain := range []passerelle.DomainID{s.domain, s.domain, s.other} {
		w := store.Webhook{Domain: domain, Event: webhook.AccountFound, URL: "https://a.example", Created: now}
		s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
		p.webhooks = append(p.webhooks, w)
	}
	s.write(func(tx *store.Tx) error {
		for _, w := range p.webhooks {
			for user := range 2 {
				// The id of the event is the id of the webhook, followed by the variable user as a
				// digit.
				tx.Unit().Exec(`INSERT INTO event (id, domain_id, name, subject, subject_id, version, body, created, user_id) VALUES ($1, $2, 'ACCOUNT_FOUND', 'user', $1, 1, $3, 1, $4)`,
					int64(w.ID)*10+int64(user), int64(w.Domain), []byte(`{}`), database.OptionalID(passerelle.UserID(user*7)))
			}
		}
		return nil
	})
	for i := range 30 {
		p.send(i)
	}
	return p
}

// send stores a delivery with up to 25 requests. Later requests need not have greater ids, and
// several requests have the same instant.
func (p *webhookSet) send(i int) {
	w, states := p.webhooks[i*i%7%3], []store.WebhookState{store.WebhookPending, store.WebhookDropped, store.WebhookDelivered}
	one := &sentPayload{id: int64(1 + (i*11)%30), domain: w.Domain, webhook: w.ID, user: passerelle.UserID(i % 2 * 7), created: at(i % 4), state: states[i/3%3]}
	var delivered, dropped *int64
	switch one.state {
	case store.WebhookDropped:
		dropped = new(database.Micros(now))
	case store.WebhookDelivered:
		delivered, dropped = new(database.Micros(now)), map[bool]*int64{true: new(database.Micros(now))}[i%2 == 0]
	}
	p.write(func(tx *store.Tx) error {
		tx.Unit().Exec(`INSERT INTO delivery (id, domain_id, webhook_id, event_id, subject, subject_id, version, created, attempts, delivered, dropped) VALUES ($1, $2, $3, $4, 'user', 1, 1, $5, 0, $6, $7)`,
			one.id, int64(w.Domain), int64(w.ID), int64(w.ID)*10+int64(i%2), database.Micros(one.created), delivered, dropped)
		for n := range []int{0, 1, 3, 9, 10, 11, 25}[i%7] {
			request := sentRequest{one, one.id*100 + int64((n*7)%25), at(n % (1 + i%4))}
			tx.InsertAttempts(w, request.id, []store.DeliveryAttempt{{Delivery: passerelle.DeliveryID(one.id), At: request.at}})
			p.requests = append(p.requests, request)
		}
		return nil
	})
	p.payloads = append(p.payloads, one)
}

func (p *webhookSet) data(t *rapid.T) lists.List {
	w, times := rapid.SampledFrom(p.webhooks).Draw(t, "webhook"), drawTimes(t)
	f := store.WebhookDataFilter{Domain: p.domain, Webhook: w.ID, From: times.from, Until: times.until}
	lists.Maybe(t, "state", &f.State, store.WebhookPending, store.WebhookDropped, store.WebhookDelivered)
	spotOf := func(one *sentPayload) lists.Spot { return recordSpot(one.created, one.id) }
	return lists.List{
		Ways: lists.Ways{Newest: true, Skips: true}, All: lists.Spots(p.payloads, spotOf, lists.Any[*sentPayload]),
		Selected: lists.Spots(p.payloads, spotOf, func(one *sentPayload) bool {
			return one.domain == f.Domain && one.webhook == f.Webhook && times.hold(one.created) && (f.State == "" || f.State == one.state)
		}),
		Read: func(w store.Window) ([]int64, error) {
			return lists.IDs(func(d store.WebhookData) int64 { return int64(d.ID) })(p.db.WebhookData(p.t.Context(), f, w))
		},
		Count: func() (int64, error) { return p.db.CountWebhookData(p.t.Context(), f) },
	}
}

func (p *webhookSet) logs(t *rapid.T) lists.List {
	w, times := rapid.SampledFrom(p.webhooks).Draw(t, "webhook"), drawTimes(t)
	f := store.WebhookLogFilter{Domain: p.domain, Webhook: w.ID, From: times.from, Until: times.until}
	lists.Maybe(t, "user", &f.User, 7, 8)
	q := p.requested(func(one sentRequest) bool {
		return one.domain == f.Domain && one.webhook == f.Webhook && times.hold(one.at) && (f.User == 0 || f.User == one.user)
	})
	q.Read = func(w store.Window) ([]int64, error) {
		return lists.IDs(func(l store.WebhookLog) int64 { return l.ID })(p.db.WebhookLogs(p.t.Context(), f, w))
	}
	q.Count = func() (int64, error) { return p.db.CountWebhookLogs(p.t.Context(), f) }
	return q
}

func (p *webhookSet) attempts(t *rapid.T) lists.List {
	of := rapid.SampledFrom(p.payloads).Draw(t, "delivery")
	q := p.requested(func(one sentRequest) bool { return one.domain == p.domain && one.sentPayload == of })
	q.Read = func(w store.Window) ([]int64, error) {
		return lists.IDs(func(l store.WebhookLog) int64 { return l.ID })(p.db.AttemptsOf(p.t.Context(), p.domain, passerelle.DeliveryID(of.id), w))
	}
	return q
}

func (p *webhookSet) requested(selected func(sentRequest) bool) lists.List {
	spotOf := func(one sentRequest) lists.Spot { return recordSpot(one.at, one.id) }
	return lists.List{Ways: lists.Ways{Newest: true, Skips: true}, All: lists.Spots(p.requests, spotOf, lists.Any[sentRequest]), Selected: lists.Spots(p.requests, spotOf, selected)}
}

func TestWebhookListsAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := newWebhookSet(s)
		lists.Compare(t, map[string]func(*rapid.T) lists.List{"data": p.data, "logs": p.logs, "attempts": p.attempts})
		t.Run("last attempts", func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { p.compareLast(rt) })
		})
	})
}

func (p *webhookSet) compareLast(t *rapid.T) {
	of := rapid.SliceOfN(rapid.Map(rapid.SampledFrom(p.payloads), func(one *sentPayload) passerelle.DeliveryID { return passerelle.DeliveryID(one.id) }), 0, 40).Draw(t, "deliveries")
	want := map[passerelle.DeliveryID][]int64{}
	for _, id := range of {
		delete(want, id)
		var all []sentRequest
		for _, one := range p.requests {
			if int64(id) == one.sentPayload.id && one.domain == p.domain {
				all = append(all, one)
			}
		}
		slices.SortFunc(all, func(a, b sentRequest) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) })
		for _, one := range all[max(0, len(all)-10):] {
			want[id] = append(want[id], one.id)
		}
	}
	found, err := p.db.LastAttempts(p.t.Context(), p.domain, of)
	got := map[passerelle.DeliveryID][]int64{}
	for id, logs := range found {
		got[id] = requestsOf(logs)
	}
	if err != nil || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the last of %v are %v, want %v; %v", of, got, want, err)
	}
}

func (s fixture) audits() func(*rapid.T) lists.List {
	var all []store.Audit
	for i := range 60 {
		a := store.Audit{At: at(i % 4), Domain: []passerelle.DomainID{s.domain, s.other, 0}[i*i%11%3], Operator: store.OperatorID(i % 5 % 3), Act: []string{"look", "stop"}[i/3%2], Refused: i%7 == 0}
		if i%4 > 0 {
			a.Subject, a.SubjectID = []string{"", "payment", "user", "webhook"}[i%4], int64(1+i%5)
		}
		all = append(all, a)
	}
	for i := range all {
		s.write(func(tx *store.Tx) error { return tx.Audit(all[i]) })
		all[i].ID = s.count(`SELECT max(id) FROM audit`)
	}
	spotOf := func(a store.Audit) lists.Spot { return recordSpot(a.At, a.ID) }
	return func(t *rapid.T) lists.List {
		f := s.drawAudits(t)
		times := bounds{f.From, f.Until}
		return lists.List{
			Ways: lists.Ways{Newest: true, Skips: true}, All: lists.Spots(all, spotOf, lists.Any[store.Audit]),
			Selected: lists.Spots(all, spotOf, func(a store.Audit) bool {
				return times.hold(a.At) && (f.Domain == 0 || f.Domain == a.Domain) && (!f.NoDomain || a.Domain == 0) && (f.Operator == 0 || f.Operator == a.Operator) &&
					(f.Act == "" || f.Act == a.Act) && (f.Subject == "" || f.Subject == a.Subject) && (f.SubjectID == 0 || f.SubjectID == a.SubjectID) && (!f.Refused || a.Refused)
			}),
			Read: func(w store.Window) ([]int64, error) {
				return lists.IDs(func(a operatorstore.AuditLink) int64 { return a.ID })(operatorstore.From(s.db).Audits(s.t.Context(), f, w))
			},
		}
	}
}

func (s fixture) drawAudits(t *rapid.T) operatorstore.AuditFilter {
	times := drawTimes(t)
	f := operatorstore.AuditFilter{From: times.from, Until: times.until}
	lists.Maybe(t, "domain", &f.Domain, s.domain, s.other, 99)
	lists.Maybe(t, "no domain", &f.NoDomain, true)
	lists.Maybe(t, "operator", &f.Operator, 1, 2, 9)
	lists.Maybe(t, "act", &f.Act, "look", "stop", "none")
	lists.Maybe(t, "subject", &f.Subject, "payment", "user", "webhook")
	lists.Maybe(t, "one", &f.SubjectID, 1, 2, 3)
	lists.Maybe(t, "refused", &f.Refused, true)
	return f
}

func (s fixture) settingChanges() func(*rapid.T) lists.List {
	type change struct {
		store.SettingChange
		domain passerelle.DomainID
	}
	var all []change
	keys, a, b := []string{"payment.limit", "payment_limit", "user.name", "50%"}, "a", "b"
	for i := range 40 {
		c := change{domain: []passerelle.DomainID{s.domain, s.domain, s.other}[i%3], SettingChange: store.SettingChange{ID: int64(1 + i*7%40), Key: keys[i*i%5%4], At: at(i % 4)}}
		c.Type, c.Previous, c.New = "update", &a, &b
		if i%4 == 0 {
			c.Type, c.Previous = "add", nil
		} else if i%4 == 1 {
			c.Type, c.New = "delete", nil
		}
		all = append(all, c)
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`INSERT INTO setting_change (id, domain_id, key, previous_value, new_value, type, changed_by, at) VALUES ($1, $2, $3, $4, $5, $6, 'command', $7)`,
				c.ID, int64(c.domain), c.Key, c.Previous, c.New, c.Type, database.Micros(c.At))
			return nil
		})
	}
	spotOf := func(c change) lists.Spot { return recordSpot(c.At, c.ID) }
	return func(t *rapid.T) lists.List {
		times := drawTimes(t)
		f := store.SettingChanges{Domain: s.domain, From: times.from, Until: times.until}
		lists.Maybe(t, "domain", &f.Domain, s.other)
		lists.Maybe(t, "key", &f.Key, keys...)
		lists.Maybe(t, "name", &f.Name, "limit", "_", "%", ".", "USER", "none")
		lists.Maybe(t, "keys", &f.Keys, []string{"user.name"}, []string{"none", "50%", "payment.limit"})
		lists.Maybe(t, "type", &f.Type, "add", "update", "delete")
		return lists.List{
			Ways: lists.Ways{Newest: true, Skips: true}, All: lists.Spots(all, spotOf, lists.Any[change]),
			Selected: lists.Spots(all, spotOf, func(c change) bool {
				named := f.Name == "" || strings.Contains(c.Key, strings.ToLower(f.Name)) || slices.Contains(f.Keys, c.Key)
				return f.Domain == c.domain && times.hold(c.At) && (f.Key == "" || f.Key == c.Key) && (f.Type == "" || f.Type == c.Type) && named
			}),
			Read: func(w store.Window) ([]int64, error) {
				return lists.IDs(func(c store.SettingChange) int64 { return c.ID })(s.db.SettingChanges(s.t.Context(), f, w))
			},
			Count: func() (int64, error) { return s.db.CountSettingChanges(s.t.Context(), f) },
		}
	}
}

func TestRecordsAreThoseOfTheReference(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		lists.Compare(t, map[string]func(*rapid.T) lists.List{
			"audits": s.audits(), "setting changes": s.settingChanges(),
		})
	})
}
