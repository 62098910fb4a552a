package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/webhook"
)

// WebhookState is the state of a delivery.
type WebhookState string

// These are the states of deliveries. The state dropped means that the delivery was given up.
const (
	WebhookPending   WebhookState = "pending"
	WebhookDropped   WebhookState = "dropped"
	WebhookDelivered WebhookState = "delivered"
)

// Values lists the states, for messages and documents.
func (WebhookState) Values() []string {
	return []string{string(WebhookPending), string(WebhookDelivered), string(WebhookDropped)}
}

// stateNumber is the expression that the index of states contains.
const stateNumber = `(CASE WHEN d.delivered IS NOT NULL THEN 2 WHEN d.dropped IS NOT NULL THEN 1 ELSE 0 END)`

var stateNumbers = map[WebhookState]int{WebhookPending: 0, WebhookDropped: 1, WebhookDelivered: 2}

// WebhookData is a delivery as operators see it.
type WebhookData struct {
	ID    passerelle.DeliveryID
	Event webhook.Event
	// Resource is the id of the event's object. User is the user to whom the object belongs, or
	// zero.
	Resource  int64
	User      passerelle.UserID
	MediaType string
	// Body is the body of the event, without id_webhook_data. It is nil when the body was erased,
	// is stored in parts or has more than MaxShownBody bytes.
	Body []byte
	// Created is the time of the event.
	Created time.Time
	// NotBefore is the time until which the delivery is held back. It is nil when the delivery was
	// never held back or was released.
	NotBefore          *time.Time
	Attempts           int64
	Delivered, Dropped *time.Time
	DropReason         string
}

// MaxShownBody is the length in bytes of the longest body in a WebhookData.
const MaxShownBody = 16 << 10

// State returns the state of the delivery.
func (d WebhookData) State() WebhookState {
	switch {
	case d.Delivered != nil:
		return WebhookDelivered
	case d.Dropped != nil:
		return WebhookDropped
	}
	return WebhookPending
}

// Test reports whether the delivery is of a test event, which concerns no object.
func (d WebhookData) Test() bool { return d.DropReason == testReason }

// Place returns the position of a delivery in lists.
func (d WebhookData) Place() []any { return []any{database.Micros(d.Created), int64(d.ID)} }

// WebhookDataFilter selects deliveries of one webhook. Domain and Webhook are required. Any other
// field with its zero value does not filter.
type WebhookDataFilter struct {
	Domain  passerelle.DomainID
	Webhook passerelle.WebhookID
	State   WebhookState
	// From and Until limit the instant of the event. From is inclusive, Until exclusive.
	From, Until time.Time
}

func (f WebhookDataFilter) selection() database.Selection {
	s := database.Selection{From: "delivery d", Where: []string{"d.domain_id = $1"}, Args: []any{int64(f.Domain)}}
	s = s.And("d.webhook_id = $%d", int64(f.Webhook))
	s.Where = append(s.Where, f.inState())
	return s.During("d.created", f.From, f.Until)
}

// inState returns the condition on the state. The number of the state is part of the text, not an
// argument. Otherwise databases do not use the index of the expression.
func (f WebhookDataFilter) inState() string {
	if f.State == "" {
		return stateNumber + " IN (0, 1, 2)"
	}
	return fmt.Sprintf("%s = %d", stateNumber, stateNumbers[f.State])
}

// window returns the query for a window of rows, the newest first, and its arguments. The index is
// sorted only within each state. Without a state in the filter, the query therefore merges the
// newest rows of each state.
func (f WebhookDataFilter) window(w Window) (string, []any) {
	var args []any
	if f.State != "" {
		return f.selection().Newest(dataPlace, "d.created", "d.id", w)
	}
	each := w
	each.Limit, each.Offset = int(w.End()), 0
	var states []string
	for n, state := range []WebhookState{WebhookPending, WebhookDropped, WebhookDelivered} {
		f.State = state
		var one string
		one, args = f.selection().Newest(dataPlace, "d.created", "d.id", each)
		states = append(states, fmt.Sprintf("SELECT * FROM (%s) AS list_%d", one, n))
	}
	all := database.Selection{From: "(" + strings.Join(states, " UNION ALL ") + ") AS d", Where: []string{"TRUE"}, Args: args}
	w.From = nil
	return all.Newest("d.*", "d.created", "d.id", w)
}

const dataPlace = `d.id AS id, d.event_id AS event_id, d.created AS created, d.not_before AS not_before, d.attempts AS attempts,
	d.delivered AS delivered, d.dropped AS dropped, d.drop_reason AS drop_reason`

var dataColumns = fmt.Sprintf(`place.id, e.name, e.subject_id, e.user_id, e.media_type,
	CASE WHEN e.erased IS NULL AND e.parted = 0 AND length(e.body) <= %d THEN e.body END,
	place.created, place.not_before, place.attempts, place.delivered, place.dropped, place.drop_reason`, MaxShownBody)

// WebhookData reads a window of deliveries, the newest event first.
func (r *Reader) WebhookData(ctx context.Context, f WebhookDataFilter, w Window) ([]WebhookData, error) {
	page, args := f.window(w)
	direction := "DESC"
	if w.Backward {
		direction = "ASC"
	}
	return database.Collect(ctx, r.rows, scanWebhookData, fmt.Sprintf(`SELECT %s FROM (%s) AS place JOIN event e ON e.id = place.event_id
		ORDER BY place.created %s, place.id %s`, dataColumns, page, direction, direction), args...)
}

// CountWebhookData returns the exact number of deliveries that a filter selects.
func (r *Reader) CountWebhookData(ctx context.Context, f WebhookDataFilter) (int64, error) {
	return f.selection().Count(ctx, r.rows)
}

// OneWebhookData loads a delivery of a webhook. It fails with ErrNotFound when the delivery does
// not exist.
func (r *Reader) OneWebhookData(ctx context.Context, domain passerelle.DomainID, w passerelle.WebhookID, id passerelle.DeliveryID) (WebhookData, error) {
	return database.One(ctx, r.rows, scanWebhookData, `SELECT `+dataColumns+` FROM delivery place JOIN event e ON e.id = place.event_id
		WHERE place.domain_id = $1 AND place.webhook_id = $2 AND place.id = $3`, int64(domain), int64(w), int64(id))
}

func scanWebhookData(row database.Row) (WebhookData, error) {
	var (
		d                  WebhookData
		user               *int64
		created, notBefore int64
		delivered, dropped *int64
		reason             *string
	)
	err := row.Scan(&d.ID, &d.Event, &d.Resource, &user, &d.MediaType, &d.Body, &created, &notBefore, &d.Attempts, &delivered, &dropped, &reason)
	d.User, d.Created, d.DropReason = database.ID[passerelle.UserID](user), database.Instant(created), database.Text[string](reason)
	d.Delivered, d.Dropped = database.OptionalInstant(delivered), database.OptionalInstant(dropped)
	if notBefore > 0 {
		d.NotBefore = database.OptionalInstant(&notBefore)
	}
	return d, err
}

// WebhookLog is one request to a receiver, as operators see it.
type WebhookLog struct {
	ID int64
	DeliveryAttempt
	// User is the user of the event, or zero.
	User passerelle.UserID
	// Pending is set until the delivery is delivered or given up.
	Pending bool
}

// Place returns the position of a request in lists.
func (l WebhookLog) Place() []any { return []any{database.Micros(l.At), l.ID} }

// WebhookLogFilter selects requests to one webhook. Domain and Webhook are required. Any other
// field with its zero value does not filter.
type WebhookLogFilter struct {
	Domain  passerelle.DomainID
	Webhook passerelle.WebhookID
	User    passerelle.UserID
	// From is inclusive, Until exclusive.
	From, Until time.Time
}

// logColumns returns the columns of a request and of its delivery. The argument `delivery` is the
// alias of the table of deliveries in the query.
func logColumns(delivery string) string {
	return fmt.Sprintf(`a.id, a.delivery_id, e.user_id, a.at, a.duration, a.status, a.failure, a.answer, a.detail, a.signed, a.signature, a.next_signature,
		CASE WHEN %[1]s.delivered IS NULL AND %[1]s.dropped IS NULL THEN TRUE ELSE FALSE END`, delivery)
}

func (f WebhookLogFilter) selection() database.Selection {
	s := database.Selection{From: "delivery_attempt a", Where: []string{"a.domain_id = $1"}, Args: []any{int64(f.Domain)}}
	s = s.And("a.webhook_id = $%d", int64(f.Webhook)).During("a.at", f.From, f.Until)
	if f.User != 0 {
		s = s.And(`EXISTS (SELECT 1 FROM delivery o JOIN event u ON u.id = o.event_id WHERE o.id = a.delivery_id AND u.user_id = $%d)`, int64(f.User))
	}
	return s
}

// WebhookLogs reads a window of requests, the newest first.
func (r *Reader) WebhookLogs(ctx context.Context, f WebhookLogFilter, w Window) ([]WebhookLog, error) {
	return r.logs(ctx, f.selection(), w)
}

// logs reads a window of requests. It sorts them by time and not by id, because each process
// reserves its own ids.
func (r *Reader) logs(ctx context.Context, s database.Selection, w Window) ([]WebhookLog, error) {
	page, args := s.Newest("a.id AS id, a.at AS at", "a.at", "a.id", w)
	direction := "DESC"
	if w.Backward {
		direction = "ASC"
	}
	return database.Collect(ctx, r.rows, scanWebhookLog, fmt.Sprintf(`SELECT %s FROM (%s) AS place JOIN delivery_attempt a ON a.id = place.id
		JOIN delivery d ON d.id = a.delivery_id JOIN event e ON e.id = d.event_id ORDER BY place.at %s, place.id %s`,
		logColumns("d"), page, direction, direction), args...)
}

// CountWebhookLogs returns the exact number of requests that a filter selects.
func (r *Reader) CountWebhookLogs(ctx context.Context, f WebhookLogFilter) (int64, error) {
	return f.selection().Count(ctx, r.rows)
}

// longestIDList is the largest number of ids that LastAttempts puts into a query. With a much
// longer list, SQLite reads the whole table instead of searching it.
const longestIDList = 512

// LastAttempts reads the last ten requests for each of some deliveries, or all requests if there
// are fewer. It lists the requests of a delivery oldest first.
func (r *Reader) LastAttempts(ctx context.Context, domain passerelle.DomainID, deliveries []passerelle.DeliveryID) (map[passerelle.DeliveryID][]WebhookLog, error) {
	found := make(map[passerelle.DeliveryID][]WebhookLog, len(deliveries))
	for some := range slices.Chunk(deliveries, longestIDList) {
		all, err := r.lastAttempts(ctx, domain, some)
		if err != nil {
			return nil, err
		}
		for _, one := range all {
			found[one.Delivery] = append(found[one.Delivery], one)
		}
	}
	return found, nil
}

func (r *Reader) lastAttempts(ctx context.Context, domain passerelle.DomainID, deliveries []passerelle.DeliveryID) ([]WebhookLog, error) {
	list, args := idList(domain, deliveries)
	const tenth = "FROM delivery_attempt b WHERE b.delivery_id = d.id ORDER BY b.at DESC, b.id DESC LIMIT 1 OFFSET 9"
	// The outer query does not join the table of deliveries. With that join, PostgreSQL might read
	// all requests of each delivery and check their times afterwards. The limit of the inner query
	// excludes no delivery. It only keeps databases from merging the two queries.
	return database.Collect(ctx, r.rows, scanWebhookLog, fmt.Sprintf(`SELECT %s
		FROM (SELECT d.id AS id, d.event_id AS event_id, d.delivered AS delivered, d.dropped AS dropped, (SELECT b.at %s) AS at, (SELECT b.id %s) AS first
			FROM delivery d WHERE +d.domain_id = $1 AND d.id IN (%s) LIMIT %d) AS place
		JOIN delivery_attempt a ON a.delivery_id = place.id AND a.at >= COALESCE(place.at, 0) AND (place.at IS NULL OR a.at > place.at OR a.id >= place.first)
		JOIN event e ON e.id = place.event_id ORDER BY a.delivery_id, a.at, a.id`, logColumns("place"), tenth, tenth, list, len(args)), args...)
}

// AttemptsOf reads a window of the requests for one delivery, the newest first.
func (r *Reader) AttemptsOf(ctx context.Context, domain passerelle.DomainID, id passerelle.DeliveryID, w Window) ([]WebhookLog, error) {
	s := database.Selection{From: "delivery_attempt a", Where: []string{"a.domain_id = $1"}, Args: []any{int64(domain)}}
	return r.logs(ctx, s.And("a.delivery_id = $%d", int64(id)), w)
}

func scanWebhookLog(row database.Row) (WebhookLog, error) {
	var (
		l                       WebhookLog
		user, status            *int64
		at, duration            int64
		failure, answer, detail *string
		signed, signature, next *string
	)
	err := row.Scan(&l.ID, &l.Delivery, &user, &at, &duration, &status, &failure, &answer, &detail, &signed, &signature, &next, &l.Pending)
	l.Signed = Signed{database.Text[string](signed), database.Text[string](signature), database.Text[string](next)}
	l.User, l.At, l.Duration, l.Status = database.ID[passerelle.UserID](user), database.Instant(at), time.Duration(duration)*time.Microsecond, int(database.ID[int64](status))
	l.Failure, l.Answer, l.Detail = database.Text[string](failure), database.Text[string](answer), database.Text[string](detail)
	return l, err
}

// CountUndelivered counts a webhook's pending deliveries of events from the instant `since` on. It
// stops counting at `bound`.
func (r *Reader) CountUndelivered(ctx context.Context, w Webhook, since time.Time, bound int) (int64, error) {
	s := WebhookDataFilter{Domain: w.Domain, Webhook: w.ID, State: WebhookPending, From: since}.selection()
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM (SELECT 1 FROM `+s.From+` WHERE `+s.Conditions()+` LIMIT `+s.Bind(bound)+`) AS due`, s.Args...)
}

// Pending counts the pending deliveries of webhooks. It stops counting at `bound` for each webhook.
func (r *Reader) Pending(ctx context.Context, domain passerelle.DomainID, bound int, webhooks ...passerelle.WebhookID) (map[passerelle.WebhookID]int64, error) {
	found := make(map[passerelle.WebhookID]int64, len(webhooks))
	if len(webhooks) == 0 {
		return found, nil
	}
	list, args := idList(domain, webhooks)
	pending := WebhookDataFilter{State: WebhookPending}.inState()
	err := r.rows.Each(ctx, fmt.Sprintf(`SELECT w.id, (SELECT count(*) FROM (SELECT 1 FROM delivery d WHERE d.webhook_id = w.id AND %s LIMIT $%d) AS due)
		FROM webhook w WHERE +w.domain_id = $1 AND w.id IN (%s)`, pending, len(args)+1, list), append(args, bound), func(row database.Row) (bool, error) {
		var id, n int64
		err := row.Scan(&id, &n)
		found[passerelle.WebhookID(id)] = n
		return true, err
	})
	return found, err
}

// WebhookOfDelivery returns the webhook to which a delivery belongs. It fails with ErrNotFound when
// the delivery does not exist.
func (r *Reader) WebhookOfDelivery(ctx context.Context, domain passerelle.DomainID, id passerelle.DeliveryID) (passerelle.WebhookID, error) {
	webhook, err := database.One(ctx, r.rows, database.ScanInt, `SELECT webhook_id FROM delivery WHERE +domain_id = $1 AND id = $2`, int64(domain), int64(id))
	return passerelle.WebhookID(webhook), err
}

// OneDelivery loads a webhook's delivery with all data that is needed to send it. It ignores the
// state of the delivery. It fails with ErrNotFound when the delivery does not exist.
func (r *Reader) OneDelivery(ctx context.Context, w Webhook, id passerelle.DeliveryID) (Delivery, error) {
	return database.One(ctx, r.rows, scanDelivery, `SELECT d.id, e.id, e.name, d.attempts, e.user_id, d.version, e.media_type, e.omitted, e.body, e.parted,
			CASE WHEN e.erased IS NULL THEN FALSE ELSE TRUE END, e.subject, e.subject_id, e.account_id, e.trace
		FROM delivery d JOIN event e ON e.id = d.event_id WHERE d.domain_id = $1 AND d.webhook_id = $2 AND d.id = $3`,
		int64(w.Domain), int64(w.ID), int64(id))
}

// BeforeDelivery returns the delivery that an undelivered delivery waits for: an earlier delivery
// of the same subject, or the delivery itself while it is held back. The result is zero when the
// delivery need not wait or was accepted.
func (r *Reader) BeforeDelivery(ctx context.Context, w Webhook, id passerelle.DeliveryID) (passerelle.DeliveryID, error) {
	first, err := database.One(ctx, r.rows, database.ScanInt, `SELECT COALESCE((`+earlier+` ORDER BY p.version, p.id LIMIT 1),
			CASE WHEN d.not_before > 0 AND d.dropped IS NULL THEN d.id ELSE 0 END)
		FROM delivery d WHERE d.domain_id = $1 AND d.webhook_id = $2 AND d.id = $3 AND d.delivered IS NULL`,
		int64(w.Domain), int64(w.ID), int64(id))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return passerelle.DeliveryID(first), err
}

// CountAgain counts a further request for a delivered delivery. RecordBatches does not change such a
// delivery.
func (tx *Tx) CountAgain(w Webhook, id passerelle.DeliveryID) {
	tx.unit.Exec(`UPDATE delivery SET attempts = attempts + 1 WHERE domain_id = $1 AND webhook_id = $2 AND id = $3 AND delivered IS NOT NULL`,
		int64(w.Domain), int64(w.ID), int64(id))
}

// testSubject is the subject of test payloads. testReason is the drop reason that is stored for
// their deliveries. A test delivery is dropped before it is sent, so that no sender tries it again.
const (
	testSubject = "test"
	testReason  = "a test is sent once"
)

// CreateTest stores a test event of a webhook, and a delivery that no sender finds. When the rows
// are written, the argument id receives the id of the delivery.
func (tx *Tx) CreateTest(w Webhook, body []byte, now time.Time, id *passerelle.DeliveryID) error {
	event, err := tx.unit.NewID("event")
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO event (id, domain_id, name, subject, subject_id, version, user_id, media_type, body, created)
		VALUES ($1, $2, $3, $4, $5, $1, $6, $7, $8, $9)`,
		event, int64(w.Domain), string(w.Event), testSubject, int64(w.ID), database.OptionalID(w.User), JSON, body, database.Micros(now))
	tx.unit.Returning(func(row database.Row) error { return row.Scan(id) }, `INSERT INTO delivery (domain_id, webhook_id, event_id, subject, subject_id, version, created, dropped, drop_reason)
		VALUES ($1, $2, $3, $4, $2, $3, $5, $5, $6) RETURNING id`, int64(w.Domain), int64(w.ID), event, testSubject, database.Micros(now), testReason)
	return nil
}

// RecoverWebhook makes the flusher of a webhook due now, and lets a stopped webhook continue. The
// flusher continues at the first pending delivery of the events from the instant `since` on.
// RecoverWebhook changes nothing if there is no such delivery, or if the webhook is deleted or
// disabled.
func (tx *Tx) RecoverWebhook(w Webhook, since, now time.Time) {
	s := WebhookDataFilter{Domain: w.Domain, Webhook: w.ID, State: WebhookPending, From: since}.selection()
	at := s.Bind(database.Micros(now))
	// The new next_flush must differ from the old. A run of the flusher stores flush_after only while
	// next_flush has the value that it had when the run began.
	tx.unit.Exec(`UPDATE webhook SET stopped = FALSE, next_flush = CASE WHEN next_flush <= `+at+` THEN next_flush - 1 ELSE `+at+` END, flush_after = due.id - 1
		FROM (SELECT d.id FROM `+s.From+` WHERE `+s.Conditions()+` ORDER BY d.created, d.id LIMIT 1) AS due
		WHERE +webhook.domain_id = $1 AND webhook.id = $2 AND webhook.deleted IS NULL AND webhook.disabled IS NULL`, s.Args...)
}
