package delivery

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

const (
	// pageSize is how many deliveries are read together, and half of it how few
	// are waiting to be sent when the next page is.
	pageSize = 64
	// maxBatch and batchTime bound what was answered and is not on record: with
	// what is under way, it is what a crash repeats.
	maxBatch  = 1000
	batchTime = time.Second
	// fullBatch and patience are how many accounts, and how long, the recording
	// waits for while there is more to send: a transaction for each account would
	// cost more than sending does.
	fullBatch   = 4 * pageSize
	recordDelay = 100 * time.Millisecond
	// keepLeaseTime is how long a lease is kept for the next event.
	keepLeaseTime = 200 * time.Millisecond
)

// queued is a delivery on its way, to where its page found that it goes.
type queued struct {
	store.Delivery
	to *target
	// place counts what the flusher tries in a run; it is zero for news.
	place int
}

// result is what came of sending a parcel. It does not hold the body, of which
// many would wait for their record.
type result struct {
	delivery passerelle.DeliveryID
	event    int64
	user     passerelle.UserID
	place    int
	attempt  store.DeliveryAttempt
}

// sendLoop is what happens in a turn: while requests are under way, pages are read and
// recorded are stored, one page and one account at a time. A page may have what came
// on record while it was being read, which is not sent again. Only the goroutine of
// the turn touches the fields; the others bring it what they have found. A delivery is
// not sent before the success of its predecessor is on record, since only then a page
// has it.
type sendLoop struct {
	session *leaseSession
	limit   concurrency
	// due is since when this run of the flusher is, nil when it is none; stopped
	// tells that failures ended the last one and nothing was accepted since.
	due             *time.Time
	stopped         bool
	newest, overdue scan
	last            *scan // read from last
	more            <-chan struct{}
	// firstPage is the webhook as it was when the last way through the news began,
	// and to as it was on the last page.
	firstPage page
	to        target
	// longest is the lease that the slowest of what was sent may need.
	longest time.Duration

	queue []queued
	// places counts what the flusher has tried; furthest is the last that came
	// on record.
	places, furthest int
	// taken is in the queue, under way, or answered and not on record; failed
	// was tried and not accepted. No page leads to them again. What came on record
	// while a page is being read is over, and taken until the page is there.
	taken, failed map[passerelle.DeliveryID]bool
	recordedIDs   []passerelle.DeliveryID

	underWay           int
	answered           []result
	void               []passerelle.DeliveryID
	unrecorded         int       // answered, and those being recorded
	since              time.Time // when the oldest of them was answered
	reading, recording bool

	// toSend are for the carriers, and hold all that may be under way.
	toSend   chan queued
	senders  int
	pages    chan page
	answers  chan result
	recorded chan resultBatch
	// gone is closed when nobody listens to those any more: after a panic.
	gone chan struct{}
	// err ends the flow; lost tells that nothing can be recorded any more.
	err          error
	cannotRecord bool
}

// newSendLoop begins a turn. A run of the flusher begins carefully and counts
// anew; what is sent otherwise goes on counting where the last turn ended.
func (s *leaseSession) newSendLoop(ctx context.Context, to target, due *time.Time, more <-chan struct{}) (*sendLoop, error) {
	l := &sendLoop{
		session: s, to: to, longest: to.lease(), due: due, stopped: to.webhook.Stopped, more: more,
		newest: scan{ended: to.webhook.Stopped}, overdue: scan{ended: due == nil},
		taken: map[passerelle.DeliveryID]bool{}, failed: map[passerelle.DeliveryID]bool{},
		toSend: make(chan queued, maxInFlight), pages: make(chan page), answers: make(chan result, maxInFlight), recorded: make(chan resultBatch), gone: make(chan struct{}),
	}
	if due != nil {
		l.limit = concurrency{start: cautiousStart}
		l.overdue = scan{cursor: to.webhook.FlushAfter, again: to.webhook.FlushAfter > 0}
		return l, nil
	}
	l.limit = concurrency{start: maxInFlight}
	last := min(to.webhook.ConsecutiveFailures, maxFailures-1)
	if last == 0 {
		return l, nil
	}
	timeouts, err := s.d.DB.RecentTimeouts(ctx, to.webhook, last)
	if err != nil {
		return nil, fmt.Errorf("count the timeouts of webhook %d: %w", s.job.webhook, err)
	}
	l.limit.failed, l.limit.timeouts = int(last), int(min(timeouts, maxTimeouts-1))
	return l, nil
}

// run sends until nothing is left, the pace or the context ends, or something
// fails; what is under way then is waited for and put on record.
func (l *sendLoop) run(ctx context.Context) error {
	defer close(l.gone)
	for l.step(ctx) {
	}
	return l.end(ctx)
}

// handOver brings the flow what a goroutine has found.
func handOver[T any](l *sendLoop, to chan<- T, found T) {
	select {
	case to <- found:
	case <-l.gone:
	}
}

// step goes on until something happens. It reports whether there is more.
func (l *sendLoop) step(ctx context.Context) (more bool) {
	l.read(ctx)
	l.send(ctx)
	l.record(ctx)
	if !l.reading && !l.recording && l.underWay == 0 {
		return l.keepLease(ctx)
	}
	select {
	case p := <-l.pages:
		l.queuePage(p)
	case x := <-l.answers:
		l.addResult(x)
	case a := <-l.recorded:
		l.afterRecord(a)
	case <-l.more:
		l.newest.again = !l.stopped
	}
	return true
}

// keepLease keeps the lease a little longer when all is well, for what comes next:
// taking it anew is a write that the next event would wait for. It reports
// whether something came. Whoever wants the lease in this process need not wait.
func (l *sendLoop) keepLease(ctx context.Context) bool {
	healthy := l.more != nil && l.due == nil && !l.stopped && l.firstPage.left == 0 && l.limit.failed == 0
	if !healthy || !l.open(ctx) {
		return false
	}
	hurry, done := l.session.d.process.keptLeases.keep(l.session.job.webhook)
	defer done()
	timer := time.NewTimer(keepLeaseTime)
	defer timer.Stop()
	select {
	case <-l.more:
		l.newest.again = true
		return true
	case <-hurry:
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// end leaves to the flusher what was not to be sent at once, unless the flow was
// cut off.
func (l *sendLoop) end(ctx context.Context) error {
	if l.err == nil && ctx.Err() == nil {
		l.session.left = l.firstPage.left
		l.session.scanned = l.firstPage.to.webhook
	}
	return l.err
}

// open tells whether more may be sent.
func (l *sendLoop) open(ctx context.Context) bool {
	return l.err == nil && ctx.Err() == nil && !l.limit.ended()
}

// read has the next page read when few deliveries are left to send. News and
// what failed take turns, so that neither waits for the end of the other.
func (l *sendLoop) read(ctx context.Context) {
	if l.reading || !l.open(ctx) || len(l.queue) > pageSize/2 {
		return
	}
	from, other := &l.newest, &l.overdue
	if l.last == from {
		from, other = other, from
	}
	if !from.more() {
		from = other
	}
	if !from.more() {
		return
	}
	l.reading, l.last = true, from
	after, first := from.begin()
	go func() { handOver(l, l.pages, l.session.readPage(ctx, from == &l.newest, first, after)) }()
}

// queuePage queues what a page has brought. What is void is only to be recorded.
func (l *sendLoop) queuePage(p page) {
	l.reading = false
	if p.err != nil {
		l.fail(p.err)
		return
	}
	to := p.to // and not the page, which holds bodies
	l.setTarget(to)
	for _, d := range p.found {
		l.enqueue(d, &to, p.isNew)
	}
	l.dropRecorded()
	l.last.move(p.found)
	p.found = nil
	if p.isNew && p.first {
		l.firstPage = p
	}
}

func (l *sendLoop) setTarget(to target) {
	l.to, l.longest = to, max(l.longest, to.lease())
}

func (l *sendLoop) enqueue(d store.Delivery, to *target, fresh bool) {
	if l.taken[d.ID] || l.failed[d.ID] {
		return
	}
	l.taken[d.ID] = true
	if d.Erased {
		l.void = append(l.void, d.ID)
		return
	}
	next := queued{Delivery: d, to: to}
	if !fresh {
		l.places++
		next.place = l.places
	}
	l.queue = append(l.queue, next)
}

// send starts as many requests as the pace allows, while the lease covers them.
func (l *sendLoop) send(ctx context.Context) {
	for l.ready(ctx) && l.session.covers(l.queue[0].to) {
		next := l.queue[0]
		l.queue[0], l.queue = queued{}, l.queue[1:]
		l.underWay++
		l.dispatch(context.WithoutCancel(ctx), next)
	}
}

// dispatch gives a parcel to a carrier. There are as many as parcels have been under way at
// once: a goroutine for each would grow its stack anew each time.
func (l *sendLoop) dispatch(ctx context.Context, p queued) {
	if l.senders < l.underWay {
		l.senders++
		go l.deliverAll(ctx)
	}
	l.toSend <- p
}

// deliverAll sends one parcel after the other.
func (l *sendLoop) deliverAll(ctx context.Context) {
	for {
		select {
		case p := <-l.toSend:
			handOver(l, l.answers, l.session.deliver(ctx, p))
		case <-l.gone:
			return
		}
	}
}

// ready tells that the next request may be made, unless what has been answered
// waits too long for its record.
func (l *sendLoop) ready(ctx context.Context) bool {
	return l.open(ctx) && len(l.queue) > 0 && l.underWay < l.limit.room() && l.recordingKeepsUp()
}

func (s *leaseSession) deliver(ctx context.Context, p queued) result {
	return result{p.ID, p.EventID, p.User, p.place, s.exchange(ctx, *p.to, p.Delivery)}
}

func (l *sendLoop) recordingKeepsUp() bool {
	return l.unrecorded == 0 || l.unrecorded < maxBatch && l.session.d.Now().Sub(l.since) < batchTime
}

func (l *sendLoop) addResult(x result) {
	l.underWay--
	l.limit.add(x.attempt)
	if l.unrecorded == 0 {
		l.since = l.session.d.Now()
	}
	l.unrecorded++
	l.answered = append(l.answered, x)
}

// shouldRecord tells whether what was answered is to be recorded now, or the lease to be
// renewed, also by a record of nothing, since a request waits for that.
func (l *sendLoop) shouldRecord(ctx context.Context) bool {
	idle := len(l.queue) == 0 || !l.open(ctx)
	return len(l.void) > 0 || len(l.answered) >= fullBatch || len(l.answered) > 0 && (idle || l.session.d.Now().Sub(l.since) >= recordDelay) ||
		l.ready(ctx) && !l.session.covers(l.queue[0].to)
}

// record has stored what has been answered, once the batch before is.
func (l *sendLoop) record(ctx context.Context) {
	if l.recording || l.cannotRecord || !l.shouldRecord(ctx) {
		return
	}
	a := resultBatch{to: l.to, lease: l.longest, due: l.due, results: l.answered, void: l.void, ended: l.limit.ended()}
	for _, x := range a.results {
		if x.place > l.furthest {
			l.furthest, a.flushed = x.place, x.delivery
		}
	}
	l.answered, l.void, l.recording = nil, nil, true
	go func() { handOver(l, l.recorded, l.session.recordBatch(ctx, a)) }()
}

// afterRecord goes on after a batch came on record. What follows the accepted ones is
// at the head of its subject now, wherever it stands.
func (l *sendLoop) afterRecord(a resultBatch) {
	l.recording = false
	if a.err != nil {
		l.fail(a.err)
		l.cannotRecord = true
		return
	}
	l.session.until = a.until
	l.session.counts.add(a.counts)
	l.unrecorded -= len(a.results)
	l.since = l.session.d.Now()
	for _, x := range a.results {
		l.recordedIDs = append(l.recordedIDs, x.delivery)
		if x.attempt.Failure != "" {
			l.failed[x.delivery] = true
		}
	}
	l.recordedIDs = append(l.recordedIDs, a.void...)
	if !l.reading {
		l.dropRecorded()
	}
	l.resume(a)
	if a.unwanted {
		l.queue = nil
	}
}

// resume begins with news when something was accepted after a stop, and queues what
// follows.
func (l *sendLoop) resume(a resultBatch) {
	was := l.stopped
	l.stopped = a.ended || was && a.counts.Delivered+len(a.void) == 0
	l.newest.again = !l.stopped && (was || l.newest.again)
	p := a.following
	if p.err != nil || len(p.found) == 0 {
		l.fail(p.err)
		return
	}
	to := p.to // and not the page, which holds bodies
	l.setTarget(to)
	for _, d := range p.found {
		fresh := !l.stopped && to.webhook.AtOnce(d)
		if fresh || l.due != nil {
			l.enqueue(d, &to, fresh)
		}
	}
}

// dropRecorded ends what keeps pages from leading to what is on record, since the next page
// does not have it.
func (l *sendLoop) dropRecorded() {
	for _, id := range l.recordedIDs {
		delete(l.taken, id)
	}
	l.recordedIDs = l.recordedIDs[:0]
}

func (l *sendLoop) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}
