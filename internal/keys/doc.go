// Package keys has the key material of a deployment: it encrypts secrets at rest, indexes
// encrypted columns, and signs what the service issues and takes back.
//
// It owns the key file, the form of a sealed value and the derivation of
// every other key. It does not own which columns are secret, nor where sealed
// values are kept: it never sees a database.
//
// A sealed value is bound to its domain, table, column and row, so that one
// copied to another place does not open. It fails by returning an error, and
// a value that does not open is never taken for an empty one. No error and no
// printed form of a Ring holds key material or plain text.
package keys
