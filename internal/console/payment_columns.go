package console

import (
	"net/url"
	"slices"
	"strings"

	"passerelle/internal/console/page"
	"passerelle/payment"
)

// column is a column of a list of payments.
type column struct {
	Name, Label string
	// usual is set for a column that the list shows when the address chooses no columns.
	usual  bool
	Chosen bool
}

// columns lists the columns to choose from, in their order on the page. The list always shows the
// payment's number.
var columns = []column{
	{Name: "state", Label: "State", usual: true},
	{Name: "amount", Label: "Amount", usual: true},
	{Name: "payee", Label: "To", usual: true},
	{Name: "label", Label: "Label", usual: true},
	{Name: "bank", Label: "Bank", usual: true},
	{Name: "client", Label: "Application"},
	{Name: "execution", Label: "Execution"},
	{Name: "reference", Label: "End-to-end id"},
	{Name: "registered", Label: "Registered", usual: true},
}

// paymentTable has payments, and all columns. Chosen marks the columns that the page shows.
type paymentTable struct {
	Rows    []listRow
	columns []column
}

// Has reports whether the table shows a column.
func (t paymentTable) Has(name string) bool {
	return slices.ContainsFunc(t.columns, func(c column) bool { return c.Name == name && c.Chosen })
}

// chooseColumns marks the columns that an address chooses, or else the usual columns.
func chooseColumns(values url.Values) []column {
	chosen := values["column"]
	all := slices.Clone(columns)
	known := slices.ContainsFunc(all, func(c column) bool { return slices.Contains(chosen, c.Name) })
	for i := range all {
		all[i].Chosen = slices.Contains(chosen, all[i].Name) || !known && all[i].usual
	}
	return all
}

// usualTable returns a table of rows with the usual columns.
func usualTable(rows []listRow) paymentTable { return paymentTable{rows, chooseColumns(nil)} }

// view is a frequently used list of payments. Its address contains the filter.
type view struct {
	Name, Address string
	Here          bool
}

// views returns the frequently used lists.
func views(pc *page.Context, query url.Values) []view {
	unknown := strings.HasSuffix(pc.Request.URL.Path, "/payments/unknown")
	list := pc.Path("/payments")
	var all []view
	for _, one := range []struct {
		name   string
		fields url.Values
	}{
		{"All", url.Values{}},
		{"Today", url.Values{"first": {today}}},
		{"Waits for approval", url.Values{"state": {string(payment.Validating)}}},
		{"In progress", url.Values{"state": {string(payment.Pending)}}},
		{"Rejected", url.Values{"state": {string(payment.Rejected)}}},
		{"Rejected today", url.Values{"state": {string(payment.Rejected)}, "first": {today}}},
		{"Expired", url.Values{"state": {string(payment.Expired)}}},
	} {
		here := !unknown
		for _, field := range listFields {
			here = here && dayText(pc, fieldValue(query, field.name)) == dayText(pc, one.fields.Get(field.name))
		}
		for _, column := range query["column"] {
			one.fields.Add("column", column)
		}
		all = append(all, view{one.name, list + "?" + one.fields.Encode(), here})
	}
	return append(all, view{"Outcome unknown", list + "/unknown", unknown})
}
