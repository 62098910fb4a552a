// Package search finds payments by any word of a label, and by the e-mail address of a payer or
// beneficiary.
//
// It owns the table payment_word, which has a row for each word of a payment, with the newest
// payments of a word side by side. Words of labels are in folded case. Addresses are not
// there, but a value that is the same for the same address of a domain, and of no use without
// the key file. It decides about nothing: the payments themselves are in package store.
//
// It fails like package store. AddEarlier adds the words of payments that are older than the
// table, which are not found until then. The table payment_word_earlier says how far it got.
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
	// The smallest and largest number of characters of a word; the rest of a longer word is left
	// out.
	minWord = 2
	maxWord = 32
	// The largest number of words of a payment, because bulk payments repeat their words.
	maxWords = 100
)

// mailColumn is the column name under which e-mail addresses are indexed.
const mailColumn = "payment_word.mail"

// Words returns the words of a text by which it is found, each once.
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

// mail returns the value by which an address is found, empty when there are no keys. The value
// is never equal to a word, because it begins with @, which words do not contain.
func mail(ring *keys.Ring, domain passerelle.DomainID, address string) string {
	if ring == nil {
		return ""
	}
	return "@" + hex.EncodeToString(ring.Index(int64(domain), mailColumn, strings.ToLower(strings.TrimSpace(address))))
}

// Add adds the words of a new payment, in the transaction that stores it.
func Add(tx *store.Tx, p *payment.Payment) {
	tx.Unit().Insert(wordRows, rowsOf(tx, p))
}

var wordRows = database.NewRowType("payment_word (domain_id, word, registered, payment_id)")

// rowsOf are the rows of the words of a payment.
func rowsOf(tx *store.Tx, p *payment.Payment) []any {
	var rows []any
	for _, word := range wordsOf(tx.Keys(), p) {
		rows = append(rows, int64(p.Domain), word, database.Micros(p.Created), int64(p.ID))
	}
	return rows
}

// wordsOf returns the words of a payment, each once.
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

// source is an open store, or a reader of one.
type source interface {
	Keys() *keys.Ring
	Rows() *database.Querier
}

// ByWord returns the newest payments of a domain with a word in a label.
func ByWord(ctx context.Context, from source, domain passerelle.DomainID, word string, limit int) ([]passerelle.PaymentID, error) {
	words := Words(word)
	if len(words) != 1 {
		return nil, nil
	}
	return find(ctx, from, domain, words[0], limit)
}

// ByMail returns the newest payments of a domain that have an e-mail address in a party.
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
