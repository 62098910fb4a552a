package cfonb

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// allowed are the characters that a record may hold, besides the codes of
// amounts.
const allowed = capitals + " *-./()"

// spelt are characters that become several, or lose what no accent is.
var spelt = map[rune]string{
	'Œ': "OE", 'Æ': "AE", 'ß': "SS", 'ẞ': "SS", 'Ø': "O", 'Ł': "L", 'Đ': "D", 'Ð': "D", 'Þ': "TH", 'ı': "I",
	'€': "EUR", '£': "GBP", '–': "-", '—': "-", '‐': "-", '‑': "-", '−': "-",
}

// Text brings a text into the characters that a record may hold: capitals
// without accents, digits and * - . / ( ). Some are spelt out (œ is OE, € is
// EUR), all others become blanks; there is one blank between words and none at
// the ends.
func Text(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		if unicode.Is(unicode.Mn, r) {
			continue
		}
		b.WriteString(spellRune(unicode.ToUpper(r)))
	}
	return words(b.String())
}

func spellRune(r rune) string {
	if spelling, known := spelt[r]; known {
		return spelling
	}
	if r < unicode.MaxASCII && strings.IndexByte(allowed, byte(r)) >= 0 {
		return string(r)
	}
	return " "
}

// words has one blank between words and none at the ends.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }
