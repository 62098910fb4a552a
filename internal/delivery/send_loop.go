package delivery

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

const (
	// pageSize is the number of deliveries that are read together.
	pageSize = 64
	// The next page is read when at most pageReader.ahead deliveries wait to be sent. This number
	// is between minAhead and maxAhead, depending on the receiver's speed.
	minAhead = pageSize / 2
	maxAhead = 2 * pageSize
	// maxBatch and batchTime limit the results that are not stored yet. After a crash, the
	// deliveries of these results and the deliveries in flight are sent again.
	maxBatch  = 1000
	batchTime = time.Second
	// While the loop has more to send, it stores a batch after fullBatch results or after
	// recordDelay. One transaction for each result would cost more than the sending.
	fullBatch   = 4 * pageSize
	recordDelay = 100 * time.Millisecond
	// keepLeaseTime is the time for which a lease is kept for the next event.
	keepLeaseTime = 200 * time.Millisecond
)

// queued is a delivery that waits to be sent, with the target of its page.
type queued struct {
	store.Delivery
	to *target
	// place is the position of a delivery that a run of the flusher tries, from 1. It is zero for
	// new deliveries.
	place int
}

// result is the outcome of sending a delivery. It does not contain the body, so results that wait
// to be stored need little memory.
type result struct {
	delivery passerelle.DeliveryID
	event    int64
	user     passerelle.UserID
	place    int
	attempt  store.DeliveryAttempt
}

// sendLoop sends the deliveries of a webhook during a lease session. While requests are in flight,
// it reads pages and stores batches of results, at most one page and one batch at a time. Only the
// goroutine of the session accesses the fields. Other goroutines pass their results through
// channels.
//
// A page contains a delivery only when the database has no earlier undelivered delivery of its
// subject. The loop therefore cannot send the delivery before the success of its predecessor is
// stored. A page may also contain deliveries whose results were stored while the page was being
// read. The loop does not send them again.
type sendLoop struct {
	session *leaseSession
	limit   concurrency
	// due is the time at which this run of the flusher became due. It is nil if this is not a run
	// of the flusher. stopped is set after failures that end a run, until a delivery is accepted or
	// has an erased body.
	due     *time.Time
	stopped bool
	// more signals new deliveries.
	more <-chan struct{}
	// to is the webhook at the time when the last page was read. longest is the longest lease that
	// a request of this session may need.
	to      target
	longest time.Duration

	pages    pageReader
	queue    sendQueue
	pool     senderPool
	recorder recorder
	// done is closed when the loop has ended, also after a panic. From then on, the loop receives
	// no results. err is the error that ends the loop.
	done chan struct{}
	err  error
}

// pageReader reads pages of deliveries.
type pageReader struct {
	// newest reads the new deliveries, and overdue reads the deliveries that the flusher tries.
	// last is the scan that was last read.
	newest, overdue scan
	last            *scan
	// first is the first page of the current scan of new deliveries.
	first   page
	reading bool
	results chan page
	// ahead is the number of waiting deliveries at which the next page is read.
	ahead int
}

// sendQueue contains the deliveries that wait to be sent.
type sendQueue struct {
	waiting []queued
	places  int // the number of the flusher's deliveries that were queued
	// void contains deliveries whose body was erased. The loop does not send these, but records
	// them.
	void []passerelle.DeliveryID
	// taken contains the deliveries that are queued or in flight, or whose result is not stored
	// yet. failed contains the deliveries that were tried and not accepted. These deliveries are
	// not queued again when a page contains them.
	taken, failed map[passerelle.DeliveryID]bool
	// recorded contains the deliveries whose results were stored while a page was being read. The
	// page may contain them, so they stay in taken until the page is processed.
	recorded []passerelle.DeliveryID
}

// senderPool sends deliveries in goroutines that it reuses. The number of goroutines is the largest
// number of requests that were in flight at the same time. With a new goroutine for each request,
// the stack would have to grow each time.
type senderPool struct {
	requests chan queued
	results  chan result
	senders  int
	inFlight int
}

// recorder stores results.
type recorder struct {
	answered   []result
	unrecorded int       // results that are not stored yet, including those that are being stored now
	since      time.Time // the arrival of the oldest of these results, or the end of the last batch if this is later
	furthest   int       // the highest place of a delivery with a stored result
	storing    bool
	results    chan resultBatch
	// broken means that no more results can be stored.
	broken bool
}

// newSendLoop returns the loop of a session. A run of the flusher begins with few requests in
// flight, and counts failures from zero. In other sessions, the count continues from the last
// session.
func (s *leaseSession) newSendLoop(ctx context.Context, to target, due *time.Time, more <-chan struct{}) (*sendLoop, error) {
	l := &sendLoop{
		session: s, to: to, longest: to.lease(), due: due, stopped: to.webhook.Stopped, more: more,
		limit:    concurrency{start: maxInFlight},
		pages:    pageReader{newest: scan{ended: to.webhook.Stopped}, overdue: scan{ended: due == nil}, results: make(chan page), ahead: minAhead},
		queue:    sendQueue{taken: map[passerelle.DeliveryID]bool{}, failed: map[passerelle.DeliveryID]bool{}},
		pool:     senderPool{requests: make(chan queued, maxInFlight), results: make(chan result, maxInFlight)},
		recorder: recorder{results: make(chan resultBatch)},
		done:     make(chan struct{}),
	}
	if due != nil {
		l.limit = concurrency{start: cautiousStart}
		l.pages.overdue = scan{cursor: to.webhook.FlushAfter, again: to.webhook.FlushAfter > 0}
		return l, nil
	}
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

// run sends until nothing is left, failures end the run, the context ends, or an error occurs. It
// then waits for the requests in flight, and stores their results.
func (l *sendLoop) run(ctx context.Context) error {
	defer close(l.done)
	for l.step(ctx) {
	}
	return l.end(ctx)
}

// handOver passes a result from another goroutine to the loop, unless the loop has ended.
func handOver[T any](l *sendLoop, to chan<- T, found T) {
	select {
	case to <- found:
	case <-l.done:
	}
}

// step starts all work that can start, and waits for one result. It reports whether there is
// more work.
func (l *sendLoop) step(ctx context.Context) bool {
	l.read(ctx)
	l.send(ctx)
	l.record(ctx)
	if !l.pages.reading && !l.recorder.storing && l.pool.inFlight == 0 {
		return l.keepLease(ctx)
	}
	select {
	case p := <-l.pages.results:
		l.queuePage(p)
	case r := <-l.pool.results:
		l.addResult(r)
	case b := <-l.recorder.results:
		l.afterRecord(b)
	case <-l.more:
		l.pages.newest.again = !l.stopped
	}
	return true
}

// keepLease keeps the lease of a healthy webhook for keepLeaseTime. Without this, the next event
// would have to wait for another lease. keepLease reports whether there is a new delivery to send.
// It returns early when another session of this process needs the lease.
func (l *sendLoop) keepLease(ctx context.Context) bool {
	healthy := l.more != nil && l.due == nil && !l.stopped && l.pages.first.left == 0 && l.limit.failed == 0
	if !healthy || !l.open(ctx) {
		return false
	}
	giveUp, done := l.session.d.process.keptLeases.keep(l.session.job.webhook)
	defer done()
	timer := time.NewTimer(keepLeaseTime)
	defer timer.Stop()
	select {
	case <-l.more:
		l.pages.newest.again = true
		return true
	case <-giveUp:
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// end leaves the remaining deliveries to the flusher, unless an error or the end of the context
// interrupted the loop.
func (l *sendLoop) end(ctx context.Context) error {
	if l.err == nil && ctx.Err() == nil {
		l.session.left = l.pages.first.left
		l.session.scanned = l.pages.first.to.webhook
	}
	return l.err
}

// open reports whether the loop may send more.
func (l *sendLoop) open(ctx context.Context) bool {
	return l.err == nil && ctx.Err() == nil && !l.limit.ended()
}

// read starts reading the next page when few deliveries are left to send.
func (l *sendLoop) read(ctx context.Context) {
	if l.pages.reading || !l.open(ctx) || len(l.queue.waiting) > l.pages.ahead {
		return
	}
	from := l.pages.next()
	if from == nil {
		return
	}
	l.pages.reading, l.pages.last = true, from
	after, first := from.begin()
	isNew := from == &l.pages.newest
	go func() { handOver(l, l.pages.results, l.session.readPage(ctx, isNew, first, after)) }()
}

// next returns the scan from which to read the next page, or nil when both scans have ended. New
// and overdue deliveries alternate. A long scan of one kind therefore does not delay the other
// kind.
func (p *pageReader) next() *scan {
	from, other := &p.newest, &p.overdue
	if p.last == from {
		from, other = other, from
	}
	switch {
	case from.hasNext():
		return from
	case other.hasNext():
		return other
	}
	return nil
}

// queuePage queues the deliveries of a page.
func (l *sendLoop) queuePage(p page) {
	l.pages.reading = false
	if p.err != nil {
		l.fail(p.err)
		return
	}
	if !p.first {
		l.pages.adapt(len(l.queue.waiting))
	}
	to := p.to // a pointer into the page would keep its bodies in memory
	l.setTarget(to)
	for _, d := range p.found {
		l.queue.add(d, &to, p.isNew)
	}
	l.queue.dropRecorded()
	l.pages.last.move(p.found)
	p.found = nil
	if p.isNew && p.first {
		l.pages.first = p
	}
}

// adapt sets p.ahead. The argument `waiting` is the number of deliveries that still waited when a
// page arrived. A fast receiver must not wait for pages. For a slow receiver, few deliveries
// should wait in memory, because changes of the webhook or of a body do not reach deliveries in
// memory.
func (p *pageReader) adapt(waiting int) {
	switch {
	case waiting == 0:
		p.ahead = min(2*p.ahead, maxAhead)
	case 4*waiting > 3*p.ahead:
		p.ahead = max(p.ahead/2, minAhead)
	}
}

func (l *sendLoop) setTarget(to target) {
	l.to, l.longest = to, max(l.longest, to.lease())
}

// add queues a delivery. If the body of the delivery was erased, it adds the delivery to void
// instead.
func (q *sendQueue) add(d store.Delivery, to *target, isNew bool) {
	if q.taken[d.ID] || q.failed[d.ID] {
		return
	}
	q.taken[d.ID] = true
	if d.Erased {
		q.void = append(q.void, d.ID)
		return
	}
	next := queued{Delivery: d, to: to}
	if !isNew {
		q.places++
		next.place = q.places
	}
	q.waiting = append(q.waiting, next)
}

func (q *sendQueue) take() queued {
	next := q.waiting[0]
	q.waiting[0], q.waiting = queued{}, q.waiting[1:] // otherwise the slice would keep a body in memory
	return next
}

// dropRecorded removes the recorded deliveries from taken. It is called when no page is being read.
// All later pages are read after the results were stored, so they contain no outdated copies of
// these deliveries.
func (q *sendQueue) dropRecorded() {
	for _, id := range q.recorded {
		delete(q.taken, id)
	}
	q.recorded = q.recorded[:0]
}

// send starts as many requests as the limit and the lease allow.
func (l *sendLoop) send(ctx context.Context) {
	for l.ready(ctx) && l.session.covers(l.queue.waiting[0].to) {
		l.dispatch(context.WithoutCancel(ctx), l.queue.take())
	}
}

// dispatch passes a delivery to a sender.
func (l *sendLoop) dispatch(ctx context.Context, q queued) {
	l.pool.inFlight++
	if l.pool.senders < l.pool.inFlight {
		l.pool.senders++
		go l.deliverAll(ctx)
	}
	l.pool.requests <- q
}

// deliverAll sends deliveries until the loop ends.
func (l *sendLoop) deliverAll(ctx context.Context) {
	for {
		select {
		case q := <-l.pool.requests:
			handOver(l, l.pool.results, l.session.deliver(ctx, q))
		case <-l.done:
			return
		}
	}
}

func (s *leaseSession) deliver(ctx context.Context, q queued) result {
	return result{q.ID, q.EventID, q.User, q.place, s.exchange(ctx, *q.to, q.Delivery)}
}

// ready reports whether the next request may start.
func (l *sendLoop) ready(ctx context.Context) bool {
	return l.open(ctx) && len(l.queue.waiting) > 0 && l.pool.inFlight < l.limit.room() && l.recordingKeepsUp()
}

// recordingKeepsUp reports whether the results that are not stored yet are few and recent.
func (l *sendLoop) recordingKeepsUp() bool {
	return l.recorder.unrecorded == 0 || l.recorder.unrecorded < maxBatch && l.sinceOldest() < batchTime
}

func (l *sendLoop) sinceOldest() time.Duration { return l.session.d.Now().Sub(l.recorder.since) }

func (l *sendLoop) addResult(r result) {
	l.pool.inFlight--
	l.limit.add(r.attempt)
	if l.recorder.unrecorded == 0 {
		l.recorder.since = l.session.d.Now()
	}
	l.recorder.unrecorded++
	l.recorder.answered = append(l.recorder.answered, r)
}

// shouldRecord reports whether to store a batch now. It also returns true for an empty batch when a
// waiting request needs a longer lease.
func (l *sendLoop) shouldRecord(ctx context.Context) bool {
	answered, idle := len(l.recorder.answered), len(l.queue.waiting) == 0 || !l.open(ctx)
	return len(l.queue.void) > 0 || answered >= fullBatch || answered > 0 && (idle || l.sinceOldest() >= recordDelay) ||
		l.ready(ctx) && !l.session.covers(l.queue.waiting[0].to)
}

// record starts to store the results that have arrived, unless the previous batch is still being
// stored.
func (l *sendLoop) record(ctx context.Context) {
	r := &l.recorder
	if r.storing || r.broken || !l.shouldRecord(ctx) {
		return
	}
	b := resultBatch{to: l.to, lease: l.longest, due: l.due, results: r.answered, void: l.queue.void, ended: l.limit.ended()}
	for _, one := range b.results {
		if one.place > r.furthest {
			r.furthest, b.flushed = one.place, one.delivery
		}
	}
	r.answered, l.queue.void, r.storing = nil, nil, true
	go func() { handOver(l, r.results, l.session.recordBatch(ctx, b)) }()
}

// afterRecord continues after a batch was stored.
func (l *sendLoop) afterRecord(b resultBatch) {
	l.recorder.storing = false
	if b.err != nil {
		l.fail(b.err)
		l.recorder.broken = true
		return
	}
	l.session.until = b.until
	l.session.counts.add(b.counts)
	l.recorder.unrecorded -= len(b.results)
	l.recorder.since = l.session.d.Now()
	l.queue.finish(b)
	if !l.pages.reading {
		l.queue.dropRecorded()
	}
	l.queueFollowing(b)
	if b.unwanted {
		l.queue.waiting = nil
	}
}

// finish updates the queue after the results of a batch were stored.
func (q *sendQueue) finish(b resultBatch) {
	for _, one := range b.results {
		q.recorded = append(q.recorded, one.delivery)
		if one.attempt.Failure != "" {
			q.failed[one.delivery] = true
		}
	}
	q.recorded = append(q.recorded, b.void...)
}

// queueFollowing queues the successors of deliveries that were accepted or have an erased body.
// These successors are now the oldest undelivered deliveries of their subjects. After a stop, the
// first delivery that is accepted or has an erased body makes the loop send new deliveries again.
func (l *sendLoop) queueFollowing(b resultBatch) {
	was := l.stopped
	l.stopped = b.ended || was && b.counts.Delivered+len(b.void) == 0
	l.pages.newest.again = !l.stopped && (was || l.pages.newest.again)
	p := b.following
	if p.err != nil || len(p.found) == 0 {
		l.fail(p.err)
		return
	}
	to := p.to // a pointer into the page would keep its bodies in memory
	l.setTarget(to)
	for _, d := range p.found {
		isNew := !l.stopped && to.webhook.AtOnce(d)
		if isNew || l.due != nil {
			l.queue.add(d, &to, isNew)
		}
	}
}

func (l *sendLoop) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}
