package console

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/initiation"
	"passerelle/internal/operators"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/payment"
)

// paymentData is the content of a payment's page.
type paymentData struct {
	ID    passerelle.PaymentID
	State page.StateWord
	// Amount and Payee describe the payment. Next describes its next step.
	Amount, Payee, Next string
	// Code is the reason for the rejection of the payment, and Advice explains it. Message is the
	// bank's message about the rejection.
	Code    string
	Advice  advice
	Message string
	Facts   []page.DetailRow
	// Instructions lists the first instructions, and Omitted is the number of the others.
	Instructions []instructionRow
	Omitted      int
	Timeline     []timelineRow
	Evidence     []evidenceRow
	Acts         []actButton
	// ApproveAt is the address of the bank's page on which the payer approves a cancellation. Only
	// operators who may cancel see it, because it may open a session of the payer at the bank.
	ApproveAt string
	// Objections lists the first banks that do not fully support the payment. Objecting is the
	// number of all such banks.
	Objections []objection
	Objecting  int
	// Refundable is set when the operator can create a payment in the other direction. RefundOf is
	// the payment that this payment refunds, or zero.
	Refundable bool
	RefundOf   passerelle.PaymentID
	Refunds    refunds
	// Curl is the command that would create the same payment, or empty. It hides the data that the
	// page hides. CurlRead is the command that reads the payment.
	Curl, CurlRead string
	// Revealable is set when the page hides data that the operator may see. Revealed is set when
	// the page shows this data.
	Revealable, Revealed bool
}

type instructionRow struct {
	Reference, Amount, Label, Name, Account, Problem string
	State                                            page.StateWord
	Code                                             page.Code
	Identity                                         []page.DetailRow
}

// evidenceRow shows the evidence of one act of the payer.
type evidenceRow struct {
	At                   page.When
	Act, Language, Shown string
	// Lines lists the first instructions, and Omitted is the number of the others.
	Lines   []string
	Omitted int
}

// actButton is an act that the operator can do with the payment now.
type actButton struct {
	Act, State, Label string
	// Effect describes a consequence of the act that nobody can undo. The operator confirms such an
	// act on a separate page. Grave marks acts that end the payment without its execution. Reasoned
	// marks acts that need a reason.
	Effect          string
	Grave, Reasoned bool
}

func (c *Console) load(pc *page.Context, sensitive bool) (*payment.Payment, error) {
	p, err := c.DB.Payment(pc, pc.Domain.ID, passerelle.PaymentID(pc.Numbers[1]), sensitive)
	if errors.Is(err, store.ErrNotFound) {
		return nil, page.ErrNoPage
	}
	if err != nil {
		return nil, fmt.Errorf("load payment %d: %w", pc.Numbers[1], err)
	}
	return p, nil
}

// payment shows a payment with masks.
func (c *Console) payment(pc *page.Context) error { return c.show(pc, false) }

// reveal shows a payment without masks, and records this act.
func (c *Console) reveal(pc *page.Context) error { return c.revealing(pc, c.show) }

// revealing shows a page about a payment without masks, and records this act.
func (c *Console) revealing(pc *page.Context, show func(pc *page.Context, revealed bool) error) error {
	if !pc.MayReveal() {
		return page.ErrForbidden
	}
	if _, err := c.load(pc, false); err != nil {
		return err
	}
	if err := pc.RecordNow(page.ActReveal, "payment", pc.Numbers[1]); err != nil {
		return err
	}
	return show(pc, true)
}

// mayDo reports whether the operator may do the act, which needs a second factor in a live domain.
func mayDo(pc *page.Context, act string) bool {
	if act == actSimulate {
		return pc.Who.May(operators.Simulate)
	}
	return pc.Who.May(operators.Act) && pc.Certain()
}

// nameText masks a text with personal data in a live domain, unless the text is revealed.
func nameText(pc *page.Context, text string, revealed bool) string {
	if revealed || text == "" || pc.Domain.Kind == passerelle.Sandbox {
		return text
	}
	first, _ := utf8.DecodeRuneInString(text)
	return string(first) + "…"
}

func (c *Console) show(pc *page.Context, revealed bool) error {
	p, last, err := c.loadWithAttempt(pc, revealed)
	if err != nil {
		return err
	}
	data := paymentData{
		ID: p.ID, State: page.StateWord(p.State), Amount: totalText(p), Payee: payeeText(pc, p, revealed), Next: nextStep(p),
		Code: string(p.ErrorCode), Advice: adviceByCode[p.ErrorCode], Facts: c.facts(pc, p, revealed), Acts: c.acts(pc, p, last), CurlRead: curlRead(pc, p),
		Revealable: !revealed && pc.MayReveal(), Revealed: revealed, ApproveAt: approvalAddress(pc, p),
	}
	if isUnknown(p, last) {
		data.State, data.Next = page.Unknown, nextForUnknown
	}
	if message := nameText(pc, p.ErrorDescription, revealed); data.Code != "" {
		data.Message = message
	} else {
		data.Facts = append(data.Facts, page.Details("The bank's message", message)...)
	}
	if err := c.showRefunds(pc, p, &data); err != nil {
		return err
	}
	if data.Timeline, err = c.timeline(pc, p, revealed); err != nil {
		return err
	}
	if err := c.showRest(pc, p, revealed, &data); err != nil {
		return err
	}
	data.Omitted = max(0, len(p.Instructions)-maxLines)
	for i := range p.Instructions[:len(p.Instructions)-data.Omitted] {
		data.Instructions = append(data.Instructions, newInstructionRow(pc, &p.Instructions[i], revealed))
	}
	if data.Evidence, err = c.evidence(pc, p.ID, revealed); err != nil {
		return err
	}
	return pages.Send(pc, "payment", fmt.Sprintf("Payment %d", p.ID), data)
}

// approvalAddress returns the address at which the payer approves a cancellation. It is empty for
// operators who may not cancel.
func approvalAddress(pc *page.Context, p *payment.Payment) string {
	if p.Detail != payment.Cancelling || !mayDo(pc, actCancel) {
		return ""
	}
	return p.ValidateURI
}

// maxLines is the largest number of instructions or banks that the page lists.
const maxLines = 50

// showRest adds the data outside the part of the page that the script updates. It omits Curl for a
// payment with many instructions, because that command would be too long.
func (c *Console) showRest(pc *page.Context, p *payment.Payment, revealed bool, data *paymentData) error {
	if pc.Part() {
		return nil
	}
	all, err := c.objections(pc, p)
	if err != nil {
		return err
	}
	data.Objecting, data.Objections = len(all), all[:min(len(all), maxLines)]
	if len(p.Instructions) <= maxLines {
		data.Curl, err = c.curl(pc, p, revealed)
	}
	return err
}

// evidence returns the payer's evidence, oldest first. Unless the data is revealed, it hides
// personal data. In a live domain, it masks the payer's account and omits the instructions. In a
// sandbox, it masks the account numbers of the instructions.
func (c *Console) evidence(pc *page.Context, id passerelle.PaymentID, revealed bool) ([]evidenceRow, error) {
	kept, err := c.DB.Evidence(pc, pc.Domain.ID, id)
	if err != nil {
		return nil, fmt.Errorf("load the evidence of payment %d: %w", id, err)
	}
	rows := make([]evidenceRow, len(kept))
	for i, e := range kept {
		hidden := !revealed && pc.Domain.Kind != passerelle.Sandbox
		shown := []string{e.Shown.Application, e.Shown.Bank, e.Shown.Amount, e.Shown.When, nameText(pc, e.Shown.From, revealed)}
		rows[i] = evidenceRow{
			At: pc.When(e.At), Act: string(e.Act), Language: e.Language,
			Shown: strings.Join(slices.DeleteFunc(shown, func(s string) bool { return s == "" }), " · "),
		}
		if hidden {
			continue
		}
		rows[i].Omitted = max(0, len(e.Shown.Lines)-maxLines)
		for _, line := range e.Shown.Lines[:len(e.Shown.Lines)-rows[i].Omitted] {
			rows[i].Lines = append(rows[i].Lines, strings.Join([]string{line.Name, shownAccountText(line.Account, revealed), line.Label, line.Amount}, " · "))
		}
	}
	return rows, nil
}

// shownAccountText masks an account number that a page showed to the payer. It does not mask a
// revealed number.
func shownAccountText(shown string, revealed bool) string {
	if revealed {
		return shown
	}
	a := passerelle.Account{Identification: strings.NewReplacer(" ", "", "-", "").Replace(shown)}
	if first, _ := utf8.DecodeRuneInString(shown); unicode.IsLetter(first) {
		a.Scheme = passerelle.IBAN
	}
	return a.Masked()
}

// facts returns the rows about the whole payment.
func (c *Console) facts(pc *page.Context, p *payment.Payment, revealed bool) []page.DetailRow {
	facts := append(page.At("Registered", pc.When(p.Created)), page.Details(
		"Execution", dateTypeText(p.DateType()),
		"State in the API", strings.Join(strings.Fields(string(p.State)+" "+string(p.Detail)+" "+string(p.Action)), ", "),
		"Connector", c.connectorName(p.Connector),
		"Bank's reference", p.BankPaymentID,
		"Application", fmt.Sprint(p.Client),
		"Payer returns to", p.ClientRedirectURI,
		"Returned to the application", nameText(pc, p.ClientState, revealed),
	)...)
	if p.Payer != nil {
		facts = append(facts, page.Details("Payer", nameText(pc, p.Payer.Label, revealed), "Payer's account", accountText(*p.Payer, revealed))...)
	}
	facts = append(facts, identityFacts("Payer", p.PayerIdentity)...)
	return facts
}

// dateTypeText returns the kind of an execution date in words.
func dateTypeText(kind payment.DateType) string { return strings.ReplaceAll(string(kind), "_", " ") }

// totalText formats the total amount of a payment.
func totalText(p *payment.Payment) string {
	return page.Amount(passerelle.Money{Minor: p.Total(), Currency: p.Currency()})
}

// payeeText returns the first beneficiary, and the number of other beneficiaries.
func payeeText(pc *page.Context, p *payment.Payment, revealed bool) string {
	first := nameText(pc, p.Instructions[0].Beneficiary.Label, revealed)
	if more := len(p.Instructions) - 1; more > 0 {
		return fmt.Sprintf("%s and %d more", first, more)
	}
	return first
}

// connectorName returns the name of a connector, or its UUID if the service no longer has it.
func (c *Console) connectorName(uuid string) string {
	if one, known := c.Initiation.Connectors.Initiator(uuid); known {
		return one.Profile().Name
	}
	return uuid
}

// cancellable reports whether the payment's connector supports cancellation.
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

// identityFacts returns the rows about a person or an organisation, or none without an identity.
func identityFacts(whose string, i *passerelle.Identity) []page.DetailRow {
	if i == nil {
		return nil
	}
	facts := page.Details(whose+": kind", string(i.Kind), whose+": reference", i.ExternalRef, whose+": organisation", i.OrgName)
	s := i.Sensitive
	if s == nil {
		return facts
	}
	return append(facts, page.Details(
		whose+": name", strings.TrimSpace(s.FirstName+" "+s.LastName),
		whose+": place of birth", strings.TrimSpace(s.BirthCity+" "+s.BirthCountry),
		whose+": nationality", s.Nationality,
		whose+": address", s.PostalAddress,
		whose+": e-mail", s.Email,
		whose+": "+string(s.SchemeName), s.Identification,
	)...)
}

func newInstructionRow(pc *page.Context, in *payment.Instruction, revealed bool) instructionRow {
	return instructionRow{
		Reference: in.ReferenceID, Amount: page.Amount(in.Amount), Label: nameText(pc, in.Label, revealed), Name: nameText(pc, in.Beneficiary.Label, revealed),
		Account: accountText(in.Beneficiary, revealed), State: page.StateWord(in.State), Code: page.Code(in.ErrorCode), Problem: nameText(pc, in.ErrorDescription, revealed),
		Identity: identityFacts("Beneficiary", in.BeneficiaryIdentity),
	}
}

// acts returns the acts that the operator may do in the payment's state.
func (c *Console) acts(pc *page.Context, p *payment.Payment, last store.Attempt) []actButton {
	var acts []actButton
	if mayDo(pc, actCancel) {
		acts = c.clientActs(p, last.Number > 0)
		if isUnknown(p, last) {
			acts = append(settlements(), acts...)
		}
	}
	if !pc.Who.May(operators.Simulate) || pc.Domain.Kind != passerelle.Sandbox {
		return acts
	}
	for _, edge := range payment.Edges() {
		if edge.From == p.State {
			acts = append(acts, actButton{Act: actSimulate, State: string(edge.To), Label: page.StateWord(edge.To).Word()})
		}
	}
	return acts
}

// settlements returns the acts by which an operator states the outcome of an order when the service
// does not know it.
func settlements() []actButton {
	const ask = " Ask the bank about the order before you state this. It cannot be undone."
	return []actButton{
		{Act: actSettleDone, Label: "The bank executed it", Effect: "The payment becomes done." + ask, Reasoned: true},
		{Act: actSettleAccepted, Label: "The bank has it", Effect: "The payment becomes accepted: the bank has the order with the payer's approval, and executes it later." + ask, Reasoned: true},
		{Act: actSettleRejected, Label: "The bank does not have it", Effect: "The payment becomes rejected, and may be made again. State this too if the bank has the order without the payer's approval: the payer can no longer approve it." + ask, Grave: true, Reasoned: true},
	}
}

// loadWithAttempt loads the payment and its last attempt. The attempt is zero if no bank received an
// order, and may lack secrets that do not open. It is read before the payment. A form therefore never
// contains the number of a later question than the one that its page shows.
func (c *Console) loadWithAttempt(pc *page.Context, sensitive bool) (*payment.Payment, store.Attempt, error) {
	last, err := c.DB.Attempt(pc, pc.Domain.ID, passerelle.PaymentID(pc.Numbers[1]))
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrSealed) {
		return nil, last, fmt.Errorf("load the attempt of payment %d: %w", pc.Numbers[1], err)
	}
	p, err := c.load(pc, sensitive)
	return p, last, err
}

// isUnknown reports whether the payment's order has an unknown outcome.
func isUnknown(p *payment.Payment, last store.Attempt) bool {
	return p.State == payment.Created && last.State == store.AttemptUnknown
}

// settledStates maps each act that settles a payment to the resulting state of the payment.
var settledStates = map[string]payment.State{actSettleDone: payment.Done, actSettleAccepted: payment.Accepted, actSettleRejected: payment.Rejected}

// clientActs returns the acts that an operator may do on behalf of the application. The argument
// ordered is true if the service sent an order to a bank.
func (c *Console) clientActs(p *payment.Payment, ordered bool) []actButton {
	var acts []actButton
	switch {
	case p.Action == payment.Confirm && p.Detail == payment.Cancelling:
		acts = append(acts,
			actButton{Act: actConfirmCancellation, Label: "Confirm cancellation", Effect: "The bank cancels the order, and no more money moves. This cannot be undone.", Grave: true},
			actButton{Act: actRefuseCancellation, Label: "Refuse cancellation", Effect: "The cancellation ends. The bank continues with the order, and money may move."},
		)
	case p.Action == payment.Confirm:
		acts = append(acts,
			actButton{Act: actConfirm, Label: "Confirm payment", Effect: "The bank executes the order, and money moves. This cannot be undone."},
			actButton{Act: actRefuse, Label: "Refuse payment", Effect: "The payment ends, and no money moves. This cannot be undone.", Grave: true},
		)
	case p.Action == payment.Decoupled:
		acts = append(acts, actButton{Act: actResume, Label: "Ask bank now"})
	}
	if p.MayCancel(payment.ByClient, c.cancellable(p)) == nil {
		acts = append(acts, actButton{Act: actCancel, Label: "Cancel payment", Effect: cancelEffect(p, ordered), Grave: true})
	}
	return acts
}

// cancelEffect returns the consequence of a cancellation. The bank decides about an order that it
// has. No bank has an order of a payment with only simulated states.
func cancelEffect(p *payment.Payment, ordered bool) string {
	if p.State == payment.Created || !ordered {
		return "The payment ends, and no money moves. This cannot be undone."
	}
	return "The service asks the bank to cancel the payment. The bank may ask the payer to approve the cancellation. A cancelled payment cannot be restored."
}

// Forms and the audit log have these names for acts on a payment.
const (
	actConfirm  = "confirm payment"
	actRefuse   = "refuse payment"
	actResume   = "resume payment"
	actCancel   = "cancel payment"
	actSimulate = "simulate payment"

	actConfirmCancellation = "confirm cancellation"
	actRefuseCancellation  = "refuse cancellation"

	actSettleDone     = "settle payment as done"
	actSettleAccepted = "settle payment as accepted"
	actSettleRejected = "settle payment as rejected"
)

// Simulates reports whether the operator can simulate a change of state.
func (d paymentData) Simulates() bool {
	return slices.ContainsFunc(d.Acts, func(a actButton) bool { return a.Act == actSimulate })
}

// confirmData is the content of the page that asks again before an act.
type confirmData struct {
	ID    passerelle.PaymentID
	State page.StateWord
	// Account is the payee's account number, and Reason is the operator's input.
	Amount, Payee, Account, Reason string
	// Question is the number of the bank's question.
	Question int64
	// Revealable is set when the page masks a payee that the operator may see.
	Revealable, Revealed bool
	actButton
}

// confirmAct shows the page that asks again before an act that cannot be undone.
func (c *Console) confirmAct(pc *page.Context) error { return c.askAgain(pc, false) }

// confirmRevealed shows the page of confirmAct with the payee's name and account number. The audit
// log records that the operator revealed them.
func (c *Console) confirmRevealed(pc *page.Context) error { return c.revealing(pc, c.askAgain) }

func (c *Console) askAgain(pc *page.Context, revealed bool) error {
	p, last, err := c.loadWithAttempt(pc, false)
	if err != nil {
		return err
	}
	act := pc.Request.FormValue("act")
	buttons := c.acts(pc, p, last)
	i := slices.IndexFunc(buttons, func(b actButton) bool { return b.Effect != "" && b.Act == act })
	if i < 0 {
		web.Redirect(pc.Writer, pc.Path("/payments/%d", p.ID)) // the state has changed since the operator opened the page
		return nil
	}
	return pages.Send(pc, "payment-confirm", buttons[i].Label, confirmData{
		ID: p.ID, State: page.StateWord(p.State), Amount: totalText(p), Payee: payeeText(pc, p, revealed), Account: accountText(p.Instructions[0].Beneficiary, revealed),
		Question: last.Number, Reason: pc.Field("reason"), Revealable: !revealed && pc.MayReveal(), Revealed: revealed, actButton: buttons[i],
	})
}

// act does the act of a button with a use case of package initiation. The state may have changed
// since the operator opened the page, so the use case checks the state again.
func (c *Console) act(pc *page.Context) error {
	act := pc.Field("act")
	p, err := c.load(pc, false)
	if err != nil {
		return err
	}
	if !mayDo(pc, act) {
		return page.ErrForbidden
	}
	do, entry := c.Initiation, pc.Record(act, "payment", pc.Numbers[1])
	switch act {
	case actConfirm, actRefuse, actConfirmCancellation, actRefuseCancellation:
		err = c.confirm(pc, p.ID, act, entry)
	case actResume:
		_, err = do.Answer(pc, pc.Domain, p.ID, payment.ByClient, initiation.ActionAnswer{Action: payment.Decoupled, Yes: true}, entry)
	case actCancel:
		_, err = do.Cancel(pc, pc.Domain, p.ID, initiation.CancelRequest{By: payment.ByClient, Operator: true}, entry)
	case actSettleDone, actSettleAccepted, actSettleRejected:
		_, err = do.Settle(pc, pc.Domain, p.ID, initiation.Settlement{State: settledStates[act], Reason: pc.Field("reason")}, entry)
	case actSimulate:
		_, err = do.Simulate(pc, pc.Domain, p.ID, initiation.SimulatedChange{State: payment.State(pc.Field("state"))}, entry)
	default:
		return page.ErrForm
	}
	return pc.After(err, doneTexts[act], pc.Request.URL.Path, c.showMistake)
}

// showMistake shows the form with a wrong reason again. After another mistake, it shows the payment.
func (c *Console) showMistake(pc *page.Context) error {
	if pc.Wrong == "reason" {
		return c.askAgain(pc, false)
	}
	return c.show(pc, false)
}

// confirm answers the action confirm. It fails if the bank has since asked another question.
func (c *Console) confirm(pc *page.Context, id passerelle.PaymentID, act string, entry store.Audit) error {
	question, err := page.ParseID[int64]("question", pc.Field("question"))
	if err != nil {
		return err
	}
	said := initiation.ActionAnswer{
		Action: payment.Confirm, Question: question, Cancelling: new(act == actConfirmCancellation || act == actRefuseCancellation),
		Yes: act == actConfirm || act == actConfirmCancellation,
	}
	_, err = c.Initiation.Answer(pc, pc.Domain, id, payment.ByClient, said, entry)
	return err
}

// doneTexts maps each act to its confirmation.
var doneTexts = map[string]string{
	actConfirm: "The payment was confirmed.", actRefuse: "The payment was refused.", actResume: "The bank has been asked.",
	actConfirmCancellation: "The cancellation was confirmed.", actRefuseCancellation: "The cancellation was refused.",
	actCancel: "The cancellation is in progress. The state below shows how far it is.", actSimulate: "The change of state was simulated.",
	actSettleDone: "The payment was settled.", actSettleAccepted: "The payment was settled.", actSettleRejected: "The payment was settled.",
}
