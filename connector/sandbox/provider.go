package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector"
)

// contracts are the subscriptions of every customer of the simulated provider,
// with a bill for each month.
var contracts = []struct {
	key, number, label, issuer string
	day                        int
	cents                      int64
}{
	{"power", "C-2019-4711", "Électricité", "Électricité du Parc", 15, 84_60},
	{"phone", "M-0601020304", "Mobile et internet", "Réseau du Nord", 4, 39_99},
}

// showSubscriptions hands over the subscriptions and the bills of those that
// are wanted.
func (c customer) showSubscriptions(out connector.Sink) error {
	var all []passerelle.SubscriptionDetails
	for _, s := range contracts {
		all = append(all, passerelle.SubscriptionDetails{
			Key: s.key, Number: s.number, Label: s.label, Subscriber: "Jeanne Martin", Renewing: beginning.AddMonths(12 * (c.years() + 1)),
		})
	}
	if err := out.Subscriptions(all); err != nil {
		return err
	}
	for i, s := range contracts {
		if !out.SubscriptionWanted(s.key) {
			continue
		}
		if err := out.Documents(s.key, c.bills(i)); err != nil {
			return err
		}
		if err := out.SubscriptionRead(s.key); err != nil {
			return err
		}
	}
	return nil
}

// years is how many are over since the beginning.
func (c customer) years() int {
	return c.today.In(time.UTC).Year() - beginning.In(time.UTC).Year()
}

func (c customer) bills(contract int) []passerelle.DocumentDetails {
	s := contracts[contract]
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

// File writes the bill of a document: one page, the same at every call.
func (r reader) File(_ context.Context, v connector.Visit, contract, document string, w io.Writer) (mediaType string, err error) {
	c := customer{login: recall(v.Memory).login(v), today: passerelle.DateOf(v.Now, time.UTC)}
	for i, s := range contracts {
		if s.key != contract {
			continue
		}
		for _, bill := range c.bills(i) {
			if bill.Key == document {
				_, err := w.Write(pdf("Facture "+bill.Number, s.issuer, bill.Name, "Total EUR "+bill.Total.String()))
				return "application/pdf", err
			}
		}
	}
	return "", fmt.Errorf("the provider knows no document %s", document)
}

// pdf is a page with lines of plain text, after ISO 32000-1.
func pdf(lines ...string) []byte {
	var text strings.Builder
	text.WriteString("BT /F1 14 Tf 72 760 Td 20 TL\n")
	for _, line := range lines {
		fmt.Fprintf(&text, "(%s) Tj T*\n", escaped(line))
	}
	text.WriteString("ET")
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	var file bytes.Buffer
	file.WriteString("%PDF-1.4\n")
	var places []int
	for i, object := range objects {
		places = append(places, file.Len())
		fmt.Fprintf(&file, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	end := file.Len()
	fmt.Fprintf(&file, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, place := range places {
		fmt.Fprintf(&file, "%010d 00000 n \n", place)
	}
	fmt.Fprintf(&file, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, end)
	return file.Bytes()
}

// escaped is a text in the encoding of the font: Latin-1, marks escaped.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case strings.ContainsRune(`\()`, r):
			b.WriteString(`\` + string(r))
		case r < 256:
			b.WriteByte(byte(r))
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
}
