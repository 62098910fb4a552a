package initiation

import (
	"context"
	"errors"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/jwe"
	"passerelle/internal/store"
	"passerelle/payment"
)

// ActionAnswer answers the present action of a payment.
type ActionAnswer struct {
	Action payment.Action
	// Question is the number of the payment's last attempt when the page showed the question. It is
	// zero for callers that do not know it. Cancelling reports whether the question was about a
	// cancellation. It is nil for callers that do not know this.
	Question   int64
	Cancelling *bool
	// Fields contains the values that answer additionalInformationNeeded.
	Fields map[string]string
	// Yes is the answer to psuValidation and confirm. It must be true for decoupled.
	Yes bool
	// Evidence is the page that the payer saw before answering in the webview. It is nil for other
	// callers. Answer sets Evidence.Domain and Evidence.At.
	Evidence *payment.Evidence
}

// ErrAnswered means that an answer is to an earlier question of the bank. For example, a browser
// sent a form twice. The bank does not receive such an answer, because a wrong password that it
// receives several times can lock the payer's access. The bank may also have refused to cancel the
// order since, and ask about the payment again: "yes, cancel" must not become "yes, pay".
var ErrAnswered error = passerelle.Conflicting("The bank has already received an answer to this question, or asks another one now.")

// Answer sends the bank an answer to the payment's present action, and returns the resulting
// payment. The answer "no" to psuValidation or confirm ends the payment, unless the bank has
// continued with the order. If the question is about a cancellation, "no" only ends the
// cancellation. If the bank does not respond in time, Answer returns the payment from the database,
// and a loop finds the outcome. Answer fails with Conflict when the payment has a different action,
// or when another act on the payment is under way. It fails with ErrAnswered when a.Question or
// a.Cancelling is that of an earlier question. It fails with Invalid when field values are wrong.
// It fails with Unavailable when too many callers wait for the bank, or when an answer that does not
// end the payment did not reach the bank. The caller may then try again.
func (i *Initiation) Answer(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, by payment.Actor, a ActionAnswer, acts ...store.Audit) (*payment.Payment, error) {
	s, err := i.idle(ctx, d, id)
	if err != nil {
		return nil, err
	}
	if err := s.expects(a); err != nil {
		return nil, err
	}
	if a, err = i.checkAnswer(ctx, s, a); err != nil {
		return nil, err
	}
	leave, err := i.Callers.EnterBank(s.attempt.Connector)
	if err != nil {
		return nil, err
	}
	defer leave()
	s.attempt, err = i.openNext(ctx, s, s.attemptTo(a, by), i.onRecord(d, a.Evidence, acts))
	if err != nil {
		return nil, err
	}
	call := answer(connector.Answer{Action: a.Action, Fields: a.Fields, Yes: a.Yes})
	if s.payment.Detail == payment.Cancelling {
		call = continueIfRefused(call)
	}
	return i.send(ctx, s, call)
}

// attemptTo returns the attempt that sends an answer. An answer about a cancellation neither refuses
// the payment nor agrees to it. Its attempt therefore belongs to the cancellation. An answer to
// `decoupled` only asks for the status.
func (s bankSession) attemptTo(a ActionAnswer, by payment.Actor) store.Attempt {
	switch {
	case s.payment.Detail != payment.Cancelling || a.Action == payment.Decoupled:
		return store.Attempt{Kind: store.AttemptAnswer, Action: a.Action, Agreed: a.Yes, By: by}
	case a.Yes:
		return store.Attempt{Kind: store.AttemptCancellation, Agreed: true, By: by}
	}
	return store.Attempt{Kind: store.AttemptCancellation, Action: a.Action, By: by}
}

// expects fails when the payment does not wait for the answer.
func (s bankSession) expects(a ActionAnswer) error {
	if err := s.payment.Expects(a.Action); err != nil {
		return err
	}
	if a.Question != 0 && a.Question != s.attempt.Number || a.Cancelling != nil && *a.Cancelling != (s.payment.Detail == payment.Cancelling) {
		return ErrAnswered
	}
	return nil
}

// idle loads the session of a payment. It fails when an attempt of an unfinished payment is under
// way. The session of a payment that was never sent has no attempt. The argument others contains
// functions that read in the same round trip to the database. idle returns their errors.
func (i *Initiation) idle(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, others ...func(*store.Reader) error) (bankSession, error) {
	s, err := i.bankSession(ctx, d, id, others...)
	switch {
	case errors.Is(err, store.ErrNotFound) && s.payment != nil:
		return s, nil
	case err != nil:
		return s, err
	case s.attempt.Live() && !s.payment.State.Final():
		return s, underWay()
	}
	return s, nil
}

// checkAnswer checks the content of an answer, and decrypts its field values. It sets Yes in an
// answer with field values.
func (i *Initiation) checkAnswer(ctx context.Context, s bankSession, a ActionAnswer) (ActionAnswer, error) {
	if a.Action == payment.Decoupled && !a.Yes {
		return a, passerelle.InvalidField("resume", "must be true")
	}
	if a.Action != payment.FillFields {
		return a, nil
	}
	if err := limitFields(a.Fields); err != nil {
		return a, err
	}
	values, err := jwe.Open(ctx, &i.DB.Reader, s.domain, fieldPrefix, a.Fields)
	if err != nil {
		return a, err
	}
	if err := boundFields(values); err != nil {
		return a, err
	}
	a.Yes = true
	a.Fields, err = takeFields(s.payment.Fields, values)
	return a, err
}
