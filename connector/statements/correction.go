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
	// The following fields hold positions in account.Issues. whole lists the statements in the file
	// that lead from balance to balance, and seen contains their positions. versions holds the latest
	// version of each statement in the file. superseded contains the versions that a later version in
	// the file replaces.
	whole            []wholeStatement
	versions         map[versionKey]int
	seen, superseded map[int]bool
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

// wholeStatement is a statement in the file: its position in account.Issues, and the number of its
// draft.
type wholeStatement struct{ position, number int }

// versionKey holds the values that the versions of a statement in a file have in common.
type versionKey struct {
	id, amount       string
	opening, closing passerelle.Date
}

// newCorrected begins with the references that earlier files have corrected.
func newCorrected(settled []string) *corrected {
	c := &corrected{
		omitted: map[int]bool{}, present: map[string]bool{}, versions: map[versionKey]int{}, seen: map[int]bool{}, superseded: map[int]bool{},
		kept: map[string]bool{}, references: map[string]bool{}, settled: map[string]bool{},
	}
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

// issue stores a statement of the file and compares it with the other statements in the file. The
// argument `number` is the number of the statement's draft. The argument `before` contains the
// statements that were stored before the file was read.
func (a *account) issue(one issue, id string, number int, before []issue, c *corrected) {
	if a.issued == nil {
		a.issued = map[string]int{}
		for i := range a.Issues {
			a.issued[a.Issues[i].name()] = i
		}
	}
	position, known := a.issued[one.name()]
	if !known {
		i := one.correctedIn(before)
		one.Corrected = i >= 0 && one.older(&before[i])
		position, a.issued[one.name()] = len(a.Issues), len(a.Issues)
		a.Issues = append(a.Issues, one)
	}
	c.whole = append(c.whole, wholeStatement{position, number})
	if !a.Issues[position].Corrected && !c.seen[position] {
		a.supersede(position, id, c)
	}
	c.seen[position] = true
	if a.Issues[position].Corrected || c.superseded[position] {
		c.omitted[number] = true
	}
}

// correctedIn returns the position of the stored issue that an issue corrects. It returns -1 if there
// is none, or if another stored issue has entries on the same days.
func (i *issue) correctedIn(before []issue) int {
	at := slices.IndexFunc(before, i.corrects)
	if at >= 0 && slices.ContainsFunc(before, func(other issue) bool {
		return !other.Corrected && other.Digest != before[at].Digest && other.within(i)
	}) {
		return -1
	}
	return at
}

// older reports whether the bank made an issue before another. Without times, it returns false: the
// issue that is read later is the later one.
func (i *issue) older(other *issue) bool {
	return !i.Created.IsZero() && i.Created.Before(other.Created)
}

// supersede records which of two versions of a statement in the file replaces the other. Versions
// have the same id. Several statements of one day that lead from balance to balance are no versions
// of one statement.
func (a *account) supersede(position int, id string, c *corrected) {
	one := &a.Issues[position]
	if id == "" || c.superseded[position] {
		return
	}
	key := versionKey{id, one.Opening.Amount.Trim(0).String(), one.Opening.Date, one.Closing.Date}
	earlier, found := c.versions[key]
	c.versions[key] = position
	if !found || c.continues(one, id) || !one.corrects(a.Issues[earlier]) {
		return
	}
	if one.older(&a.Issues[earlier]) {
		earlier, c.versions[key] = position, earlier
	}
	c.superseded[earlier] = true
}

// revise applies the versions in the file to the stored statements, after the last statement of the
// file. Only then is the latest version in the file known. Nothing of the superseded versions is
// stored unless an earlier file had them. A stored statement that the file repeats is replaced only by
// another version in the file.
func (a *account) revise(before []issue, c *corrected) {
	var wrong []*issue
	for position := len(before); position < len(a.Issues); position++ {
		one := &a.Issues[position]
		if c.superseded[position] {
			one.Corrected, wrong = true, append(wrong, one)
		}
		if one.Corrected {
			continue
		}
		if i := one.correctedIn(before); i >= 0 && (!c.seen[i] || c.superseded[i]) && !one.older(&before[i]) {
			stored := &a.Issues[i]
			stored.Corrected, before[i].Corrected, wrong = true, true, append(wrong, stored)
			c.again = append(c.again, replaced(stored, one, a.Issues[:position]))
		}
	}
	a.removeSpans(wrong)
	for _, s := range c.whole {
		if a.Issues[s.position].Corrected || c.superseded[s.position] {
			c.omitted[s.number] = true
		}
	}
}

// removeSpans removes the periods of corrected issues, unless another issue has the same period.
func (a *account) removeSpans(wrong []*issue) {
	if len(wrong) == 0 {
		return
	}
	names := map[string]bool{}
	for _, one := range wrong {
		names[one.span().String()] = true
	}
	for i := range a.Issues {
		if one := &a.Issues[i]; !one.Corrected {
			delete(names, one.span().String())
		}
	}
	a.Spans = slices.DeleteFunc(a.Spans, func(span statementfile.BalanceSpan) bool { return names[span.String()] })
}

func (i *issue) span() statementfile.BalanceSpan {
	return statementfile.BalanceSpan{Opening: i.Opening, Closing: i.Closing}
}

// period is a range of days, from the first to the last.
type period struct{ first, last passerelle.Date }

func (p period) has(day string) bool { return day >= p.first.String() && day <= p.last.String() }

// replaced returns the days on which one issue replaces the entries of another. The period usually
// begins on the day after the opening balance. However, many banks date the opening balance on the
// day of the first entries. If one of the issues has an entry on the day of the opening balance or
// before, the period therefore begins on the day of the opening balance. This does not apply if
// another statement may have entries on that day.
func replaced(stored, one *issue, others []issue) period {
	after := one.Opening.Date.AddDays(1)
	days := period{after, one.Closing.Date}
	for _, first := range []passerelle.Date{stored.First, one.First} {
		if !first.IsZero() && first.Compare(after) < 0 {
			days.first = one.Opening.Date
		}
	}
	if slices.ContainsFunc(others, func(other issue) bool {
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
