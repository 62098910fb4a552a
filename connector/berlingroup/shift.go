package berlingroup

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"passerelle"
	"passerelle/connector/identity"
)

// A bank may count its pages by offset. An entry that is booked between the requests for two pages
// moves the other entries, and one of them appears on both pages. Without ids from the bank, the
// two copies look like two equal transactions. The connector therefore withholds such transactions,
// and reads everything again until two consecutive passes count them equally.

const (
	// maxPasses limits the passes of a read.
	maxPasses = 5
	// maxWithheld limits the withheld transactions. Beyond this limit, the connector passes on
	// uncertain transactions immediately.
	maxWithheld = 50_000
)

// tally counts transactions with equal contents. page is the number of the page with the first of
// them.
type tally struct{ many, page int }

// sieve withholds the transactions that a shift of pages may have caused.
type sieve struct {
	page    int
	tallies map[string]tally
	// handed has the key of each transaction without an id that the first pass passed on. The value
	// says whether the transaction was pending.
	handed   map[string]bool
	withheld []heldBack
	// least holds the smallest count of each content in the passes so far. When a later pass lists
	// a content for the first time, its smallest count becomes one rather than zero, because the
	// transaction may be new.
	least map[string]int
	// again means that this is not the first pass. open means that the withheld transactions are
	// not certain.
	again, open bool
}

// heldBack is a withheld transaction, with its number among those of equal contents.
type heldBack struct {
	content string
	number  int
	details passerelle.TransactionDetails
}

func newSieve() sieve {
	return sieve{tallies: map[string]tally{}, handed: map[string]bool{}, least: map[string]int{}}
}

// withholds counts a transaction without an id, and reports whether the pass withholds it. The
// first pass withholds a transaction if an earlier page has one with equal contents. Later passes
// drop the transactions that the first pass passed on, and withhold all others, up to maxWithheld.
func (s *sieve) withholds(content string, d passerelle.TransactionDetails) bool {
	before := s.tallies[content]
	if before.many == 0 {
		before.page = s.page
	}
	s.tallies[content] = tally{before.many + 1, before.page}
	switch coming, handed := s.handed[d.Key]; {
	case !s.again && before.page == s.page:
		s.handed[d.Key] = d.Coming
		return false
	case !s.again:
		s.open = true // the next pass withholds it again
		return true
	case handed && coming == d.Coming:
		return true
	case len(s.withheld) >= maxWithheld:
		return false
	}
	s.withheld = append(s.withheld, heldBack{content, before.many + 1, d})
	return true
}

// sameAs reports whether two passes had the same doubtful transactions: those with equal contents.
// A transaction that is listed once is certain, even if it is new since the earlier pass.
func (s *sieve) sameAs(earlier *sieve) bool {
	for content, a := range s.tallies {
		if b := earlier.tallies[content]; a.many != b.many && max(a.many, b.many) > 1 {
			return false
		}
	}
	for content, b := range earlier.tallies {
		if _, listed := s.tallies[content]; !listed && b.many > 1 {
			return false
		}
	}
	return true
}

// endPass keeps the smallest counts at the end of a pass. Contents that this pass did not list
// count as zero.
func (s *sieve) endPass() {
	for content := range s.least {
		if _, listed := s.tallies[content]; !listed {
			s.least[content] = 0
		}
	}
	for content, t := range s.tallies {
		least, known := s.least[content]
		if !known && s.again {
			least, known = 1, true
		}
		if !known || t.many < least {
			least = t.many
		}
		s.least[content] = least
	}
}

// released returns the withheld transactions to pass on at the end of a read. If no two passes
// agreed, it returns for each content the smallest number that any pass had. The next read finds
// the others.
func (s *sieve) released() []passerelle.TransactionDetails {
	var all []passerelle.TransactionDetails
	for _, h := range s.withheld {
		if !s.open || h.number <= s.least[h.content] {
			all = append(all, h.details)
		}
	}
	return all
}

// readCertain passes on all transactions since the day begin except uncertain ones. It repeats the
// read until all transactions are certain, at most maxPasses times or as often as the bank permits.
func (v *reading) readCertain(ctx context.Context, a *bankAccount, begin passerelle.Date) (*history, error) {
	selected := url.Values{"dateFrom": {begin.String()}}
	s := v.history(a)
	err := v.readHistory(ctx, s, selected)
	s.sieve.endPass()
	for pass := 1; err == nil && s.sieve.open && pass < maxPasses; pass++ {
		next := v.history(a)
		next.sieve.handed, next.sieve.least, next.sieve.again = s.sieve.handed, s.sieve.least, true
		err = v.readHistory(ctx, next, selected)
		if _, ended := errors.AsType[*interruption](err); ended {
			return s, nil
		}
		next.sieve.endPass()
		next.sieve.open = !next.sieve.sameAs(&s.sieve)
		s = next
	}
	return s, err
}

// settle passes on the transactions that are certain only at the end of a read.
func (v *reading) settle(s *history) error {
	for page := range slices.Chunk(append(s.sieve.released(), s.names.Settle()...), pageSize) {
		if err := v.out.Transactions(s.account.key, page); err != nil {
			return err
		}
	}
	return nil
}

// contentOf returns a text that is equal for transactions with equal contents.
func contentOf(t identity.Transaction) string { return identity.OfContent("content", t.Content...) }
