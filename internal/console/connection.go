package console

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (c *Console) connectionRoutes() []page.Route {
	return []page.Route{
		page.Get("domains/#/connections", c.connections),
		page.Get("domains/#/users/#/connections/#", c.connection),
		page.Post("domains/#/users/#/connections/#", c.revealConnection),
		page.Post("domains/#/users/#/connections/#/sync", c.syncConnection),
		page.Post("domains/#/users/#/connections/#/delete", c.deleteConnection),
	}
}

// The audit log has these names for acts on connections.
const (
	actSync             = "synchronise connection"
	actDeleteConnection = "delete connection"
)

// resolutions maps each state of a connection to a text that says how the state ends. In the texts,
// %s is the word for the connection's bank or provider.
var resolutions = map[passerelle.ConnectionState]string{
	passerelle.SCARequired:                 "The user must confirm at the %s. Ask the user to reconnect in the webview.",
	passerelle.WebauthRequired:             "The user must sign in on the page of the %s. Ask the user to reconnect in the webview.",
	passerelle.AdditionalInformationNeeded: "The %s asks the user for more information. Ask the user to answer in the webview.",
	passerelle.Decoupled:                   "The user must confirm in the app of the %s, and then continue in the webview.",
	passerelle.Validating:                  "Synchronisation is in progress. There is nothing to do.",
	passerelle.ActionNeeded:                "The user must act on the site of the %s. The site says what to do.",
	passerelle.PasswordExpired:             "The user must change the password at the %s, and then enter the new one in the webview.",
	passerelle.Wrongpass:                   "The user must enter the right credentials in the webview. The service also retries the stored ones now and then, because the %s can be wrong.",
	passerelle.RateLimiting:                "The %s accepts no more requests for now. The service retries automatically.",
	passerelle.WebsiteUnavailable:          "The %s cannot be reached. The service retries automatically.",
	passerelle.Bug:                         "Synchronisation failed unexpectedly. The service retries automatically. If it keeps failing, the connector has a bug.",
	passerelle.NotSupported:                "The %s offers nothing that this connector can read. The user can only delete the connection.",
}

// inWebview reports whether users end a state in the webview.
func inWebview(state passerelle.ConnectionState) bool {
	return strings.Contains(resolutions[state], "webview")
}

// resolution returns the text that says how a state ends.
func resolution(state passerelle.ConnectionState, institution string) string {
	return strings.ReplaceAll(resolutions[state], "%s", institution)
}

// These are the words for institutions.
const (
	wordBank     = "bank"
	wordProvider = "provider"
)

// institutionWord returns the word for a connector's institution: a bank, or a provider that has
// only documents.
func (c *Console) institutionWord(uuid string) string {
	reader, known := c.Aggregation.Connectors.DataReader(uuid)
	if !known || reader.Profile().Data == nil {
		return wordBank
	}
	if reader.Profile().Data.OnlyDocuments() {
		return wordProvider
	}
	return wordBank
}

// sourceText describes a source for readers who do not know the names of sources in the API. It
// returns an empty text for an unknown name.
func sourceText(name, institution string) string {
	switch name {
	case "openapi":
		return "the API of the " + institution
	case "directaccess":
		return "the user's login at the " + institution
	case "fallback":
		return "used when the other source fails"
	}
	return ""
}

// connectionRow is a connection in a list.
type connectionRow struct {
	ID passerelle.ConnectionID
	// User is zero in a list of one user's connections.
	User      passerelle.UserID
	Connector string
	State     page.ConnectionWord
	// Next is the time of the next automatic read.
	Created, Read, Next page.When
	// Ends is the end of the consent. Only the list of consents that end soon shows it.
	Ends page.When
	// Address is the address of the connection's page.
	Address string
}

func (c *Console) connectionRow(pc *page.Context, one bankstore.Connection) connectionRow {
	return connectionRow{
		ID: one.ID, User: one.User, Connector: c.readerName(one.Connector), State: page.ConnectionWord(one.State),
		Created: pc.When(one.Created), Read: pc.WhenEver(one.LastUpdate), Next: pc.WhenEver(one.NextTry),
		Address: pc.Path("/users/%d/connections/%d", one.User, one.ID),
	}
}

// readerName returns the name of a connection's connector. It returns the UUID for a connector that
// this program no longer has.
func (c *Console) readerName(uuid string) string {
	if reader, known := c.Aggregation.Connectors.DataReader(uuid); known {
		return reader.Profile().Name
	}
	return uuid
}

// takesFiles reports whether the connections to a connector accept statement files. Nobody renews
// the consent to such a connection, so pages do not show its end.
func (c *Console) takesFiles(uuid string) bool {
	reader, known := c.Aggregation.Connectors.DataReader(uuid)
	return known && reader.Profile().Data.TakesFiles
}

// troublesData is the content of a page that lists connections that cannot be read, or connections
// with consents that end soon.
type troublesData struct {
	States           []page.ConnectionWord
	Kinds            []connectionKind
	Connectors       []wire.Bank
	State, Connector string
	// Ends is the number of days within which the listed consents end. It is empty for a list of
	// connections that cannot be read.
	Ends  string
	Rows  []connectionRow
	Pager page.Pager
}

// Spans returns the values of Ends that the page offers.
func (troublesData) Spans() []string { return []string{"7", "30", "90"} }

// ConnectorLabel returns the label of the field for a connector.
func (d troublesData) ConnectorLabel() string {
	if len(d.Connectors) == 0 {
		return "Connector name"
	}
	return "Connector"
}

// connectionKind is a filter that selects connections by who can repair them.
type connectionKind struct {
	Value, Name string
	by          passerelle.Resolution
}

var connectionKinds = []connectionKind{
	{page.UntilUser, "waits for the user", passerelle.ByPerson},
	{page.UntilRetry, "is retried automatically", passerelle.ByRetry},
}

// statesNamed returns the states that a filter value selects, and whether the value is valid. An
// empty text selects all states of failing connections.
func statesNamed(text string) ([]passerelle.ConnectionState, bool) {
	if text == "" {
		return passerelle.FailureStates(), true
	}
	states := passerelle.ConnectionStates()
	for _, kind := range connectionKinds {
		if kind.Value == text {
			return slices.DeleteFunc(states, func(s passerelle.ConnectionState) bool { return s.Resolution() != kind.by }), true
		}
	}
	one := passerelle.ConnectionState(text)
	return []passerelle.ConnectionState{one}, slices.Contains(states, one)
}

// connections lists the domain's connections that cannot be read, newest first. With the parameter
// "ends", it lists connections with consents that end soon.
func (c *Console) connections(pc *page.Context) error {
	banks, err := c.Aggregation.Banks(pc, pc.Domain)
	if err != nil {
		return err
	}
	banks = slices.DeleteFunc(banks, func(b wire.Bank) bool { return len(b.Capabilities) == 0 })
	query := pc.Request.URL.Query()
	data := troublesData{Kinds: connectionKinds, Connectors: banks, State: query.Get("state"), Connector: strings.TrimSpace(query.Get("connector"))}
	if len(banks) > maxChoices {
		data.Connectors = nil // the operator types the name of a connector instead
	}
	for _, state := range passerelle.ConnectionStates() {
		data.States = append(data.States, page.ConnectionWord(state))
	}
	if data.Ends = query.Get("ends"); data.Ends != "" {
		return c.endingConsents(pc, data)
	}
	states, known := statesNamed(data.State)
	if !known {
		pc.Problem, pc.Wrong = "State: must be one of those in the list", "state"
		return pages.Send(pc, "connections", "Connections", data)
	}
	connector, known := bankNamed(banks, data.Connector)
	if !known {
		pc.Problem, pc.Wrong = data.ConnectorLabel()+": must be a connector that reads data", "connector"
		return pages.Send(pc, "connections", "Connections", data)
	}
	w := pc.Window(1)
	rows, err := bankstore.From(c.DB).ConnectionsInTrouble(pc, bankstore.TroubleFilter{Domain: pc.Domain.ID, States: states, Connector: connector}, w)
	if err != nil {
		return fmt.Errorf("list the connections in trouble of domain %d: %w", pc.Domain.ID, err)
	}
	rows, data.Pager = page.Paged(pc, w, rows, func(one bankstore.Connection) []any { return page.ByID(one.ID) })
	for _, one := range rows {
		data.Rows = append(data.Rows, c.connectionRow(pc, one))
	}
	return pages.Send(pc, "connections", "Connections", data)
}

// mostDays is the longest period for which a list shows ending consents, in days.
const mostDays = 366

// endingConsents lists the connections with consents that end soon, the first end first.
func (c *Console) endingConsents(pc *page.Context, data troublesData) error {
	days, err := strconv.Atoi(data.Ends)
	if err != nil || days < 1 || days > mostDays {
		pc.Problem = fmt.Sprintf("ends: must be a number of days up to %d", mostDays)
		return pages.Send(pc, "connections", "Connections", data)
	}
	w := pc.Window(2)
	rows, err := bankstore.From(c.DB).ConnectionsEnding(pc, pc.Domain.ID, pc.Now(), pc.Now().AddDate(0, 0, days), w)
	if err != nil {
		return fmt.Errorf("list the consents of domain %d that end: %w", pc.Domain.ID, err)
	}
	rows, data.Pager = page.Paged(pc, w, rows, func(one bankstore.Connection) []any { return []any{one.ConsentUntil.UnixMicro(), int64(one.ID)} })
	for _, one := range rows {
		row := c.connectionRow(pc, one)
		row.Ends = pc.WhenEver(one.ConsentUntil)
		data.Rows = append(data.Rows, row)
	}
	return pages.Send(pc, "connections", "Connections", data)
}

// bankNamed returns the UUID of the connector that has the text as its UUID, number or name. It also
// returns whether the text is valid. An empty text is valid and names no connector.
func bankNamed(banks []wire.Bank, text string) (string, bool) {
	if text == "" {
		return "", true
	}
	i := slices.IndexFunc(banks, func(b wire.Bank) bool { return b.Named(text) || strings.EqualFold(b.Name, text) })
	if i < 0 {
		return "", false
	}
	return banks[i].UUID, true
}

// connectionData is the content of a connection's page.
type connectionData struct {
	connectionRow
	// Institution is the word for the connector's institution.
	Institution string
	// InWebview is set when the user must act in the webview.
	InWebview bool
	Facts     []page.DetailRow
	Sources   []sourceRow
	Syncs     []syncRow
	Pager     page.Pager
	// Reading is set while a sync reads the connection.
	Reading, MayAct bool
	// Revealable is set when the page hides something that the operator may see. Revealed is set
	// when the page shows it.
	Revealable, Revealed bool
}

// sourceRow is a source of a connection.
type sourceRow struct {
	Name, Text            string
	State                 page.ConnectionWord
	Read, Until, Disabled page.When
}

// syncRow is a sync of the connection.
type syncRow struct {
	At            page.When
	Took, Message string
	State         page.ConnectionWord
	Accounts      int64
	Attended      bool
}

// readingPause is the time after which the page reloads while a sync reads the connection.
const readingPause = 3 * time.Second

func connectionIDs(pc *page.Context) (passerelle.UserID, passerelle.ConnectionID) {
	return passerelle.UserID(pc.Numbers[1]), passerelle.ConnectionID(pc.Numbers[2])
}

func (c *Console) connection(pc *page.Context) error { return c.showConnection(pc, false) }

// revealConnection shows the bank's messages without masks, and records this act.
func (c *Console) revealConnection(pc *page.Context) error { return c.revealUser(pc, c.showConnection) }

func (c *Console) showConnection(pc *page.Context, revealed bool) error {
	user, id := connectionIDs(pc)
	if _, err := c.about(pc, "Connections"); err != nil {
		return err
	}
	one, err := c.Aggregation.Connection(pc, pc.Domain, user, id)
	if err != nil {
		return err
	}
	institution := c.institutionWord(one.Connector)
	open := c.takesFiles(one.Connector)
	if open {
		one.ConsentUntil = nil
	}
	data := connectionData{
		connectionRow: c.connectionRow(pc, one), Institution: institution, InWebview: inWebview(one.State),
		Facts: connectionFacts(pc, one, institution, revealed), Reading: one.Locked, MayAct: mayAct(pc), Revealed: revealed,
	}
	sources, err := bankstore.From(c.DB).SourcesOf(pc, pc.Domain.ID, id)
	if err != nil {
		return fmt.Errorf("list the sources of connection %d: %w", id, err)
	}
	data.Sources = sourceRows(pc, sources, institution, open)
	w := pc.Window(2)
	syncs, err := bankstore.From(c.DB).ConnectionLogs(pc, bankstore.ConnectionLogFilter{Domain: pc.Domain.ID, User: user, Connection: id}, w)
	if err != nil {
		return fmt.Errorf("list the syncs of connection %d: %w", id, err)
	}
	syncs, data.Pager = page.Paged(pc, w, syncs, bankstore.ConnectionLog.Place)
	for _, l := range syncs {
		data.Syncs = append(data.Syncs, newSyncRow(pc, l, revealed))
	}
	data.Revealable = !revealed && hasMessage(one, syncs) && hidesMessages(pc)
	if one.Locked && pc.Request.Method == http.MethodGet {
		pc.Reload = readingPause
	}
	return pages.Send(pc, "connection", fmt.Sprintf("Connection %d", id), data)
}

// hasMessage reports whether the bank sent a message, now or in one of the shown reads.
func hasMessage(one bankstore.Connection, syncs []bankstore.ConnectionLog) bool {
	return one.Message != "" || slices.ContainsFunc(syncs, func(l bankstore.ConnectionLog) bool { return l.Message != "" })
}

// hidesMessages reports whether the page masks messages that the operator may reveal.
func hidesMessages(pc *page.Context) bool {
	return pc.Domain.Kind != passerelle.Sandbox && pc.MayReveal()
}

// sourceRows returns the sources of a connection. It leaves out the end of the access if open is set.
func sourceRows(pc *page.Context, sources []bankstore.ConnectionSource, institution string, open bool) []sourceRow {
	var rows []sourceRow
	for _, s := range sources {
		if open {
			s.AccessExpire = nil
		}
		rows = append(rows, sourceRow{s.Name, sourceText(s.Name, institution), page.ConnectionWord(s.State), pc.WhenEver(s.LastUpdate), pc.WhenEver(s.AccessExpire), pc.WhenEver(s.Disabled)})
	}
	return rows
}

func connectionFacts(pc *page.Context, one bankstore.Connection, institution string, revealed bool) []page.DetailRow {
	facts := slices.Concat(
		page.Details("What to do", resolution(one.State, institution), "The "+institution+"'s message", nameText(pc, one.Message, revealed)),
		page.At("Created", pc.When(one.Created)),
		page.At("First complete sync", pc.WhenEver(one.Established)),
		page.At("Last successful sync", pc.WhenEver(one.LastUpdate)),
		page.At("Next sync", pc.WhenEver(one.NextTry)),
		page.At("Removed unless complete by then", pc.WhenEver(one.Expire)),
		page.At("Consent ends", pc.WhenEver(one.ConsentUntil)),
	)
	if !one.Active {
		facts = append(facts, page.Details("Background synchronisation", "off")...)
	}
	if one.Failures > 0 {
		facts = append(facts, page.Details("Failures in a row", fmt.Sprint(one.Failures))...)
	}
	return facts
}

func newSyncRow(pc *page.Context, l bankstore.ConnectionLog, revealed bool) syncRow {
	return syncRow{
		At: pc.When(l.At), Took: page.Took(l.At.Sub(l.Started)), State: page.ConnectionWord(l.State), Message: nameText(pc, l.Message, revealed),
		Accounts: l.Accounts, Attended: l.Attended,
	}
}

// syncConnection reads a connection now, while the user is absent. The connection does not change
// when the bank does not allow such a read.
func (c *Console) syncConnection(pc *page.Context) error {
	if !mayAct(pc) {
		return page.ErrForbidden
	}
	user, id := connectionIDs(pc)
	one, err := c.Aggregation.Resume(pc, pc.Domain, user, id, aggregation.Request{
		Absent: true, Background: true, Acts: []store.Audit{pc.Record(actSync, "connection", int64(id))},
	})
	if err == nil && one.State != passerelle.Validating {
		pc.Problem = fmt.Sprintf("Not synchronised: without the user present, the %s allows no further synchronisation today, or none at all.", c.institutionWord(one.Connector))
		return c.connection(pc)
	}
	return pc.After(err, "Synchronisation has started.", pc.Path("/users/%d/connections/%d", user, id), c.connection)
}

// deleteConnection deletes a connection after the operator has typed the connection's number.
func (c *Console) deleteConnection(pc *page.Context) error {
	if !mayAct(pc) {
		return page.ErrForbidden
	}
	user, id := connectionIDs(pc)
	err := pc.Confirmed(int64(id))
	if err == nil {
		err = c.Aggregation.Disconnect(pc, pc.Domain, user, id, pc.Record(actDeleteConnection, "connection", int64(id)))
	}
	return pc.After(err, fmt.Sprintf("Connection %d was deleted.", id), pc.Path("/users/%d", user), c.connection)
}
