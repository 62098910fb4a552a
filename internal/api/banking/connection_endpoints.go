package banking

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) connectionRoutes() []httpapi.Route {
	const (
		all, one = "/users/{userId}/connections", "/users/{userId}/connections/{connectionId}"
		waitsDoc = "If the connection needs the end user, the response has the status from the setting connection.questions_code, 202 by default. Its state gives the reason, and fields lists the values to send."
	)
	shortAll, shortOne := []string{"/connections"}, []string{"/connections/{connectionId}"}
	waits := []int{http.StatusAccepted}
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: all, Aliases: shortAll, Needs: ofUser, Endpoint: httpapi.Handle(s.listConnections),
			Summary: "List connections", Doc: "Lists connections, oldest first.",
		},
		{
			Method: http.MethodPost, Pattern: all, Aliases: shortAll, Needs: ofUser, Endpoint: httpapi.Handle(s.connect), Statuses: waits, Errors: []string{"wrongpass"},
			Summary: "Connect to an institution", Doc: "Takes the values of the connector's fields as members of the body, in plain text or encrypted with the key from /publickey. The call waits until the first synchronisation has ended. If the institution refuses the credentials, no connection is created. " + waitsDoc,
		},
		{
			Method: http.MethodPut, Pattern: all, Aliases: shortAll, Needs: ofUser, Endpoint: httpapi.Handle(s.synchroniseConnections),
			Errors: []string{"conflict"}, Summary: "Synchronise all connections", Doc: "Synchronises all connections and then returns them. Leaves a connection unchanged when it is already being synchronised, when its institution requires the end user to be present, or when too many requests wait for its institution. When two or more connections are synchronised, USER_SYNCED reports them. Fails with conflict for more than 100 connections: synchronise them one by one.",
		},
		{
			Method: http.MethodDelete, Pattern: all, Aliases: shortAll, Needs: ofUser, Endpoint: httpapi.Handle(s.deleteConnections),
			Summary: "Delete all connections", Doc: "Deletes all connections and their data.",
		},
		{
			Method: http.MethodGet, Pattern: one, Aliases: shortOne, Needs: ofUser, Endpoint: httpapi.Handle(s.oneConnection), Summary: "Read a connection",
		},
		{
			Method: http.MethodPost, Pattern: one, Aliases: shortOne, Needs: ofUser, Endpoint: httpapi.Handle(s.resumeConnection), Statuses: waits,
			Errors: []string{"wrongpass", "connectionLocked", "conflict"}, Summary: "Update a connection",
			Doc: "Takes the values that the institution asks for, or new values of the connector's fields, as members of the body. With resume, reports that the end user has acted elsewhere. With neither, synchronises the connection with the end user present. With background, the call does not wait, and the connection is in state validating until the synchronisation has ended. " + waitsDoc,
		},
		{
			Method: http.MethodPut, Pattern: one, Aliases: shortOne, Needs: ofUser, Endpoint: httpapi.Handle(s.synchroniseConnection),
			Errors: []string{"wrongpass", "connectionLocked", "conflict"}, Summary: "Synchronise a connection", Doc: "Synchronises the connection and then returns it, with status 200 even if the connection needs the end user. When the end user is not present and the institution's limit is reached, leaves the connection unchanged. Also takes the values that POST takes.",
		},
		{
			Method: http.MethodDelete, Pattern: one, Aliases: shortOne, Needs: ofUser, Endpoint: httpapi.Handle(s.deleteConnection),
			Summary: "Delete a connection", Doc: "Deletes the connection and its data. The data is inaccessible at once and is erased soon after.",
		},
		{
			Method: http.MethodGet, Pattern: one + "/sources", Aliases: []string{"/connections/{connectionId}/sources"}, Needs: ofUser, Endpoint: httpapi.Handle(s.listConnectionSources),
			Summary: "List the sources of a connection", Doc: "Lists the access channels that the connection uses. No source is ever disabled, so all changes nothing.",
		},
		{
			Method: http.MethodGet, Pattern: one + "/logs", Aliases: []string{"/connections/{connectionId}/logs"}, Needs: ofUser, Endpoint: httpapi.Handle(s.connectionLogs),
			Summary: "List the synchronisations of a connection", Doc: "Lists the synchronisations with the institution, newest first. The range includes both dates.",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/logs", Needs: ofUser, Endpoint: httpapi.Handle(s.userLogs),
			Summary: "List the synchronisations of a user's connections", Doc: "Lists the synchronisations with institutions, newest first. The range includes both dates.",
		},
	}
}

type listConnectionsInput struct {
	oneUserInput
	httpapi.Paging
	httpapi.Expand[wire.Connection]
}

type listConnectionsOutput struct {
	Connections []wire.Connection `json:"connections"`
	httpapi.Listing
}

func (s *Service) listConnections(ctx context.Context, c *httpapi.Caller, in listConnectionsInput) (listConnectionsOutput, error) {
	user, err := in.theirs(c)
	if err != nil {
		return listConnectionsOutput{}, err
	}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]bankstore.Connection, error) {
			return bankstore.From(r).Connections(ctx, c.Domain.ID, user, w.OfRows())
		},
		func(one bankstore.Connection) httpapi.Position { return httpapi.Position{int64(one.ID)} },
		func(ctx context.Context, r *store.Reader) (int64, error) {
			return bankstore.From(r).CountConnections(ctx, c.Domain.ID, user)
		})
	if err != nil {
		return listConnectionsOutput{}, err
	}
	shown, err := s.connections(ctx, c, rows, in.Expansion())
	return listConnectionsOutput{Connections: shown, Listing: listing}, err
}

// connections renders one user's connections with the requested expansions.
func (s *Service) connections(ctx context.Context, c *httpapi.Caller, rows []bankstore.Connection, e httpapi.Expansion) ([]wire.Connection, error) {
	shown, err := s.embedding(c).connections(ctx, rows, e)
	return shown.list, err
}

// connectionOutput contains a connection and an HTTP status. The status can differ from 200 when
// the connection waits for the end user.
type connectionOutput struct {
	wire.Connection
	status int
}

// HTTPStatus returns the status of the response. The default is 200.
func (o connectionOutput) HTTPStatus() int { return cmp.Or(o.status, http.StatusOK) }

func (s *Service) changedConnection(ctx context.Context, c *httpapi.Caller, one bankstore.Connection, asked httpapi.Expansion) (connectionOutput, error) {
	shown, err := afterChange(ctx, []bankstore.Connection{one}, asked, s.embedding(c).connections)
	if err != nil {
		return connectionOutput{}, err
	}
	return connectionOutput{Connection: shown[0]}, nil
}

// waiting renders a changed connection. A setting decides the HTTP status of a connection that
// waits for the end user.
func (s *Service) waiting(ctx context.Context, c *httpapi.Caller, one bankstore.Connection, asked httpapi.Expansion) (connectionOutput, error) {
	out, err := s.changedConnection(ctx, c, one, asked)
	if err != nil || one.State.Resolution() != passerelle.ByPerson {
		return out, err
	}
	out.status = int(c.Settings.Int(settings.QuestionsCode))
	return out, nil
}

type connectInput struct {
	oneUserInput
	httpapi.Expand[wire.Connection]
	ConnectorUUID string            `body:"connector_uuid" doc:"required, unless id_connector is given"`
	IDConnector   *int64            `body:"id_connector" min:"1" doc:"deprecated, see connector_uuid"`
	IDBank        *int64            `body:"id_bank" min:"1" doc:"deprecated, see connector_uuid"`
	IDProvider    *int64            `body:"id_provider" min:"1" doc:"deprecated, see connector_uuid"`
	Source        string            `body:"source" doc:"name of the connector's source to use; by default, the first by priority"`
	Values        map[string]string `body:"*,query" max:"8192" doc:"values of the connector's fields"`
}

// namedConnectors returns the connector of a request, once for each field that names it.
func namedConnectors(uuid string, id, bank, provider *int64) []passerelle.NamedConnector {
	all := []passerelle.NamedConnector{{Field: "connector_uuid", Name: uuid}}
	for _, one := range []struct {
		field  string
		number *int64
	}{{"id_connector", id}, {"id_bank", bank}, {"id_provider", provider}} {
		if one.number != nil {
			all = append(all, passerelle.NamedConnector{Field: one.field, Name: strconv.FormatInt(*one.number, 10)})
		}
	}
	return all
}

func (s *Service) connect(ctx context.Context, c *httpapi.Caller, in connectInput) (connectionOutput, error) {
	user, err := in.theirs(c)
	if err != nil {
		return connectionOutput{}, err
	}
	if c.Made != 0 {
		return s.standing(ctx, c, user, passerelle.ConnectionID(c.Made), in.Expansion())
	}
	named, err := s.Aggregation.Connectors.Agreed(namedConnectors(in.ConnectorUUID, in.IDConnector, in.IDBank, in.IDProvider)...)
	if err == nil && named.Name == "" {
		err = passerelle.MissingField("connector_uuid", "is required")
	}
	if err == nil {
		err = c.Known(in.Values, func() ([]string, error) { return s.fieldNames(named.Name), nil })
	}
	if err != nil {
		return connectionOutput{}, err
	}
	made, err := s.Aggregation.Connect(ctx, c.Domain, user, aggregation.Request{Connector: named.Name, Source: in.Source, Values: in.Values, Execution: c.Execution})
	if err != nil {
		return connectionOutput{}, renamed(err, "connector_uuid", named.Field)
	}
	return s.waiting(ctx, c, made, in.Expansion())
}

// standing renders the connection that an earlier call created, in its current state.
func (s *Service) standing(ctx context.Context, c *httpapi.Caller, user passerelle.UserID, id passerelle.ConnectionID, asked httpapi.Expansion) (connectionOutput, error) {
	one, err := s.Aggregation.Connection(ctx, c.Domain, user, id)
	if err != nil {
		return connectionOutput{}, err
	}
	return s.waiting(ctx, c, one, asked)
}

type oneConnectionInput struct {
	oneUserInput
	Connection passerelle.ConnectionID `path:"connectionId"`
}

// connection loads the connection if the caller has access to it.
func (s *Service) connection(ctx context.Context, c *httpapi.Caller, in oneConnectionInput) (bankstore.Connection, error) {
	user, err := in.theirs(c)
	if err != nil {
		return bankstore.Connection{}, err
	}
	return s.Aggregation.Connection(ctx, c.Domain, user, in.Connection)
}

type readConnectionInput struct {
	oneConnectionInput
	httpapi.Expand[wire.Connection]
}

func (s *Service) oneConnection(ctx context.Context, c *httpapi.Caller, in readConnectionInput) (connectionOutput, error) {
	one, err := s.connection(ctx, c, in.oneConnectionInput)
	if err != nil {
		return connectionOutput{}, err
	}
	shown, err := s.connections(ctx, c, []bankstore.Connection{one}, in.Expansion())
	if err != nil {
		return connectionOutput{}, err
	}
	return connectionOutput{Connection: shown[0]}, nil
}

// connectionChange is a change of a connection that the service makes before it synchronises the
// connection.
type connectionChange struct {
	Background bool              `query:"background" doc:"whether to answer at once instead of waiting for the synchronisation"`
	Active     *bool             `body:"active" doc:"whether the connection is synchronised in the background"`
	Resume     bool              `body:"resume" doc:"true when the end user has done what they were asked to do elsewhere"`
	Expire     httpapi.Ignored   `body:"expire" doc:"accepted without effect"`
	Refresh    httpapi.Ignored   `body:"refresh_auth" doc:"accepted without effect"`
	Values     map[string]string `body:"*,query" max:"8192" doc:"values that the institution asks for, or new values of the connector's fields"`
}

// resumed changes a connection and synchronises it. The rest of the request is in r.
func (s *Service) resumed(ctx context.Context, c *httpapi.Caller, at oneConnectionInput, in connectionChange, r aggregation.Request) (bankstore.Connection, error) {
	user, err := at.theirs(c)
	if err == nil {
		err = c.Known(in.Values, func() ([]string, error) { return s.fieldNamesOf(ctx, c, at) })
	}
	if err != nil {
		return bankstore.Connection{}, err
	}
	r.Values, r.Resume, r.Active, r.Background = in.Values, in.Resume, in.Active, in.Background
	return s.Aggregation.Resume(ctx, c.Domain, user, at.Connection, r)
}

type resumeConnectionInput struct {
	oneConnectionInput
	httpapi.Expand[wire.Connection]
	connectionChange
	Source string `body:"source" doc:"name of the source that the connection uses"`
}

func (s *Service) resumeConnection(ctx context.Context, c *httpapi.Caller, in resumeConnectionInput) (connectionOutput, error) {
	one, err := s.resumed(ctx, c, in.oneConnectionInput, in.connectionChange, aggregation.Request{Source: in.Source})
	if err != nil {
		return connectionOutput{}, err
	}
	return s.waiting(ctx, c, one, in.Expansion())
}

type synchroniseConnectionInput struct {
	oneConnectionInput
	httpapi.Expand[wire.Connection]
	connectionChange
	PSURequested bool `query:"psu_requested" default:"true" doc:"whether the end user is present"`
}

func (s *Service) synchroniseConnection(ctx context.Context, c *httpapi.Caller, in synchroniseConnectionInput) (connectionOutput, error) {
	one, err := s.resumed(ctx, c, in.oneConnectionInput, in.connectionChange, aggregation.Request{Absent: !in.PSURequested})
	if err != nil {
		return connectionOutput{}, err
	}
	return s.changedConnection(ctx, c, one, in.Expansion())
}

type synchroniseConnectionsInput struct {
	oneUserInput
	httpapi.Expand[wire.Connection]
	PSURequested bool `query:"psu_requested" default:"true" doc:"whether the end user is present"`
}

type allConnectionsOutput struct {
	Connections []wire.Connection `json:"connections"`
	Total       int               `json:"total"`
}

func (s *Service) synchroniseConnections(ctx context.Context, c *httpapi.Caller, in synchroniseConnectionsInput) (allConnectionsOutput, error) {
	user, err := in.theirs(c)
	if err != nil {
		return allConnectionsOutput{}, err
	}
	all, err := s.Aggregation.SyncAll(ctx, c.Domain, user, in.PSURequested)
	if err != nil {
		return allConnectionsOutput{}, err
	}
	shown, err := afterChange(ctx, all, in.Expansion(), s.embedding(c).connections)
	return allConnectionsOutput{Connections: shown, Total: len(shown)}, err
}

func (s *Service) deleteConnection(ctx context.Context, c *httpapi.Caller, in oneConnectionInput) (httpapi.Nothing, error) {
	user, err := in.theirs(c)
	if err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.Disconnect(ctx, c.Domain, user, in.Connection)
}

func (s *Service) deleteConnections(ctx context.Context, c *httpapi.Caller, in oneUserInput) (httpapi.Nothing, error) {
	user, err := in.theirs(c)
	if err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.DisconnectAll(ctx, c.Domain, user)
}

type connectionSourcesOutput struct {
	Sources []wire.ConnectionSource `json:"sources"`
	Total   int                     `json:"total"`
}

type connectionSourcesInput struct {
	oneConnectionInput
	httpapi.All
}

func (s *Service) listConnectionSources(ctx context.Context, c *httpapi.Caller, in connectionSourcesInput) (connectionSourcesOutput, error) {
	one, err := s.connection(ctx, c, in.oneConnectionInput)
	if err != nil {
		return connectionSourcesOutput{}, err
	}
	sources, err := bankstore.From(s.DB).SourcesOf(ctx, c.Domain.ID, one.ID)
	if err != nil {
		return connectionSourcesOutput{}, fmt.Errorf("list the sources of connection %d: %w", one.ID, err)
	}
	return connectionSourcesOutput{Sources: *aggregation.ShowSources(sources, c.Location), Total: len(sources)}, nil
}

type connectionLogsInput struct {
	oneConnectionInput
	logsQuery
}

type userLogsInput struct {
	oneUserInput
	logsQuery
}

type logsQuery struct {
	httpapi.Paging
	httpapi.DateRange
	IDSource passerelle.SourceID `query:"id_source" min:"1" doc:"only synchronisations through this source of the connection"`
}

type connectionLogsOutput struct {
	Logs      []wire.ConnectionLog `json:"connectionlogs"`
	FirstDate *string              `json:"first_date" doc:"day of the oldest synchronisation on the page"`
	LastDate  *string              `json:"last_date" doc:"day of the newest synchronisation on the page"`
	httpapi.Listing
}

func (s *Service) connectionLogs(ctx context.Context, c *httpapi.Caller, in connectionLogsInput) (connectionLogsOutput, error) {
	one, err := s.connection(ctx, c, in.oneConnectionInput)
	if err != nil {
		return connectionLogsOutput{}, err
	}
	out, rows, err := s.logs(ctx, c, bankstore.ConnectionLogFilter{User: one.User, Connection: one.ID}, in.logsQuery)
	for i, l := range rows {
		out.Logs[i] = s.Aggregation.ShowLog(one, l, c.Location)
	}
	return out, err
}

// userLogs lists the syncs of all connections of a user. The list omits deleted connections.
func (s *Service) userLogs(ctx context.Context, c *httpapi.Caller, in userLogsInput) (connectionLogsOutput, error) {
	id, err := in.theirs(c)
	if err != nil {
		return connectionLogsOutput{}, err
	}
	out, rows, err := s.logs(ctx, c, bankstore.ConnectionLogFilter{User: id}, in.logsQuery)
	if err != nil {
		return connectionLogsOutput{}, err
	}
	ids := make([]passerelle.ConnectionID, len(rows))
	for i, l := range rows {
		ids[i] = l.Connection
	}
	of, err := bankstore.From(s.DB).ConnectionsByID(ctx, c.Domain.ID, id, ids)
	if err != nil {
		return connectionLogsOutput{}, fmt.Errorf("load the connections of %d syncs: %w", len(rows), err)
	}
	for i, l := range rows {
		out.Logs[i] = s.Aggregation.ShowLog(of[l.Connection], l, c.Location)
	}
	return out, nil
}

// logs returns the rows of one page of syncs, and a response in which the caller must set the logs.
func (s *Service) logs(ctx context.Context, c *httpapi.Caller, filter bankstore.ConnectionLogFilter, in logsQuery) (connectionLogsOutput, []bankstore.ConnectionLog, error) {
	filter.Domain, filter.Source, filter.From, filter.Until = c.Domain.ID, in.IDSource, in.From(), in.Until()
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]bankstore.ConnectionLog, error) {
			return bankstore.From(r).ConnectionLogs(ctx, filter, w.OfRows())
		},
		func(l bankstore.ConnectionLog) httpapi.Position { return l.Place() },
		func(ctx context.Context, r *store.Reader) (int64, error) {
			return bankstore.From(r).CountConnectionLogs(ctx, filter)
		})
	out := connectionLogsOutput{Logs: make([]wire.ConnectionLog, len(rows)), Listing: listing}
	if len(rows) > 0 {
		out.FirstDate, out.LastDate = dayOf(rows[len(rows)-1].At, c.Location), dayOf(rows[0].At, c.Location)
	}
	return out, rows, err
}

func dayOf(at time.Time, zone *time.Location) *string {
	day := passerelle.DateOf(at, zone).String()
	return &day
}
