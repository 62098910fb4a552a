// Package bank is what the test bank does as a bank: customers, orders, their
// authorisation and execution, consents and statements, in a time of its own.
//
// It owns the rules, the profiles that switch them, and the failures on demand. It does
// not speak HTTP: package xs2a brings it the requests of third parties, package page the
// decisions of its customers, and package control those of the tester. A wrong request of a
// third party fails with a Refusal, which has the status and the code of the Berlin Group's
// standard. Other errors are internal.
package bank
