// Package delivery sends webhooks.
//
// It owns requests to addresses that clients choose, the registration of webhooks and providers,
// and the built-in receiver. It also owns the time and the order in which events are sent, the
// handling of failures, and the form and signature of requests. It does not own events, their
// bodies, or the loop that calls this package.
//
// Each webhook has one sender at a time, which holds a lease in the database. A slow receiver does
// not delay other webhooks. A request is recorded after its response has arrived. If a sender
// crashes before it has recorded a request, or if its lease lapses, the next sender repeats the
// request. An event may therefore arrive more than once.
//
// An invalid registration fails with a *passerelle.Error that names the field. When a receiver
// fails, the attempt is recorded, and no error is returned. The service never gives up a delivery
// because of failures. A client that NewClient has made fails with ErrAddress when an address is
// not allowed.
package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/tracing"
)

// maxWebhooks limits the webhooks that a Sender or a call of RunDue serves at the same time. A
// webhook that waits for its receiver costs only goroutines and connections. The limit is high, so
// that healthy webhooks are served even when many receivers are unreachable.
const maxWebhooks = 1000

// Config contains the dependencies of the use cases. Every field is required, unless its comment
// says otherwise.
type Config struct {
	DB *store.DB
	// Client must come from NewClient.
	Client *http.Client
	// Now returns the real time. The clock of a sandbox domain converts it to the domain's time.
	Now func() time.Time
	// Random is the source of signing secrets.
	Random io.Reader
	// Name must differ from the names of all other processes on the database, including ended
	// processes.
	Name string
	// Agent is the User-Agent of requests, such as "Passerelle/1.2.0". Empty means "Passerelle".
	Agent string
	// Tracer continues the traces of events. Nil means no traces.
	Tracer *tracing.Tracer
	Log    *slog.Logger
}

// Delivery contains the use cases of webhooks. Create it with New. It is safe for concurrent use.
type Delivery struct {
	Config
	process *process
	// agent is the User-Agent as a header value. All requests share it.
	agent []string
}

// process contains the state that all senders of this process share.
type process struct {
	sessionCount atomic.Int64
	waiting      waiting
	dbLimiter    dbLimiter
	active       activeSessions
	keptLeases   keptLeases
	batches      batchWriters
	tokens       tokens
	trusts       trusts
}

// New returns the use cases. Call New once in a process for each database.
func New(config Config) *Delivery {
	return &Delivery{Config: config, process: &process{}, agent: []string{cmp.Or(config.Agent, "Passerelle")}}
}

// These are the subjects of audit records.
const (
	SubjectWebhook  = "webhook"
	SubjectProvider = "authentication provider"
	SubjectData     = "webhook data"
)

// These are acts in audit records. The console defines further acts.
const (
	ActRegisterWebhook   = "register webhook"
	ActChangeWebhook     = "change webhook"
	ActDeleteWebhook     = "delete webhook"
	ActDeleteAllWebhooks = "delete all webhooks"
	ActTestWebhook       = "test webhook"
	ActRecoverWebhook    = "recover webhook"
	ActResend            = "resend webhook data"

	ActRegisterProvider   = "register authentication provider"
	ActChangeProvider     = "change authentication provider"
	ActRotateProvider     = "rotate secret of authentication provider"
	ActDeleteProvider     = "delete authentication provider"
	ActDeleteAllProviders = "delete all authentication providers"
)

// Counts contains the numbers of accepted and failed requests during a call.
type Counts struct {
	// Delivered counts the accepted requests, and Failed counts the others.
	Delivered, Failed int
}

func (c *Counts) add(more Counts) {
	c.Delivered += more.Delivered
	c.Failed += more.Failed
}

// jobOptions contains the options of a job.
type jobOptions struct {
	// wait makes the job wait for the lease while another sender has it. Without wait, the job is
	// left to that sender.
	wait bool
	// more signals new deliveries during the job. It is nil when there is no such signal.
	more <-chan struct{}
}

// RunDue does the work that is due in a domain. It sends new deliveries, and runs the flusher once
// for each due webhook. It returns when this work has ended and this process has stored the mails
// about the webhooks that it serves, or when the context ends. It also waits for other senders of
// these webhooks. If more than maxWebhooks webhooks have work, a call may leave some of them to the
// next call.
func (d *Delivery) RunDue(ctx context.Context, domain passerelle.Domain) (Counts, error) {
	jobs, err := d.jobs(ctx, domain)
	if err != nil {
		return Counts{}, err
	}
	return d.serveAll(ctx, jobs)
}

// job is the work for one webhook. troubled means that deliveries to this webhook have failed.
type job struct {
	domain   passerelle.Domain
	webhook  passerelle.WebhookID
	troubled bool
}

// jobs lists a domain's webhooks that have work. It also lists the webhooks that this process is
// serving, because their sessions may still have to store mails. It reads the webhooks with work
// before the webhooks that are being served. It therefore also lists the webhook of a session that
// begins and ends between the two reads.
func (d *Delivery) jobs(ctx context.Context, domain passerelle.Domain) ([]job, error) {
	fresh, err := d.withNewDeliveries(ctx, domain)
	if err != nil {
		return nil, err
	}
	late, err := d.due(ctx, domain)
	return distinct(slices.Concat(fresh, late, d.process.active.jobs(domain))), err
}

// withNewDeliveries lists a domain's webhooks that have new deliveries.
func (d *Delivery) withNewDeliveries(ctx context.Context, domain passerelle.Domain) ([]job, error) {
	fresh, err := d.DB.WebhooksWithFirstTries(ctx, domain.ID, maxWebhooks)
	if err != nil {
		return nil, fmt.Errorf("list webhooks with new deliveries: %w", err)
	}
	return distinct(jobsOf(domain, fresh)), nil
}

// due lists the webhooks whose flusher is due, and the webhooks with deliveries that are no longer
// held back.
func (d *Delivery) due(ctx context.Context, domain passerelle.Domain) ([]job, error) {
	var jobs []job
	now := d.now(domain)
	freed, err := d.freeHeldBack(ctx, domain, now)
	if err == nil && freed {
		jobs, err = d.withNewDeliveries(ctx, domain)
	}
	if err != nil {
		return nil, err
	}
	due, err := d.DB.WebhooksToFlush(ctx, domain.ID, now, maxWebhooks)
	if err != nil {
		return nil, fmt.Errorf("list webhooks to flush: %w", err)
	}
	return distinct(append(jobs, jobsOf(domain, due)...)), nil
}

// freeBatch limits the held back deliveries that one transaction releases.
const freeBatch = 1000

// freeHeldBack releases the held back deliveries that are due. It reports whether it released a
// delivery.
func (d *Delivery) freeHeldBack(ctx context.Context, domain passerelle.Domain, now time.Time) (bool, error) {
	var freed bool
	for ; ; freed = true {
		due, err := d.DB.AnyHeldBackDue(ctx, domain.ID, now)
		if err != nil {
			return freed, fmt.Errorf("find deliveries held back: %w", err)
		}
		if !due {
			return freed, nil
		}
		err = d.DB.Write(ctx, func(tx *store.Tx) error {
			tx.FreeHeldBack(domain.ID, now, freeBatch)
			return nil
		})
		if err != nil {
			return freed, fmt.Errorf("free deliveries held back: %w", err)
		}
	}
}

func jobsOf(domain passerelle.Domain, webhooks []store.Webhook) []job {
	var jobs []job
	for _, w := range webhooks {
		jobs = append(jobs, job{domain: domain, webhook: w.ID, troubled: w.NextFlush != nil})
	}
	return jobs
}

// distinct returns each webhook once, healthy webhooks first.
func distinct(all []job) []job {
	var jobs []job
	seen := map[passerelle.WebhookID]bool{}
	for _, j := range all {
		if !seen[j.webhook] {
			jobs = append(jobs, j)
		}
		seen[j.webhook] = true
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(rank(a), rank(b)) })
	return jobs
}

func rank(j job) int {
	if j.troubled {
		return 1
	}
	return 0
}

// serveAll runs jobs, each in a separate goroutine, and returns when all have ended. A failed job
// does not affect the others.
func (d *Delivery) serveAll(ctx context.Context, jobs []job) (Counts, error) {
	var (
		mu      sync.Mutex
		total   Counts
		errs    []error
		working sync.WaitGroup
	)
	room := make(chan struct{}, maxWebhooks)
	for _, j := range jobs {
		room <- struct{}{}
		working.Go(func() {
			defer func() { <-room }()
			counts, err := d.serve(ctx, j, jobOptions{wait: true})
			mu.Lock()
			defer mu.Unlock()
			total.add(counts)
			errs = append(errs, err)
		})
	}
	working.Wait()
	return total, errors.Join(append(errs, ctx.Err())...)
}

// now returns the present instant of a domain.
func (d *Delivery) now(domain passerelle.Domain) time.Time { return domain.Clock.Now(d.Now()) }
