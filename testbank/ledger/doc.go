// Package ledger is the database file of the test bank: its books in double entry,
// and its documents.
//
// It owns the file, the transactions on it and the rule that each movement of money
// adds up to zero. A change is on disk when Update returns. It knows nothing of
// orders and consents: they are documents to it, of a kind, with an instant at which
// they are due. What is broken in the books is found by Check; what cannot be read or
// written fails with an error that says what was attempted.
package ledger
