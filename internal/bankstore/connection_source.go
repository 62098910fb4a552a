package bankstore

import (
	"context"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// ConnectionSource is one source of a connection: an access channel of its connector.
type ConnectionSource struct {
	ID                                                  passerelle.SourceID
	Connection                                          passerelle.ConnectionID
	ConnectorSource                                     int64
	Name                                                string
	State                                               passerelle.ConnectionState
	Created                                             time.Time
	LastUpdate, Disabled, AccessExpire, Expire, NextTry *time.Time
}

const sourceColumns = `id, connection_id, connector_source, name, state, created, last_update, disabled, access_expire, expire, next_try`

func scanSource(row database.Row) (ConnectionSource, error) {
	var (
		s                                      ConnectionSource
		state                                  *string
		created                                int64
		update, disabled, access, expire, next *int64
	)
	err := row.Scan(&s.ID, &s.Connection, &s.ConnectorSource, &s.Name, &state, &created, &update, &disabled, &access, &expire, &next)
	s.State, s.Created = database.Text[passerelle.ConnectionState](state), database.Instant(created)
	s.LastUpdate, s.Disabled, s.AccessExpire = database.OptionalInstant(update), database.OptionalInstant(disabled), database.OptionalInstant(access)
	s.Expire, s.NextTry = database.OptionalInstant(expire), database.OptionalInstant(next)
	return s, err
}

// SourcesOf lists the sources of connections, oldest first.
func (r Reader) SourcesOf(ctx context.Context, domain passerelle.DomainID, connections ...passerelle.ConnectionID) ([]ConnectionSource, error) {
	s := database.Selection{From: "connection_source", Where: []string{"domain_id = $1"}, Args: []any{int64(domain)}}
	s = database.Among(s, "connection_id", connections)
	return database.Collect(ctx, r.rows, scanSource, `SELECT `+sourceColumns+` FROM connection_source WHERE `+s.Conditions()+` ORDER BY id`, s.Args...)
}

// CreateSource stores a source of a connection and sets its id.
func (tx Tx) CreateSource(domain passerelle.DomainID, s *ConnectionSource) error {
	id, err := tx.unit.NewID("connection_source")
	if err != nil {
		return err
	}
	s.ID = passerelle.SourceID(id)
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO connection_source (id, domain_id, connection_id, connector_source, name, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, int64(domain), int64(s.Connection), s.ConnectorSource, s.Name, database.Micros(s.Created))
	return nil
}

// SaveSource stores the state and the times of a source.
func (tx Tx) SaveSource(domain passerelle.DomainID, s ConnectionSource) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE connection_source SET state = $1, last_update = $2, disabled = $3, access_expire = $4, expire = $5, next_try = $6 WHERE +domain_id = $7 AND id = $8`,
		database.OptionalText(s.State), database.OptionalMicros(s.LastUpdate), database.OptionalMicros(s.Disabled), database.OptionalMicros(s.AccessExpire), database.OptionalMicros(s.Expire), database.OptionalMicros(s.NextTry),
		int64(domain), int64(s.ID))
}
