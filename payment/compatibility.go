package payment

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"passerelle"
)

// DefaultMechanism is the default mechanism of a validation. Every connector offers it.
const DefaultMechanism = "webauth"

// PayerAccount says whether orders to a connector contain the payer's account.
type PayerAccount string

// These are the ways in which a connector treats the payer's account.
const (
	PayerNotUsed   PayerAccount = "not_used"
	PayerOptional  PayerAccount = "optional"
	PayerMandatory PayerAccount = "mandatory"
)

// Settings describe the payments that a connector can make: the payment_settings of a connector.
// Mechanisms, Schemes, DateTypes, Frequencies and Currencies list the supported values. Zero in
// MaxInstructions or MaxDays, and nil in Minimum or Maximum, mean no restriction.
type Settings struct {
	// Mechanisms are the ways in which a payer can validate. They always contain webauth, because
	// the webview and most clients name no mechanism.
	Mechanisms      []string
	Schemes         []passerelle.AccountScheme
	DateTypes       []DateType
	Frequencies     []Frequency
	Currencies      []passerelle.Currency
	MaxInstructions int
	// BulkDateTypes lists the date types with which a payment may have several instructions. Nil
	// means all.
	BulkDateTypes []DateType
	PayerAccount  PayerAccount
	// Accounts say which accounts are at the bank. The bank makes payments from these accounts.
	Accounts AccountRanges
	// MaxLabel is the maximum length of an instruction label, in characters: from 140 to
	// LongestLabel. Zero means 140.
	MaxLabel int
	// PartialTracking lists the date types for which a payment may end in state accepted.
	PartialTracking []DateType
	// TrustedBeneficiary lists the date types that need a trusted beneficiary.
	TrustedBeneficiary []DateType
	Cancellable        bool
	// Minimum and Maximum limit the sum, in minor units, for each date type. A sum above Maximum is
	// only a Warning.
	Minimum map[DateType]int64
	Maximum map[DateType]int64
	// MinDays and MaxDays limit the number of days from today to the execution date or start date
	// of the payment. MinDays is not negative, so no connector accepts a day that has passed.
	MinDays int
	MaxDays int
	// OpenDaysOnly means that banks must execute payments on the execution date or start date:
	// TARGET is open or, for a sort code, it is a working day of England and Wales.
	OpenDaysOnly bool
}

// Severity says whether an incompatibility excludes the connector.
type Severity string

// These are the severities of an incompatibility.
const (
	Incompatible Severity = "incompatible"
	Warning      Severity = "warning"
)

// Reason is a rule of a connector that a payment breaks, with the two compared values.
type Reason struct {
	Code           string
	Severity       Severity
	Description    string
	ConnectorValue any
	PaymentValue   any
}

// Incompatibilities lists the rules of a connector that the payment breaks, except the rule about
// the length of labels, for which no code exists. LongLabel checks this rule.
func (p *Payment) Incompatibilities(s Settings, now time.Time) []Reason {
	var reasons []Reason
	for _, rule := range compatibilityRules {
		if reason, broken := rule(p, s, now); broken {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// Carries reports whether the connector can make the payment.
func (p *Payment) Carries(s Settings, now time.Time) bool {
	return Eligible(p.Incompatibilities(s, now)) && p.LongLabel(s) < 0
}

// LongLabel returns the index of the first instruction with a longer label than the connector
// allows, or -1.
func (p *Payment) LongLabel(s Settings) int {
	most := max(MaxLabel, s.MaxLabel)
	return slices.IndexFunc(p.Instructions, func(in Instruction) bool { return utf8.RuneCountInString(in.Label) > most })
}

// Eligible reports whether no reason excludes the connector.
func Eligible(reasons []Reason) bool {
	return !slices.ContainsFunc(reasons, func(r Reason) bool { return r.Severity == Incompatible })
}

// IncompatibilityCodes lists every code that a Reason can have.
func IncompatibilityCodes() []string {
	return []string{
		"maxAmount", "minAmount", "maxBulk", "maxDateDelta", "minDateDelta", "nspDateType", "nspFrequency",
		"nspBulk", "nspBenefScheme", "nspPayer", "nspExecDate", "nspCurrency", "trustBenef",
	}
}

type compatibilityRule func(p *Payment, s Settings, now time.Time) (Reason, bool)

var compatibilityRules = []compatibilityRule{
	bulkRule, dateTypeRule, frequencyRule, schemeRule, currencyRule, payerRule, payerBankRule,
	minAmountRule, maxAmountRule, minDateRule, maxDateRule, openDayRule, trustedRule,
}

func bulkRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	n := len(p.Instructions)
	single := s.BulkDateTypes != nil && !slices.Contains(s.BulkDateTypes, p.DateType())
	if n > 1 && (single || s.MaxInstructions == 1) {
		return Reason{"nspBulk", Incompatible, "This bank accepts only one instruction per payment.", 1, n}, true
	}
	return Reason{"maxBulk", Incompatible, "This bank accepts fewer instructions per payment.", s.MaxInstructions, n},
		s.MaxInstructions > 0 && n > s.MaxInstructions
}

func dateTypeRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	return Reason{"nspDateType", Incompatible, "This bank does not offer this type of payment.", s.DateTypes, p.DateType()},
		!slices.Contains(s.DateTypes, p.DateType())
}

func frequencyRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	frequency := p.Instructions[0].Frequency
	return Reason{"nspFrequency", Incompatible, "This bank does not offer this frequency.", s.Frequencies, frequency},
		p.DateType() == Periodic && !slices.Contains(s.Frequencies, frequency)
}

func schemeRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	for _, in := range p.Instructions {
		if !slices.Contains(s.Schemes, in.Beneficiary.Scheme) {
			return Reason{"nspBenefScheme", Incompatible, "This bank does not pay to this kind of account.", s.Schemes, in.Beneficiary.Scheme}, true
		}
	}
	return Reason{}, false
}

func currencyRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	return Reason{"nspCurrency", Incompatible, "This bank does not pay in this currency.", s.Currencies, p.Currency()},
		!slices.Contains(s.Currencies, p.Currency())
}

func payerRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	return Reason{"nspPayer", Incompatible, "This bank does not accept the payer's account.", s.PayerAccount, true},
		p.Payer != nil && s.PayerAccount == PayerNotUsed
}

func payerBankRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	return Reason{"nspPayer", Incompatible, "The payer's account is at another bank.", s.Accounts.IBANs, true},
		p.Payer != nil && s.PayerAccount != PayerNotUsed && s.Accounts.Exclude(*p.Payer)
}

func minAmountRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	minimum, bounded := s.Minimum[p.DateType()]
	return Reason{"minAmount", Incompatible, "The amount is below this bank's minimum.", p.decimal(minimum), p.decimal(p.Total())},
		bounded && p.Total() < minimum
}

// maxAmountRule only warns, because the payer can ask the bank to raise the limit.
func maxAmountRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	maximum, bounded := s.Maximum[p.DateType()]
	return Reason{"maxAmount", Warning, "The amount is above this bank's usual limit.", p.decimal(maximum), p.decimal(p.Total())},
		bounded && p.Total() > maximum
}

// minDateRule also refuses an execution day in the past. This is possible for a payment that was
// created on an earlier day. Some banks would execute such an order immediately, which nobody
// requested.
func minDateRule(p *Payment, s Settings, now time.Time) (Reason, bool) {
	days, dated := p.daysAhead(now)
	description := "The execution date is too soon for this bank."
	if days < 0 {
		description = "The execution date has passed."
	}
	return Reason{"minDateDelta", Incompatible, description, s.MinDays, days}, dated && days < s.MinDays
}

func maxDateRule(p *Payment, s Settings, now time.Time) (Reason, bool) {
	days, dated := p.daysAhead(now)
	return Reason{"maxDateDelta", Incompatible, "The execution date is too far away for this bank.", s.MaxDays, days},
		dated && s.MaxDays > 0 && days > s.MaxDays
}

// openDayRule refuses an execution day that is closed for an instruction. It suggests the next open
// day for the first such instruction.
func openDayRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	day, dated := p.namedDay()
	closed := func(in Instruction) bool { return !OpenDay(day, in.Beneficiary.Scheme) }
	i := slices.IndexFunc(p.Instructions, closed)
	if !dated || !s.OpenDaysOnly || i < 0 {
		return Reason{}, false
	}
	open := openDayFrom(day, p.Instructions[i].Beneficiary.Scheme)
	return Reason{"nspExecDate", Incompatible, "This bank executes payments only on open days.", open.String(), day.String()}, true
}

func trustedRule(p *Payment, s Settings, _ time.Time) (Reason, bool) {
	return Reason{"trustBenef", Warning, "The beneficiary must be trusted by the payer's account.", s.TrustedBeneficiary, p.DateType()},
		slices.Contains(s.TrustedBeneficiary, p.DateType())
}

// namedDay returns the execution day that the payment names. For a periodic payment, it returns the
// start date. It returns false when the payment names no day.
func (p *Payment) namedDay() (passerelle.Date, bool) {
	day := p.Instructions[0].ExecutionDate
	if p.DateType() == Periodic {
		day = p.Instructions[0].StartDate
	}
	return day, !day.IsZero()
}

// daysAhead returns the number of days from today to the execution day that the payment names. It
// does not use time.Duration, which is limited to 292 years.
func (p *Payment) daysAhead(now time.Time) (int, bool) {
	day, dated := p.namedDay()
	today := passerelle.DateOf(now, time.UTC)
	return int((day.In(time.UTC).Unix() - today.In(time.UTC).Unix()) / secondsPerDay), dated
}

// secondsPerDay is the length of a day in UTC.
const secondsPerDay = 24 * 60 * 60

// decimal formats minor units of the payment's currency as an exact number.
func (p *Payment) decimal(minor int64) json.Number {
	return json.Number(passerelle.Money{Minor: minor, Currency: p.Currency()}.Decimal())
}
