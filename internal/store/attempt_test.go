package store_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
	"passerelle/payment"
)

func (s fixture) attempt(key string, lease time.Duration) store.Attempt {
	s.t.Helper()
	d := draft(1)
	d.Connector = "0e5e1b0c-0000-4000-8000-000000000001"
	p := s.create(d, now)
	a := store.Attempt{
		Payment: p.ID, Domain: s.domain, Number: 1, Kind: store.AttemptInitiation, Created: now, AttemptOrder: store.AttemptOrder{
			Key: key, Connector: d.Connector, Mechanism: "webauth", Waits: true,
			Fields: map[string]string{"login": "secret-value", "empty": ""},
			Device: []byte(`{"Address":"192.0.2.7"}`),
		},
	}
	s.write(func(tx *store.Tx) error { return tx.OpenAttempt(&a, lease) })
	return a
}

func (s fixture) wantAttempt(want store.Attempt) {
	s.t.Helper()
	got, err := s.db.Attempt(s.t.Context(), want.Domain, want.Payment)
	wantSame(s.t, want, got, err)
}

func (s fixture) claim(domain passerelle.DomainID, lease time.Duration, limit int, except ...string) []int64 {
	s.t.Helper()
	var claimed []store.Due
	s.write(func(tx *store.Tx) error { tx.ClaimAttempts(domain, lease, limit, except, &claimed); return nil })
	return idsOf(claimed)
}

func TestAttemptIsReadBack(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		if a.ID == 0 || a.State != store.AttemptOpen {
			t.Errorf("attempt %d is %s", a.ID, a.State)
		}
		s.wantAttempt(a)
		for _, domain := range []passerelle.DomainID{s.other, 0} {
			got, err := s.db.Attempt(t.Context(), domain, a.Payment)
			wantNotFound(t, got, err)
		}
	})
}

// TestOrderMemory checks that the connector's memory belongs to the order and not to the last
// attempt. In the database, the memory must be unreadable.
func TestOrderMemory(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		remember := func(a store.Attempt, memory string) error {
			return s.try(func(tx *store.Tx) error { return tx.RememberOrder(a, []byte(memory)) })
		}
		if err := remember(a, "first"); err != nil {
			t.Fatal(err)
		}
		s.write(func(tx *store.Tx) error { tx.AnswerAttempt(a); return nil })
		next := store.Attempt{Payment: a.Payment, Domain: a.Domain, Number: 2, Kind: store.AttemptCancellation, By: payment.ByClient, Created: now, AttemptOrder: a.AttemptOrder}
		s.write(func(tx *store.Tx) error { return tx.OpenAttempt(&next, time.Hour) })
		next.Memory = []byte("first")
		s.wantAttempt(next)
		if err := remember(next, "tokens"); err != nil {
			t.Fatal(err)
		}
		next.Memory = []byte("tokens")
		s.wantAttempt(next)
		foreign := next
		foreign.Domain = s.other
		wantError(t, remember(foreign, "of another domain"), store.ErrConflict)
		raw, err := database.One(t.Context(), s.db.Rows(), func(row database.Row) (memory []byte, err error) {
			err = row.Scan(&memory)
			return memory, err
		}, `SELECT memory FROM attempt WHERE id = $1`, a.ID)
		if err != nil || bytes.Contains(raw, []byte("tokens")) {
			t.Errorf("in the database is %q, %v", raw, err)
		}
	})
}

func TestOnePaymentHasOneAttempt(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		first := s.attempt("key", time.Hour)
		open := func(a store.Attempt) error {
			return s.try(func(tx *store.Tx) error { return tx.OpenAttempt(&a, time.Hour) })
		}
		again := first
		again.Key = "another key"
		wantError(t, open(again), store.ErrDuplicate)
		sameKey := first
		sameKey.Payment = s.create(draft(1), now).ID
		wantError(t, open(sameKey), store.ErrDuplicate)
		foreign := store.Attempt{Payment: s.create(draft(1), now).ID, Domain: s.other, Number: 1, Kind: store.AttemptInitiation, AttemptOrder: store.AttemptOrder{Key: "third"}}
		wantError(t, open(foreign), store.ErrConstraint)
		s.wantAttempt(first)
	})
}

func TestAttemptIsAnsweredOnce(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", -time.Hour)
		answer := func(a store.Attempt) error {
			return s.try(func(tx *store.Tx) error { tx.AnswerAttempt(a); return nil })
		}
		foreign := a
		foreign.Domain = s.other
		wantError(t, answer(foreign), store.ErrConflict)
		if err := answer(a); err != nil {
			t.Fatal(err)
		}
		wantError(t, answer(a), store.ErrConflict)
		wantError(t, s.try(func(tx *store.Tx) error { tx.PostponeAttempt(a, 0); return nil }), store.ErrConflict)
		if ids := s.claim(s.domain, time.Hour, 9); ids != nil {
			t.Errorf("an answered attempt is claimed: %v", ids)
		}
		a.State = store.AttemptAnswered
		s.wantAttempt(a)
	})
}

func TestAttemptIsClaimedAfterItsLease(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.attempt("held", time.Hour)
		lapsed := s.attempt("lapsed", -time.Hour)
		if ids := s.claim(s.other, time.Hour, 9); ids != nil {
			t.Errorf("another domain claims %v", ids)
		}
		if ids := s.claim(s.domain, time.Hour, 9); !slices.Equal(ids, []int64{int64(lapsed.Payment)}) {
			t.Errorf("claimed %v", ids)
		}
		if ids := s.claim(s.domain, time.Hour, 9); ids != nil {
			t.Errorf("claimed again %v", ids)
		}
		wantError(t, s.try(func(tx *store.Tx) error { tx.PostponeAttempt(lapsed, -time.Minute); return nil }), store.ErrConflict)
		wantError(t, s.try(func(tx *store.Tx) error { tx.AnswerAttempt(lapsed); return nil }), store.ErrConflict)
		lapsed.Inquiries = 1
		s.write(func(tx *store.Tx) error { tx.PostponeAttempt(lapsed, -time.Minute); return nil })
		lapsed.State = store.AttemptUnknown
		s.wantAttempt(lapsed)
		if ids := s.claim(s.domain, -time.Hour, 9); len(ids) != 1 {
			t.Errorf("a doubtful attempt is not claimed")
		}
		lapsed.Inquiries = 2
		s.wantAttempt(lapsed)
	})
}

// In TestReportsHastenQuestions, the bank reports while the service plans to ask it about an
// attempt. The service must then ask at once, unless a process may already be asking.
func TestReportsHastenQuestions(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		report := func(domain passerelle.DomainID) {
			s.write(func(tx *store.Tx) error { tx.HastenCheck(domain, a.Payment, now); return nil })
		}
		wantDue := func(what string, due bool) {
			t.Helper()
			if ids := s.claim(s.domain, time.Minute, 9); due != (len(ids) == 1) {
				t.Errorf("%s: claimed %v", what, ids)
			}
		}
		postpone := func(wait time.Duration, reported int64) {
			loaded, err := s.db.Attempt(t.Context(), s.domain, a.Payment)
			if err != nil {
				t.Fatal(err)
			}
			loaded.Reported = reported
			s.write(func(tx *store.Tx) error {
				tx.PostponeAttempt(loaded, wait)
				tx.HastenAttemptIfReported(loaded)
				return nil
			})
		}
		report(s.domain)
		wantDue("the call is under way", false)
		postpone(time.Hour, 1)
		wantDue("no report since", false)
		report(s.other)
		wantDue("a report in another domain", false)
		report(s.domain)
		wantDue("a report while the question is planned", true)
		postpone(store.AttemptLease, 2)
		report(s.domain)
		wantDue("a report while a process may ask", false)
		postpone(time.Hour, 2)
		wantDue("a report during the question", true)
	})
}

// TestCallbacks checks that the query string of a payer's return is stored until the bank has
// received it or the payment ends. A newer query string must stay when the bank has received an
// older one.
func TestCallbacks(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		keep := func(query string) store.Attempt {
			t.Helper()
			s.write(func(tx *store.Tx) error { return tx.KeepCallback(a, []byte(query)) })
			loaded, err := s.db.Attempt(t.Context(), s.domain, a.Payment)
			if err != nil {
				t.Fatal(err)
			}
			return loaded
		}
		wantCallback := func(want string) {
			t.Helper()
			a.Callback = nil
			if want != "" {
				a.Callback = []byte(want)
			}
			s.wantAttempt(a)
		}
		older := keep("code=1")
		newer := keep("code=2")
		s.write(func(tx *store.Tx) error { tx.ForgetCallback(older); return nil })
		wantCallback("code=2")
		s.write(func(tx *store.Tx) error { tx.ForgetCallback(newer); return nil })
		wantCallback("")
		keep("code=3")
		p := s.load(&payment.Payment{ID: a.Payment, Domain: s.domain})
		foreign := *p
		foreign.Domain = s.other
		a.Memory = []byte("token")
		s.write(func(tx *store.Tx) error { return tx.RememberOrder(a, a.Memory) })
		s.write(func(tx *store.Tx) error { tx.EndCallback(&foreign); return nil })
		wantCallback("code=3")
		s.write(func(tx *store.Tx) error { tx.EndCallback(p); return nil })
		wantCallback("") // the attempt is unanswered, and its memory stays
		s.write(func(tx *store.Tx) error { tx.AnswerAttempt(a); return nil })
		s.write(func(tx *store.Tx) error { tx.EndCallback(p); return nil })
		a.Memory, a.State = nil, "answered"
		wantCallback("")
		s.report(p, payment.Report{Status: payment.Declined, Code: payment.Bug}, now)
		a.Device = nil // only a payment in the state created needs a device
		keep("code=4")
		wantCallback("")
	})
}

func TestAttemptsAreClaimedOldestFirst(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		s.attempt("later", -time.Hour)
		first := s.attempt("earlier", -2*time.Hour)
		if ids := s.claim(s.domain, time.Hour, 1); !slices.Equal(ids, []int64{int64(first.Payment)}) {
			t.Errorf("claimed %v", ids)
		}
	})
}

func TestAttemptsGoToOneClaimant(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		for i := range 12 {
			s.attempt(string(rune('a'+i)), -time.Hour)
		}
		claimed := make([][]int64, 6)
		var all sync.WaitGroup
		for i := range claimed {
			all.Go(func() { claimed[i] = s.claim(s.domain, time.Hour, 4) })
		}
		all.Wait()
		ids := slices.Sorted(slices.Values(slices.Concat(claimed...)))
		if len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("claimed twice: %v", claimed)
		}
	})
}

func (s fixture) sealedFields(table string) []byte {
	s.t.Helper()
	sealed, err := database.One(s.t.Context(), s.db.Rows(), func(row database.Row) (b []byte, err error) { return b, row.Scan(&b) }, `SELECT fields FROM `+table)
	if err != nil {
		s.t.Fatal(err)
	}
	return sealed
}

func TestFieldsAreSealed(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		s.write(func(tx *store.Tx) error { return tx.SetFieldValues(s.domain, a.Payment, a.Fields) })
		for _, table := range []string{"attempt", "payment_given"} {
			if column := s.sealedFields(table); bytes.Contains(column, []byte("secret-value")) || bytes.Contains(column, []byte("login")) {
				t.Errorf("%s.fields is not sealed", table)
			}
			if err := s.sql(`UPDATE `+table+` SET fields = $1`, []byte("spoilt")); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.db.Attempt(t.Context(), s.domain, a.Payment); err == nil {
			t.Errorf("a spoilt attempt reads %v", got.Fields)
		}
		if got, err := s.db.FieldValues(t.Context(), s.domain, a.Payment); err == nil {
			t.Errorf("spoilt fields read %v", got)
		}
	})
}

func TestFieldValues(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		p := s.create(draft(1), now)
		wantValues := func(domain passerelle.DomainID, want map[string]string) {
			t.Helper()
			got, err := s.db.FieldValues(t.Context(), domain, p.ID)
			wantSame(t, want, got, err)
		}
		give := func(domain passerelle.DomainID, id passerelle.PaymentID, fields map[string]string) error {
			return s.try(func(tx *store.Tx) error { return tx.SetFieldValues(domain, id, fields) })
		}
		wantValues(s.domain, map[string]string{})
		wantError(t, give(s.other, p.ID, map[string]string{"a": "1"}), store.ErrConstraint)
		for _, fields := range []map[string]string{{"a": "1"}, {"b": "2"}, {}} {
			if err := give(s.domain, p.ID, fields); err != nil {
				t.Fatal(err)
			}
			wantValues(s.domain, fields)
		}
		wantError(t, give(s.other, p.ID, map[string]string{"a": "1"}), store.ErrNotFound)
		wantValues(s.domain, map[string]string{})
		wantValues(s.other, map[string]string{})
		wantError(t, give(s.domain, 999, nil), store.ErrConstraint)
	})
}

// TestAttemptAndOutcomeAreOne stores the outcome of a payment that another process has changed. The
// attempt must stay unanswered.
func TestAttemptAndOutcomeAreOne(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		p := s.load(&payment.Payment{Domain: s.domain, ID: a.Payment})
		p.Version--
		err := s.try(func(tx *store.Tx) error {
			tx.AnswerAttempt(a)
			return tx.UpdatePayment(p, nil, nil)
		})
		wantError(t, err, store.ErrConflict)
		s.wantAttempt(a)
	})
}

// TestAttemptsFollowTheOrder opens answers and cancellations after an order. Only one attempt of
// the payment may be unanswered. Each attempt must be read together with the data of the order.
func TestAttemptsFollowTheOrder(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		order := s.attempt("key", -time.Hour)
		open := func(a *store.Attempt) error {
			return s.try(func(tx *store.Tx) error { return tx.OpenAttempt(a, -time.Hour) })
		}
		next := func(number int64, kind store.AttemptKind) *store.Attempt {
			a := store.Attempt{Payment: order.Payment, Domain: s.domain, Number: number, Kind: kind, By: payment.ByPayer, Created: now, AttemptOrder: order.AttemptOrder}
			if kind == store.AttemptAnswer {
				a.Action, a.Agreed = payment.PSUValidation, true
			}
			return &a
		}
		wantError(t, open(next(2, store.AttemptAnswer)), store.ErrDuplicate)
		s.write(func(tx *store.Tx) error { tx.AnswerAttempt(order); return nil })
		wantError(t, open(next(1, store.AttemptAnswer)), store.ErrConstraint)
		wantError(t, open(next(2, store.AttemptInitiation)), store.ErrConstraint)
		for number, kind := range []store.AttemptKind{2: store.AttemptAnswer, 3: store.AttemptCancellation, 4: store.AttemptAnswer} {
			if kind == "" {
				continue
			}
			a := next(int64(number), kind)
			if err := open(a); err != nil {
				t.Fatal(err)
			}
			s.wantAttempt(*a)
			wantError(t, open(next(int64(number)+1, kind)), store.ErrDuplicate)
			if ids := s.claim(s.domain, time.Hour, 9); len(ids) != 1 {
				t.Errorf("claimed %v", ids)
			}
			wantError(t, s.try(func(tx *store.Tx) error { tx.AnswerAttempt(*a); return nil }), store.ErrConflict)
			a.Inquiries = 1
			s.write(func(tx *store.Tx) error { tx.AnswerAttempt(*a); return nil })
			wantError(t, open(next(int64(number), kind)), store.ErrDuplicate)
		}
	})
}

// In TestAbandonmentIsRemembered, the payer refuses the psuValidation. This attempt and all later
// attempts must have the time of the first refusal in Abandoned, until the payer agrees. An answer
// to the action decoupled, or "yes" about a cancellation, must not count as an agreement.
func TestAbandonmentIsRemembered(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		hour := func(n int64) time.Time { return now.Add(time.Duration(n) * time.Hour) }
		for _, next := range []struct {
			kind   store.AttemptKind
			action payment.Action
			agreed bool
			want   time.Time
		}{
			{kind: store.AttemptCancellation},
			{kind: store.AttemptAnswer, action: payment.Confirm},
			{kind: store.AttemptAnswer, action: payment.PSUValidation, want: hour(4)},
			{kind: store.AttemptCancellation, want: hour(4)},
			{kind: store.AttemptAnswer, action: payment.PSUValidation, want: hour(4)},
			{kind: store.AttemptAnswer, action: payment.Decoupled, agreed: true, want: hour(4)},
			{kind: store.AttemptAnswer, action: payment.FillFields, agreed: true},
			{kind: store.AttemptAnswer, action: payment.PSUValidation, want: hour(9)},
			{kind: store.AttemptCancellation, agreed: true, want: hour(9)},
		} {
			s.write(func(tx *store.Tx) error { tx.AnswerAttempt(a); return nil })
			a = store.Attempt{
				Payment: a.Payment, Domain: a.Domain, Number: a.Number + 1, Kind: next.kind, Action: next.action, Agreed: next.agreed, By: payment.ByPayer,
				Created: hour(a.Number + 1), Abandoned: next.want, AttemptOrder: a.AttemptOrder,
			}
			s.write(func(tx *store.Tx) error { return tx.OpenAttempt(&a, time.Hour) })
			s.wantAttempt(a)
		}
	})
}

// TestApprovalAsked checks after which attempts a bank could have asked for an approval in its app.
// It could not after an answer to that question, nor after "no", with which a payer abandons a
// payment.
func TestApprovalAsked(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		last := s.attempt("key", time.Hour)
		want := last.Created
		for _, test := range []struct {
			next store.Attempt
			asks bool
		}{
			{store.Attempt{Kind: store.AttemptAnswer, Action: payment.FillFields, Agreed: true}, true},
			{store.Attempt{Kind: store.AttemptAnswer, Action: payment.Decoupled, Agreed: true}, false},
			{store.Attempt{Kind: store.AttemptAnswer, Action: payment.PSUValidation}, false},
			{store.Attempt{Kind: store.AttemptCancellation}, true},
			{store.Attempt{Kind: store.AttemptCancellation, Agreed: true}, true},
			{store.Attempt{Kind: store.AttemptCancellation, Action: payment.PSUValidation}, false},
		} {
			s.write(func(tx *store.Tx) error { tx.AnswerAttempt(last); return nil })
			a := test.next
			a.Payment, a.Domain, a.Number, a.By, a.Created = last.Payment, last.Domain, last.Number+1, payment.ByPayer, last.Created.Add(time.Hour)
			s.write(func(tx *store.Tx) error { return tx.OpenAttempt(&a, time.Hour) })
			if last = a; test.asks {
				want = a.Created
			}
			got, err := s.db.ApprovalAsked(t.Context(), a.Domain, a.Payment)
			if err != nil || !got.Equal(want) {
				t.Errorf("after attempt %d, the bank asked at %v, %v, want %v", a.Number, got, err, want)
			}
		}
	})
}

// TestSpoiltAttemptIsKnown checks that the store returns an unreadable attempt without its
// encrypted parts.
func TestSpoiltAttemptIsKnown(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		if err := s.sql(`UPDATE attempt SET fields = $1`, []byte("spoilt")); err != nil {
			t.Fatal(err)
		}
		got, err := s.db.Attempt(t.Context(), s.domain, a.Payment)
		wantError(t, err, store.ErrSealed)
		a.Fields, a.Device = nil, nil
		wantSame(t, a, got, nil)
	})
}

// TestDueAndExpiringWaitForAttempts checks that an open attempt delays the status request to the
// bank and the expiry of the payment. A payment whose attempts are all answered must not expire
// while its check is due.
func TestDueAndExpiringWaitForAttempts(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		claims := func() (due []store.Due, expiring []int64) {
			s.write(func(tx *store.Tx) error {
				tx.DuePayments(s.domain, now, -time.Hour, 9, nil, &due)
				tx.ExpiringPayments(s.domain, now, now, -time.Hour, 9, &expiring)
				return nil
			})
			return due, expiring
		}
		a := s.attempt("key", time.Hour)
		if err := s.sql(`UPDATE payment SET next_check = 0`); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			state         string
			due, expiring int
		}{{store.AttemptOpen, 0, 0}, {store.AttemptUnknown, 0, 1}, {store.AttemptAnswered, 1, 0}} {
			if err := s.sql(`UPDATE attempt SET state = $1`, test.state); err != nil {
				t.Fatal(err)
			}
			due, expiring := claims()
			if len(due) != test.due || len(expiring) != test.expiring {
				t.Errorf("with an attempt that is %s, %v are due and %v expire", test.state, due, expiring)
			}
		}
		if err := s.sql(`UPDATE payment SET next_check = $1`, now.Add(time.Second).UnixMicro()); err != nil {
			t.Fatal(err)
		}
		late := s.create(draft(1), now.Add(time.Microsecond))
		if _, expiring := claims(); !slices.Equal(expiring, []int64{int64(a.Payment)}) {
			t.Errorf("%v expire, although %d is younger", expiring, late.ID)
		}
	})
}

// TestOrderAge checks that the age of an order is counted from its first attempt, by the database's
// clock. An order without a stored time must count as decades old.
func TestOrderAge(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		wantAge := func(least, most time.Duration) {
			t.Helper()
			if age, err := s.db.OrderAge(t.Context(), a); err != nil || age < least || age > most {
				t.Errorf("the order is %v old, %v; want %v to %v", age, err, least, most)
			}
		}
		wantAge(0, time.Minute)
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`UPDATE attempt SET sent = sent - 3600000000 WHERE id = $1`, a.ID)
			return nil
		})
		wantAge(time.Hour, time.Hour+time.Minute)
		s.write(func(tx *store.Tx) error {
			tx.Unit().Exec(`UPDATE attempt SET sent = NULL WHERE id = $1`, a.ID)
			return nil
		})
		wantAge(50*365*24*time.Hour, 1<<62)
		foreign := a
		foreign.Domain = s.other
		_, err := s.db.OrderAge(t.Context(), foreign)
		wantError(t, err, store.ErrNotFound)
	})
}

// TestSavedOrder checks that SaveOrder changes the version of the payment. A change of the older
// version must then fail.
func TestSavedOrder(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		before, err := s.db.Payment(t.Context(), s.domain, a.Payment, false)
		if err != nil {
			t.Fatal(err)
		}
		version := before.Version
		s.write(func(tx *store.Tx) error { return tx.SaveOrder(a, version, []byte("token")) })
		a.Memory = []byte("token")
		s.wantAttempt(a)
		wantError(t, s.try(func(tx *store.Tx) error { return tx.UpdatePayment(before, nil, nil) }), store.ErrConflict)
		foreign := a
		foreign.Domain = s.other
		wantError(t, s.try(func(tx *store.Tx) error { return tx.SaveOrder(foreign, version+1, []byte("of another domain")) }), store.ErrConflict)
		wantError(t, s.try(func(tx *store.Tx) error { return tx.SaveOrder(a, version, []byte("older")) }), store.ErrConflict)
	})
}

// TestForgottenCallback checks that ForgetCallback removes the callback with which the attempt was
// loaded, but no newer callback.
func TestForgottenCallback(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		keep := func(callback string) store.Attempt {
			s.write(func(tx *store.Tx) error { return tx.KeepCallback(a, []byte(callback)) })
			kept, err := s.db.Attempt(t.Context(), a.Domain, a.Payment)
			if err != nil || string(kept.Callback) != callback {
				t.Fatalf("kept %q, %v", kept.Callback, err)
			}
			return kept
		}
		forget := func(a store.Attempt) {
			s.write(func(tx *store.Tx) error { tx.ForgetCallback(a); return nil })
		}
		first, second := keep("code=1"), keep("code=2")
		forget(first)
		a.Callback = []byte("code=2")
		s.wantAttempt(a)
		foreign := second
		foreign.Domain = s.other
		forget(foreign)
		s.wantAttempt(a)
		forget(second)
		a.Callback = nil
		s.wantAttempt(a)
	})
}

// TestCallbackDuringTheEnd stores a query string while another transaction ends the payment. The
// query string must not stay, because nothing would remove it.
func TestCallbackDuringTheEnd(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, s fixture) {
		a := s.attempt("key", time.Hour)
		p := s.load(&payment.Payment{ID: a.Payment, Domain: s.domain})
		end := func(tx *store.Tx) error {
			steps, err := p.Apply(payment.Report{Status: payment.Declined, Code: payment.Bug}, now)
			if err != nil {
				return err
			}
			tx.EndCallback(p)
			return tx.UpdatePayment(p, transitions(steps), nil)
		}
		if err := overlapping(s, end, func(tx *store.Tx) error { return tx.KeepCallback(a, []byte("code=1")) }); err != nil {
			t.Fatal(err)
		}
		if stored, err := s.db.Attempt(t.Context(), s.domain, a.Payment); err != nil || stored.Callback != nil {
			t.Errorf("the query string %q is left, %v", stored.Callback, err)
		}
	})
}
