package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/aggregation"
	"passerelle/internal/service"
	"passerelle/internal/settings"
	"passerelle/internal/wire"
)

type connectorCommand struct {
	domainFlags
	bankFolder
	List   connectorList   `cmd:"" help:"List the connectors of the domain, including hidden ones."`
	Show   connectorShow   `cmd:"" help:"Print one connector."`
	Update connectorUpdate `cmd:"" help:"Configure a connector for the domain. An empty value restores the connector's own value."`
	Source connectorSource `cmd:"" help:"Disable or enable a source of a connector, or choose its authentication mechanism."`

	Add    connectorAdd    `cmd:"" help:"Add a connector that runs as a separate program, for all domains. docs/connectors-in-any-language.md describes the protocol."`
	New    connectorNew    `cmd:"" help:"Write sample programs to start a connector from: a bank that accepts payments, and a source that reads a folder."`
	Test   connectorTest   `cmd:"" help:"Check a program against every rule for connectors, and print each broken rule with the correct behaviour."`
	Check  connectorCheck  `cmd:"" help:"Read and store the current profile of an added connector."`
	Remove connectorRemove `cmd:"" help:"Remove an added connector. Its connections and payments stay, but the service no longer updates them."`
}

// connectorView is the printed form of a connector.
type connectorView struct {
	UUID          string                   `json:"uuid"`
	ID            int64                    `json:"id"`
	Name          string                   `json:"name"`
	Countries     []string                 `json:"countries"`
	Reads         []string                 `json:"capabilities"`
	Pays          bool                     `json:"payments"`
	Hidden        bool                     `json:"hidden"`
	AuthMechanism passerelle.AuthMechanism `json:"auth_mechanism,omitempty"`
	SyncFrequency string                   `json:"sync_frequency,omitempty"`
	Sources       []sourceView             `json:"sources"`
}

type sourceView struct {
	ID             int64                      `json:"id"`
	Name           string                     `json:"name"`
	AuthMechanisms []passerelle.AuthMechanism `json:"auth_mechanisms"`
	Disabled       string                     `json:"disabled,omitempty"`
}

// String returns the source as one line.
func (s sourceView) String() string {
	line := fmt.Sprintf("%d %s", s.ID, s.Name)
	for _, mechanism := range s.AuthMechanisms {
		line += " " + string(mechanism)
	}
	if s.Disabled != "" {
		line += " disabled since " + s.Disabled
	}
	return line
}

func viewConnector(b wire.Bank) connectorView {
	view := connectorView{
		UUID: b.UUID, ID: b.ID, Name: b.Name, Countries: b.Countries, Reads: append([]string{}, b.Capabilities...), Pays: b.Payments != nil,
		Hidden: b.Hidden, AuthMechanism: b.Mechanism, SyncFrequency: b.SyncDays,
	}
	for _, s := range b.Sources {
		source := sourceView{ID: s.ID, Name: s.Name, AuthMechanisms: append([]passerelle.AuthMechanism{}, s.Mechanisms...)}
		if s.Disabled != nil {
			source.Disabled = *s.Disabled
		}
		view.Sources = append(view.Sources, source)
	}
	return view
}

// connectors returns the use cases for connectors. These use cases work on the database of the
// command. The commands that run these use cases call no connector.
func (d target) connectors(c *console, banks bankFolder) (*aggregation.Aggregation, error) {
	programs, err := service.ProgramConnectors(c.ctx, &d.db.Reader)
	if err != nil {
		return nil, err
	}
	own := append(service.Connectors(&sandbox.Bank{}), programs...)
	files, err := banks.read(own)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Err == nil {
			own = append(own, f.Bank.Connector())
		}
	}
	all, err := connector.NewRegistry(own...)
	if err != nil {
		return nil, fmt.Errorf("list the connectors: %w", err)
	}
	return &aggregation.Aggregation{DB: d.db, Now: time.Now, Connectors: all}, nil
}

// connector finds a connector by its UUID or its number.
func (d target) connector(c *console, banks bankFolder, name string) (any, error) {
	a, err := d.connectors(c, banks)
	if err != nil {
		return nil, err
	}
	all, err := a.Banks(c.ctx, d.domain)
	if err != nil {
		return nil, fmt.Errorf("list the connectors: %w", err)
	}
	i := slices.IndexFunc(all, func(b wire.Bank) bool { return b.Named(name) })
	if i < 0 {
		return nil, noConnector(name)
	}
	return viewConnector(all[i]), nil
}

func noConnector(name string) error {
	return absent("connector", "there is no connector with the UUID or number %q in this domain", name)
}

type connectorList struct{}

// Run lists connectors.
func (*connectorList) Run(c *console, g *connectorCommand) error {
	return g.at(c, func(d target) (any, error) {
		a, err := d.connectors(c, g.bankFolder)
		if err != nil {
			return nil, err
		}
		all, err := a.Banks(c.ctx, d.domain)
		if err != nil {
			return nil, fmt.Errorf("list the connectors: %w", err)
		}
		return views(all, viewConnector), nil
	})
}

type connectorShow struct {
	Connector string `arg:"" help:"UUID or number of the connector."`
}

// Run prints a connector.
func (s *connectorShow) Run(c *console, g *connectorCommand) error {
	return g.at(c, func(d target) (any, error) { return d.connector(c, g.bankFolder, s.Connector) })
}

type connectorUpdate struct {
	Connector     string  `arg:"" help:"UUID or number of the connector."`
	Hidden        *string `enum:"yes,no," placeholder:"yes|no" help:"Hide the connector from end users."`
	AuthMechanism *string `placeholder:"MECHANISM" help:"Authentication mechanism for new connections: a mechanism that the connector offers."`
	SyncFrequency *string `placeholder:"DAYS" help:"Days between two synchronisations, such as 0.5."`
}

// Run changes a domain's settings for a connector.
func (u *connectorUpdate) Run(c *console, g *connectorCommand) error {
	change := settings.ConnectorChange{Connector: u.Connector, Mechanism: u.AuthMechanism, SyncDays: u.SyncFrequency}
	if u.Hidden != nil {
		text := map[string]string{"yes": "1", "no": "0"}[*u.Hidden]
		change.Hidden = &text
	}
	return g.change(c, u.Connector, func(d target, a *aggregation.Aggregation) error {
		err := a.ConfigureConnectors(c.ctx, d.domain, []settings.ConnectorChange{change}, settings.ByCommand)
		if errors.Is(err, passerelle.NotFound) {
			return noConnector(u.Connector)
		}
		return err
	})
}

type connectorSource struct {
	Connector     string  `arg:"" help:"UUID or number of the connector."`
	Source        int64   `arg:"" help:"Number of the source."`
	Disabled      *bool   `negatable:"" help:"Accept no new connections and payments through the source."`
	AuthMechanism *string `placeholder:"MECHANISM" help:"Authentication mechanism: a mechanism that the source offers; empty for the default."`
}

// Run changes a domain's settings for a source.
func (s *connectorSource) Run(c *console, g *connectorCommand) error {
	change := settings.SourceChange{Connector: s.Connector, Source: s.Source, Mechanism: s.AuthMechanism, Disabled: s.Disabled}
	return g.change(c, s.Connector, func(d target, a *aggregation.Aggregation) error {
		if _, err := d.connector(c, g.bankFolder, s.Connector); err != nil {
			return err
		}
		err := a.ConfigureSource(c.ctx, d.domain, change, settings.ByCommand)
		if errors.Is(err, passerelle.NotFound) {
			return absent("source", "the connector has no source with the number %d", s.Source)
		}
		return err
	})
}

// change changes a connector and prints the result.
func (g *connectorCommand) change(c *console, name string, change func(target, *aggregation.Aggregation) error) error {
	return g.at(c, func(d target) (any, error) {
		a, err := d.connectors(c, g.bankFolder)
		if err == nil {
			err = change(d, a)
		}
		if err != nil {
			return nil, err
		}
		return d.connector(c, g.bankFolder, name)
	})
}
