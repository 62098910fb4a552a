package statements

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector/identity"
	"passerelle/statementfile"
)

// A bank corrects earlier data in two ways. It may send a statement again, with the same opening
// balance and last day but with other entries. In an OFX file, it may mark an entry as deleted or
// as replaced by another entry. A correction remains valid when the older file is read again.

// Corrections is a sink that removes stored transactions.
type Corrections interface {
	// Gone removes stored transactions of an account if the function `matches` returns true for their
	// keys. It keeps transactions before the day `from`. If `from` is zero, Gone removes the matching
	// transactions of all days.
	Gone(account string, from passerelle.Date, matches func(key string) bool) error
}

// issue is the stored data about a statement from one balance to another.
type issue struct {
	Opening, Closing statementfile.StatementBalance
	// First and Last are the days of the first and the last entry. Digest is a digest of the
	// entries.
	First, Last passerelle.Date `json:",omitzero"`
	Digest      string
	// Created is when the bank made the statement, or zero.
	Created time.Time `json:",omitzero"`
	// Corrected means that a later issue has replaced this one.
	Corrected bool `json:",omitempty"`
}

// These limits apply to the stored data of an account: the latest statements, and for each
// statement a number of corrected entries.
const (
	maxIssues         = 500
	correctedOfIssues = 20
)

// name distinguishes an issue from others.
func (i *issue) name() string {
	return i.Digest + i.Opening.Date.String() + i.Closing.Date.String() + i.Opening.Amount.Trim(0).String()
}

// draft holds the data about a statement during the first pass over its file.
type draft struct {
	// number is the number of earlier statements of the account in the file.
	number      int
	digest      hash.Hash
	sum         decimal.Decimal
	inexact     bool
	first, last passerelle.Date
}

func (d *draft) add(e *statementfile.StatementEntry) {
	if d.digest == nil {
		d.digest = sha256.New()
	}
	d.digest.Write([]byte(strings.Join(contentOf(e), "\x00") + "\n"))
	sum, err := d.sum.AddExact(e.Amount, max(d.sum.Scale(), e.Amount.Scale()))
	d.sum, d.inexact = sum, d.inexact || err != nil
	if d.first.IsZero() || e.Booked.Compare(d.first) < 0 {
		d.first = e.Booked
	}
	if d.last.Compare(e.Booked) < 0 {
		d.last = e.Booked
	}
}

// issue returns the statement as an issue. It returns false when the entries do not lead from the
// opening to the closing balance, or the closing balance is before the opening balance. It also
// returns false for CSV files: people choose the entries in them, so a later file does not repeat a
// statement.
func (d *draft) issue(s *statementfile.FileStatement) (issue, bool) {
	span, ordered := s.Span()
	if s.Format == statementfile.CSV || !ordered || d.digest == nil || d.inexact {
		return issue{}, false
	}
	end, err := span.Opening.Amount.AddExact(d.sum, max(span.Opening.Amount.Scale(), d.sum.Scale()))
	one := issue{Opening: span.Opening, Closing: span.Closing, First: d.first, Last: d.last, Created: s.Created, Digest: hex.EncodeToString(d.digest.Sum(nil)[:8])}
	return one, err == nil && end.Equal(span.Closing.Amount)
}

// corrects reports whether an issue replaces an earlier one. It returns false if the opening and
// closing balances of the earlier one are equal: the next statement of the same day begins with the
// same balance, and would look like a correction.
func (i *issue) corrects(before issue) bool {
	return !before.Corrected && i.Digest != before.Digest && same(before.Opening, i.Opening) &&
		before.Closing.Date == i.Closing.Date && !before.Opening.Amount.Equal(before.Closing.Amount)
}

// within reports whether the days of an issue's entries overlap the days of another issue.
func (i *issue) within(other *issue) bool {
	return i.Last.Compare(other.Opening.Date) > 0 && i.First.Compare(other.Closing.Date) <= 0
}

// corrected holds the corrections that a file makes for one account.
type corrected struct {
	// omitted identifies the statements in the file that add no transactions, by their numbers in
	// drafts: a later issue has already replaced them, or they repeat a statement of the file.
	// present holds the names of the statements in the file. previous is the latest statement with a
	// closing balance that is not omitted, or an empty statement.
	omitted  map[int]bool
	present  map[string]bool
	previous statementfile.FileStatement
	// versions holds the statements in the file that lead from balance to balance, by their ids.
	versions map[string][]version
	// ordered means that two statements have shown the order of the file. descending means that its
	// latest statement is the first.
	ordered, descending bool
	// again lists the periods of the statements that replace earlier statements. kept holds the
	// keys of entries in the file that must not be removed.
	again []period
	kept  map[string]bool
	// references holds hashes of the references that entries in the file correct. settled holds
	// hashes of the references that any file has corrected.
	references, settled map[string]bool
}

// version is a statement in the file: its position in account.Issues, and the number of its draft.
type version struct{ position, number int }

// newCorrected begins with the references that earlier files have corrected.
func newCorrected(settled []string) *corrected {
	c := &corrected{omitted: map[int]bool{}, present: map[string]bool{}, versions: map[string][]version{}, kept: map[string]bool{}, references: map[string]bool{}, settled: map[string]bool{}}
	for _, reference := range settled {
		c.settled[reference] = true
	}
	return c
}

// correct records that an entry corrects another.
func (a *account) correct(e *statementfile.StatementEntry, c *corrected) {
	if e.Corrects == "" {
		return
	}
	reference := identity.Hash(e.Corrects)
	if c.references[reference] = true; !c.settled[reference] {
		c.settled[reference], a.Corrected = true, append(a.Corrected, reference)
	}
}

// repeat omits a statement that the file already has with the same id. It keeps a statement that
// continues the one before it, because the balances of a day may return to an earlier one.
func (c *corrected) repeat(one *issue, id string, number int) {
	name := one.name() + "/" + id
	if c.continues(one, id) {
		c.present[name] = true
		return
	}
	c.once(name, number)
}

// continues reports whether a statement follows the previous one from balance to balance, in the
// order of the file. It returns false if their ids differ: ids then show which statements are
// repeated. Some banks give all statements the same id, or none.
func (c *corrected) continues(one *issue, id string) bool {
	before := &c.previous
	if before.Closing == nil || before.ID != id {
		return false
	}
	later := same(*before.Closing, one.Opening)
	earlier := before.Opening != nil && same(one.Closing, *before.Opening)
	if !c.ordered && later != earlier {
		c.ordered, c.descending = true, earlier
	}
	if c.descending {
		return earlier
	}
	return later
}

// follow makes a statement the previous one, unless it has no closing balance.
func (c *corrected) follow(s *statementfile.FileStatement) {
	if s.Closing != nil {
		c.previous = *s
	}
}

// same reports whether two balances have the same day and amount.
func same(a, b statementfile.StatementBalance) bool {
	return a.Date == b.Date && a.Amount.Equal(b.Amount)
}

// once omits a statement if the file already has a statement with the same name.
func (c *corrected) once(name string, number int) {
	if c.present[name] {
		c.omitted[number] = true
	}
	c.present[name] = true
}

// download returns a name for an OFX statement, which has no opening balance: two statements with the
// same entries and the same balance at the same time are one. It returns "" for other statements.
func (d *draft) download(s *statementfile.FileStatement) string {
	if s.Format != statementfile.OFX || s.Closing == nil || d.digest == nil {
		return ""
	}
	return strings.Join([]string{s.Created.String(), s.Closing.Date.String(), s.Closing.Amount.Trim(0).String(), hex.EncodeToString(d.digest.Sum(nil)[:8])}, "/")
}

// issue stores a statement of the file and records the earlier statement that it corrects. The
// argument `number` is the number of the statement's draft. The argument `before` contains the
// statements that were stored before the file was read.
func (a *account) issue(one issue, id string, number int, before []issue, c *corrected) {
	if a.issued == nil {
		a.issued = map[string]int{}
		for i := range a.Issues {
			a.issued[a.Issues[i].name()] = i
		}
	}
	if i, known := a.issued[one.name()]; known {
		if a.Issues[i].Corrected {
			c.omitted[number] = true
		}
		c.versions[id] = append(c.versions[id], version{i, number})
		return
	}
	a.issued[one.name()] = len(a.Issues)
	if i := slices.IndexFunc(before, one.corrects); i >= 0 && !slices.ContainsFunc(before, func(other issue) bool {
		return !other.Corrected && other.Digest != before[i].Digest && other.within(&one)
	}) {
		a.replace(&a.Issues[i], &one, number, c)
		before[i].Corrected = a.Issues[i].Corrected
	}
	a.correctInFile(&one, id, number, c)
	c.versions[id] = append(c.versions[id], version{len(a.Issues), number})
	a.Issues = append(a.Issues, one)
}

// correctInFile records the statements of the file that a later statement with the same id corrects,
// and omits the corrected statements. Several statements of one day that lead from balance to
// balance are no versions of one statement.
func (a *account) correctInFile(one *issue, id string, number int, c *corrected) {
	again := id != "" && !c.continues(one, id)
	for _, v := range c.versions[id] {
		stored := &a.Issues[v.position]
		if again && one.corrects(*stored) {
			a.replace(stored, one, number, c)
		}
		if stored.Corrected {
			c.omitted[v.number] = true
		}
	}
}

// replace records which of two issues replaces the other: the issue that the bank made later. When
// the bank reports no times, the issue in the file replaces the stored issue.
func (a *account) replace(stored, one *issue, number int, c *corrected) {
	if !one.Created.IsZero() && one.Created.Before(stored.Created) {
		one.Corrected, c.omitted[number] = true, true
		return
	}
	stored.Corrected = true
	a.removeSpan(statementfile.BalanceSpan{Opening: stored.Opening, Closing: stored.Closing})
	c.again = append(c.again, a.replaced(stored, one))
}

// period is a range of days, from the first to the last.
type period struct{ first, last passerelle.Date }

func (p period) has(day string) bool { return day >= p.first.String() && day <= p.last.String() }

// replaced returns the days on which one issue replaces the entries of another. The period usually
// begins on the day after the opening balance. However, many banks date the opening balance on the
// day of the first entries. If one of the issues has an entry on the day of the opening balance or
// before, the period therefore begins on the day of the opening balance. This does not apply if
// another statement may have entries on that day.
func (a *account) replaced(stored, one *issue) period {
	after := one.Opening.Date.AddDays(1)
	days := period{after, one.Closing.Date}
	for _, first := range []passerelle.Date{stored.First, one.First} {
		if !first.IsZero() && first.Compare(after) < 0 {
			days.first = one.Opening.Date
		}
	}
	if slices.ContainsFunc(a.Issues, func(other issue) bool {
		return !other.Corrected && other.Closing.Date.Compare(days.first) >= 0 && other.First.Compare(one.Opening.Date) <= 0
	}) {
		days.first = after
	}
	return days
}

// forget keeps the latest statements and corrections. The argument `most` is the maximum number of
// statements.
func (a *account) forget(most int) {
	slices.SortStableFunc(a.Issues, func(x, y issue) int { return x.Closing.Date.Compare(y.Closing.Date) })
	a.Issues = a.Issues[max(0, len(a.Issues)-most):]
	a.Corrected = a.Corrected[max(0, len(a.Corrected)-most*correctedOfIssues):]
}

// omits reports whether a correction excludes an entry of the file, or its statement is omitted. The
// argument `number` is the number of the statement's draft.
func (c *corrected) omits(e *statementfile.StatementEntry, number int) bool {
	if e.Deletes || c.omitted[number] {
		return true
	}
	return len(c.settled) > 0 && e.Reference != e.Corrects && c.settled[identity.Hash(e.Reference)]
}

// keep records the key of an entry if the entry has a corrected reference or a day in a replaced
// period. The function gone does not remove transactions with recorded keys.
func (c *corrected) keep(e *statementfile.StatementEntry, key string) {
	if len(c.references) > 0 && c.references[identity.Hash(e.Reference)] || slices.ContainsFunc(c.again, func(p period) bool { return p.has(e.Booked.String()) }) {
		c.kept[key] = true
	}
}

// gone removes the stored transactions that the file has corrected.
func (c *corrected) gone(account string, out Corrections) error {
	if len(c.again) == 0 && len(c.references) == 0 {
		return nil
	}
	from := passerelle.Date{}
	if len(c.references) == 0 {
		from = slices.MinFunc(c.again, func(x, y period) int { return x.first.Compare(y.first) }).first
	}
	return out.Gone(account, from, func(key string) bool {
		_, day, reference := partsOf(key)
		return !c.kept[key] && (c.references[reference] || slices.ContainsFunc(c.again, func(p period) bool { return p.has(day) }))
	})
}
