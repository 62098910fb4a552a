package webview

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/web"
	"passerelle/internal/webview/chooser"
	"passerelle/payment"
)

// frame has the data that every page needs around its content.
type frame struct {
	// Seller is the name of the application that sent the person to the page.
	Seller    string
	Payment   passerelle.PaymentID
	Languages []translation
	// Form is the token in every form.
	Form string
	// Steps lists the steps of the flow. It is empty when the page does not show them.
	Steps []flowStep
}

// flowStep is one step of a flow. Name is the key of its text.
type flowStep struct {
	Name          string
	Done, Current bool
}

// stepsOfPayment and stepsOfConnect are prefixes of text keys. The texts name the steps of paying
// and of connecting. Paying and connecting have stepsOfEither steps each.
const (
	stepsOfPayment = "steps.pay"
	stepsOfConnect = "steps.connect"
	stepsOfEither  = 3
)

// at returns f with the steps of a flow. current is the page's step, counted from 1.
func (f frame) at(steps string, current int) frame {
	f.Steps = nil
	for n := 1; n <= stepsOfEither; n++ {
		f.Steps = append(f.Steps, flowStep{fmt.Sprintf("%s.%d", steps, n), n < current, n == current})
	}
	return f
}

// translation is a link to the same page in another language.
type translation struct {
	Lang, Name, Address string
}

func (pc *pageContext) frame(s *payerSession) frame {
	f := frame{Seller: s.client.Name, Payment: s.payment.ID, Form: s.Form}
	for _, other := range words.Languages() {
		if other.Lang != pc.words.Lang {
			f.Languages = append(f.Languages, translation{other.Lang, other.Say("language"), pc.inLanguage(other.Lang, f.Payment) + pc.currentStep()})
		}
	}
	return f
}

// currentStep returns the query by which a link in another language opens the same page.
func (pc *pageContext) currentStep() string {
	query, kept := pc.request.URL.Query(), ""
	for _, name := range []string{"bank", chooser.SearchParameter, chooser.CountryParameter} {
		if value := query.Get(name); value != "" {
			kept += "&" + name + "=" + url.QueryEscape(value)
		}
	}
	if step := pc.step(); step == stepCancel || step == chooser.StepCountry {
		kept += "&step=" + step
	}
	return kept
}

// summary describes a payment in words.
type summary struct {
	payment.ShownPayment
	// Repeated is set for a periodic payment.
	Repeated bool
	// Payee describes the beneficiaries in one line.
	Payee string
	// Omitted is the number of instructions that Lines does not list.
	Omitted int
}

// maxLines is the largest number of instructions that a page lists.
const maxLines = 50

func (pc *pageContext) summary(s *payerSession) summary {
	p := s.payment
	shown := payment.ShownPayment{
		Application: s.client.Name, When: whenText(pc.words, p.Instructions[0]),
		Amount: amountText(pc.words, passerelle.Money{Minor: p.Total(), Currency: p.Currency()}),
	}
	if p.Payer != nil {
		shown.From = p.Payer.Masked()
	}
	for _, in := range p.Instructions[:min(len(p.Instructions), maxLines)] {
		shown.Lines = append(shown.Lines, payment.ShownLine{
			Amount: amountText(pc.words, in.Amount), Name: in.Beneficiary.Label, Account: accountText(in.Beneficiary), Label: in.Label,
		})
	}
	all := summary{ShownPayment: shown, Repeated: p.DateType() == payment.Periodic, Payee: shown.Lines[0].Name, Omitted: len(p.Instructions) - len(shown.Lines)}
	if len(p.Instructions) > 1 {
		all.Payee = pc.words.Say("summary.many", len(p.Instructions))
	}
	return all
}

// evidenceOf returns the content of the page on which the payer acted, without soft hyphens.
func evidenceOf(pc *pageContext, s *payerSession, act payment.Act, bank, terms string) *payment.Evidence {
	shown := pc.summary(s).ShownPayment
	shown.Bank, shown.Terms, shown.When = bank, terms, strings.ReplaceAll(shown.When, "\u00ad", "")
	return &payment.Evidence{Payment: s.payment.ID, Act: act, Language: pc.words.Lang, Shown: shown}
}

// sheets are the style sheets that these pages use in addition to the common style sheet.
var sheets = []string{"payer.css"}

// page returns a page about a payment. The status is 422 when the page has a problem.
func (pc *pageContext) page(s *payerSession, name, title string, body any, problem string) web.Page {
	page := web.Page{
		Name: name, Words: pc.words, Title: title, Body: body, Brand: brandOf(s.client),
		Simulated: pc.domain.Kind == passerelle.Sandbox, FormTargets: formTargets(pc, s), Sheets: sheets,
	}
	if problem != "" {
		page.Status, page.Alert = http.StatusUnprocessableEntity, pc.words.Say("problem.title")
	}
	return page
}

// formTargets lists the origins to which the response to a form may redirect. The list contains the
// origins of the client's addresses, because a form can end the payment. It does not contain the
// bank's site, because the service does not know this site yet. A later page of this service
// redirects to the bank.
func formTargets(pc *pageContext, s *payerSession) []string {
	var targets []string
	for _, uri := range []string{s.payment.ClientRedirectURI, s.RedirectURI} {
		origin := web.Origin(uri)
		if origin != "" && origin != web.Origin(pc.domain.BaseURL) && !slices.Contains(targets, origin) {
			targets = append(targets, origin)
		}
	}
	return targets
}
