package connector

import (
	"context"
	"io"
	"net/url"
	"time"

	"passerelle"
)

// Field describes a value that a connector asks the user for, for a new connection or while it
// is being established.
type Field struct {
	Name, Label, Description string
	// Type is text, password, date, list or number.
	Type     string
	Regex    string
	Required bool
	Values   []FieldValue
	// Mechanisms and Sources limit where the field is asked for; empty means everywhere.
	Mechanisms []passerelle.AuthMechanism
	Sources    []string
	// Image is a picture that the user needs in order to find the value, as a data URL, or
	// empty.
	Image string
}

// FieldValue is one choice of a list.
type FieldValue struct{ Label, Value string }

// DataSettings is what a connector can read.
type DataSettings struct {
	// Capabilities are bank, bankwealth, document, profile and contact.
	Capabilities []string
	AccountTypes []passerelle.AccountType
	Usages       []passerelle.Usage
	// Documents are the names of the document types.
	Documents []string
	Fields    []Field
	// MonthsToFetch is how far back a first read goes; zero means everything.
	MonthsToFetch int
	// ConsentDays is how long a user's consent lasts at the institution; zero means 180.
	ConsentDays int
	// UnattendedReads is how often in 24 hours the institution may be read without the user;
	// zero means no limit.
	UnattendedReads int
	// TakesFiles means that users hand over files with the data. Without a file a read finds
	// nothing, and the service starts no reads by itself.
	TakesFiles bool
}

// DataRequest is a connector's input for reading an institution for a user.
type DataRequest struct {
	Domain     passerelle.DomainID
	Connection passerelle.ConnectionID
	Source     string
	// Values has the values of the connector's fields.
	Values map[string]string
	// Answers has the values that the last read asked for. Resumed means that the user has done
	// the action outside the service that the last read asked for.
	Answers map[string]string
	Resumed bool
	// Callback has the query parameters with which the institution sent the user's browser back,
	// nil when the user did not come back from the institution.
	Callback url.Values
	// ReturnURL is where the institution sends the browser after webauth. It leads back to
	// this connection.
	ReturnURL string
	// NotificationURL is where the institution may report, with a POST, that the consent has
	// changed; empty for nowhere.
	NotificationURL string
	// Memory is from the last read: tokens, a session. It is stored encrypted.
	Memory []byte
	// Present means that the user takes part. Without the user, a read must not disturb them.
	Present bool
	// BrokenOff means that the result of the last read was not stored, for example because the
	// process died before it could be stored.
	BrokenOff bool
	// Device is the user's device. It is empty unless the user is present or has just shared an
	// account.
	Device Device
	// File is the file for a connector that takes files, and nil for others.
	File *HandedFile
	// Now is the present instant of the domain.
	Now time.Time
}

// HandedFile is a file from a user, with a name for display, which may be empty.
type HandedFile struct {
	io.ReadSeeker
	Name string
}

// Outcome is how a read ended.
type Outcome struct {
	// State is empty when everything was read.
	State passerelle.ConnectionState
	// Message is the institution's own text for the user.
	Message string
	// Fields are requested in AdditionalInformationNeeded and Wrongpass.
	Fields []Field
	// URL is the institution's page for WebauthRequired.
	URL string
	// Memory replaces the stored memory unless it is nil.
	Memory []byte
	// ConsentUntil is the end of the consent, if the institution named it.
	ConsentUntil *time.Time
	// RetryAfter is the time during which the institution wants no further read.
	RetryAfter time.Duration
}

// Sink takes what a connector reads, in the order of the calls. A connector calls it from one
// goroutine, passes pages and not whole histories, and returns the first error of the sink
// without further calls.
type Sink interface {
	// Accounts is called once, with all accounts of the customer.
	Accounts(all []passerelle.AccountDetails) error
	// Wanted reports whether to read the transactions of an account, and from which
	// day on. A zero date means all of them.
	Wanted(account string) (from passerelle.Date, wanted bool)
	// Transactions hands over a page of an account.
	Transactions(account string, page []passerelle.TransactionDetails) error
	// Assets passes on the assets of an account other than money, in any number of pages.
	Assets(account string, page passerelle.Assets) error
	// AccountRead ends an account: the connector has handed over everything from that day on.
	// Stored rows from that day on that were not handed over no longer exist at the institution.
	AccountRead(account string, from passerelle.Date) error
	// Subscriptions, SubscriptionWanted, Documents and SubscriptionRead do the same for
	// providers.
	Subscriptions(all []passerelle.SubscriptionDetails) error
	SubscriptionWanted(subscription string) bool
	Documents(subscription string, page []passerelle.DocumentDetails) error
	SubscriptionRead(subscription string) error
}

// DataReader is a connector that reads a person's data.
type DataReader interface {
	Connector
	// Read reads the institution. A state in the outcome is not an error. An error means that
	// the read broke off. The state becomes WebsiteUnavailable unless the outcome has another
	// state, or Bug after a panic. Rows that the sink has already stored stay stored, and so
	// does the memory of the outcome.
	Read(ctx context.Context, req DataRequest, out Sink) (Outcome, error)
}

// Terminator is a connector that can end a user's consent at the institution.
type Terminator interface {
	DataReader
	// Terminate ends the consent that the memory belongs to. It is called after the connection
	// was deleted, without the user, and again after an error. A consent that has ended already
	// is no error. Only Domain, Connection, Memory and Now of the request are set.
	Terminate(ctx context.Context, req DataRequest) error
}

// FileName identifies a file in the institution's terms: the document of a subscription, or the
// attachment of a transaction of an account. The other fields are empty.
type FileName struct{ Subscription, Document, Account, Transaction, Attachment string }

// FileReader is a connector that fetches the files of documents and attachments.
type FileReader interface {
	DataReader
	// File streams the file to w and returns its media type. It is called without the user,
	// possibly during other reads of the same connection, and possibly more than once for a
	// file. It stops at the first error of w, and its memory is not stored.
	File(ctx context.Context, req DataRequest, of FileName, w io.Writer) (mediaType string, err error)
}
