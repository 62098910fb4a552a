package wire

import (
	"passerelle"
	"passerelle/payment"
)

// Scenario is one way to bring a payment to a state in a sandbox.
type Scenario struct {
	Name         string                `json:"name" doc:"unique, and for ever the same"`
	Shows        string                `json:"shows" doc:"what there is to see"`
	Connector    string                `json:"connector_uuid"`
	Settings     map[string]string     `json:"settings,omitempty" doc:"configuration keys that the domain needs"`
	Payer        *ScenarioAccount      `json:"payer,omitempty"`
	Instructions []ScenarioInstruction `json:"instructions"`
	Moves        []Move                `json:"moves" doc:"what is done, one after the other"`
	Ends         Outcome               `json:"ends" doc:"what becomes of the payment"`
}

// Login is the result of a login of a connection in a sandbox.
type Login struct {
	Word  string `json:"word" doc:"what the login begins with; empty for all others"`
	Shows string `json:"shows" doc:"what there is to see"`
}

// ScenarioAccount is an account of a payer or a beneficiary.
type ScenarioAccount struct {
	Scheme         passerelle.AccountScheme `json:"scheme_name"`
	Identification string                   `json:"identification"`
	Label          string                   `json:"label"`
}

// ScenarioInstruction is one line of the payment to create.
type ScenarioInstruction struct {
	Amount      string              `json:"amount"`
	Currency    passerelle.Currency `json:"currency"`
	Label       string              `json:"label"`
	DateType    payment.DateType    `json:"execution_date_type"`
	Beneficiary ScenarioAccount     `json:"beneficiary"`
	Days        int                 `json:"days,omitempty" doc:"days from today to execution_date or start_date"`
	Saturday    bool                `json:"saturday,omitempty" doc:"the first Saturday from then on"`
	Until       int                 `json:"until_days,omitempty" doc:"days from today to end_date"`
	Frequency   *payment.Frequency  `json:"frequency,omitempty"`
}

// Move is one step of a scenario.
type Move struct {
	Do       string            `json:"do" doc:"validate, resume, submit, psu_validate, confirm or cancel, by requests of that name; decide, on the bank's page; advance the clock, or check"`
	Fields   map[string]string `json:"fields,omitempty" doc:"with validate and submit"`
	Decision string            `json:"decision,omitempty" doc:"the button that is pressed on the bank's page"`
	Account  string            `json:"account,omitempty" doc:"the account that is chosen on the bank's page"`
	Yes      bool              `json:"yes,omitempty" doc:"the answer to psu_validate and confirm; false when absent"`
	Seconds  int64             `json:"seconds,omitempty" doc:"by which the clock advances"`
	Refused  string            `json:"refused,omitempty" doc:"code of the error by which this is refused"`
}

// Outcome is the result of a payment.
type Outcome struct {
	States       []payment.State             `json:"states" doc:"all that it goes through"`
	Instructions []*payment.InstructionState `json:"instruction_states" doc:"at the end"`
	Code         *payment.ErrorCode          `json:"error_code,omitempty"`
	Actions      []payment.Action            `json:"actions,omitempty" doc:"that are asked for on the way"`
	Cancelling   bool                        `json:"cancelling,omitempty" doc:"whether a cancellation is under way at some time"`
	Occurrences  int                         `json:"occurrences,omitempty" doc:"executions of a periodic payment"`
	Failed       int                         `json:"failed_occurrences,omitempty" doc:"those of them that fail"`
	Incompatible []ScenarioReason            `json:"incompatibilities,omitempty" doc:"what speaks against the connector"`
}

// ScenarioReason is one rule that the payment breaks.
type ScenarioReason struct {
	Code string           `json:"code"`
	Type payment.Severity `json:"type"`
}
