// Package webhook has what senders and receivers of webhooks share: the catalogue of events
// with a sample of each, and the signature of a request.
//
// It owns the names, the signed text and its verification; receivers written in Go import it. It
// does not own when an event happens, the rendering of its body, or sending and retrying. It
// makes no calls, and the present instant is an argument of all but Verify. Verification fails
// with ErrHeader, ErrDate or ErrSignature, and reading a request also with what went wrong in
// reading.
package webhook
