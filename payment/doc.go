// Package payment is the payment aggregate: which drafts are acceptable, which states can follow
// a state, how the lines of a bulk decide the state of the payment, how it is cancelled,
// executed and expired, and which connectors can make it.
//
// It owns the rules and nothing else: no storage, no HTTP, no bank, and no clock, because
// the present instant is an argument. One method in machine.go assigns the state, from a
// table that the database schema repeats and a test compares.
//
// It fails with *passerelle.Error for mistakes of a client. It fails with ErrIllegal for an edge
// that is not in the table, and then changes nothing.
package payment
