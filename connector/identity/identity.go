// Package identity gives transactions stable names, even if the bank has no ids.
//
// It owns the composition of a name, and how a transaction is recognised that the bank has
// changed when it booked the transaction. It does not own where transactions come from. It only
// computes and does not fail: an unrecognised transaction gets a new name.
package identity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"passerelle"
)

// A transaction keeps its name from the time when it is pending. A stable id of the bank is the
// name. Without one, the content is the name, with a number when several are equal. A bank that
// books a pending transaction with another text, another day or an id changes that. So a new
// transaction takes over the name of a pending one that disappeared, when the sum is the same
// and nothing contradicts it.

// The limits of the data that is stored about an account in order to recognise its transactions.
const (
	// recentDays is the number of days before a read to which a bank may date a transaction that
	// it books after the read.
	recentDays = 10
	// goneDays is the number of days for which a transaction is stored after it was last
	// pending, in case the bank books it.
	goneDays = 7
	// renamedDays is the number of days for which a name that was taken over is stored.
	renamedDays = 60
	maxPending  = 100
	maxRenamed  = 500
	// maxRecent limits the number of different booked transactions of the last days, and maxHeld
	// the number of those that are compared with pending ones.
	maxRecent = 20_000
	maxHeld   = 1000
	maxWords  = 8
)

// Transaction has the values of a bank's transaction that distinguish it from others.
type Transaction struct {
	// ID is the bank's stable id, empty for none.
	ID      string
	Pending bool
	// Booked is the day of booking.
	Booked passerelle.Date
	// Content names a transaction without an id, and Sum is the amount with its currency.
	Content []string
	Sum     string
	// EndToEnd is the payer's reference, Number the counterparty's account, and Text the wording.
	EndToEnd, Number, Text string
}

// Memory is the data that the next read needs to recognise transactions without an id. It is
// small, and contains no personal data except sums.
type Memory struct {
	// Unnamed means that a pending transaction had no id.
	Unnamed bool            `json:"unnamed,omitempty"`
	Pending []pendingMemory `json:"pending,omitempty"`
	// Booked counts, by content, the recently booked transactions whose sums are in Pending.
	Booked map[string]int `json:"booked,omitempty"`
	// Renamed are the names that were taken over, by the original name of the transaction that
	// took over the name.
	Renamed map[string]renamed `json:"renamed,omitempty"`
}

// pendingMemory is a pending transaction, with the time when it was last pending.
type pendingMemory struct {
	Name string          `json:"name"`
	Seen passerelle.Date `json:"seen"`
	traits
}

// renamed is the name that a transaction of a day has taken over.
type renamed struct {
	Name string          `json:"name"`
	Day  passerelle.Date `json:"day"`
}

// traits are the data by which a transaction is recognised. All but the sum are hashes.
type traits struct {
	Sum      string   `json:"sum"`
	EndToEnd string   `json:"end_to_end,omitempty"`
	Number   string   `json:"number,omitempty"`
	Words    []string `json:"words,omitempty"`
}

// Names gives the transactions of an account their names during one read.
type Names struct {
	before Memory
	today  passerelle.Date
	// since is the first day of which before.Booked counts transactions.
	since passerelle.Date
	// sums are the sums in before.Pending, was their names, and seen the names that are in this
	// read.
	sums, was, seen map[string]bool
	// taken are names that were taken over, and alike has the highest number for each content.
	taken map[string]bool
	alike Alike
	// known counts, by content, transactions that were booked or pending in the last read.
	// counted counts those booked now, and recent does so for the next read.
	known   map[string]int
	counted map[string]int
	recent  map[string]countedSum
	// pending are the pending transactions of this read, and held the new transactions that wait
	// for the end of the read.
	pending []pendingMemory
	held    []newTransaction
	renamed map[string]renamed
	// unnamed reports whether the read had a transaction without an id of the bank.
	unnamed bool
}

type countedSum struct {
	sum  string
	many int
}

// newTransaction is a transaction that was not in the last read.
type newTransaction struct {
	name    string
	details passerelle.TransactionDetails
	traits  traits
}

// New begins a read on a day, with the memory of an earlier day.
func New(before Memory, read, today passerelle.Date) *Names {
	n := &Names{
		before: before, today: today, since: read.AddDays(-recentDays),
		sums: map[string]bool{}, was: map[string]bool{}, seen: map[string]bool{}, taken: map[string]bool{}, alike: Alike{},
		known: map[string]int{}, counted: map[string]int{}, recent: map[string]countedSum{}, renamed: maps.Clone(before.Renamed),
	}
	if n.renamed == nil {
		n.renamed = map[string]renamed{}
	}
	for _, p := range before.Pending {
		n.sums[p.Sum], n.was[p.Name] = true, true
		n.known[p.Name[:max(strings.LastIndexByte(p.Name, '/'), 0)]]++
	}
	for _, r := range before.Renamed {
		n.taken[r.Name] = true
	}
	return n
}

// Give names a transaction. It returns false for a transaction that may have the name of a
// pending one. That name is known at the end of the read: Settle returns it then.
func (n *Names) Give(t Transaction, d *passerelle.TransactionDetails) bool {
	own, content, identified := n.own(t)
	d.Key = cmp.Or(n.renamed[own].Name, own)
	if n.was[d.Key] {
		n.seen[d.Key] = true
	}
	if t.Pending && identified {
		return true
	}
	n.unnamed = n.unnamed || !identified
	if n.isNew(t, own, content) && len(n.held) < maxHeld {
		n.held = append(n.held, newTransaction{own, *d, t.traits()})
		return false
	}
	if t.Pending {
		n.note(d.Key, t.traits())
	}
	return true
}

// own returns the name of a transaction without regard to others: the bank's id, or its content
// with a number. It reports whether the name is an id.
func (n *Names) own(t Transaction) (string, string, bool) {
	if t.ID != "" {
		return t.ID, t.ID, true
	}
	content := OfContent("content", t.Content...)
	own := n.alike.Next(content)
	for n.taken[own] {
		own = n.alike.Next(content)
	}
	return own, content, false
}

// isNew counts a transaction, and reports whether it may be a changed pending one of the last
// read.
func (n *Names) isNew(t Transaction, own, content string) bool {
	_, known := n.renamed[own]
	known = known || n.was[own]
	sum, day := t.Sum, t.Booked
	if t.Pending {
		return !known && n.sums[sum]
	}
	if day.Compare(n.today.AddDays(-recentDays)) >= 0 && len(n.recent) < maxRecent {
		n.recent[content] = countedSum{sum, n.recent[content].many + 1}
	}
	if !n.sums[sum] || day.Compare(n.since) < 0 {
		return false
	}
	n.counted[content]++
	return !known && n.counted[content] > n.known[content]
}

// note records a pending transaction.
func (n *Names) note(name string, about traits) {
	if len(n.pending) < maxPending {
		n.pending = append(n.pending, pendingMemory{name, n.today, about})
	}
}

// Unnamed reports whether a transaction had no id of the bank's.
func (n *Names) Unnamed() bool { return n.unnamed }

// Settle ends a read of everything, and returns the transactions that were held. They have the
// names of the pending transactions that they replace.
func (n *Names) Settle() []passerelle.TransactionDetails {
	n.match(n.gone())
	all := make([]passerelle.TransactionDetails, len(n.held))
	for i, h := range n.held {
		all[i] = h.details
		if h.details.Coming {
			n.note(h.details.Key, h.traits)
		}
	}
	return all
}

// gone returns the transactions that were pending in the last reads and are not in this read.
func (n *Names) gone() []pendingMemory {
	var all []pendingMemory
	for _, p := range n.before.Pending {
		if !n.seen[p.Name] {
			all = append(all, p)
		}
	}
	return all
}

// match gives new transactions the names of transactions that disappeared, the most similar
// first.
func (n *Names) match(gone []pendingMemory) {
	type pair struct{ gone, held, likeness int }
	var pairs []pair
	goneSums, newSums := map[string]int{}, map[string]int{}
	for _, g := range gone {
		goneSums[g.Sum]++
	}
	for _, h := range n.held {
		newSums[h.traits.Sum]++
	}
	for i, g := range gone {
		for j, h := range n.held {
			likeness, possible := g.likeness(h.traits, goneSums[g.Sum] == 1 && newSums[g.Sum] == 1)
			if possible {
				pairs = append(pairs, pair{i, j, likeness})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return b.likeness - a.likeness })
	for _, p := range pairs {
		if g, h := gone[p.gone], &n.held[p.held]; !n.seen[g.Name] && h.details.Key == h.name {
			n.seen[g.Name], h.details.Key = true, g.Name
			n.renamed[h.name] = renamed{g.Name, h.details.Date}
		}
	}
}

// likeness returns how similar two transactions are. It returns false when they differ in sum,
// party or reference, or have no word in common. When only is true, no other transactions have the
// sum, and a transaction without words may match too.
func (a traits) likeness(b traits, only bool) (int, bool) {
	if a.Sum != b.Sum || differ(a.EndToEnd, b.EndToEnd) || differ(a.Number, b.Number) {
		return 0, false
	}
	likeness := common(a.Words, b.Words)
	if a.Number != "" && b.Number != "" {
		likeness += maxWords
	}
	if a.EndToEnd != "" && b.EndToEnd != "" {
		likeness += 2 * maxWords
	}
	silent := len(a.Words) == 0 || len(b.Words) == 0
	return likeness, likeness > 0 || only && silent
}

// common counts the words of a that are also in b.
func common(a, b []string) int {
	n := 0
	for _, word := range a {
		if slices.Contains(b, word) {
			n++
		}
	}
	return n
}

// differ reports whether both texts are set and different.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// Remember returns the memory for the next read, after a read of everything since a day.
func (n *Names) Remember(begin passerelle.Date) Memory {
	m := Memory{Unnamed: len(n.pending) > 0, Pending: n.pending, Booked: map[string]int{}, Renamed: n.renamed}
	for _, g := range n.gone() {
		if n.today.Compare(g.Seen.AddDays(goneDays)) < 0 && len(m.Pending) < maxPending {
			m.Pending = append(m.Pending, g)
		}
	}
	sums := map[string]bool{}
	for _, p := range m.Pending {
		sums[p.Sum] = true
	}
	for content, c := range n.recent {
		if sums[c.sum] {
			m.Booked[content] = c.many
		}
	}
	if len(n.recent) >= maxRecent || len(m.Booked) > maxRenamed {
		m.Pending, m.Booked = nil, nil // new transactions could not be distinguished from earlier ones
	}
	m.forget(begin.AddDays(-renamedDays))
	return m
}

// forget drops names that were taken over before a day, and the oldest ones if there are too
// many.
func (m *Memory) forget(before passerelle.Date) {
	days := slices.SortedFunc(maps.Keys(m.Renamed), func(a, b string) int { return m.Renamed[b].Day.Compare(m.Renamed[a].Day) })
	for i, name := range days {
		if i >= maxRenamed || m.Renamed[name].Day.Compare(before) < 0 {
			delete(m.Renamed, name)
		}
	}
}

// traits returns the data by which the transaction is recognised.
func (t Transaction) traits() traits {
	about := traits{Sum: t.Sum}
	if id := strings.ToUpper(t.EndToEnd); id != "" && id != "NOTPROVIDED" {
		about.EndToEnd = shortHash(id)
	}
	if t.Number != "" {
		about.Number = shortHash(t.Number)
	}
	for _, word := range strings.FieldsFunc(strings.ToUpper(t.Text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if hashed := shortHash(word); significant(word) && len(about.Words) < maxWords && !slices.Contains(about.Words, hashed) {
			about.Words = append(about.Words, hashed)
		}
	}
	return about
}

// significant words have three characters or more, and not only digits.
func significant(word string) bool {
	return len(word) >= 3 && strings.ContainsFunc(word, unicode.IsLetter)
}

func shortHash(text string) string { return Hash(text)[:8] }
