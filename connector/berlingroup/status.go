package berlingroup

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"passerelle/payment"
)

// Statuses of orders that have a meaning of their own.
const (
	checked   = "ACTC" // the bank has found nothing wrong with the order
	executing = "ACSP" // the bank carries it out
	settled   = "ACSC" // the first by which the money has left the payer's account
	partly    = "PATC" // some of those who have to approve have approved
	inPart    = "PART" // some lines of a bulk are refused
	rejected  = "RJCT"
	cancelled = "CANC"
)

// ranks orders the statuses of a successful order: each implies all before it.
var ranks = map[string]int{
	"RCVD": 1, "PDNG": 2, partly: 3, checked: 4, "ACCP": 5, "ACFC": 6, executing: 7, "ACWC": 8, "ACWP": 8, settled: 9, "ACCC": 10,
}

// rank returns the rank of a status; zero for an unknown one or a refusal.
func rank(status string) int { return ranks[status] }

// ends are final statuses, whoever approved.
var ends = map[string]payment.Status{rejected: payment.Declined, cancelled: payment.Declined, settled: payment.Settled, "ACCC": payment.Settled, inPart: payment.Settled}

// standing is what a status means for an order: its state and, once settled, the state of its
// lines. Periodic orders are executed repeatedly, which the standard does not report. Approved
// means that the payer has done what the bank asks for.
func (p *Profile) standing(status string, periodic, approved bool) (payment.Status, payment.InstructionState) {
	known := rank(status)
	switch {
	case ends[status] == payment.Declined:
		return payment.Declined, payment.InstructionRejected
	case status == inPart:
		return payment.Settled, payment.InstructionAccepted
	case periodic && known >= rank(checked) && (approved || known >= rank(executing)):
		return payment.Settled, payment.InstructionAccepted
	case known >= rank(settled):
		return payment.Settled, payment.InstructionDone
	case status == partly:
		return payment.Processing, payment.InstructionPending
	case !approved && known < rank(executing):
		return payment.Awaiting, payment.InstructionPending
	case known >= rank(p.LastStatus):
		return payment.Settled, payment.InstructionAccepted
	}
	return payment.Processing, payment.InstructionPending
}

// paymentStatus is the bank's answer about an order.
type paymentStatus struct {
	Transaction string    `json:"transactionStatus"`
	Funds       *bool     `json:"fundsAvailable"`
	Message     string    `json:"psuMessage"`
	Messages    []message `json:"tppMessages"`
}

// silent reports whether an order was refused without a reason.
func (s paymentStatus) silent() bool {
	return s.Transaction == rejected && !slices.ContainsFunc(s.Messages, func(m message) bool { _, known := m.meant(); return known })
}

// report returns the state of the order without the payer's action.
func (v *ordering) report(s paymentStatus) payment.Report {
	status, line := v.file.Profile.standing(s.Transaction, v.Payment.DateType() == payment.Periodic, v.approved(s))
	report := payment.Report{Status: status, Raw: strings.TrimSpace(s.Transaction + " " + words(s.reasons()))}
	v.tell(&report, s)
	if v.memory.Approval.Step == failed && status == payment.Awaiting {
		report.Status, s.Message = payment.Declined, cmp.Or(s.Message, v.memory.Approval.Message)
	}
	v.memory.Status = s.Transaction
	switch {
	case report.Status == payment.Declined:
		v.decline(&report, s)
	case s.Transaction == inPart:
		v.divide(&report, s, line)
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
	switch {
	case s.Transaction == cancelled && asked:
		report.Cancellation, v.memory.Cancelling, v.memory.Cancelled = payment.CancellationGranted, nil, true
	case v.memory.Cancelling == nil:
	case v.memory.Cancelling.Step == failed || ends[s.Transaction] != "":
		report.Cancellation, v.memory.Cancelling = payment.CancellationRefused, nil
	case v.memory.Cancelling.Step == authorised:
		report.CheckAfter = shortly // the bank is about to cancel the order
	default:
		report.Cancellation = payment.CancellationAwaiting
	}
}

// decline returns why an order is refused: the bank's reason, or else the payer's action.
func (v *ordering) decline(report *payment.Report, s paymentStatus) {
	approval := &v.memory.Approval
	report.Description = s.text()
	for _, m := range s.Messages {
		if found, known := m.meant(); known {
			report.Code = found.code
			break
		}
	}
	switch {
	case report.Code != "":
	case s.Transaction == cancelled || approval.Declined:
		report.Code = payment.CancelledByUser
	case approval.Step == failed:
		report.Code = payment.AuthenticationFailed
	case s.Funds != nil && !*s.Funds:
		report.Code = payment.InsufficientFunds
	case report.Description != "":
		report.Code = payment.BankMessage
	default:
		report.Code = payment.NoSpecifiedReason
	}
	if report.Code == payment.CancelledByUser {
		report.By = payment.ByPayer
	}
}

// linePath is how a bank names a line of a bulk, counted from 0.
var linePath = regexp.MustCompile(`^(?:\$\.)?payments\[(\d{1,4})\]`)

// divide marks the refused lines of a bulk payment. When the bank names none, the lines are
// unknown and the order stays as it is.
func (v *ordering) divide(report *payment.Report, s paymentStatus, others payment.InstructionState) {
	why := map[int]message{}
	for _, m := range s.Messages {
		if found := linePath.FindStringSubmatch(m.Path); found != nil {
			i, _ := strconv.Atoi(found[1]) // of few digits
			why[i] = m
		}
	}
	if len(why) == 0 {
		report.Status = payment.Processing
		return
	}
	for i := range v.Payment.Instructions {
		line := payment.Line{Position: i, State: others}
		if m, refused := why[i]; refused {
			found, _ := m.meant()
			line.State, line.Code, line.Description = payment.InstructionRejected, cmp.Or(found.code, payment.NoSpecifiedReason), m.Text
		}
		report.Lines = append(report.Lines, line)
	}
}

// tell adds notes for the timeline to a report.
func (v *ordering) tell(report *payment.Report, s paymentStatus) {
	if s.Transaction == v.memory.Status {
		return
	}
	report.StatusChanged, report.Remark = true, s.text()
	if _, ended := ends[s.Transaction]; rank(s.Transaction) == 0 && !ended {
		report.Remark = strings.TrimSpace(fmt.Sprintf("The connector does not know the status %.35q. %s", s.Transaction, report.Remark))
	}
}

// text returns the bank's text for people, or else its text for us.
func (s paymentStatus) text() string {
	if s.Message != "" {
		return s.Message
	}
	var all []string
	for _, m := range s.Messages {
		if m.Text != "" {
			all = append(all, m.Text)
		}
	}
	return strings.Join(all, " ")
}

// reasons are the messages with a meaningful code.
func (s paymentStatus) reasons() []message {
	var all []message
	for _, m := range s.Messages {
		if code := m.reason(); code != "" {
			all = append(all, message{Code: code})
		}
	}
	return all
}
