package passerelle

import "regexp"

// maxEmail is the length of the longest address that every mail server accepts. maxMailbox is the
// length of the longest part before the @ (RFC 5321, 4.5.3.1).
const (
	maxEmail   = 254
	maxMailbox = 64
)

// email is the plain form of an address: dots between words, an @, the name of a host. RFC 5321
// also allows quotes, comments and IP addresses. Hardly any mailbox needs these, and mail programs
// disagree about how to parse them.
var email = regexp.MustCompile("^([a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(?:\\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*)@" +
	`[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)

// IsEmail reports whether s is an e-mail address that fits unchanged into a header and an SMTP
// command. Such an address looks like ops@bank.example: in ASCII, at most 254 characters, without a
// name, quotes or comments. IsEmail does not check whether the address exists.
func IsEmail(s string) bool {
	parts := email.FindStringSubmatch(s)
	return len(s) <= maxEmail && parts != nil && len(parts[1]) <= maxMailbox
}
