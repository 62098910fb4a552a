// Package question owns the fields of a form on a page: their labels, input elements, hints and
// patterns, and the earlier input. It does not check input, which is the task of the use cases. It
// never fails: a pattern that it does not know has no hint.
package question

import (
	"html/template"
	"regexp"
	"slices"
	"strings"

	"passerelle/internal/web"
	"passerelle/payment"
)

// Prefix is the prefix that the names of payment fields have in forms.
const Prefix = "field."

// fewChoices is the largest number of choices that the page shows side by side. More choices appear
// in a list that opens.
const fewChoices = 5

// Password is the type of a field that hides its input.
const Password = "password"

// Question is a field of a form, with the data that the page needs to show it.
type Question struct {
	payment.Field
	// Input is the name of the field in the form.
	Input string
	// Value is the earlier input. Wrong is set when the service refused that input.
	Value string
	Wrong bool
	// Pattern is the pattern with which browsers check the input. Hint describes the pattern in
	// words.
	Pattern string
	Hint    Hint
	// Open is set for choices that the page shows side by side.
	Open bool
	// Picture is a picture that the person needs to answer. The service has checked its media type.
	Picture template.URL
	// Code is set for a one-time code.
	Code bool
}

// Said returns the translation of the label, if there is one, and otherwise the label itself. Only
// labels with the same meaning at every institution have a translation.
func (q Question) Said(words web.Words) string {
	key := "label." + strings.ToLower(q.Label)
	if said := words.Say(key); said != key {
		return said
	}
	return q.Label
}

// Filled returns the value of the attribute autocomplete.
func (q Question) Filled() string {
	if q.Code {
		return "one-time-code"
	}
	return "off"
}

// Kind returns the type of the input element.
func (q Question) Kind() string {
	switch {
	case Secret(q.Field):
		return Password
	case q.Type == "date", q.Type == "number":
		return q.Type
	}
	return "text"
}

// Secret reports whether a field is for a password. It also recognises a password by the field's
// name, because payment fields for passwords have the type text.
func Secret(f payment.Field) bool {
	return f.Type == Password || f.Type == "text" && f.Name == Password
}

// All returns fields with the earlier input. The argument wrong is the name of the refused
// field, or empty.
func All(fields []payment.Field, supplied map[string]string, wrong string) []Question {
	all := make([]Question, len(fields))
	for i, field := range fields {
		all[i] = Question{
			Field: field, Input: Prefix + field.Name, Value: supplied[field.Name], Wrong: field.Name == wrong && wrong != "",
			Pattern: pattern(field.Regex), Hint: hintOf(field.Regex), Picture: template.URL(field.Image), //nolint:gosec // Field.Image is empty or a data URL of a picture
			Open: field.Type == "list" && len(field.Values) <= fewChoices, Code: code(field),
		}
	}
	return all
}

// pattern converts a Go pattern for browsers. A Go pattern matches any part of the text, and a
// browser's pattern matches the whole text. Browsers ignore patterns that they cannot parse.
func pattern(perl string) string {
	if perl == "" {
		return ""
	}
	return `[\s\S]*(?:` + perl + `)[\s\S]*`
}

// shapes describes the most frequent patterns of input. In each row, the field pattern matches
// the text of such an input pattern. The field key is the key of a text that describes the input
// pattern. The submatches, if any, are the number of characters, or the two limits of a range.
var shapes = []struct {
	pattern *regexp.Regexp
	key     string
	digits  bool
}{
	{regexp.MustCompile(`^\^(?:\\d|\[0-9\])\{(\d+)(?:,(\d*))?\}\$$`), "fields.digits", true},
	{regexp.MustCompile(`^\^\(\?=\\d\{(\d+)(?:,(\d*))?\}\$\)\\d\+\$$`), "fields.digits", true},
	{regexp.MustCompile(`^\^(?:\\d|\[0-9\])[+*]\$$`), "fields.number", true},
	{regexp.MustCompile(`^\^(?:\\w|\[[0-9A-Za-z-]*\])\{(\d+)(?:,(\d*))?\}\$$`), "fields.letters", false},
	{regexp.MustCompile(`^\^\.\{(\d+)(?:,(\d*))?\}\$$`), "fields.characters", false},
}

// Hint describes a pattern in words. It has the key of a text, and the number in that text.
type Hint struct {
	Key, Count string
	// Digits is set when the input may contain only digits.
	Digits bool
}

// Text returns the hint in the page's language.
func (h Hint) Text(words web.Words) string {
	if h.Count == "" {
		return words.Say(h.Key)
	}
	return words.Say(h.Key, h.Count)
}

// hintOf returns a description of a pattern in words. A pattern that is not in shapes has no
// description. The page then shows only the label, so the person never sees a regular expression.
func hintOf(perl string) Hint {
	for _, s := range shapes {
		found := s.pattern.FindStringSubmatch(perl)
		switch {
		case found == nil:
			continue
		case len(found) == 1:
			return Hint{s.key, "", s.digits}
		case found[2] != "":
			return Hint{s.key, found[1] + "–" + found[2], s.digits}
		case strings.Contains(perl, ",}"):
			return Hint{s.key, found[1] + "+", s.digits}
		}
		return Hint{s.key, found[1], s.digits}
	}
	return Hint{}
}

// codes are parts of the names that banks give to fields for one-time codes.
var codes = []string{"otp", "code", "tan", "sms", "pin"}

// code reports whether a field is for a one-time code. Browsers and phones can fill in one-time
// codes.
func code(f payment.Field) bool {
	name := strings.ToLower(f.Name)
	return f.Type != "list" && slices.ContainsFunc(codes, func(part string) bool { return strings.Contains(name, part) })
}
