// Package mail sends one mail to one address through an SMTP server.
//
// The package owns the address of the server, the protection of the connection, the limits of a
// session, and the form of a mail. Callers own the content of a mail, and decide when to send it. A
// mail counts as sent when the server has accepted it. A caller that does not learn of the
// acceptance sends the mail again with the same Message-ID.
//
// The package fails with an Invalid *passerelle.Error, before it sends anything, when the address
// of the server or the sender is unusable. Other errors contain no address and no password. They
// contain nothing from the server's text except its status codes.
package mail
