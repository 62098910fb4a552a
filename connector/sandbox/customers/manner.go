package customers

import (
	"slices"
	"strings"

	"passerelle"
)

// Password is the correct password for every login.
const Password = "1234"

// manner is the institution's behaviour towards a customer. The first word of the login selects
// it.
type manner struct {
	word, shows string
	// steps are the steps before the read begins. Only a user can do these steps.
	steps []hurdle
	// If ends is not empty, every read fails with this state, and returns no data.
	ends    passerelle.ConnectionState
	message string
	// accounts returns the accounts of the customer. Nil means the usual accounts.
	accounts func() []holding
	// most limits the number of transactions of an account. Zero means no limit.
	most int
	// changes means that data changes from one day to the next. Accounts and subscriptions appear
	// and disappear, and accounts are renamed. Transactions are corrected and disappear.
	changes, foreignText, repeats bool
	// receipts means that monthly direct debits and transfers with a counterparty have an
	// attachment.
	receipts bool
	// fault is a failure in the middle of a read.
	fault fault
	// renews means that the user must be present again when the last read with the user present is
	// more than a day old.
	renews bool
}

type fault int

const (
	noFault fault = iota
	breaksOff
	panics
	talksNonsense
)

// manners lists the words that select a manner, in the order of the documentation. Every other
// login is an ordinary customer.
var manners = []manner{
	{word: "otp", shows: "the bank asks for a code sent by SMS: 123456", steps: []hurdle{byCode}},
	{word: "app", shows: "the user approves in the bank's app (decoupled)", steps: []hurdle{byApp}},
	{word: "device", shows: "the user chooses a device from a list", steps: []hurdle{byDevice}},
	{word: "steps", shows: "a device, then a code, then the app", steps: []hurdle{byDevice, byCode, byApp}},
	{word: "sca", shows: "the bank requires the user to be present again after one day", renews: true},
	{word: "action", shows: "the user must do something on the bank's site", ends: passerelle.ActionNeeded, message: "Please accept the new terms on our site."},
	{word: "expired", shows: "the user must renew the password at the bank", ends: passerelle.PasswordExpired, message: "Your password has expired."},
	{word: "limited", shows: "the bank refuses more synchronisations for now", ends: passerelle.RateLimiting},
	{word: "down", shows: "the bank's site is down", ends: passerelle.WebsiteUnavailable},
	{word: "bug", shows: "the connector fails with an internal error", ends: passerelle.Bug},
	{word: "unsupported", shows: "the institution has a kind of account that is not supported", ends: passerelle.NotSupported},
	{word: "none", shows: "no account", accounts: func() []holding { return nil }},
	{word: "one", shows: "one account", accounts: func() []holding { return usual()[:1] }},
	{word: "many", shows: "200 accounts", accounts: many},
	{word: "big", shows: "an account with 50,000 transactions", accounts: big, most: 50_000},
	{word: "currencies", shows: "accounts in several currencies, one of them overdrawn", accounts: currencies},
	{word: "wealth", shows: "securities, savings plans, a life insurance and a loan, with positions, orders, pockets and repayment lines", accounts: invested},
	{word: "changing", shows: "accounts, subscriptions and transactions appear, disappear and change every day", changes: true},
	{word: "foreign", shows: "labels in other scripts", foreignText: true},
	{word: "receipts", shows: "recurring transactions have attachments", receipts: true},
	{word: "repeats", shows: "the bank sends every page twice, after an account is shared", repeats: true},
	{word: "breaks", shows: "the connection breaks in the middle of a page, after an account is shared", fault: breaksOff},
	{word: "panics", shows: "the connector panics, after an account is shared", fault: panics},
	{word: "nonsense", shows: "the bank sends impossible values", fault: talksNonsense},
}

// mannerOf returns the manner for a login. The letters at the beginning of the login select it.
func mannerOf(login string) manner {
	word := strings.ToLower(login)
	if end := strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }); end >= 0 {
		word = word[:end]
	}
	i := slices.IndexFunc(manners, func(m manner) bool { return m.word == word })
	if i < 0 {
		return manner{}
	}
	return manners[i]
}

func many() []holding {
	var all []holding
	for n := range 200 {
		h := usual()[0]
		h.key, h.name, h.opening, h.monthly = h.key+"-"+pad(n), "Compte "+pad(n), int64(n)*1_000, nil
		h.perDay = 1
		all = append(all, h)
	}
	return all
}

func pad(n int) string {
	digits := "000"
	text := []byte(digits)
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = byte('0' + n%10) //nolint:gosec // the result is a digit
		n /= 10
	}
	return string(text)
}

func big() []holding {
	h := usual()[0]
	h.perDay = 160
	return []holding{h}
}

func currencies() []holding {
	overdrawn := holding{key: "overdrawn", name: "Compte joint", kind: "checking", currency: "EUR", opening: -123_456}
	dollars := holding{key: "dollars", name: "Dollar account", kind: "deposit", currency: "USD", opening: 99_900, perDay: 1}
	pounds := holding{key: "pounds", name: "Sterling account", kind: "checking", currency: "GBP", opening: 45_600, perDay: 1}
	return append(usual()[:1], overdrawn, dollars, pounds)
}

// Login describes a word at the beginning of a login, and its effect.
type Login struct {
	// Word is empty for logins that begin with no known word.
	Word  string `json:"word"`
	Shows string `json:"shows"`
}

// Logins lists the words with which users control the simulated institutions.
func Logins() []Login {
	list := []Login{{"", "an ordinary customer with four accounts"}}
	for _, m := range manners {
		list = append(list, Login{m.word, m.shows})
	}
	return list
}
