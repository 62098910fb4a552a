package passerelle

import (
	"time"

	"github.com/govalues/decimal"
)

// AccountType is the kind of a bank account, by its name in the API.
type AccountType string

// AccountTypeDetails describes an account type. Number is its id_type in the API.
type AccountTypeDetails struct {
	Type   AccountType
	Number int64
	// Parent is the more general type, or empty.
	Parent AccountType
	// Invest reports whether the account holds investments.
	Invest bool
	// Name and Plural are the English names that people see.
	Name, Plural string
}

// UnknownAccount is the type of an account whose type is unknown.
const UnknownAccount AccountType = "unknown"

// The numbers of accountTypes never change, because they are ids in the API.
var accountTypes = []AccountTypeDetails{
	{"article83", 1, "", true, "Article 83", "Article 83 plans"},
	{"capitalisation", 2, "", true, "Capitalisation contract", "Capitalisation contracts"},
	{"card", 3, "", false, "Card", "Cards"},
	{"cat", 4, "savings", false, "Term account", "Term accounts"},
	{"cel", 5, "savings", false, "Home savings account", "Home savings accounts"},
	{"checking", 6, "", false, "Current account", "Current accounts"},
	{"crowdlending", 7, "", true, "Crowdlending", "Crowdlending accounts"},
	{"csl", 8, "savings", false, "Savings book", "Savings books"},
	{"deposit", 9, "", false, "Deposit account", "Deposit accounts"},
	{"joint", 10, "checking", false, "Joint account", "Joint accounts"},
	{"ldds", 11, "savings", false, "Sustainable development savings", "Sustainable development savings"},
	{"lifeinsurance", 12, "", true, "Life insurance", "Life insurances"},
	{"livret_a", 13, "savings", false, "Livret A", "Livrets A"},
	{"livret_b", 14, "savings", false, "Livret B", "Livrets B"},
	{"loan", 15, "", false, "Loan", "Loans"},
	{"madelin", 16, "", true, "Madelin contract", "Madelin contracts"},
	{"market", 17, "", true, "Securities account", "Securities accounts"},
	{"pea", 18, "", true, "Equity savings plan", "Equity savings plans"},
	{"pee", 19, "", true, "Company savings plan", "Company savings plans"},
	{"pel", 20, "savings", false, "Home savings plan", "Home savings plans"},
	{"per", 21, "", true, "Retirement savings plan", "Retirement savings plans"},
	{"perco", 22, "", true, "Collective retirement plan", "Collective retirement plans"},
	{"perp", 23, "", true, "Popular retirement plan", "Popular retirement plans"},
	{"real_estate", 24, "", true, "Real estate", "Real estate"},
	{"rsp", 25, "", true, "Profit sharing reserve", "Profit sharing reserves"},
	{"savings", 26, "", false, "Savings account", "Savings accounts"},
	{UnknownAccount, 27, "", false, "Other account", "Other accounts"},
	{"lep", 28, "savings", false, "Popular savings book", "Popular savings books"},
	{"mortgage", 29, "loan", false, "Mortgage", "Mortgages"},
	{"consumercredit", 30, "loan", false, "Consumer credit", "Consumer credits"},
	{"revolvingcredit", 31, "loan", false, "Revolving credit", "Revolving credits"},
}

// AccountTypes lists the types in the order of their numbers.
func AccountTypes() []AccountTypeDetails { return append([]AccountTypeDetails(nil), accountTypes...) }

// Details describes the type. A type that the API does not have is described as UnknownAccount.
func (t AccountType) Details() AccountTypeDetails {
	for _, known := range accountTypes {
		if known.Type == t {
			return known
		}
	}
	return UnknownAccount.Details()
}

// Payment reports whether people pay from accounts of the type.
func (t AccountType) Payment() bool { return t == "checking" || t == "joint" }

// Usage is the purpose of an account.
type Usage string

// These are the usages: private use, use by an organisation, use by an association.
const (
	Private      Usage = "PRIV"
	Organisation Usage = "ORGA"
	Association  Usage = "ASSO"
)

// Usages lists the usages.
func Usages() []Usage { return []Usage{Private, Organisation, Association} }

// AccountDetails holds what an institution reports about a bank account. Empty text, the zero date
// and nil mean that the institution reports no value.
//
// Details are stored as one JSON value with a digest. The next read compares the digest to find
// changes. A new field therefore needs no column, but it needs the JSON option omitzero or
// omitempty. Otherwise the digest of every row changes, and the next sync reports every row as
// changed. The same rule applies to all types of details that institutions report.
type AccountDetails struct {
	// Key is the institution's own key for the account. The key is unique within the connection and
	// never changes. The next read recognises the account by its key.
	Key string
	// Parent is the key of the account from which a card is paid.
	Parent          string
	Number          string
	IBAN, BIC       string
	Name            string
	Type            AccountType
	Usage           Usage
	Ownership       string
	Currency        Currency
	Balance, Coming *decimal.Decimal
	// BalanceUnread means that the balances of the account could not be read. The stored balances
	// then stay. It is not stored.
	BalanceUnread bool `json:",omitzero"`
	OpeningDate   Date
	CompanyName   string
	Loan          *Loan
	Parties       []Party
}

// BankAccount is an account of a connection.
type BankAccount struct {
	ID         AccountID
	Connection ConnectionID
	User       UserID
	Source     SourceID
	ParentID   AccountID
	AccountDetails
	// CustomName is the name that the user chose. The institution's name does not overwrite it.
	CustomName string
	// Display and Bookmarked are set by the user.
	Display, Bookmarked bool
	// Disabled is the time at which the user stopped sharing the account, nil while the user shares
	// it. A new account is disabled until the user shares it, unless it comes from an uploaded
	// file.
	Disabled *time.Time
	// Deleted is the time at which the institution stopped listing the account.
	Deleted    *time.Time
	LastUpdate *time.Time
	Error      ConnectionState
	// CoveredFrom is the day since which all transactions are stored.
	CoveredFrom Date
	// Worth is the value of the investments, nil when the account has no investments.
	Worth *Worth
	// Epoch counts how often the account was emptied. Readers see no rows of earlier epochs, even
	// before these rows are erased.
	Epoch int64
}

// Loan is a credit as the institution describes it. Rates are in percent.
type Loan struct {
	Type                                    string
	Total, Available, Used                  *decimal.Decimal
	Subscribed, Matures, RepaymentStarts    Date
	Deferred                                *bool
	NextAmount, LastAmount                  *decimal.Decimal
	NextDate, LastDate                      Date
	Rate, InsuranceRate                     *decimal.Decimal
	PaymentsLeft, PaymentsDone, PaymentsAll *int
	AccountLabel, InsuranceLabel            string
	InsuranceAmount                         *decimal.Decimal
	Months                                  *int
}

// Party is a person with a role in an account.
type Party struct {
	// Role is holder, co_holder, attorney, custodian_for_minor, legal_guardian, nominee,
	// successor_on_death, trustee or unknown.
	Role string
	// IsUser reports whether the party is the user of the connection. Nil means unknown.
	IsUser   *bool
	FullName string
}
