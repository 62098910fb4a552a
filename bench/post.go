package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"passerelle"
	"passerelle/internal/delivery"
	"passerelle/internal/keys"
	"passerelle/internal/store"
	"passerelle/webhook"
)

// posts returns the rows about large numbers of waiting deliveries.
func posts() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		for _, receivers := range []int{1, 100} {
			all = append(all, row{
				name: fmt.Sprintf("deliver a backlog of 100000 to %d receivers, %s", receivers, kind), goal: map[string]float64{sqlite: 0.6, postgres: 0.8}[kind],
				limit: "sign and post the same bodies, as many at once, insert and mark in batches by the bare driver",
				open: func(ctx context.Context, p *place) (side, side, error) {
					return postBesideLimit(ctx, p, kind, receivers)
				},
			})
		}
	}
	return all
}

const (
	backlogOf = 100_000
	// inFlight is the number of concurrent requests to one receiver.
	inFlight = 8
	// batchOf is the number of sent requests that are recorded together.
	batchOf = 256
	// agent is the User-Agent of both sides. It is as long as that of a release.
	agent = "Passerelle/0.1.0"
)

func postBesideLimit(ctx context.Context, p *place, kind string, receivers int) (side, side, error) {
	events := max(1, p.amount(backlogOf)/receivers)
	o, err := p.sendingService(ctx, kind, receivers)
	if err != nil {
		return nil, nil, err
	}
	bare, err := p.sendingService(ctx, kind, receivers)
	if err != nil {
		return nil, nil, err
	}
	b := &poster{sendingService: bare, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: inFlight}}}
	if b.reader, err = p.bareReader(ctx, kind, bare.database); err != nil {
		return nil, nil, err
	}
	b.writer, err = p.writerTo(ctx, kind, bare.database)
	return o.posting(events), b.posting(events), err
}

// sendingService is the sender of webhooks without the rest of the service, so that a backlog can
// grow before the sender starts.
type sendingService struct {
	*delivery.Delivery
	kind, database string
	domain         passerelle.Domain
	receivers      []string
	subject        int64
}

func (p *place) sendingService(ctx context.Context, kind string, receivers int, with ...func(*delivery.Config)) (*sendingService, error) {
	database, err := p.database(ctx, kind)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, database, store.Options{Keys: keys.Generate()})
	if err != nil {
		return nil, err
	}
	p.later(db.Close)
	o := &sendingService{kind: kind, database: database, domain: passerelle.Domain{Name: "bench", Kind: passerelle.Sandbox, BaseURL: "http://bench/2.0", Created: time.Now()}}
	config := delivery.Config{
		DB: db, Client: delivery.NewClient(delivery.Outbound{Loopback: true}), Now: time.Now, Random: rand.Reader, Name: "bench", Agent: agent, Log: slog.New(slog.DiscardHandler),
	}
	for _, change := range with {
		change(&config)
	}
	o.Delivery = delivery.New(config)
	if err := db.Database.Migrate(ctx); err != nil {
		return nil, err
	}
	if err := db.Write(ctx, func(tx *store.Tx) error { return tx.CreateDomain(&o.domain, "bench") }); err != nil {
		return nil, err
	}
	if _, err := o.RegisterProvider(ctx, o.domain, "bench", "bench"); err != nil {
		return nil, err
	}
	for range receivers {
		if err := o.receiver(ctx, p); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *sendingService) receiver(ctx context.Context, p *place) error {
	origin, err := p.serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	if err != nil {
		return err
	}
	o.receivers = append(o.receivers, origin)
	_, err = o.Register(ctx, o.domain, delivery.Registration{Event: string(webhook.PaymentStateUpdated), URL: origin, Auth: "bench"})
	return err
}

// backlog stores events, each about a different payment.
func (o *sendingService) backlog(ctx context.Context, events int) error {
	const together = 500
	for first := 0; first < events; first += together {
		traced, span := o.Tracer.Serve(ctx, http.Header{})
		err := o.DB.Write(traced, func(tx *store.Tx) error {
			var err error
			for range min(together, events-first) {
				o.subject++
				err = errors.Join(err, tx.Emit(o.event(o.subject)))
			}
			return err
		})
		span.End(err)
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *sendingService) event(subject int64) store.EmittedEvent {
	return eventOf(o.domain.ID, subject)
}

// eventOf returns an event about a payment. It is about as long as a real event.
func eventOf(domain passerelle.DomainID, subject int64) store.EmittedEvent {
	return store.EmittedEvent{
		Domain: domain, Name: webhook.PaymentStateUpdated, Subject: "payment", SubjectID: subject, Version: 1, Created: time.Now(),
		Body: fmt.Appendf(nil, `{"id":%d,"state":"done","client_state":"%s"}`, subject, bytes.Repeat([]byte("x"), 1100)),
	}
}

// posting returns a side in which the sender sends everything that is due.
func (o *sendingService) posting(events int) side {
	return func(ctx context.Context) (measured, error) {
		if err := o.backlog(ctx, events); err != nil {
			return measured{}, err
		}
		n := events * len(o.receivers)
		return timed(n, func() error {
			counts, err := o.RunDue(ctx, o.domain)
			if err == nil && counts.Delivered != n {
				err = fmt.Errorf("%d of %d were delivered, %d failed", counts.Delivered, n, counts.Failed)
			}
			return err
		})
	}
}

// poster is the limit program for deliveries. It reads the events before the measurement begins.
type poster struct {
	*sendingService
	client *http.Client
	reader bareReader
	writer bareWriter
}

// sentDelivery is a delivery with the start, the duration and the signature of its request.
type sentDelivery struct {
	id, webhook int64
	body        []byte
	at          time.Time
	took        time.Duration
	signature   webhook.Signature
}

func (b *poster) posting(events int) side {
	return func(ctx context.Context) (measured, error) {
		if err := b.backlog(ctx, events); err != nil {
			return measured{}, err
		}
		sent := map[int64][]sentDelivery{}
		const undelivered = `SELECT d.id, d.webhook_id, e.body FROM delivery d JOIN event e ON e.id = d.event_id WHERE d.delivered IS NULL ORDER BY d.id`
		err := b.reader.each(ctx, undelivered, nil, func(scan func(...any) error) error {
			var l sentDelivery
			err := scan(&l.id, &l.webhook, &l.body)
			sent[l.webhook] = append(sent[l.webhook], l)
			return err
		})
		if err != nil {
			return measured{}, err
		}
		return timed(events*len(b.receivers), func() error { return b.postAll(ctx, sent) })
	}
}

// postAll sends all deliveries, with inFlight concurrent requests to each receiver.
func (b *poster) postAll(ctx context.Context, batches map[int64][]sentDelivery) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	sent := make(chan sentDelivery, batchOf)
	var working sync.WaitGroup
	for _, all := range batches {
		queue := make(chan sentDelivery, len(all))
		for _, l := range all {
			queue <- l
		}
		close(queue)
		for range inFlight {
			working.Go(func() { b.carry(ctx, queue, sent, stop) })
		}
	}
	go func() { working.Wait(); close(sent) }()
	for b.record(ctx, sent, stop) {
	}
	return context.Cause(ctx)
}

func (b *poster) carry(ctx context.Context, queue <-chan sentDelivery, sent chan<- sentDelivery, stop context.CancelCauseFunc) {
	for l := range queue {
		if err := b.post(ctx, &l); err != nil {
			stop(err)
			return
		}
		sent <- l
	}
}

func (b *poster) post(ctx context.Context, l *sentDelivery) error {
	l.at = time.Now()
	body := append(fmt.Appendf(nil, `{"id_webhook_data":%d,`, l.id), l.body[1:]...)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.receivers[int(l.webhook-1)%len(b.receivers)], bytes.NewReader(body))
	if err != nil {
		return err
	}
	l.signature = webhook.Sign("0123456789abcdef0123456789abcdef", "/", l.at, body)
	r.Header = http.Header{
		"Accept": {"*/*"}, "Content-Type": {"application/json; charset=utf-8"}, "User-Agent": {agent},
		"SVC-Event": {string(webhook.PaymentStateUpdated)}, "SVC-Webhook-Id": {number(l.webhook)}, "SVC-Delivery-Attempt": {"1"},
		"SVC-Signature": {l.signature.Value}, "SVC-Signature-Date": {l.signature.Date}, "BI-Signature": {l.signature.Value}, "BI-Signature-Date": {l.signature.Date},
	}
	answer, err := b.client.Do(r)
	if err != nil {
		return err
	}
	l.took = time.Since(l.at)
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// record stores a batch of sent deliveries. It returns false when none are left.
func (b *poster) record(ctx context.Context, sent <-chan sentDelivery, stop context.CancelCauseFunc) bool {
	var batch []sentDelivery
	for l := range sent {
		if batch = append(batch, l); len(batch) == batchOf {
			break
		}
	}
	if len(batch) == 0 {
		return false
	}
	insert, mark := []byte(`INSERT INTO delivery_attempt (domain_id, webhook_id, delivery_id, at, duration, status, signed, signature) VALUES `), []byte(`UPDATE delivery SET attempts = attempts + 1, delivered = `+b.parameter(1)+` WHERE domain_id = 1 AND id IN (`)
	values, ids := []any{}, []any{time.Now().UnixMicro()}
	for i, l := range batch {
		separator := ","
		if i == 0 {
			separator = ""
		}
		n := len(values)
		insert = fmt.Appendf(insert, "%s(1, %s, %s, %s, %s, 200, %s, %s)", separator, b.parameter(n+1), b.parameter(n+2), b.parameter(n+3), b.parameter(n+4), b.parameter(n+5), b.parameter(n+6))
		values = append(values, l.webhook, l.id, l.at.UnixMicro(), l.took.Microseconds(), webhook.Opening("/", l.signature.Date), l.signature.Value)
		mark = append(append(mark, separator...), b.parameter(i+2)...)
		ids = append(ids, l.id)
	}
	if err := b.writer.write(ctx, []statement{{string(insert), values}, {string(mark) + ")", ids}}); err != nil {
		stop(err)
	}
	return true
}

// parameter returns the placeholder of the nth argument. Statements here use each argument once and
// in order. For SQLite, a placeholder with a number is a name, and the driver searches all names
// for each argument.
func (b *poster) parameter(n int) string {
	if b.kind == sqlite {
		return "?"
	}
	return "$" + number(int64(n))
}
