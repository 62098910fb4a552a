package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/initiation"
)

type termsCommand struct {
	domainFlags
	Publish termsPublish `cmd:"" help:"Put a new version of the terms into force. Payments that were ordered before keep their version."`
	Show    termsShow    `cmd:"" help:"Print the terms in force in one language."`
}

// termsView is the output of the commands about terms.
type termsView struct {
	ID       int64  `json:"id"`
	Version  string `json:"version"`
	Created  string `json:"created"`
	Language string `json:"language"`
	Content  string `json:"content"`
}

func (d target) viewTerms(t initiation.LocalizedTerms) termsView {
	return termsView{t.ID, t.Version, d.moment(&t.Created), t.Language, t.Content}
}

// initiation returns the use cases for terms. They call no bank.
func (d target) initiation() *initiation.Initiation {
	return &initiation.Initiation{DB: d.db, Now: time.Now}
}

type termsPublish struct {
	Version string   `arg:"" help:"Name of the version, such as 2027-01. Each version has another name."`
	Texts   []string `name:"text" required:"" sep:"none" placeholder:"LANGUAGE=FILE" help:"File with the text in a language, such as en=terms.txt; repeat for more. A payer whose language has no text sees English, or else another language."`
}

// Run publishes the terms.
func (p *termsPublish) Run(c *console, g *termsCommand) error {
	content, err := termsTexts(p.Texts)
	if err != nil {
		return err
	}
	return g.at(c, func(d target) (any, error) {
		published, err := d.initiation().PublishTerms(c.ctx, d.domain, p.Version, content, d.act("publish terms", "terms"))
		if err != nil {
			return nil, err
		}
		language, _, _ := strings.Cut(p.Texts[0], "=")
		return d.viewTerms(initiation.Localize(language, published)), nil
	})
}

// termsTexts reads the files of --text and returns their contents by language.
func termsTexts(texts []string) (map[string]string, error) {
	content := map[string]string{}
	for _, one := range texts {
		language, file, named := strings.Cut(one, "=")
		if !named {
			return nil, passerelle.InvalidField("--text", "must be LANGUAGE=FILE, such as en=terms.txt")
		}
		if _, twice := content[language]; twice {
			return nil, passerelle.InvalidField("--text", "must name the language %s once", language)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--text: %w", err)
		}
		content[language] = strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff"))
	}
	return content, nil
}

type termsShow struct {
	Language string `default:"en" placeholder:"LANGUAGE" help:"Language of the text, such as fr."`
}

// Run prints the terms in force.
func (s *termsShow) Run(c *console, g *termsCommand) error {
	return g.at(c, func(d target) (any, error) {
		current, err := d.initiation().Terms(c.ctx, d.domain, s.Language)
		return d.viewTerms(current), err
	})
}
