package console

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/initiation"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/payment"
)

// actRefund is the name in the audit log for creating a payment in the other direction.
const actRefund = "refund payment"

// refundable reports whether the operator may act and p may have refunds.
func refundable(pc *page.Context, p *payment.Payment) bool { return mayAct(pc) && paidBack(p) }

// paidBack reports whether a payment may have refunds. Its bank must have executed or accepted the
// payment, and the payer's account must be known. The payment must have exactly one instruction,
// and must not be periodic.
func paidBack(p *payment.Payment) bool {
	executed := p.State == payment.Done || p.State == payment.Accepted
	return executed && p.Payer != nil && len(p.Instructions) == 1 && p.DateType() != payment.Periodic
}

// refundMark begins the client_state of a refund. The number of the refunded payment follows, and
// connects the two payments.
const refundMark = "refund of payment "

func refundState(id passerelle.PaymentID) string { return fmt.Sprint(refundMark, int64(id)) }

// refunds has the refunds of a payment.
type refunds struct {
	Rows []listRow
	// Refunded is the amount of all refunds that the bank has executed or may execute. Left is the
	// rest of the paid amount.
	Refunded, Left passerelle.Money
	// Unanswered is set when Refunded contains an expired refund.
	Unanswered bool
}

// Table returns the refunds as a table.
func (r refunds) Table() paymentTable { return usualTable(r.Rows) }

// Partial reports whether Refunded contains any refund.
func (r refunds) Partial() bool { return r.Refunded.Minor > 0 }

// RefundedText formats Refunded.
func (r refunds) RefundedText() string { return page.Amount(r.Refunded) }

// LeftText formats the amount that can still be refunded.
func (r refunds) LeftText() string { return page.Amount(r.Left) }

// refundsPage is the number of payments that refundsOf reads at once.
const refundsPage = 100

// refundsOf returns the refunds of a payment, newest first. Refunds go to the payer's account, from
// any account: a refund can be validated with another account than that of the refunded payment.
func (c *Console) refundsOf(pc *page.Context, p *payment.Payment) (refunds, error) {
	paid := p.Instructions[0].Amount
	found := refunds{Refunded: passerelle.Money{Currency: paid.Currency}, Left: paid}
	filter := store.PaymentFilter{
		Domain: p.Domain, Client: p.Client, Beneficiary: p.Payer.Identification, ClientState: refundState(p.ID), From: p.Created,
	}
	for window := (store.Window{Order: "register_date", Descending: true, Limit: refundsPage}); ; {
		rows, err := c.DB.Payments(pc, filter, window, false)
		if err != nil {
			return found, fmt.Errorf("find refunds of payment %d: %w", p.ID, err)
		}
		for _, row := range rows {
			c.addRefund(pc, &found, row.Payment)
		}
		if len(rows) < refundsPage {
			return found, nil
		}
		window.From = rows[len(rows)-1].Place
	}
}

// addRefund adds a refund.
func (c *Console) addRefund(pc *page.Context, found *refunds, other *payment.Payment) {
	found.Rows = append(found.Rows, c.newListRow(pc, other))
	expired := other.State == payment.Expired
	if other.State == payment.Rejected || expired && !sent(other) {
		return
	}
	found.Unanswered = found.Unanswered || expired
	found.Refunded.Minor += other.Total()
	found.Left.Minor = max(0, found.Left.Minor-other.Total())
}

// sent reports whether the bank may have the order of a payment. The bank may then execute the
// order even after the payment has expired. A payment that expired with an unknown outcome never
// reached the state validating, but it has the number of a connector's source.
func sent(p *payment.Payment) bool { return p.Validated != nil || p.Source != 0 }

// refunded returns the payment that p refunds, or zero. The refund must go to the account that paid,
// because applications choose the client_state of their own payments.
func (c *Console) refunded(pc *page.Context, p *payment.Payment) (passerelle.PaymentID, error) {
	text, is := strings.CutPrefix(p.ClientState, refundMark)
	id, err := strconv.ParseInt(text, 10, 64)
	if !is || err != nil || refundState(passerelle.PaymentID(id)) != p.ClientState {
		return 0, nil //nolint:nilerr // the state is not a refund's state
	}
	paid, err := c.DB.Payment(pc, pc.Domain.ID, passerelle.PaymentID(id), false)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("load the refunded payment %d: %w", id, err)
	}
	if paid.Client != p.Client || paid.Payer == nil || p.Instructions[0].Beneficiary.Identification != paid.Payer.Identification {
		return 0, nil
	}
	return paid.ID, nil
}

// showRefunds adds the refunds of a payment to its page and, for a refund, the refunded payment.
func (c *Console) showRefunds(pc *page.Context, p *payment.Payment, data *paymentData) error {
	var err error
	if data.RefundOf, err = c.refunded(pc, p); err != nil || !paidBack(p) {
		return err
	}
	data.Refunds, err = c.refundsOf(pc, p)
	data.Refundable = refundable(pc, p) && data.Refunds.Left.Minor > 0
	return err
}

// refundData is the content of the form for a refund.
type refundData struct {
	ID passerelle.PaymentID
	// Refunds has the earlier refunds.
	Refunds                        refunds
	Paid, From, To                 string
	FromAccount, ToAccount         string
	Amount, Currency, Label, Payee string
	// Named is set when the payer's name is known. The new payment then contains that name.
	Named bool
}

// askForRefund shows the form for a payment in the other direction.
func (c *Console) askForRefund(pc *page.Context) error {
	p, err := c.load(pc, false)
	if err != nil {
		return err
	}
	if !refundable(pc, p) {
		web.Redirect(pc.Writer, pc.Path("/payments/%d", p.ID))
		return nil
	}
	earlier, err := c.refundsOf(pc, p)
	if err != nil {
		return err
	}
	if earlier.Left.Minor == 0 && pc.Problem == "" {
		web.Redirect(pc.Writer, pc.Path("/payments/%d", p.ID))
		return nil
	}
	in := p.Instructions[0]
	data := refundData{
		ID: p.ID, Refunds: earlier, Paid: totalText(p), From: nameText(pc, in.Beneficiary.Label, false), To: nameText(pc, p.Payer.Label, false),
		FromAccount: accountText(in.Beneficiary, false), ToAccount: accountText(*p.Payer, false),
		Amount: earlier.Left.Decimal(), Currency: string(in.Amount.Currency), Label: "Refund " + in.ReferenceID, Named: p.Payer.Label != "",
	}
	if pc.Problem != "" {
		data.Amount, data.Label, data.Payee = pc.Field("amount"), pc.Field("label"), pc.Field("payee")
	}
	return pages.Send(pc, "refund", fmt.Sprintf("Refund payment %d", p.ID), data)
}

// refund creates the refund. The beneficiary of the refunded payment must approve the refund at the
// bank.
func (c *Console) refund(pc *page.Context) error {
	p, err := c.load(pc, false)
	if err != nil {
		return err
	}
	if !refundable(pc, p) {
		return page.ErrForbidden
	}
	earlier, err := c.refundsOf(pc, p)
	if err != nil {
		return err
	}
	draft, err := refundDraft(p, earlier, strings.TrimSpace(pc.Field("amount")), strings.TrimSpace(pc.Field("label")), strings.TrimSpace(pc.Field("payee")))
	if err != nil {
		return pc.After(err, "", "", c.askForRefund)
	}
	if draft.ClientRedirectURI, err = c.refundReturn(pc, p); err != nil {
		return err
	}
	values, err := settings.Load(pc, &c.DB.Reader, pc.Domain.ID)
	if err != nil {
		return err
	}
	wish := initiation.Creation{By: p.Client, Settings: values, Draft: draft}
	made, err := c.Initiation.Create(pc, pc.Domain, wish, pc.Record(actRefund, "payment", 0))
	if err != nil {
		return pc.After(err, "", "", c.askForRefund)
	}
	if err := c.withdrawExcess(pc, p, made); err != nil {
		return pc.After(err, "", "", c.askForRefund)
	}
	return pc.Lead(pc.Path("/payments/%d", made.ID), fmt.Sprintf("The refund of payment %d was created. The owner of the account approves it in the webview.", p.ID))
}

// refundReturn returns the redirect URI for a refund. This is the redirect URI of the refunded
// payment. If the application registers only other URIs, refundReturn returns the first of these.
func (c *Console) refundReturn(pc *page.Context, p *payment.Payment) (string, error) {
	registered, err := c.DB.RedirectURIs(pc, p.Domain, p.Client)
	if err != nil {
		return "", fmt.Errorf("load the redirect URIs of client %d: %w", p.Client, err)
	}
	if len(registered) == 0 || slices.Contains(registered, p.ClientRedirectURI) {
		return p.ClientRedirectURI, nil
	}
	return registered[0], nil
}

// withdrawExcess cancels a new refund when another operator has created a refund at the same time,
// and all refunds together exceed the paid amount. Nobody has approved the new refund yet.
func (c *Console) withdrawExcess(pc *page.Context, p, made *payment.Payment) error {
	all, err := c.refundsOf(pc, p)
	if err != nil || all.Refunded.Minor <= p.Total() {
		return err
	}
	wish := initiation.CancelRequest{By: payment.ByClient, Operator: true}
	if _, err := c.Initiation.Cancel(pc, pc.Domain, made.ID, wish, pc.Record(actCancel, "payment", int64(made.ID))); err != nil {
		return err
	}
	return passerelle.Conflicting("Another operator refunds this payment at the same time, so this refund was cancelled. See the refunds of the payment.")
}

// refundDraft returns the draft of the payment in the other direction, without a redirect URI and
// without a bank: the owner of the account chooses a bank, seldom that of the refunded payment.
func refundDraft(p *payment.Payment, earlier refunds, amount, label, payee string) (payment.Draft, error) {
	in := p.Instructions[0]
	money, err := passerelle.ParseMoney("instructions[0].amount", amount, in.Amount.Currency)
	if err != nil {
		return payment.Draft{}, err
	}
	if money.Minor <= 0 || money.Minor > earlier.Left.Minor {
		return payment.Draft{}, passerelle.InvalidField("instructions[0].amount", "must be more than 0 and at most %s, the amount that is not refunded yet", earlier.Left.Decimal())
	}
	from, to := in.Beneficiary, *p.Payer
	if to.Label == "" {
		to.Label = payee
	}
	dates := in.DateType
	if dates != payment.Instant {
		dates = payment.FirstOpenDay
	}
	return payment.Draft{
		ClientState: refundState(p.ID), Payer: &from,
		Instructions: []payment.Instruction{{Amount: money, Label: label, DateType: dates, Beneficiary: to}},
	}, nil
}
