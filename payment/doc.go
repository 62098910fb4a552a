// Package payment defines what a payment is and does. It decides which drafts are acceptable and
// which connectors can make a payment. It decides which states can follow a state, how the
// instructions of a bulk determine the state of the payment, and how a payment is executed,
// cancelled and expired.
//
// It owns only these rules. It has no storage, HTTP, bank or clock: the present instant is an
// argument. In this package, only the method move assigns the state of a payment. Apart from the
// first state, the variable edges lists each change. A table of the database schema contains the
// same pairs of states, and a test compares it with edges.
//
// A mistake of a client is a *passerelle.Error. Fire fails with ErrIllegal for a change of state
// that edges does not list, and then changes nothing.
package payment
