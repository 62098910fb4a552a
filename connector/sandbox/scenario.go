package sandbox

import (
	"time"

	"passerelle"
	"passerelle/payment"
)

// Scenario describes how to bring a payment to a state: the payment, the acts, and the outcome.
// Programs can run it, through the API of a sandbox domain with the timing CI, and people can
// read it. Amounts, dates and durations have the form of the interface specification.
type Scenario struct {
	// Name is unique and never changes.
	Name string `json:"name"`
	// Shows is one sentence about the scenario.
	Shows string `json:"shows"`
	// Connector is the UUID of the bank.
	Connector string `json:"connector_uuid"`
	// Settings are configuration keys the domain needs, with their values.
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
	// Days is when a deferred line is executed or a periodic one starts; with Saturday, the
	// first Saturday from then on.
	Days     int  `json:"days,omitempty"`
	Saturday bool `json:"saturday,omitempty"`
	// Until is when a periodic line ends, counted in days, zero for never.
	Until     int               `json:"until_days,omitempty"`
	Frequency payment.Frequency `json:"frequency,omitempty"`
}

// Doing is a kind of move in a scenario.
type Doing string

// The kinds of acts. The bank's pages have the addresses of Bank.Page.
const (
	// Validate: the client, or its webview, validates with Fields.
	Validate Doing = "validate"
	// Decide: the payer presses the button Decision on the bank's page.
	Decide Doing = "decide"
	// Resume: the webview reports that the payer may have approved.
	Resume Doing = "resume"
	// Submit: the webview submits Fields.
	Submit Doing = "submit"
	// PSUValidate and ConfirmOrder: the answer is Yes.
	PSUValidate  Doing = "psu_validate"
	ConfirmOrder Doing = "confirm"
	// CancelOrder: the client asks to cancel.
	CancelOrder Doing = "cancel"
	// Advance: the domain's clock advances by Seconds, and all due work is done.
	Advance Doing = "advance"
	// Check: the bank is asked once more.
	Check Doing = "check"
)

// Move is one act of a scenario.
type Move struct {
	Do       Doing             `json:"do"`
	Fields   map[string]string `json:"fields,omitempty"`
	Decision string            `json:"decision,omitempty"`
	Account  string            `json:"account,omitempty"`
	Yes      bool              `json:"yes,omitempty"`
	Seconds  int64             `json:"seconds,omitempty"`
	// Refused is the error code with which the API refuses this act, empty when the act
	// succeeds.
	Refused string `json:"refused,omitempty"`
}

// Outcome is the result for a payment.
type Outcome struct {
	// States are all states of the payment, from created on.
	States []payment.State `json:"states"`
	// Lines are the states of the instructions at the end, null as empty.
	Lines []payment.InstructionState `json:"instruction_states"`
	Code  payment.ErrorCode          `json:"error_code,omitempty"`
	// Actions are the actions on the way, each once.
	Actions []payment.Action `json:"actions,omitempty"`
	// Cancelling means that a cancellation is under way at some time.
	Cancelling bool `json:"cancelling,omitempty"`
	// Occurrences counts the executions of a periodic payment, and Failed the failed ones.
	Occurrences int `json:"occurrences,omitempty"`
	Failed      int `json:"failed_occurrences,omitempty"`
	// Incompatible are the reasons that speak against the connector.
	Incompatible []ScenarioReason `json:"incompatibilities,omitempty"`
}

// ScenarioReason is one incompatibility.
type ScenarioReason struct {
	Code string           `json:"code"`
	Type payment.Severity `json:"type"`
}

// Instructions are the lines as a client would send them on that day.
func (s Scenario) Instructions(today passerelle.Date) []payment.Instruction {
	list := make([]payment.Instruction, len(s.Lines))
	for i, l := range s.Lines {
		list[i] = l.instruction(today)
	}
	return list
}

// Account is the account in the form that payments have.
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
	case payment.FirstOpenDay, payment.Instant: // have no day
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
