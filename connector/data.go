package connector

import (
	"context"
	"io"
	"net/url"
	"slices"
	"time"

	"passerelle"
	"passerelle/payment"
)

// Field describes a value that a connector requests from the user.
type Field struct {
	Name, Label, Description string
	// Type is text, password, date, list or number.
	Type string
	// Regex is a pattern for the whole value, or empty. The pattern of a payment field is for any
	// part of the value.
	Regex    string
	Required bool
	Values   []FieldValue
	// Mechanisms and Sources limit where the field is requested. Empty means everywhere.
	Mechanisms []passerelle.AuthMechanism
	Sources    []string
	// Image is a data URL with the picture that the user needs to find the value. It may be empty.
	Image string
}

// Picture returns Image if it is a picture that a page may show, and "" otherwise.
func (f Field) Picture() string { return payment.Picture(f.Image) }

// FieldValue is one choice of a list.
type FieldValue struct{ Label, Value string }

// DataSettings describes what a connector can read.
type DataSettings struct {
	// Capabilities are one or more of bank, bankwealth, document, profile and contact.
	Capabilities []string
	AccountTypes []passerelle.AccountType
	Usages       []passerelle.Usage
	// Documents are the names of the document types.
	Documents []string
	Fields    []Field
	// MonthsToFetch is how far back a first read goes. Zero means the whole history.
	MonthsToFetch int
	// ConsentDays is how long a user's consent lasts at the institution. Zero means 180.
	ConsentDays int
	// UnattendedReads is the maximum number of reads in 24 hours without the user. Zero means no
	// limit.
	UnattendedReads int
	// TakesFiles means that users supply the data in files. A read without a file finds nothing, so
	// the service starts no reads by itself.
	TakesFiles bool
}

// DataRequest is the input for reading an institution for a user.
type DataRequest struct {
	Domain     passerelle.DomainID
	Connection passerelle.ConnectionID
	Source     string
	// Values holds the values of the connector's fields.
	Values map[string]string
	// Answers holds the values that the last read asked for. Resumed means that the last read asked
	// for an action outside the service, and the user has done it.
	Answers map[string]string
	Resumed bool
	// Callback holds the query parameters with which the institution sent the user's browser back.
	// It is nil unless the user has just returned from the institution.
	Callback url.Values
	// ReturnURL is the address to which the institution sends the browser after webauth. It leads
	// back to this connection.
	ReturnURL string
	// NotificationURL is the address at which the institution may report, with a POST, that the
	// consent has changed. It may be empty.
	NotificationURL string
	// Memory is the memory from the last read, such as tokens or a session. It is stored encrypted.
	Memory []byte
	// Save stores a memory in the middle of a read or of a termination, as Order.Save does in a
	// call. It is nil when the caller stores only outcomes.
	Save func(ctx context.Context, memory []byte)
	// Present means that the user takes part. If it is false, the read must not cause messages to
	// the user, such as a code.
	Present bool
	// BrokenOff means that the result of the last read was not stored, for example because the
	// process died first.
	BrokenOff bool
	// Device is the user's device, empty unless the user is present or has just shared an account.
	Device Device
	// File is the user's file for a connector that takes files. It is nil for other connectors.
	File *HandedFile
	// Now is the current time of the domain.
	Now time.Time
}

// HandedFile is a file from a user. Name is for display and may be empty.
type HandedFile struct {
	io.ReadSeeker
	Name string
}

// Outcome is the result of a read.
type Outcome struct {
	// State is empty when everything was read.
	State passerelle.ConnectionState
	// Message is the institution's own text for the user.
	Message string
	// Fields are the fields that the user has to fill in. Only the states
	// AdditionalInformationNeeded and Wrongpass have fields.
	Fields []Field
	// URL is the institution's page for WebauthRequired.
	URL string
	// Memory replaces the stored memory unless it is nil.
	Memory []byte
	// ConsentUntil is the end of the consent, if the institution reported it.
	ConsentUntil *time.Time
	// RetryAfter is how long the service must wait before the next read. A read that ends in
	// actionNeeded because of a part of the data, such as a blocked account, needs a RetryAfter.
	// Otherwise the service does not read the other data again by itself.
	RetryAfter time.Duration
}

// Sink receives the data that a connector reads, in the order of the methods. A connector calls it
// from one goroutine, and passes pages rather than whole histories. When the sink fails, the
// connector returns the error of the sink and makes no further calls.
type Sink interface {
	// Accounts is called once with all accounts of the customer.
	Accounts(all []passerelle.AccountDetails) error
	// Wanted reports whether to read the transactions of an account, and from which day. A zero
	// date means all transactions.
	Wanted(account string) (from passerelle.Date, wanted bool)
	// Transactions receives a page of an account's transactions.
	Transactions(account string, page []passerelle.TransactionDetails) error
	// Assets receives a page of an account's positions, market orders, pockets and repayments.
	Assets(account string, page passerelle.Assets) error
	// AccountRead ends the data of an account. The argument from is the first day with complete
	// transactions. If the connector did not pass on a stored transaction of that day or later, the
	// transaction no longer exists at the institution. The same applies to assets of any day.
	AccountRead(account string, from passerelle.Date) error
	// Subscriptions, SubscriptionWanted, Documents and SubscriptionRead do the same for
	// subscriptions and their documents.
	Subscriptions(all []passerelle.SubscriptionDetails) error
	SubscriptionWanted(subscription string) bool
	Documents(subscription string, page []passerelle.DocumentDetails) error
	SubscriptionRead(subscription string) error
}

// DataReader is a connector that reads a person's data.
type DataReader interface {
	Connector
	// Read reads the institution. A state in the outcome is not an error. An error means that the
	// read broke off. Rows that the sink has already stored are kept. After a panic, invalid data
	// or a failure of the store, the state of the connection is Bug. After any other error, the
	// service stores the memory and the state in the outcome. Without such a state, it stores
	// WebsiteUnavailable.
	Read(ctx context.Context, req DataRequest, out Sink) (Outcome, error)
}

// Terminator is a connector that can end a user's consent at the institution.
type Terminator interface {
	DataReader
	// Terminate ends the consent in the memory. The service calls Terminate, without the user,
	// after the connection was deleted, and again after an error. Terminate succeeds if the consent
	// has already ended. Only Domain, Connection, Memory, Save and Now of the request are set.
	Terminate(ctx context.Context, req DataRequest) error
}

// FileName identifies a file by the institution's keys: a subscription's document, or the
// attachment of an account's transaction. The fields of the other kind of file are empty.
type FileName struct{ Subscription, Document, Account, Transaction, Attachment string }

// FileReader is a connector that fetches the files of documents and attachments.
type FileReader interface {
	DataReader
	// File streams the file to w and returns its media type. The service may call File without the
	// user, during other reads of the same connection, and several times for the same file. File
	// stops at the first error of w. It cannot change the memory of the connection.
	File(ctx context.Context, req DataRequest, of FileName, w io.Writer) (mediaType string, err error)
}

// OnlyDocuments reports whether the connector reads documents and no accounts. Pages then speak of
// a provider instead of a bank.
func (s *DataSettings) OnlyDocuments() bool {
	accounts := func(c string) bool { return c == "bank" || c == "bankwealth" }
	return slices.Contains(s.Capabilities, "document") && !slices.ContainsFunc(s.Capabilities, accounts)
}
