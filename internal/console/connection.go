package console

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

var connectionRoutes = []route{
	{http.MethodGet, "domains/#/connections", (*Console).connections, false},
	{http.MethodGet, "domains/#/users/#/connections/#", (*Console).connection, false},
	{http.MethodPost, "domains/#/users/#/connections/#/sync", (*Console).syncConnection, false},
	{http.MethodPost, "domains/#/users/#/connections/#/delete", (*Console).deleteConnection, false},
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

func (c *Console) connectionRow(v *visit, one store.Connection) connectionRow {
	return connectionRow{
		ID: one.ID, User: one.User, Connector: c.readerName(one.Connector), State: string(one.State),
		Created: v.moment(&one.Created), Read: v.moment(one.LastUpdate), Next: v.moment(one.NextTry),
		Address: v.path("/users/%d/connections/%d", one.User, one.ID),
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
	Turn             turn
}

// connections lists the connections of a domain that could not be read when they
// were last tried, the newest first.
func (c *Console) connections(v *visit) error {
	banks, err := c.Aggregation.Banks(v, v.domain)
	if err != nil {
		return err
	}
	banks = slices.DeleteFunc(banks, func(b wire.Bank) bool { return len(b.Capabilities) == 0 })
	query := v.request.URL.Query()
	data := troublesData{States: passerelle.ConnectionStates(), Connectors: banks, State: query.Get("state"), Connector: query.Get("connector")}
	if data.State != "" && !slices.Contains(data.States, passerelle.ConnectionState(data.State)) {
		v.problem = "state: must be one of those in the list"
		return c.send(v, "connections", "Connections", data)
	}
	if data.Connector != "" && !slices.ContainsFunc(banks, func(b wire.Bank) bool { return b.UUID == data.Connector }) {
		v.problem = "connector: must be one of those in the list"
		return c.send(v, "connections", "Connections", data)
	}
	w := v.window(1)
	rows, err := c.DB.ConnectionsInTrouble(v, store.TroubleFilter{Domain: v.domain.ID, State: passerelle.ConnectionState(data.State), Connector: data.Connector}, w)
	if err != nil {
		return fmt.Errorf("list the connections in trouble of domain %d: %w", v.domain.ID, err)
	}
	rows, data.Turn = page(v, w, rows, func(one store.Connection) []any { return byID(one.ID) })
	for _, one := range rows {
		data.Rows = append(data.Rows, c.connectionRow(v, one))
	}
	return c.send(v, "connections", "Connections", data)
}

// connectionData is all about one connection.
type connectionData struct {
	connectionRow
	Facts   []fact
	Sources []sourceRow
	Visits  []visitRow
	Turn    turn
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

func (v *visit) connectionIDs() (passerelle.UserID, passerelle.ConnectionID) {
	return passerelle.UserID(v.numbers[1]), passerelle.ConnectionID(v.numbers[2])
}

func (c *Console) connection(v *visit) error {
	user, id := v.connectionIDs()
	if _, err := c.about(v, ""); err != nil {
		return err
	}
	one, err := c.Aggregation.Connection(v, v.domain, user, id)
	if err != nil {
		return err
	}
	data := connectionData{connectionRow: c.connectionRow(v, one), Facts: v.connectionFacts(one), Reading: one.Locked, MayAct: v.mayAct()}
	sources, err := c.DB.SourcesOf(v, v.domain.ID, id)
	if err != nil {
		return fmt.Errorf("list the sources of connection %d: %w", id, err)
	}
	for _, s := range sources {
		data.Sources = append(data.Sources, sourceRow{s.Name, string(s.State), v.moment(s.LastUpdate), v.moment(s.AccessExpire), v.moment(s.Disabled)})
	}
	w := v.window(2)
	visits, err := c.DB.ConnectionLogs(v, store.ConnectionLogFilter{Domain: v.domain.ID, User: user, Connection: id}, w)
	if err != nil {
		return fmt.Errorf("list the visits of connection %d: %w", id, err)
	}
	visits, data.Turn = page(v, w, visits, store.ConnectionLog.Place)
	for _, l := range visits {
		data.Visits = append(data.Visits, v.visitRow(l))
	}
	if one.Locked && v.request.Method == http.MethodGet {
		v.reload = readingPause
	}
	return c.send(v, "connection", fmt.Sprintf("Connection %d", id), data)
}

func (v *visit) connectionFacts(one store.Connection) []fact {
	facts := []fact{
		{"What resolves it", resolutions[one.State]},
		{"The institution says", one.Message},
		{"Made", v.moment(&one.Created)},
		{"First read whole", v.moment(one.Established)},
		{"Last read", v.moment(one.LastUpdate)},
		{"Next read", v.moment(one.NextTry)},
		{"Removed unless established by", v.moment(one.Expire)},
		{"Consent until", v.moment(one.ConsentUntil)},
	}
	if !one.Active {
		facts = append(facts, fact{"In the background", "not read"})
	}
	if one.Failures > 0 {
		facts = append(facts, fact{"Failures in a row", fmt.Sprint(one.Failures)})
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

func (v *visit) visitRow(l store.ConnectionLog) visitRow {
	return visitRow{
		At: v.moment(&l.At), Took: l.At.Sub(l.Started).Round(time.Millisecond).String(), State: string(l.State), Message: l.Message,
		Accounts: l.Accounts, Attended: l.Attended,
	}
}

// syncConnection has a connection read now, as one whose person is away: what the
// institution does not allow then is not done.
func (c *Console) syncConnection(v *visit) error {
	if !v.mayAct() {
		return errForbidden
	}
	user, id := v.connectionIDs()
	one, err := c.Aggregation.Resume(v, v.domain, user, id, aggregation.Request{
		Absent: true, Background: true, Acts: []store.Audit{c.record(v, actSync, "connection", int64(id))},
	})
	if err == nil && one.State != passerelle.Validating {
		v.problem = "It was left as it is: without its person the institution may not be read more often today, or not any more."
		return c.connection(v)
	}
	return c.after(v, err, v.path("/users/%d/connections/%d", user, id), (*Console).connection)
}

// deleteConnection deletes the connection whose number was typed.
func (c *Console) deleteConnection(v *visit) error {
	if !v.mayAct() {
		return errForbidden
	}
	user, id := v.connectionIDs()
	err := v.confirmed(int64(id))
	if err == nil {
		err = c.Aggregation.Disconnect(v, v.domain, user, id, c.record(v, actDeleteConnection, "connection", int64(id)))
	}
	return c.after(v, err, v.path("/users/%d", user), (*Console).connection)
}
