package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
	"passerelle/internal/operators"
	"passerelle/internal/simulation"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/wire"
	"passerelle/payment"
)

// The audit log has these names for acts in the simulation.
const (
	actClock = "move clock"
	actRun   = "run sandbox"
	actPlay  = "play scenario"
	actEmpty = "empty receiver"
)

// simulationData is the content of the first page of the simulation.
type simulationData struct {
	// Now is the time on the sandbox's clock. Input and Advance are the values of the form's fields.
	Now            page.When
	Input, Advance string
	Frozen         bool
	// May is set when the operator may act.
	May bool
	// Fired is the result of the last act, or empty.
	Fired []page.DetailRow
	// Truncated is set when some due work remains.
	Truncated bool
	Steps     []string
}

// steps lists the usual steps by which operators move the clock.
var steps = []string{"15m", "1h", "1d", "7d", "31d"}

// fired lists the results of an act. Each result is a parameter of the address, with a label.
var fired = []struct{ name, label string }{
	{"payments", "Payments checked or expired"}, {"syncs", "Connections synchronised"}, {"deliveries", "Webhook requests sent"},
}

func (c *handler) simulation(pc *page.Context) error {
	if err := simulation.Open(pc.Domain); err != nil {
		return err
	}
	data := simulationData{Now: pc.When(pc.Now()), Input: cmp.Or(pc.Field("set"), pc.Time(pc.Now())), Advance: pc.Field("advance"), Frozen: pc.Domain.Clock.Frozen != nil, May: pc.Who.May(operators.Simulate), Steps: steps}
	query := pc.Request.URL.Query()
	for _, one := range fired {
		if n, err := strconv.Atoi(query.Get(one.name)); err == nil {
			data.Fired = append(data.Fired, page.DetailRow{Name: one.label, Value: strconv.Itoa(n)})
		}
	}
	data.Truncated = query.Has("truncated")
	return pages.Send(pc, "simulation", "Clock", data)
}

// simulated returns the audit entry for an act in the simulation. It fails when the operator may
// not do the act.
func simulated(pc *page.Context, act, subject string) (store.Audit, error) {
	if err := simulation.Open(pc.Domain); err != nil {
		return store.Audit{}, err
	}
	if !pc.Who.May(operators.Simulate) {
		return store.Audit{}, page.ErrForbidden
	}
	return pc.Record(act, subject, 0), nil
}

func (c *handler) moveClock(pc *page.Context) error {
	entry, err := simulated(pc, actClock, "")
	if err != nil {
		return err
	}
	change := simulation.ClockChange{Advance: strings.TrimSpace(pc.Field("advance")), Set: strings.TrimSpace(pc.Field("set")), Zone: pc.Zone}
	if freeze := pc.Field("freeze"); freeze != "" {
		still := freeze == "yes"
		change.Freeze = &still
	}
	_, ran, err := c.Simulation.Move(pc, pc.Domain, change, entry)
	return c.backToSimulation(pc, ran, err)
}

func (c *handler) runSandbox(pc *page.Context) error {
	entry, err := simulated(pc, actRun, "")
	if err != nil {
		return err
	}
	ran, err := c.Simulation.Run(pc, pc.Domain, entry)
	return c.backToSimulation(pc, ran, err)
}

// backToSimulation shows the result of an act or the mistake in the form.
func (c *handler) backToSimulation(pc *page.Context, ran simulation.Result, err error) error {
	if pc.Reports(err) {
		return c.simulation(pc)
	}
	if err != nil {
		return err
	}
	query := url.Values{}
	for i, n := range []int{ran.Payments, ran.Syncs, ran.Deliveries} {
		query.Set(fired[i].name, strconv.Itoa(n))
	}
	if ran.Truncated {
		query.Set("truncated", "1")
	}
	web.Redirect(pc.Writer, pc.Path("/simulation?%s", query.Encode()))
	return nil
}

// scenariosData has the list of scenarios, and the result of the scenario that the operator played
// last.
type scenariosData struct {
	Scenarios []scenarioRow
	Logins    []wire.Login
	// Search and End filter the scenarios. Ends lists the possible values of End.
	Search, End string
	Ends        []string
	Pager       page.Pager
	May         bool
	Played      *played
	Connected   *connected
}

type scenarioRow struct {
	Name, Shows, Does, Ends string
	// Needs lists the configuration keys and values that the scenario needs.
	Needs []page.DetailRow
}

// played is the payment of a scenario, with the outcome that the scenario promises.
type played struct {
	Payment            passerelle.PaymentID
	Name, Ended, Wants string
	// Kept is set when the payment had the promised outcome.
	Kept bool
}

// connected is a connection that the operator made with a login.
type connected struct {
	Connection passerelle.ConnectionID
	User       passerelle.UserID
	State      string
}

func (c *handler) scenarios(pc *page.Context) error {
	if err := simulation.Open(pc.Domain); err != nil {
		return err
	}
	data := scenariosData{Logins: c.Logins, May: pc.Who.May(operators.Simulate)}
	c.selectScenarios(pc, &data)
	var err error
	if data.Played, err = c.played(pc); err != nil {
		return err
	}
	if data.Connected, err = c.connected(pc); err != nil {
		return err
	}
	return pages.Send(pc, "scenarios", "Scenarios", data)
}

// scenarioPage is the number of scenarios on a page.
const scenarioPage = 20

// selectScenarios adds the page of scenarios that the address selects.
func (c *handler) selectScenarios(pc *page.Context, data *scenariosData) {
	query := pc.Request.URL.Query()
	data.Search, data.End = strings.TrimSpace(query.Get("search")), query.Get("end")
	var found []numberedScenario
	for i := range c.Scenarios {
		row := newScenarioRow(&c.Scenarios[i])
		end, _, _ := strings.Cut(row.Ends, " ")
		data.Ends = append(data.Ends, end)
		if (data.End == "" || end == data.End) && row.matches(data.Search) {
			found = append(found, numberedScenario{int64(i + 1), row})
		}
	}
	slices.Sort(data.Ends)
	data.Ends = slices.Compact(data.Ends)
	w := pc.Window(1)
	w.Limit = scenarioPage + 1
	number := func(one numberedScenario) int64 { return one.number }
	found, data.Pager = page.Paged(pc, w, page.Within(w, found, number), func(one numberedScenario) []any { return page.ByID(one.number) })
	for _, one := range found {
		data.Scenarios = append(data.Scenarios, one.scenarioRow)
	}
}

// numberedScenario is a scenario, with its position in the catalogue. Positions begin with 1.
type numberedScenario struct {
	number int64
	scenarioRow
}

// matches reports whether a text of the row contains the search text.
func (r scenarioRow) matches(search string) bool {
	return strings.Contains(strings.ToLower(r.Name+" "+r.Shows+" "+r.Does+" "+r.Ends), strings.ToLower(search))
}

func newScenarioRow(s *wire.Scenario) scenarioRow {
	row := scenarioRow{Name: s.Name, Shows: s.Shows, Ends: endText(s.Ends)}
	var moves []string
	for _, move := range s.Moves {
		text := move.Do
		switch {
		case move.Decision != "":
			text = move.Decision
		case move.Seconds > 0:
			text = "clock +" + page.Age(time.Duration(move.Seconds)*time.Second)
		}
		moves = append(moves, text)
	}
	row.Does = strings.Join(moves, ", ")
	for key, value := range s.Settings {
		row.Needs = append(row.Needs, page.DetailRow{Name: key, Value: value})
	}
	slices.SortFunc(row.Needs, func(a, b page.DetailRow) int { return strings.Compare(a.Name, b.Name) })
	return row
}

// endText describes the final state of a payment, with its code.
func endText(ends wire.Outcome) string {
	text := string(ends.States[len(ends.States)-1])
	if ends.Code != nil {
		text += " (" + string(*ends.Code) + ")"
	}
	return text
}

// asked returns a number in the address, or zero.
func asked(pc *page.Context, name string) int64 {
	n, _ := strconv.ParseInt(pc.Request.URL.Query().Get(name), 10, 64)
	return n
}

// played loads the payment that the operator has just created. The address has the payment's id.
// The payment's client_state is the name of the scenario.
func (c *handler) played(pc *page.Context) (*played, error) {
	id := asked(pc, "payment")
	if id == 0 {
		return nil, nil
	}
	p, err := c.DB.Payment(pc, pc.Domain.ID, passerelle.PaymentID(id), false)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load payment %d: %w", id, err)
	}
	of := func(s wire.Scenario) bool { return s.Name == p.ClientState }
	i := slices.IndexFunc(c.Scenarios, of)
	if i < 0 {
		return nil, nil
	}
	ended := wire.Outcome{States: []payment.State{p.State}}
	if p.ErrorCode != "" {
		ended.Code = &p.ErrorCode
	}
	shown := &played{Payment: p.ID, Name: p.ClientState, Ended: endText(ended), Wants: endText(c.Scenarios[i].Ends)}
	shown.Kept = shown.Ended == shown.Wants
	return shown, nil
}

func (c *handler) connected(pc *page.Context) (*connected, error) {
	id, user := asked(pc, "connection"), asked(pc, "user")
	if id == 0 || user == 0 {
		return nil, nil
	}
	one, err := bankstore.From(c.DB).Connection(pc, pc.Domain.ID, passerelle.UserID(user), passerelle.ConnectionID(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load connection %d: %w", id, err)
	}
	state := "working"
	if one.State != "" {
		state = page.ConnectionWord(one.State).Word()
	}
	return &connected{one.ID, one.User, state}, nil
}

// playScenario creates the payment of a scenario, and does the acts of the scenario.
func (c *handler) playScenario(pc *page.Context) error {
	entry, err := simulated(pc, actPlay, "payment")
	if err != nil {
		return err
	}
	clients, err := c.DB.ClientPage(pc, pc.Domain.ID, store.Window{Limit: 1})
	if err != nil {
		return fmt.Errorf("list the clients of domain %d: %w", pc.Domain.ID, err)
	}
	if len(clients) == 0 {
		pc.Problem = "A payment belongs to an application, and this domain has none yet."
		return c.scenarios(pc)
	}
	p, err := c.Simulation.Play(pc, pc.Domain, pc.Field("scenario"), clients[0], entry)
	if pc.Reports(err) {
		return c.scenarios(pc)
	}
	if err != nil {
		return err
	}
	web.Redirect(pc.Writer, pc.Path("/simulation/scenarios?payment=%d", p.ID))
	return nil
}

// playLogin makes a connection. The login decides the behaviour of the connection.
func (c *handler) playLogin(pc *page.Context) error {
	entry, err := simulated(pc, actPlay, "user")
	if err != nil {
		return err
	}
	made, err := c.Simulation.Connect(pc, pc.Domain, pc.Field("login"), entry)
	if pc.Reports(err) {
		return c.scenarios(pc)
	}
	if err != nil {
		return err
	}
	web.Redirect(pc.Writer, pc.Path("/simulation/scenarios?user=%d&connection=%d", made.User, made.ID))
	return nil
}
