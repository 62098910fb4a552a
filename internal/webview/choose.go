package webview

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/internal/web"
	"passerelle/payment"
)

// maxForm is far more than all that a form of ours can hold.
const maxForm = 64 << 10

// manyBanks is from how many banks on a list is easier to search than to read.
const manyBanks = 9

// draft is what a payer has filled in so far.
type draft struct {
	Bank   string
	Fields map[string]string
	// Holder and Number are the payer's account.
	Holder, Number string
	// Problem is the key of the text that says what is wrong with it.
	Problem string
}

// chooseBody is what the page shows on which a payment is ordered.
type chooseBody struct {
	frame
	summary
	draft
	Title, Action string
	Banks         []bank
	// Only is the one bank that is left to choose, with what it asks for.
	Only *bank
	// Others leads to the list again, when there is more on it.
	Others string
	// Search is set when the list is too long to be read.
	Search bool
	// Leave is the way back to the site that asked.
	Leave string
}

// choose shows what is to be paid, and the banks it can be paid with.
func (w *Webview) choose(v *visit, s *visitor, d draft) error {
	f, err := w.frame(v, s)
	if err != nil {
		return err
	}
	all, chosen := w.banks(v, s.payment)
	body := chooseBody{
		frame: f, summary: newSummary(v, s.payment), draft: d, Title: v.words.Say("choose.title"),
		Action: v.address(s.payment.ID), Banks: all, Search: len(all) >= manyBanks, Leave: s.giveUp(),
	}
	body.narrow(chosen)
	return w.sendChoice(v, s, body)
}

// listed, as the bank of an address, asks for the whole list.
const listed = "any"

// narrow leaves one bank on the page, if that one was chosen or there is no other.
func (b *chooseBody) narrow(chosen string) {
	wanted := b.Bank
	if wanted == "" {
		wanted = chosen
	}
	only, found := find(b.Banks, wanted)
	if len(b.Banks) == 1 {
		only, found = b.Banks[0], true
	}
	if !found {
		return
	}
	b.Only, b.Search = &only, false
	if len(b.Banks) > 1 {
		b.Others = b.Action + "&bank=" + listed
	}
}

func (w *Webview) sendChoice(v *visit, s *visitor, body chooseBody) error {
	page := web.Page{
		Name: "choose", Words: v.words, Title: body.Title, Body: body, Simulated: v.domain.Kind == passerelle.Sandbox,
		FormTargets: w.formTargets(v, s),
	}
	if len(body.Banks) == 0 {
		page.Name, page.Title = "nobank", v.words.Say("nobank.title")
	}
	if body.Search {
		page.Module = "filter.mjs"
	}
	if body.Problem != "" {
		page.Status = http.StatusUnprocessableEntity
	}
	return pages.Send(v.writer, page)
}

// formTargets are where ordering the payment may lead at once: to the client,
// when the bank refuses or needs nothing more. The bank's own site is not among
// them, because nobody knows it yet; a page of ours leads there.
func (w *Webview) formTargets(v *visit, s *visitor) []string {
	client := web.Origin(s.payment.ClientRedirectURI)
	if client == web.Origin(v.domain.BaseURL) {
		return nil
	}
	return []string{client}
}

// submit orders the payment with the bank that was chosen. Whatever comes of
// it, the payment's page shows it.
func (w *Webview) submit(v *visit) error {
	if web.Forged(v.request) {
		return errForeign
	}
	s, err := w.resume(v)
	if err != nil {
		return err
	}
	form, err := v.form()
	if err != nil {
		return err
	}
	all, _ := w.banks(v, s.payment)
	d := readDraft(form)
	chosen, found := find(all, d.Bank)
	switch {
	case !found:
		d.Bank, d.Problem = listed, "problem.bank"
		return w.retry(v, s, d)
	case chosen.Asks() && form.Get("complete") == "":
		web.Redirect(v.writer, v.address(s.payment.ID)+"&bank="+url.QueryEscape(chosen.UUID))
		return nil
	}
	return w.order(v, s, d.choice(chosen, v.returnURL(s.payment.ID)), d)
}

// form reads the body of a request, and nothing from its address.
func (v *visit) form() (url.Values, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(v.writer, v.request.Body, maxForm))
	if err != nil {
		return nil, errForm
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, errForm
	}
	return form, nil
}

// retry shows the form again, unless there is nothing left to choose.
func (w *Webview) retry(v *visit, s *visitor, d draft) error {
	if s.payment.State != payment.Created {
		return w.show(v, s)
	}
	return w.choose(v, s, d)
}

func readDraft(form url.Values) draft {
	d := draft{Bank: form.Get("bank"), Holder: form.Get("holder"), Number: form.Get("number"), Fields: map[string]string{}}
	for name := range form {
		if field, ok := strings.CutPrefix(name, "field."); ok {
			d.Fields[field] = form.Get(name)
		}
	}
	return d
}

// choice is a draft in the words of the use case. Without own fields to ask
// for, values that the client gave before are kept.
func (d draft) choice(chosen bank, webviewURL string) initiation.Choice {
	choice := initiation.Choice{Connector: chosen.UUID, WebviewURL: webviewURL, Validated: true}
	if len(chosen.Fields) > 0 {
		choice.Fields = map[string]string{}
		for _, field := range chosen.Fields {
			if value := strings.TrimSpace(d.Fields[field.Name]); value != "" {
				choice.Fields[field.Name] = value
			}
		}
	}
	if chosen.Account != "" {
		choice.Payer = &passerelle.Account{Scheme: chosen.Account, Identification: d.Number, Label: d.Holder}
	}
	return choice
}

// order sends the order and then the browser to where the payment stands. When
// somebody else ordered it meanwhile, that is where it stands.
func (w *Webview) order(v *visit, s *visitor, choice initiation.Choice, d draft) error {
	_, err := w.Initiation.Validate(v.context(), v.domain, s.payment.ID, choice)
	if d.Problem = problem(err); d.Problem != "" {
		return w.retry(v, s, d)
	}
	if err != nil && !errors.Is(err, passerelle.Conflict) {
		return fmt.Errorf("order payment %d: %w", s.payment.ID, err)
	}
	web.Redirect(v.writer, v.address(s.payment.ID)+"&step="+stepOnward)
	return nil
}

// problems say, for the beginning of the name of a field at fault, which text
// tells the payer about it.
var problems = []struct{ field, key string }{
	{"connector_uuid", "problem.bank"},
	{"fields.", "problem.field"},
	{"payer", "problem.account"},
}

// problem is the key of the text for an error that the payer can mend, or
// nothing.
func problem(err error) string {
	var told *passerelle.Error
	if !errors.As(err, &told) || told.Kind != passerelle.Invalid {
		return ""
	}
	for _, p := range problems {
		if strings.HasPrefix(told.Field, p.field) {
			return p.key
		}
	}
	return ""
}
