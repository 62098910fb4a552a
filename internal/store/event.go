package store

import (
	"bytes"
	"fmt"
	"time"

	"passerelle"
	"passerelle/webhook"
)

// Event is something that happened, with the body that receivers will get,
// without its id_webhook_data, which each delivery adds.
type Event struct {
	Domain passerelle.DomainID
	Name   webhook.Event
	// Subject and SubjectID name what the event is about ("payment", 7).
	// Deliveries of one subject go out in the order of Version.
	Subject   string
	SubjectID int64
	Version   int64
	Body      []byte
	Created   time.Time
}

// Emit stores an event and one delivery for each webhook that is registered
// for it at this moment, in the transaction of the change it tells of. A body
// that does not begin as a JSON object has no place for id_webhook_data and is
// an error.
func (tx *Tx) Emit(e Event) error {
	if !bytes.HasPrefix(e.Body, []byte("{")) {
		return fmt.Errorf("emit %s of %s %d: the body is not a JSON object", e.Name, e.Subject, e.SubjectID)
	}
	id, err := tx.newID("event")
	if err != nil {
		return err
	}
	tx.execOne(ErrConflict, `INSERT INTO event (id, domain_id, name, subject, subject_id, version, body, created)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		id, int64(e.Domain), string(e.Name), e.Subject, e.SubjectID, e.Version, e.Body, micros(e.Created))
	tx.exec(`INSERT INTO delivery (domain_id, webhook_id, event_id, subject, subject_id, version, created)
		SELECT domain_id, id, $1, $2, $3, $4, $5 FROM webhook WHERE domain_id = $6 AND event = $7 AND deleted IS NULL`,
		id, e.Subject, e.SubjectID, e.Version, micros(e.Created), int64(e.Domain), string(e.Name))
	return nil
}
