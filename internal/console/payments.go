package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/payment"
)

func (c *Console) paymentRoutes() []page.Route {
	return []page.Route{
		page.Get("domains/#/payments", c.payments),
		page.Get("domains/#/payments/unknown", c.unknownPayments),
		page.Post("domains/#/payments/file", c.exportPayments),
		page.Get("domains/#/payments/#", c.payment),
		page.Get("domains/#/payments/#/support", c.supportFile),
		page.Get("domains/#/payments/#/confirm", c.confirmAct),
		page.Post("domains/#/payments/#/confirm", c.confirmRevealed),
		page.Post("domains/#/payments/#", c.act),
		page.Get("domains/#/payments/#/refund", c.askForRefund),
		page.Post("domains/#/payments/#/refund", c.refund),
		page.Post("domains/#/payments/#/reveal", c.reveal),
	}
}

// listData is the content of a page of payments, with the form that filters them.
type listData struct {
	// Fields lists the fields of the form. More lists further fields, which are collapsed unless
	// Open is set. Selected is set when any field has a value.
	Fields, More   []shownField
	Open, Selected bool
	Table          paymentTable
	Columns        []column
	Views          []view
	// Count is the number of selected payments. It is empty on later pages.
	Count string
	Pager page.Pager
	// MayReveal is set when the operator may download the complete file.
	MayReveal bool
	// Still is set for a list that does not update itself. One reason is that the service records
	// each view of the list.
	Still bool
}

type listRow struct {
	ID                           passerelle.PaymentID
	Address                      string
	Registered                   page.When
	State                        page.StateWord
	Code                         page.Code
	Amount, Payee, Label, Bank   string
	Client, Execution, Reference string
	// More is the number of instructions after the first instruction. Payee, Label and Reference
	// belong to the first instruction.
	More int
	// Found is the field in which a search found the payment. Only the results of a search have it.
	Found string
}

// listing has the filter that a form selects, and the order of the list.
type listing struct {
	store.PaymentFilter
	order string
	// personal is set when data that identifies people filters the list.
	personal bool
}

// byLabel reports whether the list is ordered by label, ascending. All other orders are descending.
func (l listing) byLabel() bool { return l.order == "label" }

// payments lists the payments of a domain, newest first. Some filters need a different order.
func (c *Console) payments(pc *page.Context) error {
	query := pc.Request.URL.Query()
	data := listData{MayReveal: pc.MayReveal(), Columns: chooseColumns(query), Views: views(pc, query)}
	list, err := c.listing(pc, query)
	wrong := pc.Reports(err)
	if err != nil && !wrong {
		return err
	}
	if err := c.showFields(pc, query, &data); err != nil {
		return err
	}
	if wrong {
		return pages.Send(pc, "payments", "Payments", data)
	}
	if data.Still, err = c.recordSearch(pc, list); err != nil {
		return err
	}
	window := list.window(pc, query)
	rows, err := c.DB.Payments(pc, list.PaymentFilter, window, false)
	if err != nil {
		return err
	}
	rows, data.Pager = page.Paged(pc, window, rows, func(row store.Listed) []any { return row.Place })
	data.Table.columns = data.Columns
	for _, row := range rows {
		data.Table.Rows = append(data.Table.Rows, c.newListRow(pc, row.Payment))
	}
	if err := c.markUnknown(pc, data.Table.Rows); err != nil {
		return err
	}
	if window.From == nil {
		n, err := c.DB.CountPayments(pc, list.PaymentFilter, mostCounted)
		if err != nil {
			return fmt.Errorf("count payments: %w", err)
		}
		data.Count = page.UpTo(n, mostCounted)
	}
	return pages.Send(pc, "payments", "Payments", data)
}

// unknownPayments lists the payments with an unknown outcome. The pages are in the order in which
// the service asks the banks. Each page has its newest payment first.
func (c *Console) unknownPayments(pc *page.Context) error {
	ids, err := c.DB.UnknownOutcomes(pc, pc.Domain.ID, store.MaxOverviewRows)
	if err != nil {
		return fmt.Errorf("list the payments with an unknown outcome: %w", err)
	}
	data := listData{Views: views(pc, url.Values{}), Count: page.UpTo(int64(len(ids)), store.MaxOverviewRows), Still: true}
	w := pc.Window(1)
	ids = page.Within(w, ids, func(id passerelle.PaymentID) passerelle.PaymentID { return id })
	ids, data.Pager = page.Paged(pc, w, ids, page.ByID[passerelle.PaymentID])
	found, err := c.DB.PaymentsByID(pc, pc.Domain.ID, ids, false)
	if err != nil {
		return fmt.Errorf("load the payments with an unknown outcome: %w", err)
	}
	data.Table = usualTable(nil)
	for _, one := range found {
		row := c.newListRow(pc, one.Payment)
		row.State = page.Unknown
		data.Table.Rows = append(data.Table.Rows, row)
	}
	return pages.Send(pc, "payments", "Payments with an unknown outcome", data)
}

// mostCounted is the largest number of payments that a list counts.
const mostCounted = 1000

func (c *Console) newListRow(pc *page.Context, p *payment.Payment) listRow {
	return listRow{
		ID: p.ID, Address: pc.Path("/payments/%d", p.ID), Registered: pc.When(p.Created), State: page.StateWord(p.State), Code: page.Code(p.ErrorCode),
		Amount: totalText(p), Payee: nameText(pc, p.Instructions[0].Beneficiary.Label, false), Label: nameText(pc, p.Instructions[0].Label, false),
		Bank: c.connectorName(p.Connector), More: len(p.Instructions) - 1, Client: fmt.Sprint(p.Client), Execution: dateTypeText(p.DateType()), Reference: p.Instructions[0].ReferenceID,
	}
}

// markUnknown sets the state page.Unknown for the payments whose outcome is unknown. These payments
// do not wait for the payer.
func (c *Console) markUnknown(pc *page.Context, lists ...[]listRow) error {
	var sent []*listRow
	for _, rows := range lists {
		for i, row := range rows {
			if row.State == page.StateWord(payment.Created) && row.Bank != "" {
				sent = append(sent, &rows[i])
			}
		}
	}
	if len(sent) == 0 {
		return nil
	}
	unknown, err := c.DB.UnknownOutcomes(pc, pc.Domain.ID, store.MaxOverviewRows)
	if err != nil {
		return fmt.Errorf("list the payments with an unknown outcome: %w", err)
	}
	for _, row := range sent {
		if slices.Contains(unknown, row.ID) {
			row.State = page.Unknown
		}
	}
	return nil
}

// window returns the window of the list for the position in the address.
func (l listing) window(pc *page.Context, query url.Values) store.Window {
	w := store.Window{Order: l.order, Descending: !l.byLabel(), Limit: page.PageSize + 1}
	if from, supplied := l.place(pc, query.Get("after")); supplied {
		w.From = from
	} else if from, supplied := l.place(pc, query.Get("before")); supplied {
		w.From, w.Backward = from, true
	}
	return w
}

// place reads a position in the list from a link. The position is a key and a number, separated by
// a dash. When the key is a label, the position is a sealed text. A position is no filter, so a
// changed position only shows another part of the same list. An invalid position is ignored.
func (l listing) place(pc *page.Context, text string) ([]any, bool) {
	if l.byLabel() {
		return pc.TextPlace(text)
	}
	dash := strings.LastIndex(text, "-")
	if dash < 0 || passerelle.CheckText("place", text, maxPlace) != nil {
		return nil, false
	}
	id, err := strconv.ParseInt(text[dash+1:], 10, 64)
	if err != nil {
		return nil, false
	}
	key, err := strconv.ParseInt(text[:dash], 10, 64)
	return []any{key, id}, err == nil
}

// maxPlace is larger than the text of any position with two numbers.
const maxPlace = 100

// actSearch is the name in the audit log for a search by data that identifies people.
const actSearch = "search by personal data"

// recordSearch records a list that filters by personal data in a live domain. It reports whether it
// recorded the list.
func (c *Console) recordSearch(pc *page.Context, l listing) (bool, error) {
	if !l.personal || pc.Domain.Kind == passerelle.Sandbox {
		return false, nil
	}
	return true, pc.RecordNow(actSearch, "", 0)
}

// exportPayments sends the selected payments as a file, and records the export.
func (c *Console) exportPayments(pc *page.Context) error {
	values := url.Values{}
	for _, field := range listFields {
		values.Set(field.name, pc.Field(field.name))
	}
	list, err := c.listing(pc, values)
	if known, is := page.UserMessage(err); is {
		return &web.FaultPage{Status: http.StatusUnprocessableEntity, Title: "This list does not exist", Text: known}
	}
	if err != nil {
		return err
	}
	if _, err := c.recordSearch(pc, list); err != nil {
		return err
	}
	return c.sendPayments(pc, list, pc.Field("whole") != "")
}
