package main

import (
	"fmt"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

type connectionCommand struct {
	domainFlags
	List connectionList `cmd:"" help:"List the connections with a failed last synchronisation, newest first."`
}

// connectionView is the printed form of a connection.
type connectionView struct {
	ID         passerelle.ConnectionID    `json:"id"`
	User       passerelle.UserID          `json:"id_user"`
	Connector  string                     `json:"connector_uuid"`
	State      passerelle.ConnectionState `json:"state"`
	Created    string                     `json:"created"`
	LastUpdate string                     `json:"last_update,omitempty"`
	NextTry    string                     `json:"next_try,omitempty"`
}

func (d target) viewConnection(c bankstore.Connection) connectionView {
	return connectionView{c.ID, c.User, c.Connector, c.State, d.moment(&c.Created), d.moment(c.LastUpdate), d.moment(c.NextTry)}
}

type connectionList struct {
	State     passerelle.ConnectionState `placeholder:"STATE" help:"List only connections in this state."`
	Connector string                     `placeholder:"UUID" help:"List only connections of this connector."`
	Limit     int                        `default:"100" least:"1" most:"1000" placeholder:"N" help:"List at most this many connections, up to 1000."`
	Before    passerelle.ConnectionID    `placeholder:"ID" help:"List only connections with a lower id."`
}

// Run lists connections.
func (l *connectionList) Run(c *console, g *connectionCommand) error {
	if states := passerelle.ConnectionStates(); l.State != "" && !slices.Contains(states, l.State) {
		return passerelle.InvalidField("--state", "must be one of %q", states)
	}
	states := passerelle.FailureStates()
	if l.State != "" {
		states = []passerelle.ConnectionState{l.State}
	}
	return g.at(c, func(d target) (any, error) {
		w := store.Window{Descending: true, Limit: l.Limit}
		if l.Before != 0 {
			w.From = []any{int64(l.Before)}
		}
		all, err := bankstore.From(d.db).ConnectionsInTrouble(c.ctx, bankstore.TroubleFilter{Domain: d.domain.ID, States: states, Connector: strings.ToLower(l.Connector)}, w)
		if err != nil {
			return nil, fmt.Errorf("list the connections: %w", err)
		}
		return views(all, d.viewConnection), nil
	})
}
