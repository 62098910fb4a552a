package berlingroup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"passerelle/connector"
	"passerelle/connector/berlingroup/arrival"
	"passerelle/connector/berlingroup/codes"
	"passerelle/connector/berlingroup/links"
	"passerelle/payment"
)

// payer is the connector of a bank that accepts payments.
type payer struct{ *Bank }

// canceller is a connector that also cancels orders.
type canceller struct{ payer }

// orderMemory holds the data about an order that is stored between calls.
type orderMemory struct {
	// Path is the path of the order, relative to the address of the bank.
	Path string `json:"path,omitempty"`
	// Status is the last reported status. Cancelled means that the bank has cancelled the order on
	// our request. Unwanted means that the connector asked the bank to cancel the order.
	Status    string `json:"status,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
	Unwanted  bool   `json:"unwanted,omitempty"`
	// Refused is the number of instructions that the bank has named as refused. Lines holds the
	// codes of these instructions (empty in older memories). Divided is the time at which the bank
	// named the last refused instruction.
	Refused  int                       `json:"refused,omitempty"`
	Lines    map[int]payment.ErrorCode `json:"lines,omitempty"`
	Divided  time.Time                 `json:"divided,omitzero"`
	Approval authorisation             `json:"approval,omitzero"`
	// Cancelling is the authorisation of a present cancellation, if any. Asked is the time at which
	// this cancellation began, or was first seen if an earlier version stored it. Overdue is the code
	// of the last cancellation, which the bank may still perform after it has counted as refused.
	Cancelling *authorisation    `json:"cancelling,omitempty"`
	Asked      time.Time         `json:"asked,omitzero"`
	Overdue    payment.ErrorCode `json:"overdue,omitempty"`
	// Blind means that the bank requires a token for the status and accepts no token of ours.
	Blind bool `json:"blind,omitempty"`
}

// ordering is the state of one call about an order.
type ordering struct {
	*Bank
	connector.Order
	memory   orderMemory
	requests requestLog
	// wait is the wait that the bank asked for when it refused the order or a request for the status.
	wait time.Duration
	// saved means that a memory was stored during the call.
	saved bool
}

// about makes calls about an order with the memory of the order. It fails with
// connector.ErrUnknownOrder when nothing in the memory identifies the order at the bank.
func (p payer) about(ctx context.Context, o connector.Order, do func(*ordering, context.Context) (payment.Report, error)) (payment.Report, error) {
	if err := ctx.Err(); err != nil {
		return payment.Report{}, fmt.Errorf("%w: %w", connector.ErrNotSent, err)
	}
	v := &ordering{Bank: p.Bank, Order: o}
	if err := json.Unmarshal(o.Memory, &v.memory); err != nil || v.memory.Path == "" {
		return payment.Report{}, unconfirmed(requestID(o.Key))
	}
	return v.keep(do(v, v.requests.logging(ctx)))
}

// unconfirmed is the X-Request-ID of an order whose id at the bank is unknown. As an error, it is
// [connector.ErrUnknownOrder] with a text for the operator.
type unconfirmed string

func (u unconfirmed) Error() string {
	return "the bank never confirmed this order, so the service cannot ask for its status; ask the bank about the X-Request-ID " + string(u)
}

// Is reports whether target is the error of connectors for an order that they cannot identify.
func (u unconfirmed) Is(target error) bool { return target == connector.ErrUnknownOrder }

// keep adds to a report the requests that the connector made, the wait that the bank asked for, the
// bank's id of the order, and the memory if it has changed.
func (v *ordering) keep(r payment.Report, err error) (payment.Report, error) {
	r.Requests, r.CheckAfter = strings.Join(v.requests, ", "), cmp.Or(r.CheckAfter, v.wait)
	if v.memory.Path == "" {
		return r, err
	}
	memory, wrong := json.Marshal(v.memory)
	if v.saved || !bytes.Equal(memory, v.Memory) {
		r.Memory = memory
	}
	r.BankPaymentID = path.Base(v.memory.Path)
	return r, errors.Join(err, wrong)
}

// Initiate sends the order.
func (p payer) Initiate(ctx context.Context, o connector.Order) (payment.Report, error) {
	v := &ordering{Bank: p.Bank, Order: o}
	return v.keep(v.initiate(v.requests.logging(ctx)))
}

// Status asks for the status of the order.
func (p payer) Status(ctx context.Context, o connector.Order) (payment.Report, error) {
	return p.about(ctx, o, (*ordering).stands)
}

// Answer passes the answer of the payer or the client on to the bank.
func (p payer) Answer(ctx context.Context, o connector.Order, a connector.Answer) (payment.Report, error) {
	return p.about(ctx, o, func(v *ordering, ctx context.Context) (payment.Report, error) { return v.answer(ctx, a) })
}

// Cancel asks the bank to cancel the order.
func (c canceller) Cancel(ctx context.Context, o connector.Order) (payment.Report, error) {
	return c.about(ctx, o, (*ordering).cancel)
}

// requestID returns the X-Request-ID of an order. Every call that sends the order has this id.
func requestID(key string) string {
	var id [16]byte
	if raw, err := hex.DecodeString(key); err != nil || copy(id[:], raw) != len(id) {
		sum := sha256.Sum256([]byte(key))
		copy(id[:], sum[:])
	}
	return uuidOf(id)
}

// person returns the payer's data for requests.
func (v *ordering) person() person {
	return person{device: v.Device, name: v.Fields[psuIDField], nameType: v.file.Profile.PSUIDType, corporate: v.Fields[corporateIDField], back: v.ReturnURL, scope: "PIS:" + path.Base(v.memory.Path), save: v.save, granted: v.memory.Approval.OAuth}
}

// save stores the memory before the call ends.
func (v *ordering) save(ctx context.Context) {
	if memory, err := json.Marshal(v.memory); err == nil && v.Save != nil {
		v.Save(ctx, memory)
		v.saved = true
	}
}

// placedOrder is the response to an order.
type placedOrder struct {
	scaAnswer
	ID          string          `json:"paymentId"`
	Transaction string          `json:"transactionStatus"`
	Messages    []codes.Message `json:"tppMessages"`
}

// status returns the status of the order. It takes over the bank's text for the payer only if the
// order needs no further approval, because otherwise the text is about the approval.
func (p placedOrder) status() paymentStatus {
	s := paymentStatus{Transaction: p.Transaction, Messages: p.Messages}
	if s.ended() {
		s.Message = p.Message
	}
	return s
}

func (v *ordering) initiate(ctx context.Context) (payment.Report, error) {
	profile := &v.file.Profile
	service, product := profile.Payments.way(v.Payment.DateType(), len(v.Payment.Instructions))
	r := request{
		call: "initiate", method: http.MethodPost, path: "/v1/" + service + "/" + product, header: v.person().header(),
		body: profile.order(v.Payment, service), id: requestID(v.Key), order: true,
	}
	v.file.prefer(r.header)
	profile.notify(r.header, v.NotificationURL)
	a, err := v.call(ctx, r)
	if err == nil && !a.succeeded() {
		return payment.Report{}, v.refusedOrder(r, a)
	}
	var placed placedOrder
	if err == nil {
		err = v.decode(r, a, &placed)
	}
	if errors.Is(err, errUnfit) && errors.Is(err, connector.ErrNotSent) && !v.Repeated {
		return payment.Report{}, errors.Join(err, &payment.Refusal{Code: payment.Bug}) // waiting does not help
	}
	if !v.taken(r, a, placed.ID) {
		return payment.Report{}, cmp.Or(err, v.fault(r, errMalformed, "its response does not name the accepted order"))
	}
	if err == nil {
		err = v.update(r, &v.memory.Approval, placed.scaAnswer, a.header)
	}
	if err != nil && !placed.status().ended() {
		v.memory.Approval = startAt(v.memory.Path + "/authorisations")
		v.memory.Approval.Unlisted = true
		return payment.Report{Status: payment.Awaiting, CheckAfter: shortly}, nil
	}
	report, _ := v.carryOn(ctx, placed.status()) // the next check of the order tries a failed step again
	return report, nil
}

// refusedOrder interprets the refusal of an order. A bank may refuse a repeated order although it
// has accepted the first order. For example, the bank recognises the request ID, the execution date
// has passed, or the first order has used up a limit. The outcome of a repeated order therefore
// stays unknown.
func (v *ordering) refusedOrder(r request, a answer) error {
	v.wait = arrival.RetryAfter(a.header, v.now())
	err := v.refusal(r, a)
	if _, refused := errors.AsType[*payment.Refusal](err); !v.Repeated || !refused {
		return err
	}
	r.id = a.id
	judged := v.judge(r, a)
	return v.fault(r, errUnknownOutcome, judged.says+" to a repeated order, and may have the first one: "+cmp.Or(judged.what.Remedy, codes.RequestRemedy))
}

// shortly is the time until the next check when the payer has nothing to do.
const shortly = time.Second

// taken stores the bank's id of an accepted order, and reports whether the response contains the
// id. The id comes from the body or, if the body has no id, from the header Location.
func (v *ordering) taken(r request, a answer, id string) bool {
	if id == "" && a.succeeded() {
		id, _ = url.PathUnescape(links.Below(r.path, a.header.Get("Location"))) // without an error, because the path is parsed
	}
	if id == "" || len(id) > maxID || strings.Contains(id, "/") {
		return false
	}
	v.memory.Path = r.path + "/" + url.PathEscape(id)
	return true
}

// current returns the payer's present authorisation: of the cancellation, if any, or of the order.
func (v *ordering) current() *authorisation {
	if v.memory.Cancelling != nil {
		return v.memory.Cancelling
	}
	return &v.memory.Approval
}

// stands asks the bank for the state of the order and the progress of its payer.
func (v *ordering) stands(ctx context.Context) (payment.Report, error) {
	a := v.current()
	fault := a.back(v.Callback)
	if a.Code != "" {
		if err := v.askEarlier(ctx, a, v.person()); err != nil {
			return payment.Report{}, err
		}
	}
	if !v.toConfirm(a) {
		if err := v.tried(v.redeem(ctx, a, v.person())); err != nil {
			return payment.Report{}, err
		}
	}
	status, err := v.askStatus(ctx)
	if err != nil {
		return v.reportWithoutStatus(err)
	}
	v.memory.Blind = false
	if !status.ended() && (v.memory.Cancelling != nil || !v.shown(status)) || status.silent() {
		if err := v.tried(v.askProgress(ctx, a)); err != nil && !status.ended() {
			return payment.Report{}, err
		}
	}
	report, err := v.carryOn(ctx, status)
	report.Remark = strings.TrimSpace(report.Remark + " " + fault)
	return report, err
}

// askProgress asks for the state of the payer's authorisations. If one of the order has no known
// address, askProgress first reads the bank's list of them, unless a cancellation is under way.
func (v *ordering) askProgress(ctx context.Context, a *authorisation) error {
	unknown := a.Own == "" && (a.Page != "" || a.Step == inApp)
	if (unknown || a.Unlisted) && v.memory.Cancelling == nil {
		if err := v.tried(v.list(ctx, a)); err != nil {
			return err
		}
	}
	return v.ask(ctx, a, v.person())
}

// list reads the last mostEarlier authorisations in the bank's list, and adds the unknown ones to
// Earlier. If the present authorisation has started but has no address, list gives it the address
// of the last listed authorisation.
func (v *ordering) list(ctx context.Context, a *authorisation) error {
	r := request{call: "authorisation", method: http.MethodGet, path: v.memory.Path + "/authorisations", header: deviceHeader(v.Device)}
	listed, _, err := v.callAbout(ctx, a, v.person(), r)
	if err != nil {
		return err
	}
	a.Unlisted = false
	for _, id := range slices.Backward(listed.IDs[max(0, len(listed.IDs)-mostEarlier):]) {
		own := r.path + "/" + url.PathEscape(id)
		known := func(one authorisation) bool { return one.Own == own }
		if a.Step != atStart {
			a.Own = cmp.Or(a.Own, own)
		}
		if !known(*a) && !slices.ContainsFunc(a.Earlier, known) {
			a.Earlier = append(a.Earlier, authorisation{Step: inApp, Own: own})
		}
	}
	return nil
}

// mostEarlier is the number of earlier and failed authorisations after which renew starts no new
// one. The payer then keeps the last page.
const mostEarlier = 5

// tried drops the error *denied, because the order's status shows the result of the denied step.
func (v *ordering) tried(err error) error {
	if _, found := errors.AsType[*denied](err); found {
		return nil
	}
	return err
}

// askStatus asks for the status of the order.
func (v *ordering) askStatus(ctx context.Context) (paymentStatus, error) {
	r := request{call: "status", method: http.MethodGet, path: v.memory.Path + "/status", header: deviceHeader(v.Device)}
	a, err := v.callAnyhow(ctx, v.memory.Approval.OAuth, r, v.save)
	if err != nil {
		return paymentStatus{}, err
	}
	if !a.succeeded() {
		v.wait = arrival.RetryAfter(a.header, v.now())
		if err = v.unanswered(r, a); v.refusesToken(r, a) {
			err = errors.Join(err, errBlind)
		}
		return paymentStatus{}, err
	}
	var status paymentStatus
	err = v.decode(r, a, &status)
	return status, err
}

// errBlind means that the bank requires a token for the status of an order and accepts none of ours.
var errBlind = errors.New("the payer's grant has ended")

// reportWithoutStatus reports a pending order once, with a remark for the operator in the timeline,
// when the bank accepts no token of ours for the order's status. In all other cases, it returns the
// error.
func (v *ordering) reportWithoutStatus(err error) (payment.Report, error) {
	if !errors.Is(err, errBlind) || v.memory.Blind || v.Payment.State != payment.Pending || v.Payment.CancelCode != "" {
		return payment.Report{}, err
	}
	v.memory.Blind = true
	return payment.Report{Status: payment.Processing, Remark: "The bank refuses our token, and does not report the order's status without a token. Ask the bank for the order's outcome."}, nil
}

// approved reports whether the payer has approved the order, or counts as having approved it.
func (v *ordering) approved(s paymentStatus) bool { return v.shown(s) || v.unclear(s) && v.presumed() }

// shown reports whether the payment's state, the status or the authorisation shows an approval.
func (v *ordering) shown(s paymentStatus) bool {
	return v.Payment.State == payment.Pending || v.memory.Approval.Step == authorised || codes.Rank(s.Transaction) >= codes.Rank(codes.Executing)
}

// unclear reports whether the payer may have approved an order although nothing proves it: the bank
// has checked the order, and reports no status of the approval. An approval that needs our
// confirmation counts only after it. In the early steps, the payer cannot approve yet.
func (v *ordering) unclear(s paymentStatus) bool {
	a := &v.memory.Approval
	early := a.Step == atServer && a.Page == "" || slices.Contains([]step{atStart, atIdentification, atPassword, atAdditional, atMethod}, a.Step)
	disproved := early || a.Own != "" || a.Step == failed || a.Declined || a.Confirm != "" && a.Confirmation != confirmTaken
	return codes.Rank(s.Transaction) >= codes.Rank(codes.Checked) && !disproved
}

// presumed reports whether the payer counts as having approved an unclear order. The payer must
// have returned from the bank. In addition, the authorisation server must have issued a token, or
// the time for approvals and silenceGrace must have passed without a refusal. A bank refuses orders
// that nobody approved. The lack of a refusal proves nothing about an order that the payer or the
// client no longer wants.
func (v *ordering) presumed() bool {
	a, silence := &v.memory.Approval, v.file.Profile.approvalLife()+silenceGrace
	if a.OAuth != nil && a.OAuth.Token != "" {
		return a.Back
	}
	return a.Back && !v.Abandoned && !v.memory.Unwanted && !a.Opened.IsZero() && !v.Now.Before(a.Opened.Add(silence))
}

// silenceGrace is how long after the time for approvals a bank may still refuse an order.
const silenceGrace = 24 * time.Hour

// forsaken reports whether the payer gets no new way to approve, because the payer has abandoned
// the order. The payer may still approve the cancellation of the order.
func (v *ordering) forsaken() bool { return v.Abandoned && v.memory.Cancelling == nil }

// carryOn does the next steps that do not involve the customer, and reports the state of the order.
// An error concerns only these steps: the order continues to wait.
func (v *ordering) carryOn(ctx context.Context, s paymentStatus) (payment.Report, error) {
	var err error
	a, report := v.current(), v.report(s)
	waits := report.Status == payment.Awaiting || v.memory.Cancelling != nil && report.Cancellation == payment.CancellationAwaiting
	if waits && a == v.current() { // otherwise the cancellation has ended, and the next status continues with the order
		if !v.forsaken() {
			v.renew(ctx, a)
			err = v.proceed(ctx, a, v.person())
		}
		if a.Page != "" && a.Opened.IsZero() {
			a.Opened = v.Now
		}
		v.show(&report, a)
	}
	if err == nil && report.Action == "" && report.Cancellation == payment.CancellationAwaiting {
		err = errUnknownOutcome // the payer cannot approve the cancellation
	}
	return report, err
}

// renew starts the approval again when the bank's page has expired. If that fails, the payer keeps
// the old page. Failed authorisations also count towards mostEarlier, because otherwise a payer
// could fail endlessly.
func (v *ordering) renew(ctx context.Context, a *authorisation) {
	if a.Step != atPage || a.Back || a.Opened.IsZero() || v.Now.Before(a.Opened.Add(v.file.Profile.pageLife())) || len(a.Earlier)+a.Resumed >= mostEarlier {
		return
	}
	kind := "/authorisations"
	if v.memory.Cancelling != nil {
		kind = "/cancellation-authorisations"
	}
	next := startAt(v.memory.Path + kind)
	next.Person, next.OAuth = a.Person, a.OAuth
	before := a.Unlisted
	a.Unlisted = true // proceed stores Unlisted, in case this process ends before the response
	err := v.proceed(ctx, &next, v.person())
	a.Unlisted = before || err != nil && (next.Unlisted || next.Own != "")
	if err != nil {
		a.Opened = v.Now // delays the next attempt
		return
	}
	a.replace(next)
}

// toConfirm reports whether the payer's approval of the order waits for the client's confirmation.
func (v *ordering) toConfirm(a *authorisation) bool {
	return v.ManualConfirmation && v.memory.Cancelling == nil && (a.Code != "" || a.unconfirmed() || a.OAuth != nil && a.OAuth.Code != "" && a.Confirm != "")
}

func (v *ordering) answer(ctx context.Context, said connector.Answer) (payment.Report, error) {
	a := v.current()
	switch {
	case said.Action != v.action(a):
	case said.Action == payment.FillFields:
		if err := v.sendAnswer(ctx, a, v.person(), said.Fields); err != nil {
			return v.afterRefusedAnswer(ctx, err)
		}
	case said.Action == payment.Confirm && said.Yes:
		if err := v.tried(v.redeem(ctx, a, v.person())); err != nil {
			return payment.Report{}, err
		}
	case said.Action == payment.Confirm:
		return v.withdraw(ctx)
	}
	return v.standsAfterwards(ctx)
}

// standsAfterwards asks for the state of the order after the bank received new data. It never fails
// with ErrNotSent, because the earlier request was sent.
func (v *ordering) standsAfterwards(ctx context.Context) (payment.Report, error) {
	return afterwards(v.stands(ctx))
}

func afterwards(report payment.Report, err error) (payment.Report, error) {
	if errors.Is(err, connector.ErrNotSent) {
		err = &connector.Fault{Says: err.Error(), Err: errUnknownOutcome}
	}
	return report, err
}

// afterRefusedAnswer reports the state of the order after the bank refused the payer's answer,
// with the bank's text.
func (v *ordering) afterRefusedAnswer(ctx context.Context, why error) (payment.Report, error) {
	var denial *denied
	if !errors.As(why, &denial) {
		return payment.Report{}, why
	}
	before := v.current().Step
	report, err := v.standsAfterwards(ctx)
	if err != nil || report.Status != payment.Awaiting || v.current().Step != before {
		return report, err
	}
	why = v.refusal(denial.r, denial.a)
	var refused *payment.Refusal
	if !errors.As(why, &refused) || refused.Code == payment.Bug {
		return payment.Report{}, &connector.Fault{Says: why.Error(), Err: errRefused} // the order continues to wait
	}
	report.Description = cmp.Or(refused.Description, report.Description)
	return report, nil
}

// withdraw cancels an order that its client does not confirm. If the bank refuses the cancellation,
// it still does not execute the order, because the order is not confirmed.
func (v *ordering) withdraw(ctx context.Context) (payment.Report, error) {
	a := &v.memory.Approval
	a.Code, a.Confirmation = "", confirmRefused
	if a.OAuth != nil {
		a.OAuth.Code = ""
	}
	r := request{call: "cancel", method: http.MethodDelete, path: v.memory.Path, header: v.person().header()}
	if _, err := v.callAnyhow(ctx, a.OAuth, r, v.save); err != nil {
		return payment.Report{}, err
	}
	return v.standsAfterwards(ctx)
}

// cancel asks the bank to cancel the order.
func (v *ordering) cancel(ctx context.Context) (_ payment.Report, err error) {
	if v.memory.Cancelling != nil || v.memory.Cancelled {
		return v.stands(ctx)
	}
	r := request{call: "cancel", method: http.MethodDelete, path: v.memory.Path, header: v.person().header()}
	v.file.prefer(r.header)
	before := v.memory.Unwanted
	v.memory.Unwanted = true
	v.save(ctx) // the bank may receive the request just before this process ends
	defer func() {
		if errors.Is(err, connector.ErrNotSent) {
			v.memory.Unwanted = before
		}
	}()
	a, err := v.callAnyhow(ctx, v.memory.Approval.OAuth, r, v.save)
	switch {
	case err != nil:
		return payment.Report{}, err
	case a.succeeded():
		return v.cancelled(ctx, r, a)
	case v.memory.Approval.OAuth != nil && v.refusesToken(r, a): // the payer's grant has ended, which no operator can change
		return v.keptOn(ctx, &payment.Refusal{Code: payment.AuthenticationFailed})
	}
	return v.keptOn(ctx, v.refusal(r, a))
}

// cancelled interprets a successful response to a request for a cancellation. If the response does
// not say whether the order is cancelled or the payer must approve, the status shows the result.
func (v *ordering) cancelled(ctx context.Context, r request, a answer) (payment.Report, error) {
	var reported placedOrder
	err := v.decode(r, a, &reported)
	if a.status == http.StatusNoContent || reported.Transaction == codes.Cancelled {
		v.memory.Cancelled = true
		return v.report(paymentStatus{Transaction: codes.Cancelled}), nil
	}
	next := startAt(v.memory.Path + "/cancellation-authorisations")
	if err == nil {
		err = v.update(r, &next, reported.scaAnswer, a.header)
	}
	if errors.Is(err, errNoStep) || err != nil && a.status != http.StatusAccepted {
		return v.standsAfterwards(ctx)
	}
	v.memory.Cancelling, v.memory.Asked = &next, v.Now
	switch {
	case err != nil:
		return payment.Report{}, err
	case reported.Transaction == "":
		return v.standsAfterwards(ctx)
	}
	return afterwards(v.carryOn(ctx, reported.status()))
}

// keptOn reports the state of an order that the bank refuses to cancel.
func (v *ordering) keptOn(ctx context.Context, why error) (payment.Report, error) {
	if refused, is := errors.AsType[*payment.Refusal](why); !is || refused.Code == payment.Bug {
		return payment.Report{}, why
	}
	report, err := v.standsAfterwards(ctx)
	if errors.Is(err, errBlind) {
		report, err = payment.Report{Status: payment.Processing}, nil
	}
	report.Cancellation = payment.CancellationRefused
	return report, err
}
