package connector

import (
	"context"
	"io"
	"net/url"
	"time"

	"passerelle"
)

// Field describes a value that a connector asks of a person, for a new connection or while
// it is being established.
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
	// Image is a picture that the person needs for the value, as a data URL, or empty.
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
	// ConsentDays is how long a person's consent lasts at the institution;
	// zero means 180.
	ConsentDays int
	// UnattendedReads is how often in 24 hours the institution may be read without the
	// person; zero means no limit.
	UnattendedReads int
	// TakesFiles means that people hand over files with the data. Without a file a read finds
	// nothing, and the service starts no reads by itself.
	TakesFiles bool
}

// DataRequest is what a connector gets to read an institution for a person.
type DataRequest struct {
	Domain     passerelle.DomainID
	Connection passerelle.ConnectionID
	Source     string
	// Values has the values of the connector's fields.
	Values map[string]string
	// Answers has the values that the last read asked for. Resumed means that the
	// person has done what the last read asked them to do elsewhere.
	Answers map[string]string
	Resumed bool
	// Callback has the query parameters with which the institution sent the person's
	// browser back, nil when the person did not come back from the institution.
	Callback url.Values
	// ReturnURL is where the institution sends the browser after webauth. It leads back to
	// this connection.
	ReturnURL string
	// NotificationURL is where the institution may report, with a POST, that the consent has
	// changed; empty for nowhere.
	NotificationURL string
	// Memory is from the last read: tokens, a session. It is stored encrypted.
	Memory []byte
	// Present means that the person takes part. Without them a read must not
	// disturb them.
	Present bool
	// BrokenOff means that what the last read returned was not stored, as when the process
	// died meanwhile.
	BrokenOff bool
	// Device is the person's device. It is empty unless they are present or have just shared
	// what is read.
	Device Device
	// File is the file for a connector that takes files, and nil for others.
	File *HandedFile
	// Now is the present instant of the domain.
	Now time.Time
}

// HandedFile is a file from a person, with a name for people, which may be empty.
type HandedFile struct {
	io.ReadSeeker
	Name string
}

// Outcome is how a read ended.
type Outcome struct {
	// State is empty when everything was read.
	State passerelle.ConnectionState
	// Message is the institution's own text for the person.
	Message string
	// Fields are requested in AdditionalInformationNeeded and Wrongpass.
	Fields []Field
	// URL is the institution's page for WebauthRequired.
	URL string
	// Memory replaces the stored memory unless it is nil.
	Memory []byte
	// ConsentUntil is the end of the consent, if the institution named it.
	ConsentUntil *time.Time
	// RetryAfter is how long the institution wants no further read.
	RetryAfter time.Duration
}

// Sink takes what a connector reads, in the order of the calls. A connector calls
// it from one goroutine, passes pages and not whole histories, and stops at
// the first error, which it returns.
type Sink interface {
	// Accounts is called once, with all accounts there are.
	Accounts(all []passerelle.AccountDetails) error
	// Wanted reports whether to read the transactions of an account, and from which
	// day on. A zero date means all of them.
	Wanted(account string) (from passerelle.Date, wanted bool)
	// Transactions hands over a page of an account.
	Transactions(account string, page []passerelle.TransactionDetails) error
	// Assets passes on the assets of an account other than money, in any number of pages.
	Assets(account string, page passerelle.Assets) error
	// AccountRead ends an account: everything from that day on was handed over. Stored rows
	// of those days that were not handed over no longer exist at the institution.
	AccountRead(account string, from passerelle.Date) error
	// Subscriptions, SubscriptionWanted, Documents and SubscriptionRead are the
	// same for providers.
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
	// one, or Bug after a panic. What the sink stored before stays, and so does the memory of
	// the outcome.
	Read(ctx context.Context, req DataRequest, out Sink) (Outcome, error)
}

// Terminator is a connector that can end a person's consent at the institution.
type Terminator interface {
	DataReader
	// Terminate ends the consent that the memory belongs to. It is called after the
	// connection was deleted, without the person, and again after an error. A consent that
	// has ended already is no error. Only Domain, Connection, Memory and Now of the request
	// are set.
	Terminate(ctx context.Context, req DataRequest) error
}

// FileName identifies a file in the institution's words: the document of a subscription, or
// the attachment of a transaction of an account. The other fields are empty.
type FileName struct{ Subscription, Document, Account, Transaction, Attachment string }

// FileReader is a connector that fetches the files of documents and attachments.
type FileReader interface {
	DataReader
	// File streams the file to w and returns its media type. It is called without the
	// person, possibly during other reads of the same connection, and possibly more than
	// once for a file. It stops at the first error of w, and its memory is not stored.
	File(ctx context.Context, req DataRequest, of FileName, w io.Writer) (mediaType string, err error)
}
