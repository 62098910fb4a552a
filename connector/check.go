package connector

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"passerelle"
	"passerelle/payment"
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Check returns what is wrong with a profile, or nil. Clients choose a connector by its
// profile, so the profile must be complete and consistent.
func (p Profile) Check() error {
	faults := p.checkNames()
	if p.Payments != nil {
		faults = errors.Join(faults, checkClaims(*p.Payments), checkBounds(*p.Payments), checkFields(p.PaymentFields), checkLabels(p))
	}
	if p.Data != nil {
		faults = errors.Join(faults, p.Data.check())
	}
	return faults
}

// claim is one statement of a profile and whether it holds.
type claim struct {
	holds bool
	fault string
}

func failures(claims []claim) error {
	var faults []error
	for _, c := range claims {
		if !c.holds {
			faults = append(faults, errors.New(c.fault))
		}
	}
	return errors.Join(faults...)
}

func (p Profile) checkNames() error {
	return failures([]claim{
		{uuidForm.MatchString(p.UUID), "the UUID is not one in small letters: " + p.UUID},
		{p.ID > 0, fmt.Sprintf("the numeric id is not positive: %d", p.ID)},
		{p.Name != "", "there is no name"},
		{len(p.Countries) > 0, "there is no country"},
		{all(p.Countries, isCountry), fmt.Sprintf("not all are countries of ISO 3166-1: %v", p.Countries)},
		{distinct(p.Countries), fmt.Sprintf("a country comes twice: %v", p.Countries)},
		{all(p.Sources, func(s Source) bool { return s.ID > 0 && s.Name != "" }), fmt.Sprintf("a source without number or name: %v", p.Sources)},
	})
}

func checkClaims(s payment.Settings) error {
	periodic := slices.Contains(s.DateTypes, payment.Periodic)
	payers := []payment.PayerAccount{payment.PayerNotUsed, payment.PayerOptional, payment.PayerMandatory}
	return failures([]claim{
		{len(s.Mechanisms) > 0 && distinct(s.Mechanisms), fmt.Sprintf("no mechanism, or one twice: %v", s.Mechanisms)},
		{someOf(s.Schemes, []passerelle.AccountScheme{passerelle.IBAN, passerelle.SortCode}), fmt.Sprintf("account schemes: %v", s.Schemes)},
		{someOf(s.DateTypes, payment.DateTypes()), fmt.Sprintf("date types: %v", s.DateTypes)},
		{someOf(s.Frequencies, payment.Frequencies()) == periodic, fmt.Sprintf("frequencies %v with date types %v", s.Frequencies, s.DateTypes)},
		{len(s.Currencies) > 0 && distinct(s.Currencies) && all(s.Currencies, isCurrency), fmt.Sprintf("currencies: %v", s.Currencies)},
		{slices.Contains(payers, s.PayerAccount), fmt.Sprintf("payer account: %q", s.PayerAccount)},
		{subset(s.PartialTracking, s.DateTypes), fmt.Sprintf("partial tracking of types that are not offered: %v", s.PartialTracking)},
		{subset(s.TrustedBeneficiary, s.DateTypes), fmt.Sprintf("trusted beneficiaries for types that are not offered: %v", s.TrustedBeneficiary)},
	})
}

func checkBounds(s payment.Settings) error {
	claims := []claim{
		{s.MaxInstructions >= 0 && s.MaxInstructions <= payment.MaxInstructions, fmt.Sprintf("maximum of instructions: %d", s.MaxInstructions)},
		{s.MinDays >= 0 && s.MaxDays >= 0, fmt.Sprintf("days: %d to %d", s.MinDays, s.MaxDays)},
		{s.MaxDays == 0 || s.MinDays <= s.MaxDays, fmt.Sprintf("no day fits: %d to %d", s.MinDays, s.MaxDays)},
	}
	for _, dates := range payment.DateTypes() {
		least, most := s.Minimum[dates], s.Maximum[dates]
		_, bounded := s.Maximum[dates]
		claims = append(claims, claim{least >= 0 && (!bounded || least <= most), fmt.Sprintf("no %s amount fits: %d to %d", dates, least, most)})
	}
	return failures(claims)
}

func checkFields(fields []payment.Field) error {
	var names []string
	var claims []claim
	for _, f := range fields {
		names = append(names, f.Name)
		var values []string
		for _, v := range f.Values {
			values = append(values, v.Value)
		}
		claims = append(claims,
			claim{f.Name != "" && f.Label != "", fmt.Sprintf("a field without name or label: %+v", f)},
			claim{f.Type == "text" || f.Type == "list", fmt.Sprintf("field %s is of type %q", f.Name, f.Type)},
			claim{(f.Type == "list") == (len(values) > 0) && distinct(values), fmt.Sprintf("values of field %s: %v", f.Name, values)})
	}
	return failures(append(claims, claim{distinct(names), fmt.Sprintf("a field comes twice: %v", names)}))
}

// The words of a DataSettings and its fields.
var (
	capabilities = []string{"bank", "bankwealth", "document", "profile", "contact"}
	fieldTypes   = []string{"text", "password", "date", "list", "number"}
)

func (s DataSettings) check() error {
	var names []string
	claims := []claim{
		{someOf(s.Capabilities, capabilities), fmt.Sprintf("capabilities: %v, of %v", s.Capabilities, capabilities)},
		{all(s.AccountTypes, func(t passerelle.AccountType) bool { return t.Details().Type == t }), fmt.Sprintf("account types: %v", s.AccountTypes)},
		{s.MonthsToFetch >= 0 && s.ConsentDays >= 0 && s.UnattendedReads >= 0, "a number of months, days or reads is negative"},
	}
	for _, f := range s.Fields {
		names = append(names, f.Name)
		claims = append(claims,
			claim{f.Name != "" && f.Label != "", fmt.Sprintf("a field without name or label: %+v", f)},
			claim{slices.Contains(fieldTypes, f.Type), fmt.Sprintf("field %s is of type %q", f.Name, f.Type)},
			claim{(f.Type == "list") == (len(f.Values) > 0), fmt.Sprintf("values of field %s: %v", f.Name, f.Values)})
	}
	return failures(append(claims, claim{distinct(names), fmt.Sprintf("a field comes twice: %v", names)}))
}

func isCountry(code string) bool {
	_, err := passerelle.ParseCountry("", code)
	return err == nil
}

func isCurrency(code passerelle.Currency) bool {
	_, err := passerelle.ParseCurrency("", string(code))
	return err == nil
}

func all[T any](list []T, holds func(T) bool) bool {
	return !slices.ContainsFunc(list, func(one T) bool { return !holds(one) })
}

func distinct[T comparable](list []T) bool {
	seen := map[T]bool{}
	for _, one := range list {
		seen[one] = true
	}
	return len(seen) == len(list)
}

func subset[T comparable](list, of []T) bool {
	return distinct(list) && all(list, func(one T) bool { return slices.Contains(of, one) })
}

func someOf[T comparable](list, of []T) bool { return len(list) > 0 && subset(list, of) }
