package console

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/desk"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/payment"
)

// paymentData is all about one payment.
type paymentData struct {
	ID           passerelle.PaymentID
	State        string
	Facts        []desk.Fact
	Instructions []instructionRow
	Trail        []trailRow
	Evidence     []evidenceRow
	Acts         []actButton
	Objections   []objection
	// Curl is the request that would make the same payment.
	Curl string
	// Revealable is set when there is something hidden that the operator may see,
	// and Revealed when it is shown.
	Revealable, Revealed bool
}

type instructionRow struct {
	Reference, Amount, Label, Name, Account, State, Problem string
	Identity                                                []desk.Fact
}

// evidenceRow is what the payer saw when they acted on a page.
type evidenceRow struct {
	At, Act, Language, Shown string
	Lines                    []string
}

// actButton is something that can be done with the payment now.
type actButton struct {
	Act, State, Label string
	// Grave acts are not undone.
	Grave bool
}

func (c *Console) load(v *desk.Visit, sensitive bool) (*payment.Payment, error) {
	p, err := c.DB.Payment(v, v.Domain.ID, passerelle.PaymentID(v.Numbers[1]), sensitive)
	if errors.Is(err, store.ErrNotFound) {
		return nil, desk.ErrNoPage
	}
	if err != nil {
		return nil, fmt.Errorf("load payment %d: %w", v.Numbers[1], err)
	}
	return p, nil
}

// payment shows a payment with what personal there is hidden.
func (c *Console) payment(v *desk.Visit) error { return c.show(v, false) }

// reveal shows a payment whole, and puts on record that it was looked at.
func (c *Console) reveal(v *desk.Visit) error {
	if !v.MayReveal() {
		return desk.ErrForbidden
	}
	if _, err := c.load(v, false); err != nil {
		return err
	}
	if err := v.RecordNow(desk.ActReveal, "payment", v.Numbers[1]); err != nil {
		return err
	}
	return c.show(v, true)
}

// mayDo reports whether the operator may do what a button says: what a bank hears
// of, only with a second factor.
func mayDo(v *desk.Visit, act string) bool {
	if act == actSimulate {
		return v.Who.May(admission.Simulate)
	}
	return v.Who.May(admission.Act) && v.Certain()
}

// nameText keeps what may name a real person to those who asked to see it.
func nameText(v *desk.Visit, text string, revealed bool) string {
	if revealed || text == "" || v.Domain.Kind == passerelle.Sandbox {
		return text
	}
	first, _ := utf8.DecodeRuneInString(text)
	return string(first) + "…"
}

func (c *Console) show(v *desk.Visit, revealed bool) error {
	p, err := c.load(v, revealed)
	if err != nil {
		return err
	}
	data := paymentData{
		ID: p.ID, State: string(p.State), Facts: c.facts(v, p, revealed), Acts: c.acts(v, p),
		Revealable: !revealed && v.MayReveal(), Revealed: revealed,
	}
	if data.Trail, err = c.trail(v, p, revealed); err != nil {
		return err
	}
	if data.Objections, err = c.objections(v, p); err != nil {
		return err
	}
	if data.Curl, err = c.curl(v, p, revealed); err != nil {
		return err
	}
	for i := range p.Instructions {
		data.Instructions = append(data.Instructions, newInstructionRow(v, &p.Instructions[i], revealed))
	}
	if data.Evidence, err = c.evidence(v, p.ID, revealed); err != nil {
		return err
	}
	return pages.Send(v, "payment", fmt.Sprintf("Payment %d", p.ID), data)
}

// evidence is what the payer saw, oldest first. Whom they paid is for those who
// asked to see it.
func (c *Console) evidence(v *desk.Visit, id passerelle.PaymentID, revealed bool) ([]evidenceRow, error) {
	kept, err := c.DB.Evidence(v, v.Domain.ID, id)
	if err != nil {
		return nil, fmt.Errorf("load the evidence of payment %d: %w", id, err)
	}
	rows := make([]evidenceRow, len(kept))
	for i, e := range kept {
		hidden := !revealed && v.Domain.Kind != passerelle.Sandbox
		shown := []string{e.Shown.Application, e.Shown.Bank, e.Shown.Amount, e.Shown.When, nameText(v, e.Shown.From, revealed)}
		rows[i] = evidenceRow{
			At: passerelle.FormatDateTime(e.At, v.Zone), Act: string(e.Act), Language: e.Language,
			Shown: strings.Join(slices.DeleteFunc(shown, func(s string) bool { return s == "" }), " · "),
		}
		if hidden {
			continue
		}
		for _, line := range e.Shown.Lines {
			rows[i].Lines = append(rows[i].Lines, strings.Join([]string{line.Name, line.Account, line.Label, line.Amount}, " · "))
		}
	}
	return rows, nil
}

// facts are what there is to say about a payment as a whole.
func (c *Console) facts(v *desk.Visit, p *payment.Payment, revealed bool) []desk.Fact {
	facts := desk.Facts(
		"Amount", amountText(passerelle.Money{Minor: p.Total(), Currency: p.Currency()}),
		"Registered", passerelle.FormatDateTime(p.Created, v.Zone),
		"Execution", string(p.DateType()),
		"Waits for", strings.TrimSpace(string(p.Detail)+" "+string(p.Action)),
		"Error", string(p.ErrorCode),
		"The bank says", nameText(v, p.ErrorDescription, revealed),
		"Connector", c.connector(p),
		"Bank's reference", p.BankPaymentID,
		"Application", fmt.Sprint(p.Client),
		"Returns to", p.ClientRedirectURI,
		"Application's state", nameText(v, p.ClientState, revealed),
	)
	if p.Payer != nil {
		facts = append(facts, desk.Facts("Payer", nameText(v, p.Payer.Label, revealed), "Payer's account", accountText(*p.Payer, revealed))...)
	}
	facts = append(facts, identityFacts("Payer", p.PayerIdentity)...)
	return facts
}

// connector names the connector of a payment, by its UUID when this program does
// not have it any more.
func (c *Console) connector(p *payment.Payment) string { return c.connectorName(p.Connector) }

func (c *Console) connectorName(uuid string) string {
	if one, known := c.Initiation.Connectors.Initiator(uuid); known {
		return one.Profile().Name
	}
	return uuid
}

// cancellable reports whether the payment's connector cancels at all.
func (c *Console) cancellable(p *payment.Payment) bool {
	one, known := c.Initiation.Connectors.Initiator(p.Connector)
	return known && one.Profile().Payments.Cancellable
}

func accountText(a passerelle.Account, revealed bool) string {
	if revealed {
		return a.Identification
	}
	return a.Masked()
}

// identityFacts are what is known of a person or an organisation, as far as it
// was loaded.
func identityFacts(whose string, i *passerelle.Identity) []desk.Fact {
	if i == nil {
		return nil
	}
	facts := desk.Facts(whose+": kind", string(i.Kind), whose+": reference", i.ExternalRef, whose+": organisation", i.OrgName)
	s := i.Sensitive
	if s == nil {
		return facts
	}
	return append(facts, desk.Facts(
		whose+": name", strings.TrimSpace(s.FirstName+" "+s.LastName),
		whose+": born in", strings.TrimSpace(s.BirthCity+" "+s.BirthCountry),
		whose+": nationality", s.Nationality,
		whose+": address", s.PostalAddress,
		whose+": mail", s.Email,
		whose+": "+string(s.SchemeName), s.Identification,
	)...)
}

func newInstructionRow(v *desk.Visit, in *payment.Instruction, revealed bool) instructionRow {
	return instructionRow{
		Reference: in.ReferenceID, Amount: amountText(in.Amount), Label: nameText(v, in.Label, revealed), Name: nameText(v, in.Beneficiary.Label, revealed),
		Account: accountText(in.Beneficiary, revealed), State: string(in.State), Problem: strings.TrimSpace(string(in.ErrorCode) + " " + nameText(v, in.ErrorDescription, revealed)),
		Identity: identityFacts("Beneficiary", in.BeneficiaryIdentity),
	}
}

// acts are what the operator's role and the payment's state leave to be done.
func (c *Console) acts(v *desk.Visit, p *payment.Payment) []actButton {
	var acts []actButton
	if mayDo(v, actCancel) {
		acts = append(acts, c.clientActs(p)...)
	}
	if !v.Who.May(admission.Simulate) || v.Domain.Kind != passerelle.Sandbox {
		return acts
	}
	for _, edge := range payment.Edges() {
		if edge.From == p.State {
			acts = append(acts, actButton{Act: actSimulate, State: string(edge.To), Label: "Simulate: " + string(edge.To)})
		}
	}
	return acts
}

// clientActs are those of the application, which an operator may do for it.
func (c *Console) clientActs(p *payment.Payment) []actButton {
	var acts []actButton
	if p.Action == payment.Confirm {
		acts = append(acts, actButton{Act: actConfirm, Label: "Confirm"}, actButton{Act: actRefuse, Label: "Refuse", Grave: true})
	}
	if p.Action == payment.Decoupled {
		acts = append(acts, actButton{Act: actResume, Label: "Ask the bank"})
	}
	if p.MayCancel(payment.ByClient, c.cancellable(p)) == nil {
		acts = append(acts, actButton{Act: actCancel, Label: "Cancel the payment", Grave: true})
	}
	return acts
}

// The acts on a payment, as forms and the audit log name them.
const (
	actConfirm  = "confirm payment"
	actRefuse   = "refuse payment"
	actResume   = "resume payment"
	actCancel   = "cancel payment"
	actSimulate = "simulate payment"
)

// act does what a button says, through the use case that the JSON interface calls
// for it. The state may have changed since the page was shown: the use case knows.
func (c *Console) act(v *desk.Visit) error {
	act := v.Field("act")
	p, err := c.load(v, false)
	if err != nil {
		return err
	}
	if !mayDo(v, act) {
		return desk.ErrForbidden
	}
	do := c.Initiation.Audited(v.Record(act, "payment", v.Numbers[1]))
	switch act {
	case actConfirm, actRefuse:
		_, err = do.Answer(v, v.Domain, p.ID, payment.ByClient, initiation.Answer{Action: payment.Confirm, Yes: act == actConfirm})
	case actResume:
		_, err = do.Answer(v, v.Domain, p.ID, payment.ByClient, initiation.Answer{Action: payment.Decoupled, Yes: true})
	case actCancel:
		_, err = do.Cancel(v, v.Domain, p.ID, initiation.Cancellation{By: payment.ByClient, RedirectURI: p.ClientRedirectURI, State: p.ClientState})
	case actSimulate:
		_, err = do.Simulate(v, v.Domain, p.ID, initiation.Simulation{State: payment.State(v.Field("state"))})
	default:
		return desk.ErrForm
	}
	if known, is := desk.Told(err); is {
		v.Problem = known
		return c.show(v, false)
	}
	if err != nil {
		return err
	}
	web.Redirect(v.Writer, v.Request.URL.Path)
	return nil
}
