package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"syscall"
	"time"

	smtp "github.com/wneessen/go-mail"
)

// Message is one mail to one address, in plain text.
type Message struct {
	// ID is the same each time the service sends this mail, and different for every other mail. The
	// reader's mail program can therefore recognise a mail that arrives twice. ID consists of
	// letters, digits and dots.
	ID string
	// To is an address that passerelle.IsEmail accepts.
	To string
	// Subject is cut off after 255 characters.
	Subject, Text string
	// Date is the real time.
	Date time.Time
}

// Send passes a mail to the server, and returns when the server has accepted it. Send ignores later
// errors, such as the loss of the connection.
func (s *SMTPServer) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	message, err := s.message(m)
	if err != nil {
		return fmt.Errorf("write a mail: %w", err)
	}
	conn := &smtpConn{server: s}
	defer conn.end()
	client, err := smtp.NewClient(s.host, append(s.options(), smtp.WithDialContextFunc(conn.dialer(ctx)))...)
	if err != nil {
		return fmt.Errorf("prepare a mail: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, message)
	if err == nil || message.IsDelivered() {
		return nil
	}
	return errors.New(reason(ctx, err))
}

// message returns a mail in the form of the library. It encodes a subject that is not ASCII or
// contains a line break.
func (s *SMTPServer) message(m Message) (*smtp.Msg, error) {
	message := smtp.NewMsg(smtp.WithNoDefaultUserAgent())
	if err := errors.Join(message.From(s.from), message.To(m.To)); err != nil {
		return nil, errors.New("an address cannot be written") // the error of the library contains the address
	}
	message.Subject(shortened(m.Subject))
	message.SetDateWithValue(m.Date)
	message.SetMessageIDWithValue(m.ID + s.from[strings.LastIndexByte(s.from, '@'):])
	// This header prevents automatic responses (RFC 3834).
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(smtp.TypeTextPlain, m.Text)
	return message, nil
}

// maxSubject keeps the line of a subject within the limits of servers.
const maxSubject = 255

func shortened(subject string) string {
	characters := []rune(subject)
	return string(characters[:min(len(characters), maxSubject)])
}

func (s *SMTPServer) options() []smtp.Option {
	policy := smtp.NoTLS
	if s.security == startTLS {
		policy = smtp.TLSMandatory
	}
	options := []smtp.Option{
		smtp.WithTimeout(s.Timeout), smtp.WithTLSPolicy(policy), smtp.WithTLSConfig(s.tls()),
		smtp.WithHELO(s.from[strings.LastIndexByte(s.from, '@')+1:]), smtp.WithoutNoop(), smtp.WithoutRset(),
	}
	if s.user == nil {
		return options
	}
	password, _ := s.user.Password()
	return append(options, smtp.WithUsername(s.user.Username()), smtp.WithPassword(password), smtp.WithOpportunisticSMTPAuth(
		smtp.SMTPAuthSCRAMSHA256, smtp.SMTPAuthSCRAMSHA1, smtp.SMTPAuthPlain, smtp.SMTPAuthLogin))
}

func (s *SMTPServer) tls() *tls.Config {
	return &tls.Config{ServerName: s.host, RootCAs: s.Roots, MinVersion: tls.VersionTLS12}
}

// smtpConn is the connection of one session. Without smtpConn, the library would leave the
// connection open after some errors. The library would also move the deadline with every step, and
// store any amount of the server's text.
type smtpConn struct {
	server *SMTPServer
	net.Conn
	left int
	free func() bool
}

var errReplyTooLong = errors.New("the server sent too much text")

// dialer returns a function that opens the connection for an SMTP session. The argument session is
// a context, and the connection closes when this context ends. The context that the library passes
// cannot do this, because it ends before the session begins.
func (c *smtpConn) dialer(session context.Context) smtp.DialContextFunc {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		connection, err := new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(c.server.host, c.server.port))
		if err != nil {
			return nil, err
		}
		c.Conn, c.left = connection, maxReply
		c.free = context.AfterFunc(session, func() { connection.Close() }) //nolint:errcheck // the user of the connection gets an error
		if c.server.security != implicit {
			return c, nil
		}
		secured := tls.Client(c, c.server.tls())
		return secured, secured.HandshakeContext(ctx)
	}
}

// Read reads from the server. It fails after maxReply bytes of one session.
func (c *smtpConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errReplyTooLong
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// end closes the connection, if any.
func (c *smtpConn) end() {
	if c.Conn != nil {
		c.free()
		c.Close() //nolint:errcheck // no more commands are sent on it
	}
}

// reason returns a few words about why a server did not accept a mail. It does not repeat the
// server's text, because that text may contain addresses.
func reason(ctx context.Context, err error) string {
	if ctx.Err() != nil || isTimeout(err) {
		return "the mail server did not respond in time"
	}
	var refused *smtp.SendError
	if errors.As(err, &refused) && refused.ErrorCode() > 0 {
		return strings.TrimSpace(fmt.Sprintf("the mail server refused the mail: %d %s", refused.ErrorCode(), refused.EnhancedStatusCode()))
	}
	var said *textproto.Error
	if errors.As(err, &said) {
		return fmt.Sprintf("the mail server refused the SMTP session: %d", said.Code)
	}
	for _, known := range reasons {
		if known.is(err) {
			return known.text
		}
	}
	return "the SMTP session with the mail server failed"
}

var reasons = []struct {
	text string
	is   func(error) bool
}{
	{"the name of the mail server was not found", as[*net.DNSError]},
	{"the certificate of the mail server was refused", as[*tls.CertificateVerificationError]},
	{"the mail server refused the connection", func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
	{"the mail server sent too much text", func(err error) bool { return errors.Is(err, errReplyTooLong) }},
	{"the mail server offers no way to sign in that keeps the password", func(err error) bool { return errors.Is(err, smtp.ErrNoSupportedAuthDiscovered) }},
	// The library has no error value for this case.
	{"the mail server does not offer STARTTLS", func(err error) bool { return strings.Contains(err.Error(), "does not support STARTTLS") }},
}

func as[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
