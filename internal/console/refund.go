package console

import (
	"fmt"
	"strings"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/initiation"
	"passerelle/internal/settings"
	"passerelle/internal/web"
	"passerelle/payment"
)

// actRefund is the name in the audit log for creating a payment in the other direction.
const actRefund = "refund payment"

// refundable reports whether the operator can create a payment in the other direction. The bank
// must have executed or accepted this payment, the payer's account must be known, and there must be
// exactly one beneficiary.
func refundable(pc *page.Context, p *payment.Payment) bool {
	executed := p.State == payment.Done || p.State == payment.Accepted
	return executed && mayAct(pc) && p.Payer != nil && len(p.Instructions) == 1 && p.DateType() != payment.Periodic
}

// refundData is the content of the form for a refund.
type refundData struct {
	ID                             passerelle.PaymentID
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
	in := p.Instructions[0]
	data := refundData{
		ID: p.ID, Paid: totalText(p), From: nameText(pc, in.Beneficiary.Label, false), To: nameText(pc, p.Payer.Label, false),
		FromAccount: accountText(in.Beneficiary, false), ToAccount: accountText(*p.Payer, false),
		Amount: in.Amount.Decimal(), Currency: string(in.Amount.Currency), Label: "Refund " + in.ReferenceID, Named: p.Payer.Label != "",
	}
	if pc.Problem != "" {
		data.Amount, data.Label, data.Payee = pc.Field("amount"), pc.Field("label"), pc.Field("payee")
	}
	return pages.Send(pc, "refund", fmt.Sprintf("Refund payment %d", p.ID), data)
}

// refund creates the payment. The holder of the beneficiary's account must approve it at the bank,
// like all payments.
func (c *Console) refund(pc *page.Context) error {
	p, err := c.load(pc, false)
	if err != nil {
		return err
	}
	if !refundable(pc, p) {
		return page.ErrForbidden
	}
	draft, err := refundDraft(p, strings.TrimSpace(pc.Field("amount")), strings.TrimSpace(pc.Field("label")), strings.TrimSpace(pc.Field("payee")))
	if err != nil {
		return pc.After(err, "", "", c.askForRefund)
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
	return pc.Lead(pc.Path("/payments/%d", made.ID), fmt.Sprintf("The refund of payment %d is created. The owner of the account approves it in the webview.", p.ID))
}

// refundDraft returns the draft of the payment in the other direction.
func refundDraft(p *payment.Payment, amount, label, payee string) (payment.Draft, error) {
	in := p.Instructions[0]
	money, err := passerelle.ParseMoney("amount", amount, in.Amount.Currency)
	if err != nil {
		return payment.Draft{}, err
	}
	if money.Minor > in.Amount.Minor {
		return payment.Draft{}, passerelle.InvalidField("amount", "must be at most %s, the amount that was paid", in.Amount.Decimal())
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
		Connector: p.Connector, ClientRedirectURI: p.ClientRedirectURI, ClientState: fmt.Sprintf("refund of payment %d", p.ID), Payer: &from,
		Instructions: []payment.Instruction{{Amount: money, Label: label, DateType: dates, Beneficiary: to}},
	}, nil
}
