package delivery

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"passerelle"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

// These are the kinds of mails about webhooks.
const (
	// AlertMail reports that failures have stopped a webhook.
	AlertMail = "alert"
	// RecoveryMail reports, after an alert, that the webhook works again and no deliveries wait.
	RecoveryMail = "recovery"
	// HeldMail reports that the authentication provider of webhooks was deleted.
	HeldMail = "held"
)

// notice contains the mails about a webhook that are stored after a run.
type notice struct {
	// webhook is the webhook after the run, with the alarm to store.
	webhook store.Webhook
	mails   []store.Mail
}

// write stores a notice, unless it is nil.
func (n *notice) write(tx *store.Tx) error {
	if n == nil {
		return nil
	}
	tx.SetAlarm(n.webhook)
	for i := range n.mails {
		if err := tx.CreateMail(&n.mails[i]); err != nil {
			return err
		}
	}
	return nil
}

// notice decides which mails to store after a run. It reports a webhook that failures have stopped,
// if mailContent.due returns true. After such a mail, it reports the recovery, if
// mailContent.solved returns true. Only the holder of the lease may call it.
func (s *leaseSession) notice(ctx context.Context, to target, stopped bool) (*notice, error) {
	if !stopped && !to.webhook.Alarmed {
		return nil, nil
	}
	values, err := settings.Load(ctx, &s.d.DB.Reader, s.job.domain.ID)
	if err != nil {
		return nil, err
	}
	m := mailContent{domain: s.job.domain, values: values, now: to.clock.Now(s.d.Now())}
	if m.webhook, err = s.d.DB.Webhook(ctx, s.job.domain.ID, to.webhook.ID); err != nil {
		return nil, fmt.Errorf("load webhook %d: %w", to.webhook.ID, err)
	}
	if m.outage, err = s.d.DB.Outage(ctx, m.webhook); err != nil {
		return nil, fmt.Errorf("load the failures of webhook %d: %w", to.webhook.ID, err)
	}
	switch {
	case stopped && m.due():
		return m.notice(AlertMail), nil
	case !stopped && m.solved():
		return m.notice(RecoveryMail), nil
	}
	return nil, nil
}

// mailContent contains the data for mails about a webhook.
type mailContent struct {
	domain  passerelle.Domain
	values  settings.Values
	webhook store.Webhook
	outage  store.Outage
	now     time.Time
}

// due reports whether the domain has recipients and the last alert or recovery mail of the webhook,
// if any, is at least settings.AlertsFrequency days old.
func (m mailContent) due() bool {
	last := m.webhook.Alerted
	return len(m.recipients()) > 0 && (last == nil || !m.now.Before(last.Add(m.values.Days(settings.AlertsFrequency))))
}

// solved reports whether the reported failures are over: the last request succeeded, and no
// deliveries wait.
func (m mailContent) solved() bool {
	return m.webhook.Alarmed && m.webhook.ConsecutiveFailures == 0 && m.outage.Waiting == 0
}

// recipients returns the present addresses of the domain's managers.
func (m mailContent) recipients() []string { return m.values.List(settings.ManagerEmail) }

// notice returns one mail for each recipient. If a mail server refuses one recipient, the other
// recipients still get their mails. Without recipients, the notice only ends the alarm.
func (m mailContent) notice(kind string) *notice {
	n := &notice{webhook: m.webhook}
	n.webhook.Alarmed = kind == AlertMail
	for _, recipient := range m.recipients() {
		n.webhook.Alerted = &m.now
		n.mails = append(n.mails, store.Mail{
			Domain: m.domain.ID, Webhook: m.webhook.ID, Kind: kind, Recipient: recipient, Created: m.now,
			Subject: m.write(subjects[kind]), Text: m.write(texts[kind]),
		})
	}
	return n
}

// held returns the mails about webhooks whose provider is being deleted. Each recipient gets one
// mail about all of these webhooks.
func (m mailContent) held(webhooks []passerelle.WebhookID) []store.Mail {
	var mails []store.Mail
	if len(webhooks) == 0 {
		return nil
	}
	var names []string
	for _, id := range webhooks[:min(len(webhooks), shownUsers)] {
		names = append(names, strconv.FormatInt(int64(id), 10))
	}
	if len(webhooks) > shownUsers {
		names = append(names, "and others")
	}
	m.webhook.ID = webhooks[0]
	for _, recipient := range m.recipients() {
		mails = append(mails, store.Mail{
			Domain: m.domain.ID, Webhook: webhooks[0], Kind: HeldMail, Recipient: recipient, Created: m.now,
			Subject: m.write(subjects[HeldMail]), Text: strings.ReplaceAll(m.write(texts[HeldMail]), "{webhooks}", strings.Join(names, ", ")),
		})
	}
	return mails
}

// name returns the name of the domain on one line.
func (m mailContent) name() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, m.domain.Name)
}

// receiver returns the address of a webhook without its path and its query, because both may
// contain secrets.
func (m mailContent) receiver() string {
	u, err := url.Parse(m.webhook.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// write returns a text with its variables filled in.
func (m mailContent) write(text string) string {
	seconds := func(key string) string { return strconv.FormatInt(m.values.Int(key), 10) }
	since := m.webhook.Created
	if m.outage.Since != nil {
		since = *m.outage.Since
	}
	oldest := since
	if m.outage.Oldest != nil {
		oldest = *m.outage.Oldest
	}
	return strings.NewReplacer(
		"{domain}", m.name(), "{kind}", string(m.domain.Kind), "{base}", m.domain.BaseURL,
		"{id}", strconv.FormatInt(int64(m.webhook.ID), 10), "{event}", string(m.webhook.Event), "{receiver}", m.receiver(),
		"{since}", passerelle.FormatDateTime(since, m.values.Location()), "{zone}", m.values.Location().String(),
		"{oldest}", passerelle.FormatDateTime(oldest, m.values.Location()), "{argument}", quoted(m.name()),
		"{success}", m.moment(m.webhook.LastSuccess), "{failed}", m.moment(m.webhook.LastFailure),
		"{failures}", strconv.FormatInt(m.webhook.ConsecutiveFailures, 10), "{failure}", m.outage.Failure, "{waiting}", m.waiting(),
		"{interval}", seconds(settings.FlushInterval), "{timeout}", seconds(settings.DeliveryTimeout),
		"{days}", days(m.values.Valid(settings.AlertsFrequency)), "{key}", settings.AlertsFrequency,
	).Replace(text)
}

// days returns a number of days in words that can follow "every".
func days(text string) string {
	text = settings.PlainDays(text)
	if text == "1" {
		return "day"
	}
	return text + " days"
}

// quoted returns a text as one quoted argument of a shell command.
func quoted(argument string) string {
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

func (m mailContent) moment(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return passerelle.FormatDateTime(*t, m.values.Location())
}

func (m mailContent) waiting() string {
	if m.outage.Waiting > store.MaxWaiting {
		return fmt.Sprintf("more than %d", store.MaxWaiting)
	}
	return strconv.FormatInt(m.outage.Waiting, 10)
}

var subjects = map[string]string{
	AlertMail:    "Webhook {id} of {domain} is failing",
	RecoveryMail: "Webhook {id} of {domain} works again",
	HeldMail:     "Webhooks of {domain} send nothing",
}

const heading = `
Domain:             {domain} ({kind})
Webhook:            {id}, for {event}
Receiver:           {receiver}
`

// texts contains the mails of each kind. Times are in the domain's time and zone.
var texts = map[string]string{
	AlertMail: `The receiver of a webhook does not accept requests.
` + heading + `Failing since:      {since} ({zone})
Last success:       {success}
Failures in a row:  {failures}
Last failure:       {failure}
Deliveries waiting: {waiting}

Nothing is lost: waiting deliveries are retried every {interval} seconds until the receiver
answers with a 2xx status within {timeout} seconds. To see its answers:

  GET {base}/webhooks/{id}/logs

When the receiver works again, you can send the waiting deliveries at once:

  POST {base}/webhooks/{id}/recover
  {"since": "{oldest}"}

or with the command

  passerelle webhook recover {id} --domain {argument} --since '{oldest}'

You get another mail when everything has arrived. Until then, you get at most one every
{days}. The configuration key {key} changes this.
`,
	HeldMail: `The authentication provider of some webhooks was deleted. They send nothing until they
have another one. Events in the meantime are stored, and sent then.

Domain:             {domain} ({kind})
Webhooks:           {webhooks}

Give them another provider:

  PUT {base}/webhooks/{id}
  {"id_auth": 12}

or with the command

  passerelle webhook update {id} --domain {argument} --auth NAME
`,
	RecoveryMail: `The receiver of a webhook works again. All waiting deliveries have arrived, and
there is nothing to do.
` + heading + `Last failure:       {failed} ({zone})
Last success:       {success}
`,
}
