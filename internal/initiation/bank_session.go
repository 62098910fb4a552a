package initiation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime"
	"slices"
	"sync"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankcall"
	"passerelle/internal/failpoint"
	"passerelle/internal/store"
	"passerelle/payment"
)

// bankSession contains the data for a call to the bank about one order: the payment, its last
// attempt, and the connector of the order.
type bankSession struct {
	domain  passerelle.Domain
	payment *payment.Payment
	attempt store.Attempt
	// bank is nil when this program no longer has the connector.
	bank connector.Initiator
	// callback is the query with which the bank sent the payer back, if the bank has not received
	// this query yet.
	callback url.Values
	// repeatable means that the bank recognises the key of the order. The order may then be sent
	// again.
	repeatable bool
	// saved contains the memory that the connector can change during a call. It is nil in the first
	// call of an order, during which the connector stores nothing.
	saved *savedMemory
	// late means that the payment changed during the call to the bank. A stale report is then no
	// fault of the bank.
	late bool
}

// bankSession loads the session of a payment. It fails with store.ErrNotFound when the payment was
// never sent, and with store.ErrSealed when the attempt cannot be decrypted. In both cases it also
// returns the payment. The attempt is read after the payment. A session therefore never shows an
// attempt as unanswered when its payment already contains the result.
func (i *Initiation) bankSession(ctx context.Context, d passerelle.Domain, id passerelle.PaymentID, others ...func(*store.Reader) error) (bankSession, error) {
	var p *payment.Payment
	var a store.Attempt
	var err error
	missing := i.DB.Together(ctx, append([]func(*store.Reader) error{
		func(r *store.Reader) error { var err error; p, err = loadBy(ctx, r, d, id); return err },
		func(r *store.Reader) error { a, err = r.Attempt(ctx, d.ID, id); return nil },
	}, others...)...)
	if errors.Is(missing, store.ErrSealed) {
		return bankSession{}, fmt.Errorf("%w %d: %s", errSealedPayment, id, missing.Error())
	}
	if missing != nil {
		return bankSession{}, missing
	}
	if len(p.Instructions) > 1 { // the instructions were read after the attempt, and may be newer than the attempt
		a, err = i.DB.Attempt(ctx, d.ID, id)
	}
	if err != nil {
		err = fmt.Errorf("load the attempt of payment %d: %w", id, err)
	}
	c, _ := i.Connectors.Initiator(a.Connector)
	callback, wrong := decodeCallback(a.Callback)
	return bankSession{domain: d, payment: p, attempt: a, bank: c, callback: callback, saved: &savedMemory{memory: a.Memory}}, errors.Join(err, wrong)
}

// errSealedPayment means that the account numbers of a payment cannot be decrypted. It does not
// wrap store.ErrSealed: after store.ErrSealed, callers continue with the payment.
var errSealedPayment = errors.New("decrypt the account numbers of payment")

// order returns the order for the connector. It copies the instructions, the fields and the payer,
// because a connector may change or store them. Connectors must not change the identities. The
// device belongs to the person who caused the call.
func (i *Initiation) order(ctx context.Context, s bankSession) connector.Order {
	p := *s.payment
	p.Instructions, p.Fields = slices.Clone(p.Instructions), slices.Clone(p.Fields)
	if p.Payer != nil {
		p.Payer = new(*p.Payer)
	}
	return connector.Order{
		Domain: s.domain.ID, Key: s.attempt.Key, Payment: p, Mechanism: s.attempt.Mechanism,
		Fields: maps.Clone(s.attempt.Fields), ManualConfirmation: s.attempt.Waits,
		Abandoned: s.abandoned(),
		ReturnURL: i.returnURL(s.domain, p.ID, s.cancels()), NotificationURL: i.Notifications.OfPayment(s.domain, p.ID), Now: i.now(s.domain),
		Memory: slices.Clone(s.attempt.Memory), Save: i.save(s), Callback: maps.Clone(s.callback), Device: connector.DeviceOf(ctx),
	}
}

// cancels reports whether the bank may now send the payer to a page about a cancellation.
func (s bankSession) cancels() bool {
	return s.payment.Detail == payment.Cancelling || s.attempt.Live() && s.attempt.Kind == store.AttemptCancellation
}

// asked stores the connector's memory after a call that reached the bank. It deletes the stored
// callback, because the bank has received it.
func (s bankSession) asked(tx *store.Tx, report payment.Report) error {
	if s.attempt.Callback != nil {
		tx.ForgetCallback(s.attempt)
	}
	return s.remember(tx, report)
}

// took reports whether the connector used the callback in a call that failed: the connector then
// returned a memory, or stored a new one during the call.
func (s bankSession) took(report payment.Report) bool {
	return report.Memory != nil || !bytes.Equal(s.lastMemory(), s.attempt.Memory)
}

// remember stores the memory that the connector needs for its next call about the order.
func (s bankSession) remember(tx *store.Tx, report payment.Report) error {
	if report.Memory == nil {
		return nil
	}
	return tx.RememberOrder(s.attempt, report.Memory)
}

// save returns a function that stores the connector's memory in the middle of a call. The function
// only logs a failure, because the report also contains the memory.
func (i *Initiation) save(s bankSession) func(context.Context, []byte) {
	if s.saved == nil {
		return nil
	}
	return func(ctx context.Context, memory []byte) {
		s.saved.mu.Lock()
		defer s.saved.mu.Unlock()
		err := i.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.SaveOrder(s.attempt, s.saved.version, memory) })
		if err != nil {
			i.Log.WarnContext(ctx, "the memory of an order could not be stored during a call", "payment", s.attempt.Payment, "connector", s.attempt.Connector, "error", err)
			return
		}
		s.saved.memory = memory
		s.saved.version++
	}
}

// savedMemory contains the memory of an order and the version of its payment, as the session last
// loaded or stored them. It has a mutex, because a connector that ignores its deadline may store a
// memory after its call.
type savedMemory struct {
	mu      sync.Mutex
	memory  []byte
	version int64
}

// begin copies the version of the payment before a call.
func (m *savedMemory) begin(p *payment.Payment) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version = p.Version
}

// end copies the version back to the payment after a call, because storing a memory raises the
// version.
func (m *savedMemory) end(p *payment.Payment) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p.Version = m.version
}

// lastMemory returns the memory of the order that this session last loaded or stored.
func (s bankSession) lastMemory() []byte {
	if s.saved == nil {
		return s.attempt.Memory
	}
	s.saved.mu.Lock()
	defer s.saved.mu.Unlock()
	return s.saved.memory
}

// abandoned reports whether the payer has abandoned the payment and not agreed since. An agreement
// counts even if its outcome is unknown, but not if it was not sent. A cancellation that the bank
// refused afterwards changes nothing. An answer to the action decoupled is no agreement: only the
// bank's status shows whether the payer has approved. A payer who answers "no" to psuValidation has
// not abandoned the payment: the bank receives this answer and ends the order. A payment that waits
// for its client's confirmation was approved at the bank. Neither applies to a question about a
// cancellation.
func (s bankSession) abandoned() bool {
	p := s.payment
	asked := p.Detail != payment.Cancelling && (p.Action == payment.PSUValidation || p.Action == payment.Confirm)
	return !s.attempt.Abandoned.IsZero() && p.State == payment.Validating && !asked
}

// answersNo reports whether the attempt is the answer "no" to psuValidation. The attempt of a payer
// who abandons a payment also has this form.
func answersNo(a store.Attempt) bool {
	return a.Kind == store.AttemptAnswer && a.Action == payment.PSUValidation && !a.Agreed
}

// asksToCancel reports whether the attempt is a request to cancel, and not the answer to a question
// about a requested cancellation.
func asksToCancel(a store.Attempt) bool {
	return a.Kind == store.AttemptCancellation && a.Action == "" && !a.Agreed
}

// errNoConnector reports that this program no longer has the connector.
var errNoConnector = errors.New("this program does not have the connector the order went through")

// bankCall makes one call to a connector, or several in a row.
type bankCall func(context.Context, connector.Initiator, connector.Order) (payment.Report, error)

// callBank calls the bank. It waits for at most answerTime, and then for at most a tenth of
// answerTime for a late connector. It returns a refusal by the bank as a report, and a panic of the
// connector as an error. It drops results that arrive later.
func (i *Initiation) callBank(ctx context.Context, s bankSession, call bankCall) (payment.Report, error) {
	if s.bank == nil {
		return payment.Report{}, fmt.Errorf("%w: %s", errNoConnector, s.attempt.Connector)
	}
	o := i.order(ctx, s)
	s.saved.begin(s.payment)
	defer s.saved.end(s.payment)
	failpoint.Before("bank")
	report, err := bankcall.Do(ctx, bankcall.Limits{Connector: s.attempt.Connector, Deadline: i.answerTime(), Grace: i.answerTime() / 10}, func(ctx context.Context) (payment.Report, error) {
		return call(ctx, s.bank, o)
	})
	if errors.Is(err, bankcall.ErrExited) {
		runtime.Goexit() // ends this goroutine too: the recovery finds the unknown outcome
	}
	failpoint.After("bank")
	var refusal *payment.Refusal
	var fault *connector.Fault
	if errors.As(err, &refusal) {
		if errors.As(err, &fault) {
			i.Log.ErrorContext(ctx, "a bank refuses an order for a reason that the operator can remove",
				"payment", s.payment.ID, "connector", s.attempt.Connector, "error", fault)
		}
		return payment.Report{Status: payment.Declined, Code: refusal.Code, Description: refusal.Description, Remark: refusal.Remark, Raw: "refused", Memory: report.Memory, Requests: report.Requests}, nil
	}
	return report, err
}

// initiate sends the order.
func initiate(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
	return bank.Initiate(ctx, o)
}

// status asks the bank for the state of the order.
func status(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
	return bank.Status(ctx, o)
}

// statusOrResend asks for the state of the order. It sends the order again only if the bank says
// that it has no order with this key, and would still remember the key (see repeatable). The order
// is the same as before, with the stored device of the payer. A connector may report a refusal only
// if the bank certainly has no order with this key. A refusal for a reason that the operator can
// remove, such as a certificate, says nothing about the first order, so the outcome stays unknown.
func (s bankSession) statusOrResend(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
	report, err := bank.Status(ctx, o)
	if !errors.Is(err, connector.ErrUnknownOrder) || !s.repeatable {
		return report, err
	}
	if o.Device, err = decodeDevice(s.attempt.Device); err != nil {
		return report, err
	}
	o.Repeated = true
	report, err = bank.Initiate(ctx, o)
	var refusal *payment.Refusal
	var fault *connector.Fault
	if errors.As(err, &refusal) && errors.As(err, &fault) {
		return report, fmt.Errorf("%w: %s", errResendRefused, fault.Error())
	}
	return report, err
}

// errResendRefused means that the bank refused a repeated order without processing it.
var errResendRefused = errors.New("the repeated order was refused before the bank looked at it")

// answer sends the answer of the payer or the client. For a connector without Responder, it asks
// for the status instead, because the bank may already have the answer.
func answer(a connector.Answer) bankCall {
	return func(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
		if responder, able := bank.(connector.Responder); able {
			return responder.Answer(ctx, o, a)
		}
		return bank.Status(ctx, o)
	}
}

// cancel asks the bank to cancel the order.
func cancel(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
	canceller, able := bank.(connector.Canceller)
	if !able {
		return payment.Report{}, fmt.Errorf("%w: the connector cannot cancel", connector.ErrNotSent)
	}
	return canceller.Cancel(ctx, o)
}

// continueIfRefused returns a call about a cancellation. If the bank refuses, it refuses only the
// cancellation, so the call then asks for the status of the order. It uses the memory that the
// connector returned with the refusal. Without a status, a pending order stays as it is. The status
// may still wait for the refused cancellation. If it grants the cancellation, the payer has approved
// in another way.
func continueIfRefused(call bankCall) bankCall {
	return func(ctx context.Context, bank connector.Initiator, o connector.Order) (payment.Report, error) {
		report, err := call(ctx, bank, o)
		var refusal *payment.Refusal
		if !errors.As(err, &refusal) {
			return report, err
		}
		memory := report.Memory
		if memory != nil {
			o.Memory = slices.Clone(memory)
		}
		if report, err = statusOnly(ctx, bank, o); report.Memory == nil {
			report.Memory = memory
		}
		if err != nil && !errors.As(err, &refusal) && o.Payment.State == payment.Pending {
			report, err = payment.Report{Status: payment.Processing, Memory: report.Memory, Requests: report.Requests, CheckAfter: report.CheckAfter}, nil
		}
		if report.Cancellation != payment.CancellationGranted {
			report = withoutCancellation(report)
			report.Cancellation = payment.CancellationRefused
		}
		return report, err
	}
}
