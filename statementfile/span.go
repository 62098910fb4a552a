package statementfile

import (
	"cmp"
	"errors"
	"slices"

	"github.com/govalues/decimal"

	"passerelle"
)

// BalanceSpan is a period that statements of an account cover, from one balance to another.
type BalanceSpan struct{ Opening, Closing StatementBalance }

// String returns the days and the amounts of the balances. Equal spans have equal texts.
func (s BalanceSpan) String() string {
	return s.Opening.Date.String() + " " + amountKey(s.Opening) + " to " + s.Closing.Date.String() + " " + amountKey(s.Closing)
}

// Gap is a period in which entries of an account are missing. It lies between two spans, when the
// closing balance of the first span differs from the opening balance of the second.
type Gap struct {
	After, Before passerelle.Date
	// Missing is the sum of the missing entries.
	Missing decimal.Decimal
}

// Gaps returns the gaps between spans, and the spans in order. Spans with no gap between them are
// joined. Nothing can be missing between overlapping spans. Gaps fails when balances have too many
// digits to compare.
func Gaps(spans []BalanceSpan) ([]Gap, []BalanceSpan, error) {
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(x, y BalanceSpan) int {
		return cmp.Or(x.Opening.Date.Compare(y.Opening.Date), x.Closing.Date.Compare(y.Closing.Date))
	})
	j := joining{}
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].Opening.Date == sorted[0].Opening.Date {
			n++
		}
		for _, span := range chain(sorted[:n], j.end()) {
			if err := j.add(span); err != nil {
				return nil, nil, err
			}
		}
		sorted = sorted[n:]
	}
	return j.gaps, j.joined, nil
}

// joining holds the spans so far. Spans with no gap between them are joined.
type joining struct {
	gaps   []Gap
	joined []BalanceSpan
}

// end returns the balance with which the next span should begin, or nil for the first span.
func (j *joining) end() *StatementBalance {
	if len(j.joined) == 0 {
		return nil
	}
	return &j.joined[len(j.joined)-1].Closing
}

func (j *joining) add(span BalanceSpan) error {
	end := j.end()
	if end == nil {
		j.joined = append(j.joined, span)
		return nil
	}
	missing, err := plus(span.Opening.Amount, end.Amount.Neg())
	if err != nil {
		return err
	}
	if missing.IsZero() || span.Opening.Date.Compare(end.Date) < 0 {
		j.joined[len(j.joined)-1].extend(span.Closing)
		return nil
	}
	j.gaps = append(j.gaps, Gap{end.Date, span.Opening.Date, missing})
	j.joined = append(j.joined, span)
	return nil
}

// chain orders spans that begin on the same day, so that each span begins with the closing balance
// of an earlier one, if possible. from is the balance before that day. If from is nil, the first
// span is one that continues no other span.
func chain(day []BalanceSpan, from *StatementBalance) []BalanceSpan {
	if len(day) == 1 {
		return day
	}
	c := newChaining(day)
	chained := make([]BalanceSpan, 0, len(day))
	for len(chained) < len(day) {
		next := &day[c.next(from)]
		if chained = append(chained, *next); from == nil || from.Date.Compare(next.Closing.Date) <= 0 {
			from = &next.Closing
		}
	}
	return chained
}

// chaining holds the positions of the spans that are not ordered yet. The map waiting has them by
// opening amount. The list others has them in the order in which the method next takes them if it
// finds no span in waiting. Each position is in both fields, but is taken once.
type chaining struct {
	waiting map[string][]int
	others  []int
	taken   []bool
}

func newChaining(day []BalanceSpan) *chaining {
	c := &chaining{waiting: map[string][]int{}, taken: make([]bool, len(day))}
	ends := map[string]bool{}
	for i, s := range day {
		opening := amountKey(s.Opening)
		c.waiting[opening] = append(c.waiting[opening], i)
		if closing := amountKey(s.Closing); s.Closing.Date == s.Opening.Date && closing != opening {
			ends[closing] = true
		}
	}
	var later []int
	for i, s := range day {
		if ends[amountKey(s.Opening)] {
			later = append(later, i)
		} else {
			c.others = append(c.others, i)
		}
	}
	c.others = append(c.others, later...)
	return c
}

// next takes a span that begins with the amount of a balance. Without such a span or without a
// balance, it takes the first span in others.
func (c *chaining) next(from *StatementBalance) int {
	if from == nil {
		return c.first(&c.others)
	}
	opening := amountKey(*from)
	same := c.waiting[opening]
	next := c.first(&same)
	if c.waiting[opening] = same; next >= 0 {
		return next
	}
	return c.first(&c.others)
}

// first takes the first position of a list, and skips positions that are already taken. Without a
// position, it returns -1.
func (c *chaining) first(list *[]int) int {
	for len(*list) > 0 {
		next := (*list)[0]
		*list = (*list)[1:]
		if !c.taken[next] {
			c.taken[next] = true
			return next
		}
	}
	return -1
}

// amountKey returns a text that is the same for equal amounts.
func amountKey(b StatementBalance) string { return b.Amount.Trim(0).String() }

// extend moves the end of a span to a balance, unless the balance is older.
func (s *BalanceSpan) extend(to StatementBalance) {
	if s.Closing.Date.Compare(to.Date) <= 0 {
		s.Closing = to
	}
}

var errSum = errors.New("the sum of amounts has too many digits")

// plus adds two amounts. It fails when the sum would have to be rounded.
func plus(a, b decimal.Decimal) (decimal.Decimal, error) {
	sum, err := a.AddExact(b, max(a.Scale(), b.Scale()))
	if err != nil {
		return sum, errSum
	}
	return sum, nil
}
