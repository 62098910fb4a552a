package connector

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"passerelle"
	"passerelle/payment"
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Check returns the faults of a profile as an error, or nil. Clients choose a connector by its
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

// Unless returns nil when the condition is true. Otherwise it returns an error with the formatted
// text.
func Unless(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// oneOf returns an error unless a word is in the list. An empty word in the list means that the
// word may be missing.
func oneOf[T ~string](what string, word T, list []string) error {
	listed := strings.Join(slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one == "" }), ", ")
	return Unless(slices.Contains(list, string(word)), "%s: %.40q must be one of %s", what, word, listed)
}

// eachOf returns an error unless all words are in the list.
func eachOf[T ~string](what string, words []T, list []string) error {
	for _, word := range words {
		if err := oneOf(what, word, list); err != nil {
			return err
		}
	}
	return nil
}

// subset returns an error unless the words are different, and all are in the list.
func subset[T ~string](what string, words []T, list []string) error {
	if !distinct(words) {
		return fmt.Errorf("%s: a value comes twice: %v", what, words)
	}
	return eachOf(what, words, list)
}

// someOf is subset for words that must not be missing.
func someOf[T ~string](what string, words []T, list []string) error {
	if len(words) == 0 {
		return fmt.Errorf("%s: must have one or more of %s", what, strings.Join(list, ", "))
	}
	return subset(what, words, list)
}

func texts[T ~string](words []T) []string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = string(word)
	}
	return all
}

func (p Profile) checkNames() error {
	return errors.Join(
		Unless(uuidForm.MatchString(p.UUID), "uuid: %.40q is not a UUID in lower case", p.UUID),
		Unless(p.ID > 0, "the numeric id is not positive: %d", p.ID),
		Unless(p.Name != "", "name: is missing"),
		Unless(len(p.Countries) > 0, "countries: must have one or more codes of ISO 3166-1, such as FR"),
		Unless(all(p.Countries, isCountry), "countries: must be codes of ISO 3166-1, such as FR: %v", p.Countries),
		Unless(distinct(p.Countries), "countries: a country comes twice: %v", p.Countries),
		Unless(all(p.Sources, func(s Source) bool { return s.Name != "" }), "sources: a source has no name"),
		Unless(all(p.Sources, func(s Source) bool { return s.ID > 0 }), "the number of a source is not positive"),
	)
}

func checkClaims(s payment.Settings) error {
	return errors.Join(
		Unless(slices.Contains(s.Mechanisms, payment.DefaultMechanism),
			"payments.mechanisms %q: add %[2]q, also for an approval through fields or in an app, because the webview and clients that name no mechanism use %[2]q", s.Mechanisms, payment.DefaultMechanism),
		Unless(distinct(s.Mechanisms), "payments.mechanisms: a value comes twice: %v", s.Mechanisms),
		someOf("payments.schemes", s.Schemes, passerelle.AccountScheme("").Values()),
		someOf("payments.date_types", s.DateTypes, payment.DateType("").Values()),
		checkFrequencies(s),
		Unless(len(s.Currencies) > 0 && distinct(s.Currencies) && all(s.Currencies, isCurrency), "payments.currencies: must be different codes of ISO 4217, such as EUR: %v", s.Currencies),
		oneOf("payments.payer_account", s.PayerAccount, s.PayerAccount.Values()),
		subset("payments.partial_tracking", s.PartialTracking, texts(s.DateTypes)),
		checkForms("payments.accounts.ibans", s.Accounts.IBANs, payment.IBANPrefixForm, "the beginning of an IBAN, such as DE..50010517"),
		checkForms("payments.accounts.bics", s.Accounts.BICs, payment.BICForm, "a BIC of 8 or 11 capitals and digits"),
		subset("payments.trusted_beneficiary", s.TrustedBeneficiary, texts(s.DateTypes)),
	)
}

// checkFrequencies requires frequencies for periodic payments, and only for them.
func checkFrequencies(s payment.Settings) error {
	if !slices.Contains(s.DateTypes, payment.Periodic) {
		return Unless(len(s.Frequencies) == 0, "payments.frequencies: needs the date type %s", payment.Periodic)
	}
	return someOf("payments.frequencies", s.Frequencies, payment.Frequency("").Values())
}

// checkForms returns an error for the first text in a list that does not have the form.
func checkForms(field string, list []string, form *regexp.Regexp, right string) error {
	i := slices.IndexFunc(list, func(one string) bool { return !form.MatchString(one) })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("%s: %.34q is not %s", field, list[i], right)
}

func checkBounds(s payment.Settings) error {
	claims := []error{
		Unless(s.MaxInstructions >= 0 && s.MaxInstructions <= payment.MaxInstructions, "payments.max_instructions: must be 0 to %d, not %d", payment.MaxInstructions, s.MaxInstructions),
		Unless(s.MinDays >= 0 && s.MaxDays >= 0, "payments.min_days, payments.max_days: must not be negative: %d, %d", s.MinDays, s.MaxDays),
		Unless(s.MaxDays == 0 || s.MinDays <= s.MaxDays, "payments.min_days: must not be more than max_days: %d, %d", s.MinDays, s.MaxDays),
	}
	for _, dates := range payment.DateTypes() {
		least, most := s.Minimum[dates], s.Maximum[dates]
		_, bounded := s.Maximum[dates]
		claims = append(claims, Unless(least >= 0 && (!bounded || least <= most), "payments.minimum, payments.maximum: no amount is allowed for the date type %s: %d to %d", dates, least, most))
	}
	return errors.Join(claims...)
}

func checkFields(fields []payment.Field) error {
	var names []string
	var claims []error
	for _, f := range fields {
		names = append(names, f.Name)
		var values []string
		for _, v := range f.Values {
			values = append(values, v.Value)
		}
		claims = append(claims,
			Unless(f.Name != "" && f.Label != "", "payment_fields: the field %q must have a name and a label", f.Name),
			oneOf(fmt.Sprintf("type of the field %q", f.Name), f.Type, payment.FieldTypes()),
			Unless((f.Type == "list") == (len(values) > 0) && distinct(values), "payment_fields: the field %q must have different values if its type is list, and otherwise none: %q", f.Name, values))
	}
	return errors.Join(append(claims, Unless(distinct(names), "payment_fields: a name comes twice: %q", names))...)
}

// Capabilities lists the allowed values of DataSettings.Capabilities.
func Capabilities() []string { return []string{"bank", "bankwealth", "document", "profile", "contact"} }

// FieldTypes lists the allowed values of Field.Type.
func FieldTypes() []string { return []string{"text", "password", "date", "list", "number"} }

// parameterNames are the names of parameters in requests that contain values of fields. A field with
// such a name would never get a value.
var parameterNames = []string{
	"active", "background", "connector_uuid", "expand", "expire", "id_bank", "id_connector", "id_provider",
	"psu_requested", "refresh_auth", "resume", "source",
}

func (s DataSettings) check() error {
	claims := []error{
		someOf("data.capabilities", s.Capabilities, Capabilities()),
		eachOf("data.account_types", s.AccountTypes, accountTypes()),
		Unless(s.MonthsToFetch >= 0 && s.ConsentDays >= 0 && s.UnattendedReads >= 0, "data.months_to_fetch, data.consent_days, data.unattended_reads: must not be negative"),
	}
	for _, f := range s.Fields {
		claims = append(claims,
			Unless(f.Label != "", "data.fields: the field %q must have a label", f.Name),
			oneOf(fmt.Sprintf("type of the field %q", f.Name), f.Type, FieldTypes()),
			Unless((f.Type == "list") == (len(f.Values) > 0), "data.fields: the field %q must have values if its type is list, and otherwise none", f.Name))
	}
	return errors.Join(append(claims, checkFieldNames(s.Fields))...)
}

// Check returns the faults of an outcome as an error, or nil.
func (o Outcome) Check() error { return checkFieldNames(o.Fields) }

// checkFieldNames requires different names that a request can contain. Otherwise the connector
// would never get the value of a field.
func checkFieldNames(fields []Field) error {
	var names []string
	var claims []error
	for _, f := range fields {
		names = append(names, f.Name)
		claims = append(claims,
			Unless(f.Name != "", "fields: a field has no name"),
			Unless(!slices.Contains(parameterNames, f.Name), "the name of field %s is the name of a parameter: choose another", f.Name))
	}
	return errors.Join(append(claims, Unless(distinct(names), "fields: a name comes twice: %q", names))...)
}

func accountTypes() []string {
	var names []string
	for _, t := range passerelle.AccountTypes() {
		names = append(names, string(t.Type))
	}
	return names
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
