package console

import "passerelle/payment"

// Sentences about a payment for operators who do not know the API well.

// nextByAction describes what a payment waits for, by the next action in the API.
var nextByAction = map[payment.Action]string{
	payment.Redirect:      "The payer is at the bank's page. The payment goes on when they come back, or when the bank says what they did.",
	payment.Decoupled:     "The payer is to approve the payment in the bank's app.",
	payment.FillFields:    "The payer is to give what the bank asks for, on the webview.",
	payment.Confirm:       "The application is to confirm or refuse the order.",
	payment.PSUValidation: "The payer is to validate the payment on the webview.",
}

// nextByState describes the same for states without an action, and the meaning of final states.
var nextByState = map[payment.State]string{
	payment.Created:    "The payer has not chosen a bank yet.",
	payment.Validating: "The bank has the order and has not said yet whether the payer approved it.",
	payment.Pending:    "The payer approved. The bank has yet to say what became of the order, and is asked regularly.",
	payment.Done:       "The bank executed the payment.",
	payment.Accepted:   "The bank accepted the payment. It does not report executions.",
	payment.Partial:    "The bank executed a part of the payment. The instructions below say which.",
	payment.Rejected:   "No money moved.",
	payment.Expired:    "No final answer came in time, and the bank is not asked any more. Look at the account before you pay again.",
}

// nextStep describes what a payment waits for, or the meaning of its final state.
func nextStep(p *payment.Payment) string {
	switch {
	case p.Detail == payment.Cancelling:
		return "A cancellation is under way. The bank has not answered it yet."
	case nextByAction[p.Action] != "":
		return nextByAction[p.Action]
	}
	return nextByState[p.State]
}

// advice is the meaning of an error code, with a remedy.
type advice struct{ Meaning, Remedy string }

// adviceByCode has every error code of the API.
var adviceByCode = map[payment.ErrorCode]advice{
	payment.InvalidEmitter:       {"The bank does not take payments from this account.", "Have the payer choose another account."},
	payment.InsufficientFunds:    {"The account does not have enough money.", "Have the payer choose another account, or try again later."},
	payment.InvalidAmount:        {"The bank does not take this amount.", "Compare the amount with the limits on the bank's page."},
	payment.InvalidCurrency:      {"The bank does not pay in this currency.", "Use the currency of the payer's account."},
	payment.InvalidDate:          {"The bank does not take this execution date.", "Choose another day; see which kinds of dates the bank supports."},
	payment.InvalidBeneficiary:   {"The bank does not know or does not accept the beneficiary's account.", "Check the account number with the beneficiary."},
	payment.InvalidLabel:         {"The bank does not take this label.", "Use letters, digits and spaces, at most 140 characters."},
	payment.InvalidReferenceID:   {"The bank does not take this reference.", "Use letters and digits, at most 35 characters."},
	payment.RegulatoryReason:     {"The bank refused for a legal or regulatory reason, and says no more.", "The payer has to ask the bank."},
	payment.AuthenticationFailed: {"The payer could not prove who they are.", "Have the payer try again."},
	payment.NoAnswerFromCustomer: {"The payer did not approve in time.", "Make a new payment when the payer is ready."},
	payment.NoSpecifiedReason:    {"The bank refused and gave no reason.", "The payer has to ask the bank; the bank's own status is in the timeline."},
	payment.CancelledByUser:      {"The payer cancelled.", "Nothing to do, unless the payer says otherwise."},
	payment.CancelledByClient:    {"The application cancelled.", "Nothing to do."},
	payment.ConfirmationRefused:  {"The application refused the order when it was to confirm it.", "Nothing to do."},
	payment.BankMessage:          {"The bank refused, with a message for the payer.", "The message is below, with personal data."},
	payment.InvalidValue:         {"The bank does not take one of the values of the order.", "The bank's own status is in the timeline; compare the order with the bank's page."},
	payment.WebsiteUnavailable:   {"The bank was not available.", "Try again later; the bank's page shows how its calls go."},
	payment.Bug:                  {"Something failed that should not have, at the bank or here.", "The log has the details under the request's number. No money moved."},
}
