package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/remote"
	"passerelle/connector/sandbox"
	"passerelle/internal/store"
)

// firstProgram is the number of the connector before those that are programs. Bank files and
// connectors of this program have smaller ones.
const firstProgram = 1_000_000

// program is a program that the service calls, and its row. Calls is nil for one that was
// left out.
type program struct {
	row   store.ConnectorProgram
	calls *remote.Program
}

// ProgramConnectors are the connectors that are other programs, as they describe themselves.
// None of them can be called.
func ProgramConnectors(ctx context.Context, db *store.Reader) ([]connector.Connector, error) {
	rows, err := db.ConnectorPrograms(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the connector programs: %w", err)
	}
	var all []connector.Connector
	for _, row := range rows {
		c, err := connectorOf(&remote.Program{}, row)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func connectorOf(p *remote.Program, row store.ConnectorProgram) (connector.Connector, error) {
	described, err := remote.DecodeProfile(row.Profile)
	if err != nil {
		return nil, fmt.Errorf("read the profile of connector %s: %w", row.UUID, err)
	}
	return p.Connector(described, firstProgram+row.ID)
}

// AddProgram asks a program what it is and stores it as a connector of the deployment. It
// fails with Invalid for an address or a secret that cannot be right, and for a connector
// that the deployment has.
func AddProgram(ctx context.Context, db *store.DB, address, secret string) (store.ConnectorProgram, error) {
	row := store.ConnectorProgram{Address: address, Added: time.Now()}
	described, err := describe(ctx, address, secret)
	if err != nil {
		return row, err
	}
	row.UUID = described.UUID
	own := Connectors(&sandbox.Bank{})
	taken := slices.ContainsFunc(own, func(c connector.Connector) bool { return c.Profile().UUID == row.UUID })
	if row.Profile, err = described.Encode(); err != nil {
		return row, err
	}
	if !taken {
		err = db.Write(ctx, func(tx *store.Tx) error { return tx.AddConnectorProgram(&row, secret) })
	}
	if taken || errors.Is(err, store.ErrDuplicate) {
		return row, passerelle.InvalidField("uuid", "the connector %s is there already", row.UUID)
	}
	return row, err
}

// describe asks a program what it is, and refuses what the protocol does not have.
func describe(ctx context.Context, address, secret string) (remote.Profile, error) {
	p, err := remote.NewProgram(address, secret)
	if err != nil {
		return remote.Profile{}, err
	}
	defer p.Close()
	return p.Strict().Describe(ctx)
}

// FindProgram finds a program by its UUID or its number. It is ErrNotFound when there is none.
func FindProgram(ctx context.Context, db *store.Reader, name string) (store.ConnectorProgram, error) {
	rows, err := db.ConnectorPrograms(ctx)
	if err != nil {
		return store.ConnectorProgram{}, fmt.Errorf("list the connector programs: %w", err)
	}
	i := slices.IndexFunc(rows, func(p store.ConnectorProgram) bool {
		return p.UUID == name || strconv.FormatInt(firstProgram+p.ID, 10) == name
	})
	if i < 0 {
		return store.ConnectorProgram{}, store.ErrNotFound
	}
	return rows[i], nil
}

// RefreshProgram asks a program again what it is, and stores the answer. A program that has
// another UUID is refused.
func RefreshProgram(ctx context.Context, db *store.DB, row store.ConnectorProgram) error {
	secret, err := db.ConnectorSecret(ctx, row.ID)
	if err != nil {
		return err
	}
	described, err := describe(ctx, row.Address, secret)
	if err != nil {
		return err
	}
	if described.UUID != row.UUID {
		return passerelle.InvalidField("uuid", "the program at %s is now the connector %s", row.Address, described.UUID)
	}
	profile, err := described.Encode()
	if err != nil {
		return err
	}
	return db.Write(ctx, func(tx *store.Tx) error {
		tx.DescribeConnectorProgram(row.ID, profile)
		return nil
	})
}

// loadPrograms returns the connectors of the programs in the database. One that is wrong is
// logged and left out.
func (s *Service) loadPrograms(ctx context.Context) ([]connector.Connector, map[int64]program, error) {
	rows, err := s.DB.ConnectorPrograms(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list the connector programs: %w", err)
	}
	var all []connector.Connector
	next := map[int64]program{}
	for _, row := range rows {
		c, p, err := s.loadProgram(ctx, row)
		if err != nil {
			s.config.Log.ErrorContext(ctx, "a connector program is left out", "connector", row.UUID, "error", err)
		} else {
			all = append(all, c)
		}
		next[row.ID] = program{row, p}
	}
	return all, next, nil
}

func (s *Service) loadProgram(ctx context.Context, row store.ConnectorProgram) (connector.Connector, *remote.Program, error) {
	secret, err := s.DB.ConnectorSecret(ctx, row.ID)
	if err != nil {
		return nil, nil, err
	}
	p, err := remote.NewProgram(row.Address, secret)
	if err != nil {
		return nil, nil, err
	}
	if former := s.programs[row.ID].calls; former != nil {
		p.Continue(former)
	}
	c, err := connectorOf(p, row)
	return c, p, err
}

// followPrograms loads the connectors anew when a program was added, removed or described.
func (s *Service) followPrograms(ctx context.Context) error {
	rows, err := s.DB.ConnectorPrograms(ctx)
	if err != nil {
		return fmt.Errorf("list the connector programs: %w", err)
	}
	s.reloading.Lock()
	same := len(rows) == len(s.programs) && !slices.ContainsFunc(rows, func(row store.ConnectorProgram) bool { return s.programs[row.ID].row != row })
	s.reloading.Unlock()
	if !same {
		return s.loadBanks(ctx)
	}
	return nil
}

// fetchFromPrograms fetches the files of all programs at once, so that one that is slow
// delays no other.
func (s *Service) fetchFromPrograms(ctx context.Context) error {
	rows, err := s.DB.ConnectorPrograms(ctx)
	if err != nil {
		return fmt.Errorf("list the connector programs: %w", err)
	}
	failures := make([]error, len(rows))
	var fetching sync.WaitGroup
	for i, row := range rows {
		fetching.Go(func() { failures[i] = s.fetchFrom(row.UUID)(ctx) })
	}
	fetching.Wait()
	return errors.Join(failures...)
}
