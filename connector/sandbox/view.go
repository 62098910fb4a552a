package sandbox

import (
	"strings"
	"time"

	"passerelle"
	"passerelle/connector/sandbox/speech"
	"passerelle/payment"
)

// orderView describes an order in words.
type orderView struct {
	// App is set for a page that stands for an app on a phone.
	App   bool
	Title string
	// Lead explains the title, if it needs an explanation.
	Lead string
	// Buttons are the possible decisions.
	Buttons []button
	// Step is the step that the page shows. It prevents a stale page from deciding about another
	// step.
	Step      int
	Payer     *lineView
	Accounts  []lineView
	Reference string
	Total     string
	When      string
	// Ordered is the time of the order, and OrderedStamp is the same time in a form for programs.
	Ordered      string
	OrderedStamp string
	ReturnURL    string
	Lines        []lineView
}

type lineView struct {
	Name, Number, Label, Amount string
}

// Single reports whether there is only one instruction.
func (v *orderView) Single() bool { return len(v.Lines) == 1 }

func newOrderView(says speech.Speech, o order, reference string) *orderView {
	currency := passerelle.Currency(o.Currency)
	now := o.screen()
	ordered := o.Submitted.UTC()
	v := &orderView{
		App: now.app, Title: says.Say(now.title), Lead: says.Say(now.lead), Step: o.At, Reference: reference, ReturnURL: o.ReturnURL,
		Total: says.Money(o.Total, currency), When: when(says, o), Ordered: says.Day(ordered.Format(time.DateOnly)) + ordered.Format(", 15:04 UTC"),
		OrderedStamp: ordered.Format(time.RFC3339),
	}
	for _, b := range now.buttons {
		b.Label = says.Say(b.Label)
		v.Buttons = append(v.Buttons, b)
	}
	v.from(says, o)
	for _, l := range o.Lines {
		v.Lines = append(v.Lines, lineView{l.Name, grouped(l.Scheme, l.Number), l.Label, says.Money(l.Minor, currency)})
	}
	return v
}

// from shows the debited account, or the accounts to choose from.
func (v *orderView) from(says speech.Speech, o order) {
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
		v.Accounts = append(v.Accounts, lineView{Name: says.Say(p.name), Number: passerelle.Account{Scheme: passerelle.IBAN, Identification: p.number}.Masked(), Label: p.number})
	}
}

// when returns the day of the payment in words.
func when(says speech.Speech, o order) string {
	switch o.DateType {
	case payment.Instant:
		return says.Say("Immediately")
	case payment.FirstOpenDay:
		return nextDay(says, o)
	case payment.Deferred:
		return says.Say("On %s", says.Day(o.Day))
	default:
		return repeated(says, o)
	}
}

func nextDay(says speech.Speech, o order) string {
	if o.Day == "" {
		return says.Say("On the next banking day")
	}
	return says.Say("On the next banking day, %s", says.Day(o.Day))
}

func repeated(says speech.Speech, o order) string {
	often := says.Say(often[o.Frequency])
	if o.LastDay == "" {
		return says.Say("%s, from %s", often, says.Day(o.Day))
	}
	return says.Say("%s, from %s to %s", often, says.Day(o.Day), says.Day(o.LastDay))
}

// often maps frequencies to descriptions of how often a payment is repeated.
var often = map[payment.Frequency]string{
	"daily": "Every day", "weekly": "Every week", "two-weekly": "Every two weeks", "monthly": "Every month", "two-monthly": "Every two months",
	"quarterly": "Every three months", "four-monthly": "Every four months", "semiannually": "Every six months", "yearly": "Every year",
}

// grouped formats an account number for reading: a sort code in pairs, everything else in groups
// of four.
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
