package mail

import (
	"crypto/x509"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"passerelle"
)

// These are the limits of a session with a server.
const (
	// Timeout is the longest time from dialling to the server's last response.
	Timeout = 30 * time.Second
	// maxReply is the largest number of bytes that a session reads from a server.
	maxReply = 1 << 20
)

// SMTPServer is a mail server and the address of the sender. It is safe for concurrent use.
type SMTPServer struct {
	host, port string
	security   security
	user       *url.Userinfo // nil without authentication
	from       string
	// Roots lists the certificate authorities for the server. Nil means the system's authorities.
	Roots *x509.CertPool
	// Timeout limits the time of a session.
	Timeout time.Duration
}

// security is the protection of the connection to a server.
type security string

const (
	// implicit is TLS from the first byte.
	implicit security = "implicit"
	// startTLS changes to TLS after the first commands. If the server refuses this, the session
	// ends.
	startTLS security = "starttls"
	// none is plain text. It is for a server on the same machine, and for servers for which the
	// operator requests plain text.
	none security = "none"
)

// defaultPorts are the submission ports of RFC 8314.
var defaultPorts = map[string]string{"smtp": "587", "smtps": "465"}

// schemes maps the scheme of an address to the protection that the scheme means.
var schemes = map[string]security{"smtp": startTLS, "smtps": implicit}

const urlForm = "must be like smtp://user:password@mail.example:587 or smtps://user:password@mail.example:465"

// NewServer reads the address of a server and the address of the sender. The server's address is
// smtp://user:password@host:port or smtps://…, where the user and the port are optional. For smtp,
// the server must offer STARTTLS, with two exceptions: the server is on this machine, or the
// address ends in ?tls=none. With ?tls=none, the address of a server on another machine must not
// have a password. With ?tls=starttls, a server on this machine must offer STARTTLS too. The error
// names --smtp-url or --mail-from. It repeats neither value.
func NewServer(address, from string) (*SMTPServer, error) {
	if !passerelle.IsEmail(from) {
		return nil, passerelle.InvalidField("--mail-from", "must be the e-mail address that mails come from, such as passerelle@bank.example")
	}
	u, err := url.Parse(address)
	if err != nil || schemes[u.Scheme] == "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" || u.Opaque != "" {
		return nil, passerelle.InvalidField("--smtp-url", "%s", urlForm)
	}
	s := &SMTPServer{host: u.Hostname(), port: u.Port(), user: u.User, from: from, Timeout: Timeout}
	if s.port == "" {
		s.port = defaultPorts[u.Scheme]
	}
	if !validHost(s.host) || !validPort(s.port) {
		return nil, passerelle.InvalidField("--smtp-url", "%s", urlForm)
	}
	if s.security, err = s.secured(u); err != nil {
		return nil, err
	}
	return s, s.checkUser()
}

// secured returns the protection that an address requests.
func (s *SMTPServer) secured(u *url.URL) (security, error) {
	query, err := url.ParseQuery(u.RawQuery)
	asked := query.Get("tls")
	delete(query, "tls")
	choices := map[string]security{"none": none, "starttls": startTLS}
	switch {
	case err != nil || len(query) > 0 || asked != "" && (choices[asked] == "" || u.Scheme == "smtps"):
		return "", passerelle.InvalidField("--smtp-url", "may only end in ?tls=none or ?tls=starttls, and only after smtp://")
	case asked != "":
		return choices[asked], nil
	case u.Scheme == "smtp" && onThisMachine(s.host):
		return none, nil
	}
	return schemes[u.Scheme], nil
}

// checkUser fails for a user without a password, and for a password without a user. It also fails
// for a password over an unencrypted connection to another machine.
func (s *SMTPServer) checkUser() error {
	if s.user == nil {
		return nil
	}
	password, _ := s.user.Password()
	if s.user.Username() == "" || password == "" {
		return passerelle.InvalidField("--smtp-url", "must name both a user and a password, or neither")
	}
	if s.security == none && !onThisMachine(s.host) {
		return passerelle.InvalidField("--smtp-url", "must not have a password with tls=none: anybody on the network path could read it")
	}
	return nil
}

func validHost(host string) bool {
	return net.ParseIP(host) != nil || passerelle.IsEmail("x@"+host)
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

func onThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
