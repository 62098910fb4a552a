// Package webhook contains the code that senders and receivers of webhooks share: the catalogue of
// events with samples, and the signature of requests.
//
// It owns the names of events and headers, the signed text, and the verification. Receivers written
// in Go import it. Other packages decide when an event happens, render its body, send it and retry.
// This package makes no calls. Functions that need the present instant take it as an argument,
// except the function Verify. Verification fails with ErrHeader, ErrDate or ErrSignature. Functions
// that read the request also fail with ErrTooLarge, or with an error from reading or decompressing.
package webhook
