package console

import (
	"cmp"

	"passerelle/payment"
)

// These texts explain payments to operators who do not know the API well.

// nextByAction maps an action of the API to a text about the next step of the payment.
var nextByAction = map[payment.Action]string{
	payment.Redirect:      "The payer is on the bank's page. The payment continues when they come back, or when the bank reports what they did.",
	payment.Decoupled:     "The payer must approve the payment in the bank's app.",
	payment.FillFields:    "The payer must enter what the bank asks for, in the webview.",
	payment.Confirm:       "The application must confirm or refuse the order.",
	payment.PSUValidation: "The payer must validate the payment in the webview.",
}

// nextByCancellation maps actions to texts about a cancellation that waits for the payer.
var nextByCancellation = map[payment.Action]string{
	payment.Redirect:      "The bank is waiting for the payer to confirm or refuse the cancellation on the bank's page.",
	payment.Decoupled:     "The bank is waiting for the payer to confirm or refuse the cancellation in the bank's app.",
	payment.FillFields:    "The payer must enter what the bank asks for before it cancels, in the webview.",
	payment.Confirm:       "The application must confirm or refuse the cancellation.",
	payment.PSUValidation: "The payer must confirm or refuse the cancellation in the webview.",
}

// nextByState maps a state to a text about the next step of a payment without an action. For a
// final state, the text explains the state.
var nextByState = map[payment.State]string{
	payment.Created:    "The payer has not chosen a bank yet.",
	payment.Validating: "The bank has the order, and has not reported yet whether the payer approved it.",
	payment.Pending:    "The payer approved. The bank has not reported the result yet. The service asks it regularly.",
	payment.Done:       "The bank executed the payment.",
	payment.Accepted:   "The bank accepted the payment. It does not report executions.",
	payment.Partial:    "The bank executed part of the payment. The instructions below show which part.",
	payment.Rejected:   "No money moved.",
	payment.Expired:    "The bank gave no final response in time, and the service no longer asks the bank. Check the account before you pay again.",
}

// nextForEndedSeries is the text about a rejected payment that the bank executed at least once
// before the rejection, such as a periodic payment that was cancelled later.
const nextForEndedSeries = "The bank executed the order on the days in the timeline, and does not execute it again."

// nextForChosen is the text about a payment with a chosen bank and without an order.
const nextForChosen = "The payer has not ordered the payment yet. The application sends the payer to the payment page."

// nextForUnknown is the text about the next step of a payment with an unknown outcome.
const nextForUnknown = "The bank did not confirm the order. The service asks again if the bank gave the order an id or recognises repeated orders. Otherwise, ask the bank, and state below what it says."

// nextStep returns a text about a payment's next step. For a final state, it explains the state.
func nextStep(p *payment.Payment) string {
	switch {
	case p.Detail == payment.Cancelling:
		return cmp.Or(nextByCancellation[p.Action], "The payer must approve the cancellation at the bank.")
	case p.CancelCode != "" && !p.State.Final():
		return "A cancellation was requested. The bank has not responded yet."
	case p.State == payment.Rejected && !p.Instructions[0].Executed.IsZero():
		return nextForEndedSeries
	case nextByAction[p.Action] != "":
		return nextByAction[p.Action]
	case p.State == payment.Created && p.Connector != "" && p.Source == 0:
		return nextForChosen
	}
	return nextByState[p.State]
}

// advice has the meaning of an error code, and a remedy.
type advice struct{ Meaning, Remedy string }

// adviceByCode has an entry for every error code of the API.
var adviceByCode = map[payment.ErrorCode]advice{
	payment.InvalidEmitter:       {"The bank does not accept payments from the payer's account.", "Have the payer choose another account."},
	payment.InsufficientFunds:    {"The account does not have enough money.", "Have the payer choose another account, or try again later."},
	payment.InvalidAmount:        {"The bank does not accept this amount.", "Compare the amount with the limits on the bank's page."},
	payment.InvalidCurrency:      {"The bank does not pay in this currency.", "Use the currency of the payer's account."},
	payment.InvalidDate:          {"The bank does not accept this execution date.", "Choose another date. The bank's page shows which kinds of dates it supports."},
	payment.InvalidBeneficiary:   {"The bank does not know or does not accept the beneficiary's account.", "Check the account number with the beneficiary."},
	payment.InvalidLabel:         {"The bank does not accept this label.", "Use letters, digits and spaces, at most 140 characters."},
	payment.InvalidReferenceID:   {"The bank does not accept this reference.", "Use letters and digits, at most 31 characters (18 in the United Kingdom)."},
	payment.RegulatoryReason:     {"The bank refused for a legal or regulatory reason, without details.", "The payer must ask the bank."},
	payment.AuthenticationFailed: {"The payer could not prove who they are.", "Have the payer try again."},
	payment.NoAnswerFromCustomer: {"The payer did not approve in time.", "Create a new payment when the payer is ready."},
	payment.NoSpecifiedReason:    {"The bank refused and gave no reason.", "The payer must ask the bank. The bank's own status is in the timeline."},
	payment.CancelledByUser:      {"The payer cancelled.", "Nothing to do, unless the payer wants to try again."},
	payment.CancelledByClient:    {"The application cancelled.", "Nothing to do."},
	payment.ConfirmationRefused:  {"The application refused to confirm the order.", "Nothing to do."},
	payment.BankMessage:          {"The bank refused, with a message for the payer.", "The message says why. If it is unclear, the payer must ask the bank."},
	payment.InvalidValue:         {"The bank does not accept one of the values in the order.", "The bank's own status is in the timeline; compare the order with the bank's page."},
	payment.WebsiteUnavailable:   {"The bank was not available.", "Try again later. The bank's page shows its recent calls."},
	payment.Bug:                  {"An unexpected error occurred, at the bank or in this service.", "The log has the details under the request id."},
}
