package bankstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// TroubleFilter selects a domain's connections that have a state.
type TroubleFilter struct {
	Domain passerelle.DomainID
	// States are the states of the connections, and Connector is the UUID of their connector.
	// Empty means all.
	States    []passerelle.ConnectionState
	Connector string
}

// ConnectionsInTrouble lists the connections that the filter selects, ordered by id. It merges one
// list for each state, because an index contains each list in order.
func (r Reader) ConnectionsInTrouble(ctx context.Context, f TroubleFilter, w store.Window) ([]Connection, error) {
	states := f.States
	if len(states) == 0 {
		states = passerelle.ConnectionStates()
	}
	p := w.ByID()
	s := database.Selection{From: "connection"}.And("domain_id = $%d", int64(f.Domain)).And("deleted IS NULL").And("id "+p.Sign+" $%d", p.From)
	if f.Connector != "" {
		s = s.And("connector_uuid = $%d", f.Connector)
	}
	limit := s.Bind(w.Limit)
	var lists []string
	for i, state := range states {
		list := s.And("state = $%d", string(state))
		lists = append(lists, fmt.Sprintf(`SELECT * FROM (SELECT %s FROM connection WHERE %s ORDER BY id %s LIMIT %s) AS list_%d`,
			connectionColumns, list.Conditions(), p.Order, limit, i))
		s.Args = list.Args
	}
	return database.Collect(ctx, r.rows, scanConnection, fmt.Sprintf(`SELECT * FROM (%s) AS place ORDER BY id %s LIMIT %s`,
		strings.Join(lists, " UNION ALL "), p.Order, limit), s.Args...)
}

// Trouble is the number of connections in one state.
type Trouble struct {
	State string
	Count int64
}

// Troubles counts the connections of a domain that have a state, by state. The most frequent state
// comes first. Troubles reads at most store.MaxOverviewRows connections.
func (r Reader) Troubles(ctx context.Context, domain passerelle.DomainID) ([]Trouble, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (Trouble, error) {
		var one Trouble
		err := row.Scan(&one.State, &one.Count)
		return one, err
	}, `SELECT state, count(*) AS n FROM (SELECT state FROM connection WHERE domain_id = $1 AND state IS NOT NULL AND deleted IS NULL LIMIT $2) AS place
		GROUP BY state ORDER BY n DESC, state`, int64(domain), store.MaxOverviewRows)
}

// UserConnections is the number of a user's connections. Failing counts the connections with a
// state other than validating.
type UserConnections struct{ All, Failing int64 }

// ConnectionsOfUsers counts the connections of users. Users without connections are not in the map.
func (r Reader) ConnectionsOfUsers(ctx context.Context, domain passerelle.DomainID, users ...passerelle.UserID) (map[passerelle.UserID]UserConnections, error) {
	s := database.Among(database.Selection{}.And("+u.domain_id = $%d", int64(domain)), "u.id", users)
	type counted struct {
		user passerelle.UserID
		n    UserConnections
	}
	rows, err := database.Collect(ctx, r.rows, func(row database.Row) (counted, error) {
		var one counted
		err := row.Scan(&one.user, &one.n.All, &one.n.Failing)
		return one, err
	}, `SELECT u.id, (SELECT count(*) FROM connection c WHERE c.domain_id = u.domain_id AND c.user_id = u.id AND c.deleted IS NULL),
		(SELECT count(*) FROM connection c WHERE c.domain_id = u.domain_id AND c.user_id = u.id AND c.deleted IS NULL AND `+database.Opaque("c.state IS NOT NULL AND c.state <> 'validating'")+`)
		FROM end_user u WHERE `+s.Conditions(), s.Args...)
	all := make(map[passerelle.UserID]UserConnections, len(rows))
	for _, one := range rows {
		if one.n.All > 0 {
			all[one.user] = one.n
		}
	}
	return all, err
}

// ConnectionsEnding lists the connections that ConsentsEnding counts. The consent that ends first
// comes first. A position is the end of the consent in microseconds, and the id.
func (r Reader) ConnectionsEnding(ctx context.Context, domain passerelle.DomainID, from, until time.Time, w store.Window) ([]Connection, error) {
	sign, order := ">", "ASC"
	if w.Backward {
		sign, order = "<", "DESC"
	}
	s := database.Selection{From: "connection", Where: []string{"domain_id = $1"}, Args: []any{int64(domain)}}.
		And("consent_until > $%d", database.Micros(from)).And("consent_until <= $%d", database.Micros(until)).And(lapsing)
	if w.From != nil {
		s = s.And("(consent_until, id) "+sign+" ($%d, $%d)", w.From...)
	}
	return database.Collect(ctx, r.rows, scanConnection, fmt.Sprintf(`SELECT %s FROM connection WHERE %s ORDER BY consent_until %s, id %s LIMIT %s`,
		connectionColumns, s.Conditions(), order, order, s.Bind(w.Limit)), s.Args...)
}

// lapsing selects the connections whose consents can still end. An index has the same condition.
const lapsing = "consent_until IS NOT NULL AND deleted IS NULL AND (state IS NULL OR state NOT IN ('SCARequired', 'webauthRequired'))"

// ConsentsEnding counts the connections whose consent can still end, and ends between the arguments
// from and until. It stops counting at store.MaxOverviewRows.
func (r Reader) ConsentsEnding(ctx context.Context, domain passerelle.DomainID, from, until time.Time) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM (SELECT 1 FROM connection
		WHERE domain_id = $1 AND consent_until > $2 AND consent_until <= $3 AND `+lapsing+` LIMIT $4) AS place`,
		int64(domain), database.Micros(from), database.Micros(until), store.MaxOverviewRows)
}
