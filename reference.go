package passerelle

import (
	"strconv"
	"strings"
)

// MaxReference is the maximum length of a reference id, in characters.
const MaxReference = 31

// sepaPunctuation is the basic character set of SEPA (EPC217-08) without its letters and
// digits.
const sepaPunctuation = "/-?:().,'+ "

// CheckReference accepts a reference id of 1 to MaxReference characters of the SEPA character set.
// EPC217-08 forbids a slash at the beginning or end, and two consecutive slashes. A space at the
// beginning or end is refused because banks remove it. Any other text is an Invalid error for the
// field.
func CheckReference(field, s string) error {
	if err := CheckSEPAText(field, s, MaxReference); err != nil {
		return err
	}
	switch {
	case s == "":
		return InvalidField(field, "must have 1 to %d characters; omit it to have one generated", MaxReference)
	case strings.Trim(s, "/ ") != s || strings.Contains(s, "//"):
		return InvalidField(field, "must not begin or end with a slash or a space, or contain two slashes in a row")
	}
	return nil
}

// CheckSEPAText accepts at most max characters of the SEPA character set: unaccented letters,
// digits, space and / - ? : ( ) . , ' +. Any other text is an Invalid error for the field.
func CheckSEPAText(field, s string, max int) error {
	if err := CheckText(field, s, max); err != nil {
		return err
	}
	if strings.ContainsFunc(s, outsideSEPA) {
		return InvalidField(field, "may only contain unaccented letters, digits, spaces and / - ? : ( ) . , ' +")
	}
	return nil
}

func outsideSEPA(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z':
		return false
	}
	return !strings.ContainsRune(sepaPunctuation, r)
}

// sortCodeReference is the length of a reference id in UK Faster Payments.
const sortCodeReference = 18

// NewReference makes a reference id from random bytes. The beneficiary's scheme decides the length:
// 31 characters for SEPA, 18 for sort codes. count is the number of instructions in the payment.
// When count is above one, the id ends in "-" and the position of the instruction, counted from 1.
func NewReference(random [MaxReference]byte, scheme AccountScheme, position, count int) string {
	// The alphabet has 32 characters, so a random byte selects each with the same probability. It
	// omits characters that people confuse.
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var suffix []byte
	if count > 1 {
		suffix = strconv.AppendInt([]byte{'-'}, int64(position), 10)
	}
	length := MaxReference
	if scheme == SortCode {
		length = sortCodeReference
	}
	id := random[:length-len(suffix)]
	for i := range id {
		id[i] = alphabet[id[i]%byte(len(alphabet))]
	}
	return string(append(id, suffix...))
}
