// Package handshake opens TLS connections to a bank with the operator's transport certificate.
//
// It owns the signature of a handshake, the wait for a bank that refuses the certificate, and the
// texts about failed connections. A key or the operator's program makes the signature. The package
// does not own the requests. It fails with Unsigned when the program does not sign, and otherwise
// with the errors of the connection.
package handshake

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"passerelle/connector/berlingroup/signing"
)

// Dialer opens connections. Its fields must not change once it is in use.
type Dialer struct {
	// Own is our certificate with its chain and its parsed leaf. It has a private key unless a
	// program signs.
	Own tls.Certificate
	// Program signs handshakes when Own has no private key.
	Program *signing.Program
	// Authorities are the authorities that may issue the bank's certificate. Nil means those of the
	// system.
	Authorities *x509.CertPool
	// Limit applies to opening the connection and, separately, to the handshake. The time that
	// Program may need is added to the limit of the handshake.
	Limit time.Duration
}

// Dial opens a connection.
func (d *Dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, _, err := d.open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// DialTaken opens a connection, and fails if the bank refuses our certificate. In TLS 1.3 the
// client finishes the handshake before the bank has checked the client's certificate. If the client
// wrote an order immediately and the bank refused the certificate, the outcome of the order would
// be unknown. The client therefore first waits for a refusal: as long as the bank took to ask for
// the certificate, plus refusalTime.
func (d *Dialer) DialTaken(ctx context.Context, network, address string) (net.Conn, error) {
	conn, trip, err := d.open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if conn.ConnectionState().Version != tls.VersionTLS13 {
		return conn, nil
	}
	if err := awaitRefusal(conn, trip+refusalTime); err != nil {
		return nil, errors.Join(err, conn.NetConn().Close())
	}
	return conn, nil
}

// open returns a connection after the handshake. It also returns how long the bank took to ask for
// our certificate. If the bank did not ask, this is the time of the handshake.
func (d *Dialer) open(ctx context.Context, network, address string) (*tls.Conn, time.Duration, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, 0, err
	}
	raw, err := (&net.Dialer{Timeout: d.Limit}).DialContext(ctx, network, address)
	if err != nil {
		return nil, 0, err
	}
	limit := d.Limit
	if d.Program != nil {
		limit += d.Program.Limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	one := &presentation{dialer: d, begun: time.Now()}
	conn := tls.Client(raw, &tls.Config{
		ServerName: host, RootCAs: d.Authorities, MinVersion: tls.VersionTLS12, GetClientCertificate: one.present,
		Renegotiation: tls.RenegotiateOnceAsClient, // some gateways ask for our certificate only after the first request
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, 0, errors.Join(cmp.Or(one.unsigned, err), raw.Close())
	}
	return conn, cmp.Or(one.trip, time.Since(one.begun)), nil
}

// presentation is the part of one handshake in which the bank asks for our certificate.
type presentation struct {
	dialer *Dialer
	begun  time.Time
	// trip is the time until the bank asked for our certificate.
	trip time.Duration
	// unsigned is the error of the program. In TLS 1.3, package tls returns only the text of this
	// error.
	unsigned error
}

// present returns our certificate or, if the bank cannot use it, an empty one.
func (p *presentation) present(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	p.trip = time.Since(p.begun)
	own := p.dialer.Own
	if program := p.dialer.Program; program != nil {
		own.SupportedSignatureAlgorithms = schemes(own.Leaf.PublicKey)
		own.PrivateKey = &key{certificate: own.Leaf, run: func(digest []byte, scheme string) ([]byte, error) {
			return program.Run(asked.Context(), digest, schemeVariable+"="+scheme)
		}, failed: &p.unsigned}
	}
	shown := &own
	if asked.SupportsCertificate(&own) != nil {
		shown = new(tls.Certificate)
	}
	return shown, nil
}

// refusalTime is how long the client waits for the refusal of a certificate, in addition to the
// bank's response time.
const refusalTime = 20 * time.Millisecond

// errTalkative means that a bank sends data before the first request.
var errTalkative = errors.New("the bank sent data before the first request")

// awaitRefusal waits, and returns an error when the bank ends the connection or sends data before
// the first request.
func awaitRefusal(conn *tls.Conn, wait time.Duration) error {
	if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 1))
	var silent net.Error
	if errors.As(err, &silent) && silent.Timeout() {
		return conn.SetReadDeadline(time.Time{})
	}
	return cmp.Or(err, errTalkative)
}
