package console

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/admission"
	"passerelle/internal/desk"
	"passerelle/internal/lab"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/wire"
	"passerelle/payment"
)

func (c *Console) labRoutes() []desk.Route {
	return []desk.Route{
		desk.Get("domains/#/lab", c.lab),
		desk.Post("domains/#/lab/clock", c.moveClock),
		desk.Post("domains/#/lab/run", c.runSandbox),
		desk.Get("domains/#/lab/scenarios", c.scenarios),
		desk.Post("domains/#/lab/scenarios", c.playScenario),
		desk.Post("domains/#/lab/logins", c.playLogin),
		desk.Get("domains/#/lab/receiver", c.receiver),
		desk.Post("domains/#/lab/receiver/empty", c.emptyReceiver),
	}
}

// The acts in the lab, as the audit log names them.
const (
	actClock = "move clock"
	actRun   = "run sandbox"
	actPlay  = "play scenario"
	actEmpty = "empty receiver"
)

// labData is the lab's first page.
type labData struct {
	Now    string
	Frozen bool
	// May is set when the operator may do more than look.
	May bool
	// Fired is what was done by the last act, empty when there was none.
	Fired []desk.Fact
	// Truncated is set when some of it was left.
	Truncated bool
	Steps     []string
}

// steps are what the clock is often moved by.
var steps = []string{"15m", "1h", "1d", "7d", "31d"}

// fired are what an act in the lab did, as addresses carry it.
var fired = []struct{ name, label string }{
	{"payments", "Payments asked about, or expired"}, {"syncs", "Connections read"}, {"deliveries", "Webhook requests sent"},
}

func (c *Console) lab(v *desk.Visit) error {
	if err := lab.Open(v.Domain); err != nil {
		return err
	}
	data := labData{Now: v.Time(v.Now()), Frozen: v.Domain.Clock.Frozen != nil, May: v.Who.May(admission.Simulate), Steps: steps}
	query := v.Request.URL.Query()
	for _, one := range fired {
		if n, err := strconv.Atoi(query.Get(one.name)); err == nil {
			data.Fired = append(data.Fired, desk.Fact{Name: one.label, Value: strconv.Itoa(n)})
		}
	}
	data.Truncated = query.Has("truncated")
	return pages.Send(v, "lab", "Lab", data)
}

// audited is the lab, for an act that the operator may do there.
func (c *Console) audited(v *desk.Visit, act string) (*lab.Lab, error) {
	if err := lab.Open(v.Domain); err != nil {
		return nil, err
	}
	if !v.Who.May(admission.Simulate) {
		return nil, desk.ErrForbidden
	}
	return c.Lab.Audited(v.Record(act, "", 0)), nil
}

func (c *Console) moveClock(v *desk.Visit) error {
	do, err := c.audited(v, actClock)
	if err != nil {
		return err
	}
	change := lab.Change{Advance: strings.TrimSpace(v.Field("advance")), Set: strings.TrimSpace(v.Field("set")), Zone: v.Zone}
	if freeze := v.Field("freeze"); freeze != "" {
		still := freeze == "yes"
		change.Freeze = &still
	}
	_, ran, err := do.Move(v, v.Domain, change)
	return c.backToLab(v, ran, err)
}

func (c *Console) runSandbox(v *desk.Visit) error {
	do, err := c.audited(v, actRun)
	if err != nil {
		return err
	}
	ran, err := do.Run(v, v.Domain)
	return c.backToLab(v, ran, err)
}

// backToLab tells what an act did, or what was wrong with it.
func (c *Console) backToLab(v *desk.Visit, ran lab.Ran, err error) error {
	if known, is := desk.Told(err); is {
		v.Problem = known
		return c.lab(v)
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
	web.Redirect(v.Writer, v.Path("/lab?%s", query.Encode()))
	return nil
}

// scenariosData is the catalogue, with what became of the scenario last played.
type scenariosData struct {
	Scenarios []scenarioRow
	Logins    []wire.Login
	May       bool
	Played    *played
	Connected *connected
}

type scenarioRow struct {
	Name, Shows, Does, Ends string
	// Needs are configuration keys with the values they have to have.
	Needs []desk.Fact
}

// played is a payment that a scenario made, beside what the scenario promised.
type played struct {
	Payment            passerelle.PaymentID
	Name, Ended, Wants string
	// Kept is set when the promise was.
	Kept bool
}

// connected is a connection that a login made.
type connected struct {
	Connection passerelle.ConnectionID
	User       passerelle.UserID
	State      string
}

func (c *Console) scenarios(v *desk.Visit) error {
	if err := lab.Open(v.Domain); err != nil {
		return err
	}
	data := scenariosData{Logins: c.Logins, May: v.Who.May(admission.Simulate)}
	for i := range c.Scenarios {
		data.Scenarios = append(data.Scenarios, newScenarioRow(&c.Scenarios[i]))
	}
	var err error
	if data.Played, err = c.played(v); err != nil {
		return err
	}
	if data.Connected, err = c.connected(v); err != nil {
		return err
	}
	return pages.Send(v, "scenarios", "Scenarios", data)
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
			text = "clock +" + ageText(time.Duration(move.Seconds)*time.Second)
		}
		moves = append(moves, text)
	}
	row.Does = strings.Join(moves, ", ")
	for key, value := range s.Settings {
		row.Needs = append(row.Needs, desk.Fact{Name: key, Value: value})
	}
	slices.SortFunc(row.Needs, func(a, b desk.Fact) int { return strings.Compare(a.Name, b.Name) })
	return row
}

// endText is the end of a payment with its code.
func endText(ends wire.Outcome) string {
	text := string(ends.States[len(ends.States)-1])
	if ends.Code != nil {
		text += " (" + string(*ends.Code) + ")"
	}
	return text
}

// asked is a number that the address gives, zero for none.
func asked(v *desk.Visit, name string) int64 {
	n, _ := strconv.ParseInt(v.Request.URL.Query().Get(name), 10, 64)
	return n
}

// played looks up the payment that the address says was just made. Which scenario
// it is of, its own state says.
func (c *Console) played(v *desk.Visit) (*played, error) {
	id := asked(v, "payment")
	if id == 0 {
		return nil, nil
	}
	p, err := c.DB.Payment(v, v.Domain.ID, passerelle.PaymentID(id), false)
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

func (c *Console) connected(v *desk.Visit) (*connected, error) {
	id, user := asked(v, "connection"), asked(v, "user")
	if id == 0 || user == 0 {
		return nil, nil
	}
	one, err := c.DB.Connection(v, v.Domain.ID, passerelle.UserID(user), passerelle.ConnectionID(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load connection %d: %w", id, err)
	}
	state := string(one.State)
	if state == "" {
		state = "it works"
	}
	return &connected{one.ID, one.User, state}, nil
}

// playScenario makes the payment of a scenario and does what the scenario says.
func (c *Console) playScenario(v *desk.Visit) error {
	do, err := c.audited(v, actPlay)
	if err != nil {
		return err
	}
	clients, err := c.DB.ClientPage(v, v.Domain.ID, store.Window{Limit: 1})
	if err != nil {
		return fmt.Errorf("list the clients of domain %d: %w", v.Domain.ID, err)
	}
	if len(clients) == 0 {
		v.Problem = "A payment belongs to an application, and this domain has none yet."
		return c.scenarios(v)
	}
	p, err := do.Play(v, v.Domain, v.Field("scenario"), clients[0])
	if known, is := desk.Told(err); is {
		v.Problem = known
		return c.scenarios(v)
	}
	if err != nil {
		return err
	}
	web.Redirect(v.Writer, v.Path("/lab/scenarios?payment=%d", p.ID))
	return nil
}

// playLogin makes a connection that a login steers.
func (c *Console) playLogin(v *desk.Visit) error {
	do, err := c.audited(v, actPlay)
	if err != nil {
		return err
	}
	made, err := do.Connect(v, v.Domain, v.Field("login"))
	if known, is := desk.Told(err); is {
		v.Problem = known
		return c.scenarios(v)
	}
	if err != nil {
		return err
	}
	web.Redirect(v.Writer, v.Path("/lab/scenarios?user=%d&connection=%d", made.User, made.ID))
	return nil
}
