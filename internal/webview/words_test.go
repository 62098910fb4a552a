package webview_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/aggregation"
	"passerelle/internal/store/storetest"
	"passerelle/payment"
)

func texts(t *testing.T) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob("words/*.json")
	must(t, err)
	all := map[string]map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		var words map[string]string
		must(t, json.Unmarshal(raw, &words))
		all[filepath.Base(file)] = words
	}
	return all
}

// TestPortugueseLinks checks that pages about links do not use the word for connections to banks.
func TestPortugueseLinks(t *testing.T) {
	for key, text := range texts(t)["pt.json"] {
		if about, _, _ := strings.Cut(key, "."); (about == "fault" || about == "code") && strings.Contains(text, "ligação") {
			t.Errorf("%s names a link like a connection: %s", key, text)
		}
	}
}

var verb = regexp.MustCompile(`%(\[\d+\])?[a-z]`)

func TestLanguagesSayTheSame(t *testing.T) {
	all := texts(t)
	english := all["en.json"]
	for name, words := range all {
		for key, text := range english {
			translated, there := words[key]
			if !there || strings.TrimSpace(translated) == "" {
				t.Errorf("%s lacks %s", name, key)
			}
			if name != "en.json" && translated == text && !strings.HasPrefix(key, "date") && !strings.HasPrefix(key, "month.") {
				t.Errorf("%s has the English text of %s: %s", name, key, text)
			}
			if diff := cmp.Diff(verb.FindAllString(text, -1), verb.FindAllString(translated, -1)); diff != "" {
				t.Errorf("%s: %s has other places for arguments: %s", name, key, diff)
			}
		}
		for key := range words {
			if _, there := english[key]; !there {
				t.Errorf("%s has %s, which English lacks", name, key)
			}
		}
	}
}

// longestPart is the length of the longest part of a word, in letters, that fits beside the name of a
// fact on the narrowest phones.
const longestPart = 15

// Browsers divide a long word only at soft hyphens and hyphens, because most have no dictionary for
// the language of the page.
func TestLongWordsHaveSoftHyphens(t *testing.T) {
	part := regexp.MustCompile(`[\p{L}\p{M}]+`)
	for name, words := range texts(t) {
		for key, text := range words {
			for _, one := range part.FindAllString(text, -1) {
				if n := utf8.RuneCountInString(one); n > longestPart {
					t.Errorf("%s: %s has %q with %d letters, and may have at most %d without a soft hyphen", name, key, one, n, longestPart)
				}
			}
		}
	}
}

// After a preposition, some names of countries have an article: "in France", but "in the
// Netherlands".
func TestNamesOfCountriesFollowNoPreposition(t *testing.T) {
	for name, words := range texts(t) {
		for _, key := range []string{"choose.in", "choose.in.provider", "choose.matches.in"} {
			if text := words[key]; !regexp.MustCompile(`^\p{L}+( \(%s\)|, %s)`).MatchString(text) {
				t.Errorf("%s: %s has a preposition before the name of a country: %s", name, key, text)
			}
		}
	}
}

// The number of new transactions can be 1, and these languages would then need another word.
func TestCountsSuitOneTransaction(t *testing.T) {
	all := texts(t)
	for _, lang := range []string{"es", "fr", "it", "pt"} {
		if text := all[lang+".json"]["files.counts"]; !strings.HasSuffix(text, ": %d") {
			t.Errorf("%s: the number follows a word in the plural: %s", lang, text)
		}
	}
}

// agreed has hashes of the texts of consents, by version and language. Stored consents name the
// version, so a change of these texts also needs a new aggregation.ConsentVersion.
var agreed = map[string]string{
	"2 de": "04568667be2fd18a",
	"2 en": "4b5fe3d751fb3e36",
	"2 es": "182e0f332295f55f",
	"2 fr": "04feaf2eee23aa54",
	"2 it": "1e78bee52f5fbcac",
	"2 nl": "b1a9079539465bbf",
	"2 pt": "0941ca852e88ab2e",
}

func TestConsentTextsHaveAVersion(t *testing.T) {
	for name, words := range texts(t) {
		hash := sha256.New()
		for _, key := range slices.Sorted(maps.Keys(words)) {
			if strings.HasPrefix(key, "agree.") {
				fmt.Fprintf(hash, "%s %q\n", key, words[key])
			}
		}
		key := aggregation.ConsentVersion + " " + strings.TrimSuffix(name, ".json")
		switch got := hex.EncodeToString(hash.Sum(nil)[:8]); agreed[key] {
		case got:
		case "":
			t.Errorf("a new language or version: add %q: %q to agreed", key, got)
		default:
			t.Errorf("the texts of consents changed: raise aggregation.ConsentVersion, and expect %q: %q", key, got)
		}
	}
}

// wantAllLanguages fails the test for each language that is missing from the argument table.
func wantAllLanguages[T any](t *testing.T, table map[string]T) {
	t.Helper()
	for name := range texts(t) {
		if _, has := table[strings.TrimSuffix(name, ".json")]; !has {
			t.Errorf("the table of this test lacks %s", name)
		}
	}
}

// TestALanguageIsWhole checks the data that a language needs besides its file of texts. See
// docs/checklists/language.md.
func TestALanguageIsWhole(t *testing.T) {
	s := start(t, storetest.SQLite(t), nil)
	page := s.open(t, s.create(t, nil).ID, nil)
	links := fileText(t, "../../docs/webviews.md")
	links = links[strings.Index(links, "## Links"):]
	guides := map[string]string{
		"docs/payment-pages.md": fileText(t, "../../docs/payment-pages.md"), "docs/webviews.md": links[:strings.Index(links, "| Parameter")],
	}
	for name := range texts(t) {
		lang := strings.TrimSuffix(name, ".json")
		if got := s.get(t, strings.Replace(page, "/en/", "/"+lang+"/", 1)); !strings.Contains(got.body, `<html lang="`+lang+`"`) {
			t.Errorf("%s: an address with it gives %d: %s", lang, got.status, got.body)
		}
		if terms, err := s.Terms(t.Context(), s.domain, lang); err != nil || terms.Language != lang {
			t.Errorf("%s: the terms of domains that have published none are in %q (%v): add it in internal/initiation/terms.go", lang, terms.Language, err)
		}
		for guide, text := range guides {
			if !strings.Contains(text, "`"+lang+"`") {
				t.Errorf("%s: %s does not name it", lang, guide)
			}
		}
		if _, err := os.Stat("../../connector/sandbox/speech/words/" + name); err != nil && lang != "en" {
			t.Errorf("%s: the simulated banks have no texts: %v", lang, err)
		}
	}
	if got := s.get(t, strings.Replace(page, "/en/", "/eo/", 1)); got.status != http.StatusNotFound {
		t.Errorf("a language without texts gives %d", got.status)
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

var said = regexp.MustCompile(`(?:Say|key:|Problem) *(?:\(|=)? *"([a-z_.]+[a-z])"`)

func TestEveryTextIsThere(t *testing.T) {
	english := texts(t)["en.json"]
	used := keysOfPages(t)
	for _, name := range []string{"link", "page", "method", "foreign", "form", "busy", "bug", "used", "sender", "wrong", "elsewhere", "over", "strange", "unread", "crammed"} {
		used = append(used, "fault."+name+".title", "fault."+name+".text")
	}
	for _, step := range []string{"wait", "onward", "approve", "fields", "psu", "cancelling.onward", "cancelling.approve", "cancelling.fields", "cancelling.psu"} {
		used = append(used, step+".title", step+".text")
	}
	used = append(used, "arrived.title", "arrived.text", "unarrived.title", "unarrived.text")
	used = append(used, keysOfFlows()...)
	used = append(used, "cancel.created.text", "cancel.bank.text", "notice.unseen", "notice.unreached", "notice.kept", "problem.refused", "problem.outdated")
	for _, frequency := range payment.Frequencies() {
		used = append(used, "frequency."+string(frequency))
	}
	for _, kind := range payment.DateTypes() {
		used = append(used, "when."+string(kind))
	}
	for _, key := range used {
		if _, there := english[key]; !there {
			t.Errorf("there is no text for %s", key)
		}
	}
}

// keysOfFlows returns keys of pages about connections, including those that keysOfPages cannot
// find.
func keysOfFlows() (keys []string) {
	for _, page := range []string{"institutions", "share", "more", "code", "list", "forget", "reading", "finished"} {
		keys = append(keys, page+".title", page+".text")
	}
	for _, state := range []string{"question", "wrong", "outdated", "reset", "renew", "page", "app", "action", "limited", "away", "bug", "unsupported"} {
		keys = append(keys, "stand."+state+".title", "stand."+state+".text")
	}
	for _, step := range []string{"fill", "again", "resume", "bank"} {
		keys = append(keys, "stand."+step+".button")
	}
	for _, mechanism := range []string{"credentials", "webauth"} {
		keys = append(keys, "credentials."+mechanism+".text", "credentials."+mechanism+".button", "credentials."+mechanism+".other")
	}
	for _, kind := range []string{"card", "current", "savings", "loan", "invested", "other"} {
		keys = append(keys, "account."+kind)
	}
	return append(keys, "flow.leave", "list.done", "credentials.title", "problem.entry", "problem.nothing", "notice.reading")
}

// keysOfPages returns the keys that templates and code contain in full.
func keysOfPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("pages/*.html")
	must(t, err)
	code, err := filepath.Glob("*.go")
	must(t, err)
	var keys []string
	for _, file := range slices.Concat(pages, code) {
		raw, err := os.ReadFile(file)
		must(t, err)
		for _, found := range said.FindAllStringSubmatch(string(raw), -1) {
			keys = append(keys, found[1])
		}
	}
	if len(keys) < 30 {
		t.Fatalf("only %d texts are used: the pattern no longer finds them", len(keys))
	}
	return keys
}

// The purpose of a payment has the same name on these pages and on the page of the simulated bank,
// so that payers can compare the two pages.
func TestThePurposeOfAPaymentHasOneName(t *testing.T) {
	row := regexp.MustCompile(`<dt>\{\{\$\.Say "([^"]+)"\}\}</dt><dd>\{\{\.Label\}\}`)
	found := row.FindStringSubmatch(fileText(t, "../../connector/sandbox/page.html"))
	if found == nil {
		t.Fatal("the bank's page has no row for the label")
	}
	for name, words := range texts(t) {
		atBank := map[string]string{found[1]: found[1]}
		if name != "en.json" {
			must(t, json.Unmarshal([]byte(fileText(t, "../../connector/sandbox/speech/words/"+name)), &atBank))
		}
		if here := words["summary.label"]; here != atBank[found[1]] {
			t.Errorf("%s: the label of a payment is %q here and %q at the bank", name, here, atBank[found[1]])
		}
	}
}

// The code of a link must not look like the person's code at the bank.
func TestTheCodeOfALinkNamesTheLink(t *testing.T) {
	link := regexp.MustCompile(`(?i)\b(link|lien|enlace)\b`)
	for name, words := range texts(t) {
		if label := words["code.label"]; !link.MatchString(label) {
			t.Errorf("%s: people enter the code of a link into a field with the label %q", name, label)
		}
	}
}
