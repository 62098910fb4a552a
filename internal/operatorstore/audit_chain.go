package operatorstore

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// AuditLink is an audited act with its place in a chain. Every domain has a separate chain. All
// acts without a domain share the chain with the number zero.
type AuditLink struct {
	store.Audit
	// Number is the place in the chain. The first act of a chain has number 1. An act without a
	// place has number 0.
	Number int64
	// Previous is the hash of the act before this one, and Hash is the hash of this act. Both are
	// set together with the place.
	Previous, Hash []byte
	// Content is the part of the hash input that comes from the act: the bytes of the columns in
	// auditColumns, in that order. NULL is a byte 0. Any other value is a byte 1, followed by the
	// value. A number has eight bytes, the most significant first. A boolean is the number 0 or 1.
	// A text is its length in bytes, followed by its bytes.
	Content []byte
}

// AuditEnd is the last act of a chain. It is stored separately from the acts.
type AuditEnd struct {
	Chain  passerelle.DomainID
	Number int64
	Hash   []byte
}

const chainOf = `COALESCE(domain_id, 0)`

const auditColumns = `id, domain_id, at, operator_id, session_id, request_id, act, subject, subject_id, refused`

const linkColumns = auditColumns + `, number, previous, hash`

func scanLink(row database.Row) (AuditLink, error) {
	var (
		l      AuditLink
		a      auditRow
		number *int64
	)
	err := row.Scan(append(a.columns(), &number, &l.Previous, &l.Hash)...)
	l.Audit, l.Number, l.Content = a.audit(), database.ID[int64](number), a.content()
	return l, err
}

// auditRow is the row of an act.
type auditRow struct {
	id, at                        int64
	domain, operator, session, on *int64
	request, act                  string
	subject                       *string
	refused                       bool
}

func (a *auditRow) columns() []any {
	return []any{&a.id, &a.domain, &a.at, &a.operator, &a.session, &a.request, &a.act, &a.subject, &a.on, &a.refused}
}

func (a *auditRow) audit() store.Audit {
	return store.Audit{
		ID: a.id, Domain: database.ID[passerelle.DomainID](a.domain), At: database.Instant(a.at), Operator: database.ID[store.OperatorID](a.operator), Session: database.ID[int64](a.session),
		Request: a.request, Act: a.act, Subject: database.Text[string](a.subject), SubjectID: database.ID[int64](a.on), Refused: a.refused,
	}
}

func (a *auditRow) content() []byte {
	var refused int64
	if a.refused {
		refused = 1
	}
	var c canon
	c.number(&a.id)
	c.number(a.domain)
	c.number(&a.at)
	c.number(a.operator)
	c.number(a.session)
	c.text(&a.request)
	c.text(&a.act)
	c.text(a.subject)
	c.number(a.on)
	c.number(&refused)
	return c
}

// canon collects the bytes for the hash.
type canon []byte

func (c *canon) number(n *int64) {
	if n == nil {
		*c = append(*c, 0)
		return
	}
	*c = binary.BigEndian.AppendUint64(append(*c, 1), uint64(*n))
}

func (c *canon) text(s *string) {
	if s == nil {
		*c = append(*c, 0)
		return
	}
	length := int64(len(*s))
	c.number(&length)
	*c = append(*c, *s...)
}

// NextUnchained searches the chains with a number greater than `after`, in ascending order; with
// -1, it searches all chains. It returns the first chain that contains acts without a place. It
// fails with ErrNotFound when it finds no such chain.
func (r Reader) NextUnchained(ctx context.Context, after passerelle.DomainID) (passerelle.DomainID, error) {
	chain, err := database.One(ctx, r.rows, database.ScanInt, `SELECT `+chainOf+` FROM audit WHERE number IS NULL AND `+chainOf+` > $1 ORDER BY `+chainOf+`, id LIMIT 1`, int64(after))
	return passerelle.DomainID(chain), err
}

// UnchainedAudit reads the acts of a chain that have no place, in the order in which they will get
// their places. It reads at most limit acts.
func (r Reader) UnchainedAudit(ctx context.Context, chain passerelle.DomainID, limit int) ([]AuditLink, error) {
	return database.Collect(ctx, r.rows, scanLink, `SELECT `+linkColumns+` FROM audit WHERE `+chainOf+` = $1 AND number IS NULL ORDER BY id LIMIT $2`, int64(chain), limit)
}

// CountUnchainedAudit counts a chain's acts that have no place. It stops counting at `bound`.
func (r Reader) CountUnchainedAudit(ctx context.Context, chain passerelle.DomainID, bound int) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM (SELECT 1 FROM audit WHERE `+chainOf+` = $1 AND number IS NULL LIMIT $2) AS waiting`, int64(chain), bound)
}

// AuditChains lists every chain that has an act or an end.
func (r Reader) AuditChains(ctx context.Context) ([]passerelle.DomainID, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (passerelle.DomainID, error) {
		chain, err := database.ScanInt(row)
		return passerelle.DomainID(chain), err
	}, `SELECT DISTINCT `+chainOf+` AS chain FROM audit UNION SELECT chain FROM audit_end ORDER BY 1`)
}

// AuditEnd loads the end of a chain. The number of this end is 0 for a chain in which no act has a
// place.
func (r Reader) AuditEnd(ctx context.Context, chain passerelle.DomainID) (AuditEnd, error) {
	end := AuditEnd{Chain: chain}
	err := r.rows.Each(ctx, `SELECT number, hash FROM audit_end WHERE chain = $1`, []any{int64(chain)}, func(row database.Row) (bool, error) {
		return false, row.Scan(&end.Number, &end.Hash)
	})
	return end, err
}

// AuditLinks reads the acts of a chain that have a place, in the order of their places. It reads at
// most limit acts. The argument `after` is the last act of the previous batch. If two acts of a
// damaged database have the same place, AuditLinks reads both.
func (r Reader) AuditLinks(ctx context.Context, chain passerelle.DomainID, after AuditLink, limit int) ([]AuditLink, error) {
	return database.Collect(ctx, r.rows, scanLink, `SELECT `+linkColumns+` FROM audit WHERE `+chainOf+` = $1 AND number IS NOT NULL AND (number, id) > ($2, $3)
		ORDER BY number, id LIMIT $4`, int64(chain), after.Number, after.ID, limit)
}

// ErrNoLease reports that the caller does not hold the lease of the audit chains. Another process
// holds the lease, or the caller's lease has lapsed.
var ErrNoLease = errors.New("this process does not hold the lease of the audit chains")

// LeaseAuditChains makes holder the only process that extends the audit chains. Write fails with
// ErrNoLease while another process holds the lease.
func (tx Tx) LeaseAuditChains(holder string, lease time.Duration) {
	tx.unit.ExecOne(ErrNoLease, `UPDATE audit_turn SET holder = $1, lease_until = {now} + $2 WHERE holder = $1 OR lease_until < {now}`, holder, lease.Microseconds())
}

// ReleaseAuditChains ends the holder's lease. It does nothing when another process holds the lease.
func (tx Tx) ReleaseAuditChains(holder string) {
	tx.unit.Exec(`UPDATE audit_turn SET holder = '', lease_until = 0 WHERE holder = $1`, holder)
}

// Chain gives acts the next places in their chain. It makes the last of these acts the end of the
// chain, and renews the lease. Write fails with ErrNoLease when the lease has lapsed, and with
// ErrConflict when another process has moved the end or chained one of the acts.
func (tx Tx) Chain(end AuditEnd, links []AuditLink, holder string, lease time.Duration) {
	tx.unit.ExecOne(ErrNoLease, `UPDATE audit_turn SET lease_until = {now} + $1 WHERE holder = $2 AND lease_until >= {now}`, lease.Microseconds(), holder)
	last := links[len(links)-1]
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO audit_end (chain, number, hash) VALUES ($1, $2, $3)
		ON CONFLICT (chain) DO UPDATE SET number = excluded.number, hash = excluded.hash WHERE audit_end.number = $4`,
		int64(end.Chain), last.Number, last.Hash, end.Number)
	for _, l := range links {
		// With number IS NULL, PostgreSQL might search the index of all acts that wait for a number.
		tx.unit.ExecOne(store.ErrConflict, `UPDATE audit SET number = $1, previous = $2, hash = $3 WHERE id = $4 AND COALESCE(number, 0) = 0`, l.Number, l.Previous, l.Hash, l.ID)
	}
}
