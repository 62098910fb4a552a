package sandbox

import (
	"time"

	"passerelle"
	"passerelle/payment"
)

// Scenario describes how to bring a payment to a state: the payment, the moves, and the outcome.
// People can read it, and programs can run it through the API of a sandbox domain with the timing
// CI. Amounts, dates and durations have the form that the interface specification defines.
type Scenario struct {
	// Name is unique and never changes.
	Name string `json:"name"`
	// Shows is one sentence about the scenario.
	Shows string `json:"shows"`
	// Connector is the UUID of the bank.
	Connector string `json:"connector_uuid"`
	// Settings are the configuration keys that the domain needs, with their values.
	Settings map[string]string `json:"settings,omitempty"`
	Payer    *ScenarioAccount  `json:"payer,omitempty"`
	Lines    []ScenarioLine    `json:"instructions"`
	Moves    []Move            `json:"moves"`
	Ends     Outcome           `json:"ends"`
}

// ScenarioAccount is an account of a payer or a beneficiary.
type ScenarioAccount struct {
	Scheme passerelle.AccountScheme `json:"scheme_name"`
	Number string                   `json:"identification"`
	Name   string                   `json:"label"`
}

// ScenarioLine is one instruction, with days counted from today.
type ScenarioLine struct {
	Amount      string              `json:"amount"`
	Currency    passerelle.Currency `json:"currency"`
	Label       string              `json:"label"`
	DateType    payment.DateType    `json:"execution_date_type"`
	Beneficiary ScenarioAccount     `json:"beneficiary"`
	// Days is the number of days until a deferred instruction is executed or a periodic one
	// starts. With Saturday, the day is the first Saturday from then on.
	Days     int  `json:"days,omitempty"`
	Saturday bool `json:"saturday,omitempty"`
	// Until is the number of days until a periodic instruction ends. Zero means never.
	Until     int               `json:"until_days,omitempty"`
	Frequency payment.Frequency `json:"frequency,omitempty"`
}

// Doing is the kind of a move in a scenario.
type Doing string

// These are the kinds of moves. Bank.Page returns the addresses of the bank's pages.
const (
	// Validate is a validation with Fields, by the client or its webview.
	Validate Doing = "validate"
	// Decide is the payer's press of the button that Decision names, on the bank's page.
	Decide Doing = "decide"
	// Resume is the webview's report that the payer may have approved.
	Resume Doing = "resume"
	// Submit is the submission of Fields by the webview.
	Submit Doing = "submit"
	// PSUValidate and ConfirmOrder are answers to the actions psuValidation and confirm. Move.Yes
	// contains the answer.
	PSUValidate  Doing = "psu_validate"
	ConfirmOrder Doing = "confirm"
	// CancelOrder is the client's request to cancel.
	CancelOrder Doing = "cancel"
	// Advance advances the domain's clock by Seconds and does all due work.
	Advance Doing = "advance"
	// Check is a status check by the service at the bank.
	Check Doing = "check"
)

// Move is one move of a scenario.
type Move struct {
	Do       Doing             `json:"do"`
	Fields   map[string]string `json:"fields,omitempty"`
	Decision string            `json:"decision,omitempty"`
	Account  string            `json:"account,omitempty"`
	Yes      bool              `json:"yes,omitempty"`
	Seconds  int64             `json:"seconds,omitempty"`
	// Refused is the error code with which the API refuses this move, empty when the move succeeds.
	Refused string `json:"refused,omitempty"`
}

// Outcome is the expected outcome of a scenario.
type Outcome struct {
	// States lists all states of the payment, starting with payment.Created.
	States []payment.State `json:"states"`
	// Lines are the states of the instructions at the end. A null state is an empty string.
	Lines []payment.InstructionState `json:"instruction_states"`
	Code  payment.ErrorCode          `json:"error_code,omitempty"`
	// Actions lists the actions that occur in the scenario, without repetitions.
	Actions []payment.Action `json:"actions,omitempty"`
	// Cancelling means that a cancellation is under way at some point.
	Cancelling bool `json:"cancelling,omitempty"`
	// Occurrences is the number of executions of a periodic payment. Failed is the number of failed
	// executions.
	Occurrences int `json:"occurrences,omitempty"`
	Failed      int `json:"failed_occurrences,omitempty"`
	// Incompatible lists the reasons why the connector cannot make the payment, and the warnings.
	Incompatible []ScenarioReason `json:"incompatibilities,omitempty"`
}

// ScenarioReason is one incompatibility.
type ScenarioReason struct {
	Code string           `json:"code"`
	Type payment.Severity `json:"type"`
}

// Instructions returns the instructions as a client would send them on a day.
func (s Scenario) Instructions(today passerelle.Date) []payment.Instruction {
	list := make([]payment.Instruction, len(s.Lines))
	for i, l := range s.Lines {
		list[i] = l.instruction(today)
	}
	return list
}

// Account returns the account as payments represent it.
func (a ScenarioAccount) Account() passerelle.Account {
	return passerelle.Account{Scheme: a.Scheme, Identification: a.Number, Label: a.Name}
}

func (l ScenarioLine) instruction(today passerelle.Date) payment.Instruction {
	amount, err := passerelle.ParseMoney("amount", l.Amount, l.Currency)
	if err != nil {
		panic("sandbox: a scenario with the amount " + l.Amount)
	}
	in := payment.Instruction{
		Amount: amount, Label: l.Label, DateType: l.DateType, Frequency: l.Frequency, Beneficiary: l.Beneficiary.Account(),
	}
	switch l.DateType {
	case payment.Deferred:
		in.ExecutionDate = l.day(today)
	case payment.Periodic:
		in.StartDate = l.day(today)
		if l.Until > 0 {
			in.EndDate = today.AddDays(l.Until)
		}
	case payment.FirstOpenDay, payment.Instant: // these have no day
	}
	return in
}

func (l ScenarioLine) day(today passerelle.Date) passerelle.Date {
	day := today.AddDays(l.Days)
	for l.Saturday && day.Weekday() != time.Saturday {
		day = day.AddDays(1)
	}
	return day
}
