package passerelle

import (
	"maps"
	"slices"
	"time"

	"github.com/govalues/decimal"
)

// TransactionType is the nature of a transaction.
type TransactionType string

// UnknownTransaction stands for an unknown type.
const UnknownTransaction TransactionType = "unknown"

var transactionTypes = map[TransactionType]bool{
	"transfer": true, "order": true, "check": true, "deposit": true, "payback": true, "withdrawal": true,
	"loan_repayment": true, "bank": true, "card": true, "deferred_card": true, "summary_card": true,
	UnknownTransaction: true, "market_order": true, "market_fee": true, "arbitrage": true, "profit": true,
	"refund": true, "payout": true, "payment": true, "fee": true,
}

// TransactionTypes lists all types by name.
func TransactionTypes() []TransactionType { return slices.Sorted(maps.Keys(transactionTypes)) }

// Known reports whether the API has the type.
func (t TransactionType) Known() bool { return transactionTypes[t] }

// TransactionDetails is a transaction as the institution describes it. Value is signed: it is
// negative for money that leaves the account. Dates are calendar days of the institution. Instants
// are nil when the institution does not report them.
type TransactionDetails struct {
	// Key is the institution's own key for the transaction within its account. Different
	// transactions of an account have different keys. If the bank has no key, the connector derives
	// a stable one.
	Key string
	// Date is required. It is usually the booking day or, for a coming transaction, the expected
	// day. VDate is the value day, and RDate is the day of the transaction itself. BDate is the
	// booking day, or zero when the institution does not report it.
	Date, RDate                               Date
	VDate, BDate                              Date
	DateTime, VDateTime, RDateTime, BDateTime *time.Time
	Value                                     decimal.Decimal
	GrossValue                                *decimal.Decimal
	Type                                      TransactionType
	Wording                                   string
	SimplifiedWording                         string
	Coming                                    bool
	OriginalValue, OriginalGrossValue         *decimal.Decimal
	OriginalCurrency                          Currency
	Commission                                *decimal.Decimal
	CommissionCurrency                        Currency
	Country, Card                             string
	Counterparty                              *Counterparty
	Attachments                               []AttachmentDetails
	// Origin is nil unless the transaction comes from a file that a user uploaded.
	Origin *Origin `json:",omitempty"`
}

// Origin is the place of a transaction in a file. Lines count from 1.
type Origin struct {
	File string
	Line int
}

// Counterparty is the other party of a transaction.
type Counterparty struct {
	Label string
	// Scheme is iban, bban, sort_code_account_number, cpan or tpan.
	Scheme, Identification string
	// Type is creditor or debtor.
	Type string
}

// AttachmentDetails is a file that belongs to a transaction.
type AttachmentDetails struct {
	Key, Name, Description, MediaType string
}

// Attachment is a file that an institution stores with a transaction.
type Attachment struct {
	ID          AttachmentID
	User        UserID
	Transaction TransactionID
	AttachmentDetails
	File FileID
	// Size is zero until the file is stored. Stored is the instant at which it was stored.
	Size                int64
	Stored              *time.Time
	Created, LastUpdate time.Time
}

// Transaction is a transaction of an account.
type Transaction struct {
	ID      TransactionID
	Account AccountID
	TransactionDetails
	// CustomWording, Comment and ApplicationDate belong to the user. ApplicationDate equals
	// RDate until the user changes it.
	CustomWording, Comment string
	ApplicationDate        Date
	// Active is false when the user excludes the transaction from sums.
	Active bool
	// Categories are codes, the most specific first.
	Categories []string
	Cluster    int64
	// Documents is the number of documents that the user attached.
	Documents  int
	Scraped    time.Time
	LastUpdate time.Time
	Deleted    *time.Time
}
