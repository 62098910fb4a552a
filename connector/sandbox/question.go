package sandbox

import (
	"maps"
	"slices"
	"time"

	"passerelle/payment"
)

// question is something that the bank waits for.
type question struct {
	action payment.Action
	// text is shown to the payer while the question is open.
	text string
	// delay is how long a payer takes to answer with the timing Faithful. A duration in a script
	// replaces it.
	delay time.Duration
	// page means that the payer can answer on the bank's page. loaded means that a request for the
	// page's address is the answer yes.
	page, loaded bool
	// form contains the requested fields, if any.
	form *form
	// no is the order's ending when the answer is no.
	no ending
}

// questions contains the bank's questions by name. Scripts use these names.
var questions = map[string]question{
	"redirect":   {action: payment.Redirect, page: true, no: refusedAtBank},
	"loaded":     {action: payment.Redirect, page: true, loaded: true, no: refusedAtBank},
	"decoupled":  {action: payment.Decoupled, page: true, text: confirmInApp, delay: 10 * time.Second, no: refusedAtBank},
	"unanswered": {action: payment.Decoupled, page: true, text: confirmInApp, delay: 20 * time.Second, no: refusedAtBank},
	"otp":        {action: payment.FillFields, form: &smsForm},
	"fields":     {action: payment.FillFields, form: &severalForm},
	"account":    {action: payment.FillFields, form: &accountForm},
	"confirm":    {action: payment.Confirm, no: notGranted},
	"psu":        {action: payment.PSUValidation, no: byPayer},
}

const confirmInApp = "Please confirm the transaction in the phone app."

var refusedAtBank = ending{
	payment.InstructionRejected, payment.CancelledByUser, "The payer refused the payment at the bank.", payment.ByPayer,
}

// form is a set of fields and the effect of their values.
type form struct {
	fields []payment.Field
	// right holds the values with which the order continues.
	right map[string]string
	// wrong maps single values to endings. For other wrong values, the bank asks again. When no
	// attempts are left, failed is the ending of the order.
	wrong    map[string]ending
	attempts int
	failed   ending
}

var (
	smsForm = form{
		fields: []payment.Field{{Name: "openapisms", Type: "text", Label: "Code received by SMS", Required: true}},
		right:  map[string]string{"openapisms": "1234"}, attempts: 1, failed: refusal(payment.AuthenticationFailed),
	}
	// severalForm has fields of several kinds: a field with a pattern, a list, and an optional
	// field.
	severalForm = form{
		fields: []payment.Field{
			{Name: "code", Type: "text", Label: "Code on your card (1234)", Regex: `^(?=\d{4}$)\d+$`, Required: true},
			{Name: "device", Type: "list", Label: "Device", Required: true, Values: []payment.FieldValue{
				{Label: "Téléphone", Value: "phone"}, {Label: "タブレット", Value: "tablet"},
			}},
			{Name: "state", Type: "text", Label: "A note for yourself"},
		},
		right: map[string]string{"code": "1234"}, attempts: 3, failed: refusal(payment.InvalidValue),
	}
	accountForm = form{
		fields: []payment.Field{{Name: "account_id", Type: "list", Label: "Account to debit", Required: true, Values: []payment.FieldValue{
			{Label: "Main account", Value: "main"}, {Label: "Second account", Value: "snd"},
		}}},
		right: map[string]string{"account_id": "main"},
		wrong: map[string]ending{"snd": {
			State: payment.InstructionRejected, Code: payment.InvalidEmitter, Text: "Please select the main account.",
		}},
		attempts: 1, failed: refusal(payment.InvalidValue),
	}
)

// judgement is the effect of an answer: wait, continue, or end the order.
type judgement int

const (
	waitOn judgement = iota
	goOn
	endIt
)

// judge returns the effect of the values in an attempt. Attempts count from 1.
func (f *form) judge(values map[string]string, attempt int) (judgement, ending) {
	if f.matches(values) {
		return goOn, ending{}
	}
	for _, value := range slices.Sorted(maps.Values(values)) {
		if e, known := f.wrong[value]; known {
			return endIt, e
		}
	}
	if attempt >= f.attempts {
		return endIt, f.failed
	}
	return waitOn, ending{}
}

func (f *form) matches(values map[string]string) bool {
	for name, right := range f.right {
		if values[name] != right {
			return false
		}
	}
	return true
}
