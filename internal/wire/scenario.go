package wire

import (
	"passerelle"
	"passerelle/payment"
)

// Scenario is one way to bring a payment into a state in a sandbox.
type Scenario struct {
	Name         string                `json:"name" doc:"unique name, which never changes"`
	Shows        string                `json:"shows" doc:"what the scenario shows"`
	Connector    string                `json:"connector_uuid"`
	Settings     map[string]string     `json:"settings,omitempty" doc:"settings that the domain needs"`
	Payer        *ScenarioAccount      `json:"payer,omitempty"`
	Instructions []ScenarioInstruction `json:"instructions"`
	Moves        []Move                `json:"moves" doc:"steps, in order"`
	Ends         Outcome               `json:"ends" doc:"what happens to the payment in the end"`
}

// Login describes a login in a sandbox, and its effect on the new connection.
type Login struct {
	Word  string `json:"word" doc:"prefix of the login; empty for all other logins"`
	Shows string `json:"shows" doc:"what the scenario shows"`
}

// ScenarioAccount is an account of a payer or a beneficiary.
type ScenarioAccount struct {
	Scheme         passerelle.AccountScheme `json:"scheme_name"`
	Identification string                   `json:"identification"`
	Label          string                   `json:"label"`
}

// ScenarioInstruction is one transfer of the payment to create.
type ScenarioInstruction struct {
	Amount      string              `json:"amount"`
	Currency    passerelle.Currency `json:"currency"`
	Label       string              `json:"label"`
	DateType    payment.DateType    `json:"execution_date_type"`
	Beneficiary ScenarioAccount     `json:"beneficiary"`
	Days        int                 `json:"days,omitempty" doc:"days from today to execution_date or start_date"`
	Saturday    bool                `json:"saturday,omitempty" doc:"moves the date to the first Saturday on or after it"`
	Until       int                 `json:"until_days,omitempty" doc:"days from today to end_date"`
	Frequency   *payment.Frequency  `json:"frequency,omitempty"`
}

// Move is one step of a scenario.
type Move struct {
	Do       string            `json:"do" doc:"validate, resume, submit, psu_validate, confirm or cancel (requests of these names), decide (on the bank's page), advance (the clock), or check"`
	Fields   map[string]string `json:"fields,omitempty" doc:"values for validate and submit"`
	Decision string            `json:"decision,omitempty" doc:"button to press on the bank's page"`
	Account  string            `json:"account,omitempty" doc:"account to choose on the bank's page"`
	Yes      bool              `json:"yes,omitempty" doc:"answer to psu_validate and confirm; false when omitted"`
	Seconds  int64             `json:"seconds,omitempty" doc:"number of seconds to advance the clock"`
	Refused  string            `json:"refused,omitempty" doc:"code of the error that refuses the step"`
}

// Outcome is the result of a payment.
type Outcome struct {
	States       []payment.State             `json:"states" doc:"all states that the payment goes through"`
	Instructions []*payment.InstructionState `json:"instruction_states" doc:"states of the instructions at the end"`
	Code         *payment.ErrorCode          `json:"error_code,omitempty"`
	Actions      []payment.Action            `json:"actions,omitempty" doc:"actions that are requested on the way"`
	Cancelling   bool                        `json:"cancelling,omitempty" doc:"whether a cancellation is in progress at some point"`
	Occurrences  int                         `json:"occurrences,omitempty" doc:"number of executions of a periodic payment"`
	Failed       int                         `json:"failed_occurrences,omitempty" doc:"number of executions that fail"`
	Incompatible []ScenarioReason            `json:"incompatibilities,omitempty" doc:"reasons why the connector is incompatible"`
}

// ScenarioReason is one rule that the payment breaks.
type ScenarioReason struct {
	Code string           `json:"code"`
	Type payment.Severity `json:"type"`
}
