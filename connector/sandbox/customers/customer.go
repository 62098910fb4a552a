package customers

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
)

// customer is a customer of the simulated institutions. All data is computed from the login and the
// day, so two reads on the same day agree, and each day adds new data.
type customer struct {
	login  string
	manner manner
	// today is the day of the read, in UTC.
	today passerelle.Date
}

// beginning is the first day with data.
var beginning = passerelle.DateOf(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC)

// dice generates numbers that are always the same for the same words.
type dice uint64

func (c customer) dice(words ...any) dice {
	h := fnv.New64a()
	fmt.Fprint(h, c.login, words)
	return dice(h.Sum64())
}

// roll returns a number from 0 to n-1.
func (d *dice) roll(n int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n)) //nolint:gosec // the result is below n
}

// holding is an account in the records of the institution.
type holding struct {
	key, name string
	kind      passerelle.AccountType
	currency  passerelle.Currency
	// opening is the balance before the first day, in hundredths.
	opening int64
	// perDay is the maximum number of transactions on a day, without the monthly ones.
	perDay int
	// monthly lists the transactions that occur each month.
	monthly []regular
	loan    *passerelle.Loan
	parent  string
	// positions are the investments in the account.
	positions []position
}

// regular is a transaction that occurs every month on the same day.
type regular struct {
	day     int
	wording string
	kind    passerelle.TransactionType
	cents   int64
	party   *passerelle.Counterparty
}

func cents(n int64) decimal.Decimal { return decimal.MustNew(n, 2) }

func money(n int64) *decimal.Decimal {
	d := cents(n)
	return &d
}

// usual returns the accounts of an ordinary customer.
func usual() []holding {
	return []holding{
		{
			key: "current", name: "Compte courant", kind: "checking", currency: "EUR", opening: 150_000, perDay: 3,
			monthly: []regular{
				{28, "VIR SEPA ATELIER DU NORD SALAIRE", "transfer", 365_000, &passerelle.Counterparty{Label: "Atelier du Nord", Scheme: "iban", Identification: "FR1420041010050500013M02606", Type: "debtor"}},
				{3, "PRLV SEPA AGENCE DU PARC LOYER", "order", -78_000, &passerelle.Counterparty{Label: "Agence du Parc", Type: "creditor"}},
				{10, "PRLV SEPA ELECTRICITE DU PARC", "order", -8_460, &passerelle.Counterparty{Label: "Électricité du Parc", Type: "creditor"}},
				{12, "PRLV SEPA MOBILE ET INTERNET", "order", -3_999, nil},
			},
		},
		{key: "card", name: "Carte Visa", kind: "card", currency: "EUR", perDay: 1, parent: "current"},
		{key: "savings", name: "Livret A", kind: "livret_a", currency: "EUR", opening: 500_000, monthly: []regular{{5, "VIREMENT EPARGNE", "transfer", 20_000, nil}}},
		{key: "mortgage", name: "Prêt immobilier", kind: "mortgage", currency: "EUR", opening: -18_000_000, monthly: []regular{{7, "ECHEANCE PRET", "loan_repayment", 91_234, nil}}, loan: homeLoan()},
	}
}

func homeLoan() *passerelle.Loan {
	months, done := 240, 34
	left := months - done
	deferred := false
	return &passerelle.Loan{
		Type: "mortgage", Total: money(21_000_000), Used: money(21_000_000), Subscribed: beginning.AddMonths(-1), Matures: beginning.AddMonths(239),
		RepaymentStarts: beginning, Deferred: &deferred, NextAmount: money(91_234), Rate: money(215), PaymentsLeft: &left, PaymentsDone: &done, PaymentsAll: &months,
		Months: &months, AccountLabel: "Prêt immobilier", InsuranceLabel: "Assurance emprunteur", InsuranceAmount: money(2_100),
	}
}

// shops lists everyday transactions. The fields from and to limit the amounts, in hundredths.
var shops = []struct {
	wording  string
	kind     passerelle.TransactionType
	from, to int
}{
	{"CARTE CAFE DE LA GARE", "card", 250, 1_800},
	{"CARTE BOULANGERIE MARTIN", "card", 120, 1_450},
	{"CARTE SUPERMARCHE U", "card", 900, 14_000},
	{"CARTE PHARMACIE DU CENTRE", "card", 380, 6_200},
	{"CARTE TRAIN SNCF", "card", 1_200, 12_000},
	{"CARTE CINEMA LUX", "card", 700, 2_800},
	{"CARTE FUEL STATION 24", "card", 3_000, 9_000},
	{"RETRAIT DAB 1432", "withdrawal", 2_000, 20_000},
	{"CARTE RESTAURANT LE PORT", "card", 1_400, 9_900},
	{"FRAIS TENUE DE COMPTE", "fee", 200, 200},
	{"CHEQUE 4004512", "check", 1_000, 40_000},
	{"CARTE PARKING OPERA", "card", 150, 2_400},
}

// transactionsOn returns the transactions of an account on a day, always in the same order.
func (c customer) transactionsOn(h holding, day passerelle.Date) []passerelle.TransactionDetails {
	var list []passerelle.TransactionDetails
	d := c.dice(h.key, day.String())
	for n := range d.roll(h.perDay + 1) {
		shop := shops[d.roll(len(shops))]
		amount := int64(shop.from)
		if shop.to > shop.from {
			amount += int64(d.roll(shop.to - shop.from))
		}
		list = append(list, c.transaction(h, day, n, shop.wording, shop.kind, -amount))
	}
	for n, r := range h.monthly {
		if day == day.AddDays(1-dayOf(day)).AddDays(r.day-1) {
			t := c.transaction(h, day, 900+n, r.wording, r.kind, r.cents)
			t.Counterparty = r.party
			if c.manner.receipts {
				t.Attachments = receipts(r, day)
			}
			list = append(list, t)
		}
	}
	return list
}

func dayOf(d passerelle.Date) int { return d.In(time.UTC).Day() }

func (c customer) transaction(h holding, day passerelle.Date, n int, wording string, kind passerelle.TransactionType, amount int64) passerelle.TransactionDetails {
	t := passerelle.TransactionDetails{
		Key: fmt.Sprintf("%s-%s-%d", h.key, day, n), Date: day, RDate: day, BDate: day, VDate: day.AddDays(1),
		Value: cents(amount), Type: kind, Wording: wording, SimplifiedWording: wording,
	}
	if c.manner.foreignText {
		t.Wording, t.SimplifiedWording = "カード支払い "+wording, "Καφενείο №"+fmt.Sprint(n)
	}
	if kind == "card" {
		t.Card, t.Country = "4970********0012", "FR"
		at := day.In(time.UTC).Add(time.Duration(8+n%12) * time.Hour)
		t.RDateTime = &at
	}
	return t
}

// balance returns the balance of an account on the day of the read.
func (c customer) balance(h holding) int64 {
	sum := h.opening
	for day := beginning; day.Compare(c.today) <= 0; day = day.AddDays(1) {
		for _, t := range c.transactionsOn(h, day) {
			sum += hundredths(t.Value)
		}
	}
	return sum
}

func hundredths(d decimal.Decimal) int64 {
	n := int64(d.Coef()) //nolint:gosec // all amounts of this file fit
	if d.IsNeg() {
		return -n
	}
	return n
}

// coming returns the direct debits of the next five days.
func (c customer) coming(h holding) []passerelle.TransactionDetails {
	var list []passerelle.TransactionDetails
	if len(h.monthly) == 0 {
		return nil
	}
	for day := c.today.AddDays(1); day.Compare(c.today.AddDays(5)) <= 0; day = day.AddDays(1) {
		for _, t := range c.transactionsOn(h, day) {
			if t.Type == "order" {
				t.Key, t.Coming = "coming-"+t.Key, true
				list = append(list, t)
			}
		}
	}
	return list
}

// details returns the details of an account.
func (c customer) details(h holding) passerelle.AccountDetails {
	d := c.dice(h.key)
	number := fmt.Sprintf("%011d", d.roll(99_999_999)+1)
	balance := c.balance(h)
	out := passerelle.AccountDetails{
		Key: h.key, Parent: h.parent, Number: number, Name: h.name, Type: h.kind, Usage: passerelle.Private, Ownership: "owner", Currency: h.currency,
		Balance: passerelle.SumAmounts(money(balance), c.worth(h)), OpeningDate: beginning, Loan: h.loan,
		Parties: []passerelle.Party{{Role: "holder", IsUser: isTrue(), FullName: "Jeanne Martin"}},
	}
	if h.kind == "checking" || h.kind == "livret_a" {
		out.IBAN, out.BIC = frenchIBAN(number), "SBOXFRPP"
	}
	sum := int64(0)
	for _, t := range c.coming(h) {
		sum += hundredths(t.Value)
	}
	if sum != 0 {
		out.Coming = money(sum)
	}
	return out
}

func isTrue() *bool {
	truth := true
	return &truth
}

// frenchIBAN returns the IBAN of an account at the sandbox bank: bank 30001, branch 00001, and
// zeros as the national check key, which the sandbox does not check.
func frenchIBAN(number string) string {
	body := "30001" + "00001" + number + "00"
	return "FR" + checkDigits("FR", body) + body
}

// checkDigits returns the check digits of ISO 13616 for a number that consists of digits only.
func checkDigits(country, digits string) string {
	rest := 0
	for _, r := range digits + letters(country) + "00" {
		rest = (rest*10 + int(r-'0')) % 97
	}
	return fmt.Sprintf("%02d", 98-rest)
}

func letters(country string) string {
	text := ""
	for _, r := range country {
		text += fmt.Sprint(int(r-'A') + 10)
	}
	return text
}
