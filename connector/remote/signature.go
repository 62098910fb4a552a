package remote

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Passerelle and the program share a secret, and sign every message with HMAC-SHA256, in
// hexadecimal:
//
//	a request: "request", method, path, timestamp, nonce, body
//	an answer: "answer", status, nonce of the request, body
//
// with a line feed after each part except the body. The body of a stream consists of all its lines
// up to and including the line with the member `end`. The signature follows as the last line.
const (
	headerTimestamp = "Passerelle-Timestamp"
	headerNonce     = "Passerelle-Nonce"
	headerSignature = "Passerelle-Signature"
)

const (
	// minSecret and maxSecret limit the length of a secret, in bytes.
	minSecret = 32
	maxSecret = 256
	// tolerance is the maximum difference between the two clocks.
	tolerance = 5 * time.Minute
	// maxNonces is the maximum number of nonces that are remembered. Each is remembered for twice
	// the tolerance and has at most maxNonce bytes.
	maxNonces = 1 << 20
	maxNonce  = 64
)

var (
	errUnsigned = errors.New("the signature is missing or wrong: both sides need the same secret")
	errReplayed = errors.New("the request is a repetition, or older or newer than five minutes")
)

type secret []byte

// mac returns a hash to which it has written the parts. The caller then writes the body to the
// hash.
func (s secret) mac(parts ...string) hash.Hash {
	sum := hmac.New(sha256.New, s)
	for _, part := range parts {
		io.WriteString(sum, part+"\n")
	}
	return sum
}

// requestMAC and answerMAC begin the signature of a request and of a response.
func (s secret) requestMAC(method, path, timestamp, nonce string) hash.Hash {
	return s.mac("request", method, path, timestamp, nonce)
}

// sign adds the signature to a request that already has its timestamp and its nonce.
func (s secret) sign(r *http.Request, body []byte) {
	sum := s.requestMAC(r.Method, r.URL.EscapedPath(), r.Header.Get(headerTimestamp), r.Header.Get(headerNonce))
	sum.Write(body)
	r.Header.Set(headerSignature, text(sum))
}

func (s secret) answerMAC(status int, nonce string) hash.Hash {
	return s.mac("answer", strconv.Itoa(status), nonce)
}

func text(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// equal compares a signature in constant time.
func equal(sum hash.Hash, signature string) bool {
	raw, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(raw, sum.Sum(nil))
}

// nonces remembers recent nonces, to recognise repeated requests.
type nonces struct {
	mu sync.Mutex
	// seen maps each nonce to the time until which it is remembered.
	seen  map[string]time.Time
	purge time.Time
}

// take accepts a nonce only once. It accepts no nonce while it remembers too many.
func (n *nonces) take(nonce string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]time.Time{}
	}
	if now.After(n.purge) {
		maps.DeleteFunc(n.seen, func(_ string, until time.Time) bool { return now.After(until) })
		n.purge = now.Add(tolerance / 10)
	}
	if _, known := n.seen[nonce]; known || len(n.seen) >= maxNonces {
		return false
	}
	n.seen[nonce] = now.Add(2 * tolerance)
	return true
}

// verify checks the signature and the age of a request. It fails for a request that was received
// before.
func (s secret) verify(r *http.Request, body []byte, before *nonces, now time.Time) error {
	timestamp, nonce := r.Header.Get(headerTimestamp), r.Header.Get(headerNonce)
	sum := s.requestMAC(r.Method, r.URL.EscapedPath(), timestamp, nonce)
	sum.Write(body)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || nonce == "" || len(nonce) > maxNonce || !equal(sum, r.Header.Get(headerSignature)) {
		return errUnsigned
	}
	if age := now.Sub(time.Unix(seconds, 0)); age.Abs() > tolerance || !before.take(nonce, now) {
		return errReplayed
	}
	return nil
}
