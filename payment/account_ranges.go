package payment

import (
	"regexp"
	"slices"

	"passerelle"
)

// AccountRanges describe which accounts are at a bank. Empty ranges mean that this is unknown.
type AccountRanges struct {
	// IBANs are the beginnings of all account numbers of the bank. A dot stands for any digit, such
	// as a check digit.
	IBANs []string
	// BICs lists every BIC of the bank. The list is used only when IBANs is empty.
	BICs []string
}

// These are the forms of IBANs and BICs in ranges.
var (
	IBANPrefixForm = regexp.MustCompile(`^[A-Z]{2}[0-9.]{2}[A-Z0-9.]{0,30}$`)
	BICForm        = regexp.MustCompile(`^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$`)
)

// bankDigits is the length of the part of a BIC that identifies the bank. The rest identifies a
// branch.
const bankDigits = 8

// Contain reports whether an account is at the bank. The second result is false when this is
// unknown.
func (r AccountRanges) Contain(a passerelle.Account) (bool, bool) {
	switch {
	case a.Scheme != passerelle.IBAN:
		return false, false
	case len(r.IBANs) > 0:
		return slices.ContainsFunc(r.IBANs, func(prefix string) bool { return begins(a.Identification, prefix) }), true
	case len(r.BICs) > 0 && len(a.Issuer) >= bankDigits:
		same := func(bic string) bool { return bic[:min(bankDigits, len(bic))] == a.Issuer[:bankDigits] }
		return slices.ContainsFunc(r.BICs, same), true
	}
	return false, false
}

// Exclude reports whether an account is certainly at another bank.
func (r AccountRanges) Exclude(a passerelle.Account) bool {
	at, known := r.Contain(a)
	return known && !at
}

// begins reports whether a number has a prefix in which dots stand for digits.
func begins(number, prefix string) bool {
	if len(number) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		digit := number[i] >= '0' && number[i] <= '9'
		if prefix[i] != number[i] && (prefix[i] != '.' || !digit) {
			return false
		}
	}
	return true
}
