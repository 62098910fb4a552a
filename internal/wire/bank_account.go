package wire

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
)

// BankAccount is an account of a user. Connection, Transactions and Investments are expansions, which
// are absent unless the client requests them.
type BankAccount struct {
	ID               int64                       `json:"id"`
	IDConnection     int64                       `json:"id_connection"`
	IDUser           int64                       `json:"id_user"`
	IDSource         *int64                      `json:"id_source"`
	IDParent         *int64                      `json:"id_parent" doc:"the account that a card is settled on"`
	Number           string                      `json:"number"`
	IBAN             string                      `json:"iban" doc:"empty when the account has none"`
	BIC              string                      `json:"bic" doc:"empty when unknown"`
	WebID            string                      `json:"webid" doc:"the institution's identifier of the account"`
	Name             string                      `json:"name"`
	OriginalName     string                      `json:"original_name"`
	CompanyName      *string                     `json:"company_name"`
	Balance          *json.Number                `json:"balance"`
	Coming           *json.Number                `json:"coming"`
	ComingBalance    *json.Number                `json:"coming_balance"`
	FormattedBalance *string                     `json:"formatted_balance"`
	Currency         *Currency                   `json:"currency"`
	Type             passerelle.AccountType      `json:"type"`
	IDType           int64                       `json:"id_type"`
	Usage            *passerelle.Usage           `json:"usage"`
	Ownership        *string                     `json:"ownership"`
	Display          bool                        `json:"display"`
	Bookmarked       int                         `json:"bookmarked" doc:"0 or 1"`
	Disabled         *string                     `json:"disabled"`
	Deleted          *string                     `json:"deleted"`
	LastUpdate       *string                     `json:"last_update"`
	OpeningDate      *string                     `json:"opening_date"`
	Error            *passerelle.ConnectionState `json:"error"`
	Information      map[string]string           `json:"information"`
	Loan             *Loan                       `json:"loan"`
	CoveredFrom      *string                     `json:"covered_from" doc:"first day from which all transactions are stored"`

	// Worth is set only for accounts whose type can have investments.
	*Worth

	Connection   *Connection    `json:"connection,omitempty" expand:"true" doc:"with expand=connection"`
	Transactions *[]Transaction `json:"transactions,omitempty" expand:"true" doc:"transactions that the last synchronisation added or changed; in connections, with expand=accounts[transactions]"`
	Investments  *[]Investment  `json:"investments,omitempty" expand:"true" doc:"positions; in connections, with expand=accounts[investments]"`
}

// AccountType describes a type of bank accounts.
type AccountType struct {
	ID          int64                  `json:"id"`
	Name        passerelle.AccountType `json:"name"`
	IDParent    *int64                 `json:"id_parent" doc:"parent type"`
	Invest      bool                   `json:"is_invest" doc:"whether the account holds investments"`
	DisplayName string                 `json:"display_name" doc:"in English"`
	Plural      string                 `json:"display_name_p" doc:"plural, in English"`
}

// AccountTypes returns all types of accounts.
func AccountTypes() []AccountType {
	all := passerelle.AccountTypes()
	out := make([]AccountType, len(all))
	for i, t := range all {
		out[i] = AccountType{ID: t.Number, Name: t.Type, Invest: t.Invest, DisplayName: t.Name, Plural: t.Plural}
		if t.Parent != "" {
			parent := t.Parent.Details().Number
			out[i].IDParent = &parent
		}
	}
	return out
}

// Loan describes the credit of a loan account.
type Loan struct {
	TotalAmount        *json.Number `json:"total_amount"`
	AvailableAmount    *json.Number `json:"available_amount"`
	UsedAmount         *json.Number `json:"used_amount"`
	SubscriptionDate   *string      `json:"subscription_date"`
	MaturityDate       *string      `json:"maturity_date"`
	StartRepaymentDate *string      `json:"start_repayment_date"`
	Deferred           *bool        `json:"deferred"`
	NextPaymentAmount  *json.Number `json:"next_payment_amount"`
	NextPaymentDate    *string      `json:"next_payment_date"`
	Rate               *json.Number `json:"rate"`
	NbPaymentsLeft     *int         `json:"nb_payments_left"`
	NbPaymentsDone     *int         `json:"nb_payments_done"`
	NbPaymentsTotal    *int         `json:"nb_payments_total"`
	LastPaymentAmount  *json.Number `json:"last_payment_amount"`
	LastPaymentDate    *string      `json:"last_payment_date"`
	AccountLabel       *string      `json:"account_label"`
	InsuranceLabel     *string      `json:"insurance_label"`
	InsuranceAmount    *json.Number `json:"insurance_amount"`
	InsuranceRate      *json.Number `json:"insurance_rate"`
	Duration           *int         `json:"duration" doc:"in months"`
	Type               string       `json:"type"`
}

// NewBankAccount renders an account with times in the zone.
func NewBankAccount(a passerelle.BankAccount, zone *time.Location) BankAccount {
	details := a.Type.Details()
	out := BankAccount{
		ID: int64(a.ID), IDConnection: int64(a.Connection), IDUser: int64(a.User), IDSource: optional(int64(a.Source)), IDParent: optional(int64(a.ParentID)),
		Number: a.Number, IBAN: a.IBAN, BIC: a.BIC, WebID: a.Key, Name: a.AccountDetails.Name, OriginalName: a.AccountDetails.Name, CompanyName: optional(a.CompanyName),
		Balance: Amount(a.Balance), Coming: Amount(a.Coming), ComingBalance: Amount(ComingBalance(a)), FormattedBalance: formatted(a.Balance, a.Currency),
		Type: details.Type, IDType: details.Number, Usage: optional(a.Usage), Ownership: optional(a.Ownership), Display: a.Display, Bookmarked: bit(a.Bookmarked),
		Disabled: Moment(a.Disabled, zone), Deleted: Moment(a.Deleted, zone), LastUpdate: Moment(a.LastUpdate, zone), OpeningDate: date(a.OpeningDate),
		Error: optional(a.Error), Information: map[string]string{}, Loan: loan(a.Loan), CoveredFrom: date(a.CoveredFrom),
	}
	if a.CustomName != "" {
		out.Name = a.CustomName
	}
	if details.Invest {
		out.Worth = newAccountWorth(a.Worth)
	}
	if a.Currency != "" {
		currency := NewCurrency(a.Currency)
		out.Currency = &currency
	}
	return out
}

// ComingBalance returns the balance of an account after its coming transactions.
func ComingBalance(a passerelle.BankAccount) *decimal.Decimal {
	if a.Balance == nil || a.Coming == nil {
		return a.Balance
	}
	return passerelle.SumAmounts(a.Balance, a.Coming)
}

func loan(l *passerelle.Loan) *Loan {
	if l == nil {
		return nil
	}
	return &Loan{
		TotalAmount: Amount(l.Total), AvailableAmount: Amount(l.Available), UsedAmount: Amount(l.Used), SubscriptionDate: date(l.Subscribed),
		MaturityDate: date(l.Matures), StartRepaymentDate: date(l.RepaymentStarts), Deferred: l.Deferred, NextPaymentAmount: Amount(l.NextAmount),
		NextPaymentDate: date(l.NextDate), Rate: Amount(l.Rate), NbPaymentsLeft: l.PaymentsLeft, NbPaymentsDone: l.PaymentsDone, NbPaymentsTotal: l.PaymentsAll,
		LastPaymentAmount: Amount(l.LastAmount), LastPaymentDate: date(l.LastDate), AccountLabel: optional(l.AccountLabel), InsuranceLabel: optional(l.InsuranceLabel),
		InsuranceAmount: Amount(l.InsuranceAmount), InsuranceRate: Amount(l.InsuranceRate), Duration: l.Months, Type: l.Type,
	}
}

func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}

// formatted formats an amount in the French notation, with the symbol of the currency: 7 481,01 €.
func formatted(d *decimal.Decimal, c passerelle.Currency) *string {
	if d == nil {
		return nil
	}
	details := c.Details()
	whole, fraction, pointed := strings.Cut(d.Rescale(details.Precision).Abs().String(), ".")
	out := make([]byte, 0, 32)
	if d.IsNeg() {
		out = append(out, '-')
	}
	out = grouped(out, whole)
	if pointed {
		out = append(append(out, ','), fraction...)
	}
	if details.Symbol != "" {
		out = append(append(out, "\u00a0"...), details.Symbol...)
	}
	text := string(out)
	return &text
}

// grouped appends digits to out, with a space between groups of three digits.
func grouped(out []byte, digits string) []byte {
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out = append(out, ' ')
		}
		out = append(out, digits[i])
	}
	return out
}
