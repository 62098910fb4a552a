// Package keys has the key material of a deployment. It encrypts secrets at rest, and indexes
// encrypted columns. It also authenticates data that the service issues and later accepts again.
//
// The package owns the key file, the form of a sealed value, and the derivation of all other keys.
// It uses no database: callers decide which columns are secret and where to store sealed values.
package keys
