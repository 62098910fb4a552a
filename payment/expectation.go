package payment

import "passerelle"

// expectations describes the expected act for each action, in the words of the API. The empty
// action stands for a payment that the bank is processing.
var expectations = map[Action]string{
	Redirect:      "the payer to follow validate_uri (action redirect)",
	Decoupled:     "the body resume (action decoupled)",
	FillFields:    "the body fields (action additionalInformationNeeded)",
	Confirm:       "the body confirm (action confirm)",
	PSUValidation: "the body psu_validate (action psuValidation)",
	"":            "no answer: its bank processes it",
}

// Expects returns nil when the payment waits for an answer to the action. Otherwise, Expects fails
// with a Conflict, which says what the payment expects or that the payment has ended. If action is
// empty, Expects returns nil only for a created payment, which waits for its validation.
func (p *Payment) Expects(action Action) error {
	switch {
	case p.State.Final():
		return passerelle.Conflicting("The payment is %s and can no longer be changed.", p.State)
	case p.State == Created && action != "":
		return passerelle.Conflicting("The payment is created and must be validated first (send validated).")
	case p.State != Created && (action == "" || p.Action != action):
		return passerelle.Conflicting("The payment is %s and expects %s.", p.State, expectations[p.Action])
	}
	return nil
}
