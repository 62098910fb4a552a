// Package berlingroup speaks with banks by the XS2A API of the Berlin Group
// (NextGenPSD2, version 1.3): one type for all banks, and a file for each.
//
// It owns the file of a bank, the transport with its certificates and signatures, and the words
// of the standard: bodies, statuses, error codes and the steps of an authorisation. It does not
// own what happens to a payment, and keeps nothing between calls: the order's memory carries
// what the next call needs.
//
// It fails as every connector does: with a refusal of the bank, with connector.ErrNotSent when
// no byte of an order left, with connector.ErrUnknownOrder when nothing identifies the order to
// the bank, and otherwise with an error that leaves the outcome unknown. A bank file that is
// wrong is refused with Complaints.
package berlingroup
