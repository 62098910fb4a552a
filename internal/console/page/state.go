package page

import (
	"cmp"
	"strings"
)

// StateWord is a state of a payment, an instruction, a webhook or a delivery.
type StateWord string

// Unknown is the state that the console shows for a payment whose outcome is unknown. In the API,
// such a payment has the state created.
const Unknown StateWord = "unknown"

// Word returns the state in words. It does not change names that are words already.
func (s StateWord) Word() string { return cmp.Or(stateWords[s], string(s)) }

var stateWords = map[StateWord]string{
	"created":    "waits for the payer",
	"validating": "waits for approval",
	"pending":    "in progress",
	"done":       "executed",
	"partial":    "partly executed",
	Unknown:      "outcome unknown",
}

// ConnectionWord is the state of a connection. The zero value means that the connection works.
type ConnectionWord string

// Word returns the state in words.
func (t ConnectionWord) Word() string { return cmp.Or(troubleWords[t], string(t)) }

var troubleWords = map[ConnectionWord]string{
	"":                            "working",
	"SCARequired":                 "user must confirm again",
	"webauthRequired":             "user must sign in again",
	"additionalInformationNeeded": "bank asks the user",
	"decoupled":                   "user must confirm in the app",
	"validating":                  "being read",
	"actionNeeded":                "user must act at the bank",
	"passwordExpired":             "password expired",
	"wrongpass":                   "wrong password",
	"rateLimiting":                "too many requests",
	"websiteUnavailable":          "bank not reachable",
	"bug":                         "unexpected failure",
	"notSupported":                "not supported",
}

// Code is an error code of a payment, such as insufficientFunds.
type Code string

// Word returns the code in words. It returns an unknown code unchanged.
func (c Code) Word() string { return cmp.Or(codeWords[c], string(c)) }

var codeWords = map[Code]string{
	"invalidEmitter":       "payer's account not accepted",
	"insufficientFunds":    "not enough money",
	"invalidAmount":        "amount not accepted",
	"invalidCurrency":      "currency not accepted",
	"invalidDate":          "date not accepted",
	"invalidBeneficiary":   "beneficiary's account not accepted",
	"invalidLabel":         "label not accepted",
	"invalidReferenceId":   "reference not accepted",
	"regulatoryReason":     "legal or regulatory reason",
	"authenticationFailed": "payer not authenticated",
	"noAnswerFromCustomer": "payer did not approve in time",
	"noSpecifiedReason":    "no reason from the bank",
	"CancelledByUser":      "cancelled by the payer",
	"CancelledByClient":    "cancelled by the application",
	"confirmationRefused":  "application refused to confirm",
	"bankMessage":          "refused with a message",
	"invalidValue":         "a value not accepted",
	"websiteUnavailable":   "bank not available",
	"bug":                  "unexpected failure",
}

// BankStatus is a status that a bank reports, with reason codes, such as RJCT AC04.
type BankStatus string

// Word returns a common status of ISO 20022 in words. It returns an empty text for other statuses.
func (b BankStatus) Word() string {
	status, _, _ := strings.Cut(string(b), " ")
	return bankStatuses[status]
}

var bankStatuses = map[string]string{
	"ACCC": "booked on the beneficiary's account", "ACCP": "checked by the bank", "ACFC": "funds checked", "ACSC": "booked on the payer's account",
	"ACSP": "accepted, being executed", "ACTC": "approved, format checked", "ACWC": "accepted with a change", "ACWP": "accepted, not booked yet",
	"CANC": "cancelled", "PART": "partly accepted", "PATC": "approved by some of the signatories", "PDNG": "not decided yet", "RCVD": "received", "RJCT": "refused",
}
