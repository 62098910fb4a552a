package payment

import (
	"slices"
	"time"

	"passerelle"
)

// Detail refines a state: a cancellation under way, or nothing.
type Detail string

// Cancelling means that a cancellation waits for the payer's action.
const Cancelling Detail = "cancelling"

// Action is what the payer or the client has to do next.
type Action string

// The actions a payment can ask for.
const (
	Redirect      Action = "redirect"
	Decoupled     Action = "decoupled"
	FillFields    Action = "additionalInformationNeeded"
	Confirm       Action = "confirm"
	PSUValidation Action = "psuValidation"
)

// ErrorCode says why a payment or a line was rejected. Clients treat unknown
// codes as a generic refusal.
type ErrorCode string

// The error codes of the interface specification; ErrorCodes lists them.
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

// ErrorCodes lists every error code, in the order of the interface specification.
func ErrorCodes() []ErrorCode {
	return []ErrorCode{
		InvalidEmitter, InsufficientFunds, InvalidAmount, InvalidCurrency, InvalidDate, InvalidBeneficiary, InvalidLabel,
		InvalidReferenceID, RegulatoryReason, AuthenticationFailed, NoAnswerFromCustomer, NoSpecifiedReason, CancelledByUser,
		CancelledByClient, ConfirmationRefused, BankMessage, InvalidValue, WebsiteUnavailable, Bug,
	}
}

// DateType says when a bank is to execute an instruction.
type DateType string

// The execution date types.
const (
	FirstOpenDay DateType = "first_open_day"
	Deferred     DateType = "deferred"
	Instant      DateType = "instant"
	Periodic     DateType = "periodic"
)

// DateTypes lists every execution date type.
func DateTypes() []DateType { return []DateType{FirstOpenDay, Deferred, Instant, Periodic} }

// Frequency is how often a periodic payment repeats.
type Frequency string

// Frequencies lists every frequency of the interface specification.
func Frequencies() []Frequency {
	return []Frequency{"daily", "weekly", "two-weekly", "monthly", "two-monthly", "quarterly", "four-monthly", "semiannually", "yearly"}
}

// InstructionState is where one line of a payment stands; empty while the
// payment is not validated.
type InstructionState string

// The states of an instruction.
const (
	InstructionPending  InstructionState = "pending"
	InstructionRejected InstructionState = "rejected"
	InstructionDone     InstructionState = "done"
	InstructionAccepted InstructionState = "accepted"
)

// Field is a value the payer has to give, described so that any page can ask
// for it. Regex is a PCRE pattern and may be empty.
type Field struct {
	Name     string
	Type     string // "text" or "list"
	Label    string
	Regex    string
	Required bool
	Values   []FieldValue
}

// FieldValue is one choice of a list field.
type FieldValue struct {
	Label string
	Value string
}

// Instruction is one line of a payment: an amount for one beneficiary.
type Instruction struct {
	// ID is unique among all instructions, and is assigned when stored.
	ID int64
	// ReferenceID is the end-to-end identifier, at most 31 characters.
	ReferenceID string
	Amount      passerelle.Money
	Label       string
	DateType    DateType
	// ExecutionDate is set for deferred payments alone.
	ExecutionDate passerelle.Date
	// StartDate, EndDate and Frequency are set for periodic payments alone;
	// a zero EndDate means until stopped.
	StartDate           passerelle.Date
	EndDate             passerelle.Date
	Frequency           Frequency
	Beneficiary         passerelle.Account
	BeneficiaryIdentity *passerelle.Identity
	State               InstructionState
	ErrorCode           ErrorCode
	ErrorDescription    string
	// Executed is the day the bank really executed the line, of a periodic one
	// the day of its last execution.
	Executed passerelle.Date
	// Occurred is the day of the newest execution of a periodic line that was
	// heard of, failed ones included.
	Occurred passerelle.Date
}

// Payment is one payment and its lines. Fields are changed by the methods of
// this package only; State by Fire only.
type Payment struct {
	ID     passerelle.PaymentID
	Domain passerelle.DomainID
	Client passerelle.ClientID
	// Version counts stored changes; a change is stored only over the
	// version it was made from.
	Version int64
	// Seq is the number of the last transition.
	Seq       int64
	State     State
	Detail    Detail
	Action    Action
	ErrorCode ErrorCode
	// ErrorDescription is what the bank says to people: why it refused or,
	// while an action waits, what the payer is to do.
	ErrorDescription string
	// Fields are what the payer has to fill while Action is FillFields.
	Fields      []Field
	ValidateURI string
	// Connector is the UUID of the chosen connector, empty until chosen.
	Connector string
	// Source is the number of the connector's channel that the payment goes
	// through, zero until it is sent.
	Source    int64
	Mechanism string
	Created   time.Time
	// Validated is the instant of created to validating.
	Validated         *time.Time
	ClientRedirectURI string
	ClientState       string
	// WebviewURL is where the payer returns after an action.
	WebviewURL       string
	BankPaymentID    string
	Payer            *passerelle.Account
	PayerIdentity    *passerelle.Identity
	OperatorIdentity *passerelle.Identity
	Instructions     []Instruction
	// CancelCode is the code that a cancellation will end with when it is
	// granted: who asked for it. It is empty when none was asked for, or the
	// last one was refused.
	CancelCode ErrorCode
	// CancelRedirectURI and CancelState say where the payer returns after the
	// bank's page of a cancellation.
	CancelRedirectURI string
	CancelState       string
	// Website is the value of the payment field of that name.
	Website string
	// TermsVersion is the version of the terms that the payer accepted, empty
	// when none were.
	TermsVersion string
	// Returned is when the payer was first sent back to the client with news of
	// the payment, as far as that was recorded.
	Returned *time.Time
	// Notes wait to be stored; see TakeNotes.
	Notes []Note
}

// DateType is the execution date type, which all lines share.
func (p *Payment) DateType() DateType { return p.Instructions[0].DateType }

// Currency is the currency, which all lines share.
func (p *Payment) Currency() passerelle.Currency { return p.Instructions[0].Amount.Currency }

// Total is the sum of the lines in minor units of Currency. New refuses drafts
// whose sum would overflow.
func (p *Payment) Total() int64 {
	var total int64
	for _, in := range p.Instructions {
		total += in.Amount.Minor
	}
	return total
}

// clone copies the payment so that a later change leaves the copy alone.
func (p *Payment) clone() Payment {
	twin := *p
	twin.Instructions = slices.Clone(p.Instructions)
	twin.Fields = slices.Clone(p.Fields)
	return twin
}
