package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"passerelle/connector"
	"passerelle/connector/remote"
	"passerelle/connector/sandbox"
	"passerelle/internal/background"
	"passerelle/internal/programs"
	"passerelle/internal/store"
)

// program is a connector program: its row, and the client that calls the program. The client can be
// nil if the service has left out the program because of an error.
type program struct {
	row   store.ConnectorProgram
	calls *remote.Program
}

// Programs returns the use cases of connector programs for commands, which run without the service.
// These use cases do not know the bank files.
func Programs(db *store.DB) *programs.Programs {
	return &programs.Programs{DB: db, Now: time.Now, Own: builtIn}
}

// newPrograms returns the use cases of connector programs. A program cannot take the UUID of a bank
// file of this process.
func (s *Service) newPrograms() *programs.Programs {
	return &programs.Programs{DB: s.DB, Now: time.Now, Own: func(uuid string) bool { return builtIn(uuid) || s.isFile(uuid) }, Connectors: &s.registry}
}

// builtIn reports whether the UUID belongs to a built-in connector.
func builtIn(uuid string) bool {
	return slices.ContainsFunc(Connectors(&sandbox.Bank{}), func(c connector.Connector) bool { return c.Profile().UUID == uuid })
}

// isFile reports whether the UUID belongs to a bank file of this process.
func (s *Service) isFile(uuid string) bool {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	for _, bank := range s.banks {
		if bank.Profile().UUID == uuid {
			return true
		}
	}
	return false
}

// ProgramConnectors returns the connectors of programs, with their stored descriptions. These
// connectors cannot call their programs.
func ProgramConnectors(ctx context.Context, db *store.Reader) ([]connector.Connector, error) {
	all, err := programs.List(ctx, db)
	if err != nil {
		return nil, err
	}
	connectors := make([]connector.Connector, len(all))
	for i, one := range all {
		if connectors[i], err = one.Connector(&remote.Program{}); err != nil {
			return nil, err
		}
	}
	return connectors, nil
}

// loadPrograms returns the connectors of the programs in the database. It logs, counts and omits an
// invalid program. The map also has the omitted programs. loadPrograms fails when it cannot read a
// program, because a later call may succeed.
func (s *Service) loadPrograms(ctx context.Context) ([]connector.Connector, map[int64]program, error) {
	all, err := programs.List(ctx, &s.DB.Reader)
	if err != nil {
		return nil, nil, err
	}
	var connectors []connector.Connector
	next := map[int64]program{}
	for _, one := range all {
		secret, err := s.DB.ConnectorSecret(ctx, one.ID)
		if errors.Is(err, store.ErrNotFound) {
			continue // somebody has removed the program since it was listed
		}
		if err != nil && !errors.Is(err, store.ErrSealed) {
			return nil, nil, fmt.Errorf("load the secret of connector %s: %w", one.UUID, err)
		}
		var c connector.Connector
		var calls *remote.Program
		if err == nil {
			c, calls, err = s.loadProgram(one, secret)
		}
		if err != nil {
			s.config.Log.ErrorContext(ctx, "a connector program is left out", "connector", one.UUID, "error", err)
		} else {
			connectors = append(connectors, c)
		}
		next[one.ID] = program{one.ConnectorProgram, calls}
	}
	s.leftOut.Store(int64(len(next) - len(connectors)))
	return connectors, next, nil
}

func (s *Service) loadProgram(one programs.Program, secret string) (connector.Connector, *remote.Program, error) {
	calls, err := remote.NewProgram(one.Address, secret)
	if err != nil {
		return nil, nil, err
	}
	if former := s.programs[one.ID].calls; former != nil {
		calls.Continue(former)
	}
	c, err := one.Connector(calls)
	return c, calls, err
}

// followPrograms reloads the connectors after a program was added or removed, or after its
// description changed.
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

// fetchFromPrograms wakes a loop for each program, which fetches the program's due files. It does not
// wait for the programs, so a slow program delays only its own files. The loop of a removed program
// stays, but nothing wakes it.
func (s *Service) fetchFromPrograms(ctx context.Context) error {
	rows, err := s.DB.ConnectorPrograms(ctx)
	if err != nil {
		return fmt.Errorf("list the connector programs: %w", err)
	}
	s.fetching.Lock()
	defer s.fetching.Unlock()
	for _, row := range rows {
		if loop, known := s.programFetches[row.UUID]; known {
			loop.Wake()
			continue
		}
		loop := s.fetcher(row.UUID, 0)
		s.programFetches[row.UUID] = loop
		loop.Start() //nolint:contextcheck // the loop outlives this pass
	}
	return nil
}

// allLoops returns the loops of the service and of its connector programs.
func (s *Service) allLoops() background.Group {
	s.fetching.Lock()
	defer s.fetching.Unlock()
	return slices.AppendSeq(slices.Clone(s.loops), maps.Values(s.programFetches))
}
