// Package identity gives transactions stable names, even if the bank has no ids.
//
// It owns the composition of names. It also recognises a pending transaction after the bank has
// changed and booked it. Its callers supply the transactions. The package only computes and never
// fails: a transaction that is not recognised gets a new name.
package identity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"passerelle"
)

// A transaction keeps the name that it had while it was pending. If the bank has a stable id, the
// id is the name. Otherwise the name consists of the content and a number, which distinguishes
// transactions with the same content. A bank may book a pending transaction with a different text
// or day, or a new id. The name would then change. A new transaction therefore takes over the name
// of a pending one that has disappeared. The amounts of both must be equal, and their other values
// similar.

// These limits apply to the stored data by which an account's transactions are recognised.
const (
	// recentDays is the number of past days to which a bank may still add booked transactions.
	recentDays = 10
	// goneDays is the number of days for which a transaction is remembered after it was last
	// pending. The bank may still book it.
	goneDays = 7
	// renamedDays limits the age of a name that was taken over, in days before the first day of a
	// read.
	renamedDays = 60
	maxPending  = 100
	maxRenamed  = 500
	// maxRecent limits the number of different recently booked transactions. maxHeld limits the
	// number of new transactions that are compared with pending ones.
	maxRecent = 20_000
	maxHeld   = 1000
	maxWords  = 8
)

// Transaction holds the values that distinguish a bank's transaction from others.
type Transaction struct {
	// ID is the bank's stable id, or empty.
	ID      string
	Pending bool
	// Booked is the day of booking.
	Booked passerelle.Date
	// Content is the content that names a transaction without an id. Sum is the amount with its
	// currency.
	Content []string
	Sum     string
	// EndToEnd is the payer's reference, Number is the counterparty's account, and Text is the
	// wording.
	EndToEnd, Number, Text string
}

// Memory is the data that the next read needs to recognise transactions without an id. A Memory is
// small, and its only personal data are sums.
type Memory struct {
	// Unnamed means that a pending transaction had no id.
	Unnamed bool            `json:"unnamed,omitempty"`
	Pending []pendingMemory `json:"pending,omitempty"`
	// Booked counts, by content, the recently booked transactions whose sums are in Pending.
	Booked map[string]int `json:"booked,omitempty"`
	// Renamed maps a transaction's own name to the name that the transaction took over.
	Renamed map[string]renamed `json:"renamed,omitempty"`
}

// pendingMemory is a pending transaction, with the day on which it was last pending.
type pendingMemory struct {
	Name string          `json:"name"`
	Seen passerelle.Date `json:"seen"`
	traits
}

// renamed is a name that a transaction has taken over, with the day of the transaction.
type renamed struct {
	Name string          `json:"name"`
	Day  passerelle.Date `json:"day"`
}

// traits is the data by which a transaction is recognised. All values except the sum are hashes.
type traits struct {
	Sum      string   `json:"sum"`
	EndToEnd string   `json:"end_to_end,omitempty"`
	Number   string   `json:"number,omitempty"`
	Words    []string `json:"words,omitempty"`
}

// Names assigns names to the transactions of an account during one read.
type Names struct {
	before Memory
	today  passerelle.Date
	// since is the first day of the booked transactions that before.Booked counts.
	since passerelle.Date
	// The fields sums and was contain the sums and the names in before.Pending. The field seen
	// contains those of the names that occur in this read.
	sums, was, seen map[string]bool
	// taken holds the names that were taken over. alike holds the highest number for each content.
	taken map[string]bool
	alike Alike
	// known counts, by content, the transactions in the memory of the last read. counted counts the
	// booked transactions of this read that are compared with them. recent counts recently booked
	// transactions for the next read.
	known   map[string]int
	counted map[string]int
	recent  map[string]countedSum
	// pending holds the pending transactions of this read. held holds the new transactions whose
	// names are decided at the end of the read.
	pending []pendingMemory
	held    []newTransaction
	renamed map[string]renamed
	// unnamed means that a transaction of this read had no id from the bank.
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

// New begins a read. The arguments before and read are the memory and the day of the last read. The
// argument today is the day of the new read.
func New(before Memory, read, today passerelle.Date) *Names {
	n := &Names{
		before: before, today: today, since: read.AddDays(-recentDays),
		sums: map[string]bool{}, was: map[string]bool{}, seen: map[string]bool{}, taken: map[string]bool{}, alike: Alike{},
		known: map[string]int{}, counted: map[string]int{}, recent: map[string]countedSum{}, renamed: maps.Clone(before.Renamed),
	}
	if n.renamed == nil {
		n.renamed = map[string]renamed{}
	}
	maps.Copy(n.known, before.Booked)
	for _, p := range before.Pending {
		n.sums[p.Sum], n.was[p.Name] = true, true
		n.known[p.Name[:max(strings.LastIndexByte(p.Name, '/'), 0)]]++
	}
	for _, r := range before.Renamed {
		n.taken[r.Name] = true
	}
	return n
}

// Give assigns a name to a transaction. It returns false when the transaction may be a changed
// version of a pending one. The name is then decided at the end of the read, and Settle returns the
// transaction.
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

// own returns the name of a transaction before any matching: the bank's id, or the content with a
// number. own also returns the name without the number, and whether the name is an id.
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

// isNew counts a transaction. It reports whether the transaction may be a changed version of one
// that was pending before.
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

// Unnamed reports whether a transaction had no id from the bank.
func (n *Names) Unnamed() bool { return n.unnamed }

// Settle ends a complete read and returns the transactions for which Give returned false. Each has
// the name of the pending transaction that it replaces. A transaction that replaces no other has
// its own name.
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

// gone returns the transactions that were pending in earlier reads but are not in this read.
func (n *Names) gone() []pendingMemory {
	var all []pendingMemory
	for _, p := range n.before.Pending {
		if !n.seen[p.Name] {
			all = append(all, p)
		}
	}
	return all
}

// match gives new transactions the names of transactions that have disappeared. It begins with the
// most similar pairs.
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
// party or reference, or have nothing else in common. If no other transactions have this sum, the
// argument `only` is true, and a transaction without words may also match.
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

// Remember returns the memory for the next read. begin is the first day that this read covers
// completely.
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
		m.Pending, m.Booked = nil, nil // otherwise new transactions could be mistaken for earlier ones
	}
	m.forget(begin.AddDays(-renamedDays))
	return m
}

// forget drops the names that transactions before a day have taken over. If there are still too
// many, it also drops the oldest.
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

// significant reports whether a word has at least three bytes and contains a letter.
func significant(word string) bool {
	return len(word) >= 3 && strings.ContainsFunc(word, unicode.IsLetter)
}

func shortHash(text string) string { return Hash(text)[:8] }
