package webhook

// Event is the name of an event, as in the registration of a webhook and in the header EventHeader.
type Event string

// These are the events of the API.
const (
	UserCreated                    Event = "USER_CREATED"
	UserDeleted                    Event = "USER_DELETED"
	UserSynced                     Event = "USER_SYNCED"
	ConnectionSynced               Event = "CONNECTION_SYNCED"
	ConnectionDeleted              Event = "CONNECTION_DELETED"
	ConnectionCertificateAvailable Event = "CONNECTION_CERTIFICATE_AVAILABLE"
	AccountsFetched                Event = "ACCOUNTS_FETCHED"
	AccountCategorized             Event = "ACCOUNT_CATEGORIZED"
	AccountSynced                  Event = "ACCOUNT_SYNCED"
	AccountDisabled                Event = "ACCOUNT_DISABLED"
	AccountEnabled                 Event = "ACCOUNT_ENABLED"
	AccountFound                   Event = "ACCOUNT_FOUND"
	AccountOwnershipsFound         Event = "ACCOUNT_OWNERSHIPS_FOUND"
	TransactionAttachmentsFound    Event = "TRANSACTION_ATTACHMENTS_FOUND"
	SubscriptionSynced             Event = "SUBSCRIPTION_SYNCED"
	SubscriptionFound              Event = "SUBSCRIPTION_FOUND"
	PaymentStateUpdated            Event = "PAYMENT_STATE_UPDATED"
)

// Subject is a kind of object. The events of one object are delivered in order. Events about
// accounts, transactions and subscriptions are ordered within their connection. Connections belong
// to a user. Payments belong to no user.
type Subject string

// These are the subjects of events.
const (
	SubjectUser       Subject = "user"
	SubjectConnection Subject = "connection"
	SubjectPayment    Subject = "payment"
)

// Entry describes an event in the catalogue. Number is the id_event of registrations. It never
// changes and is never reused. Payload names the object in the body, or the members of the body.
// [Sample] shows the body. Description is one clause that says when the event is emitted.
type Entry struct {
	Event       Event
	Number      int
	Subject     Subject
	Deprecated  bool
	Payload     string
	Description string
}

// OfUser reports whether the event belongs to a user. Payments belong to no user. For an event of a
// user, a webhook without an authentication provider sends a token: the newest permanent token of
// the user and the webhook's application. It sends none when no such token exists.
func (e Entry) OfUser() bool { return e.Subject != SubjectPayment }

// catalogue is in the order of the API document. Existing consoles show the numbers 1 to 12, so
// these numbers cannot change. Number 13 belongs to an event that is not part of the API.
var catalogue = []Entry{
	{UserCreated, 3, SubjectUser, false, "User", "after a permanent user is created"},
	{UserDeleted, 4, SubjectUser, false, "User", "after a user is deleted"},
	{UserSynced, 14, SubjectUser, true, "user, connections", "after several connections of a user are synced"},
	{ConnectionSynced, 8, SubjectConnection, false, "user, connection", "after a connection is synced"},
	{ConnectionDeleted, 9, SubjectConnection, false, "Connection", "after a connection is deleted"},
	{ConnectionCertificateAvailable, 15, SubjectConnection, false, "id_connection, id_user", "after the first sync of a connection, when a certificate of account ownership can be requested"},
	{AccountsFetched, 1, SubjectConnection, false, "user, connection", "during a sync, once bank accounts are known and before their transactions are processed"},
	{AccountCategorized, 16, SubjectConnection, false, "transactions", "during a sync, once the transactions of the accounts are processed and categorized"},
	{AccountSynced, 2, SubjectConnection, false, "BankAccount + investments, recipients, transactions, transfers", "during a sync, once a bank account is processed, with its new transactions"},
	{AccountDisabled, 5, SubjectConnection, false, "BankAccount", "after a bank account is disabled"},
	{AccountEnabled, 6, SubjectConnection, false, "BankAccount", "after a bank account is enabled"},
	{AccountFound, 7, SubjectConnection, false, "id, id_user, id_connection, disabled, type", "after a new bank account is discovered"},
	{AccountOwnershipsFound, 17, SubjectConnection, false, "account_ownerships", "during a sync, once account ownerships are known"},
	{TransactionAttachmentsFound, 18, SubjectConnection, false, "id_connection, id_account, id_transaction, attachments", "during a sync, once attachments of transactions are found"},
	{SubscriptionSynced, 11, SubjectConnection, false, "Subscription + documents", "during a sync, once a subscription is processed, with its new documents"},
	{SubscriptionFound, 10, SubjectConnection, false, "id, id_user, id_connection", "after a new subscription is discovered"},
	{PaymentStateUpdated, 12, SubjectPayment, false, "Payment", "after the state of a payment changes"},
}

// Events returns a copy of the catalogue, in the order of the API document.
func Events() []Entry {
	return append([]Entry(nil), catalogue...)
}

// StatementEvents lists the events that have CFONB 120 statements as bodies, in domains that
// request such statements.
func StatementEvents() []Event { return []Event{AccountFound, ConnectionSynced, UserSynced} }

// Lookup finds an event by its exact name.
func Lookup(name string) (Entry, bool) {
	for _, entry := range catalogue {
		if string(entry.Event) == name {
			return entry, true
		}
	}
	return Entry{}, false
}
