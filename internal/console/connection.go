package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/desk"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (c *Console) connectionRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("domains/#/connections", c.connections),
		desk.Get("domains/#/users/#/connections/#", c.connection),
		desk.Post("domains/#/users/#/connections/#/sync", c.syncConnection),
		desk.Post("domains/#/users/#/connections/#/delete", c.deleteConnection),
	}
}

// The acts on connections, as the audit log names them.
const (
	actSync             = "synchronise connection"
	actDeleteConnection = "delete connection"
)

// resolutions say what brings a connection out of a state.
var resolutions = map[passerelle.ConnectionState]string{
	passerelle.SCARequired:                 "The person has to confirm at the institution: let them reconnect in the webview.",
	passerelle.WebauthRequired:             "The person has to sign in on the page of the institution: let them reconnect in the webview.",
	passerelle.AdditionalInformationNeeded: "The institution asks the person for something: let them answer in the webview.",
	passerelle.Decoupled:                   "The person has to confirm in the app of the institution, and then to go on in the webview.",
	passerelle.Validating:                  "It is being read. Nothing has to be done.",
	passerelle.ActionNeeded:                "The person has to do something on the site of the institution, which says what.",
	passerelle.PasswordExpired:             "The person has to change the password at the institution, and then to give the new one in the webview.",
	passerelle.Wrongpass:                   "The person has to give the right credentials in the webview. They are tried again now and then, because institutions err.",
	passerelle.RateLimiting:                "The institution takes no more requests for now. It is tried again by itself.",
	passerelle.WebsiteUnavailable:          "The institution cannot be reached. It is tried again by itself.",
	passerelle.Bug:                         "Reading failed in a way that nobody foresaw. It is tried again by itself; when it stays so, the connector has a mistake.",
	passerelle.NotSupported:                "The institution offers nothing that this connector can read. The person can only delete the connection.",
}

// connectionRow is a connection in a list.
type connectionRow struct {
	ID                              passerelle.ConnectionID
	User                            passerelle.UserID
	Connector, State, Created, Read string
	// Next is when it is read again without anybody asking, empty for never.
	Next string
	// Address is that of its page.
	Address string
}

func (c *Console) connectionRow(v *desk.Visit, one store.Connection) connectionRow {
	return connectionRow{
		ID: one.ID, User: one.User, Connector: c.readerName(one.Connector), State: string(one.State),
		Created: v.Moment(&one.Created), Read: v.Moment(one.LastUpdate), Next: v.Moment(one.NextTry),
		Address: v.Path("/users/%d/connections/%d", one.User, one.ID),
	}
}

// readerName names the connector of a connection, by its UUID when this program
// does not have it any more.
func (c *Console) readerName(uuid string) string {
	if reader, known := c.Aggregation.Connectors.DataReader(uuid); known {
		return reader.Profile().Name
	}
	return uuid
}

// troublesData is a page of connections that cannot be read.
type troublesData struct {
	States           []passerelle.ConnectionState
	Connectors       []wire.Bank
	State, Connector string
	Rows             []connectionRow
	Turn             desk.Turn
}

// connections lists the connections of a domain that could not be read when they
// were last tried, the newest first.
func (c *Console) connections(v *desk.Visit) error {
	banks, err := c.Aggregation.Banks(v, v.Domain)
	if err != nil {
		return err
	}
	banks = slices.DeleteFunc(banks, func(b wire.Bank) bool { return len(b.Capabilities) == 0 })
	query := v.Request.URL.Query()
	data := troublesData{States: passerelle.ConnectionStates(), Connectors: banks, State: query.Get("state"), Connector: strings.TrimSpace(query.Get("connector"))}
	if len(banks) > maxChoices {
		data.Connectors = nil // one is typed
	}
	if data.State != "" && !slices.Contains(data.States, passerelle.ConnectionState(data.State)) {
		v.Problem = "state: must be one of those in the list"
		return pages.Send(v, "connections", "Connections", data)
	}
	connector, known := bankNamed(banks, data.Connector)
	if !known {
		v.Problem = "connector: must be one of those in the list"
		return pages.Send(v, "connections", "Connections", data)
	}
	w := v.Window(1)
	rows, err := c.DB.ConnectionsInTrouble(v, store.TroubleFilter{Domain: v.Domain.ID, State: passerelle.ConnectionState(data.State), Connector: connector}, w)
	if err != nil {
		return fmt.Errorf("list the connections in trouble of domain %d: %w", v.Domain.ID, err)
	}
	rows, data.Turn = desk.Paged(v, w, rows, func(one store.Connection) []any { return desk.ByID(one.ID) })
	for _, one := range rows {
		data.Rows = append(data.Rows, c.connectionRow(v, one))
	}
	return pages.Send(v, "connections", "Connections", data)
}

// bankNamed is the UUID of the connector that a text names by that or by name; no
// text names none.
func bankNamed(banks []wire.Bank, text string) (uuid string, known bool) {
	if text == "" {
		return "", true
	}
	i := slices.IndexFunc(banks, func(b wire.Bank) bool { return b.UUID == text || strings.EqualFold(b.Name, text) })
	if i < 0 {
		return "", false
	}
	return banks[i].UUID, true
}

// connectionData is all about one connection.
type connectionData struct {
	connectionRow
	Facts   []desk.Fact
	Sources []sourceRow
	Visits  []visitRow
	Turn    desk.Turn
	// Reading is set while somebody reads.
	Reading, MayAct bool
}

// sourceRow is a channel by which a connection is read.
type sourceRow struct {
	Name, State, Read, Until, Disabled string
}

// visitRow is a visit to the institution.
type visitRow struct {
	At, Took, State, Message string
	Accounts                 int64
	Attended                 bool
}

// readingPause is after how long the page of a connection that is being read is
// shown anew.
const readingPause = 3 * time.Second

func connectionIDs(v *desk.Visit) (passerelle.UserID, passerelle.ConnectionID) {
	return passerelle.UserID(v.Numbers[1]), passerelle.ConnectionID(v.Numbers[2])
}

func (c *Console) connection(v *desk.Visit) error {
	user, id := connectionIDs(v)
	if _, err := c.about(v, ""); err != nil {
		return err
	}
	one, err := c.Aggregation.Connection(v, v.Domain, user, id)
	if err != nil {
		return err
	}
	data := connectionData{connectionRow: c.connectionRow(v, one), Facts: connectionFacts(v, one), Reading: one.Locked, MayAct: mayAct(v)}
	sources, err := c.DB.SourcesOf(v, v.Domain.ID, id)
	if err != nil {
		return fmt.Errorf("list the sources of connection %d: %w", id, err)
	}
	for _, s := range sources {
		data.Sources = append(data.Sources, sourceRow{s.Name, string(s.State), v.Moment(s.LastUpdate), v.Moment(s.AccessExpire), v.Moment(s.Disabled)})
	}
	w := v.Window(2)
	visits, err := c.DB.ConnectionLogs(v, store.ConnectionLogFilter{Domain: v.Domain.ID, User: user, Connection: id}, w)
	if err != nil {
		return fmt.Errorf("list the visits of connection %d: %w", id, err)
	}
	visits, data.Turn = desk.Paged(v, w, visits, store.ConnectionLog.Place)
	for _, l := range visits {
		data.Visits = append(data.Visits, newVisitRow(v, l))
	}
	if one.Locked && v.Request.Method == http.MethodGet {
		v.Reload = readingPause
	}
	return pages.Send(v, "connection", fmt.Sprintf("Connection %d", id), data)
}

func connectionFacts(v *desk.Visit, one store.Connection) []desk.Fact {
	facts := desk.Facts(
		"What resolves it", resolutions[one.State],
		"The institution says", one.Message,
		"Made", v.Moment(&one.Created),
		"First read whole", v.Moment(one.Established),
		"Last read", v.Moment(one.LastUpdate),
		"Next read", v.Moment(one.NextTry),
		"Removed unless established by", v.Moment(one.Expire),
		"Consent until", v.Moment(one.ConsentUntil),
	)
	if !one.Active {
		facts = append(facts, desk.Facts("In the background", "not read")...)
	}
	if one.Failures > 0 {
		facts = append(facts, desk.Facts("Failures in a row", fmt.Sprint(one.Failures))...)
	}
	return facts
}

func newVisitRow(v *desk.Visit, l store.ConnectionLog) visitRow {
	return visitRow{
		At: v.Moment(&l.At), Took: l.At.Sub(l.Started).Round(time.Millisecond).String(), State: string(l.State), Message: l.Message,
		Accounts: l.Accounts, Attended: l.Attended,
	}
}

// syncConnection has a connection read now, as one whose person is away: what the
// institution does not allow then is not done.
func (c *Console) syncConnection(v *desk.Visit) error {
	if !mayAct(v) {
		return desk.ErrForbidden
	}
	user, id := connectionIDs(v)
	one, err := c.Aggregation.Resume(v, v.Domain, user, id, aggregation.Request{
		Absent: true, Background: true, Acts: []store.Audit{v.Record(actSync, "connection", int64(id))},
	})
	if err == nil && one.State != passerelle.Validating {
		v.Problem = "It was left as it is: without its person the institution may not be read more often today, or not any more."
		return c.connection(v)
	}
	return v.After(err, v.Path("/users/%d/connections/%d", user, id), c.connection)
}

// deleteConnection deletes the connection whose number was typed.
func (c *Console) deleteConnection(v *desk.Visit) error {
	if !mayAct(v) {
		return desk.ErrForbidden
	}
	user, id := connectionIDs(v)
	err := v.Confirmed(int64(id))
	if err == nil {
		err = c.Aggregation.Disconnect(v, v.Domain, user, id, v.Record(actDeleteConnection, "connection", int64(id)))
	}
	return v.After(err, v.Path("/users/%d", user), c.connection)
}
