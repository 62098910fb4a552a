package webview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/web"
	"passerelle/payment"
)

// amountText returns an amount as text, in the notation of the language.
func amountText(w web.Words, m passerelle.Money) string {
	return m.Written(w.Say("locale"))
}

func chunks(s string, size int) []string {
	var parts []string
	for part := range slices.Chunk([]byte(s), size) {
		parts = append(parts, string(part))
	}
	return parts
}

// accountText formats an account number in groups of four characters. For a UK account, it groups
// only the sort code, in pairs. People compare short groups easily.
func accountText(a passerelle.Account) string {
	const sortCode = 6
	if a.Scheme == passerelle.SortCode && len(a.Identification) > sortCode {
		return strings.Join(chunks(a.Identification[:sortCode], 2), "-") + " " + a.Identification[sortCode:]
	}
	return strings.Join(chunks(a.Identification, 4), " ")
}

// dateText returns a date as text, in the notation of the language. Some languages have a special
// notation for the first day of a month.
func dateText(w web.Words, d passerelle.Date) string {
	day := d.In(time.UTC)
	month := w.Say(fmt.Sprintf("month.%d", day.Month()))
	if day.Day() == 1 {
		return w.Say("date.first", month, day.Year())
	}
	return w.Say("date", day.Day(), month, day.Year())
}

// whenText returns the words that say when the bank executes an instruction.
func whenText(w web.Words, in payment.Instruction) string {
	switch in.DateType {
	case payment.Deferred:
		return w.Say("when.deferred", dateText(w, in.ExecutionDate))
	case payment.Periodic:
		return periodText(w, in)
	default:
		return w.Say("when." + string(in.DateType))
	}
}

func periodText(w web.Words, in payment.Instruction) string {
	often, start := w.Say("frequency."+string(in.Frequency)), dateText(w, in.StartDate)
	if in.EndDate.IsZero() {
		return w.Say("when.periodic", often, start)
	}
	return w.Say("when.periodic.until", often, start, dateText(w, in.EndDate))
}
