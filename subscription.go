package passerelle

import (
	"slices"
	"time"

	"github.com/govalues/decimal"
)

// SubscriptionDetails is a subscription as the provider describes it.
type SubscriptionDetails struct {
	// Key is the provider's own key for the subscription, unique within its connection.
	Key                string
	Number             string
	Label              string
	Subscriber         string
	Validity, Renewing Date
}

// Subscription is a subscription of a connection. A new subscription is disabled until the user
// shares it.
type Subscription struct {
	ID         SubscriptionID
	Connection ConnectionID
	User       UserID
	Source     SourceID
	SubscriptionDetails
	LastUpdate, Deleted, Disabled *time.Time
	Error                         ConnectionState
	Epoch                         int64
}

// DocumentDetails is a document as the provider describes it.
type DocumentDetails struct {
	Key    string
	Type   string
	Name   string
	Number string
	Issuer string
	Date   Date
	Due    Date
	// Total, Untaxed and VAT are amounts of a bill in Currency.
	Total, Untaxed, VAT *decimal.Decimal
	Currency            Currency
	Income              bool
	// HasFile reports whether the provider has a file for the document.
	HasFile   bool
	MediaType string
}

// Document is a document of a subscription.
type Document struct {
	ID           DocumentID
	Subscription SubscriptionID
	User         UserID
	DocumentDetails
	// File is the file of the user or of the provider. Zero means no file. The service may not have
	// fetched the file's content yet.
	File FileID
	// Category is set by the user. Zero means no category.
	Category int64
	// ReadOnly is set by the user to protect the document against changes.
	ReadOnly   bool
	Found      time.Time
	LastUpdate time.Time
	Deleted    *time.Time
}

// documentTypes lists the types of documents in the order of their numbers. The numbers begin with
// 1 and never change.
var documentTypes = []string{
	"zimage", "pdf", "odt", "bill", "RIB", "statement", "contract", "notice", "report", "other", "income_tax", "kiid",
	"certificate", "identity", "payslip", "exchange_statement", "bill_debit_advice",
}

// DocumentTypes lists the names of the document types by their numbers, from 1.
func DocumentTypes() []string { return append([]string(nil), documentTypes...) }

// DocumentTypeNumber returns the number of a type. For a type that is not in documentTypes, it
// returns the number of the type "other".
func DocumentTypeNumber(name string) int64 {
	number := slices.Index(documentTypes, name)
	if number < 0 {
		number = slices.Index(documentTypes, "other")
	}
	return int64(number) + 1
}
