// Package sandbox contains a simulated bank and the test connectors for it.
//
// It owns everything that a real bank owns: the received orders, the payer's decision about each
// order, the times of execution, and the pages on which the payer approves, refuses or agrees to
// cancel. It receives only the order, and no other data about the payment. Package customers
// contains the data that connectors read, and a Ledger stores the orders. The bank reads no clock:
// each call contains the present instant, so the bank follows the clock of a domain. No money
// moves.
//
// When an order arrives, the bank decides how to handle it. Use cases, labels, amounts and accounts
// select scripts. The bank turns the script into a plan: a list of steps that is stored with the
// order and then executed. Scenarios lists everything that the bank can do.
//
// The ledger contains all state between calls, namely the orders. A restart therefore loses
// nothing, and any process can handle any order. When the ledger fails, connectors return an error
// that leaves the outcome unknown, and pages say that the bank is busy or not available.
package sandbox
