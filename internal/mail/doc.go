// Package mail sends one mail to one address through a server that speaks SMTP.
//
// It owns the address of the server, the protection of the connection to it, the limits of a
// session, and the form of a mail. It does not own the content of a mail, or when it is sent. A
// mail counts as sent when the server has accepted it. A caller that does not learn of that
// sends the mail again with the same Message-ID.
//
// It fails with an Invalid *passerelle.Error for an unusable server or sender, before anything is
// sent. Other errors contain no address, no password and nothing of the server's text except its
// status code.
package mail
