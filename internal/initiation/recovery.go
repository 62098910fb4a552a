package initiation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankcall"
	"passerelle/internal/store"
	"passerelle/payment"
)

// recoverAttempt asks the bank for the outcome of an attempt, and closes the attempt. The process
// of this attempt has crashed or received no response. recoverAttempt does nothing when a response
// was stored in the meantime. It may send an order again only while the payment is in state
// created. If such a resend fails before anything is sent, the outcome stays unknown, because the
// first order may have arrived.
func (i *Initiation) recoverAttempt(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID) error {
	s, err := i.bankSession(ctx, d, id)
	if errors.Is(err, store.ErrSealed) && s.attempt.Live() {
		return errors.Join(err, i.postponeAttempt(ctx, s, s.backoff(), func(*store.Tx) error { return nil }))
	}
	if err != nil || !s.attempt.Live() {
		return err
	}
	ctx = i.Tracer.Continue(ctx, s.attempt.Trace)
	if s.repeatable, err = i.repeatable(ctx, s); err != nil {
		return err
	}
	call, waited := s.recovery()
	if !waited {
		return i.dismiss(ctx, s, payment.Report{})
	}
	report, err := i.callBank(ctx, s, call)
	if err == nil {
		_, err = i.apply(ctx, s, report)
		report.CheckAfter = 0 // only the bank's refusal of a call delays the next question
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return errors.Join(err, i.postponeAttempt(ctx, s, s.waitAfter(report, err), i.unanswered(s, report)))
	}
	return err
}

// recovery returns the call that finds the outcome of the attempt. The second result is false
// when the payment no longer waits for the outcome.
func (s bankSession) recovery() (bankCall, bool) {
	if s.attempt.Kind == store.AttemptInitiation {
		return s.statusOrResend, s.payment.State == payment.Created
	}
	return status, !s.payment.State.Final()
}

// repeatable reports whether the order may be sent again. The connector must declare that the bank
// recognises a repeated key, and the order must arrive before the bank forgets the key. The time
// for which a bank remembers keys is real time, also in a sandbox. After this time, only the bank
// or a person can report the outcome.
func (i *Initiation) repeatable(ctx context.Context, s bankSession) (bool, error) {
	return i.keyKnown(ctx, s, i.answerTime())
}

// keyKnown reports whether the bank will still recognise the key of an unanswered order after a
// further duration. It returns false for attempts of other kinds.
func (i *Initiation) keyKnown(ctx context.Context, s bankSession, further time.Duration) (bool, error) {
	if s.bank == nil || s.attempt.Kind != store.AttemptInitiation || !s.bank.Profile().Idempotent {
		return false, nil
	}
	age, err := i.DB.OrderAge(ctx, s.attempt)
	if err != nil {
		return false, fmt.Errorf("read the age of the order of payment %d: %w", s.payment.ID, err)
	}
	return age+further < keyLife(s.bank), nil
}

// keyLife returns the time for which a bank recognises the key of an order.
func keyLife(bank connector.Initiator) time.Duration {
	return cmp.Or(bank.Profile().KeyLife, connector.DefaultKeyLife)
}

// conclude interprets a report as the outcome of an attempt. After the answer "no", an order that
// still waits at the bank counts as refused, because the bank reports nothing more about it. A
// cancellation counts as refused if the report does not mention it and the order is still Awaiting
// or Processing: by the bank or, after the answer "no" to a question about the cancellation, by the
// actor who answered. After the answer "yes", the cancellation continues until the bank decides.
func (s bankSession) conclude(report payment.Report, now time.Time) payment.Report {
	abandoned := s.abandoned()
	report = s.limitCancellation(report, now)
	if s.attempt.Live() && !(abandoned && answersNo(s.attempt)) {
		report = concludeAct(s.attempt, report)
	}
	if abandoned {
		report = s.concludeAbandoned(report, now)
	}
	return report
}

// concludeAct does the same as conclude for an answer or a cancellation whose outcome is not stored
// yet.
func concludeAct(a store.Attempt, report payment.Report) payment.Report {
	no, said := refusals[a.Action]
	switch {
	case a.Kind == store.AttemptCancellation && !a.Agreed && report.Cancellation == "" && unfinished(report):
		report.Cancellation, report.By = payment.CancellationRefused, payment.ByBank
		if !asksToCancel(a) {
			report.By = a.By
		}
	case a.Kind == store.AttemptAnswer && said && !a.Agreed && (report.Status == payment.Awaiting || report.Status == payment.Declined):
		if report.Status == payment.Awaiting {
			report.Description = "" // the description still asks the payer to act
		}
		report.Status, report.Code, report.By = payment.Declined, no.code, no.by
	}
	return report
}

// longestCancellation is how long a cancellation waits after the last act on the payment.
const longestCancellation = 7 * 24 * time.Hour

// limitCancellation ends a cancellation for which the bank still waits after longestCancellation.
// Without this limit, the client could never ask the bank again. The bank may continue to report the
// ended cancellation, so a report that waits for a cancellation without a request loses this part and
// the action, which belongs to the cancellation. An older process may have stored such a report.
func (s bankSession) limitCancellation(report payment.Report, now time.Time) payment.Report {
	waits, requested := report.Cancellation == payment.CancellationAwaiting, s.payment.CancelCode != ""
	over := !requested || !now.Before(s.attempt.Created.Add(longestCancellation))
	ends := over && s.payment.Detail == payment.Cancelling && (waits || report.Cancellation == "" && unfinished(report))
	if !ends && (requested || !waits) {
		return report
	}
	report = withoutCancellation(report)
	if ends {
		report.Cancellation = payment.CancellationRefused
	}
	return report
}

// withoutCancellation removes the cancellation from a report. If the bank waits for the
// cancellation, the action and the description belong to it, and are removed too. The description of
// an order that has ended belongs to the order.
func withoutCancellation(report payment.Report) payment.Report {
	if report.Cancellation == payment.CancellationAwaiting && unfinished(report) {
		report.Action, report.ValidateURI, report.Fields, report.Description = "", "", nil, ""
	}
	report.Cancellation = ""
	return report
}

// cancelCode returns the code of the payment's cancellation. A bank may grant a cancellation that
// counts as refused since. The code then belongs to the last request, unless another act followed it.
func (i *Initiation) cancelCode(ctx context.Context, s bankSession, report payment.Report) (payment.ErrorCode, error) {
	if report.Cancellation != payment.CancellationGranted || s.payment.CancelCode != "" {
		return s.payment.CancelCode, nil
	}
	attempts, err := i.DB.Attempts(ctx, s.domain.ID, s.payment.ID)
	if err != nil {
		return "", fmt.Errorf("read the attempts of payment %d: %w", s.payment.ID, err)
	}
	for _, a := range slices.Backward(attempts) {
		if asksToCancel(a) && !a.Unsent {
			return CancelRequest{By: a.By}.code(), nil
		}
		if !leavesCancellation(a) {
			break
		}
	}
	return "", nil
}

// leavesCancellation reports whether an attempt changes nothing about who cancels the order: it was
// not sent, agreed to the cancellation, or only asked for the status.
func leavesCancellation(a store.Attempt) bool {
	agreed := a.Kind == store.AttemptCancellation && a.Agreed
	asked := a.Kind == store.AttemptAnswer && a.Action == payment.Decoupled
	return a.Unsent || agreed || asked
}

// unfinished reports whether the bank has neither executed nor refused the order.
func unfinished(r payment.Report) bool {
	return r.Status == payment.Awaiting || r.Status == payment.Processing
}

// concludeAbandoned ends an abandoned payment when the bank refuses the order or no longer accepts
// an approval. Until then, the payment continues if the payer still approves it at the bank. If the
// bank does not show approvals, the payment waits for the bank's next status, or expires. The bank
// may still execute the order, so a final state could be wrong.
func (s bankSession) concludeAbandoned(report payment.Report, now time.Time) payment.Report {
	waits := report.Status == payment.Awaiting
	approvable := s.bank != nil && now.Before(s.attempt.Abandoned.Add(s.bank.Profile().ApprovalLife))
	approved := report.Action == payment.Confirm && report.Cancellation != payment.CancellationAwaiting
	if waits && (approvable || report.Unproved || approved) || !waits && report.Status != payment.Declined {
		return report
	}
	if waits {
		report.Description = "" // the description still asks the payer to act
	}
	report.Status, report.Code, report.By = payment.Declined, payment.CancelledByUser, payment.ByPayer
	return report
}

// refusals maps an action to the error code and the actor of the answer "no".
var refusals = map[payment.Action]struct {
	code payment.ErrorCode
	by   payment.Actor
}{
	payment.Confirm:       {payment.ConfirmationRefused, payment.ByClient},
	payment.PSUValidation: {payment.CancelledByUser, payment.ByPayer},
}

// atOnce is a wait that has already ended, even for a clock that counts in milliseconds.
const atOnce = -time.Millisecond

// retryDelay returns the wait between a failed call and the next query to the bank. The wait is
// over at once unless the call may still be running, or the bank has requested a wait.
func (s bankSession) retryDelay(report payment.Report, why error) time.Duration {
	if errors.Is(why, bankcall.ErrAbandoned) {
		return s.backoff()
	}
	return cmp.Or(s.requestedWait(report), atOnce)
}

// backoff returns the wait before the bank is asked about an attempt again. The wait doubles each
// time.
func (s bankSession) backoff() time.Duration {
	return min(shortestWait<<min(s.attempt.Inquiries, 20), longestWait)
}

// These constants limit the wait after a failed call that asks the bank about an attempt.
// longestOutage applies to calls that were not sent. It is short, because such calls cost the bank
// nothing. longestRepeatable applies to orders that may be sent again. It is short, because the
// service must send these orders before the bank forgets their keys. It also limits a wait that the
// bank requests. longestBankWait limits such a wait for other attempts.
const (
	longestOutage     = time.Minute
	longestRepeatable = 5 * time.Minute
	longestUnknown    = time.Hour
)

// waitAfter returns the wait after a failed call about an attempt.
func (s bankSession) waitAfter(report payment.Report, why error) time.Duration {
	longest := longestUnknown
	switch {
	case errors.Is(why, connector.ErrNotSent):
		longest = longestOutage
	case s.repeatable:
		longest = longestRepeatable
	}
	return max(min(s.backoff(), longest), s.requestedWait(report))
}

// requestedWait returns the wait that the bank requested when it refused a call. It is zero without
// such a request. It leaves time to send an order again several times before the bank forgets its
// key.
func (s bankSession) requestedWait(report payment.Report) time.Duration {
	longest := longestBankWait
	if s.repeatable {
		longest = min(longestRepeatable, keyLife(s.bank)/4)
	}
	return min(max(report.CheckAfter, 0), longest)
}

// postponeAttempt plans when the service next asks the bank about an attempt with an unknown
// outcome.
func (i *Initiation) postponeAttempt(ctx context.Context, s bankSession, wait time.Duration, record addition) error {
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.PostponeAttempt(s.attempt, wait)
		tx.HastenAttemptIfReported(s.attempt)
		return record(tx)
	})
}

// unanswered returns an addition for a call whose outcome is unknown. It stores a note with the
// requests that the connector sent, and the connector's new memory of the order.
func (i *Initiation) unanswered(s bankSession, report payment.Report) addition {
	return func(tx *store.Tx) error {
		noted := *s.payment
		noted.NoteUnknownOutcome(report, i.now(s.domain))
		tx.AddNotes(&noted)
		if s.took(report) {
			return s.asked(tx, report)
		}
		return nil
	}
}

// dismiss closes an attempt when the payment no longer waits for its outcome. The bank is not asked
// about this attempt again. If the attempt was an order, dismiss logs a warning, because the bank
// may have the order.
func (i *Initiation) dismiss(ctx context.Context, s bankSession, report payment.Report) error {
	if s.attempt.Kind == store.AttemptInitiation {
		i.Log.WarnContext(ctx, "a payment ended before the outcome of its order was known", "payment", s.payment.ID, "state", s.payment.State)
	}
	return i.DB.Write(ctx, func(tx *store.Tx) error {
		tx.AnswerAttempt(s.attempt)
		if err := s.asked(tx, report); err != nil {
			return err
		}
		if s.payment.State.Final() {
			tx.EndCallback(s.payment)
		}
		return nil
	})
}
