package statementfile

import (
	"regexp"
	"strings"
)

// mtTag matches the beginning of a field of an MT940 message.
var mtTag = regexp.MustCompile(`(?m)^(?:.*\{4:)?\s*:(?:20|25P?|28C?|60[FM]|61):`)

// oldBalance matches the first record of a CFONB 120 file. Some banks omit the currency and the
// number of decimals.
var oldBalance = regexp.MustCompile(`^01[0-9A-Z]{5}.{4}[0-9A-Z]{5}(?:[A-Z]{3}[0-9]| {5}[0-9A-Z]{11})`)

// ofxBeginning matches the header of an OFX file, or its first element when there is no header.
var ofxBeginning = regexp.MustCompile(`(?i)^(?:OFXHEADER:|(?:<\?[^>]*\?>\s*)*(?:<\?OFX\b|<OFX>))`)

// detect determines the format of a file from its beginning.
func detect(first []byte, m *Mapping) (Format, error) {
	text := strings.TrimLeft(string(first), " \t\r\n")
	switch {
	case text == "":
		return "", at(0, "", "the file is empty").because(EmptyFile)
	case ofxBeginning.MatchString(text):
		return OFX, nil
	case strings.HasPrefix(text, "<"):
		return CAMT, nil
	case oldBalance.MatchString(text):
		return CFONB, nil
	case mtTag.MatchString(text):
		return MT940, nil
	}
	if m != nil {
		return CSV, nil
	}
	if _, err := (&Mapping{}).detectLayout(first); err == nil {
		return CSV, nil
	}
	return "", at(0, "", "the file is not camt.052, camt.053, camt.054, MT940, MT942, CFONB 120, OFX or CSV with known column names; CSV with other column names needs a mapping").because(NoStatement)
}
