package berlingroup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector/berlingroup/codes"
	"passerelle/payment"
)

// paymentStatus is the bank's response about an order.
type paymentStatus struct {
	Transaction string          `json:"transactionStatus"`
	Funds       *bool           `json:"fundsAvailable"`
	Message     string          `json:"psuMessage"`
	Messages    []codes.Message `json:"tppMessages"`
}

// ended reports whether the order needs no further approval.
func (s paymentStatus) ended() bool { return codes.Ended(s.Transaction) }

// silent reports whether the bank rejected an order without a known reason.
func (s paymentStatus) silent() bool {
	return s.Transaction == codes.Rejected && !slices.ContainsFunc(s.Messages, func(m codes.Message) bool { _, known := m.Meant(); return known })
}

// report returns the state of the order. It does not include the payer's action.
func (v *ordering) report(s paymentStatus) payment.Report {
	status, line := codes.Standing(s.Transaction, v.file.Profile.LastStatus, v.Payment.DateType() == payment.Periodic, v.approved(s))
	report := payment.Report{Status: status, Raw: strings.TrimSpace(s.Transaction + " " + codes.Reasons(s.Messages))}
	v.annotate(&report, s)
	if a := &v.memory.Approval; a.Step == failed && !v.elsewhere(a) && status == payment.Awaiting {
		report.Status, s.Message = payment.Declined, cmp.Or(s.Message, a.Message)
	}
	v.memory.Status = s.Transaction
	report.Unproved = report.Status == payment.Awaiting && v.unclear(s)
	switch {
	case report.Status == payment.Declined:
		v.decline(&report, s)
	case s.Transaction == codes.InPart:
		v.divide(&report, s)
	case report.Status == payment.Settled && line == payment.InstructionAccepted:
		for i := range v.Payment.Instructions {
			report.Lines = append(report.Lines, payment.Line{Position: i, State: line})
		}
	}
	v.cancelling(&report, s)
	return report
}

// cancelling adds the result of a requested cancellation to a report.
func (v *ordering) cancelling(report *payment.Report, s paymentStatus) {
	asked := v.memory.Cancelled || v.memory.Cancelling != nil || v.Payment.CancelCode != ""
	if v.memory.Cancelling != nil {
		v.memory.Asked = cmp.Or(v.memory.Asked, v.memory.Cancelling.Approved, v.Now)
		v.memory.Overdue = cmp.Or(v.Payment.CancelCode, v.memory.Overdue) // the service may end the cancellation before continues
	}
	switch {
	case s.Transaction == codes.Cancelled && asked:
		report.Cancellation, v.memory.Cancelling, v.memory.Cancelled = payment.CancellationGranted, nil, true
	case v.memory.Cancelling == nil && v.Payment.Detail != payment.Cancelling:
	case v.memory.Cancelling == nil || v.continues(s): // without a memory, an earlier report was lost
		report.Cancellation, v.memory.Cancelling, report.CheckAfter = payment.CancellationRefused, nil, shortly
	case v.memory.Cancelling.Step == authorised: // the bank is about to cancel the order
		v.memory.Cancelling.Approved = cmp.Or(v.memory.Cancelling.Approved, v.Now)
		report.CheckAfter = max(shortly, v.Now.Sub(v.memory.Cancelling.Approved)/4)
	default:
		report.Cancellation = payment.CancellationAwaiting
	}
}

// cancellationLife is how long a cancellation may take, including the payer's approval.
const cancellationLife = 7 * 24 * time.Hour

// continues reports whether the order continues, also if the bank does not decide in cancellationLife.
// The bank may then still cancel the order later, so the memory keeps the code of the cancellation.
func (v *ordering) continues(s paymentStatus) bool {
	decided, overdue := v.memory.Cancelling.Step == failed || s.ended(), !v.Now.Before(v.memory.Asked.Add(cancellationLife))
	if decided {
		v.memory.Overdue = ""
	}
	return decided || overdue
}

// decline adds the reason for a refused order to the report.
func (v *ordering) decline(report *payment.Report, s paymentStatus) {
	report.Description, report.Code = s.text(), v.reason(s)
	report.By = cancellers[report.Code]
	if report.Code == payment.Bug { // the bank's text is about a fault of the operator
		report.Remark, report.Description = cmp.Or(report.Remark, report.Description), ""
	}
}

// cancellers maps the codes of cancelled orders to the actors. The bank refuses all other orders.
var cancellers = map[payment.ErrorCode]payment.Actor{payment.CancelledByUser: payment.ByPayer, payment.CancelledByClient: payment.ByClient}

// reason returns the code for a refused order. Without a known code of the bank, the reason follows
// from the approval, the funds, a timeout or the bank's text.
func (v *ordering) reason(s paymentStatus) payment.ErrorCode {
	approval, known := &v.memory.Approval, codes.Refused(s.Messages)
	switch {
	case s.Transaction == codes.Cancelled && v.memory.Overdue != "":
		return v.memory.Overdue
	case known != "":
		return known
	case s.Transaction == codes.Cancelled || approval.Declined:
		return payment.CancelledByUser
	case approval.Step == failed:
		return payment.AuthenticationFailed
	case s.lacksFunds():
		return payment.InsufficientFunds
	case v.timedOut(s):
		return payment.NoAnswerFromCustomer
	case s.text() != "":
		return payment.BankMessage
	}
	return payment.NoSpecifiedReason
}

// lacksFunds reports whether the bank says, in a warning, that the payer's account lacks the money.
func (s paymentStatus) lacksFunds() bool {
	return s.Funds != nil && !*s.Funds || slices.ContainsFunc(s.Messages, func(m codes.Message) bool { return m.Code == "FUNDS_NOT_AVAILABLE" })
}

// timedOut reports whether the bank rejected the order because the payer did not finish. The
// standard requires this rejection but no code for it. timedOut therefore checks that the
// authorisation is still open, the bank's page has expired, and the payer has not come back.
func (v *ordering) timedOut(s paymentStatus) bool {
	a := &v.memory.Approval
	since := v.begun(a)
	return s.Transaction == codes.Rejected && v.Payment.State == payment.Validating && stepActions[a.Step] != "" && !a.Back &&
		!since.IsZero() && !v.Now.Before(since.Add(v.file.Profile.pageLife()))
}

// begun returns the time from which the payer could approve, zero if it is unknown.
func (v *ordering) begun(a *authorisation) time.Time {
	if v.Payment.Validated != nil {
		return *v.Payment.Validated
	}
	return a.Opened
}

// elsewhere reports whether the payer may still approve in another authorisation: an earlier one
// or, until the bank's list of authorisations is read, one that only this list names. If the bank
// never supplies the list, such an authorisation counts until the time for approvals ends. If the
// start of this time is unknown, the authorisation counts without end.
func (v *ordering) elsewhere(a *authorisation) bool {
	begun := v.begun(a)
	return len(a.Earlier) > 0 || a.Unlisted && (begun.IsZero() || v.Now.Before(begun.Add(v.file.Profile.approvalLife())))
}

// undivided returns the time at which a bulk is settled: from then on, instructions that the bank
// has not refused count as accepted. This time is one open day of TARGET after the execution and
// after the bank named the last refused instruction. The rule also applies to banks that report
// executions, because PART may be their last status of a bulk. undivided returns false if the bank
// has not named a refused instruction.
func (v *ordering) undivided() (time.Time, bool) {
	from := v.memory.Divided
	if from.IsZero() {
		return from, false
	}
	for _, in := range v.Payment.Instructions {
		if end := in.ExecutionDate.AddDays(1).In(time.UTC).Add(-time.Nanosecond); !in.ExecutionDate.IsZero() && end.After(from) {
			from = end
		}
	}
	day := passerelle.DateOf(from, time.UTC).In(time.UTC)
	return payment.NextOpenDay(from, passerelle.IBAN).In(time.UTC).Add(from.Sub(day)), true
}

// divide marks the refused instructions of a bulk payment. The status says that the bank has
// accepted some of the other instructions, but not which ones. The other instructions therefore
// stay pending until the bank reports a different status. The standard does not require a further
// status. When the bank names no further instruction, undivided says when the other instructions
// are accepted. Later responses of the bank may omit a refused instruction. divide therefore also
// marks the refused instructions that the memory names. If the bank has never named an instruction,
// divide marks no instruction.
func (v *ordering) divide(report *payment.Report, s paymentStatus) {
	why := v.refusedLines(s)
	if v.memory.Refused == 0 && len(v.memory.Lines) == 0 {
		return
	}
	others := payment.InstructionPending
	until, ends := v.undivided()
	switch {
	case len(v.memory.Lines) > v.memory.Refused:
		v.memory.Refused, v.memory.Divided = len(v.memory.Lines), v.Now
		report.Remark = strings.TrimSpace(fmt.Sprintf("%s The bank refuses %d of %d instructions. It has not reported the outcome of the others.", report.Remark, v.memory.Refused, len(v.Payment.Instructions)))
	case ends && !v.Now.Before(until):
		report.Status, others = payment.Settled, payment.InstructionAccepted
		report.Remark = "The bank has refused no further instruction for a business day. The others count as accepted."
	}
	for i := range v.Payment.Instructions {
		line := payment.Line{Position: i, State: others}
		if code, refused := v.memory.Lines[i]; refused {
			line.State, line.Code = payment.InstructionRejected, code
			if code != payment.Bug {
				line.Description = why[i].Text
			}
		}
		report.Lines = append(report.Lines, line)
	}
}

// refusedLines returns the refusals that the status names, by instruction, and stores the codes of
// instructions that the bank has not named before. Older memories lack the codes; the payment has them.
func (v *ordering) refusedLines(s paymentStatus) map[int]codes.Message {
	why := codes.RefusedLines(s.Messages)
	if v.memory.Lines == nil {
		v.memory.Lines = map[int]payment.ErrorCode{}
	}
	for i, in := range v.Payment.Instructions {
		_, known := v.memory.Lines[i]
		m, named := why[i]
		if found, _ := m.Meant(); !known && (named || in.State == payment.InstructionRejected) {
			v.memory.Lines[i] = cmp.Or(in.ErrorCode, found.Code, payment.NoSpecifiedReason)
		}
	}
	return why
}

// annotate adds notes for the timeline to a report.
func (v *ordering) annotate(report *payment.Report, s paymentStatus) {
	if s.Transaction == v.memory.Status {
		return
	}
	report.StatusChanged, report.Remark = true, s.text()
	if codes.Rank(s.Transaction) == 0 && !s.ended() {
		report.Remark = strings.TrimSpace(fmt.Sprintf("The connector does not know the status %.35q. %s", s.Transaction, report.Remark))
	}
}

// text returns the bank's text for customers or, without such a text, the texts of the bank's
// messages.
func (s paymentStatus) text() string { return cmp.Or(s.Message, codes.Texts(s.Messages)) }
