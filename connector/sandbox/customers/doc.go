// Package customers simulates the customers of the simulated institutions: their accounts,
// transactions, investments, subscriptions and documents, and the connectors that read them.
//
// It owns the behaviour of an institution towards a customer. The first word of the login selects
// the behaviour: see [Logins]. All data is computed from the login and the day, so two reads on the
// same day agree, and nothing is stored. Payments and pages are in package sandbox. This package
// reads no clock: each request contains the present instant.
//
// When the institution refuses a read, waits for a person or is closed, the read ends in a
// connection state that says so. Some logins make a read end early, panic or return impossible
// values.
package customers
