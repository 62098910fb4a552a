package mail_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle/internal/mail"
)

var message = mail.Message{
	ID: "7.1795276800", To: "ops@bank.example", Subject: "webhook 3 of shop fails", Text: "First line.\n.\n\nLast line.\n",
	Date: time.Date(2026, 11, 21, 15, 4, 5, 0, time.UTC),
}

func at(t *testing.T, url string, roots *x509.CertPool) *mail.SMTPServer {
	t.Helper()
	s, err := mail.NewServer(url, sender)
	if err != nil {
		t.Fatal(err)
	}
	s.Roots = roots
	return s
}

func TestMailsArrive(t *testing.T) {
	secured, roots := certified(t)
	for name, test := range map[string]struct {
		mailServer *mailServer
		implicit   bool
		scheme     string
		query      string
		want       receivedMail
	}{
		"plain":             {&mailServer{}, false, "smtp://", "", receivedMail{}},
		"not secured here":  {&mailServer{tls: secured}, false, "smtp://", "", receivedMail{}},
		"signed in":         {&mailServer{user: "u@x", password: "p /?"}, false, "smtp://u%40x:p%20%2F%3F@", "", receivedMail{signedIn: true}},
		"STARTTLS":          {&mailServer{tls: secured}, false, "smtp://", "?tls=starttls", receivedMail{secured: true}},
		"STARTTLS, sign-in": {&mailServer{tls: secured, user: "u", password: "p"}, false, "smtp://u:p@", "?tls=starttls", receivedMail{secured: true, signedIn: true}},
		"TLS":               {&mailServer{tls: secured}, true, "smtps://", "", receivedMail{secured: true}},
		"TLS, sign-in":      {&mailServer{tls: secured, user: "u", password: "p"}, true, "smtps://u:p@", "", receivedMail{secured: true, signedIn: true}},
		"lost goodbye":      {&mailServer{answers: map[string][]string{"QUIT": {"421 gone"}}}, false, "smtp://", "", receivedMail{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := test.mailServer.open(t, test.implicit)
			if err := at(t, test.scheme+p.address+test.query, roots).Send(t.Context(), message); err != nil {
				t.Fatal(err)
			}
			got := p.mails()
			if len(got) != 1 {
				t.Fatalf("%d mails arrived", len(got))
			}
			test.want.from, test.want.to, test.want.text = "FROM:<"+sender+">", "TO:<ops@bank.example>", got[0].text
			if diff := cmp.Diff(test.want, got[0], cmp.AllowUnexported(receivedMail{})); diff != "" {
				t.Errorf("arrived (-want +got):\n%s", diff)
			}
			reads(t, got[0].text, message)
		})
	}
}

func reads(t *testing.T, raw string, want mail.Message) {
	t.Helper()
	read, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	date, err := read.Header.Date()
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(read.Body))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{
		"From": read.Header.Get("From"), "To": read.Header.Get("To"), "Subject": subject, "ID": read.Header.Get("Message-ID"),
		"Auto": read.Header.Get("Auto-Submitted"), "Type": read.Header.Get("Content-Type"), "Date": date.UTC(), "Text": strings.ReplaceAll(string(body), "\r\n", "\n"),
	}
	if diff := cmp.Diff(map[string]any{
		"From": "<" + sender + ">", "To": "<" + want.To + ">", "Subject": want.Subject, "ID": "<" + want.ID + "@bank.example>",
		"Auto": "auto-generated", "Type": "text/plain; charset=UTF-8", "Date": want.Date, "Text": want.Text,
	}, got); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	names := []string{"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To"}
	var found []string
	for name, values := range read.Header {
		for range values {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	if diff := cmp.Diff(names, found); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

// TestSubjectAndTextInjectNoHeaders checks mails with hostile and unusual subjects and texts. A
// mail must have only the program's headers, and must not end early.
func TestSubjectAndTextInjectNoHeaders(t *testing.T) {
	for _, words := range []string{
		"a\r\nBcc: x@evil.example", "a\nBcc: x@evil.example\n\nbody", "a\rb", "é — 例え", strings.Repeat("long ", 100), "=?utf-8?q?x?=", "\x01\x7f",
		"a\r\n.\r\nMAIL FROM:<x@evil.example>", strings.Repeat("x", 3000), "",
	} {
		p := new(mailServer).open(t, false)
		m := message
		m.Subject, m.Text = words, words+"\n"
		if err := at(t, "smtp://"+p.address, nil).Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		got := p.mails()
		if len(got) != 1 || got[0].to != "TO:<ops@bank.example>" {
			t.Fatalf("%q: arrived %v", words, got)
		}
		for line := range strings.SplitSeq(got[0].text, "\r\n") {
			if len(line) > 998 || strings.ContainsFunc(line, func(r rune) bool { return r > 126 || r < 32 && r != '\t' }) {
				t.Errorf("%q: line %q", words, line)
			}
		}
		read, err := netmail.ReadMessage(strings.NewReader(got[0].text))
		if err != nil || len(read.Header) != 9 {
			t.Errorf("%q: %v, headers %v", words, err, read.Header)
		}
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	p := new(mailServer).open(t, false)
	for _, to := range []string{"", "x", "a@b.example>\r\nRCPT TO:<x@evil.example", "a@b.example, c@d.example"} {
		m := message
		m.To = to
		if err := at(t, "smtp://"+p.address, nil).Send(t.Context(), m); err == nil || to != "" && strings.Contains(err.Error(), to) {
			t.Errorf("%q: %v", to, err)
		}
	}
	if lines := p.receivedLines(); len(lines) > 0 {
		t.Errorf("the server heard %q", lines)
	}
}

func TestServersThatRefuse(t *testing.T) {
	secured, roots := certified(t)
	other, _ := certified(t)
	for name, test := range map[string]struct {
		mailServer *mailServer
		implicit   bool
		scheme     string
		query      string
		want       string
	}{
		"recipient":           {&mailServer{answers: map[string][]string{"RCPT": {"550 5.1.1 no ops@bank.example here"}}}, false, "smtp://", "", "the mail server refused the mail: 550 5.1.1"},
		"sender":              {&mailServer{answers: map[string][]string{"MAIL": {"553 no"}}}, false, "smtp://", "", "the mail server refused the mail: 553"},
		"for now":             {&mailServer{answers: map[string][]string{"RCPT": {"451 4.7.1 greylisted"}}}, false, "smtp://", "", "the mail server refused the mail: 451 4.7.1"},
		"data":                {&mailServer{answers: map[string][]string{"DATA": {"451 no"}}}, false, "smtp://", "", "the mail server refused the mail: 451"},
		"content":             {&mailServer{answers: map[string][]string{".": {"554 5.7.1 spam from ops@bank.example"}}}, false, "smtp://", "", "the mail server refused the mail: 554 5.7.1"},
		"greeting":            {&mailServer{answers: map[string][]string{"greeting": {"554 not for you, ops"}}}, false, "smtp://", "", "the mail server refused the SMTP session: 554"},
		"hello":               {&mailServer{answers: map[string][]string{"EHLO": {"550 no"}, "HELO": {"550 no"}}}, false, "smtp://", "", "the mail server refused the SMTP session: 550"},
		"password":            {&mailServer{user: "u", password: "right"}, false, "smtp://u:hunter2@", "", "the mail server refused the SMTP session: 535"},
		"no sign-in":          {&mailServer{}, false, "smtp://u:hunter2@", "", "the SMTP session with the mail server failed"},
		"no STARTTLS":         {&mailServer{}, false, "smtp://", "?tls=starttls", "the mail server does not offer STARTTLS"},
		"STARTTLS refused":    {&mailServer{tls: secured, answers: map[string][]string{"STARTTLS": {"454 later"}}}, false, "smtp://", "?tls=starttls", "the mail server refused the SMTP session: 454"},
		"certificate":         {&mailServer{tls: other}, false, "smtp://", "?tls=starttls", "the certificate of the mail server was refused"},
		"certificate, TLS":    {&mailServer{tls: other}, true, "smtps://", "", "the certificate of the mail server was refused"},
		"no TLS":              {&mailServer{}, false, "smtps://", "", "the SMTP session with the mail server failed"},
		"endless greeting":    {&mailServer{answers: map[string][]string{"greeting": {strings.Repeat("220-x\r\n", 1<<18)}}}, false, "smtp://", "", "the mail server sent too much text"},
		"endless line":        {&mailServer{answers: map[string][]string{"EHLO": {"250 " + strings.Repeat("x", 2<<20)}}}, false, "smtp://", "", "the mail server sent too much text"},
		"nonsense":            {&mailServer{answers: map[string][]string{"greeting": {"HTTP/1.1 200 OK"}}}, false, "smtp://", "", "the SMTP session with the mail server failed"},
		"header in the reply": {&mailServer{answers: map[string][]string{"RCPT": {"550-a\r\n550 ops@bank.example"}}}, false, "smtp://", "", "the mail server refused the mail: 550"},
	} {
		t.Run(name, func(t *testing.T) {
			p := test.mailServer.open(t, test.implicit)
			err := at(t, test.scheme+p.address+test.query, roots).Send(t.Context(), message)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if got := p.mails(); len(got) > 0 {
				t.Errorf("arrived %v", got)
			}
			for _, line := range p.receivedLines() {
				if strings.Contains(test.query, "starttls") && !slices.Contains([]string{"EHLO", "STARTTLS", "QUIT"}, strings.Fields(line)[0]) {
					t.Errorf("said %q in the open", line)
				}
			}
		})
	}
}

func TestAfterATemporaryFailureTheMailIsTheSame(t *testing.T) {
	p := (&mailServer{answers: map[string][]string{"RCPT": {"451 4.7.1 greylisted"}}}).open(t, false)
	s := at(t, "smtp://"+p.address, nil)
	if err := s.Send(t.Context(), message); err == nil {
		t.Fatal("taken over at once")
	}
	for range 2 {
		if err := s.Send(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	got := p.mails()
	if len(got) != 2 {
		t.Fatalf("arrived %v", got)
	}
	reads(t, got[0].text, message)
	reads(t, got[1].text, message)
}

func TestServersThatHang(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts the connection, but no program responds
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	urls := map[string]string{"silent": "smtp://" + silent.Addr().String(), "silent, TLS": "smtps://" + silent.Addr().String()}
	for _, verb := range []string{"EHLO", "MAIL", "RCPT", "DATA"} {
		urls[verb] = "smtp://" + (&mailServer{stuck: verb}).open(t, false).address
	}
	for name, url := range urls {
		t.Run(name, func(t *testing.T) {
			s := at(t, url, nil)
			s.Timeout = 50 * time.Millisecond
			if err := s.Send(t.Context(), message); err == nil || err.Error() != "the mail server did not respond in time" {
				t.Errorf("got %v", err)
			}
		})
		t.Run(name+", given up", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := at(t, url, nil).Send(ctx, message); err == nil || err.Error() != "the mail server did not respond in time" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnreachableMailServers(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	known := net.DefaultResolver
	defer func() { net.DefaultResolver = known }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no resolver")
	}}
	for url, want := range map[string]string{
		"smtp://" + gone.Addr().String():       "the mail server refused the connection",
		"smtp://mail.bank.example:25?tls=none": "the name of the mail server was not found",
	} {
		if err := at(t, url, nil).Send(t.Context(), message); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
