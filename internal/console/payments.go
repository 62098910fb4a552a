package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

// pageSize is how many payments a page lists.
const pageSize = 50

// listData is a page of payments and the filter that selects them.
type listData struct {
	States                 []payment.State
	State, ID, First, Last string
	Rows                   []listRow
	// Older and Newer lead to the pages around, empty where there is none.
	Older, Newer string
}

type listRow struct {
	ID                                     passerelle.PaymentID
	Registered, State, Code, Amount, Label string
	Lines                                  int
}

// payments lists the payments of a domain, the newest first.
func (c *Console) payments(v *visit) error {
	query := v.request.URL.Query()
	data := listData{States: payment.States(), State: query.Get("state"), ID: strings.TrimSpace(query.Get("id")), First: query.Get("first"), Last: query.Get("last")}
	filter, err := c.filter(v, data)
	if known, is := told(err); is {
		v.problem = known
		return c.send(v, "payments", "Payments", data)
	}
	window := store.Window{Order: "register_date", Descending: true, Limit: pageSize + 1}
	if from, given := place(query.Get("after")); given {
		window.From = from
	} else if from, given := place(query.Get("before")); given {
		window.From, window.Backward = from, true
	}
	rows, err := c.DB.Payments(v, filter, window, false)
	if err != nil {
		return err
	}
	more := len(rows) > pageSize
	rows = rows[:min(len(rows), pageSize)]
	if window.Backward {
		slices.Reverse(rows)
	}
	data.turn(query, rows, window, more)
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

// filter selects what the form of the list says.
func (c *Console) filter(v *visit, data listData) (store.PaymentFilter, error) {
	f := store.PaymentFilter{Domain: v.domain.ID, State: data.State}
	if data.State != "" && !slices.Contains(data.States, payment.State(data.State)) {
		return f, passerelle.InvalidField("state", "must be one of %q", data.States)
	}
	if data.ID != "" {
		id, err := strconv.ParseInt(data.ID, 10, 64)
		if err != nil || id <= 0 {
			return f, passerelle.InvalidField("id", "must be the number of a payment")
		}
		f.Only = passerelle.PaymentID(id)
	}
	var err error
	if f.From, err = dayStart("first", data.First, v.zone, 0); err != nil {
		return f, err
	}
	f.Until, err = dayStart("last", data.Last, v.zone, 1)
	return f, err
}

// dayStart is the first instant of the day so many days after the one given, or
// zero for none.
func dayStart(field, text string, zone *time.Location, after int) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil || day.Year() < 1 {
		return time.Time{}, passerelle.InvalidField(field, "must be a day in the form YYYY-MM-DD")
	}
	return day.AddDate(0, 0, after), nil
}

// place reads a place in the list as links have it: two numbers with a dash. It
// selects nothing, so whoever changes one sees another part of the same list.
func place(text string) ([]any, bool) {
	instant, id, _ := strings.Cut(text, "-")
	µs, err := strconv.ParseInt(instant, 10, 64)
	if err != nil {
		return nil, false
	}
	n, err := strconv.ParseInt(id, 10, 64)
	return []any{µs, n}, err == nil
}

// turn makes the links around a page.
func (l *listData) turn(query url.Values, rows []store.Listed, w store.Window, more bool) {
	if len(rows) == 0 {
		return
	}
	link := func(name string, row store.Listed) string {
		to := url.Values{}
		for _, kept := range []string{"state", "id", "first", "last"} {
			if value := query.Get(kept); value != "" {
				to.Set(kept, value)
			}
		}
		to.Set(name, fmt.Sprintf("%v-%v", row.Place[0], row.Place[1]))
		return "?" + to.Encode()
	}
	if more || w.Backward {
		l.Older = link("after", rows[len(rows)-1])
	}
	if w.From != nil && (more || !w.Backward) {
		l.Newer = link("before", rows[0])
	}
}
