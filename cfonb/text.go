package cfonb

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// allowed contains the characters that a record may contain, in addition to the codes of amounts.
const allowed = capitals + " *-./()"

// spelt lists the replacements of characters that NFKD does not reduce to ASCII.
var spelt = map[rune]string{
	'Œ': "OE", 'Æ': "AE", 'ß': "SS", 'ẞ': "SS", 'Ø': "O", 'Ł': "L", 'Đ': "D", 'Ð': "D", 'Þ': "TH", 'ı': "I",
	'€': "EUR", '£': "GBP", '–': "-", '—': "-", '‐': "-", '‑': "-", '−': "-",
}

// Text converts a text to the characters that a record may contain: capitals without accents,
// digits and * - . / ( ). Some characters are spelt out (œ is OE, € is EUR) and all others become
// blanks. Words are separated by one blank, and there are no blanks at the ends.
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

// words separates words by one blank, and removes blanks at the ends.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }
