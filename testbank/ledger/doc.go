// Package ledger stores the test bank's data in a database file: its books in double entry, and its
// documents.
//
// It owns the file, the transactions on it, and the rule that the entries of each movement add up
// to zero. A change is on disk when Update returns. The package does not know what orders and
// consents mean: it stores them as documents, with a kind and a time at which they are due. Check
// finds errors in the books. When a read or write fails, the error names the attempted step.
package ledger
