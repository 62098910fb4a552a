package mail_test

import (
	"errors"
	"strings"
	"testing"

	"passerelle"
	"passerelle/internal/mail"
)

const sender = "passerelle@bank.example"

func TestAddressesOfServers(t *testing.T) {
	for _, good := range []string{
		"smtp://mail.example", "smtp://mail.example:587", "smtp://mail.example/", "smtps://mail.example", "smtps://mail.example:465",
		"smtp://u:p@mail.example:587", "smtp://u%40bank.example:p%2F%3F@mail.example", "smtps://u:p@[2001:db8::1]:465", "smtp://10.0.0.5:25?tls=none",
		"smtp://localhost:1025", "smtp://u:p@127.0.0.1:1025", "smtp://[::1]:1025", "smtp://localhost:1025?tls=starttls", "smtp://u:p@localhost?tls=none",
	} {
		if _, err := mail.NewServer(good, sender); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	const secret = "hunter2"
	for _, bad := range []string{
		"", "mail.example", "mail.example:587", "http://mail.example", "smtp:mail.example", "smtp://", "smtp://:587", "SMTP//mail.example",
		"smtp://mail.example:0", "smtp://mail.example:65536", "smtp://mail.example:x", "smtp://mail.example/path", "smtp://mail.example#x",
		"smtp://u:" + secret + "@", "smtp://u:" + secret + "@mail_example", "smtp://u:" + secret + "@mail.example:587:1", "smtp://u:" + secret + "@mail.example\r\nx",
		"smtp://u:" + secret + "@mail.example?tls=none", "smtp://u@mail.example", "smtp://u:@mail.example", "smtp://:" + secret + "@mail.example",
		"smtp://mail.example?tls=off", "smtp://mail.example?tls=none&x=y", "smtp://mail.example?x=y", "smtp://mail.example?tls=%zz", "smtps://mail.example?tls=none",
		"smtp://u:" + secret + "%zz@mail.example",
	} {
		_, err := mail.NewServer(bad, sender)
		refuses(t, bad, err, "--smtp-url", secret)
	}
	for _, bad := range []string{"", "Bank <" + sender + ">", "bank.example", "a@b\r\nX: y"} {
		_, err := mail.NewServer("smtp://mail.example", bad)
		refuses(t, bad, err, "--mail-from", "\r\n")
	}
}

func refuses(t *testing.T, value string, err error, field, unsaid string) {
	t.Helper()
	var refusal *passerelle.Error
	if !errors.As(err, &refusal) || refusal.Kind != passerelle.Invalid || refusal.Field != field || strings.Contains(err.Error(), unsaid) {
		t.Errorf("%q: %v, want a refusal of %s", value, err, field)
	}
}
