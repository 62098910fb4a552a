package aggregation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/settings"
	"passerelle/internal/wire"
)

// Show renders a connection without its expansions.
func (a *Aggregation) Show(c bankstore.Connection, zone *time.Location) wire.Connection {
	return showConnection(a.Connectors, c, zone)
}

func showConnection(connectors *connector.Registry, c bankstore.Connection, zone *time.Location) wire.Connection {
	out := wire.Connection{
		ID: int64(c.ID), IDUser: int64(c.User), ConnectorUUID: c.Connector, Created: passerelle.FormatDateTime(c.Created, zone), Active: c.Active,
		LastUpdate: wire.Moment(c.LastUpdate, zone), LastPush: wire.Moment(c.LastPush, zone), NextTry: wire.Moment(c.NextTry, zone), Expire: wire.Moment(c.Expire, zone),
	}
	if c.Expire == nil {
		out.Expire = wire.Moment(c.ConsentUntil, zone)
	}
	if c.State != "" {
		out.State, out.Error = &c.State, &c.State
	}
	if c.Message != "" {
		out.ErrorMessage = &c.Message
	}
	if c.State == passerelle.WebauthRequired && c.URL != "" {
		message := "Redirecting to " + c.URL
		out.ErrorMessage = &message
	}
	if c.Fields != "" {
		out.Fields = json.RawMessage(c.Fields)
	}
	if reader, known := connectors.DataReader(c.Connector); known {
		p := reader.Profile()
		out.IDConnector = &p.ID
		for _, twin := range []struct {
			ability string
			id      **int64
		}{{"bank", &out.IDBank}, {"document", &out.IDProvider}} {
			if slices.Contains(p.Data.Capabilities, twin.ability) {
				*twin.id = &p.ID
			}
		}
	}
	return out
}

// ShowSources renders the sources of a connection.
func ShowSources(sources []bankstore.ConnectionSource, zone *time.Location) *[]wire.ConnectionSource {
	shown := make([]wire.ConnectionSource, len(sources))
	for i, s := range sources {
		shown[i] = wire.ConnectionSource{
			ID: int64(s.ID), IDConnection: int64(s.Connection), IDConnectorSource: s.ConnectorSource, Name: s.Name,
			Created: passerelle.FormatDateTime(s.Created, zone), LastUpdate: wire.Moment(s.LastUpdate, zone), Disabled: wire.Moment(s.Disabled, zone),
			AccessExpire: wire.Moment(s.AccessExpire, zone), Expire: wire.Moment(s.Expire, zone), NextTry: wire.Moment(s.NextTry, zone),
		}
		if s.State != "" {
			shown[i].State = &sources[i].State
		}
	}
	return &shown
}

// ShowLog renders the record of a run for a connection.
func (a *Aggregation) ShowLog(c bankstore.Connection, l bankstore.ConnectionLog, zone *time.Location) wire.ConnectionLog {
	out := wire.ConnectionLog{
		ID: l.ID, IDUser: int64(l.User), IDConnection: int64(l.Connection), IDConnector: a.Show(c, zone).IDConnector, Timestamp: passerelle.FormatDateTime(l.At, zone),
		Start: passerelle.FormatDateTime(l.Started, zone), NextTry: wire.Moment(l.NextTry, zone), Accounts: l.Accounts, PSURequested: l.Attended,
		IDSource: optional(int64(l.Source)),
	}
	if l.State != "" {
		out.Error = &l.State
	}
	if l.Message != "" {
		out.ErrorMessage = &l.Message
	}
	return out
}

// Connector renders the connector with a UUID. It returns nil for a connector that is no longer
// offered.
func (a *Aggregation) Connector(uuid string, v settings.Values, view wire.ConnectorView) *wire.Connector {
	reader, known := a.Connectors.DataReader(uuid)
	if !known {
		return nil
	}
	shown := wire.NewConnector(bank(v.Configured(reader.Profile()), v.Location()), view)
	return &shown
}

// Ownerships renders the holders of a user's accounts. It executes one query for the connections
// and one for their sources.
func (a *Aggregation) Ownerships(ctx context.Context, d passerelle.Domain, user passerelle.UserID, accounts []bankstore.StoredAccount) ([]wire.Ownership, error) {
	shown, ids := make([]wire.Ownership, len(accounts)), make([]passerelle.ConnectionID, len(accounts))
	for i, account := range accounts {
		ids[i] = account.Connection
	}
	connections, err := bankstore.From(a.DB).ConnectionsByID(ctx, d.ID, user, ids)
	if err != nil {
		return nil, fmt.Errorf("load the connections of accounts: %w", err)
	}
	sources, err := bankstore.From(a.DB).SourcesOf(ctx, d.ID, ids...)
	if err != nil {
		return nil, fmt.Errorf("list the sources of connections: %w", err)
	}
	of := map[passerelle.SourceID]int64{}
	for _, s := range sources {
		of[s.ID] = s.ConnectorSource
	}
	for i, account := range accounts {
		name := ""
		if reader, known := a.Connectors.DataReader(connections[account.Connection].Connector); known {
			name = reader.Profile().Name
		}
		shown[i] = wire.NewOwnership(account.BankAccount, name, of[account.Source])
	}
	return shown, nil
}

// connector renders the connector of a run.
func (r *reporter) connector() *wire.Connector {
	shown := wire.NewConnector(bank(r.profile, r.zone()), wire.ConnectorView{})
	return &shown
}

// ShowDocument renders a document with links below a base URL.
func ShowDocument(base string, document passerelle.Document, zone *time.Location) wire.Document {
	address := fmt.Sprintf("%s/users/%d/documents/%d", base, document.User, document.ID)
	return wire.NewDocument(document, passerelle.DocumentTypeNumber(document.Type), address, zone)
}
