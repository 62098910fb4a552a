package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// Delivery is the delivery of one event to one webhook.
type Delivery struct {
	ID       passerelle.DeliveryID
	EventID  int64
	Event    string
	Attempts int64
	// User is the user of the event, or zero.
	User    passerelle.UserID
	Version int64
	// Subject and SubjectID identify the object of the event. Account is the account of the event.
	// Account is zero when the event concerns no account or several.
	Subject   string
	SubjectID int64
	Account   passerelle.AccountID
	// MediaType is the media type of the body. The service adds id_webhook_data only to a JSON
	// body. Omitted is the number of accounts that the body leaves out.
	MediaType string
	Omitted   int
	// Body is the event's body without id_webhook_data. In a list, it is set only for a body of at
	// most 4096 bytes, because a page of deliveries holds all its bodies in memory. [Reader.Body]
	// reads a body of any length. Parted is the length in bytes of a body that is stored in parts,
	// zero for other bodies.
	Body   []byte
	Parted int64
	// Erased means that the body was erased, so the delivery cannot be sent.
	Erased bool
	// Trace is the trace of the event, as [tracing.Parent] returns it. Trace is empty when the
	// event has no trace.
	Trace string
}

func scanDelivery(row database.Row) (Delivery, error) {
	var (
		d             Delivery
		user, account *int64
		trace         *string
	)
	err := row.Scan(&d.ID, &d.EventID, &d.Event, &d.Attempts, &user, &d.Version, &d.MediaType, &d.Omitted, &d.Body, &d.Parted, &d.Erased, &d.Subject, &d.SubjectID, &account, &trace)
	d.Account, d.Trace = database.ID[passerelle.AccountID](account), database.Text[string](trace)
	d.User = database.ID[passerelle.UserID](user)
	return d, err
}

// On its own, the service sends a delivery only if the delivery is not held back and is the head of
// its subject, and if its webhook is enabled and not deleted. A delivery is the head when no
// earlier delivery of the same webhook and subject is pending. A held back delivery blocks the
// later deliveries of its subject.
const (
	deliverable = `SELECT d.id, e.id, e.name, d.attempts, e.user_id, d.version, e.media_type, e.omitted,
		CASE WHEN length(e.body) <= 4096 THEN e.body END, e.parted,
		CASE WHEN e.erased IS NULL THEN FALSE ELSE TRUE END, e.subject, e.subject_id, e.account_id, e.trace
	FROM delivery d JOIN event e ON e.id = d.event_id WHERE d.not_before = 0`
	// The id of the webhook follows. When it is an argument, databases look for the webhook only once.
	inUse            = ` AND EXISTS (SELECT 1 FROM webhook w WHERE w.deleted IS NULL AND w.disabled IS NULL AND w.id = `
	undeliveredHeads = deliverable + inUse + `$2) AND d.delivered IS NULL AND d.dropped IS NULL AND d.domain_id = $1 AND d.webhook_id = $2 AND d.id > $3
	AND (` + earlier + ` ORDER BY p.version LIMIT 1) IS NULL`
)

// earlier selects the pending deliveries of the webhook and subject of d that come before d. Only
// the index delivery_earlier contains both expressions about p. Without them, PostgreSQL might read
// all pending deliveries of the webhook in another index, for each d, when its statistics are from
// a time with few pending deliveries. Other statements that use COALESCE must write
// COALESCE(delivered, dropped), in this order. Databases then do not choose delivery_earlier for
// these statements.
const earlier = `SELECT p.id FROM delivery p WHERE p.webhook_id + 0 = d.webhook_id + 0 AND COALESCE(p.dropped, p.delivered) IS NULL
		AND p.subject = d.subject AND p.subject_id = d.subject_id AND p.version <= d.version AND (p.version < d.version OR p.id < d.id)`

// tried is an SQL expression. It is 1 for a delivery that was tried and 0 for others. An index
// contains this expression. Databases use the index only for this exact expression, so the 0 in
// attempts > 0 must not be an argument.
const tried = `(CASE WHEN d.attempts > 0 THEN 1 ELSE 0 END)`

// NewDeliveries lists a webhook's deliveries that are due for their immediate first try, oldest
// first. The list has at most limit deliveries. Their ids are greater than `after`.
func (r *Reader) NewDeliveries(ctx context.Context, w Webhook, after passerelle.DeliveryID, limit int) ([]Delivery, error) {
	return database.Collect(ctx, r.rows, scanDelivery, undeliveredHeads+` AND `+tried+` = 0 ORDER BY d.id LIMIT $4`,
		int64(w.Domain), int64(w.ID), max(w.firstTriesAfter(), int64(after)), limit)
}

// NewestDelivery returns a webhook's last pending delivery that was never tried, or zero when there
// is none.
func (r *Reader) NewestDelivery(ctx context.Context, w Webhook) (passerelle.DeliveryID, error) {
	newest, err := database.One(ctx, r.rows, database.ScanInt, `SELECT d.id FROM delivery d WHERE d.domain_id = $1 AND d.webhook_id = $2
		AND d.delivered IS NULL AND d.dropped IS NULL AND `+tried+` = 0 ORDER BY d.id DESC LIMIT 1`, int64(w.Domain), int64(w.ID))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return passerelle.DeliveryID(newest), err
}

// Undelivered lists a webhook's pending deliveries that may be sent now, oldest first. The list has
// at most limit deliveries. Their ids are greater than `after`.
func (r *Reader) Undelivered(ctx context.Context, w Webhook, after passerelle.DeliveryID, limit int) ([]Delivery, error) {
	var all []Delivery
	for _, which := range []string{` = 0`, ` = 1`} {
		some, err := database.Collect(ctx, r.rows, scanDelivery, undeliveredHeads+` AND `+tried+which+` ORDER BY d.id LIMIT $4`,
			int64(w.Domain), int64(w.ID), int64(after), limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b Delivery) int { return cmp.Compare(a.ID, b.ID) })
	return all[:min(limit, len(all))], nil
}

// Following lists the deliveries that became the head of their subject when earlier deliveries were
// delivered or dropped. The argument `over` contains the ids of these earlier deliveries. Following
// omits deliveries that may not be sent now. It searches by events and ids, because a search
// through all waiting deliveries would slow down as the backlog grows. The queries also avoid the
// indexes of waiting deliveries. PostgreSQL reads such an index completely when its statistics are
// from a time with few waiting deliveries.
func (r *Reader) Following(ctx context.Context, over []passerelle.DeliveryID) ([]Delivery, error) {
	var x, d database.Clauses
	next, err := database.Collect(ctx, r.rows, scanOwner, `SELECT (
			SELECT n.id FROM event e CROSS JOIN delivery n WHERE e.domain_id = was.domain_id AND e.subject = was.subject AND e.subject_id = was.subject_id
			AND e.name = was.name AND e.version > was.version AND n.event_id = e.id AND n.webhook_id + 0 = x.webhook_id AND COALESCE(n.delivered, n.dropped) IS NULL
			ORDER BY e.version LIMIT 1)
		FROM delivery x JOIN event was ON was.id = x.event_id WHERE x.id IN (`+database.AnyOf(&x, over)+`)`, x.Args...)
	next = slices.DeleteFunc(next, func(id int64) bool { return id == 0 })
	if err != nil || len(next) == 0 {
		return nil, err
	}
	heads, err := database.Collect(ctx, r.rows, scanDelivery, deliverable+inUse+`d.webhook_id) AND COALESCE(d.delivered, d.dropped) IS NULL AND d.id IN (`+database.AnyOf(&d, next)+`)`, d.Args...)
	slices.SortFunc(heads, func(a, b Delivery) int { return cmp.Compare(a.ID, b.ID) })
	return heads, err
}

// scanOwner reads the only column of a row. It returns zero for NULL.
func scanOwner(row database.Row) (int64, error) {
	var n *int64
	err := row.Scan(&n)
	return database.ID[int64](n), err
}

// DeliveryAttempt is the record of one request to a receiver. At is the time at which the request
// began, in the domain's time. Status is zero when no response arrived. Failure is empty on
// success. Answer is the beginning of the receiver's response to a failed request. Detail is a
// sentence with more details. RecordBatches sets Webhook.
type DeliveryAttempt struct {
	Delivery       passerelle.DeliveryID
	Webhook        passerelle.WebhookID
	At             time.Time
	Duration       time.Duration
	Status         int
	Failure        string
	Answer, Detail string
	Signed         Signed
	// Reached means that the request reached the receiver. Only these requests count towards the
	// average time. Reached is not stored with the attempt.
	Reached bool
}

// Signed contains the signed text before the body, the signature, and the signature with the next
// secret, if the provider has a next secret. All are empty for an unsigned request.
type Signed struct {
	Opening, Signature, Next string
}

// TimedOut is the Failure of a request without a response in time.
const TimedOut = "timeout"

// Batch contains the results of a sender's work for one webhook. One unit records all of them.
type Batch struct {
	Webhook passerelle.WebhookID
	// Holder is the sender that has the lease of the webhook. Lease is the duration of the renewed
	// lease.
	Holder string
	Lease  time.Duration
	// Attempts are in the order in which they ended.
	Attempts []DeliveryAttempt
	// AcceptedEvents lists the accepted events of users.
	AcceptedEvents []int64
	// Void lists deliveries with an erased body. RecordBatches drops them.
	Void []passerelle.DeliveryID
	// Stopped means that failures have ended the sender's run.
	Stopped bool
	// NextFlush is the time of the next run of the flusher. NextFlush is used if a request failed
	// and no run is planned. FlushAfter is the last delivery that the flusher has handled, or zero.
	// FlushAfter is not stored when another run was requested since the flusher's present run began.
	// Due is the time at which the present run was due.
	NextFlush  time.Time
	FlushAfter passerelle.DeliveryID
	Due        *time.Time
	// Now is the domain's present instant.
	Now time.Time
}

// RecordBatches stores the results of different webhooks of a domain, marks accepted deliveries as
// delivered and renews the leases. Write stores nothing and fails with ErrConflict when one of the
// leases has lapsed. In that case, another sender may have sent the same deliveries. RecordBatches
// erases the body of a user's event once no webhook needs the body. Units change webhooks in the order
// of their ids, so that they seldom wait for each other in a circle.
func (tx *Tx) RecordBatches(domain passerelle.DomainID, batches ...Batch) error {
	var (
		attempts []DeliveryAttempt
		accepted []int64
		void     []passerelle.DeliveryID
	)
	slices.SortFunc(batches, func(a, b Batch) int { return cmp.Compare(a.Webhook, b.Webhook) })
	for _, b := range batches {
		tx.keepBatch(domain, b)
		for _, a := range b.Attempts {
			a.Webhook = b.Webhook
			attempts = append(attempts, a)
		}
		accepted, void = append(accepted, b.AcceptedEvents...), append(void, b.Void...)
	}
	if err := tx.recordAttempts(domain, attempts); err != nil {
		return err
	}
	tx.countHealth(domain, attempts)
	tx.drop(domain, void, "the body was erased", batches[0].Now)
	tx.eraseBodies(domain, accepted, batches[0].Now)
	return nil
}

// keepBatch renews the lease and updates the webhook's state.
func (tx *Tx) keepBatch(domain passerelle.DomainID, b Batch) {
	var success, failure, next *int64
	var inRow int64
	for _, a := range b.Attempts {
		if at := database.Micros(a.At.Add(a.Duration)); a.Failure == "" {
			success, inRow = &at, 0
		} else {
			failure, inRow = &at, inRow+1
		}
	}
	if failure != nil {
		next = database.OptionalMicros(&b.NextFlush)
	}
	tx.unit.ExecOne(ErrConflict, `UPDATE webhook SET lease_until = {now} + $1, next_flush = COALESCE(next_flush, $2),
			flush_after = CASE WHEN next_flush = $12 THEN COALESCE($3, flush_after) ELSE flush_after END,
			stopped = CASE WHEN $4 THEN TRUE WHEN $5 THEN FALSE ELSE stopped END,
			consecutive_failures = CASE WHEN $5 THEN 0 ELSE consecutive_failures END + $6,
			last_success = COALESCE($7, last_success), last_failure = COALESCE($8, last_failure)
		WHERE +domain_id = $9 AND id = $10 AND holder = $11 AND lease_until >= {now}`,
		b.Lease.Microseconds(), next, database.OptionalID(b.FlushAfter), b.Stopped, success != nil, inRow, success, failure,
		int64(domain), int64(b.Webhook), b.Holder, database.OptionalMicros(b.Due))
}

// recordAttempts stores requests and counts them in the rows of their deliveries. A batch has at
// most one request for each delivery. The requests have consecutive ids. The update uses these ids
// to find the time at which each delivery was accepted. A delivery that was dropped while its
// request was under way counts as delivered when the receiver accepted it.
func (tx *Tx) recordAttempts(domain passerelle.DomainID, batch []DeliveryAttempt) error {
	if len(batch) == 0 {
		return nil
	}
	first, err := tx.unit.NewIDs("delivery_attempt", len(batch))
	if err != nil {
		return err
	}
	// Lengths that are powers of two lead to few different statements, which the databases can cache.
	id := first
	for rest := batch; len(rest) > 0; {
		n := min(maxRows, 1<<(bits.Len(uint(len(rest)))-1))
		tx.insertAttempts(domain, id, rest[:n])
		id, rest = id+int64(n), rest[n:]
	}
	// The limit and the plus sign make PostgreSQL begin with the requests, for any expected number
	// of deliveries.
	tx.unit.Exec(`UPDATE delivery SET attempts = attempts + 1, delivered = CASE WHEN latest.failure IS NULL THEN latest.at + latest.duration END,
			dropped = CASE WHEN latest.failure IS NOT NULL THEN dropped END, drop_reason = CASE WHEN latest.failure IS NOT NULL THEN drop_reason END
		FROM (SELECT delivery_id, failure, at, duration FROM delivery_attempt WHERE id BETWEEN $1 AND $2 ORDER BY id LIMIT `+strconv.Itoa(1<<bits.Len(uint(len(batch)-1)))+`) latest
		WHERE delivery.id = latest.delivery_id AND delivery.domain_id = $3 AND +delivery.delivered IS NULL`,
		first, id-1, int64(domain))
	return nil
}

// maxRows limits the requests in one statement, because the databases limit its arguments.
const maxRows = 256

// insertAttempts stores a chunk of requests. It omits the columns about failures and the next
// signature when these are empty in the whole chunk.
func (tx *Tx) insertAttempts(domain passerelle.DomainID, first int64, chunk []DeliveryAttempt) {
	columns, values := `id, webhook_id, delivery_id, at, duration, status, signed, signature`, DeliveryAttempt.always
	if slices.ContainsFunc(chunk, DeliveryAttempt.remarkable) {
		columns, values = columns+`, failure, answer, detail, next_signature`, DeliveryAttempt.all
	}
	rows := []any{int64(domain)}
	for i, a := range chunk {
		rows = values(a, append(rows, first+int64(i)))
	}
	tx.unit.Exec(`INSERT INTO delivery_attempt (domain_id, `+columns+`) VALUES `+rowList(len(chunk), (len(rows)-1)/len(chunk)), rows...)
}

func (a DeliveryAttempt) remarkable() bool {
	return a.Failure != "" || a.Answer != "" || a.Detail != "" || a.Signed.Next != ""
}

func (a DeliveryAttempt) always(row []any) []any {
	return append(row, int64(a.Webhook), int64(a.Delivery), database.Micros(a.At), a.Duration.Microseconds(), database.OptionalID(int64(a.Status)),
		database.OptionalText(a.Signed.Opening), database.OptionalText(a.Signed.Signature))
}

func (a DeliveryAttempt) all(row []any) []any {
	return append(a.always(row), database.OptionalText(a.Failure), database.OptionalText(a.Answer), database.OptionalText(a.Detail), database.OptionalText(a.Signed.Next))
}

// rowList writes placeholders for rows of values. Each row begins with the shared placeholder $1.
func rowList(rows, columns int) string {
	list := make([]byte, 0, rows*columns*len("$1234, "))
	for row := range rows {
		list = append(list, ", ($1"...)
		for column := range columns {
			list = strconv.AppendInt(append(list, ", $"...), int64(row*columns+column+2), 10)
		}
		list = append(list, ')')
	}
	return strings.TrimPrefix(string(list), ", ")
}

// drop gives up the deliveries that are still pending.
//
// The conditions here and in eraseBodies differ in form from the conditions of the indexes.
// Otherwise PostgreSQL might choose an index of waiting deliveries or of users, and read the whole
// index.
func (tx *Tx) drop(domain passerelle.DomainID, ids []passerelle.DeliveryID, reason string, now time.Time) {
	if len(ids) == 0 {
		return
	}
	list, args := idList(domain, ids)
	tx.unit.Exec(fmt.Sprintf(`UPDATE delivery SET dropped = $%d, drop_reason = $%d
		WHERE +domain_id = $1 AND id IN (%s) AND COALESCE(delivered, dropped) IS NULL`, len(args)+1, len(args)+2, list),
		append(args, database.Micros(now), reason)...)
}

// eraseBodies erases the body of a user's event once no webhook needs the body. A deleted webhook
// still needs a body until PurgeUndeliverable drops its deliveries, because the webhook may be
// restored. The unit locks the events first. When two senders end the last two deliveries of an
// event at the same time, the second sender waits, and then sees that no delivery is pending.
func (tx *Tx) eraseBodies(domain passerelle.DomainID, events []int64, now time.Time) {
	if len(events) == 0 {
		return
	}
	list, args := idList(domain, events)
	tx.unit.Exec(`SELECT id FROM event WHERE +domain_id = $1 AND id IN (`+list+`) AND +user_id IS NOT NULL ORDER BY id {for update}`, args...)
	tx.unit.Exec(fmt.Sprintf(`UPDATE event SET body = CAST('{}' AS {bytes}), holds = NULL, erased = $%d
		WHERE +domain_id = $1 AND id IN (%s) AND +user_id IS NOT NULL AND erased IS NULL AND NOT EXISTS (SELECT 1 FROM delivery d
			WHERE d.event_id = event.id AND COALESCE(d.delivered, d.dropped) IS NULL)`, len(args)+1, list),
		append(args, database.Micros(now))...)
	tx.unit.Exec(`DELETE FROM event_part WHERE domain_id = $1 AND event_id IN (
		SELECT id FROM event WHERE +domain_id = $1 AND id IN (`+list+`) AND erased IS NOT NULL)`, args...)
}

// RecentTimeouts counts the timeouts among the last requests to a webhook.
func (r *Reader) RecentTimeouts(ctx context.Context, w Webhook, last int64) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT COUNT(*) FROM (SELECT failure FROM delivery_attempt
		WHERE domain_id = $1 AND webhook_id = $2 ORDER BY at DESC, id DESC LIMIT $3) AS latest WHERE failure = $4`,
		int64(w.Domain), int64(w.ID), last, TimedOut)
}
