package store

import (
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// OperatorID identifies a person who works in the console.
type OperatorID int64

// Audit is one thing that an operator did, viewed, or was refused. It contains no personal
// value, and identifies people and objects by number.
type Audit struct {
	ID int64
	// Domain is zero for acts without a domain.
	Domain passerelle.DomainID
	// At is real time.
	At time.Time
	// Operator and Session are zero for commands, and for a sign-in with an unknown name.
	Operator OperatorID
	Session  int64
	// Request is the id of the request, empty for commands.
	Request string
	// Act names the act.
	Act string
	// Subject is the kind of object, and SubjectID its id; empty and zero without an object.
	Subject   string
	SubjectID int64
	Refused   bool
}

// Audit records acts in the unit in which they happen.
func (tx *Tx) Audit(acts ...Audit) error {
	for _, a := range acts {
		if err := tx.audit(a); err != nil {
			return err
		}
	}
	return nil
}

// AuditOf is like Audit, for acts on an object that gets its id in the unit.
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
