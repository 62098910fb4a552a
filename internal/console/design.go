package console

import (
	"time"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/payment"
)

// designData has the data for those components of the design page that need data.
type designData struct {
	States  []page.StateWord
	Table   paymentTable
	Chart   designChart
	Tree    *page.JSONNode
	Moments []page.When
	Facts   []page.DetailRow
	Pager   page.Pager
	Code    string
}

type designChart struct {
	Caption string
	Bars    []designBar
}

type designBar struct {
	Label, Note, Count, Address string
	Length                      int64
}

// designSample is a JSON text that the page shows as a tree.
const designSample = `{"id":42,"state":"done","instructions":[{"amount":12.50,"currency":{"id":"EUR"},"label":"Invoice 42"}],"payer":null,"empty":[]}`

// design shows all components on one page, for people who change the design of pages. The buttons
// and forms on the page have no effect.
func (c *Console) design(pc *page.Context) error {
	now := pc.Now()
	data := designData{
		Facts: append(page.At("Registered", pc.RealWhen(now)), page.Details("Execution", "instant")...),
		Pager: page.Pager{Newer: "#newer", Older: "#older"}, Chart: designChart{Caption: "Payments by state"},
		Code: "curl --request GET 'https://bank.example/2.0/payments/42'",
	}
	for _, ago := range []time.Duration{0, 5 * time.Minute, 3 * time.Hour, 50 * time.Hour, 30 * 24 * time.Hour, -time.Hour} {
		data.Moments = append(data.Moments, pc.RealWhen(now.Add(-ago)))
	}
	var rows []listRow
	for i, state := range payment.States() {
		data.States = append(data.States, page.StateWord(state))
		rows = append(rows, listRow{
			ID: passerelle.PaymentID(i + 1), Address: "#table", Registered: pc.RealWhen(now.Add(-time.Duration(i) * time.Hour)), State: page.StateWord(state),
			Amount: page.Amount(passerelle.Money{Minor: 1_234_567 * int64(i+1), Currency: "EUR"}), Payee: "Shop", Label: "Invoice 42", Bank: "Example Bank", More: i,
		})
		data.Chart.Bars = append(data.Chart.Bars, designBar{Label: page.StateWord(state).Word(), Note: "of all", Count: "12", Length: int64(10 * (i + 1)), Address: "#chart"})
	}
	data.Table = usualTable(rows)
	data.Tree, _ = page.JSONTree(designSample)
	return pages.Send(pc, "design", "Design", data)
}
