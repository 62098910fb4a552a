// Package programs stores which connectors of a deployment are other programs.
//
// The package adds, checks and removes such programs. It stores a program's description, so an
// unreachable program is still a connector. It does not own the protocol, which is in package
// connector/remote. Package service decides which connectors a process offers, and follows the
// database within seconds.
//
// The package fails with Invalid for an impossible address or secret, and for the UUID of another
// connector. It fails with Unavailable, and a message for operators, when the program does not
// describe itself. It fails with store.ErrNotFound for an unknown program.
package programs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/remote"
	"passerelle/internal/store"
)

// firstNumber is the lower limit of the numbers of connector programs. Built-in connectors have
// smaller numbers. A bank file must not have the number of a program.
const firstNumber = 1_000_000

// The audit log has these names for acts on connector programs, and for their subject.
const (
	ActAdd    = "add connector"
	ActCheck  = "check connector"
	ActRemove = "remove connector"

	Subject = "connector"
)

// Programs adds, checks and removes connector programs. The transaction of each change also stores
// the audit entries that the caller passes.
type Programs struct {
	DB *store.DB
	// Own reports whether a built-in connector or a bank file has this UUID.
	Own func(uuid string) bool
	Now func() time.Time
	// Connectors are the connectors of this process. A check counts as a call of the program's
	// connector. It is nil in commands, which run without connectors.
	Connectors *connector.Registry
}

// Program is a connector that runs as another program.
type Program struct {
	store.ConnectorProgram
	// Described is the program's description. Err is the reason when the description is unreadable.
	Described remote.Profile
	Err       error
}

// Number returns the deprecated number of the connector.
func (p Program) Number() int64 { return firstNumber + p.ID }

// Connector returns the program's connector, which calls the program through the argument `calls`.
func (p Program) Connector(calls *remote.Program) (connector.Connector, error) {
	if p.Err != nil {
		return nil, fmt.Errorf("read the profile of connector %s: %w", p.UUID, p.Err)
	}
	return calls.Connector(p.Described, p.Number())
}

// List returns the programs, oldest first.
func List(ctx context.Context, db *store.Reader) ([]Program, error) {
	rows, err := db.ConnectorPrograms(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the connector programs: %w", err)
	}
	all := make([]Program, len(rows))
	for i, row := range rows {
		all[i].ConnectorProgram = row
		all[i].Described, all[i].Err = remote.DecodeProfile(row.Profile)
	}
	return all, nil
}

// Find finds a program by its UUID or its number.
func Find(ctx context.Context, db *store.Reader, name string) (Program, error) {
	all, err := List(ctx, db)
	if err != nil {
		return Program{}, err
	}
	i := slices.IndexFunc(all, func(p Program) bool { return p.Address == name || passerelle.NamesConnector(name, p.UUID, p.Number()) })
	if i < 0 {
		return Program{}, store.ErrNotFound
	}
	return all[i], nil
}

// Add reads a program's description and stores the program as a connector of the deployment.
func (p *Programs) Add(ctx context.Context, address, secret string, acts ...store.Audit) (Program, error) {
	described, profile, err := p.describe(ctx, "", address, secret)
	if err != nil {
		return Program{}, err
	}
	row := store.ConnectorProgram{UUID: described.UUID, Address: address, Profile: profile, Added: p.Now()}
	taken := p.Own(row.UUID)
	if !taken {
		err = p.DB.Write(ctx, func(tx *store.Tx) error {
			if err := tx.AddConnectorProgram(&row, secret); err != nil {
				return err
			}
			return tx.AuditOf(firstNumber+row.ID, acts...)
		})
	}
	switch {
	case taken || errors.Is(err, store.ErrDuplicate):
		return Program{}, passerelle.InvalidField("uuid", "the connector %s already exists", row.UUID)
	case err != nil:
		return Program{}, fmt.Errorf("add the connector %s: %w", row.UUID, err)
	}
	return Program{ConnectorProgram: row, Described: described}, nil
}

// Check reads a program's description again and stores it. It fails when the program now has a
// different UUID.
func (p *Programs) Check(ctx context.Context, one Program, acts ...store.Audit) error {
	secret, err := p.DB.ConnectorSecret(ctx, one.ID)
	if err != nil {
		return fmt.Errorf("load the secret of connector %s: %w", one.UUID, err)
	}
	described, profile, err := p.describe(ctx, one.UUID, one.Address, secret)
	if err != nil {
		return err
	}
	if described.UUID != one.UUID {
		return passerelle.InvalidField("uuid", "the program at %s is now the connector %s", one.Address, described.UUID)
	}
	return p.DB.Write(ctx, func(tx *store.Tx) error {
		tx.DescribeConnectorProgram(one.ID, profile)
		return tx.AuditOf(one.Number(), acts...)
	})
}

// Remove removes a program. Its connections and payments do not change.
func (p *Programs) Remove(ctx context.Context, one Program, acts ...store.Audit) error {
	return p.DB.Write(ctx, func(tx *store.Tx) error {
		tx.RemoveConnectorProgram(one.ID)
		return tx.AuditOf(one.Number(), acts...)
	})
}

// describe reads a program's description. It also returns the text to store. It fails for a
// description that the protocol does not allow. The UUID is empty for a new program.
func (p *Programs) describe(ctx context.Context, uuid, address, secret string) (remote.Profile, string, error) {
	calls, err := remote.NewProgram(address, secret)
	if err != nil {
		return remote.Profile{}, "", err
	}
	defer calls.Close()
	begun := p.Now()
	described, err := calls.Strict().Describe(ctx)
	p.record(uuid, begun, calls.Health())
	if fault := new(connector.Fault); errors.As(err, &fault) {
		return described, "", &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: fault.Says, Cause: err}
	}
	if err != nil {
		return described, "", err
	}
	text, err := described.Encode()
	return described, text, err
}

// record adds the only call in a health to the health of the program's connector. A call that says
// nothing about the program is in no health.
func (p *Programs) record(uuid string, begun time.Time, one connector.BankHealth) {
	switch {
	case p.Connectors == nil:
	case one.Failures > 0:
		p.Connectors.Record(uuid, one.Calls[0].Call, begun, p.Now(), connector.Failed)
	case !one.LastSuccess.IsZero():
		p.Connectors.Record(uuid, one.Calls[0].Call, begun, p.Now(), connector.Answered)
	}
}
