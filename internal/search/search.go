// Package search finds payments by words of labels and of beneficiaries' names, and by the e-mail
// address of a payer or beneficiary.
//
// The package owns the table payment_word, which has a row for each word of a payment. Its index
// lists the payments with a word, newest first. Words are in folded case. The table has a blind
// value in place of an e-mail address. Equal addresses in a domain have equal values, which are
// useless without the key file. The package does not own the payments: package store does.
//
// The package fails with the errors of package store. Searches find payments that are older than
// the table only after AddEarlier has added their words. Two tables, payment_word_earlier and
// payment_name_earlier, record the progress of AddEarlier.
package search

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/payment"
)

const (
	// minWord and maxWord are the smallest and the largest number of characters in a word. Longer
	// words are cut off.
	minWord = 2
	maxWord = 32
	// For each payment, the table stores at most maxWords different words of the labels. The same
	// limit applies to the words of the beneficiaries' names, and to the e-mail addresses. The
	// limit is enough for most bulk payments, because they repeat their words.
	maxWords = 100
)

// mailColumn is the name of the column in the blind indexes of e-mail addresses.
const mailColumn = "payment_word.mail"

// Words returns the words by which a search finds a text. Each word occurs once.
func Words(text string) []string {
	var words []string
	for word := range strings.FieldsFuncSeq(database.Fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if word = cut(word); utf8.RuneCountInString(word) >= minWord && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

func cut(word string) string {
	runes := []rune(word)
	return string(runes[:min(len(runes), maxWord)])
}

// mail returns the value by which a search finds an address. It returns an empty text without keys.
// The value never equals a word: it begins with @, and words do not contain this character.
func mail(ring *keys.Ring, domain passerelle.DomainID, address string) string {
	if ring == nil {
		return ""
	}
	return "@" + hex.EncodeToString(ring.Index(int64(domain), mailColumn, strings.ToLower(strings.TrimSpace(address))))
}

// Add adds the words of a new payment, in the transaction that stores the payment.
func Add(tx *store.Tx, p *payment.Payment) {
	tx.Unit().Insert(wordRows, rowsOf(tx, p))
}

var wordRows = database.NewRowType("payment_word (domain_id, word, registered, payment_id)")

// rowsOf returns the rows for the words of a payment.
func rowsOf(tx *store.Tx, p *payment.Payment) []any {
	var rows []any
	for _, word := range wordsOf(tx.Keys(), p) {
		rows = append(rows, int64(p.Domain), word, database.Micros(p.Created), int64(p.ID))
	}
	return rows
}

// wordsOf returns the words of a payment, sorted. Each word occurs once. Labels, names and
// addresses have separate limits, so that none of them displaces the others.
func wordsOf(ring *keys.Ring, p *payment.Payment) []string {
	labels, names, mails := []string{}, []string{}, mailOf(ring, p.Domain, p.PayerIdentity)
	for i := range p.Instructions {
		in := &p.Instructions[i]
		mails = joined(mails, mailOf(ring, p.Domain, in.BeneficiaryIdentity))
		labels = joined(labels, Words(in.Label))
		names = joined(names, Words(in.Beneficiary.Label))
	}
	all := slices.Concat(labels, names, mails)
	slices.Sort(all)
	return slices.Compact(all)
}

// joined returns a list with further words, without repetitions and with at most maxWords words.
func joined(list, words []string) []string {
	for _, word := range words {
		if len(list) < maxWords && !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

func mailOf(ring *keys.Ring, domain passerelle.DomainID, identity *passerelle.Identity) []string {
	if ring == nil || identity == nil || identity.Sensitive == nil || identity.Sensitive.Email == "" {
		return nil
	}
	return []string{mail(ring, domain, identity.Sensitive.Email)}
}

// source is an open store, or a reader of a store.
type source interface {
	Keys() *keys.Ring
	Rows() *database.Querier
}

// mostCompared limits the payments that a search for several words compares. These payments have
// the rarest word. maxSought limits the words that a search uses.
const (
	mostCompared = 2000
	maxSought    = 8
)

// ByWords returns a domain's payments whose labels and beneficiaries' names contain the first
// maxSought words of a text, newest first, or oldest first for a backward window. The position
// w.From is the time of registration in microseconds, and the id. For several words, ByWords reads
// at most 2,000 payments with the rarest word, from this position on, and compares their other
// words.
func ByWords(ctx context.Context, from source, domain passerelle.DomainID, text string, w store.Window) ([]passerelle.PaymentID, error) {
	words := Words(text)
	if len(words) == 0 {
		return nil, nil
	}
	words = words[:min(len(words), maxSought)]
	if len(words) > 1 {
		if err := rarestFirst(ctx, from, domain, words); err != nil {
			return nil, err
		}
	}
	return find(ctx, from, domain, words, w)
}

// ByMail returns a domain's payments whose payer or beneficiary has this e-mail address, in the
// order of ByWords.
func ByMail(ctx context.Context, from source, domain passerelle.DomainID, address string, w store.Window) ([]passerelle.PaymentID, error) {
	return find(ctx, from, domain, []string{mail(from.Keys(), domain, address)}, w)
}

// rarestFirst sorts words by the number of payments that have them. It counts at most mostCompared
// payments for each word.
func rarestFirst(ctx context.Context, from source, domain passerelle.DomainID, words []string) error {
	counts := map[string]int64{}
	for _, word := range words {
		n, err := database.One(ctx, from.Rows(), database.ScanInt,
			`SELECT count(*) FROM (SELECT 1 FROM payment_word WHERE domain_id = $1 AND word = $2 LIMIT $3) AS counted`, int64(domain), word, mostCompared)
		if err != nil {
			return fmt.Errorf("count payments with a word: %w", err)
		}
		counts[word] = n
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })
	return nil
}

// find returns the payments that have all words. It reads payments with the first word, and
// searches the index for the same payments with the other words. It counts these rows instead of
// using EXISTS, because PostgreSQL converts EXISTS to a join. A generic plan expects few payments
// for every word, so the join may read all payments with a frequent word.
func find(ctx context.Context, from source, domain passerelle.DomainID, words []string, w store.Window) ([]passerelle.PaymentID, error) {
	sign, order, limit := "<", "DESC", w.Limit
	if w.Backward {
		sign, order = ">", "ASC"
	}
	if len(words) > 1 {
		limit = mostCompared
	}
	s := database.Selection{From: "payment_word", Where: []string{"domain_id = $1"}, Args: []any{int64(domain)}}.And("word = $%d", words[0])
	if w.From != nil {
		s = s.And("(registered, payment_id) "+sign+" ($%d, $%d)", w.From...)
	}
	rows := fmt.Sprintf(`SELECT registered, payment_id FROM payment_word WHERE %s ORDER BY registered %s, payment_id %s LIMIT %s`, s.Conditions(), order, order, s.Bind(limit))
	all := database.Selection{From: "place", Where: []string{"payment_id > 0"}, Args: s.Args}
	for _, word := range words[1:] {
		all = all.And(`(SELECT count(*) FROM payment_word other
			WHERE other.domain_id = $1 AND other.word = $%d AND other.registered = place.registered AND other.payment_id = place.payment_id) = 1`, word)
	}
	return database.Collect(ctx, from.Rows(), func(row database.Row) (passerelle.PaymentID, error) {
		var id passerelle.PaymentID
		err := row.Scan(&id)
		return id, err
	}, fmt.Sprintf(`SELECT payment_id FROM (%s) AS place WHERE %s ORDER BY registered %s, payment_id %s LIMIT %s`, rows, all.Conditions(), order, order, all.Bind(w.Limit)), all.Args...)
}
