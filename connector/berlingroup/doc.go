// Package berlingroup connects to banks over the XS2A API of the Berlin Group (NextGenPSD2, version
// 1.3): one type for all banks, and a file for each bank.
//
// It owns the bank file, the transport with its certificates and signatures, and the vocabulary of
// the standard: bodies, statuses and the steps of an authorisation. Package codes owns the meaning
// of error codes. Package berlingroup does not own the states of a payment. It keeps no order and
// no consent between calls: it returns the data for the next call, and the caller stores this data.
//
// It fails like every connector. It returns a refusal when the bank refuses. It returns
// connector.ErrNotSent when the bank certainly did not read the request, or is closed or busy. It
// returns connector.ErrUnknownOrder when nothing identifies the order at the bank. After any other
// error, the outcome is unknown. Load fails with the complaints of tomlfile for an invalid bank
// file.
package berlingroup
