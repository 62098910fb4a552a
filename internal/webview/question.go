package webview

import (
	"html/template"
	"regexp"

	"passerelle/payment"
)

// fieldPrefix is how the names of payment fields begin in forms.
const fieldPrefix = "field."

// fewChoices is up to how many choices are read faster side by side than from
// a list that has to be opened.
const fewChoices = 5

// passwordType is the type of a field that nobody looks at while it is filled in.
const passwordType = "password"

// question is a field as a person sees it.
type question struct {
	payment.Field
	// Input is the name of the field in the form.
	Input string
	// Value is what was filled in before, and Wrong that it was not right.
	Value string
	Wrong bool
	// Pattern is what browsers hold a text against, and Digits how many digits
	// to type, as people write it, when nothing but digits is wanted.
	Pattern, Digits string
	// Open is set for lists that are shown as they are.
	Open bool
	// Picture is what a person needs for the value; its kind has been checked.
	Picture template.URL
	// Alone is set for the only field of a form.
	Alone bool
}

// Kind is the type of the input: fields of payments are all text, and the one for a
// password is told by its name.
func (q question) Kind() string {
	if q.Type == "text" && q.Name == passwordType {
		return passwordType
	}
	switch q.Type {
	case passwordType, "date", "number":
		return q.Type
	}
	return "text"
}

// questions are fields with what was filled in before; wrong names the one that
// was at fault.
func questions(fields []payment.Field, supplied map[string]string, wrong string) []question {
	all := make([]question, len(fields))
	for i, field := range fields {
		all[i] = question{
			Field: field, Input: fieldPrefix + field.Name, Value: supplied[field.Name], Wrong: field.Name == wrong && wrong != "",
			Pattern: pattern(field.Regex), Digits: digits(field.Regex), Picture: template.URL(field.Image), //nolint:gosec // payment.Field has pictures alone
			Open: field.Type == "list" && len(field.Values) <= fewChoices, Alone: len(fields) == 1,
		}
	}
	return all
}

// pattern is a pattern as browsers want it. Theirs has to match the whole text,
// and Perl's any part of it; one that they cannot read they leave out.
func pattern(perl string) string {
	if perl == "" {
		return ""
	}
	return `[\s\S]*(?:` + perl + `)[\s\S]*`
}

// onlyDigits recognises the patterns of codes, the commonest there are.
var onlyDigits = regexp.MustCompile(`^\^(?:\\d|\[0-9\])\{(\d+)(?:,(\d+))?\}\$$`)

// digits is how many digits a pattern wants, or empty for other patterns.
func digits(perl string) string {
	found := onlyDigits.FindStringSubmatch(perl)
	switch {
	case found == nil:
		return ""
	case found[2] == "":
		return found[1]
	}
	return found[1] + "–" + found[2]
}
