// Package bank is what the test bank does as a bank: customers, orders, their
// authorisation and execution, consents and statements, in a time of its own.
//
// It owns the rules, the profiles that switch them, and the failures on demand. It does not
// speak HTTP: package xs2a brings it the requests of third parties, package page the decisions
// of its customers, package control those of the tester. What a third party asked for wrongly
// fails with a Refusal, which carries the status and the code of the Berlin Group's standard;
// other errors are the bank's own.
package bank
