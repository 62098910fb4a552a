package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/tracing"
	"passerelle/webhook"
)

// EmittedEvent is an event with its body. A JSON body lacks id_webhook_data, which each delivery
// adds.
type EmittedEvent struct {
	Domain passerelle.DomainID
	Name   webhook.Event
	// Subject and SubjectID identify the object of the event, such as ("payment", 7). The service
	// sends the deliveries of one subject in the order of Version.
	Subject   string
	SubjectID int64
	Version   int64
	// User is the user of the event, or zero. Held is set for the event of a temporary user. Such
	// an event has no deliveries until ReleaseHeld creates them.
	User passerelle.UserID
	Held bool
	// Account is the account of the event. It is zero when the event concerns no account or
	// several.
	Account passerelle.AccountID
	// MediaType is the media type of the body. Empty means application/json. Bodies of other types
	// are sent without id_webhook_data. Omitted is the number of accounts that the body leaves out.
	MediaType string
	Omitted   int
	// Holds lists the data in the body that the user can withdraw. When the user withdraws some of
	// this data, the body is erased and no longer delivered.
	Holds []Holding
	// Unwanted means that the body was not written, because [Reader.WantedEvents] reported that no
	// webhook wanted the event. Emit stores such an event with an erased body. If a webhook has
	// subscribed to the event in the meantime, the unit fails with ErrWanted. Only events of
	// permanent users can be unwanted.
	Unwanted bool
	// Body is the body for receivers. A large body is in Parts instead. The caller must close Parts
	// before Emit.
	Body    []byte
	Parts   *EventBody
	Created time.Time
	// NotBefore is the instant, in the domain's time, until which the deliveries are held back.
	// Until then, DropHeldBack can give up these deliveries.
	NotBefore time.Time
}

// JSON is the media type of a body to which deliveries add id_webhook_data.
const JSON = "application/json"

// Emit adds an event to the transaction of the change. If the event is not held, Emit also adds one
// delivery for each enabled webhook that is registered for the event now. If an event of a user is
// not held and has no deliveries, Emit erases its body. Emit fails when a JSON body is not an
// object, because only an object can contain id_webhook_data.
func (tx *Tx) Emit(e EmittedEvent) error {
	if e.Unwanted {
		return tx.emitUnwanted(e)
	}
	mediaType := cmp.Or(e.MediaType, JSON)
	if mediaType == JSON && e.first() != '{' {
		return fmt.Errorf("emit %s of %s %d: the body is not a JSON object", e.Name, e.Subject, e.SubjectID)
	}
	id, parted, err := tx.eventID(e)
	if err != nil {
		return err
	}
	tx.insertEvent(id, e, mediaType, parted)
	if e.Held {
		return nil
	}
	tx.deliver(id, e)
	if e.User != 0 {
		tx.eraseUnsent(e.Domain, `id = $2`, id)
	}
	return nil
}

func (tx *Tx) insertEvent(id int64, e EmittedEvent, mediaType string, parted int64) {
	tx.unit.ExecOne(ErrConflict, `INSERT INTO event (id, domain_id, name, subject, subject_id, version, user_id, held, media_type, omitted, body, parted, created, holds, account_id, trace)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		id, int64(e.Domain), string(e.Name), e.Subject, e.SubjectID, e.Version, database.OptionalID(e.User), e.Held, mediaType, e.Omitted,
		append([]byte{}, e.Body...), parted, database.Micros(e.Created), holdings(e.Holds), database.OptionalID(e.Account), database.OptionalText(tracing.Parent(tx.ctx)))
}

// emitUnwanted stores an event without a body, unless a webhook is subscribed to it.
func (tx *Tx) emitUnwanted(e EmittedEvent) error {
	if e.Held || e.User == 0 || len(e.Body) > 0 || e.Parts != nil {
		return fmt.Errorf("emit %s of %s %d: only the event of a permanent user can be unwanted, and has no body then", e.Name, e.Subject, e.SubjectID)
	}
	id, err := tx.unit.NewID("event")
	if err != nil {
		return err
	}
	e.Body = []byte("{}")
	tx.insertEvent(id, e, JSON, 0)
	tx.unit.ExecOne(ErrWanted, `UPDATE event SET erased = created WHERE +domain_id = $1 AND id = $2 AND NOT EXISTS (SELECT 1 FROM webhook
		WHERE domain_id = $1 AND event = $3 AND (user_id IS NULL OR user_id = $4) AND deleted IS NULL AND disabled IS NULL)`,
		int64(e.Domain), id, string(e.Name), int64(e.User))
	return nil
}

// WantedEvents returns a user's wanted events: an enabled webhook is subscribed to each of them
// now.
func (r *Reader) WantedEvents(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID) (map[webhook.Event]bool, error) {
	wanted := map[webhook.Event]bool{}
	err := r.rows.Each(ctx, `SELECT event FROM webhook WHERE domain_id = $1 AND (user_id IS NULL OR user_id = $2) AND deleted IS NULL AND disabled IS NULL GROUP BY event`,
		[]any{int64(domain), int64(user)}, func(row database.Row) (bool, error) {
			var name webhook.Event
			err := row.Scan(&name)
			wanted[name] = true
			return true, err
		})
	return wanted, err
}

// deliver stores the deliveries of an event. The ids follow the order of the webhooks. Without an
// ORDER BY, PostgreSQL could use a different order each time.
func (tx *Tx) deliver(id int64, e EmittedEvent) {
	tx.unit.Exec(`INSERT INTO delivery (domain_id, webhook_id, event_id, subject, subject_id, version, created, not_before)
		SELECT domain_id, id, $1, $2, $3, $4, $5, $6 FROM webhook
		WHERE domain_id = $7 AND event = $8 AND (user_id IS NULL OR user_id = $9) AND deleted IS NULL AND disabled IS NULL ORDER BY id`,
		id, e.Subject, e.SubjectID, e.Version, database.Micros(e.Created), notBefore(e.NotBefore), int64(e.Domain), string(e.Name), database.OptionalID(e.User))
}

// eraseUnsent erases the bodies of events without deliveries, because no webhook will receive them.
// The SQL condition `which` selects the events. In this condition, $2 stands for `argument`.
func (tx *Tx) eraseUnsent(domain passerelle.DomainID, which string, argument int64) {
	unsent := ` WHERE domain_id = $1 AND ` + which + ` AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = event.id)`
	tx.unit.Exec(`UPDATE event SET body = CAST('{}' AS {bytes}), holds = NULL, erased = created`+unsent, int64(domain), argument)
	tx.unit.Exec(`DELETE FROM event_part WHERE domain_id = $1 AND event_id IN (SELECT id FROM event`+unsent+` AND parted > 0)`, int64(domain), argument)
}

// first returns the first byte of the body, or zero for an empty body.
func (e EmittedEvent) first() byte {
	switch {
	case e.Parts != nil:
		return e.Parts.first
	case len(e.Body) > 0:
		return e.Body[0]
	}
	return 0
}

// eventID returns the id of an event, and the length of a body in parts. For a body in parts, the
// id was reserved with the first part.
func (tx *Tx) eventID(e EmittedEvent) (int64, int64, error) {
	var (
		id  int64
		err error
	)
	if e.Parts == nil {
		id, err = tx.unit.NewID("event")
		return id, 0, err
	}
	if e.Parts.domain != e.Domain || !e.Parts.closed || e.Parts.size == 0 || len(e.Body) > 0 {
		return 0, 0, fmt.Errorf("emit %s of %s %d: its parts are of another domain, not closed, or not all of the body", e.Name, e.Subject, e.SubjectID)
	}
	return e.Parts.event, e.Parts.size, nil
}

func notBefore(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return database.Micros(t)
}

// ReleaseHeld creates the deliveries of a user's held events, for the webhooks that are registered
// now. It erases the body of an event without a matching webhook. It creates no deliveries for
// events with an erased body.
func (tx *Tx) ReleaseHeld(domain passerelle.DomainID, user passerelle.UserID) {
	tx.unit.Exec(`INSERT INTO delivery (domain_id, webhook_id, event_id, subject, subject_id, version, created)
		SELECT e.domain_id, w.id, e.id, e.subject, e.subject_id, e.version, e.created FROM event e
		JOIN webhook w ON w.domain_id = e.domain_id AND w.event = e.name AND (w.user_id IS NULL OR w.user_id = e.user_id)
			AND w.deleted IS NULL AND w.disabled IS NULL
		WHERE e.domain_id = $1 AND e.user_id = $2 AND e.held AND e.erased IS NULL ORDER BY e.id, w.id`, int64(domain), int64(user))
	tx.eraseUnsent(domain, `user_id = $2 AND held`, int64(user))
	tx.unit.Exec(`UPDATE event SET held = FALSE WHERE domain_id = $1 AND user_id = $2 AND held`, int64(domain), int64(user))
}

// DropHeld removes the held events of a user who never became permanent.
func (tx *Tx) DropHeld(domain passerelle.DomainID, user passerelle.UserID) {
	tx.unit.Exec(`DELETE FROM event_part WHERE event_id IN (SELECT id FROM event WHERE domain_id = $1 AND user_id = $2 AND held)`, int64(domain), int64(user))
	tx.unit.Exec(`DELETE FROM event WHERE domain_id = $1 AND user_id = $2 AND held`, int64(domain), int64(user))
}

// DropHeldBack gives up the held-back deliveries of a subject up to a version. The condition
// not_before > 0 lets the databases use the index of held-back deliveries. The argument `now` is in
// the domain's time.
func (tx *Tx) DropHeldBack(domain passerelle.DomainID, subject string, subjectID, version int64, now time.Time, reason string) {
	tx.unit.Exec(`UPDATE delivery SET dropped = $1, drop_reason = $2 WHERE domain_id = $3 AND subject = $4 AND subject_id = $5 AND version <= $6
		AND delivered IS NULL AND dropped IS NULL AND not_before > 0 AND not_before > $1`,
		database.Micros(now), reason, int64(domain), subject, subjectID, version)
}
