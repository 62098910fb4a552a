package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

// listData is a page of payments and the form that selects them.
type listData struct {
	// Fields are the form, More the part of it that is folded away unless Open.
	Fields, More []shownField
	Open         bool
	Rows         []listRow
	Turn         turn
	// MayReveal is set when the operator may have the file with all it holds.
	MayReveal bool
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
}

// byLabel reports whether the list is in the order of labels, which begins at a
// beginning; all others begin with the newest or the largest.
func (l listing) byLabel() bool { return l.order == "label" }

// payments lists the payments of a domain, the newest first.
func (c *Console) payments(v *visit) error {
	query := v.request.URL.Query()
	data := listData{MayReveal: c.mayReveal(v)}
	if err := c.showFields(v, query, &data); err != nil {
		return err
	}
	list, err := c.listing(v, query)
	if known, is := told(err); is {
		v.problem = known
		return c.send(v, "payments", "Payments", data)
	}
	if err != nil {
		return err
	}
	window := list.window(query)
	rows, err := c.DB.Payments(v, list.PaymentFilter, window, false)
	if err != nil {
		return err
	}
	rows, data.Turn = page(v, window, rows, func(row store.Listed) []any { return row.Place })
	for _, row := range rows {
		data.Rows = append(data.Rows, v.listRow(row.Payment))
	}
	return c.send(v, "payments", "Payments", data)
}

func (v *visit) listRow(p *payment.Payment) listRow {
	return listRow{
		ID: p.ID, Registered: passerelle.FormatDateTime(p.Created, v.zone), State: string(p.State), Code: string(p.ErrorCode),
		Amount: amountText(passerelle.Money{Minor: p.Total(), Currency: p.Currency()}), Label: v.nameText(p.Instructions[0].Label, false), Lines: len(p.Instructions),
	}
}

func amountText(m passerelle.Money) string { return m.Decimal() + " " + string(m.Currency) }

// window is the page of the list that an address names.
func (l listing) window(query url.Values) store.Window {
	w := store.Window{Order: l.order, Descending: !l.byLabel(), Limit: pageSize + 1}
	if from, given := l.place(query.Get("after")); given {
		w.From = from
	} else if from, given := l.place(query.Get("before")); given {
		w.From, w.Backward = from, true
	}
	return w
}

// place reads a place in the list as links have it: a key and a number with a
// dash. It selects nothing, so whoever changes one sees another part of the same
// list; what is no place is none.
func (l listing) place(text string) ([]any, bool) {
	dash := strings.LastIndex(text, "-")
	if dash < 0 || passerelle.CheckText("place", text, maxPlace) != nil {
		return nil, false
	}
	id, err := strconv.ParseInt(text[dash+1:], 10, 64)
	if err != nil {
		return nil, false
	}
	if l.byLabel() {
		return []any{text[:dash], id}, true
	}
	key, err := strconv.ParseInt(text[:dash], 10, 64)
	return []any{key, id}, err == nil
}

// maxPlace is the length of a folded label and a number.
const maxPlace = 1000

// exportPayments sends the payments that a form selects as a file, and puts that on
// record.
func (c *Console) exportPayments(v *visit) error {
	values := url.Values{}
	for _, field := range listFields {
		values.Set(field.name, v.field(field.name))
	}
	list, err := c.listing(v, values)
	if known, is := told(err); is {
		return &fault{http.StatusUnprocessableEntity, "There is no such list", known}
	}
	if err != nil {
		return err
	}
	return c.sendPayments(v, list, v.field("whole") != "")
}
