package handshake

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"passerelle/connector/berlingroup/arrival"
)

// Remedy explains why an exchange with a bank failed and, for some errors, how to correct the
// problem. In the text, address.api stands for the field of the bank file that has the address.
func Remedy(err error) string {
	var unsigned *Unsigned
	if errors.As(err, &unsigned) {
		return unsigned.Error()
	}
	for _, one := range remedies {
		if one.is(err) {
			return one.says
		}
	}
	return "the connection was lost"
}

var remedies = []struct {
	is   func(error) bool
	says string
}{
	{as[x509.UnknownAuthorityError], "its server's certificate comes from an authority that tls.authorities does not contain"},
	{as[x509.HostnameError], "its server's certificate has another name than address.api"},
	{as[x509.CertificateInvalidError], "its server's certificate is not valid now: check that this machine's clock is right, and ask the bank"},
	{as[*tls.CertificateVerificationError], "its server's certificate cannot be verified"},
	{RefusesCertificate, "it refuses our transport certificate: check that tls.certificate is registered with the bank, is valid and has the role"},
	{as[*net.DNSError], "the name in address.api cannot be resolved"},
	{timedOut, "it cannot be reached at address.api: the connection timed out; check whether a firewall or the bank blocks this machine"},
	{func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, "it did not respond in time"},
	{func(err error) bool { return errors.Is(err, context.Canceled) }, "the caller no longer waits for its response"},
	{func(err error) bool { return errors.Is(err, arrival.ErrTooLarge) }, "its response is larger than the limit"},
	{func(err error) bool { return strings.Contains(err.Error(), "net/http: invalid header field") }, "a value of the request has a line break or another control character, which a header cannot have"},
	{func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }, "it cannot be reached at address.api: the connection was refused; check that host and port are right"},
	{func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }, "it cannot be reached at address.api, or closed the connection: the connection was reset"},
	{func(err error) bool {
		return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH)
	}, "it cannot be reached at address.api: there is no route to it; check this machine's network and firewall"},
	{as[*net.OpError], "it cannot be reached at address.api, or closed the connection"},
}

// timedOut reports whether no connection was opened in time.
func timedOut(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial" && failed.Timeout()
}

func as[T error](err error) bool {
	var kind T
	return errors.As(err, &kind)
}

// RefusesCertificate reports whether the bank's server ended the handshake because of our
// certificate. In TLS 1.3, and when the bank asks for the certificate late, such a failure may appear
// after the request was written. The bank has not executed the request, because it never finished the
// handshake.
func RefusesCertificate(err error) bool {
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Op != "remote error" {
		return false
	}
	alert := reflect.ValueOf(remote.Err) // crypto/tls does not export the type of alerts
	return alert.Kind() == reflect.Uint8 && slices.Contains(certificateAlerts, alert.Uint())
}

// certificateAlerts lists the alerts of RFC 8446 about a client certificate: bad, unsupported,
// revoked, expired, unknown, unknown authority, access denied, and missing.
var certificateAlerts = []uint64{42, 43, 44, 45, 46, 48, 49, 116}
