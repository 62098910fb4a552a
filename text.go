package passerelle

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Excerpt returns text, or its beginning and an ellipsis when it is longer than max characters. The
// result has at most max characters.
func Excerpt(text string, max int) string {
	if utf8.RuneCountInString(text) <= max {
		return text
	}
	return string([]rune(text)[:max-1]) + "…"
}

// CheckText refuses text that is not valid UTF-8, contains NUL or is longer than max code points.
// One of the databases cannot store NUL. A max of zero sets no limit. The error is Invalid, for the
// field.
func CheckText(field, s string, max int) error {
	if fault := textFault(s, max); fault != "" {
		return InvalidField(field, "%s", fault)
	}
	return nil
}

// textFault describes the fault of a text, or returns "". The result does not contain the text.
// Checks of nested objects call textFault, and compose the path of a field only for an error.
func textFault(s string, max int) string {
	switch {
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "must not contain a NUL character"
	case max > 0 && len(s) > max && utf8.RuneCountInString(s) > max:
		return fmt.Sprintf("must have at most %d characters; it has %d", max, utf8.RuneCountInString(s))
	}
	return ""
}

// CheckLine refuses the same texts as CheckText. It also refuses characters that people cannot see:
// control characters, such as line breaks, and invisible characters that make a name look like
// another (Unicode report 36). It is for labels and names. The error is Invalid, for the field.
func CheckLine(field, s string, max int) error {
	if fault := lineFault(s, max); fault != "" {
		return InvalidField(field, "%s", fault)
	}
	return nil
}

func lineFault(s string, max int) string {
	if fault := textFault(s, max); fault != "" {
		return fault
	}
	if strings.ContainsFunc(s, Misleading) {
		return "must be one line without control characters and invisible ones"
	}
	return ""
}

// Misleading reports control characters, line and paragraph separators, and format characters,
// which are invisible or change the direction of a text. It accepts joiners, because some scripts
// need them.
func Misleading(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' ||
		unicode.Is(unicode.Cf, r) && r != zeroWidthNonJoiner && r != zeroWidthJoiner
}

// InertCell returns a text for a cell of a CSV file. When a spreadsheet would interpret the text as a
// formula, it begins with an apostrophe. ActiveCell returns the original text.
func InertCell(text string) string {
	if formula(text) {
		return "'" + text
	}
	return text
}

// ActiveCell returns the text of a cell that InertCell has written.
func ActiveCell(cell string) string {
	if text, inert := strings.CutPrefix(cell, "'"); inert && formula(text) {
		return text
	}
	return cell
}

// formula reports texts that spreadsheets interpret as formulas. It also reports such texts after
// apostrophes, so that ActiveCell removes only the apostrophe that InertCell added.
func formula(text string) bool {
	text = strings.TrimLeft(text, "'")
	return text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// nested returns the path of a field of the object at path.
func nested(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// missingFields returns an error about the absent required fields of the object at path. Its
// message names all of them, and its field is the first one.
func missingFields(path, condition string, names []string) *Error {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = nested(path, name)
	}
	if len(paths) == 1 {
		return MissingField(paths[0], "is required"+condition)
	}
	return MissingField(paths[0], "is required"+condition+"; missing are "+strings.Join(paths, ", "))
}
