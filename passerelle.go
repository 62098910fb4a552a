// Package passerelle is the vocabulary of the service: identifiers, money, dates, account numbers,
// identities, scopes, errors, and the accounts, transactions and subscriptions that banks and
// providers report.
//
// It owns the meaning of these terms and their possible values. Parsers and checks fail for all
// other values, so other packages need not check again. The error is an *Error that names the wrong
// field. The rules about payments are in package payment. Package passerelle owns no storage, no
// HTTP and no wire format, and has no clock: the present instant is always an argument.
package passerelle

// Identifiers are positive integers, unique within a deployment and never reused. They are assigned
// in blocks, so their order has no meaning.
type (
	// DomainID identifies a domain.
	DomainID int64
	// ClientID identifies an application that calls the API.
	ClientID int64
	// UserID identifies an end user of a domain.
	UserID int64
	// PaymentID identifies a payment.
	PaymentID int64
	// WebhookID identifies the registration of a receiving URL for an event.
	WebhookID int64
	// DeliveryID identifies one event body for one webhook. Receivers get it as id_webhook_data.
	DeliveryID int64
	// ConnectionID identifies a user's connection to a bank or provider.
	ConnectionID int64
	// SourceID identifies one access channel of a connection.
	SourceID int64
	// AccountID identifies a bank account.
	AccountID int64
	// TransactionID identifies a transaction.
	TransactionID int64
	// AssetID identifies an investment, a market order, a pocket or a line of a
	// loan's plan.
	AssetID int64
	// SubscriptionID identifies a subscription.
	SubscriptionID int64
	// DocumentID identifies a document.
	DocumentID int64
	// FileID identifies a stored file.
	FileID int64
	// AttachmentID identifies an attachment of a transaction.
	AttachmentID int64
)

// DomainKind says whether the money of a domain is real.
type DomainKind string

// These are the kinds of domain. Only a sandbox domain has its own clock and simulated banks.
const (
	Sandbox DomainKind = "sandbox"
	Live    DomainKind = "live"
)
