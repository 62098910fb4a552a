// Package payment is the payment aggregate: which drafts are acceptable, which states follow
// which, how the lines of a bulk decide the state of the payment, how it is cancelled,
// executed and expired, and which connectors can carry it.
//
// It owns the rules and nothing else: no storage, no HTTP, no bank, and no clock, because
// the present instant is an argument. One method in machine.go assigns the state, from a
// table that the database schema repeats and a test compares.
//
// It fails with *passerelle.Error where a client is at fault. It fails with ErrIllegal for
// an edge that the table does not have, and then changes nothing.
package payment
