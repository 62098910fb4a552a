package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox/speech"
	"passerelle/payment"
)

// order is an order as the bank stores it, with its state.
type order struct {
	Connector string    `json:"connector"`
	UseCase   string    `json:"use_case"`
	Mechanism string    `json:"mechanism"`
	Submitted time.Time `json:"submitted"`
	ReturnURL string    `json:"return_url"`
	// Language is the language that the payer's device requested, empty when it requested no
	// language.
	Language  string            `json:"language,omitempty"`
	Currency  string            `json:"currency"`
	Total     int64             `json:"total"`
	Lines     []line            `json:"lines"`
	Payer     account           `json:"payer,omitzero"`
	DateType  payment.DateType  `json:"date_type"`
	Frequency payment.Frequency `json:"frequency,omitempty"`
	// Day is the day of execution, or the first of several. LastDay is the last of several. Both
	// may be empty.
	Day     string `json:"day,omitempty"`
	LastDay string `json:"last_day,omitempty"`

	// Plan lists the actions of the bank, and At is the present step.
	Plan plan `json:"plan"`
	At   int  `json:"at"`
	// Since is the time at which the step began. If a page began the step, Since is nil until the
	// service asks the bank again, because pages do not know the present instant of the domain.
	Since *time.Time `json:"since,omitempty"`
	// LinesEnded means that all instructions with a delayed ending have ended.
	LinesEnded bool `json:"lines_ended,omitempty"`
	// Tries is the number of reports or answers in this step.
	Tries int `json:"tries,omitempty"`
	// Decision is the payer's last decision on a page.
	Decision decision `json:"decision,omitempty"`
	// Cancellation is nil until a cancellation is requested.
	Cancellation *cancellation `json:"cancellation,omitempty"`
	// Ignored are the meaningless steps of scripts.
	Ignored []string `json:"ignored,omitempty"`

	// Status and Due are the state of an order from a version without plans.
	Status string     `json:"status,omitempty"`
	Due    *time.Time `json:"due,omitempty"`
}

// line is one instruction of an order.
type line struct {
	Name   string                   `json:"name"`
	Scheme passerelle.AccountScheme `json:"scheme"`
	Number string                   `json:"number"`
	Label  string                   `json:"label"`
	Minor  int64                    `json:"minor"`
}

// account is the payer's account, empty when unknown.
type account struct {
	Scheme passerelle.AccountScheme `json:"scheme"`
	Number string                   `json:"number"`
	Name   string                   `json:"name"`
}

// newOrder copies the data that the payer sees or that selects scripts, and makes the plan.
func newOrder(b bank, u useCase, timing Timing, in connector.Order) order {
	first := in.Payment.Instructions[0]
	o := order{
		Connector: b.profile.UUID, UseCase: u.value, Mechanism: in.Mechanism, Submitted: in.Now, ReturnURL: in.ReturnURL, Language: in.Device.AcceptLanguage,
		Currency: string(in.Payment.Currency()), Total: in.Payment.Total(),
		DateType: first.DateType, Frequency: first.Frequency, Day: first.ExecutionDate.String(), LastDay: first.EndDate.String(),
		Since: &in.Now,
	}
	switch first.DateType {
	case payment.Periodic:
		o.Day = first.StartDate.String()
	case payment.FirstOpenDay:
		o.Day = payment.NextOpenDay(in.Now, first.Beneficiary.Scheme).String()
	case payment.Deferred, payment.Instant: // the instruction names the day, or there is none
	}
	if from := in.Payment.Payer; from != nil {
		o.Payer = account{from.Scheme, from.Identification, from.Label}
	}
	for _, one := range in.Payment.Instructions {
		to := one.Beneficiary
		o.Lines = append(o.Lines, line{to.Label, to.Scheme, to.Identification, one.Label, one.Amount.Minor})
	}
	o.Plan, o.Ignored = planned(&o, b, u, timing, in.ManualConfirmation)
	return o
}

func (o *order) encode() ([]byte, error) {
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
	if len(o.Plan.Steps) == 0 {
		o.modernise()
	}
	if o.At < 0 || o.At >= len(o.Plan.Steps) || len(o.Lines) == 0 {
		return order{}, fmt.Errorf("decode an order of the sandbox bank: step %d of %d, %d lines", o.At, len(o.Plan.Steps), len(o.Lines))
	}
	return o, nil
}

// modernise makes a plan for an order from a version without plans: approval on a page, then
// execution when due.
func (o *order) modernise() {
	last := ending{State: payment.InstructionDone}
	if o.DateType == payment.Periodic {
		last.State = payment.InstructionAccepted
	}
	o.Plan.Steps = []step{{Do: ask, What: "redirect"}, {Do: pend}, {Do: end, Ending: last}}
	o.Since = o.Due
	switch o.Status {
	case "approved":
		o.At, o.Decision = 1, approve
	case "refused":
		o.conclude(refusedAtBank)
		o.Decision = refuse
	}
	o.Status, o.Due = "", nil
}

// speech returns the language in which the bank communicates about the order.
func (o *order) speech() speech.Speech { return speech.For(o.Language) }

// step returns the present step.
func (o *order) step() step { return o.Plan.Steps[o.At] }

// next goes to the next step. The step begins at the given instant. Nil means that the instant is
// not known yet.
func (o *order) next(begins *time.Time) { o.At, o.Since, o.Tries = o.At+1, begins, 0 }

// conclude ends the order immediately and drops the rest of its plan.
func (o *order) conclude(e ending) {
	o.Plan.Steps = append(slices.Clone(o.Plan.Steps[:o.At+1]), step{Do: end, Ending: e})
	o.next(nil)
}

// worked reports whether the bank has begun to process the order. Once processing has begun, the
// bank must report that the payer has approved.
func (o *order) worked() bool {
	return slices.ContainsFunc(o.Plan.Steps[:o.At+1], func(s step) bool { return s.Do == pend || s.Do == series })
}

// ran reports whether the bank has begun to execute a periodic order.
func (o *order) ran() bool {
	return slices.ContainsFunc(o.Plan.Steps[:o.At+1], func(s step) bool { return s.Do == series })
}

// question returns the bank's open question or, without an open question, its last one.
func (o *order) question() (question, bool) {
	for _, s := range slices.Backward(o.Plan.Steps[:o.At+1]) {
		if s.Do == ask {
			return questions[s.What], true
		}
	}
	return question{}, false
}

// open reports whether the payer can approve or refuse the order on a page.
func (o *order) open() bool {
	return o.step().Do == ask && questions[o.step().What].page && !o.cancelled()
}
