package store

import (
	"context"
	"fmt"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/keys"
)

// ConnectorProgram is a connector that runs as a separate program. It serves all domains.
type ConnectorProgram struct {
	ID int64
	// UUID is the UUID of the connector, the same as in its profile.
	UUID, Address string
	// Profile is the program's description, in JSON.
	Profile string
	Added   time.Time
}

// ConnectorPrograms lists the programs in the order in which they were added.
func (r *Reader) ConnectorPrograms(ctx context.Context) ([]ConnectorProgram, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (ConnectorProgram, error) {
		var (
			p     ConnectorProgram
			added int64
		)
		err := row.Scan(&p.ID, &p.UUID, &p.Address, &p.Profile, &added)
		p.Added = database.Instant(added)
		return p, err
	}, `SELECT id, uuid, address, profile, added FROM connector_program ORDER BY id`)
}

func programPlace(id int64) keys.Place {
	return keys.Place{Table: "connector_program", Column: "secret", Row: id}
}

// ConnectorSecret returns the secret that a program shares with the service. It fails with
// ErrNotFound when the program is unknown.
func (r *Reader) ConnectorSecret(ctx context.Context, id int64) (string, error) {
	sealed, err := database.One(ctx, r.rows, func(row database.Row) ([]byte, error) {
		var sealed []byte
		err := row.Scan(&sealed)
		return sealed, err
	}, `SELECT secret FROM connector_program WHERE id = $1`, id)
	if err != nil {
		return "", err
	}
	plain, err := r.keys.Open(programPlace(id), sealed)
	if err != nil {
		return "", fmt.Errorf("%w: the secret of connector program %d: %w", ErrSealed, id, err)
	}
	return string(plain), nil
}

// AddConnectorProgram stores a program with its secret and sets the id of the program. Write
// fails with ErrDuplicate when the UUID is in use.
func (tx *Tx) AddConnectorProgram(p *ConnectorProgram, secret string) error {
	id, err := tx.unit.NewID("connector_program")
	if err != nil {
		return err
	}
	p.ID = id
	sealed, err := tx.Seal(programPlace(id), []byte(secret))
	if err != nil {
		return fmt.Errorf("seal the secret of a connector program: %w", err)
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO connector_program (id, uuid, address, secret, profile, added) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, p.UUID, p.Address, sealed, p.Profile, database.Micros(p.Added))
	return nil
}

// DescribeConnectorProgram replaces a program's description.
func (tx *Tx) DescribeConnectorProgram(id int64, profile string) {
	tx.unit.ExecOne(ErrNotFound, `UPDATE connector_program SET profile = $1 WHERE id = $2`, profile, id)
}

// RemoveConnectorProgram removes a program. The connector's connections and payments do not change.
func (tx *Tx) RemoveConnectorProgram(id int64) {
	tx.unit.ExecOne(ErrNotFound, `DELETE FROM connector_program WHERE id = $1`, id)
}
