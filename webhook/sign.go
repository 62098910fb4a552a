package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"io"
	"net/http"
	"time"
)

// DateFormat is the form of the signature date. The date is always in UTC.
const DateFormat = "2006-01-02T15:04:05.000000Z"

// Prefix is the prefix of the header names below.
const Prefix = "SVC"

// These headers describe a request. They are not signed.
const (
	EventHeader    = Prefix + "-Event"
	IDHeader       = Prefix + "-Webhook-Id"
	AttemptHeader  = Prefix + "-Delivery-Attempt"
	DeliveryHeader = Prefix + "-Webhook-Data"
	OmittedHeader  = Prefix + "-Cfonb-Omitted"
	// These headers contain the ids of the user, connection and account, for bodies that cannot
	// contain them.
	UserHeader       = Prefix + "-User-Id"
	ConnectionHeader = Prefix + "-Connection-Id"
	AccountHeader    = Prefix + "-Account-Id"
)

// Signature is the pair of values that authenticates a request. Date is the instant of signing, in
// DateFormat. Value is the HMAC in base64.
type Signature struct {
	Date  string
	Value string
}

// Sign signs a POST of a payload. path is the escaped path of the request line, without host and
// query. An empty path counts as "/". The payload is the body before compression. The key is the
// undecoded secret, exactly as the client received it.
func Sign(secret, path string, date time.Time, payload []byte) Signature {
	signer := NewSigner(secret, path, date)
	signer.mac.Write(payload)
	return signer.Signature()
}

// Signer signs a payload that is written to it piece by piece, for bodies
// that do not fit in memory.
type Signer struct {
	mac  hash.Hash
	date string
}

// NewSigner begins a signature. The arguments are as in Sign.
func NewSigner(secret, path string, date time.Time) *Signer {
	return newSigner(secret, path, date.UTC().Format(DateFormat))
}

func newSigner(secret, path, date string) *Signer {
	mac := hmac.New(sha256.New, []byte(secret))
	io.WriteString(mac, Opening(path, date))
	return &Signer{mac: mac, date: date}
}

// Opening returns the part of the signed text before the payload: method, path and date, each
// followed by a dot. The path has the form that [Sign] takes. The date is in DateFormat.
func Opening(path, date string) string {
	if path == "" {
		path = "/"
	}
	return http.MethodPost + "." + path + "." + date + "."
}

// Write adds to the payload. It never fails.
func (s *Signer) Write(piece []byte) (int, error) { return s.mac.Write(piece) }

// Signature returns the signature of the payload so far.
func (s *Signer) Signature() Signature {
	return Signature{Date: s.date, Value: base64.StdEncoding.EncodeToString(s.mac.Sum(nil))}
}

// Set sets the headers SVC-Signature-Date and SVC-Signature of a request, and the same headers with
// each alias as prefix.
func (s Signature) Set(header http.Header, aliases ...string) {
	for _, prefix := range append([]string{Prefix}, aliases...) {
		header.Set(dateHeader(prefix), s.Date)
		header.Set(signatureHeader(prefix), s.Value)
	}
}

// SetNext sets the header SVC-Signature-Next of a request, and the same header with each alias as
// prefix. The signature must use the next secret and the date of [Signature.Set]. While a secret is
// being replaced, a receiver may have the old or the new one.
func (s Signature) SetNext(header http.Header, aliases ...string) {
	for _, prefix := range append([]string{Prefix}, aliases...) {
		header.Set(nextHeader(prefix), s.Value)
	}
}

func dateHeader(prefix string) string      { return prefix + "-Signature-Date" }
func signatureHeader(prefix string) string { return prefix + "-Signature" }
func nextHeader(prefix string) string      { return prefix + "-Signature-Next" }
