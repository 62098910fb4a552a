package sandbox

import (
	"cmp"
	"strings"

	"passerelle"
	"passerelle/payment"
)

// bankName is the heading of pages, and appName the heading of pages that stand in for a
// phone.
const (
	bankName = "Sandbox Bank"
	appName  = "Sandbox Bank app"
)

// orderView is an order in words.
type orderView struct {
	Bank  string
	Title string
	// Lead explains the title where that is needed.
	Lead string
	// Buttons are the possible decisions.
	Buttons []button
	// Step is the step that the page shows, so that a stale page decides nothing else.
	Step      int
	Payer     *lineView
	Accounts  []lineView
	Reference string
	Total     string
	When      string
	Ordered   string
	ReturnURL string
	Lines     []lineView
}

type lineView struct {
	Name, Number, Label, Amount string
}

// Single reports whether there is one beneficiary only.
func (v *orderView) Single() bool { return len(v.Lines) == 1 }

func newOrderView(o order, reference string) *orderView {
	currency := passerelle.Currency(o.Currency)
	now := o.screen()
	v := &orderView{
		Bank: cmp.Or(now.bank, bankName), Title: now.title, Lead: now.lead, Buttons: now.buttons, Step: o.At,
		Reference: reference, ReturnURL: o.ReturnURL,
		Total: amount(o.Total, currency), When: when(o), Ordered: o.Submitted.UTC().Format("2006-01-02, 15:04 UTC"),
	}
	v.from(o)
	for _, l := range o.Lines {
		v.Lines = append(v.Lines, lineView{l.Name, grouped(l.Scheme, l.Number), l.Label, amount(l.Minor, currency)})
	}
	return v
}

// from shows the debited account, or the accounts to choose from.
func (v *orderView) from(o order) {
	if o.Payer.Number != "" {
		v.Payer = &lineView{Name: o.Payer.Name, Number: grouped(o.Payer.Scheme, o.Payer.Number)}
		return
	}
	q, _ := o.question()
	if !o.open() || o.cancelling() || q.action != payment.Redirect {
		return
	}
	for _, p := range payers {
		if !p.offered {
			continue
		}
		v.Accounts = append(v.Accounts, lineView{Name: p.name, Number: passerelle.Account{Scheme: passerelle.IBAN, Identification: p.number}.Masked(), Label: p.number})
	}
}

func amount(minor int64, currency passerelle.Currency) string {
	return passerelle.Money{Minor: minor, Currency: currency}.Written("en")
}

// when returns the day of the payment in words.
func when(o order) string {
	switch o.DateType {
	case payment.Instant:
		return "At once"
	case payment.FirstOpenDay:
		return nextDay(o)
	case payment.Deferred:
		return "On " + o.Day
	default:
		return repeated(o)
	}
}

func nextDay(o order) string {
	if o.Day == "" {
		return "On the next banking day"
	}
	return "On the next banking day, " + o.Day
}

func repeated(o order) string {
	text := "Repeated " + string(o.Frequency) + ", from " + o.Day
	if o.LastDay == "" {
		return text
	}
	return text + " to " + o.LastDay
}

// grouped writes an account number as people read it: a sort code in pairs,
// everything else in fours.
func grouped(scheme passerelle.AccountScheme, number string) string {
	const sortCode = 6
	if scheme == passerelle.SortCode && len(number) > sortCode {
		return chunks(number[:sortCode], 2, "-") + " " + chunks(number[sortCode:], 4, " ")
	}
	return chunks(number, 4, " ")
}

func chunks(s string, size int, separator string) string {
	var parts []string
	for ; len(s) > size; s = s[size:] {
		parts = append(parts, s[:size])
	}
	return strings.Join(append(parts, s), separator)
}
