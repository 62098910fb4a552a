// Package speech has the languages of the simulated banks.
//
// It owns the texts of each language, by the English text, and how a language writes amounts and
// days. It does not own which texts are shown, nor when. A text without a translation stays
// English. It fails with a panic for a broken file of words, which is part of the program.
package speech

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// texts has a file with the texts of the banks for each language except English, by the English
// text.
//
//go:embed words/*.json
var texts embed.FS

// Speech is a language that the banks speak to people in.
type Speech struct {
	// Lang is the tag of the language, and texts are its texts by the English texts, nil for
	// English.
	Lang  string
	texts map[string]string
}

// languages are all languages of the banks, English first, and the matcher selects one.
var languages = sync.OnceValues(func() ([]Speech, language.Matcher) {
	all, tags := []Speech{{Lang: "en"}}, []language.Tag{language.English}
	files, err := texts.ReadDir("words")
	if err != nil {
		panic("speech: " + err.Error()) // the files are embedded, so this cannot happen in a program that builds
	}
	for _, file := range files {
		s := Speech{Lang: strings.TrimSuffix(file.Name(), path.Ext(file.Name()))}
		raw, err := texts.ReadFile("words/" + file.Name())
		if err == nil {
			err = json.Unmarshal(raw, &s.texts)
		}
		if err != nil {
			panic("speech: " + err.Error())
		}
		all, tags = append(all, s), append(tags, language.MustParse(s.Lang))
	}
	return all, language.NewMatcher(tags)
})

// For returns the language that best matches an Accept-Language header; English when none
// matches.
func For(accept string) Speech {
	all, matcher := languages()
	wanted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil || len(wanted) == 0 {
		return all[0]
	}
	_, i, confidence := matcher.Match(wanted...)
	if confidence == language.No {
		return all[0]
	}
	return all[i]
}

// To returns the language of an order, or of the browser when the order has none.
func To(r *http.Request, lang string) Speech {
	if lang != "" {
		return For(lang)
	}
	return For(r.Header.Get("Accept-Language"))
}

// Say returns an English text in the language, with its arguments in their places. A text
// without a translation stays English.
func (s Speech) Say(text string, args ...any) string {
	if other, known := s.texts[text]; known {
		text = other
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Fields returns fields with their labels in the language.
func (s Speech) Fields(all []payment.Field) []payment.Field {
	said := slices.Clone(all)
	for i := range said {
		said[i].Label, said[i].Values = s.Say(said[i].Label), slices.Clone(said[i].Values)
		for j := range said[i].Values {
			said[i].Values[j].Label = s.Say(said[i].Values[j].Label)
		}
	}
	return said
}

// Questions does the same for the fields asked of a user who allows their accounts to be read.
func (s Speech) Questions(all []connector.Field) []connector.Field {
	said := slices.Clone(all)
	for i := range said {
		said[i].Label, said[i].Values = s.Say(said[i].Label), slices.Clone(said[i].Values)
		for j := range said[i].Values {
			said[i].Values[j].Label = s.Say(said[i].Values[j].Label)
		}
	}
	return said
}

// Money writes an amount in the form of the language.
func (s Speech) Money(minor int64, currency passerelle.Currency) string {
	return passerelle.Money{Minor: minor, Currency: currency}.Written(s.Lang)
}

// dayForms are the forms of days in digits; other languages use the first form.
var dayForms = map[string]string{"": "%[3]s/%[2]s/%[1]s", "de": "%[3]s.%[2]s.%[1]s", "nl": "%[3]s-%[2]s-%[1]s"}

// Day writes a day of the form YYYY-MM-DD in the form of the language.
func (s Speech) Day(day string) string {
	year, rest, _ := strings.Cut(day, "-")
	month, date, whole := strings.Cut(rest, "-")
	form, own := dayForms[s.Lang]
	switch {
	case !whole:
		return day
	case !own:
		form = dayForms[""]
	}
	return fmt.Sprintf(form, year, month, date)
}
