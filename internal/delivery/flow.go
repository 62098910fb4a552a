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
	fullBatch = 4 * pageSize
	patience  = 100 * time.Millisecond
	// lingerTime is how long a lease is kept for the next event.
	lingerTime = 200 * time.Millisecond
)

// parcel is a delivery on its way, to where its page found that it goes.
type parcel struct {
	store.Delivery
	to *target
	// place counts what the flusher tries in a run; it is zero for news.
	place int
}

// exchange is what came of sending a parcel. It does not hold the body, of which
// many would wait for their record.
type exchange struct {
	delivery passerelle.DeliveryID
	event    int64
	user     passerelle.UserID
	place    int
	attempt  store.DeliveryAttempt
}

// flow is what happens in a turn: while requests are under way, pages are read and
// accounts are stored, one page and one account at a time. A page may have what came
// on record while it was being read, which is not sent again. Only the goroutine of
// the turn touches the fields; the others bring it what they have found. A delivery is
// not sent before the success of its predecessor is on record, since only then a page
// has it.
type flow struct {
	*turn
	pace pace
	// due is since when this run of the flusher is, nil when it is none; stopped
	// tells that failures ended the last one and nothing was accepted since.
	due             *time.Time
	stopped         bool
	newest, overdue scan
	last            *scan // read from last
	more            <-chan struct{}
	// before is the webhook as it was when the last way through the news began,
	// and to as it was on the last page.
	before page
	to     target
	// longest is the lease that the slowest of what was sent may need.
	longest time.Duration

	queue []parcel
	// places counts what the flusher has tried; furthest is the last that came
	// on record.
	places, furthest int
	// taken is in the queue, under way, or answered and not on record; failed
	// was tried and not accepted. No page leads to them again. What came on record
	// while a page is being read is over, and taken until the page is there.
	taken, failed map[passerelle.DeliveryID]bool
	over          []passerelle.DeliveryID

	underWay           int
	answered           []exchange
	void               []passerelle.DeliveryID
	unrecorded         int       // answered, and those being recorded
	since              time.Time // when the oldest of them was answered
	reading, recording bool

	// parcels are for the carriers, and hold all that may be under way.
	parcels  chan parcel
	carriers int
	pages    chan page
	answers  chan exchange
	accounts chan account
	// gone is closed when nobody listens to those any more: after a panic.
	gone chan struct{}
	// err ends the flow; lost tells that nothing can be recorded any more.
	err  error
	lost bool
}

// newFlow begins a turn. A run of the flusher begins carefully and counts
// anew; what is sent otherwise goes on counting where the last turn ended.
func (t *turn) newFlow(ctx context.Context, to target, due *time.Time, more <-chan struct{}) (*flow, error) {
	f := &flow{
		turn: t, to: to, longest: to.lease(), due: due, stopped: to.webhook.Stopped, more: more,
		newest: scan{ended: to.webhook.Stopped}, overdue: scan{ended: due == nil},
		taken: map[passerelle.DeliveryID]bool{}, failed: map[passerelle.DeliveryID]bool{},
		parcels: make(chan parcel, maxInFlight), pages: make(chan page), answers: make(chan exchange, maxInFlight), accounts: make(chan account), gone: make(chan struct{}),
	}
	if due != nil {
		f.pace = pace{start: carefully}
		f.overdue = scan{cursor: to.webhook.FlushAfter, again: to.webhook.FlushAfter > 0}
		return f, nil
	}
	f.pace = pace{start: maxInFlight}
	last := min(to.webhook.ConsecutiveFailures, maxFailures-1)
	if last == 0 {
		return f, nil
	}
	timeouts, err := t.DB.RecentTimeouts(ctx, to.webhook, last)
	if err != nil {
		return nil, fmt.Errorf("count the timeouts of webhook %d: %w", t.visit.webhook, err)
	}
	f.pace.failed, f.pace.timeouts = int(last), int(min(timeouts, maxTimeouts-1))
	return f, nil
}

// run sends until nothing is left, the pace or the context ends, or something
// fails; what is under way then is waited for and put on record.
func (f *flow) run(ctx context.Context) error {
	defer close(f.gone)
	for f.step(ctx) {
	}
	return f.end(ctx)
}

// tell brings the flow what a goroutine has found.
func tell[T any](f *flow, to chan<- T, found T) {
	select {
	case to <- found:
	case <-f.gone:
	}
}

// step goes on until something happens. It reports whether there is more.
func (f *flow) step(ctx context.Context) (more bool) {
	f.read(ctx)
	f.send(ctx)
	f.record(ctx)
	if !f.reading && !f.recording && f.underWay == 0 {
		return f.linger(ctx)
	}
	select {
	case p := <-f.pages:
		f.arrange(p)
	case x := <-f.answers:
		f.note(x)
	case a := <-f.accounts:
		f.settle(a)
	case <-f.more:
		f.newest.again = !f.stopped
	}
	return true
}

// linger keeps the lease a little longer when all is well, for what comes next:
// taking it anew is a write that the next event would wait for. It reports
// whether something came. Whoever wants the lease in this process need not wait.
func (f *flow) linger(ctx context.Context) bool {
	calm := f.more != nil && f.due == nil && !f.stopped && f.before.left == 0 && f.pace.failed == 0
	if !calm || !f.open(ctx) {
		return false
	}
	hurry, done := f.lingering.begin(f.visit.webhook)
	defer done()
	timer := time.NewTimer(lingerTime)
	defer timer.Stop()
	select {
	case <-f.more:
		f.newest.again = true
		return true
	case <-hurry:
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// end leaves to the flusher what was not to be sent at once, unless the flow was
// cut off.
func (f *flow) end(ctx context.Context) error {
	if f.err == nil && ctx.Err() == nil {
		f.left = f.before.left
		f.news = f.before.to.webhook
	}
	return f.err
}

// open tells whether more may be sent.
func (f *flow) open(ctx context.Context) bool {
	return f.err == nil && ctx.Err() == nil && !f.pace.ended()
}

// read has the next page read when few deliveries are left to send. News and
// what failed take turns, so that neither waits for the end of the other.
func (f *flow) read(ctx context.Context) {
	if f.reading || !f.open(ctx) || len(f.queue) > pageSize/2 {
		return
	}
	from, other := &f.newest, &f.overdue
	if f.last == from {
		from, other = other, from
	}
	if !from.more() {
		from = other
	}
	if !from.more() {
		return
	}
	f.reading, f.last = true, from
	after, first := from.begin()
	go func() { tell(f, f.pages, f.page(ctx, from == &f.newest, first, after)) }()
}

// arrange queues what a page has brought. What is void is only to be recorded.
func (f *flow) arrange(p page) {
	f.reading = false
	if p.err != nil {
		f.fail(p.err)
		return
	}
	to := p.to // and not the page, which holds bodies
	f.aim(to)
	for _, d := range p.found {
		f.enqueue(d, &to, p.news)
	}
	f.forget()
	f.last.move(p.found)
	p.found = nil
	if p.news && p.first {
		f.before = p
	}
}

func (f *flow) aim(to target) {
	f.to, f.longest = to, max(f.longest, to.lease())
}

func (f *flow) enqueue(d store.Delivery, to *target, news bool) {
	if f.taken[d.ID] || f.failed[d.ID] {
		return
	}
	f.taken[d.ID] = true
	if d.Erased {
		f.void = append(f.void, d.ID)
		return
	}
	next := parcel{Delivery: d, to: to}
	if !news {
		f.places++
		next.place = f.places
	}
	f.queue = append(f.queue, next)
}

// send starts as many requests as the pace allows, while the lease covers them.
func (f *flow) send(ctx context.Context) {
	for f.ready(ctx) && f.covers(f.queue[0].to) {
		next := f.queue[0]
		f.queue[0], f.queue = parcel{}, f.queue[1:]
		f.underWay++
		f.hand(context.WithoutCancel(ctx), next)
	}
}

// hand gives a parcel to a carrier. There are as many as parcels have been under way at
// once: a goroutine for each would grow its stack anew each time.
func (f *flow) hand(ctx context.Context, p parcel) {
	if f.carriers < f.underWay {
		f.carriers++
		go f.carryAll(ctx)
	}
	f.parcels <- p
}

// carryAll sends one parcel after the other.
func (f *flow) carryAll(ctx context.Context) {
	for {
		select {
		case p := <-f.parcels:
			tell(f, f.answers, f.carry(ctx, p))
		case <-f.gone:
			return
		}
	}
}

// ready tells that the next request may be made, unless what has been answered
// waits too long for its record.
func (f *flow) ready(ctx context.Context) bool {
	return f.open(ctx) && len(f.queue) > 0 && f.underWay < f.pace.room() && f.timely()
}

func (t *turn) carry(ctx context.Context, p parcel) exchange {
	return exchange{p.ID, p.EventID, p.User, p.place, t.exchange(ctx, *p.to, p.Delivery)}
}

func (f *flow) timely() bool {
	return f.unrecorded == 0 || f.unrecorded < maxBatch && f.Now().Sub(f.since) < batchTime
}

func (f *flow) note(x exchange) {
	f.underWay--
	f.pace.note(x.attempt)
	if f.unrecorded == 0 {
		f.since = f.Now()
	}
	f.unrecorded++
	f.answered = append(f.answered, x)
}

// ripe tells whether what was answered is to be recorded now, or the lease to be
// renewed, also by a record of nothing, since a request waits for that.
func (f *flow) ripe(ctx context.Context) bool {
	idle := len(f.queue) == 0 || !f.open(ctx)
	return len(f.void) > 0 || len(f.answered) >= fullBatch || len(f.answered) > 0 && (idle || f.Now().Sub(f.since) >= patience) ||
		f.ready(ctx) && !f.covers(f.queue[0].to)
}

// record has stored what has been answered, once the batch before is.
func (f *flow) record(ctx context.Context) {
	if f.recording || f.lost || !f.ripe(ctx) {
		return
	}
	a := account{to: f.to, lease: f.longest, due: f.due, exchanges: f.answered, void: f.void, ended: f.pace.ended()}
	for _, x := range a.exchanges {
		if x.place > f.furthest {
			f.furthest, a.flushed = x.place, x.delivery
		}
	}
	f.answered, f.void, f.recording = nil, nil, true
	go func() { tell(f, f.accounts, f.enter(ctx, a)) }()
}

// settle goes on after a batch came on record. What follows the accepted ones is
// at the head of its subject now, wherever it stands.
func (f *flow) settle(a account) {
	f.recording = false
	if a.err != nil {
		f.fail(a.err)
		f.lost = true
		return
	}
	f.until = a.until
	f.counts.add(a.counts)
	f.unrecorded -= len(a.exchanges)
	f.since = f.Now()
	for _, x := range a.exchanges {
		f.over = append(f.over, x.delivery)
		if x.attempt.Failure != "" {
			f.failed[x.delivery] = true
		}
	}
	f.over = append(f.over, a.void...)
	if !f.reading {
		f.forget()
	}
	f.resume(a)
	if a.unwanted {
		f.queue = nil
	}
}

// resume begins with news when something was accepted after a stop, and queues what
// follows.
func (f *flow) resume(a account) {
	was := f.stopped
	f.stopped = a.ended || was && a.counts.Delivered+len(a.void) == 0
	f.newest.again = !f.stopped && (was || f.newest.again)
	p := a.following
	if p.err != nil || len(p.found) == 0 {
		f.fail(p.err)
		return
	}
	to := p.to // and not the page, which holds bodies
	f.aim(to)
	for _, d := range p.found {
		news := !f.stopped && to.webhook.AtOnce(d)
		if news || f.due != nil {
			f.enqueue(d, &to, news)
		}
	}
}

// forget ends what keeps pages from leading to what is on record, since the next page
// does not have it.
func (f *flow) forget() {
	for _, id := range f.over {
		delete(f.taken, id)
	}
	f.over = f.over[:0]
}

func (f *flow) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}
