package berlingroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/connector/berlingroup/arrival"
	"passerelle/connector/berlingroup/links"
)

// bankAccount is an account or a card account as the standard represents it.
type bankAccount struct {
	accountReference
	ResourceID  string    `json:"resourceId"`
	Name        string    `json:"name"`
	DisplayName string    `json:"displayName"`
	Product     string    `json:"product"`
	CashType    string    `json:"cashAccountType"`
	Status      string    `json:"status"`
	BIC         string    `json:"bic"`
	Usage       string    `json:"usage"`
	Details     string    `json:"details"`
	OwnerName   string    `json:"ownerName"`
	Balances    []balance `json:"balances"`
	// DebitAccounting means that the amounts of debits are positive, and that a debt is a positive
	// balance. Only card accounts have it.
	DebitAccounting bool      `json:"debitAccounting"`
	Links           links.Set `json:"_links"`

	// family is the path of the accounts or card accounts at the bank. key is the account's key in
	// the service.
	family, key string
}

type amount struct {
	Currency string `json:"currency"`
	Amount   digits `json:"amount"`
}

// digits are the digits of an amount, with its sign: a text or, from some banks, a number.
type digits string

// UnmarshalJSON reads both forms. A number may have an exponent, and keeps each digit.
func (d *digits) UnmarshalJSON(form []byte) error {
	*d = digits(strings.Trim(string(form), `"`))
	if number, err := decimal.Parse(string(form)); err == nil {
		*d = digits(number.String())
	}
	return nil
}

type balance struct {
	Amount              amount `json:"balanceAmount"`
	Type                string `json:"balanceType"`
	CreditLimitIncluded bool   `json:"creditLimitIncluded"`
	ReferenceDate       string `json:"referenceDate"`
}

// accountList is the response to a request for accounts or card accounts.
type accountList struct {
	Accounts     []bankAccount `json:"accounts"`
	CardAccounts []bankAccount `json:"cardAccounts"`
	Links        links.Set     `json:"_links"`
}

// These are the paths of the bank's accounts.
const (
	accountsPath     = "/v1/accounts"
	cardAccountsPath = "/v1/card-accounts"
)

// readAccounts reports the accounts, and the transactions of the accounts that the sink wants. It
// leaves out the transactions of an account whose balance the bank refuses.
func (v *reading) readAccounts(ctx context.Context) error {
	all, err := v.listAccounts(ctx)
	if err != nil {
		return err
	}
	var failed error
	var complete []bankAccount
	details := make([]passerelle.AccountDetails, len(all))
	for i := range all {
		err := v.addBalances(ctx, &all[i])
		if err != nil && !ofOneAccount(err) {
			return err
		}
		if err == nil {
			complete = append(complete, all[i])
		}
		details[i], failed = all[i].details(), cmp.Or(failed, err)
		details[i].BalanceUnread = err != nil
	}
	if err := v.out.Accounts(details); err != nil {
		return err
	}
	v.passed = true
	return v.readEach(ctx, complete, failed)
}

// ofOneAccount reports whether an error concerns only one account, such as a blocked account.
func ofOneAccount(err error) bool {
	refused, is := errors.AsType[*readRefusal](err)
	return is && refused.single || errors.Is(err, errMalformed)
}

// readEach reads every account. After an error that concerns only one account, it goes on with the
// next account. At the end, it returns failed or, if that is nil, the first such error.
func (v *reading) readEach(ctx context.Context, all []bankAccount, failed error) error {
	for i := range all {
		err := v.readAccount(ctx, &all[i])
		if err != nil && !ofOneAccount(err) {
			return err
		}
		failed = cmp.Or(failed, err)
	}
	return failed
}

// listAccounts lists the accounts and the card accounts.
func (v *reading) listAccounts(ctx context.Context) ([]bankAccount, error) {
	all, err := v.listFamily(ctx, accountsPath)
	if err != nil || !v.file.Profile.Accounts.CardAccounts {
		return all, err
	}
	cards, err := v.listFamily(ctx, cardAccountsPath)
	return withKeys(append(all, cards...)), err
}

func (v *reading) listFamily(ctx context.Context, family string) ([]bankAccount, error) {
	var all []bankAccount
	if err := v.count(family); err != nil {
		return nil, err
	}
	pages := v.pages(request{call: strings.TrimPrefix(family, "/v1/"), path: family + "?withBalance=true", most: largeAnswer})
	for !pages.end {
		var list accountList
		if err := pages.next(ctx, &list, func() string { return list.Links["next"].Href }); err != nil {
			return nil, err
		}
		for _, a := range append(list.Accounts, list.CardAccounts...) {
			if a.family = family; a.Status != "deleted" {
				all = append(all, a)
			}
		}
		if len(all) > maxAccounts {
			return nil, v.fault(pages.request, arrival.ErrTooLarge, "it lists more accounts than are read")
		}
	}
	return withKeys(all), nil
}

// maxAccounts is the maximum number of accounts that are read for a customer.
const maxAccounts = 1000

// withKeys makes the keys of accounts from their numbers and currencies, because a bank may give
// its resources new ids for each consent. An account without a number, or with the key of an
// earlier account, gets a key from its resource id.
func withKeys(all []bankAccount) []bankAccount {
	taken := map[string]bool{}
	for i := range all {
		a := &all[i]
		number := cmp.Or(a.IBAN, a.BBAN, a.MaskedPAN, a.MSISDN)
		if a.key = number + "/" + a.Currency; number == "" || taken[a.key] {
			a.key = "resource/" + a.ResourceID
		}
		if a.key = bounded(a.key); taken[a.key] {
			a.key = bounded(a.key + "/" + a.family)
		}
		taken[a.key] = true
	}
	return all
}

// path returns two addresses of the account's balances or transactions. The first is the target of
// the bank's link, or "" without a link. The second is a path with the account's resource id.
func (a *bankAccount) path(of string) (string, string) {
	return a.Links[of].Href, a.family + "/" + url.PathEscape(a.ResourceID) + "/" + of
}

// addBalances requests the balances of an account if the list lacks them. It makes no request if
// the account has links, but no link to balances.
func (v *reading) addBalances(ctx context.Context, a *bankAccount) error {
	link, path := a.path("balances")
	if len(a.Balances) > 0 || link == "" && len(a.Links) > 0 {
		return nil
	}
	if err := v.count("balances " + a.key); err != nil {
		return err
	}
	r, err := v.requestTo(request{call: "balances", path: path}, link)
	if err != nil {
		return err
	}
	reported := struct {
		DebitAccounting bool      `json:"debitAccounting"`
		Balances        []balance `json:"balances"`
	}{DebitAccounting: a.DebitAccounting}
	if err = v.get(ctx, r, &reported); err == nil {
		a.Balances, a.DebitAccounting = reported.Balances, reported.DebitAccounting
	}
	return err
}

// accountTypes maps the codes of ISO 20022 for cash accounts to types of the service.
var accountTypes = map[string]passerelle.AccountType{
	"CACC": "checking", "TRAN": "checking", "SLRY": "checking", "SALA": "checking", "ODFT": "checking", "CASH": "checking", "CURR": "checking", "": "checking",
	"SVGS": "savings", "LLSV": "savings", "ONDP": "savings", "MOMA": "savings", "LOAN": "loan", "CARD": "card",
}

// details converts the account to AccountDetails.
func (a *bankAccount) details() passerelle.AccountDetails {
	d := passerelle.AccountDetails{
		Key: a.key, Number: cmp.Or(a.IBAN, a.BBAN, a.MaskedPAN, a.MSISDN), IBAN: a.IBAN, BIC: a.BIC,
		Name: bounded(cmp.Or(a.DisplayName, a.Name, a.Product, a.Details, a.IBAN, a.ResourceID)),
		Type: cmp.Or(accountTypes[a.CashType], passerelle.UnknownAccount), Usage: passerelle.Private, Currency: known(a.Currency),
	}
	if a.family == cardAccountsPath {
		d.Type = "card"
	}
	if a.Usage == "ORGA" {
		d.Usage, d.CompanyName = passerelle.Organisation, bounded(a.OwnerName)
	}
	if a.OwnerName != "" {
		d.Parties = []passerelle.Party{{Role: "holder", FullName: bounded(a.OwnerName)}}
	}
	d.Balance, d.Coming = a.balance()
	return d
}

// bookedBalances lists the types of balances that contain only booked entries, best first.
// bestBalances lists the types that are used if the bank reports no booked balance.
var (
	bookedBalances = []string{"interimBooked", "closingBooked", "openingBooked"}
	bestBalances   = []string{"expected", "forwardAvailable", "interimAvailable", "nonInvoiced"}
)

// balance returns the booked balance, and the part of the expected balance that is not booked.
// Without a booked balance, it returns one of bestBalances and nil. A value that the bank does not
// report is nil.
func (a *bankAccount) balance() (*decimal.Decimal, *decimal.Decimal) {
	booked, expected := a.newest(bookedBalances), a.newest([]string{"expected"})
	if booked == nil {
		return a.newest(bestBalances), nil
	}
	if expected == nil {
		return booked, nil
	}
	difference, err := expected.SubExact(*booked, max(expected.Scale(), booked.Scale()))
	if err != nil {
		return booked, nil
	}
	return booked, &difference
}

// newest returns the newest balance of the first reported type in a list. It ignores balances that
// include a credit line or have a different currency from the account.
func (a *bankAccount) newest(types []string) *decimal.Decimal {
	for _, wanted := range types {
		var best *decimal.Decimal
		day := ""
		for _, b := range a.Balances {
			value, err := b.Amount.signed(a.DebitAccounting)
			if b.Type == wanted && !b.CreditLimitIncluded && err == nil && known(b.Amount.Currency) == known(a.Currency) && (best == nil || b.ReferenceDate > day) {
				best, day = &value, b.ReferenceDate
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// amountForm matches amounts in the standard, and amounts with further decimals that are zero.
var amountForm = regexp.MustCompile(`^-?[0-9]{1,14}(\.[0-9]{1,3}0*)?$`)

func (a amount) decimal() (decimal.Decimal, error) {
	if !amountForm.MatchString(string(a.Amount)) {
		return decimal.Decimal{}, errMalformed
	}
	value, err := decimal.Parse(string(a.Amount))
	if value.Scale() > 3 {
		value = value.Trim(2)
	}
	return value, err
}

// signed returns the amount with the sign that debits have in the service: negative. The argument
// positive means that debits are positive at the bank.
func (a amount) signed(positive bool) (decimal.Decimal, error) {
	value, err := a.decimal()
	if positive {
		value = value.Neg()
	}
	return value, err
}

// known returns the currency for a known code, and "" for other codes. It also returns "" for XXX,
// the code for accounts with several currencies.
func known(code string) passerelle.Currency {
	if c := passerelle.Currency(code); c.Known() && code != "XXX" {
		return c
	}
	return ""
}

// maxText limits names and keys, in bytes.
const maxText = 200

// bounded removes NUL and invalid UTF-8 from a text of the bank, and shortens the text to maxText.
func bounded(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "")
}

// pages iterates over the pages of a list. Each page except the last has a link to the next.
type pages struct {
	*reading
	request request
	seen    map[string]bool
	end     bool
}

func (v *reading) pages(first request) *pages {
	return &pages{reading: v, request: first, seen: map[string]bool{}}
}

// maxPages limits the pages of a list.
const maxPages = 100_000

// next gets a page. The function next returns the link to the page after it, if any.
func (p *pages) next(ctx context.Context, into any, next func() string) error {
	if err := p.get(ctx, p.request, into); err != nil {
		return err
	}
	return p.turn(next())
}

// turn sets the address of the next page from a link. An empty link means that none follows.
func (p *pages) turn(link string) error {
	if link == "" {
		p.end = true
		return nil
	}
	r, err := p.requestTo(p.request, link)
	if err != nil {
		return err
	}
	if len(p.seen) >= maxPages {
		return p.fault(r, errMalformed, fmt.Sprintf("a list of its has more than %d pages", maxPages))
	}
	if p.seen[r.address] {
		return p.fault(r, errMalformed, "a page of its leads back to one that was read")
	}
	p.seen[r.address], p.request = true, r
	return nil
}

// requestTo returns a request to the target of a link. Without a link it returns the request
// unchanged. If the link leads to another host, such as one behind the bank's gateway, and has the
// path of the request, the target is this path at the bank.
func (v *reading) requestTo(r request, link string) (request, error) {
	if link == "" {
		return r, nil
	}
	address, err := v.follow(r, link)
	if err != nil && links.At(v.base, r.path, link) != "" {
		address, err = links.At(v.base, r.path, link), nil
	}
	r.address = address
	return r, err
}
