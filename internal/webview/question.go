package webview

import (
	"html/template"
	"regexp"
	"slices"
	"strings"

	"passerelle/internal/web"
	"passerelle/payment"
)

// fieldPrefix is the prefix of payment fields' names in forms.
const fieldPrefix = "field."

// fewChoices is the largest number of choices that are shown side by side instead of in a list
// to be opened.
const fewChoices = 5

// passwordType is the type of a field whose value is hidden while it is typed.
const passwordType = "password"

// question is a field of a form with the data that the page shows.
type question struct {
	payment.Field
	// Input is the name of the field in the form.
	Input string
	// Value is the earlier input. Wrong is set when the earlier input was refused.
	Value string
	Wrong bool
	// Pattern is the pattern by which browsers check the input, and Hint describes it in words.
	Pattern string
	Hint    hint
	// Open is set for choices that are shown side by side.
	Open bool
	// Picture is a picture that a person needs to answer. Its media type has been checked.
	Picture template.URL
	// Code is set for a code of a single use.
	Code bool
}

// Said is the label in the page's language, if it is one of the labels with a fixed meaning at
// every institution.
func (q question) Said(words web.Words) string {
	key := "label." + strings.ToLower(q.Label)
	if said := words.Say(key); said != key {
		return said
	}
	return q.Label
}

// Filled is the autocomplete attribute: the kind of stored value that browsers may fill in.
func (q question) Filled() string {
	if q.Code {
		return "one-time-code"
	}
	return "off"
}

// Kind is the type of the input element. Fields of payments are all text, and a password is
// recognized by its name.
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

// questions returns fields with the earlier input. wrong is the name of the refused field.
func questions(fields []payment.Field, supplied map[string]string, wrong string) []question {
	all := make([]question, len(fields))
	for i, field := range fields {
		all[i] = question{
			Field: field, Input: fieldPrefix + field.Name, Value: supplied[field.Name], Wrong: field.Name == wrong && wrong != "",
			Pattern: pattern(field.Regex), Hint: hintOf(field.Regex), Picture: template.URL(field.Image), //nolint:gosec // a payment.Field has pictures only
			Open: field.Type == "list" && len(field.Values) <= fewChoices, Code: code(field),
		}
	}
	return all
}

// pattern converts a pattern for browsers. Browsers match the whole text, and Go any part of it.
// Browsers ignore a pattern that they cannot parse.
func pattern(perl string) string {
	if perl == "" {
		return ""
	}
	return `[\s\S]*(?:` + perl + `)[\s\S]*`
}

// shapes are the most frequent patterns of input, with the key of a text for each. The
// submatches contain the number of characters: one number, or the limits of a range.
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

// hint describes a pattern in words: the key of a text, and the number in it.
type hint struct {
	Key, Count string
	// Digits is set when the input may contain only digits.
	Digits bool
}

// Text is the hint in the page's language.
func (h hint) Text(words web.Words) string {
	if h.Count == "" {
		return words.Say(h.Key)
	}
	return words.Say(h.Key, h.Count)
}

// hintOf returns the description of a pattern. Most patterns of banks have none. Then only the
// label is shown, and the person never sees a regular expression.
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

// codes are parts of banks' field names for one-time codes.
var codes = []string{"otp", "code", "tan", "sms", "pin"}

// code reports whether a field is for a one-time code, which browsers and phones can fill in.
func code(f payment.Field) bool {
	name := strings.ToLower(f.Name)
	return f.Type != "list" && slices.ContainsFunc(codes, func(part string) bool { return strings.Contains(name, part) })
}
