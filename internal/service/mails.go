package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"passerelle/internal/mail"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// Mailer sends mails. It is a mail server or, on a developer's machine, [ShownMails].
type Mailer interface {
	Send(ctx context.Context, m mail.Message) error
}

// ShownMails writes mails to the log instead of sending them. It omits their recipients.
type ShownMails struct{ Log *slog.Logger }

// Send writes a mail to the log.
func (s ShownMails) Send(ctx context.Context, m mail.Message) error {
	s.Log.InfoContext(ctx, "a mail that would be sent", "subject", m.Subject, "text", m.Text)
	return nil
}

const (
	mailEvery = 5 * time.Second
	// mailPass is the largest number of mails in one pass.
	mailPass = 100
	// mailLease is longer than the longest time to send a mail and record the result.
	mailLease = 2 * mail.Timeout
	// mailRecord limits the time to record the result of sending a mail.
	mailRecord = 10 * time.Second
	// firstMailPause is the pause after the first failed attempt to send a mail. Each later pause
	// is twice the previous pause, up to maxMailPause.
	firstMailPause = time.Minute
	maxMailPause   = time.Hour
)

// SendMails sends up to mailPass due mails, one after the other. A loop calls SendMails if the
// service has a Mailer. When the mail server refuses a mail, SendMails continues with the next one.
// If the process ends before it has recorded that a mail was sent, the service sends that mail
// again with the same id.
func (s *Service) SendMails(ctx context.Context) error {
	for range mailPass {
		m, err := s.claimMail(ctx)
		if err != nil || m == nil {
			return err
		}
		now := s.config.Now()
		sent := s.config.Mail.Send(ctx, mail.Message{
			ID: fmt.Sprintf("%d.%d.%d", m.Domain, m.ID, m.Created.UnixMicro()), To: m.Recipient, Subject: m.Subject, Text: m.Text, Date: now,
		})
		if err := s.recordMail(ctx, *m, sent); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) claimMail(ctx context.Context) (*store.Mail, error) {
	var m *store.Mail
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		tx.ClaimMail(s.config.Now(), mailLease, &m)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim a mail: %w", err)
	}
	return m, nil
}

// recordMail stores the result of sending a mail, even while the program stops.
func (s *Service) recordMail(ctx context.Context, m store.Mail, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mailRecord)
	defer cancel()
	if failure != nil {
		s.config.Log.WarnContext(ctx, "a mail was not sent; it will be tried again", "mail", m.ID, "domain", m.Domain, "attempts", m.Attempts, "error", failure)
	}
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		now := s.config.Now()
		if failure == nil {
			tx.MailSent(m, now)
		} else {
			tx.MailFailed(m, failure.Error(), now.Add(mailPause(m.Attempts)))
		}
		return nil
	})
	if errors.Is(err, store.ErrConflict) {
		return nil // sending took longer than the lease, so another process may send the mail again
	}
	if err != nil {
		return fmt.Errorf("record mail %d: %w", m.ID, err)
	}
	return nil
}

// mailPause returns the pause after a number of attempts.
func mailPause(attempts int64) time.Duration {
	pause := firstMailPause
	for n := int64(1); n < attempts && pause < maxMailPause; n++ {
		pause *= 2
	}
	return min(pause, maxMailPause)
}

// warnOfMails warns when a domain has addresses for mails but the service has no mail server.
func (s *Service) warnOfMails(ctx context.Context) error {
	if s.config.Mail != nil {
		return nil
	}
	wanted, err := s.DB.SettingExists(ctx, settings.ManagerEmail)
	if err != nil {
		return fmt.Errorf("find addresses of mails: %w", err)
	}
	if wanted {
		s.config.Log.WarnContext(ctx, "a domain has addresses for mails about its webhooks, but there is no mail server: the mails wait until the service is started with --smtp-url")
	}
	return nil
}
