// Package mail sends one mail to one address through a server that speaks SMTP.
//
// It owns the address of the server, the protection of the connection to it, the limits of a
// session, and the form of a mail. It does not own the content of a mail, or when it is sent. A
// mail counts as sent when the server has accepted it. A caller that does not learn that the
// mail was accepted sends it again with the same Message-ID.
//
// It fails with an Invalid *passerelle.Error, before anything is sent, when the address of the
// server or the sender cannot be used. Other errors contain no address, no password, and nothing
// from the server's text except its status code.
package mail
