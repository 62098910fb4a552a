package webview_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"passerelle/connector/sandbox/customers"
)

var bankWord = regexp.MustCompile(`(?i)\b(bank|banque|banken|banks|banco|bancos|banca|banche)`)

// flowTexts lists prefixes of text keys. The texts with these keys are about institutions.
var flowTexts = []string{"flow.", "institutions.", "credentials.", "stand.", "leading.", "more.", "list.", "forget.", "steps.connect.", "countries.", "problem.refused", "reading."}

// TestTextsAboutProviders checks the texts that contain the word "bank" and have a key with a
// prefix in flowTexts. In every language, each of these texts must have a variant about a provider.
func TestTextsAboutProviders(t *testing.T) {
	for name, words := range texts(t) {
		if !bankWord.MatchString(words["institutions.title"]) {
			t.Errorf("%s: add its word for bank to bankWord: %s", name, words["institutions.title"])
		}
		for key, text := range words {
			base, isVariant := strings.CutSuffix(key, ".provider")
			switch {
			case isVariant && words[base] == "":
				t.Errorf("%s: there is no text %s", name, base)
			case isVariant && bankWord.MatchString(text):
				t.Errorf("%s: %s speaks of a bank: %s", name, key, text)
			case !isVariant && bankWord.MatchString(text) && hasPrefixOf(key, flowTexts) && words[key+".provider"] == "":
				t.Errorf("%s: %s has no variant about a provider: %s", name, key, text)
			}
		}
	}
}

func hasPrefixOf(key string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// TestPagesOfAProvider checks that the pages about a provider of documents do not speak of a bank,
// and that the pages about a bank do.
func TestPagesOfAProvider(t *testing.T) {
	eachWalker(t, func(t *testing.T, p *walker) {
		for name, words := range texts(t) {
			lang := strings.TrimSuffix(name, ".json")
			for _, c := range []struct{ connector, capability, says, not string }{
				{customers.ProviderConnector, "document", "credentials.credentials.text.provider", "credentials.credentials.text"},
				{"", "document", "institutions.title.provider", "institutions.title"},
				{"", "bank", "credentials.credentials.text", "credentials.credentials.text.provider"},
			} {
				walker := newWalker(t, p.Instance)
				_, query, _ := strings.Cut(walker.link("connect", "connector_capabilities", c.capability, "connector_uuids", c.connector), "?")
				body := html.UnescapeString(walker.open(p.Origin + "/webview/" + lang + "/connect?" + query).body)
				if !strings.Contains(body, words[c.says]) || strings.Contains(body, words[c.not]) {
					t.Errorf("%s: the page for %s lacks %q: %s", lang, c.capability, words[c.says], body)
				}
			}
		}
	})
}
