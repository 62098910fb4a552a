// Package keys has the key material of a deployment. It encrypts secrets at rest, indexes
// encrypted columns, and authenticates what the service issues and later accepts again.
//
// It owns the key file, the form of a sealed value, and the derivation of every other key. It
// does not own which columns are secret or where sealed values are stored: it uses no database.
//
// A sealed value is bound to its domain, table, column and row. A copy in another place cannot
// be opened. Opening such a value fails with an error, so that it is never taken for an empty
// value. Neither an error nor the printed form of a Ring contains key material or plain text.
package keys
