// Package keys has the key material of a deployment. It encrypts secrets at rest, and computes the
// blind indexes by which callers find values in encrypted columns. It also authenticates data that
// the service issues and later accepts again.
//
// The package owns the key file and the form of a sealed value. It derives the keys for blind
// indexes and MACs from the key file, and generates all other keys. It uses no database: callers
// decide which columns are secret and where to store sealed values.
//
// A sealed value is bound to its domain, table, column and row. Opening a copy at another place
// fails with an error, so no caller mistakes the copy for an empty value. Errors, and the printed
// form of a Ring, never contain key material or plain text.
package keys
