package passerelle_test

import (
	"testing"

	"passerelle"
)

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]passerelle.Span{
		"1month": {Months: 1}, "15days": {Days: 15}, "1year6months": {Months: 18}, "2weeks1day": {Days: 15}, "0years3days": {Days: 3}, "1day1day": {Days: 2},
	} {
		if got, err := passerelle.ParseSpan("period", text); err != nil || got != want {
			t.Errorf("%q: %+v (%v), want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "month", "1", "1 month", "-1month", "1Month", "0days", "1dayss", "99999days", "900years", "1month2", "1.5days", "１day"} {
		if got, err := passerelle.ParseSpan("period", text); err == nil || got != (passerelle.Span{}) {
			t.Errorf("%q is %+v (%v)", text, got, err)
		}
	}
}

// Span.After returns a later day for each valid span.
func FuzzParseSpan(f *testing.F) {
	for _, text := range []string{"1month", "15days", "1year6months", "9999days9999days", "s"} {
		f.Add(text)
	}
	first, _ := passerelle.ParseDate("date", "2026-01-31")
	f.Fuzz(func(t *testing.T, text string) {
		span, err := passerelle.ParseSpan("period", text)
		if err == nil && span.After(first, 1).Compare(first) <= 0 {
			t.Errorf("%q after %s is %s", text, first, span.After(first, 1))
		}
	})
}
