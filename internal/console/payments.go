package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/desk"
	"passerelle/internal/store"
	"passerelle/payment"
)

func (c *Console) paymentRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("domains/#/payments", c.payments),
		desk.Post("domains/#/payments/file", c.exportPayments),
		desk.Get("domains/#/payments/#", c.payment),
		desk.Get("domains/#/payments/#/support", c.supportFile),
		desk.Post("domains/#/payments/#", c.act),
		desk.Post("domains/#/payments/#/reveal", c.reveal),
	}
}

// listData is a page of payments and the form that selects them.
type listData struct {
	// Fields are the form, More the part of it that is folded away unless Open.
	Fields, More []shownField
	Open         bool
	Rows         []listRow
	Turn         desk.Turn
	// MayReveal is set when the operator may have the file with all it holds.
	MayReveal bool
	// Still lists do not follow what happens: each look at one is on record.
	Still bool
}

type listRow struct {
	ID                                     passerelle.PaymentID
	Registered, State, Code, Amount, Label string
	Lines                                  int
}

// listing is what a form selects, and in which order it is read.
type listing struct {
	store.PaymentFilter
	order string
	// personal is set when it selects by what names people.
	personal bool
}

// byLabel reports whether the list is in the order of labels, which begins at a
// beginning; all others begin with the newest or the largest.
func (l listing) byLabel() bool { return l.order == "label" }

// payments lists the payments of a domain, the newest first.
func (c *Console) payments(v *desk.Visit) error {
	query := v.Request.URL.Query()
	data := listData{MayReveal: v.MayReveal()}
	if err := c.showFields(v, query, &data); err != nil {
		return err
	}
	list, err := c.listing(v, query)
	if known, is := desk.Told(err); is {
		v.Problem = known
		return pages.Send(v, "payments", "Payments", data)
	}
	if err != nil {
		return err
	}
	if data.Still, err = c.recordSearch(v, list); err != nil {
		return err
	}
	window := list.window(v, query)
	rows, err := c.DB.Payments(v, list.PaymentFilter, window, false)
	if err != nil {
		return err
	}
	rows, data.Turn = desk.Paged(v, window, rows, func(row store.Listed) []any { return row.Place })
	for _, row := range rows {
		data.Rows = append(data.Rows, newListRow(v, row.Payment))
	}
	return pages.Send(v, "payments", "Payments", data)
}

func newListRow(v *desk.Visit, p *payment.Payment) listRow {
	return listRow{
		ID: p.ID, Registered: passerelle.FormatDateTime(p.Created, v.Zone), State: string(p.State), Code: string(p.ErrorCode),
		Amount: amountText(passerelle.Money{Minor: p.Total(), Currency: p.Currency()}), Label: nameText(v, p.Instructions[0].Label, false), Lines: len(p.Instructions),
	}
}

func amountText(m passerelle.Money) string { return m.Decimal() + " " + string(m.Currency) }

// window is the page of the list that an address names.
func (l listing) window(v *desk.Visit, query url.Values) store.Window {
	w := store.Window{Order: l.order, Descending: !l.byLabel(), Limit: desk.PageSize + 1}
	if from, given := l.place(v, query.Get("after")); given {
		w.From = from
	} else if from, given := l.place(v, query.Get("before")); given {
		w.From, w.Backward = from, true
	}
	return w
}

// place reads a place in the list as links have it: a key and a number with a
// dash, or sealed where the key is a label. It selects nothing, so whoever changes one sees another part of the same
// list; what is no place is none.
func (l listing) place(v *desk.Visit, text string) ([]any, bool) {
	if l.byLabel() {
		return v.TextPlace(text)
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

// maxPlace is more than the length of two numbers.
const maxPlace = 100

// actSearch is to select payments by what names people.
const actSearch = "search by personal data"

// recordSearch puts on record that a list of a live domain was selected by what names
// people, and reports whether it was.
func (c *Console) recordSearch(v *desk.Visit, l listing) (bool, error) {
	if !l.personal || v.Domain.Kind == passerelle.Sandbox {
		return false, nil
	}
	return true, v.RecordNow(actSearch, "", 0)
}

// exportPayments sends the payments that a form selects as a file, and puts that on
// record.
func (c *Console) exportPayments(v *desk.Visit) error {
	values := url.Values{}
	for _, field := range listFields {
		values.Set(field.name, v.Field(field.name))
	}
	list, err := c.listing(v, values)
	if known, is := desk.Told(err); is {
		return &desk.Fault{Status: http.StatusUnprocessableEntity, Title: "There is no such list", Text: known}
	}
	if err != nil {
		return err
	}
	if _, err := c.recordSearch(v, list); err != nil {
		return err
	}
	return c.sendPayments(v, list, v.Field("whole") != "")
}
