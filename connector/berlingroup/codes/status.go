package codes

import "passerelle/payment"

// These are statuses of orders with a special meaning.
const (
	Checked   = "ACTC" // the bank has found no mistake in the order
	Executing = "ACSP" // the bank executes the order
	Settled   = "ACSC" // the first status after the money has left the payer's account
	Partly    = "PATC" // some of the people who must approve have approved
	InPart    = "PART" // some lines of a bulk are refused
	Rejected  = "RJCT"
	Cancelled = "CANC"
)

// ranks orders the statuses of a successful order. A status with a higher rank implies all statuses
// with lower ranks.
var ranks = map[string]int{
	"RCVD": 1, "PDNG": 2, Partly: 3, Checked: 4, "ACCP": 5, "ACFC": 6, Executing: 7, "ACWC": 8, "ACWP": 8, Settled: 9, "ACCC": 10,
}

// Rank returns the rank of a status in a successful order. The rank of any other status is zero.
func Rank(status string) int { return ranks[status] }

// Ended reports whether an order with a status needs no further approval. Except for InPart and
// Settled, such a status is the last one.
func Ended(status string) bool { return ends[status] != "" }

// ends maps each status for which Ended is true to the state of the order. This state does not
// depend on the approval of the payer.
var ends = map[string]payment.Status{Rejected: payment.Declined, Cancelled: payment.Declined, Settled: payment.Settled, "ACCC": payment.Settled, InPart: payment.Processing}

// Standing returns the state of an order and of its instructions. status is the order's status at
// the bank. last is the status with the highest rank that the bank ever reports. periodic means
// that the order is executed repeatedly. Such an order is settled once the bank accepts it, because
// the standard has no status for each execution. approved means that the payer has done everything
// that the bank requires.
func Standing(status, last string, periodic, approved bool) (payment.Status, payment.InstructionState) {
	known := Rank(status)
	switch {
	case ends[status] == payment.Declined:
		return payment.Declined, payment.InstructionRejected
	case status == InPart: // some lines are refused, and the outcome of the others is open
		return payment.Processing, payment.InstructionPending
	case periodic && known >= Rank(Checked) && (approved || known >= Rank(Executing)):
		return payment.Settled, payment.InstructionAccepted
	case known >= Rank(Settled):
		return payment.Settled, payment.InstructionDone
	case status == Partly:
		return payment.Processing, payment.InstructionPending
	case !approved && known < Rank(Executing):
		return payment.Awaiting, payment.InstructionPending
	case known >= Rank(last):
		return payment.Settled, payment.InstructionAccepted
	}
	return payment.Processing, payment.InstructionPending
}
