package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/payment"
)

// listData is a page of payments and the filter that selects them.
type listData struct {
	States                 []payment.State
	State, ID, First, Last string
	Rows                   []listRow
	Turn                   turn
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
	window := v.window(2)
	window.Order = "register_date"
	rows, err := c.DB.Payments(v, filter, window, false)
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
