package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passerelle"
	"passerelle/internal/keys"
	"passerelle/internal/mail"
	"passerelle/internal/service"
	"passerelle/internal/servicetest"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

type shownMail struct {
	ID        int64
	IDWebhook int64 `json:"id_webhook"`
	Kind      string
	Recipient string
	Subject   string
	Text      string
	Created   string
	Sent      bool
	Attempts  int64   `json:"attempt_count"`
	Error     *string `json:"error"`
}

// outage is a sandbox with a frozen clock and a webhook.
type outage struct {
	*servicetest.Instance
	t       *testing.T
	status  atomic.Int64
	webhook int64
	url     string
	token   string
}

func newOutage(t *testing.T, s *servicetest.Instance) *outage {
	t.Helper()
	o := &outage{Instance: s, t: t, token: s.Token("payments:admin")}
	o.status.Store(http.StatusInternalServerError)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(o.status.Load())) }))
	t.Cleanup(receiver.Close)
	o.url = receiver.URL
	o.clock(`{"freeze":true}`)
	o.clock(`{"set":"2027-01-01 00:00:00"}`)
	var webhook struct{ ID int64 }
	s.JSON(s.OK(s.Call("POST", "/webhooks", s.ConfigToken, map[string]any{
		"event": "PAYMENT_STATE_UPDATED", "url": o.url + "/hook/secret-path?key=secret-query",
	})), &webhook)
	o.webhook = webhook.ID
	o.set(map[string]string{settings.FlushInterval: "60"}) // seconds; the tests advance the clock by at least this time
	return o
}

func (o *outage) clock(body string) {
	o.t.Helper()
	o.OK(o.Call("POST", "/sandbox/clock", o.ConfigToken, body))
}

func (o *outage) advance(by string) {
	o.t.Helper()
	o.clock(`{"advance":"` + by + `"}`)
}

func (o *outage) set(values map[string]string) {
	o.t.Helper()
	if err := settings.Set(o.t.Context(), o.DB, o.Domain.ID, values, time.Now()); err != nil {
		o.t.Fatal(err)
	}
}

func (o *outage) happen(count int) {
	o.t.Helper()
	for range count {
		id := o.Create(o.token, servicetest.Draft())
		o.OK(o.Call("POST", fmt.Sprintf("/sandbox/payments/%d/simulate", id), o.ConfigToken, `{"state":"expired"}`))
	}
	o.OK(o.Call("POST", "/sandbox/run", o.ConfigToken, nil))
}

func (o *outage) mails() []shownMail {
	o.t.Helper()
	var out struct {
		Mails []shownMail
		Total int
	}
	o.JSON(o.OK(o.Call("GET", "/sandbox/mails", o.ConfigToken, nil)), &out)
	if out.Total != len(out.Mails) {
		o.t.Errorf("total %d of %d mails", out.Total, len(out.Mails))
	}
	return out.Mails
}

func (o *outage) wants(when string, kinds ...string) {
	o.t.Helper()
	var got []string
	for _, m := range o.mails() {
		got = append(got, m.Kind)
	}
	slices.Reverse(got)
	if !slices.Equal(kinds, got) {
		o.t.Errorf("%s: mails %q, want %q", when, got, kinds)
	}
}

func TestAlertsAreFewAndARecoveryFollows(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		o := newOutage(t, s)
		o.set(map[string]string{settings.ManagerEmail: "ops@bank.example", settings.AlertsFrequency: "0.5"})
		o.happen(9)
		o.wants("nine failures")
		o.happen(3)
		o.wants("ten failures", "alert")
		for range 3 {
			o.advance("2m")
		}
		o.wants("more runs", "alert")
		o.advance("11h53m")
		o.wants("just inside the interval", "alert")
		o.advance("1m")
		o.wants("after the interval", "alert", "alert")
		o.status.Store(http.StatusOK)
		o.advance("2m")
		o.wants("works again", "alert", "alert", "recovery")
		o.happen(1)
		o.advance("2m")
		o.wants("still well", "alert", "alert", "recovery")
		o.status.Store(http.StatusInternalServerError)
		o.happen(10)
		o.advance("2m")
		o.wants("ill inside the interval", "alert", "alert", "recovery")
		o.status.Store(http.StatusOK)
		o.advance("2m")
		o.wants("well before anybody was told", "alert", "alert", "recovery")
		o.status.Store(http.StatusInternalServerError)
		o.advance("12h")
		o.happen(10)
		o.wants("ill after the interval", "alert", "alert", "recovery", "alert")
	})
}

func TestNoMailWithoutAnAddress(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		o := newOutage(t, s)
		o.happen(10)
		o.wants("without an address")
		o.set(map[string]string{settings.ManagerEmail: "a@bank.example, b@bank.example"})
		o.advance("2m")
		o.wants("with two", "alert", "alert")
		o.set(map[string]string{settings.ManagerEmail: ""})
		o.status.Store(http.StatusOK)
		o.advance("2m")
		o.wants("without an address again", "alert", "alert")
		o.set(map[string]string{settings.ManagerEmail: "a@bank.example"})
		o.happen(1)
		o.advance("2m")
		o.wants("too late for a recovery", "alert", "alert")
		got := o.mails()
		if got[0].Recipient != "b@bank.example" || got[1].Recipient != "a@bank.example" {
			t.Errorf("mails to %s and %s", got[0].Recipient, got[1].Recipient)
		}
	})
}

func TestMailsSayWhatThereIsToDo(t *testing.T) {
	servicetest.Each(t, servicetest.Options{}, func(t *testing.T, s *servicetest.Instance) {
		o := newOutage(t, s)
		o.set(map[string]string{settings.ManagerEmail: "ops@bank.example", settings.Timezone: "Europe/Paris"})
		o.status.Store(http.StatusOK)
		o.happen(1)
		o.advance("1h")
		o.status.Store(http.StatusServiceUnavailable)
		o.happen(12)
		o.status.Store(http.StatusOK)
		o.advance("2m")
		mails := o.mails()
		want := []shownMail{{
			IDWebhook: o.webhook, Kind: "recovery", Recipient: "ops@bank.example", Created: "2027-01-01 02:02:00",
			Subject: fmt.Sprintf("Webhook %d of test works again", o.webhook),
			Text: fmt.Sprintf(`The receiver of a webhook works again. All waiting deliveries have arrived, and
there is nothing to do.

Domain:             test (sandbox)
Webhook:            %d, for PAYMENT_STATE_UPDATED
Receiver:           %s
Last failure:       2027-01-01 02:00:00 (Europe/Paris)
Last success:       2027-01-01 02:02:00
`, o.webhook, o.url),
		}, {
			IDWebhook: o.webhook, Kind: "alert", Recipient: "ops@bank.example", Created: "2027-01-01 02:00:00",
			Subject: fmt.Sprintf("Webhook %d of test is failing", o.webhook),
			Text: fmt.Sprintf(`The receiver of a webhook does not accept requests.

Domain:             test (sandbox)
Webhook:            %[1]d, for PAYMENT_STATE_UPDATED
Receiver:           %[2]s
Failing since:      2027-01-01 02:00:00 (Europe/Paris)
Last success:       2027-01-01 01:00:00
Failures in a row:  10
Last failure:       status 503
Deliveries waiting: 10

Nothing is lost: waiting deliveries are retried every 60 seconds until the receiver
answers with a 2xx status within 10 seconds. To see its answers:

  GET %[3]s/webhooks/%[1]d/logs

When the receiver works again, you can send the waiting deliveries at once:

  POST %[3]s/webhooks/%[1]d/recover
  {"since": "2027-01-01 02:00:00"}

or with the command

  passerelle webhook recover %[1]d --domain 'test' --since '2027-01-01 02:00:00'

You get another mail when everything has arrived. Until then, you get at most one every
day. The configuration key webhooks.alerts_frequency changes this.
`, o.webhook, o.url, s.Base),
		}}
		if len(mails) == 2 {
			mails[0].ID, mails[1].ID = 0, 0
			// The number of waiting deliveries at the tenth failure varies.
			for _, count := range []string{"11", "12"} {
				mails[1].Text = strings.Replace(mails[1].Text, "waiting: "+count, "waiting: 10", 1)
			}
		}
		if diff := cmp.Diff(want, mails); diff != "" {
			t.Errorf("mails (-want +got):\n%s", diff)
		}
		if logs := s.Logs.String(); strings.Contains(logs, "ops@bank") || strings.Contains(logs, "secret-") {
			t.Error("the log has an address")
		}
	})
}

type senderFunc func(ctx context.Context, m mail.Message) error

func (p senderFunc) Send(ctx context.Context, m mail.Message) error { return p(ctx, m) }

// outbox is a service without loops, with a mailer.
type outbox struct {
	*service.Service
	t      *testing.T
	now    time.Time
	domain passerelle.Domain
	send   senderFunc
	sent   []string
	log    bytes.Buffer
}

func onEachOutbox(t *testing.T, run func(t *testing.T, o *outbox)) {
	storetest.Each(t, func(t *testing.T, url string) {
		o := &outbox{t: t, now: time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)}
		o.send = func(context.Context, mail.Message) error { return nil }
		o.Service = opened(t, service.Config{
			Database: url, Keys: keys.Generate(), Now: func() time.Time { return o.now }, Log: slog.New(slog.NewTextHandler(&o.log, nil)),
			Mail: senderFunc(func(ctx context.Context, m mail.Message) error {
				o.sent = append(o.sent, m.Subject)
				return o.send(ctx, m)
			}),
		})
		d, err := o.FirstDomain(t.Context(), "shop", passerelle.Live, "https://shop.example/2.0")
		if err != nil {
			t.Fatal(err)
		}
		o.domain = d
		run(t, o)
	})
}

func (o *outbox) write(subject string) {
	o.t.Helper()
	m := store.Mail{Domain: o.domain.ID, Kind: "alert", Recipient: "ops@bank.example", Subject: subject, Text: "t", Created: o.now}
	if err := o.DB.Write(o.t.Context(), func(tx *store.Tx) error { return tx.CreateMail(&m) }); err != nil {
		o.t.Fatal(err)
	}
}

func (o *outbox) pass(want ...string) {
	o.t.Helper()
	if err := o.SendMails(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	if !slices.Equal(want, o.sent) {
		o.t.Errorf("sent %q, want %q", o.sent, want)
	}
	o.sent = nil
}

func (o *outbox) stored() []store.Mail {
	o.t.Helper()
	mails, err := o.DB.Mails(o.t.Context(), o.domain.ID, store.Window{Limit: 100})
	if err != nil {
		o.t.Fatal(err)
	}
	return mails
}

func TestMailsAreSentOnce(t *testing.T) {
	onEachOutbox(t, func(t *testing.T, o *outbox) {
		var got []mail.Message
		o.send = func(_ context.Context, m mail.Message) error {
			got = append(got, m)
			return nil
		}
		o.write("first")
		o.write("second")
		o.pass("first", "second")
		o.pass()
		o.now = o.now.Add(24 * time.Hour)
		o.pass()
		if len(got) != 2 || got[0].ID == got[1].ID || got[0].To != "ops@bank.example" || got[0].Text != "t" || !got[0].Date.Equal(o.now.Add(-24*time.Hour)) {
			t.Errorf("sent %+v", got)
		}
		for _, m := range o.stored() {
			if m.Sent == nil || m.Attempts != 1 || m.Failure != "" {
				t.Errorf("stored %+v", m)
			}
		}
	})
}

// TestMailsAreTriedAgain: the pauses between attempts grow from a minute to an hour.
func TestMailsAreTriedAgain(t *testing.T) {
	onEachOutbox(t, func(t *testing.T, o *outbox) {
		var ids []string
		o.send = func(_ context.Context, m mail.Message) error {
			ids = append(ids, m.ID)
			return errors.New("the mail server refused the mail: 451")
		}
		o.write("a")
		o.pass("a")
		for _, minutes := range []int{1, 2, 4, 8, 16, 32, 60, 60, 60} {
			o.now = o.now.Add(time.Duration(minutes)*time.Minute - time.Microsecond)
			o.pass()
			o.now = o.now.Add(time.Microsecond)
			o.pass("a")
		}
		if m := o.stored()[0]; m.Failure != "the mail server refused the mail: 451" || m.Attempts != 10 || m.Sent != nil {
			t.Errorf("stored %+v", m)
		}
		o.send = func(context.Context, mail.Message) error { return nil }
		o.now = o.now.Add(time.Hour)
		o.pass("a")
		if m := o.stored()[0]; m.Failure != "" || m.Attempts != 11 || m.Sent == nil {
			t.Errorf("stored %+v", m)
		}
		if len(slices.Compact(ids)) != 1 {
			t.Errorf("ids %q of one mail", ids)
		}
		if log := o.log.String(); !strings.Contains(log, "a mail was not sent") || strings.Contains(log, "ops@bank") {
			t.Errorf("log %s", log)
		}
	})
}

func TestARefusedMailDoesNotHoldOthersUp(t *testing.T) {
	onEachOutbox(t, func(t *testing.T, o *outbox) {
		o.send = func(_ context.Context, m mail.Message) error {
			if m.Subject == "bad" {
				return errors.New("the mail server refused the mail: 550")
			}
			return nil
		}
		o.write("bad")
		o.write("good")
		o.pass("bad", "good")
		o.write("later")
		o.pass("later")
		o.now = o.now.Add(time.Minute)
		o.write("last")
		o.pass("last", "bad")
	})
}

// TestTwoSendersShareTheMails checks that a sender skips a mail while another sender sends it.
func TestTwoSendersShareTheMails(t *testing.T) {
	onEachOutbox(t, func(t *testing.T, o *outbox) {
		o.send = func(ctx context.Context, m mail.Message) error {
			if m.Subject == "a" {
				return o.SendMails(ctx)
			}
			return nil
		}
		o.write("a")
		o.write("b")
		o.pass("a", "b")
		o.pass()
	})
}

func TestAMailThatWasCutOffIsSentAgain(t *testing.T) {
	onEachOutbox(t, func(t *testing.T, o *outbox) {
		ctx, cancel := context.WithCancel(t.Context())
		o.send = func(ctx context.Context, _ mail.Message) error {
			cancel()
			return ctx.Err()
		}
		o.write("a")
		o.write("b")
		if err := o.SendMails(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		o.send, o.sent = func(context.Context, mail.Message) error { return nil }, nil
		o.pass("b")
		o.now = o.now.Add(time.Minute)
		o.pass("a")
	})
}

func TestWithoutAMailServer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		ring := keys.Generate()
		for name, test := range map[string]struct {
			mailer  service.Mailer
			address string
			warned  bool
		}{
			"nobody to tell":          {nil, "", false},
			"somebody to tell":        {nil, "ops@bank.example", true},
			"with a server, somebody": {senderFunc(nil), "ops@bank.example", false},
		} {
			t.Run(name, func(t *testing.T) {
				var log bytes.Buffer
				prepare := opened(t, service.Config{Database: url, Keys: ring})
				d, err := prepare.FirstDomain(t.Context(), "shop", passerelle.Live, "https://shop.example/2.0")
				err = errors.Join(err, settings.Set(t.Context(), prepare.DB, d.ID, map[string]string{settings.ManagerEmail: test.address}, time.Now()), prepare.Stop(t.Context()))
				if err != nil {
					t.Fatal(err)
				}
				s := opened(t, service.Config{Database: url, Keys: ring, Mail: test.mailer, Log: slog.New(slog.NewTextHandler(&log, nil))})
				defer s.Stop(t.Context())
				if warned := strings.Count(log.String(), "--smtp-url") == 1; warned != test.warned || strings.Contains(log.String(), "ops@bank") {
					t.Errorf("log %q", log.String())
				}
			})
		}
	})
}

func TestShownMails(t *testing.T) {
	var log bytes.Buffer
	shown := service.ShownMails{Log: slog.New(slog.NewJSONHandler(&log, nil))}
	if err := shown.Send(t.Context(), mail.Message{To: "ops@bank.example", Subject: "s", Text: "a\nb"}); err != nil {
		t.Fatal(err)
	}
	var line map[string]string
	if err := json.Unmarshal(log.Bytes(), &line); err != nil || line["level"] != "INFO" || line["subject"] != "s" || line["text"] != "a\nb" || strings.Contains(log.String(), "ops@bank") {
		t.Errorf("shown %s, %v", log.String(), err)
	}
}
