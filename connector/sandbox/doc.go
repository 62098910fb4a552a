// Package sandbox is a simulated bank and the test connectors that lead to it.
//
// It owns the things that a real bank owns: the received orders, the payer's decision about
// each, the time of their execution, and the pages on which the payer approves, refuses or
// agrees to cancel. It does not own payments, and gets no information about them after an order
// has arrived. It does not own the data that connectors read, which is in package customers, or
// the storage of orders, which is a Ledger. It reads no clock: each call contains the present
// instant, so the bank follows the clock of a domain. No money moves.
//
// The bank decides how it handles an order when the order arrives. The tables of use cases,
// words, amounts and accounts are written as scripts. A script becomes a plan: a list of steps
// that is stored with the order and played from then on. Scenarios lists everything that the
// bank can do.
//
// The ledger contains all orders and no state is kept between calls, so a restart loses nothing
// and any process can answer for any other. When the ledger fails, connectors return an ordinary
// error, which leaves the outcome unknown, and pages say that the bank cannot be reached.
package sandbox
