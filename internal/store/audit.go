package store

import (
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// OperatorID identifies a person who works in the console.
type OperatorID int64

// Audit is the record of one act. The act happened in the console, in a command or in an API
// request. It may be a change, a view of data or a refused attempt. An Audit contains no personal
// data: numbers stand for people and objects.
type Audit struct {
	ID int64
	// Domain is zero for an act that concerns no domain.
	Domain passerelle.DomainID
	// At is real time.
	At time.Time
	// Operator and Session are zero for commands, for requests to the API, and for a sign-in
	// attempt with an unknown name.
	Operator OperatorID
	Session  int64
	// Request is the id of the request, empty for commands.
	Request string
	// Act is the name of the action.
	Act string
	// Subject is the kind of the object, and SubjectID its id. They are empty and zero for an act
	// without an object.
	Subject   string
	SubjectID int64
	Refused   bool
}

// Audit records acts in the same unit as the change (see [Tx]). The store keeps the change and the
// acts, or neither.
func (tx *Tx) Audit(acts ...Audit) error {
	for _, a := range acts {
		if err := tx.audit(a); err != nil {
			return err
		}
	}
	return nil
}

// AuditOf does the same as Audit, for acts on the object with this id, which the acts need not have.
func (tx *Tx) AuditOf(id int64, acts ...Audit) error {
	for _, a := range acts {
		a.SubjectID = id
		if err := tx.audit(a); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) audit(a Audit) error {
	id, err := tx.unit.NewID("audit")
	if err != nil {
		return err
	}
	var subject *int64
	if a.Subject != "" {
		subject = &a.SubjectID
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO audit (id, domain_id, at, operator_id, session_id, request_id, act, subject, subject_id, refused)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		id, database.OptionalID(a.Domain), database.Micros(a.At), database.OptionalID(a.Operator), database.OptionalID(a.Session), a.Request, a.Act,
		database.OptionalText(a.Subject), subject, a.Refused)
	return nil
}
