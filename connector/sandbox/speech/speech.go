// Package speech has the languages in which the simulated banks speak to people.
//
// It owns the words of each language, by the English ones, and how a language writes amounts
// and days. It does not own what is said, nor when. A text without a translation stays
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

// texts has a file for each language but English: what the banks say, by the English text.
//
//go:embed words/*.json
var texts embed.FS

// Speech is a language that the banks speak to people in.
type Speech struct {
	// Lang is its tag, and texts are its words by the English ones, nil for English.
	Lang  string
	texts map[string]string
}

// languages are all that the banks speak, English first, and the matcher finds one.
var languages = sync.OnceValues(func() ([]Speech, language.Matcher) {
	all, tags := []Speech{{Lang: "en"}}, []language.Tag{language.English}
	files, err := texts.ReadDir("words")
	if err != nil {
		panic("speech: " + err.Error()) // embedded: they are there or nothing builds
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

// For is the language that suits an Accept-Language header best; English when none does.
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

// To is the language of an order, or of the browser where the order has none.
func To(r *http.Request, lang string) Speech {
	if lang != "" {
		return For(lang)
	}
	return For(r.Header.Get("Accept-Language"))
}

// Say is an English text in the language, with its arguments in the places it has for them.
// What has no translation stays as it is.
func (s Speech) Say(text string, args ...any) string {
	if other, known := s.texts[text]; known {
		text = other
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Fields are fields with their labels in the language.
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

// Questions are the same for what is asked of a person who lets their accounts be read.
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

// Money writes an amount as the language does.
func (s Speech) Money(minor int64, currency passerelle.Currency) string {
	return passerelle.Money{Minor: minor, Currency: currency}.Written(s.Lang)
}

// dayForms are how days are written in numbers; other languages write them as the first.
var dayForms = map[string]string{"": "%[3]s/%[2]s/%[1]s", "de": "%[3]s.%[2]s.%[1]s", "nl": "%[3]s-%[2]s-%[1]s"}

// Day writes a day of the form YYYY-MM-DD as the language does.
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
