package passerelle

import "strings"

// AccountScheme says how an account is identified.
type AccountScheme string

// These are the account schemes of the interface specification.
const (
	// IBAN is an international bank account number of ISO 13616.
	IBAN AccountScheme = "iban"
	// SortCode is a British sort code followed by an account number.
	SortCode AccountScheme = "sort_code_account_number"
)

// MaxAccountLabel is the maximum length of an account's label, in code points. Names in ISO
// 20022 payment messages have at most this length.
const MaxAccountLabel = 140

// Account is the account of a payer or a beneficiary, the PaymentAccount of
// the interface specification. It is valid after Check.
type Account struct {
	Scheme AccountScheme
	// Identification is the account number: an IBAN in capitals without spaces, or the 6 digits of
	// a sort code followed by the 8 digits of the account.
	Identification string
	// Label is the name shown for the account, at most MaxAccountLabel code
	// points.
	Label string
	// Issuer is the BIC of the bank in capitals. It is optional, and allowed only with an IBAN.
	Issuer string
}

// accountSchemes contains, for each scheme, a function that converts a number to its canonical
// form. The fault is "" for a valid number. It never contains the number.
var accountSchemes = []struct {
	scheme    AccountScheme
	normalise func(number string) (normal, fault string)
}{
	{IBAN, normaliseIBAN},
	{SortCode, normaliseSortCode},
}

// Check converts the number and the BIC of the account to their canonical form. The argument `path`
// is the account's path in the request. Every error is Invalid, for a field of the account, and
// does not contain the number. When required fields are absent, the code is missingParameter and
// the message names all of them. Check also refuses an unknown scheme, and a number with a wrong
// form or wrong check digits. It refuses a malformed BIC, a BIC with a scheme other than IBAN, and
// a label that CheckLine refuses.
func (a *Account) Check(path string) error {
	if names := a.missing(); names != nil {
		return missingFields(path, "", names)
	}
	if fault := lineFault(a.Label, MaxAccountLabel); fault != "" {
		return InvalidField(nested(path, "label"), "%s", fault)
	}
	if err := a.checkNumber(path); err != nil {
		return err
	}
	return a.checkIssuer(path)
}

func (a *Account) missing() []string {
	var names []string
	for _, field := range [...]struct{ name, value string }{
		{"scheme_name", string(a.Scheme)},
		{"identification", a.Identification},
		{"label", a.Label},
	} {
		if blank(field.value) {
			names = append(names, field.name)
		}
	}
	return names
}

func (a *Account) checkNumber(path string) error {
	for _, known := range accountSchemes {
		if known.scheme != a.Scheme {
			continue
		}
		normal, fault := known.normalise(a.Identification)
		if fault != "" {
			return InvalidField(nested(path, "identification"), "%s", fault)
		}
		a.Identification = normal
		return nil
	}
	return InvalidField(nested(path, "scheme_name"), "must be %s or %s", IBAN, SortCode)
}

func (a *Account) checkIssuer(path string) error {
	if a.Issuer == "" {
		return nil
	}
	if a.Scheme != IBAN {
		return InvalidField(nested(path, "issuer"), "is only for IBANs, where it is the bank's BIC; omit it with scheme %s", a.Scheme)
	}
	bic := capitals(a.Issuer)
	if !isBIC(bic) {
		return InvalidField(nested(path, "issuer"), "must be a BIC: four letters or digits, a country code, then two or five letters or digits, as in BNPAFRPP")
	}
	a.Issuer = bic
	return nil
}

// normaliseIBAN accepts small letters and spaces anywhere.
func normaliseIBAN(number string) (string, string) {
	normal := capitals(number)
	return normal, ibanFault(normal)
}

// normaliseSortCode accepts hyphens and spaces anywhere.
func normaliseSortCode(number string) (string, string) {
	normal := strings.ReplaceAll(strings.ReplaceAll(number, "-", ""), " ", "")
	if len(normal) != 14 || !isDigits(normal) {
		return "", "must be the 6 digits of the sort code and the 8 digits of the account, as 20000055779911, 200000 55779911 or 20-00-00 55779911"
	}
	return normal, ""
}

// capitals removes spaces and converts the small letters of ASCII to capitals. It leaves other
// letters unchanged. The capitals of some of them are ASCII letters, so a conversion could make a
// wrong number look valid.
func capitals(s string) string {
	s = strings.ReplaceAll(s, " ", "")
	for i := range len(s) {
		if s[i] >= 'a' {
			return strings.Map(capital, s)
		}
	}
	return s
}

func capital(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return r - 'a' + 'A'
	}
	return r
}

// isBIC checks the form of ISO 9362 in capitals. Kosovo's code is not in ISO 3166, but BICs and
// IBANs use it.
func isBIC(s string) bool {
	if len(s) != 8 && len(s) != 11 || !consistsOf(s, 'c') {
		return false
	}
	return isCountry(s[4:6]) || s[4:6] == "XK"
}

// Country returns the country of an account as two capital letters, and "" for schemes other than
// IBAN and SortCode. The account must have passed Check.
func (a Account) Country() string {
	if a.Scheme == IBAN && len(a.Identification) > 2 {
		return a.Identification[:2]
	}
	if a.Scheme == SortCode {
		return "GB"
	}
	return ""
}

// Masked hides the number except for its last four characters and, for an IBAN, the country and
// check digits: "FR76 **** 0189", "**** 9911". People can then still recognise the number. A text
// that is too short to be a number is hidden completely.
func (a Account) Masked() string {
	const hidden = "****"
	number := []rune(a.Identification) // an institution's number may have any characters
	if len(number) < 14 {
		return hidden
	}
	masked := hidden + " " + string(number[len(number)-4:])
	if a.Scheme == IBAN {
		masked = string(number[:4]) + " " + masked
	}
	return masked
}
