package passerelle

import (
	"fmt"
	"strings"
)

// ibanFault describes the fault of an IBAN, or returns "". The text does not contain the IBAN. The
// IBAN must be in capitals without spaces.
func ibanFault(iban string) string {
	if len(iban) < 4 || !isUpper(iban[0]) || !isUpper(iban[1]) {
		return "must begin with a country code and two check digits, as in FR76"
	}
	country := iban[:2]
	form, known := ibanForms[country]
	if !known {
		return fmt.Sprintf("%s is not the code of a country with IBANs", country)
	}
	if size := 4 + form.size(); len(iban) != size {
		return fmt.Sprintf("an IBAN of %s has %d characters, not %d", country, size, len(iban))
	}
	if !isDigits(iban[2:4]) || !form.matches(iban[4:]) {
		return fmt.Sprintf("does not have the form of an IBAN of %s: two check digits, then %s", country, form)
	}
	if !checkDigitsMatch(iban) {
		return "the check digits do not match, so a character is wrong"
	}
	return ""
}

// checkDigitsMatch calculates ISO 7064 MOD 97-10 over the account number, the country and the
// check digits, in this order.
func checkDigitsMatch(iban string) bool {
	if check := iban[2:4]; check < "02" || check > "98" {
		return false
	}
	return remainder97(remainder97(0, iban[4:]), iban[:4]) == 1
}

// remainder97 continues a division by 97 with the characters of s, and returns the new remainder.
// Letters count as the numbers from 10 to 35.
func remainder97(remainder uint32, s string) uint32 {
	for i := range len(s) {
		if isUpper(s[i]) {
			remainder = (remainder*100 + uint32(s[i]-'A') + 10) % 97
			continue
		}
		remainder = (remainder*10 + uint32(s[i]-'0')) % 97
	}
	return remainder
}

// bbanForm describes the national part of an IBAN, in the notation of the IBAN registry without its
// exclamation marks: "10n11c2n" is ten digits, eleven letters or digits, and two digits. "a" stands
// for letters.
type bbanForm string

var bbanKinds = map[byte]struct {
	name    string
	letters bool
	digits  bool
}{
	'n': {name: "digits", digits: true},
	'a': {name: "letters", letters: true},
	'c': {name: "letters or digits", letters: true, digits: true},
}

// first returns the length and the kind of the form's first run, and the rest of the form. A run
// contains characters of one kind.
func (f bbanForm) first() (int, byte, bbanForm) {
	var length int
	i := 0
	for ; f[i] <= '9'; i++ {
		length = length*10 + int(f[i]-'0')
	}
	return length, f[i], f[i+1:]
}

func (f bbanForm) size() int {
	size := 0
	for f != "" {
		length, _, rest := f.first()
		size, f = size+length, rest
	}
	return size
}

// matches reports whether a text of the right length has the form.
func (f bbanForm) matches(bban string) bool {
	for f != "" {
		length, kind, rest := f.first()
		if !consistsOf(bban[:length], kind) {
			return false
		}
		bban, f = bban[length:], rest
	}
	return true
}

func consistsOf(s string, kind byte) bool {
	allowed := bbanKinds[kind]
	for i := range len(s) {
		isDigit := '0' <= s[i] && s[i] <= '9'
		if !(allowed.letters && isUpper(s[i]) || allowed.digits && isDigit) {
			return false
		}
	}
	return true
}

// String describes the form in words: "10 digits, 11 letters or digits, 2 digits".
func (f bbanForm) String() string {
	var runs []string
	for f != "" {
		length, kind, rest := f.first()
		runs, f = append(runs, fmt.Sprintf("%d %s", length, bbanKinds[kind].name)), rest
	}
	return strings.Join(runs, ", ")
}

// ibanForms maps countries to forms, for the countries of the IBAN registry (ISO 13616) as of 2025,
// and for the territories that it lists under Finland, France and the United Kingdom.
var ibanForms = map[string]bbanForm{
	"AD": "8n12c", "AE": "19n", "AL": "8n16c", "AT": "16n", "AX": "14n", "AZ": "4a20c", "BA": "16n", "BE": "12n",
	"BG": "4a6n8c", "BH": "4a14c", "BI": "23n", "BL": "10n11c2n", "BR": "23n1a1c", "BY": "4c4n16c", "CH": "5n12c",
	"CR": "18n", "CY": "8n16c", "CZ": "20n", "DE": "18n", "DJ": "23n", "DK": "14n", "DO": "4c20n", "EE": "16n",
	"EG": "25n", "ES": "20n", "FI": "14n", "FK": "2a12n", "FO": "14n", "FR": "10n11c2n", "GB": "4a14n",
	"GE": "2a16n", "GF": "10n11c2n", "GG": "4a14n", "GI": "4a15c", "GL": "14n", "GP": "10n11c2n", "GR": "7n16c",
	"GT": "24c", "HN": "4a20n", "HR": "17n", "HU": "24n", "IE": "4a14n", "IL": "19n", "IM": "4a14n",
	"IQ": "4a15n", "IS": "22n", "IT": "1a10n12c", "JE": "4a14n", "JO": "4a4n18c", "KW": "4a22c", "KZ": "3n13c",
	"LB": "4n20c", "LC": "4a24c", "LI": "5n12c", "LT": "16n", "LU": "3n13c", "LV": "4a13c", "LY": "21n",
	"MC": "10n11c2n", "MD": "20c", "ME": "18n", "MF": "10n11c2n", "MK": "3n10c2n", "MN": "16n", "MQ": "10n11c2n",
	"MR": "23n", "MT": "4a5n18c", "MU": "4a19n3a", "NC": "10n11c2n", "NI": "4a20n", "NL": "4a10n", "NO": "11n",
	"OM": "3n16c", "PF": "10n11c2n", "PK": "4a16c", "PL": "24n", "PM": "10n11c2n", "PS": "4a21c", "PT": "21n",
	"QA": "4a21c", "RE": "10n11c2n", "RO": "4a16c", "RS": "18n", "RU": "14n15c", "SA": "2n18c", "SC": "4a20n3a",
	"SD": "14n", "SE": "20n", "SI": "15n", "SK": "20n", "SM": "1a10n12c", "SO": "19n", "ST": "21n", "SV": "4a20n",
	"TF": "10n11c2n", "TL": "19n", "TN": "20n", "TR": "6n16c", "UA": "6n19c", "VA": "18n", "VG": "4a16n",
	"WF": "10n11c2n", "XK": "16n", "YE": "4a4n18c", "YT": "10n11c2n",
}
