// Package customers has the customers of the simulated institutions: their accounts,
// transactions, investments, subscriptions and documents, and the connectors that read them.
//
// It owns how an institution treats a customer, which the first word of the login decides; see
// [Logins]. All data are computed from the login and the day, so two reads of one day agree and
// nothing is stored. It does not own payments or pages, which are in package sandbox, and it
// reads no clock: each request has the present instant.
//
// A read that is refused, waits for a person or finds the institution closed ends in the state
// that says so. Some logins make a read break off, panic or return impossible values.
package customers
