// Package xs2a implements the XS2A API of the Berlin Group, version 1.3, for one bank.
//
// It owns the form of requests and answers: paths, headers, links, bodies, signatures
// and errors, and the ways in which an answer can go wrong on demand. It does not own a
// rule of the bank. What it refuses fails with the status and the code of the standard,
// as tppMessages or as RFC 7807 has it, whichever the bank's profile says.
package xs2a
