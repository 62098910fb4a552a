// Package search finds payments by any word of a label, and by the e-mail address of a payer or
// beneficiary.
//
// The package owns the table payment_word, which has a row for each word of a payment. In its
// index, the newest payments with a word are next to each other. The words of labels are in folded
// case. The table has a blind value in place of an e-mail address. Equal addresses in a domain have
// equal values, which are useless without the key file. The package does not own the payments
// themselves. They are in package store.
//
// The package fails with the errors of package store. Searches find payments that are older than
// the table only after AddEarlier has added their words. The table payment_word_earlier records the
// progress of AddEarlier.
package search

import (
	"context"
	"encoding/hex"
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
	// maxWords is the largest number of words of a payment. It is enough for bulk payments too,
	// because they repeat their words.
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

// wordsOf returns the words of a payment. Each word occurs once.
func wordsOf(ring *keys.Ring, p *payment.Payment) []string {
	words := mailOf(ring, p.Domain, p.PayerIdentity)
	for i := range p.Instructions {
		in := &p.Instructions[i]
		words = append(words, mailOf(ring, p.Domain, in.BeneficiaryIdentity)...)
		words = append(words, Words(in.Label)...)
		if len(words) > 2*maxWords {
			break
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), maxWords)]
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

// ByWord returns the newest payments of a domain that have this word in a label.
func ByWord(ctx context.Context, from source, domain passerelle.DomainID, word string, limit int) ([]passerelle.PaymentID, error) {
	words := Words(word)
	if len(words) != 1 {
		return nil, nil
	}
	return find(ctx, from, domain, words[0], limit)
}

// ByMail returns the newest payments of a domain in which the payer or a beneficiary has this
// e-mail address.
func ByMail(ctx context.Context, from source, domain passerelle.DomainID, address string, limit int) ([]passerelle.PaymentID, error) {
	return find(ctx, from, domain, mail(from.Keys(), domain, address), limit)
}

func find(ctx context.Context, from source, domain passerelle.DomainID, word string, limit int) ([]passerelle.PaymentID, error) {
	return database.Collect(ctx, from.Rows(), func(row database.Row) (passerelle.PaymentID, error) {
		var id passerelle.PaymentID
		err := row.Scan(&id)
		return id, err
	}, `SELECT payment_id FROM payment_word WHERE domain_id = $1 AND word = $2 ORDER BY registered DESC, payment_id DESC LIMIT $3`, int64(domain), word, limit)
}
