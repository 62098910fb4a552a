package berlingroup

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"

	"passerelle"
	"passerelle/connector/identity"
)

// A bank may count its pages by offset. An entry that is booked between two pages then moves the
// others, and one of them is on both pages. Without ids from the bank, this is not distinguishable
// from two transactions with equal contents. Such transactions are therefore withheld, and everything is
// read again until two passes in a row have the same transactions.

const (
	// maxPasses limits the passes of a read.
	maxPasses = 5
	// maxWithheld limits the withheld transactions. Further ones are passed on before the next pass.
	maxWithheld = 50_000
)

// tally counts transactions with equal contents. page is the number of the page with the first one.
type tally struct{ many, page int }

// sieve withholds the transactions that a shift of pages may have caused.
type sieve struct {
	page    int
	tallies map[string]tally
	// handed has the names of the transactions without ids that were passed on, and whether each was
	// pending.
	handed   map[string]bool
	withheld []passerelle.TransactionDetails
	// again means that this is not the first pass. open means that the transactions are not certain.
	again, open bool
}

func newSieve() sieve { return sieve{tallies: map[string]tally{}, handed: map[string]bool{}} }

// withholds counts a transaction without an id, and reports whether it is not passed on for now. In the
// first pass, these are transactions with an equal one on an earlier page. In later passes, these
// are all that were not passed on before.
func (s *sieve) withholds(content string, d passerelle.TransactionDetails) bool {
	before := s.tallies[content]
	if before.many == 0 {
		before.page = s.page
	}
	s.tallies[content] = tally{before.many + 1, before.page}
	if !s.again && before.page == s.page {
		s.handed[d.Key] = d.Coming
		return false
	}
	if !s.again {
		s.open = true // the next pass withholds it anew
		return true
	}
	if coming, handed := s.handed[d.Key]; handed && coming == d.Coming {
		return true
	}
	if len(s.withheld) >= maxWithheld {
		return false
	}
	s.withheld = append(s.withheld, d)
	return true
}

// sameAs reports whether two passes had the same transactions.
func (s *sieve) sameAs(other *sieve) bool {
	return maps.EqualFunc(s.tallies, other.tallies, func(a, b tally) bool { return a.many == b.many })
}

// readCertain passes on everything since a day, except what is uncertain. It reads again
// until nothing is uncertain, at most maxPasses times or as often as the bank permits.
func (v *reading) readCertain(ctx context.Context, a *bankAccount, begin passerelle.Date) (*history, error) {
	selected := url.Values{"dateFrom": {begin.String()}}
	s := v.history(a)
	err := v.readHistory(ctx, s, selected)
	for pass := 1; err == nil && s.sieve.open && pass < maxPasses; pass++ {
		next := v.history(a)
		next.sieve.handed, next.sieve.again = s.sieve.handed, true
		var ended *interruption
		if err = v.readHistory(ctx, next, selected); errors.As(err, &ended) {
			return s, nil
		}
		next.sieve.open = !next.sieve.sameAs(&s.sieve)
		s = next
	}
	return s, err
}

// settle passes on the transactions whose names are known only at the end of a read.
func (v *reading) settle(s *history) error {
	for page := range slices.Chunk(append(s.sieve.withheld, s.names.Settle()...), pageSize) {
		if err := v.handOver(s, page); err != nil {
			return err
		}
	}
	return nil
}

// contentOf returns a text that is equal for transactions with equal contents.
func contentOf(t identity.Transaction) string { return identity.OfContent("content", t.Content...) }
