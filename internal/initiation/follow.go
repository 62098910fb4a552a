package initiation

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/background"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/payment"
)

// The service checks a payment again after a quarter of the payment's age. It therefore finds the
// end of a fast payment quickly, and sends few requests for a slow payment. A bank may request a
// different wait. Both waits have limits, because a loop must neither ask all the time nor wait
// forever.
const (
	shortestWait     = 15 * time.Second
	longestWait      = 6 * time.Hour
	shortestBankWait = time.Second
	longestBankWait  = 24 * time.Hour
)

// batch limits the payments in a pass, for each kind of work. A pass handles all of them
// concurrently. If a payment had to wait for others, its lease could lapse.
const batch = 32

// Done counts the payments that one pass handled.
type Done struct {
	// Checked counts the payments that were due for a check at their bank. Recovered counts the
	// payments with an unanswered attempt. Expired counts the payments that had waited too long.
	Checked, Recovered, Expired int
}

// RunDue does the work that is due in a domain, and returns when it is done. It recovers
// interrupted attempts, asks banks about due payments, and expires payments that have waited too
// long. It handles one batch of each kind of work. It logs the failure of one payment, continues
// with the others, and tries that payment again later. It returns only errors of the database and
// of the context.
func (i *Initiation) RunDue(ctx context.Context, d passerelle.Domain) (Done, error) {
	done, ended, err := i.beginDue(ctx, d, nil)
	if err != nil {
		return done, err
	}
	<-ended
	return done, ctx.Err()
}

// Follow does the same as RunDue, but waits for a slow bank only for a moment. Until this bank has
// responded to all calls of the domain's earlier passes, Follow does not call it again for this
// domain. A bank that does not respond therefore delays only its own payments. When calls that
// outlived their pass have ended, Follow calls FollowAgain. AwaitFollowed waits for the calls that
// are still running.
func (i *Initiation) Follow(ctx context.Context, d passerelle.Domain) (Done, error) {
	done, ended, err := i.beginDue(ctx, d, i.followed.busy(d.ID))
	if err != nil {
		return done, err
	}
	limit := time.NewTimer(cmp.Or(i.PassTime, time.Second))
	defer limit.Stop()
	i.followed.working.Go(func() { <-ended })
	select {
	case <-ended:
	case <-limit.C:
		if done != (Done{}) && i.FollowAgain != nil {
			i.followed.working.Go(func() { <-ended; i.FollowAgain() })
		}
	case <-ctx.Done():
	}
	return done, ctx.Err()
}

// AwaitFollowed returns when all calls that Follow began have ended. Call it when no pass is
// running.
func (i *Initiation) AwaitFollowed() { i.followed.working.Wait() }

// followed counts the running tasks of Follow and RunDue. working counts only passes that Follow
// began. AwaitFollowed waits for them during a shutdown, when RunDue may still begin tasks.
type followed struct {
	mu      sync.Mutex
	many    map[followedBank]int
	working sync.WaitGroup
}

// followedBank is a connector in one domain.
type followedBank struct {
	domain    passerelle.DomainID
	connector string
}

// busy returns the connectors with running tasks in a domain.
func (f *followed) busy(d passerelle.DomainID) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var connectors []string
	for b := range f.many {
		if b.domain == d {
			connectors = append(connectors, b.connector)
		}
	}
	return connectors
}

// add changes the number of running tasks of a connector in a domain.
func (f *followed) add(b followedBank, tasks int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.many == nil {
		f.many = map[followedBank]int{}
	}
	if f.many[b] += tasks; f.many[b] == 0 {
		delete(f.many, b)
	}
}

// beginDue claims due work of a domain and begins to do it. It does not call the connectors that
// the argument except lists. It returns a channel that is closed at the end of this work.
func (i *Initiation) beginDue(ctx context.Context, d passerelle.Domain, except []string) (Done, <-chan struct{}, error) {
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil {
		return Done{}, nil, err
	}
	var interrupted, due, lapsed []store.Due
	var expired []int64
	last, expiring := lastDay(values, i.now(d))
	err = i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.ClaimAttempts(d.ID, i.lease(), batch, except, &interrupted)
		tx.DuePayments(d.ID, i.now(d), i.lease(), batch, except, &due)
		if expiring {
			tx.ExpiringPayments(d.ID, last, i.now(d), i.lease(), batch, &expired)
		}
		return nil
	})
	if err != nil {
		return Done{}, nil, fmt.Errorf("claim due payments: %w", err)
	}
	for _, id := range expired {
		lapsed = append(lapsed, store.Due{Payment: passerelle.PaymentID(id)})
	}
	ended := i.attendAll(ctx, d, []task{{interrupted, i.recoverAttempt}, {due, i.check}, {lapsed, i.expire}})
	return Done{Checked: len(due), Recovered: len(interrupted), Expired: len(lapsed)}, ended, nil
}

// task is one kind of work for several payments.
type task struct {
	payments []store.Due
	do       func(context.Context, passerelle.Domain, passerelle.PaymentID) error
}

// attendAll begins all tasks at the same time. It returns a channel that is closed when all tasks
// are done.
func (i *Initiation) attendAll(ctx context.Context, d passerelle.Domain, tasks []task) <-chan struct{} {
	var work sync.WaitGroup
	for _, one := range tasks {
		for _, due := range one.payments {
			b := followedBank{d.ID, due.Connector}
			i.followed.add(b, 1)
			work.Go(func() {
				defer i.followed.add(b, -1)
				i.attend(ctx, d, due.Payment, one.do)
			})
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); work.Wait() }()
	return ended
}

// attend does one task for one payment, and logs a failure. It does not log when another process
// was faster or the context was cancelled. After a cancellation, the lease lapses and a later pass
// does the task again.
func (i *Initiation) attend(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, do func(context.Context, passerelle.Domain, passerelle.PaymentID) error) {
	err := background.Guard(func() error { return do(ctx, d, id) })
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
		i.Log.WarnContext(ctx, "a due payment could not be attended to", "payment", id, "error", err)
	}
}

// check asks the bank about a payment that was sent, and stores the report. It skips a payment
// with an unanswered attempt, because recoverAttempt handles it.
func (i *Initiation) check(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) error {
	s, err := i.bankSession(ctx, d, id)
	_, err = i.ask(ctx, s, err)
	return err
}

// ask does the same as check for a loaded session. unloaded is the error from loading the session.
// ask returns the resulting payment.
func (i *Initiation) ask(ctx context.Context, s bankSession, unloaded error) (*payment.Payment, error) {
	if errors.Is(unloaded, store.ErrSealed) {
		return s.payment, errors.Join(unloaded, i.postpone(ctx, s, payment.Report{}))
	}
	if unloaded != nil || s.payment.State.Final() || s.attempt.Live() {
		return s.payment, unloaded
	}
	ctx = i.Tracer.Continue(ctx, s.attempt.Trace)
	report, err := i.callBank(ctx, s, status)
	p := s.payment
	if err == nil {
		p, err = i.apply(ctx, s, report)
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		failed := i.postpone(ctx, s, payment.Report{Memory: report.Memory, CheckAfter: report.CheckAfter})
		if taken := s.took(payment.Report{}) || failed == nil && s.took(report); taken || failed == nil {
			failed = errors.Join(failed, i.keepUntaken(ctx, s, taken, !errors.Is(err, connector.ErrNotSent)))
		}
		return p, errors.Join(err, failed)
	}
	return p, err
}

// keepUntaken stores the callback of a call that failed, so that the next call has it. It removes
// the callback if the connector used it, because the bank may refuse a code that it gets a second
// time. It also removes the callback when a second call with the same callback was sent and failed,
// because the callback may be the cause. If another act has changed the payment, the caller does
// not store the callback, because that act may have used it.
func (i *Initiation) keepUntaken(ctx context.Context, s bankSession, taken, sent bool) error {
	again := s.attempt.Callback != nil && s.callback.Encode() == string(s.attempt.Callback)
	switch {
	case taken, again && sent:
		return i.forgetCallback(ctx, s)
	case again, s.callback == nil:
		return nil
	}
	return i.DB.Write(ctx, func(tx *store.Tx) error { return keepCallback(tx, s.attempt, s.callback) })
}

// apply applies a report to a payment, and stores and returns the payment. If the payment has
// changed since it was loaded, apply applies the report to the changed payment. The rules of
// payments drop stale reports. In addition, apply drops a report that is older than the last
// attempt, and one about a cancellation that has ended since.
func (i *Initiation) apply(ctx context.Context, s bankSession, report payment.Report) (*payment.Payment, error) {
	p, err := i.applyOnce(ctx, s, report)
	if !errors.Is(err, store.ErrConflict) {
		return p, err
	}
	p, used, err := i.applyToChanged(ctx, s, report)
	if !used && s.callback != nil && !s.took(payment.Report{}) {
		err = errors.Join(err, i.keepReturn(ctx, s.domain, s.payment.ID, s.callback))
	}
	return p, err
}

// applyToChanged applies a report to a payment that has changed since the session was loaded. The
// second result is false if the connector needs the callback again, because the connector's new
// memory is not stored.
func (i *Initiation) applyToChanged(ctx context.Context, s bankSession, report payment.Report) (*payment.Payment, bool, error) {
	now, err := i.bankSession(ctx, s.domain, s.payment.ID)
	if err != nil {
		return nil, false, err
	}
	if now.attempt.Number != s.attempt.Number || report.Cancellation != "" && now.payment.CancelCode != s.payment.CancelCode {
		return now.payment, false, nil
	}
	now.late = true
	now.attempt.AskedAs(s.attempt) // the report may be older than the bank's latest notification
	used := true
	if !bytes.Equal(now.attempt.Memory, s.lastMemory()) {
		used = report.Memory == nil
		report.Memory = nil // the connector computed this memory from data that is no longer valid
	}
	p, err := i.applyOnce(ctx, now, report)
	return p, used && err == nil, err
}

// applyOnce stores the outcome and marks the attempt as answered, in one transaction. It does not
// change the payment of the session.
func (i *Initiation) applyOnce(ctx context.Context, s bankSession, report payment.Report) (*payment.Payment, error) {
	p, now := *s.payment, i.now(s.domain)
	report = s.conclude(report, now)
	var err error
	if p.CancelCode, err = i.cancelCode(ctx, s, report); err != nil {
		return s.payment, err
	}
	steps, err := p.Apply(report, now)
	switch {
	case errors.Is(err, payment.ErrStale):
		return s.payment, errors.Join(i.endStale(ctx, s, report), i.keepNotes(ctx, s, &p))
	case err != nil:
		return s.payment, errors.Join(fmt.Errorf("apply the bank's report to payment %d: %w", p.ID, err), i.keepNotes(ctx, s, &p))
	case !s.attempt.Live() && report.Memory == nil && s.attempt.Callback == nil && reflect.DeepEqual(*s.payment, p):
		return s.payment, i.postpone(ctx, s, report)
	}
	if s.abandonsNow() && p.State == payment.Validating {
		p.Abandon(now)
	}
	err = i.commit(ctx, s.domain, &p, steps, i.nextCheck(s.domain, &p, report), func(tx *store.Tx) error {
		if s.attempt.Live() {
			tx.AnswerAttempt(s.attempt)
		}
		tx.HastenIfReported(s.attempt, i.now(s.domain))
		return s.asked(tx, report)
	})
	return &p, err
}

// abandonsNow reports whether the payer abandons the payment with the present attempt.
func (s bankSession) abandonsNow() bool {
	return s.attempt.Live() && answersNo(s.attempt) && s.abandoned()
}

// endStale handles a report that changes nothing. It closes an unanswered attempt, or plans the
// next check.
func (i *Initiation) endStale(ctx context.Context, s bankSession, report payment.Report) error {
	if s.attempt.Live() {
		return i.dismiss(ctx, s, report)
	}
	return errors.Join(i.postpone(ctx, s, report), i.forgetCallback(ctx, s))
}

// forgetCallback removes a callback that the bank has received.
func (i *Initiation) forgetCallback(ctx context.Context, s bankSession) error {
	if s.attempt.Callback == nil {
		return nil
	}
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.ForgetCallback(s.attempt)
		return nil
	})
}

// keepNotes stores the notes of a report that changed nothing.
func (i *Initiation) keepNotes(ctx context.Context, s bankSession, p *payment.Payment) error {
	if s.late {
		return nil
	}
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.AddNotes(p)
		return nil
	})
}

// nextCheck returns the time at which the service next asks the bank, or nil in a final state. A
// report without a status comes from a failed call, and can only lengthen the wait.
func (i *Initiation) nextCheck(d passerelle.Domain, p *payment.Payment, report payment.Report) *time.Time {
	if p.State.Final() {
		return nil
	}
	now := i.now(d)
	wait := min(max(now.Sub(p.Created)/4, shortestWait), longestWait)
	if report.CheckAfter > 0 && (report.Status != "" || report.CheckAfter > wait) {
		wait = min(max(report.CheckAfter, shortestBankWait), longestBankWait)
	}
	next := now.Add(wait)
	return &next
}

// postpone plans the next call to the bank, after a response that changed nothing or after no
// response. It stores the connector's memory only if the payment has not changed since it was
// loaded.
func (i *Initiation) postpone(ctx context.Context, s bankSession, report payment.Report) error {
	next := i.nextCheck(s.domain, s.payment, report)
	if next == nil {
		return nil
	}
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		if report.Memory != nil {
			p := *s.payment
			err := tx.UpdatePayment(&p, nil, next)
			tx.HastenIfReported(s.attempt, i.now(s.domain))
			return errors.Join(err, s.remember(tx, report))
		}
		tx.PostponeCheck(s.payment, *next)
		tx.HastenIfReported(s.attempt, i.now(s.domain))
		return nil
	})
}
