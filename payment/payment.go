package payment

import (
	"slices"
	"time"

	"passerelle"
)

// Detail refines a state. It is empty or Cancelling.
type Detail string

// Cancelling means that a cancellation waits for the payer's action.
const Cancelling Detail = "cancelling"

// Action is the next action of the payer or the client.
type Action string

// These are the actions of the payer or the client.
const (
	Redirect      Action = "redirect"
	Decoupled     Action = "decoupled"
	FillFields    Action = "additionalInformationNeeded"
	Confirm       Action = "confirm"
	PSUValidation Action = "psuValidation"
)

// DateType says when a bank should execute an instruction.
type DateType string

// These are the execution date types.
const (
	FirstOpenDay DateType = "first_open_day"
	Deferred     DateType = "deferred"
	Instant      DateType = "instant"
	Periodic     DateType = "periodic"
)

// DateTypes lists every execution date type.
func DateTypes() []DateType { return []DateType{FirstOpenDay, Deferred, Instant, Periodic} }

// InstructionState is the state of one instruction of a payment. It is empty until the payment is
// validated or rejected.
type InstructionState string

// These are the states of an instruction.
const (
	InstructionPending  InstructionState = "pending"
	InstructionRejected InstructionState = "rejected"
	InstructionDone     InstructionState = "done"
	InstructionAccepted InstructionState = "accepted"
)

// Field describes a value that a bank requests from the payer. The webview can show it, and so can
// the client's own page. Regex is a PCRE pattern for any part of the value, or empty.
type Field struct {
	Name     string
	Type     string // "text" or "list"
	Label    string
	Regex    string
	Required bool
	Values   []FieldValue
	// Image is a picture that the payer needs for the value, or empty. It is a data URL of a PNG,
	// JPEG or GIF, of at most MaxFieldImage bytes.
	Image string `json:",omitempty"`
	// Further means that the bank accepted the last value of this field and requests another value,
	// such as a second code. If it is false and the field is requested again, the last value was
	// wrong.
	Further bool `json:",omitempty"`
}

// FieldValue is one choice of a list field.
type FieldValue struct {
	Label string
	Value string
}

// Instruction is one transfer of a payment: an amount for one beneficiary.
type Instruction struct {
	// ID is unique among all instructions, and is assigned when the payment is stored.
	ID int64
	// ReferenceID is the end-to-end identifier, at most 31 characters.
	ReferenceID string
	Amount      passerelle.Money
	Label       string
	DateType    DateType
	// ExecutionDate is set only for deferred payments.
	ExecutionDate passerelle.Date
	// StartDate, EndDate and Frequency are set only for periodic payments. A zero EndDate means no
	// end.
	StartDate           passerelle.Date
	EndDate             passerelle.Date
	Frequency           Frequency
	Beneficiary         passerelle.Account
	BeneficiaryIdentity *passerelle.Identity
	State               InstructionState
	ErrorCode           ErrorCode
	ErrorDescription    string
	// Executed is the day on which the bank executed the instruction. If the final report does not
	// name the instruction, it is the day of that report. For a periodic instruction it is the day
	// of the last execution.
	Executed passerelle.Date
	// Occurred is the day of the newest reported execution of a periodic instruction, including
	// failed executions.
	Occurred passerelle.Date
}

// Payment is a payment with its instructions. After New, only Fire changes State.
type Payment struct {
	ID     passerelle.PaymentID
	Domain passerelle.DomainID
	Client passerelle.ClientID
	// Version counts stored changes. A change is stored only if the stored version has not changed
	// since the payment was loaded.
	Version int64
	// Seq is the number of the last transition.
	Seq       int64
	State     State
	Detail    Detail
	Action    Action
	ErrorCode ErrorCode
	// ErrorDescription is the bank's text for people: the reason of a refusal or, while an
	// action waits, instructions for the payer.
	ErrorDescription string
	// Fields are the fields that the bank requests while Action is FillFields.
	Fields      []Field
	ValidateURI string
	// Connector is the UUID of the chosen connector, empty until one is chosen.
	Connector string
	// Source is the number of the connector's source that carries the payment, zero until the
	// payment is sent.
	Source    int64
	Mechanism string
	Created   time.Time
	// Validated is the time at which the payment became validating.
	Validated         *time.Time
	ClientRedirectURI string
	ClientState       string
	// WebviewURL is the address to which the payer returns after an action.
	WebviewURL       string
	BankPaymentID    string
	Payer            *passerelle.Account
	PayerIdentity    *passerelle.Identity
	OperatorIdentity *passerelle.Identity
	Instructions     []Instruction
	// CancelCode is the error code that the payment gets if the requested cancellation is granted.
	// It depends on who requested the cancellation. It is empty when no cancellation was requested
	// or the last one was refused.
	CancelCode ErrorCode
	// CancelRedirectURI is the address to which the payer is redirected after the bank's
	// cancellation page, and CancelState is its state parameter.
	CancelRedirectURI string
	CancelState       string
	// Website is the value of the payment's field website.
	Website string
	// TermsVersion is the version of the terms that the payer accepted, empty when the payer
	// accepted no terms.
	TermsVersion string
	// Returned is the time at which the payer was first redirected to the client with the state of
	// the payment. It is nil when no such time was recorded.
	Returned *time.Time
	// Notes holds the notes that are not stored yet. See TakeNotes.
	Notes []Note
}

// DateType returns the execution date type. It is the same for all instructions.
func (p *Payment) DateType() DateType { return p.Instructions[0].DateType }

// Currency returns the currency. It is the same for all instructions.
func (p *Payment) Currency() passerelle.Currency { return p.Instructions[0].Amount.Currency }

// Total returns the sum of the instructions in minor units of Currency. New refuses drafts with a
// sum that would overflow.
func (p *Payment) Total() int64 {
	var total int64
	for _, in := range p.Instructions {
		total += in.Amount.Minor
	}
	return total
}

// clone returns a copy that later changes do not affect.
func (p *Payment) clone() Payment {
	twin := *p
	twin.Instructions = slices.Clone(p.Instructions)
	twin.Fields = slices.Clone(p.Fields)
	return twin
}
