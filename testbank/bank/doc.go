// Package bank implements the business of the test bank: customers, orders, their authorisation and
// execution, consents and statements. Each bank has its own clock.
//
// The package owns the rules, the profiles that switch rules on and off, and the failures on
// demand. It has no HTTP interface. Other packages serve the banks over HTTP: xs2a and oauth for
// third parties, page for customers, and control for the tester. A wrong request of a third party
// fails with a Refusal, which contains the status and the code of the Berlin Group's standard, or
// with an OAuthError.
package bank
