package sandbox

import (
	"encoding/json"
	"fmt"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// status is where the bank stands with an order, in its own words.
type status string

const (
	awaiting status = "awaiting"
	approved status = "approved"
	executed status = "executed"
	refused  status = "refused"
)

// order is what the bank keeps of an order that arrived. Only awaiting,
// approved and refused are ever stored: execution is a matter of time.
type order struct {
	Connector string            `json:"connector"`
	UseCase   string            `json:"use_case"`
	Mechanism string            `json:"mechanism"`
	Status    status            `json:"status"`
	Submitted time.Time         `json:"submitted"`
	ReturnURL string            `json:"return_url"`
	Currency  string            `json:"currency"`
	Total     int64             `json:"total"`
	Lines     []line            `json:"lines"`
	DateType  payment.DateType  `json:"date_type"`
	Frequency payment.Frequency `json:"frequency,omitempty"`
	// Day is the day of execution or the first of several, LastDay the last,
	// empty where the type of payment has none.
	Day     string `json:"day,omitempty"`
	LastDay string `json:"last_day,omitempty"`
	// Due is when an approved order is executed. It is fixed when the bank is
	// first asked after the approval, because pages do not know the domain's
	// present instant.
	Due *time.Time `json:"due,omitempty"`
}

// line is one beneficiary of an order.
type line struct {
	Name   string                   `json:"name"`
	Scheme passerelle.AccountScheme `json:"scheme"`
	Number string                   `json:"number"`
	Label  string                   `json:"label"`
	Minor  int64                    `json:"minor"`
}

// newOrder takes over what the payer will be shown.
func newOrder(uuid string, u useCase, in connector.Order) order {
	first := in.Payment.Instructions[0]
	o := order{
		Connector: uuid, UseCase: u.value, Mechanism: in.Mechanism, Status: awaiting, Submitted: in.Now, ReturnURL: in.ReturnURL,
		Currency: string(in.Payment.Currency()), Total: in.Payment.Total(),
		DateType: first.DateType, Frequency: first.Frequency, Day: first.ExecutionDate.String(), LastDay: first.EndDate.String(),
	}
	if first.DateType == payment.Periodic {
		o.Day = first.StartDate.String()
	}
	for _, one := range in.Payment.Instructions {
		to := one.Beneficiary
		o.Lines = append(o.Lines, line{to.Label, to.Scheme, to.Identification, one.Label, one.Amount.Minor})
	}
	return o
}

func (o order) encode() ([]byte, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode an order of the sandbox bank: %w", err)
	}
	return body, nil
}

func decodeOrder(body []byte) (order, error) {
	var o order
	if err := json.Unmarshal(body, &o); err != nil {
		return order{}, fmt.Errorf("decode an order of the sandbox bank: %w", err)
	}
	return o, nil
}

// statusAt is the status at an instant of the domain.
func (o order) statusAt(now time.Time) status {
	if o.Status == approved && o.Due != nil && !now.Before(*o.Due) {
		return executed
	}
	return o.Status
}
