// Package speech contains the languages of the simulated banks.
//
// It owns the translations of English texts, and how each language writes days. It does not decide
// which texts to show. passerelle.Money formats the amounts. A text without a translation stays
// English. The package fails with a panic when a file of translations is invalid, because the files
// are part of the program.
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

// texts contains a file for each language except English. Each file maps the English texts of the
// banks to translations.
//
//go:embed words/*.json
var texts embed.FS

// Speech is a language in which the banks communicate with people.
type Speech struct {
	// Lang is the tag of the language. texts maps English texts to their translations. texts is nil
	// for English.
	Lang  string
	texts map[string]string
}

// languages returns all languages of the banks, English first, and a matcher that selects one.
var languages = sync.OnceValues(func() ([]Speech, language.Matcher) {
	all, tags := []Speech{{Lang: "en"}}, []language.Tag{language.English}
	files, err := texts.ReadDir("words")
	if err != nil {
		panic("speech: " + err.Error()) // the files are embedded, so this cannot happen in a tested program
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

// For returns the language that best matches an Accept-Language header, or English when no language
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

// To returns the language that best matches lang or, if lang is empty, the browser's
// Accept-Language header.
func To(r *http.Request, lang string) Speech {
	if lang != "" {
		return For(lang)
	}
	return For(r.Header.Get("Accept-Language"))
}

// Say returns the translation of an English text, with the arguments inserted. A text without a
// translation stays English.
func (s Speech) Say(text string, args ...any) string {
	if other, known := s.texts[text]; known {
		text = other
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Fields returns fields with labels in the language.
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

// Questions returns the fields that connections request from a user, with labels in the language.
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

// Money formats an amount as the language writes it.
func (s Speech) Money(minor int64, currency passerelle.Currency) string {
	return passerelle.Money{Minor: minor, Currency: currency}.Written(s.Lang)
}

// dayForms maps languages to the form of days in digits. Other languages use the form under "".
var dayForms = map[string]string{"": "%[3]s/%[2]s/%[1]s", "de": "%[3]s.%[2]s.%[1]s", "nl": "%[3]s-%[2]s-%[1]s"}

// Day converts a day from the form YYYY-MM-DD to the form of the language.
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
