// Package bank implements the business of the test bank: customers, orders, their authorisation and
// execution, consents and statements. Each bank has its own clock.
//
// It owns the rules, the profiles that switch rules on and off, and the failures on demand. It has
// no HTTP interface. Package xs2a passes it the requests of third parties, package page the
// decisions of customers, and package control the requests of the tester. A wrong request of a
// third party fails with a Refusal, which contains the status and the code of the Berlin Group's
// standard. Other errors are internal.
package bank
