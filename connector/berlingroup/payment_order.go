package berlingroup

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle/payment"
)

// orderBody is an order as the standard represents it: a single, a bulk or a periodic payment.
type orderBody struct {
	transferBody
	Debtor    *accountReference `json:"debtorAccount,omitempty"`
	Execution string            `json:"requestedExecutionDate,omitempty"`
	Payments  []transferBody    `json:"payments,omitempty"`

	Start     string   `json:"startDate,omitempty"`
	End       string   `json:"endDate,omitempty"`
	Rule      string   `json:"executionRule,omitempty"`
	Frequency string   `json:"frequency,omitempty"`
	Day       string   `json:"dayOfExecution,omitempty"`
	Months    []string `json:"monthsOfExecution,omitempty"`
}

// transferBody is one transfer.
type transferBody struct {
	EndToEnd     string            `json:"endToEndIdentification,omitempty"`
	Amount       *amount           `json:"instructedAmount,omitempty"`
	Creditor     *accountReference `json:"creditorAccount,omitempty"`
	Agent        string            `json:"creditorAgent,omitempty"`
	CreditorName string            `json:"creditorName,omitempty"`
	Remittance   string            `json:"remittanceInformationUnstructured,omitempty"`
}

// These are the limits of the standard, in characters.
const (
	maxCreditorName = 70
	maxRemittance   = 140
)

// order returns the body for a payment, with the payer's account if it is known and accepted.
func (p *Profile) order(of payment.Payment, service string) orderBody {
	var body orderBody
	if of.Payer != nil && payers[p.DebtorAccount] != payment.PayerNotUsed {
		body.Debtor = &accountReference{IBAN: of.Payer.Identification}
	}
	first := of.Instructions[0]
	if first.DateType == payment.Deferred {
		body.Execution = first.ExecutionDate.String()
	}
	if service != bulkService {
		body.transferBody = transferOf(first)
	}
	for _, in := range of.Instructions {
		if service == bulkService {
			body.Payments = append(body.Payments, transferOf(in))
		}
	}
	if service == periodicService {
		body.repeat(first)
	}
	return body
}

func transferOf(in payment.Instruction) transferBody {
	t := transferBody{
		EndToEnd: in.ReferenceID, Amount: &amount{string(in.Amount.Currency), digits(in.Amount.Decimal())},
		Creditor: &accountReference{IBAN: in.Beneficiary.Identification}, CreditorName: cut(in.Beneficiary.Label, maxCreditorName), Remittance: cut(in.Label, maxRemittance),
	}
	if payment.BICForm.MatchString(in.Beneficiary.Issuer) {
		t.Agent = in.Beneficiary.Issuer
	}
	return t
}

// cut shortens a text to at most the given number of characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return strings.TrimSpace(string(runes[:most]))
	}
	return text
}

// frequencies maps our frequencies to the frequencies of the standard. The standard has no value
// for an interval of four months, so such an order lists its months.
var frequencies = map[payment.Frequency]string{
	"daily": "Daily", "weekly": "Weekly", "two-weekly": "EveryTwoWeeks", "monthly": "Monthly", "two-monthly": "EveryTwoMonths",
	"quarterly": "Quarterly", "four-monthly": "MonthlyVariable", "semiannually": "SemiAnnual", "yearly": "Annual",
}

// byWeeks lists the frequencies that do not depend on the day of the month.
var byWeeks = []payment.Frequency{"daily", "weekly", "two-weekly"}

// repeat sets the schedule of a periodic order. If a scheduled day is closed, the bank executes the
// payment on the next open day. The day 31 stands for the last day of each month.
func (o *orderBody) repeat(in payment.Instruction) {
	o.Start, o.Frequency, o.Rule = in.StartDate.String(), frequencies[in.Frequency], "following"
	if !in.EndDate.IsZero() {
		o.End = in.EndDate.String()
	}
	start := in.StartDate.In(time.UTC)
	if !slices.Contains(byWeeks, in.Frequency) {
		o.Day = strconv.Itoa(start.Day())
	}
	if in.Frequency != "four-monthly" {
		return
	}
	first := int(start.Month()-1) % 4
	for month := first; month < 12; month += 4 {
		o.Months = append(o.Months, strconv.Itoa(month+1))
	}
}
