package webview

import (
	"html/template"
	"regexp"
	"slices"
	"strings"

	"passerelle/internal/web"
	"passerelle/payment"
)

// fieldPrefix is how the names of payment fields begin in forms.
const fieldPrefix = "field."

// fewChoices is up to how many choices are read faster side by side than from
// a list that has to be opened.
const fewChoices = 5

// passwordType is the type of a field whose value is not shown while it is filled in.
const passwordType = "password"

// question is a field as a person sees it.
type question struct {
	payment.Field
	// Input is the name of the field in the form.
	Input string
	// Value is what was filled in before. Wrong is set when it was not right.
	Value string
	Wrong bool
	// Pattern is what browsers hold a text against, and Hint says it in words.
	Pattern string
	Hint    hint
	// Open is set for lists that are shown as they are.
	Open bool
	// Picture is what a person needs for the value. Its media type has been checked.
	Picture template.URL
	// Code is set for a code of a single use.
	Code bool
}

// Said is the label in the words of the page, where it is one of those that mean the same at
// every institution.
func (q question) Said(words web.Words) string {
	key := "label." + strings.ToLower(q.Label)
	if said := words.Say(key); said != key {
		return said
	}
	return q.Label
}

// Filled is what browsers may fill a field with.
func (q question) Filled() string {
	if q.Code {
		return "one-time-code"
	}
	return "off"
}

// Kind is the type of the input. Fields of payments are all text, and a password is recognized
// by its name.
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

// questions returns fields with what was filled in before. wrong names the field at fault.
func questions(fields []payment.Field, supplied map[string]string, wrong string) []question {
	all := make([]question, len(fields))
	for i, field := range fields {
		all[i] = question{
			Field: field, Input: fieldPrefix + field.Name, Value: supplied[field.Name], Wrong: field.Name == wrong && wrong != "",
			Pattern: pattern(field.Regex), Hint: hintOf(field.Regex), Picture: template.URL(field.Image), //nolint:gosec // payment.Field has pictures alone
			Open: field.Type == "list" && len(field.Values) <= fewChoices, Code: code(field),
		}
	}
	return all
}

// pattern is a pattern as browsers want it. Browsers match the whole text, and Go any part of
// it. Browsers ignore a pattern that they cannot read.
func pattern(perl string) string {
	if perl == "" {
		return ""
	}
	return `[\s\S]*(?:` + perl + `)[\s\S]*`
}

// shapes are the commonest patterns of what people type, with the key of the words for each.
// The submatches are how many characters there are: one number, or the ends of a range.
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

// hint is what a pattern wants, in words: the key of a text, and the number in it.
type hint struct {
	Key, Count string
	// Digits is set when nothing but digits is wanted.
	Digits bool
}

// Text is the hint in the words of the page.
func (h hint) Text(words web.Words) string {
	if h.Count == "" {
		return words.Say(h.Key)
	}
	return words.Say(h.Key, h.Count)
}

// hintOf finds the words for a pattern. There are none for most of those that banks invent:
// the label then has to do, and nobody is shown a regular expression.
func hintOf(perl string) hint {
	for _, s := range shapes {
		found := s.pattern.FindStringSubmatch(perl)
		switch {
		case found == nil:
			continue
		case len(found) == 1:
			return hint{s.key, "", s.digits}
		case found[2] != "":
			return hint{s.key, found[1] + "–" + found[2], s.digits}
		case strings.Contains(perl, ",}"):
			return hint{s.key, found[1] + "+", s.digits}
		}
		return hint{s.key, found[1], s.digits}
	}
	return hint{}
}

// codes are parts of the names that banks have for codes of a single use.
var codes = []string{"otp", "code", "tan", "sms", "pin"}

// code reports whether a field is for a code that a bank sends or shows, which browsers and
// phones can fill in.
func code(f payment.Field) bool {
	name := strings.ToLower(f.Name)
	return f.Type != "list" && slices.ContainsFunc(codes, func(part string) bool { return strings.Contains(name, part) })
}
