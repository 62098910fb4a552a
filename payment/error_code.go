package payment

// ErrorCode says why a payment or an instruction was rejected. Clients treat an unknown code as a
// general refusal.
type ErrorCode string

// These are the error codes of the API. ErrorCodes lists them.
const (
	InvalidEmitter       ErrorCode = "invalidEmitter"
	InsufficientFunds    ErrorCode = "insufficientFunds"
	InvalidAmount        ErrorCode = "invalidAmount"
	InvalidCurrency      ErrorCode = "invalidCurrency"
	InvalidDate          ErrorCode = "invalidDate"
	InvalidBeneficiary   ErrorCode = "invalidBeneficiary"
	InvalidLabel         ErrorCode = "invalidLabel"
	InvalidReferenceID   ErrorCode = "invalidReferenceId"
	RegulatoryReason     ErrorCode = "regulatoryReason"
	AuthenticationFailed ErrorCode = "authenticationFailed"
	NoAnswerFromCustomer ErrorCode = "noAnswerFromCustomer"
	NoSpecifiedReason    ErrorCode = "noSpecifiedReason"
	CancelledByUser      ErrorCode = "CancelledByUser"
	CancelledByClient    ErrorCode = "CancelledByClient"
	ConfirmationRefused  ErrorCode = "confirmationRefused"
	BankMessage          ErrorCode = "bankMessage"
	InvalidValue         ErrorCode = "invalidValue"
	WebsiteUnavailable   ErrorCode = "websiteUnavailable"
	Bug                  ErrorCode = "bug"
)

// ErrorCodes lists every error code of the API.
func ErrorCodes() []ErrorCode {
	return []ErrorCode{
		InvalidEmitter, InsufficientFunds, InvalidAmount, InvalidCurrency, InvalidDate, InvalidBeneficiary, InvalidLabel,
		InvalidReferenceID, RegulatoryReason, AuthenticationFailed, NoAnswerFromCustomer, NoSpecifiedReason, CancelledByUser,
		CancelledByClient, ConfirmationRefused, BankMessage, InvalidValue, WebsiteUnavailable, Bug,
	}
}
