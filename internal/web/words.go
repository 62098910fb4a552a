package web

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// Words has the texts of one language, by key.
type Words struct {
	// Lang is the BCP 47 tag of the language.
	Lang  string
	texts map[string]string
	// variant is the ending of keys: the text KEY.variant replaces the text KEY. It is empty for
	// the usual texts.
	variant string
}

// As returns the same words, in which a text with the key KEY.variant replaces the text KEY. With
// an empty variant, As returns the usual texts.
func (w Words) As(variant string) Words {
	w.variant = variant
	return w
}

// Say returns the text of a key, formatted with the arguments as in package fmt. It returns an
// unknown key itself, because a page with a strange word is better than no page.
func (w Words) Say(key string, args ...any) string {
	text, known := w.texts[key+"."+w.variant]
	if w.variant == "" || !known {
		text, known = w.texts[key]
	}
	switch {
	case !known:
		return key
	case len(args) == 0:
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Dictionary has the texts of several languages.
type Dictionary struct {
	languages []Words
	matcher   language.Matcher
}

// MustDictionary reads one file for each language, such as en.json, at the root of a file system. A
// file is an object that maps keys to texts. The argument first is the language for readers of all
// other languages. MustDictionary panics on a file with a mistake.
func MustDictionary(files fs.FS, first string) *Dictionary {
	names, _ := fs.Glob(files, "*.json")
	d := &Dictionary{languages: []Words{mustWords(files, first+".json")}}
	for _, name := range names {
		if name != first+".json" {
			d.languages = append(d.languages, mustWords(files, name))
		}
	}
	tags := make([]language.Tag, len(d.languages))
	for i, words := range d.languages {
		tags[i] = language.MustParse(words.Lang)
	}
	d.matcher = language.NewMatcher(tags)
	return d
}

func mustWords(files fs.FS, name string) Words {
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		panic(fmt.Sprintf("web: read texts: %v", err))
	}
	words := Words{Lang: strings.TrimSuffix(path.Base(name), ".json")}
	if err := json.Unmarshal(raw, &words.texts); err != nil {
		panic(fmt.Sprintf("web: read texts of %s: %v", name, err))
	}
	return words
}

// Has reports whether the dictionary has a language.
func (d *Dictionary) Has(lang string) bool {
	return slices.ContainsFunc(d.languages, func(w Words) bool { return w.Lang == lang })
}

// In returns the texts of a language. It returns the texts of the first language for an unknown
// language.
func (d *Dictionary) In(lang string) Words {
	i := slices.IndexFunc(d.languages, func(w Words) bool { return w.Lang == lang })
	return d.languages[max(i, 0)]
}

// Best returns the texts in the language that best matches an Accept-Language header.
func (d *Dictionary) Best(accept string) Words {
	wanted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		return d.languages[0]
	}
	_, index, _ := d.matcher.Match(wanted...)
	return d.languages[index]
}

// Languages returns the texts of all languages. The default language comes first.
func (d *Dictionary) Languages() []Words { return slices.Clone(d.languages) }
