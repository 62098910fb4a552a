package operatorstore

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// AuditFilter selects audited acts. A field with its zero value does not restrict the selection.
type AuditFilter struct {
	Domain passerelle.DomainID
	// NoDomain selects acts without a domain.
	NoDomain bool
	Operator store.OperatorID
	Act      string
	// Subject is a kind of object, and SubjectID selects one object of that kind.
	Subject   string
	SubjectID int64
	// Request is the id of the request in which the acts happened.
	Request string
	// Refused selects refused acts.
	Refused bool
	// From is inclusive, Until exclusive.
	From, Until time.Time
}

func (f AuditFilter) selection() database.Selection {
	s := database.Selection{From: "audit", Where: []string{"TRUE"}}
	if f.NoDomain {
		s = s.And("domain_id IS NULL")
	}
	domain := "domain_id = $%d"
	if f.SubjectID != 0 {
		domain = chainOf + " = $%d" // prevents a search in the index of domains, because an object has fewer acts than a domain
	}
	for _, is := range []struct {
		set    bool
		clause string
		value  any
	}{
		{f.Domain != 0, domain, int64(f.Domain)},
		{f.Request != "", "request_id = $%d", f.Request},
		{f.Operator != 0, "operator_id = $%d", int64(f.Operator)},
		{f.Act != "", "act = $%d", f.Act},
		{f.Subject != "", "subject = $%d", f.Subject},
		{f.SubjectID != 0, "subject_id = $%d", f.SubjectID},
		{f.Refused, "refused = $%d", true},
	} {
		if is.set {
			s = s.And(is.clause, is.value)
		}
	}
	return s.During("at", f.From, f.Until)
}

// Audits reads a window of acts, the newest first. A position consists of the instant and the
// id.
func (r Reader) Audits(ctx context.Context, f AuditFilter, w store.Window) ([]AuditLink, error) {
	sql, args := f.selection().Newest(linkColumns, "at", "id", w)
	return database.Collect(ctx, r.rows, scanLink, sql, args...)
}

// AuditEntry loads an act. It fails with ErrNotFound when the act does not exist.
func (r Reader) AuditEntry(ctx context.Context, id int64) (AuditLink, error) {
	return database.One(ctx, r.rows, scanLink, `SELECT `+linkColumns+` FROM audit WHERE id = $1`, id)
}

// Place returns the position of an act in lists.
func (l AuditLink) Place() []any { return []any{database.Micros(l.At), l.ID} }
