package console

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/initiation"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/payment"
)

// fact is a line about something: a name and a value.
type fact struct {
	Name, Value string
}

// paymentData is all about one payment.
type paymentData struct {
	ID           passerelle.PaymentID
	State        string
	Facts        []fact
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
	Identity                                                []fact
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

func (c *Console) load(v *visit, sensitive bool) (*payment.Payment, error) {
	p, err := c.DB.Payment(v, v.domain.ID, passerelle.PaymentID(v.numbers[1]), sensitive)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errNoPage
	}
	if err != nil {
		return nil, fmt.Errorf("load payment %d: %w", v.numbers[1], err)
	}
	return p, nil
}

// payment shows a payment with what personal there is hidden.
func (c *Console) payment(v *visit) error { return c.show(v, false) }

// reveal shows a payment whole, and puts on record that it was looked at.
func (c *Console) reveal(v *visit) error {
	if !c.mayReveal(v) {
		return errForbidden
	}
	if _, err := c.load(v, false); err != nil {
		return err
	}
	err := c.DB.Write(v, func(tx *store.Tx) error { return tx.Audit(c.entry(v, actReveal)) })
	if err != nil {
		return fmt.Errorf("record a look at payment %d: %w", v.numbers[1], err)
	}
	return c.show(v, true)
}

// mayReveal asks for a second factor where the data is that of real people.
func (c *Console) mayReveal(v *visit) bool {
	return v.who.May(admission.Reveal) && v.certain()
}

// mayDo reports whether the operator may do what a button says: what a bank hears
// of, only with a second factor.
func (v *visit) mayDo(act string) bool {
	if act == actSimulate {
		return v.who.May(admission.Simulate)
	}
	return v.who.May(admission.Act) && v.certain()
}

// certain reports whether a second factor says who the operator is, where money
// and data are those of real people.
func (v *visit) certain() bool { return v.who.Twice() || v.domain.Kind == passerelle.Sandbox }

// nameText keeps what may name a real person to those who asked to see it.
func (v *visit) nameText(text string, revealed bool) string {
	if revealed || text == "" || v.domain.Kind == passerelle.Sandbox {
		return text
	}
	first, _ := utf8.DecodeRuneInString(text)
	return string(first) + "…"
}

func (c *Console) entry(v *visit, act string) store.Audit {
	return c.record(v, act, "payment", v.numbers[1])
}

func (c *Console) show(v *visit, revealed bool) error {
	p, err := c.load(v, revealed)
	if err != nil {
		return err
	}
	data := paymentData{
		ID: p.ID, State: string(p.State), Facts: c.facts(v, p, revealed), Acts: c.acts(v, p),
		Revealable: !revealed && c.mayReveal(v), Revealed: revealed,
	}
	if data.Trail, err = c.trail(v, p); err != nil {
		return err
	}
	if data.Objections, err = c.objections(v, p); err != nil {
		return err
	}
	if data.Curl, err = c.curl(v, p, revealed); err != nil {
		return err
	}
	for i := range p.Instructions {
		data.Instructions = append(data.Instructions, v.instructionRow(&p.Instructions[i], revealed))
	}
	if data.Evidence, err = c.evidence(v, p.ID, revealed); err != nil {
		return err
	}
	return c.send(v, "payment", fmt.Sprintf("Payment %d", p.ID), data)
}

// evidence is what the payer saw, oldest first. Whom they paid is for those who
// asked to see it.
func (c *Console) evidence(v *visit, id passerelle.PaymentID, revealed bool) ([]evidenceRow, error) {
	kept, err := c.DB.Evidence(v, v.domain.ID, id)
	if err != nil {
		return nil, fmt.Errorf("load the evidence of payment %d: %w", id, err)
	}
	rows := make([]evidenceRow, len(kept))
	for i, e := range kept {
		shown := []string{e.Shown.Application, e.Shown.Bank, e.Shown.Amount, e.Shown.When, e.Shown.From}
		rows[i] = evidenceRow{
			At: passerelle.FormatDateTime(e.At, v.zone), Act: string(e.Act), Language: e.Language,
			Shown: strings.Join(slices.DeleteFunc(shown, func(s string) bool { return s == "" }), " · "),
		}
		if !revealed && v.domain.Kind != passerelle.Sandbox {
			continue
		}
		for _, line := range e.Shown.Lines {
			rows[i].Lines = append(rows[i].Lines, strings.Join([]string{line.Name, line.Account, line.Label, line.Amount}, " · "))
		}
	}
	return rows, nil
}

// facts are what there is to say about a payment as a whole.
func (c *Console) facts(v *visit, p *payment.Payment, revealed bool) []fact {
	facts := []fact{
		{"Amount", amountText(passerelle.Money{Minor: p.Total(), Currency: p.Currency()})},
		{"Registered", passerelle.FormatDateTime(p.Created, v.zone)},
		{"Execution", string(p.DateType())},
		{"Waits for", strings.TrimSpace(string(p.Detail) + " " + string(p.Action))},
		{"Error", string(p.ErrorCode)},
		{"The bank says", p.ErrorDescription},
		{"Connector", c.connector(p)},
		{"Bank's reference", p.BankPaymentID},
		{"Application", fmt.Sprint(p.Client)},
		{"Returns to", p.ClientRedirectURI},
		{"Application's state", p.ClientState},
	}
	if p.Payer != nil {
		facts = append(facts, fact{"Payer", v.nameText(p.Payer.Label, revealed)}, fact{"Payer's account", accountText(*p.Payer, revealed)})
	}
	facts = append(facts, identityFacts("Payer", p.PayerIdentity)...)
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
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
func identityFacts(whose string, i *passerelle.Identity) []fact {
	if i == nil {
		return nil
	}
	facts := []fact{{whose + ": kind", string(i.Kind)}, {whose + ": reference", i.ExternalRef}, {whose + ": organisation", i.OrgName}}
	s := i.Sensitive
	if s == nil {
		return facts
	}
	return append(facts, []fact{
		{whose + ": name", strings.TrimSpace(s.FirstName + " " + s.LastName)},
		{whose + ": born in", strings.TrimSpace(s.BirthCity + " " + s.BirthCountry)},
		{whose + ": nationality", s.Nationality},
		{whose + ": address", s.PostalAddress},
		{whose + ": mail", s.Email},
		{whose + ": " + string(s.SchemeName), s.Identification},
	}...)
}

func (v *visit) instructionRow(in *payment.Instruction, revealed bool) instructionRow {
	identity := identityFacts("Beneficiary", in.BeneficiaryIdentity)
	return instructionRow{
		Reference: in.ReferenceID, Amount: amountText(in.Amount), Label: v.nameText(in.Label, revealed), Name: v.nameText(in.Beneficiary.Label, revealed),
		Account: accountText(in.Beneficiary, revealed), State: string(in.State), Problem: strings.TrimSpace(string(in.ErrorCode) + " " + in.ErrorDescription),
		Identity: slices.DeleteFunc(identity, func(f fact) bool { return f.Value == "" }),
	}
}

// acts are what the operator's role and the payment's state leave to be done.
func (c *Console) acts(v *visit, p *payment.Payment) []actButton {
	var acts []actButton
	if v.mayDo(actCancel) {
		acts = append(acts, c.clientActs(p)...)
	}
	if !v.who.May(admission.Simulate) || v.domain.Kind != passerelle.Sandbox {
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
	if p.MayCancel(c.cancellable(p)) == nil {
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
	actReveal   = "look at personal data"
)

// act does what a button says, through the use case that the JSON interface calls
// for it. The state may have changed since the page was shown: the use case knows.
func (c *Console) act(v *visit) error {
	act := v.field("act")
	p, err := c.load(v, false)
	if err != nil {
		return err
	}
	if !v.mayDo(act) {
		return errForbidden
	}
	do := c.Initiation.Audited(c.entry(v, act))
	switch act {
	case actConfirm, actRefuse:
		_, err = do.Answer(v, v.domain, p.ID, payment.ByClient, initiation.Answer{Action: payment.Confirm, Yes: act == actConfirm})
	case actResume:
		_, err = do.Answer(v, v.domain, p.ID, payment.ByClient, initiation.Answer{Action: payment.Decoupled, Yes: true})
	case actCancel:
		_, err = do.Cancel(v, v.domain, p.ID, initiation.Cancellation{By: payment.ByClient, RedirectURI: p.ClientRedirectURI, State: p.ClientState})
	case actSimulate:
		_, err = do.Simulate(v, v.domain, p.ID, initiation.Simulation{State: payment.State(v.field("state"))})
	default:
		return errForm
	}
	if known, is := told(err); is {
		v.problem = known
		return c.show(v, false)
	}
	if err != nil {
		return err
	}
	web.Redirect(v.writer, v.request.URL.Path)
	return nil
}
