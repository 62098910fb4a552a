package webview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/payment"
)

// frame is what surrounds every page of a payment.
type frame struct {
	// Seller is the application that asks to be paid.
	Seller    string
	Payment   passerelle.PaymentID
	Languages []translation
}

// translation leads to the same page in another language.
type translation struct {
	Lang, Name, Address string
}

func (w *Webview) frame(v *visit, s *visitor) (frame, error) {
	f := frame{Payment: s.payment.ID}
	for _, other := range words.Languages() {
		if other.Lang != v.words.Lang {
			f.Languages = append(f.Languages, translation{other.Lang, other.Say("language"), v.inLanguage(other.Lang, f.Payment)})
		}
	}
	client, err := w.DB.Client(v.context(), v.domain.ID, s.payment.Client)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return f, fmt.Errorf("load client %d: %w", s.payment.Client, err)
	}
	f.Seller = client.Name
	return f, nil
}

// summary is a payment in words.
type summary struct {
	Amount, When string
	// Repeated is set when the amount is paid again and again.
	Repeated bool
	// From is the payer's account, mostly hidden, when it is known.
	From  string
	Lines []line
}

// line is one beneficiary of a payment.
type line struct {
	Amount, Name, Account, Label string
}

func newSummary(v *visit, p *payment.Payment) summary {
	total := passerelle.Money{Minor: p.Total(), Currency: p.Currency()}
	s := summary{
		Amount: amountText(v.words, total), When: whenText(v.words, p.Instructions[0]), Repeated: p.DateType() == payment.Periodic,
	}
	if p.Payer != nil {
		s.From = p.Payer.Masked()
	}
	for _, in := range p.Instructions {
		s.Lines = append(s.Lines, line{amountText(v.words, in.Amount), in.Beneficiary.Label, accountText(in.Beneficiary), in.Label})
	}
	return s
}

// steps says where a payment in a state is shown; in every other state it has
// left this service for the client's.
var steps = map[payment.State]func(*Webview, *visit, *visitor) error{
	payment.Created:    (*Webview).created,
	payment.Validating: (*Webview).validating,
}

// actions says where a payment that waits for its payer is shown. Confirmation
// is up to the client.
var actions = map[payment.Action]func(*Webview, *visit, *visitor) error{
	payment.Redirect:      (*Webview).onward,
	payment.Decoupled:     (*Webview).approve,
	payment.FillFields:    (*Webview).wait,
	payment.PSUValidation: (*Webview).wait,
}

// show answers with the page on which the payment is at this moment.
func (w *Webview) show(v *visit, s *visitor) error {
	if step, ours := steps[s.payment.State]; ours {
		return step(w, v, s)
	}
	return w.goBack(v, s)
}

func (w *Webview) goBack(v *visit, s *visitor) error {
	web.Redirect(v.writer, s.leave())
	return nil
}

// created is a choice to be made, or a bank that has not answered yet.
func (w *Webview) created(v *visit, s *visitor) error {
	_, err := w.DB.Attempt(v.context(), v.domain.ID, s.payment.ID)
	if errors.Is(err, store.ErrNotFound) {
		return w.choose(v, s, draft{Bank: v.request.URL.Query().Get("bank")})
	}
	if err != nil {
		return fmt.Errorf("look for an attempt of payment %d: %w", s.payment.ID, err)
	}
	return w.wait(v, s)
}

func (w *Webview) validating(v *visit, s *visitor) error {
	if action, ours := actions[s.payment.Action]; ours {
		return action(w, v, s)
	}
	return w.goBack(v, s)
}

// waitBody is what a page shows on which nothing can be done for now.
type waitBody struct {
	frame
	summary
	Title, Text string
	// Leave is set when the wait has been long enough to offer a way out.
	Leave string
}

// The pages that wait look again after a quarter of the payment's age, so that
// quick banks are quick and slow ones cost little.
const (
	shortestLook = 2 * time.Second
	longestLook  = time.Minute
	longWait     = 20 * time.Second
)

// wait shows that the bank is at work.
func (w *Webview) wait(v *visit, s *visitor) error { return w.idle(v, s, "wait") }

// approve asks the payer to approve in the bank's app.
func (w *Webview) approve(v *visit, s *visitor) error { return w.idle(v, s, "approve") }

func (w *Webview) idle(v *visit, s *visitor, key string) error {
	f, err := w.frame(v, s)
	if err != nil {
		return err
	}
	waited, err := w.waited(v.context(), v.domain, s.payment)
	if err != nil {
		return err
	}
	body := waitBody{frame: f, summary: newSummary(v, s.payment), Title: v.words.Say(key + ".title"), Text: v.words.Say(key + ".text")}
	if waited > longWait {
		body.Leave = s.giveUp()
	}
	return pages.Send(v.writer, web.Page{
		Name: "wait", Words: v.words, Title: body.Title, Body: body, Simulated: v.domain.Kind == passerelle.Sandbox,
		Refresh: min(max(waited/4, shortestLook), longestLook),
	})
}

// waited is how long ago the payer did what is now being waited for.
func (w *Webview) waited(ctx context.Context, d passerelle.Domain, p *payment.Payment) (time.Duration, error) {
	now := d.Clock.Now(w.Now())
	if p.Validated != nil {
		return now.Sub(*p.Validated), nil
	}
	attempt, err := w.DB.Attempt(ctx, d.ID, p.ID)
	if err != nil {
		return 0, fmt.Errorf("look for the attempt of payment %d: %w", p.ID, err)
	}
	return now.Sub(attempt.Created), nil
}

// onwardBody is what the page shows that leads to the bank.
type onwardBody struct {
	frame
	summary
	Title, Bank, Address string
}

// stepOnward, as the step of an address, means that the payer has just ordered
// the payment and is taken to the bank without another click. Who comes back
// from the bank undecided is not, or two redirects would chase each other.
const stepOnward = "onward"

// onward leads to the bank.
func (w *Webview) onward(v *visit, s *visitor) error {
	if web.Origin(s.payment.ValidateURI) == "" {
		return fmt.Errorf("payment %d is to be validated at an address that no browser can open", s.payment.ID)
	}
	f, err := w.frame(v, s)
	if err != nil {
		return err
	}
	name := w.bankName(v, s.payment)
	title := v.words.Say("onward.title", cmp.Or(name, v.words.Say("bank")))
	page := web.Page{
		Name: "onward", Words: v.words, Title: title, Simulated: v.domain.Kind == passerelle.Sandbox,
		Body: onwardBody{frame: f, summary: newSummary(v, s.payment), Title: title, Bank: name, Address: s.payment.ValidateURI},
	}
	if v.request.URL.Query().Get("step") == stepOnward {
		page.RefreshTo = s.payment.ValidateURI
	}
	return pages.Send(v.writer, page)
}
