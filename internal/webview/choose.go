package webview

import (
	"net/url"
	"strconv"

	"passerelle"
	"passerelle/internal/initiation"
	"passerelle/internal/web"
	"passerelle/payment"
)

// draft is what a payer has filled in so far.
type draft struct {
	Bank   string
	Fields map[string]string
	// Holder and Number are the payer's account.
	Holder, Number string
	// Terms is the number of the terms that were shown.
	Terms int64
	// Problem is the key of the text that says what is wrong with it, and Wrong
	// the field at fault, if it is one.
	Problem, Wrong string
}

// chooseBody is what the page shows on which a payment is ordered.
type chooseBody struct {
	frame
	summary
	draft
	Title, Action string
	Banks         []bank
	// Only is the one bank that is left to choose, and Questions what it asks.
	Only      *bank
	Questions []question
	// InForce are the terms that are accepted by going on.
	InForce initiation.LocalizedTerms
	// Others leads to the list again, when there is more on it.
	Others string
	// Finder narrows the list when it is too long to be read.
	Finder *finder
	// Leave is the way back to the site that asked, and Cancel the way to say
	// that the payment is not to be made at all.
	Leave, Cancel string
}

// choose shows what is to be paid, and the banks it can be paid with.
func (w *Webview) choose(pc *pageContext, s *payerSession, d draft) error {
	terms, err := w.Initiation.Terms(pc.context(), pc.domain, pc.words.Lang)
	if err != nil {
		return err
	}
	all, chosen, err := w.banks(pc, s.payment)
	if err != nil {
		return err
	}
	w.recentBanksFirst(pc, all)
	list := newFinder(pc, all)
	propose(pc, all)
	body := chooseBody{
		frame: pc.frame(s), summary: pc.summary(s), draft: d, Title: pc.words.Say("choose.title"), InForce: terms,
		Action: pc.address(s.payment.ID), Banks: all, Finder: list,
		Leave: pc.awayAddress(s.payment), Cancel: w.cancelAddress(pc, s.payment),
	}
	body.narrow(chosen)
	body.Banks = body.Finder.page(pc, all)
	return w.sendChoice(pc, s, body)
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
	b.Only, b.Finder, b.Questions = &only, nil, questions(only.Fields, b.Fields, b.Wrong)
	if len(b.Banks) > 1 {
		b.Others = b.Action + "&bank=" + listed
	}
}

func (w *Webview) sendChoice(pc *pageContext, s *payerSession, body chooseBody) error {
	page := pc.page(s, "choose", body.Title, body, body.Problem)
	if len(body.Banks) == 0 && body.Finder == nil {
		page.Name, page.Title = "nobank", pc.words.Say("nobank.title")
	}
	if body.Finder != nil && !body.Finder.Long {
		page.Module = "filter.mjs"
	}
	return pages.Send(pc.writer, page)
}

// pay orders the payment with the bank that was chosen.
func (w *Webview) pay(pc *pageContext, s *payerSession, form url.Values) error {
	all, _, err := w.banks(pc, s.payment)
	if err != nil {
		return err
	}
	d := readDraft(form)
	chosen, found := find(all, d.Bank)
	switch {
	case !found:
		d.Bank, d.Problem = listed, "problem.bank"
		return w.retry(pc, s, d)
	case chosen.Asks() && form.Get("complete") == "":
		web.Redirect(pc.writer, pc.address(s.payment.ID)+"&bank="+url.QueryEscape(chosen.UUID))
		return nil
	}
	return w.order(pc, s, chosen, d)
}

// retry shows the form again, unless there is nothing left to choose.
func (w *Webview) retry(pc *pageContext, s *payerSession, d draft) error {
	if s.payment.State != payment.Created {
		return w.show(pc, s)
	}
	return w.choose(pc, s, d)
}

func readDraft(form url.Values) draft {
	terms, _ := strconv.ParseInt(form.Get("terms"), 10, 64) // no number is no terms
	return draft{
		Bank: form.Get("bank"), Holder: form.Get("holder"), Number: form.Get("number"), Fields: fieldValues(form), Terms: terms,
	}
}

// choice is a draft in the words of the use case. Without own fields to ask
// for, values that the client gave before are kept.
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

// order sends the order, for which the payer has accepted the terms, and then
// the browser to where the payment stands.
func (w *Webview) order(pc *pageContext, s *payerSession, chosen bank, d draft) error {
	p, err := w.Initiation.AcceptTerms(pc.context(), pc.domain, s.payment.ID, d.Terms)
	if err == nil {
		choice := d.choice(chosen, pc.returnURL(s.payment.ID))
		choice.Evidence = evidenceOf(pc, s, payment.ActOrder, chosen.Name, p.TermsVersion)
		_, err = w.Initiation.Validate(pc.context(), pc.domain, s.payment.ID, choice)
	}
	if reported := problemOf(err); reported.key != "" {
		d.Problem, d.Wrong = reported.key, reported.field
		return w.retry(pc, s, d)
	}
	if err == nil {
		w.rememberBank(pc, chosen.UUID)
	}
	return w.proceed(pc, s, err, stepOnward)
}
