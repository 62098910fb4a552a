package webview

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

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

// page is a page about a payment, shown again when a problem is named.
func (w *Webview) page(v *visit, s *visitor, name, title string, body any, problem string) web.Page {
	page := web.Page{
		Name: name, Words: v.words, Title: title, Body: body,
		Simulated: v.domain.Kind == passerelle.Sandbox, FormTargets: formTargets(v, s),
	}
	if problem != "" {
		page.Status = http.StatusUnprocessableEntity
	}
	return page
}

// formTargets are where sending a form may lead at once: to the client, when the
// payment is refused or cancelled, or needs nothing more. The bank's own site is
// not among them, because nobody knows it yet; a page of ours leads there.
func formTargets(v *visit, s *visitor) []string {
	var targets []string
	for _, uri := range []string{s.payment.ClientRedirectURI, s.RedirectURI} {
		origin := web.Origin(uri)
		if origin != "" && origin != web.Origin(v.domain.BaseURL) && !slices.Contains(targets, origin) {
			targets = append(targets, origin)
		}
	}
	return targets
}
