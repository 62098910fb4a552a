// Package xs2a implements the XS2A API of the Berlin Group, version 1.3, for one bank.
//
// It owns the form of requests and responses: paths, headers, links, bodies, signatures and errors.
// It also owns the ways in which a response can fail on demand. It does not contain the rules of
// the bank, which are in package bank. A refusal has the status and the code of the standard. The
// bank's profile decides whether the body of a refusal contains tppMessages or has the form of RFC
// 7807.
package xs2a
