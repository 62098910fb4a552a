package webview

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/internal/settings"
	"passerelle/internal/webview/chooser"
	"passerelle/internal/webview/question"
	"passerelle/payment"
)

// draft has the payer's input so far.
type draft struct {
	Bank   string
	Fields map[string]string
	// Holder and Number identify the payer's account.
	Holder, Number string
	// Terms is the number of the terms that the page showed.
	Terms int64
	// Problem is the key of the text about a mistake in the input. Wrong is the field with the
	// mistake, if any.
	Problem, Wrong string
}

// listBanksBody is the content of the page on which the payer chooses a bank.
type listBanksBody struct {
	frame
	summary
	Title, Problem string
	Chooser        *chooser.List
	// Cancel is the address of the page that asks whether to cancel the payment.
	Cancel string
}

// Questions is for the block "problem". A list of banks has no fields.
func (listBanksBody) Questions() []question.Question { return nil }

// orderBody is the content of the page on which the payer orders the payment from a bank.
type orderBody struct {
	frame
	summary
	draft
	// Notice is the key of a text about a bank that could not be reached.
	Title, Action, Notice string
	Chosen                bank
	Questions             []question.Question
	// InForce has the terms that the payer accepts by continuing.
	InForce initiation.LocalizedTerms
	// Others is the address of the list of banks. It is empty when the list has no other banks.
	Others string
	Cancel string
}

// listed is the value of the bank parameter that requests the complete list.
const listed = "any"

// choose shows the banks that can make a payment. It shows the page of one bank if the draft, an
// earlier choice or the payer's account selects that bank, or if only one bank can make the
// payment.
func (w *Webview) choose(pc *pageContext, s *payerSession, d draft) error {
	all, chosen, err := w.banks(pc, s.payment)
	if err != nil {
		return err
	}
	one, found := find(all, cmp.Or(d.Bank, chosen))
	switch {
	case len(all) == 0:
		return w.noBank(pc, s)
	case found:
		return w.confirm(pc, s, d, one, len(all) > 1)
	case len(all) == 1:
		return w.confirm(pc, s, d, all[0], false)
	}
	return w.listBanks(pc, s, d, all)
}

// listBanks shows the banks, or the countries to choose from.
func (w *Webview) listBanks(pc *pageContext, s *payerSession, d draft, all []bank) error {
	favourites, err := w.favourites(pc)
	if err != nil {
		return err
	}
	f, payee := pc.frame(s).at(stepsOfPayment, 1), countryOf(s.payment.Instructions[0].Beneficiary)
	if pc.step() == chooser.StepCountry && pc.reading() {
		body := w.newCountries(pc, f, entries(all), payee)
		return pages.Send(pc.writer, pc.page(s, "countries", body.Title, body, ""))
	}
	body := listBanksBody{
		frame: f, summary: pc.summary(s), Title: pc.words.Say("choose.title"), Problem: d.Problem,
		Chooser: w.choosing(pc, favourites, payee).List(entries(all)), Cancel: w.cancelAddress(pc, s.payment),
	}
	page := pc.page(s, "choose", body.Title, body, body.Problem)
	body.Chooser.Help(&page)
	return pages.Send(pc.writer, page)
}

// countryOf returns GB for a sort code. For other accounts, it returns the first two characters of
// the number, which are the country of an IBAN.
func countryOf(a passerelle.Account) string {
	if a.Scheme == passerelle.SortCode {
		return "GB"
	}
	return a.Identification[:min(2, len(a.Identification))]
}

// noBank shows a page that says that no bank can make the payment.
func (w *Webview) noBank(pc *pageContext, s *payerSession) error {
	body := w.step(pc, s, "nobank")
	body.Leave, body.Steps = pc.awayAddress(s.payment), nil
	return w.send(pc, s, "nobank", body)
}

// confirm shows the payment with a bank, and requests the fields that the bank needs.
func (w *Webview) confirm(pc *pageContext, s *payerSession, d draft, chosen bank, others bool) error {
	terms, err := w.Initiation.Terms(pc.context(), pc.domain, pc.words.Lang)
	if err != nil {
		return err
	}
	body := orderBody{
		frame: pc.frame(s).at(stepsOfPayment, 2), summary: pc.summary(s), draft: d, Title: pc.words.Say("confirm.title"), InForce: terms, Notice: pc.notice,
		Action: pc.address(s.payment.ID), Chosen: chosen, Questions: question.All(chosen.Fields, d.Fields, d.Wrong), Cancel: w.cancelAddress(pc, s.payment),
	}
	if others {
		body.Others = body.Action + "&bank=" + listed
	}
	return pages.Send(pc.writer, pc.page(s, "confirm", body.Title, body, body.Problem))
}

// favourites returns the institutions that the operator lists first.
func (w *Webview) favourites(pc *pageContext) ([]string, error) {
	values, err := settings.Load(pc.context(), &w.DB.Reader, pc.domain.ID)
	if err != nil {
		return nil, fmt.Errorf("load the settings of domain %d: %w", pc.domain.ID, err)
	}
	listed := values.List(settings.Favourites)
	for i := range listed {
		listed[i] = strings.ToLower(listed[i])
	}
	return listed, nil
}

// pay orders the payment with the chosen bank.
func (w *Webview) pay(pc *pageContext, s *payerSession, form url.Values) error {
	all, _, err := w.banks(pc, s.payment)
	if err != nil {
		return err
	}
	chosen, found := find(all, form.Get("bank"))
	d := readDraft(form, chosen.Fields)
	if !found {
		d.Bank, d.Problem = listed, "problem.bank"
		return w.retry(pc, s, d)
	}
	return w.order(pc, s, chosen, d)
}

// retry shows the form again, if the payer still has something to choose.
func (w *Webview) retry(pc *pageContext, s *payerSession, d draft) error {
	if s.payment.State != payment.Created {
		return w.show(pc, s)
	}
	return w.choose(pc, s, d)
}

// readDraft returns the payer's input in a form with the fields of a bank.
func readDraft(form url.Values, fields []payment.Field) draft {
	terms, _ := strconv.ParseInt(form.Get("terms"), 10, 64) // text that is not a number becomes 0, and no terms have that number
	return draft{
		Bank: form.Get("bank"), Holder: form.Get("holder"), Number: form.Get("number"), Fields: fieldValues(form, fields), Terms: terms,
	}
}

// choice converts a draft to the input of Initiation.Validate. When the page requests no fields,
// the choice keeps the client's values.
func (d draft) choice(chosen bank, webviewURL string) initiation.Choice {
	choice := initiation.Choice{Connector: chosen.UUID, WebviewURL: webviewURL, Validated: true}
	if len(chosen.Fields) > 0 {
		choice.Fields = d.Fields
	}
	if chosen.Account != "" {
		choice.Payer = &passerelle.Account{Scheme: chosen.Account, Identification: d.Number, Label: d.Holder}
	}
	return choice
}

// order records that the payer has accepted the terms, and sends the order. It then redirects the
// browser to the payment's page.
func (w *Webview) order(pc *pageContext, s *payerSession, chosen bank, d draft) error {
	p, err := w.Initiation.AcceptTerms(pc.context(), pc.domain, s.payment.ID, d.Terms)
	if err == nil {
		choice := d.choice(chosen, pc.returnURL(s.payment.ID))
		choice.Evidence = evidenceOf(pc, s, payment.ActOrder, chosen.Name, p.TermsVersion)
		_, err = w.Initiation.Validate(pc.context(), pc.domain, s.payment.ID, choice)
	}
	pc.notice = noticeOf(err)
	if reported := problemOf(err); reported.key != "" || pc.notice != "" {
		d.Problem, d.Wrong = reported.key, reported.field
		return w.retry(pc, s, d)
	}
	if err == nil {
		w.rememberBank(pc, chosen.UUID)
	}
	return w.proceed(pc, s, err, stepOnward)
}
