// Package payment is the payment aggregate: what a payment is made of, which
// drafts are acceptable, which states follow which, how the lines of a bulk
// decide the state of the whole, how it is cancelled, when it is executed and
// expires, and which connectors can carry it.
//
// It owns the rules and nothing else: no storage, no HTTP, no clock (the
// present instant is an argument) and no bank. State is assigned in exactly
// one place, machine.go, from a table that the database schema holds a second
// time and a test compares.
//
// It fails with *passerelle.Error where a client is at fault and with
// ErrIllegal where a caller asks for an edge that the table lacks; an illegal
// edge changes nothing.
package payment
