package customers

import (
	"context"
	"fmt"
	"io"
	"time"

	"passerelle"
	"passerelle/connector"
)

// contract is a subscription with a bill for each month.
type contract struct {
	key, number, label, issuer string
	day                        int
	cents                      int64
	validity                   passerelle.Date
}

// contracts returns the contracts of a customer on the day of the read. A customer whose data
// changes has an additional contract on every second day.
func (c customer) contracts() []contract {
	all := []contract{
		{key: "power", number: "C-2019-4711", label: "Électricité", issuer: "Électricité du Parc", day: 15, cents: 84_60},
		{key: "phone", number: "M-0601020304", label: "Mobile et internet", issuer: "Réseau du Nord", day: 4, cents: 39_99},
	}
	if c.manner.changes && !c.odd() {
		day := c.today.String()
		all = append(all, contract{key: "trial-" + day, number: "E-" + day, label: "Offre d'essai", issuer: "Réseau du Nord", day: 1, cents: 1_00, validity: c.today})
	}
	return all
}

// showSubscriptions passes on all subscriptions, and the bills of the wanted ones.
func (c customer) showSubscriptions(out connector.Sink) error {
	var all []passerelle.SubscriptionDetails
	for _, s := range c.contracts() {
		all = append(all, passerelle.SubscriptionDetails{
			Key: s.key, Number: s.number, Label: s.label, Subscriber: "Jeanne Martin", Validity: s.validity, Renewing: c.renewing(s),
		})
	}
	if err := out.Subscriptions(all); err != nil {
		return err
	}
	for _, s := range c.contracts() {
		if !out.SubscriptionWanted(s.key) {
			continue
		}
		if err := out.Documents(s.key, c.bills(s)); err != nil {
			return err
		}
		if err := out.SubscriptionRead(s.key); err != nil {
			return err
		}
	}
	return nil
}

// renewing returns the next anniversary of a contract that has no end.
func (c customer) renewing(s contract) passerelle.Date {
	if !s.validity.IsZero() {
		return passerelle.Date{}
	}
	return beginning.AddMonths(12 * (c.years() + 1))
}

// years returns the number of full years since the beginning.
func (c customer) years() int {
	return c.today.In(time.UTC).Year() - beginning.In(time.UTC).Year()
}

func (c customer) bills(s contract) []passerelle.DocumentDetails {
	var bills []passerelle.DocumentDetails
	for month := 12; ; month++ {
		day := beginning.AddMonths(month).AddDays(s.day - 1)
		if day.Compare(c.today) > 0 {
			return bills
		}
		name := day.String()[:7]
		tax := s.cents / 6
		bills = append(bills, passerelle.DocumentDetails{
			Key: s.key + "-" + name, Type: "bill", Name: s.label + " " + name, Number: "F-" + name, Issuer: s.issuer, Date: day, Due: day.AddDays(20),
			Total: money(s.cents), Untaxed: money(s.cents - tax), VAT: money(tax), Currency: "EUR", HasFile: true, MediaType: "application/pdf",
		})
	}
}

// File writes the bill for a document or the receipt for a transaction. The file has one page, and
// is the same at every call.
func (r Reader) File(_ context.Context, req connector.DataRequest, of connector.FileName, w io.Writer) (string, error) {
	c := customer{login: recall(req.Memory).login(req), today: passerelle.DateOf(req.Now, time.UTC)}
	page := c.receipt(of)
	if of.Subscription != "" {
		page = c.bill(of)
	}
	if page == nil {
		return "", fmt.Errorf("there is no file for %+v", of)
	}
	_, err := w.Write(page)
	return "application/pdf", err
}

// bill returns the page of a document, or nil when there is no such document.
func (c customer) bill(of connector.FileName) []byte {
	for _, s := range c.contracts() {
		if s.key != of.Subscription {
			continue
		}
		for _, bill := range c.bills(s) {
			if bill.Key == of.Document {
				return pdf("Facture "+bill.Number, s.issuer, bill.Name, "Total EUR "+bill.Total.String())
			}
		}
	}
	return nil
}

// receiptKey is the key of the only attachment of a transaction.
const receiptKey = "receipt"

// receipts returns the attachments of a transaction. Direct debits and transfers with a
// counterparty have one receipt.
func receipts(r regular, day passerelle.Date) []passerelle.AttachmentDetails {
	name, has := map[passerelle.TransactionType]string{"order": "avis-de-prelevement", "transfer": "avis-de-virement"}[r.kind]
	if !has || r.party == nil {
		return nil
	}
	return []passerelle.AttachmentDetails{{Key: receiptKey, Name: name + "-" + day.String() + ".pdf", Description: r.party.Label, MediaType: "application/pdf"}}
}

// receipt returns the receipt for a transaction, or nil when the attachment has a different key. It
// does not check that the transaction exists.
func (c customer) receipt(of connector.FileName) []byte {
	if of.Attachment != receiptKey || of.Transaction == "" {
		return nil
	}
	return pdf("Avis d'opération", "Sandbox Bank", "Référence "+of.Transaction)
}
