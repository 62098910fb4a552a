package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/webhook"
)

func (s fixture) hook(domain passerelle.DomainID) store.Webhook {
	s.t.Helper()
	w := store.Webhook{Domain: domain, Event: webhook.PaymentStateUpdated, URL: "https://receiver.example/x", Created: now}
	s.write(func(tx *store.Tx) error { return tx.CreateWebhook(&w) })
	return w
}

func (s fixture) mail(w store.Webhook, subject string) store.Mail {
	s.t.Helper()
	m := store.Mail{Domain: w.Domain, Webhook: w.ID, Kind: "alert", Recipient: "ops@bank.example", Subject: subject, Text: "a\né\n", Created: now}
	s.write(func(tx *store.Tx) error { return tx.CreateMail(&m) })
	return m
}

func (s fixture) claimMail(at time.Time, lease time.Duration) *store.Mail {
	s.t.Helper()
	var m *store.Mail
	s.write(func(tx *store.Tx) error { tx.ClaimMail(at, lease, &m); return nil })
	return m
}

func (s fixture) wantMails(domain passerelle.DomainID, want ...store.Mail) {
	s.t.Helper()
	got, err := s.db.Mails(s.t.Context(), domain, store.Window{Limit: 100})
	wantSame(s.t, want, got, err)
	count, err := s.db.CountMails(s.t.Context(), domain)
	wantSame(s.t, int64(len(want)), count, err)
}

func TestMailIsClaimedRetriedAndRemoved(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		m := s.mail(s.hook(s.domain), "first")
		s.wantMails(s.domain, m)
		s.wantMails(s.other)
		got := s.claimMail(now, time.Hour)
		m.Attempts = 1
		wantSame(t, &m, got, nil)
		if again := s.claimMail(now, time.Hour); again != nil {
			t.Errorf("claimed twice: %+v", again)
		}
		later := now.Add(time.Minute)
		s.write(func(tx *store.Tx) error { tx.MailFailed(m, "refused", later); return nil })
		m.Failure = "refused"
		s.wantMails(s.domain, m)
		if early := s.claimMail(later.Add(-time.Microsecond), time.Hour); early != nil {
			t.Errorf("claimed too early: %+v", early)
		}
		m.Attempts = 2
		wantSame(t, &m, s.claimMail(later, time.Hour), nil)
		s.write(func(tx *store.Tx) error { tx.MailSent(m, later); return nil })
		m.Failure, m.Sent = "", &later
		s.wantMails(s.domain, m)
		if over := s.claimMail(later.Add(time.Hour), time.Hour); over != nil {
			t.Errorf("claimed after it was sent: %+v", over)
		}
	})
}

// TestMailBelongsToWhoClaimedItLast checks that a sender cannot change a mail of another domain, or
// a mail that another sender has claimed since.
func TestMailBelongsToWhoClaimedItLast(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.mail(s.hook(s.domain), "first")
		slow := s.claimMail(now, -time.Second)
		fast := s.claimMail(now, time.Hour)
		if slow == nil || fast == nil || slow.ID != fast.ID {
			t.Fatalf("claimed %+v and %+v", slow, fast)
		}
		foreign := *fast
		foreign.Domain = s.other
		for _, m := range []store.Mail{*slow, foreign} {
			wantError(t, s.try(func(tx *store.Tx) error { tx.MailSent(m, now); return nil }), store.ErrConflict)
			wantError(t, s.try(func(tx *store.Tx) error { tx.MailFailed(m, "x", now); return nil }), store.ErrConflict)
		}
		s.write(func(tx *store.Tx) error { tx.MailSent(*fast, now); return nil })
		wantError(t, s.try(func(tx *store.Tx) error { tx.MailSent(*fast, now); return nil }), store.ErrConflict)
	})
}

func TestMailsAreClaimedOnceAndInOrder(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		mine, theirs := s.hook(s.domain), s.hook(s.other)
		for i := range 5 {
			s.mail(mine, fmt.Sprint(i))
			s.mail(theirs, fmt.Sprint(i))
		}
		first := s.claimMail(now, time.Hour)
		if first == nil || first.Subject != "0" {
			t.Fatalf("claimed %+v first", first)
		}
		s.write(func(tx *store.Tx) error { tx.MailFailed(*first, "x", now.Add(time.Second)); return nil })
		var mu sync.Mutex
		var ids []int64
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for range 10 {
					if m := s.claimMail(now, time.Hour); m != nil {
						mu.Lock()
						ids = append(ids, m.ID)
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		slices.Sort(ids)
		if len(ids) != 9 || len(slices.Compact(slices.Clone(ids))) != 9 || slices.Contains(ids, first.ID) {
			t.Errorf("claimed %v", ids)
		}
	})
}

func TestOutboxIsBounded(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		w := s.hook(s.domain)
		kept := s.mail(s.hook(s.other), "theirs")
		oldest, second := s.mail(w, "oldest"), s.mail(w, "second")
		s.write(func(tx *store.Tx) error { tx.MailSent(store.Mail{ID: second.ID, Domain: s.domain}, now); return nil })
		fill := func(count int) {
			s.write(func(tx *store.Tx) error {
				tx.Unit().Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
					INSERT INTO mail (id, domain_id, kind, recipient, subject, text, created)
					SELECT $2 + i, $3, 'alert', 'x@y.example', '', '', 0 FROM n`, count, s.count(`SELECT max(id) FROM mail`), int64(s.domain))
				tx.Unit().Exec(`UPDATE sequence SET next = (SELECT max(id) + 1000 FROM mail) WHERE name = 'mail'`)
				return nil
			})
			s.write(func(tx *store.Tx) error { _, err := tx.Unit().NewIDs("mail", 10_000); return err }) // the ids that this process still has in reserve are less than those of the inserted mails, so NewIDs must use them up
		}
		has := func(m store.Mail) bool { return s.count(`SELECT count(*) FROM mail WHERE id = $1`, m.ID) == 1 }
		fill(store.MaxMails - 3)
		if s.mail(w, "fits"); !has(oldest) || !has(second) {
			t.Error("forgot a mail too early")
		}
		if s.mail(w, "one more"); !has(oldest) || !has(second) {
			t.Error("forgot a mail too early")
		}
		if s.mail(w, "and one more"); !has(oldest) || has(second) {
			t.Error("forgot what was not sent, or kept what was")
		}
		fill(store.MaxUnsentMails)
		if s.mail(w, "last"); has(oldest) || !has(kept) {
			t.Error("kept too much, or forgot another domain's")
		}
		if count := s.count(`SELECT count(*) FROM mail WHERE domain_id = $1`, int64(s.domain)); count != store.MaxUnsentMails {
			t.Errorf("kept %d mails", count)
		}
	})
}

func TestMailsComeInPages(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		w := s.hook(s.domain)
		var ids []int64
		for i := range 5 {
			ids = append(ids, s.mail(w, fmt.Sprint(i)).ID)
		}
		slices.Reverse(ids)
		for _, test := range []struct {
			window store.Window
			want   []int64
		}{
			{store.Window{Limit: 2}, ids[:2]},
			{store.Window{Limit: 2, Offset: 3}, ids[3:]},
			{store.Window{Limit: 2, From: []any{ids[1]}}, ids[2:4]},
			{store.Window{Limit: 9, From: []any{ids[4]}}, nil},
			{store.Window{Limit: 2, From: []any{ids[3]}, Backward: true}, []int64{ids[2], ids[1]}},
		} {
			mails, err := s.db.Mails(t.Context(), s.domain, test.window)
			var got []int64
			for _, m := range mails {
				got = append(got, m.ID)
			}
			wantSame(t, test.want, got, err)
		}
	})
}

func TestOutage(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		hour := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
		w, other := s.hook(s.domain), s.hook(s.domain)
		got, err := s.db.Outage(t.Context(), w)
		wantSame(t, store.Outage{}, got, err)
		attempt := func(w store.Webhook, id int64, at time.Time, failure string) {
			s.write(func(tx *store.Tx) error {
				tx.Unit().Exec(`INSERT INTO delivery_attempt (id, domain_id, webhook_id, delivery_id, at, duration, failure) VALUES ($1, $2, $3, 1, $4, 0, $5)`,
					id, int64(w.Domain), int64(w.ID), database.Micros(at), database.OptionalText(failure))
				return nil
			})
		}
		s.write(func(tx *store.Tx) error {
			return tx.Emit(store.EmittedEvent{
				Domain: s.domain, Name: webhook.PaymentStateUpdated, Subject: "payment", SubjectID: 1, Version: 1, Body: []byte("{}"), Created: hour(-5),
			})
		})
		attempt(w, 1, hour(0), "status 500")
		attempt(w, 2, hour(1), "")
		attempt(w, 3, hour(2), "timeout")
		attempt(w, 4, hour(3), "status 503")
		attempt(w, 5, hour(3), "status 502")
		attempt(other, 6, hour(4), "name not found")
		got, err = s.db.Outage(t.Context(), w)
		wantSame(t, store.Outage{Since: new(hour(0)), Failure: "status 502", Waiting: 1, Oldest: new(hour(-5))}, got, err)
		w.LastSuccess = new(hour(1))
		got, err = s.db.Outage(t.Context(), w)
		wantSame(t, store.Outage{Since: new(hour(2)), Failure: "status 502", Waiting: 1, Oldest: new(hour(-5))}, got, err)
		w.LastSuccess = new(hour(4))
		got, err = s.db.Outage(t.Context(), w)
		wantSame(t, store.Outage{Waiting: 1, Oldest: new(hour(-5))}, got, err)
		w.Domain = s.other
		got, err = s.db.Outage(t.Context(), w)
		if diff := cmp.Diff(store.Outage{}, got); diff != "" || err != nil {
			t.Errorf("of another domain: %v %s", err, diff)
		}
	})
}
