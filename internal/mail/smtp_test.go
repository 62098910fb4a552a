package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// mailServer is a mail server (RFC 5321). It records what it receives, and responds in the way that
// a test specifies.
type mailServer struct {
	t       *testing.T
	address string
	// tls is the TLS configuration. If it is nil, the server does not offer STARTTLS.
	tls *tls.Config
	// user and password are for AUTH PLAIN. If they are empty, the server does not offer
	// authentication.
	user, password string
	// answers has replies that replace the usual replies. A key is a command such as RCPT, or
	// "greeting" for the first reply, or "." for the end of a mail. The server uses each text once.
	answers map[string][]string
	// stuck is a command that the server never responds to.
	stuck string

	mu   sync.Mutex
	got  []receivedMail
	said []string
	ends sync.WaitGroup
}

type receivedMail struct {
	from, to, text string
	secured        bool
	signedIn       bool
}

// open starts the server. If implicit is true, the server uses TLS from the first byte.
func (p *mailServer) open(t *testing.T, implicit bool) *mailServer {
	t.Helper()
	p.t = t
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	if implicit {
		listener = tls.NewListener(listener, p.tls)
	}
	p.ends.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			p.ends.Go(func() { p.converse(connection, implicit) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.ends.Wait()
	})
	return p
}

type smtpSession struct {
	*mailServer
	connection net.Conn
	lines      *bufio.Reader
	bag        receivedMail
}

func (p *mailServer) converse(connection net.Conn, secured bool) {
	c := &smtpSession{mailServer: p, connection: connection, lines: bufio.NewReader(connection), bag: receivedMail{secured: secured}}
	defer func() { c.connection.Close() }()
	c.say(p.answer("greeting", "220 post.example ready"))
	for {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, rest, _ := strings.Cut(line, " ")
		p.note(line)
		if verb == p.stuck {
			io.Copy(io.Discard, c.lines) // until the client leaves
			return
		}
		if !c.obey(strings.ToUpper(verb), rest) {
			return
		}
	}
}

func (c *smtpSession) obey(verb, rest string) bool {
	switch verb {
	case "EHLO":
		c.say(c.answer(verb, c.extensions()))
	case "STARTTLS":
		c.say(c.answer(verb, "220 go on"))
		secured := tls.Server(c.connection, c.tls)
		c.connection, c.lines, c.bag.secured = secured, bufio.NewReader(secured), true
	case "AUTH":
		word, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
		c.bag.signedIn = err == nil && string(word) == "\x00"+c.user+"\x00"+c.password
		if !c.bag.signedIn {
			c.say("535 5.7.8 wrong password for " + c.user)
			return true
		}
		c.say("235 welcome")
	case "MAIL":
		c.bag.from = rest
		c.say(c.answer(verb, "250 fine"))
	case "RCPT":
		c.bag.to = rest
		c.say(c.answer(verb, "250 fine"))
	case "DATA":
		answer := c.answer(verb, "354 go on")
		c.say(answer)
		if strings.HasPrefix(answer, "354") {
			c.take()
		}
	case "QUIT":
		c.say(c.answer(verb, "221 bye"))
		return false
	default:
		c.say(c.answer(verb, "250 fine"))
	}
	return true
}

func (c *smtpSession) extensions() string {
	offers := []string{"250-post.example", "250-ENHANCEDSTATUSCODES"}
	if c.tls != nil && !c.bag.secured {
		offers = append(offers, "250-STARTTLS")
	}
	if c.user != "" {
		offers = append(offers, "250-AUTH PLAIN")
	}
	return strings.Join(append(offers, "250 SIZE 100000"), "\r\n")
}

// take reads a mail to its end, and records the mail if the server accepts it.
func (c *smtpSession) take() {
	var text strings.Builder
	for {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			return
		}
		if line == ".\r\n" {
			break
		}
		text.WriteString(strings.TrimPrefix(line, "."))
	}
	c.bag.text = text.String()
	answer := c.answer(".", "250 2.0.0 taken over")
	if strings.HasPrefix(answer, "250") {
		c.mu.Lock()
		c.got = append(c.got, c.bag)
		c.mu.Unlock()
	}
	c.say(answer)
}

func (c *smtpSession) say(text string) {
	fmt.Fprintf(c.connection, "%s\r\n", text) // an error would only mean that the client has left
}

func (p *mailServer) answer(verb, usual string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if others := p.answers[verb]; len(others) > 0 {
		p.answers[verb] = others[1:]
		return others[0]
	}
	return usual
}

func (p *mailServer) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, line)
}

func (p *mailServer) mails() []receivedMail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]receivedMail(nil), p.got...)
}

func (p *mailServer) receivedLines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.said...)
}

func certified(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, roots
}
