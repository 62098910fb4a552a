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
	"passerelle/internal/lab"
	"passerelle/internal/store"
	"passerelle/internal/web"
	"passerelle/internal/wire"
	"passerelle/payment"
)

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
	Fired []fact
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

func (c *Console) lab(v *visit) error {
	if err := lab.Open(v.domain); err != nil {
		return err
	}
	data := labData{Now: v.timeText(c.now(v)), Frozen: v.domain.Clock.Frozen != nil, May: v.who.May(admission.Simulate), Steps: steps}
	query := v.request.URL.Query()
	for _, one := range fired {
		if n, err := strconv.Atoi(query.Get(one.name)); err == nil {
			data.Fired = append(data.Fired, fact{one.label, strconv.Itoa(n)})
		}
	}
	data.Truncated = query.Has("truncated")
	return c.send(v, "lab", "Lab", data)
}

// audited is the lab, for an act that the operator may do there.
func (c *Console) audited(v *visit, act string) (*lab.Lab, error) {
	if err := lab.Open(v.domain); err != nil {
		return nil, err
	}
	if !v.who.May(admission.Simulate) {
		return nil, errForbidden
	}
	return c.Lab.Audited(c.record(v, act, "", 0)), nil
}

func (c *Console) moveClock(v *visit) error {
	do, err := c.audited(v, actClock)
	if err != nil {
		return err
	}
	change := lab.Change{Advance: strings.TrimSpace(v.field("advance")), Set: strings.TrimSpace(v.field("set")), Zone: v.zone}
	if freeze := v.field("freeze"); freeze != "" {
		still := freeze == "yes"
		change.Freeze = &still
	}
	_, ran, err := do.Move(v, v.domain, change)
	return c.backToLab(v, ran, err)
}

func (c *Console) runSandbox(v *visit) error {
	do, err := c.audited(v, actRun)
	if err != nil {
		return err
	}
	ran, err := do.Run(v, v.domain)
	return c.backToLab(v, ran, err)
}

// backToLab tells what an act did, or what was wrong with it.
func (c *Console) backToLab(v *visit, ran lab.Ran, err error) error {
	if known, is := told(err); is {
		v.problem = known
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
	web.Redirect(v.writer, v.path("/lab?%s", query.Encode()))
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
	Needs []fact
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

func (c *Console) scenarios(v *visit) error {
	if err := lab.Open(v.domain); err != nil {
		return err
	}
	data := scenariosData{Logins: c.Logins, May: v.who.May(admission.Simulate)}
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
	return c.send(v, "scenarios", "Scenarios", data)
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
		row.Needs = append(row.Needs, fact{key, value})
	}
	slices.SortFunc(row.Needs, func(a, b fact) int { return strings.Compare(a.Name, b.Name) })
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
func (v *visit) asked(name string) int64 {
	n, _ := strconv.ParseInt(v.request.URL.Query().Get(name), 10, 64)
	return n
}

// played looks up the payment that the address says was just made. Which scenario
// it is of, its own state says.
func (c *Console) played(v *visit) (*played, error) {
	id := v.asked("payment")
	if id == 0 {
		return nil, nil
	}
	p, err := c.DB.Payment(v, v.domain.ID, passerelle.PaymentID(id), false)
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

func (c *Console) connected(v *visit) (*connected, error) {
	id, user := v.asked("connection"), v.asked("user")
	if id == 0 || user == 0 {
		return nil, nil
	}
	one, err := c.DB.Connection(v, v.domain.ID, passerelle.UserID(user), passerelle.ConnectionID(id))
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
func (c *Console) playScenario(v *visit) error {
	do, err := c.audited(v, actPlay)
	if err != nil {
		return err
	}
	clients, err := c.DB.Clients(v, v.domain.ID)
	if err != nil {
		return fmt.Errorf("list the clients of domain %d: %w", v.domain.ID, err)
	}
	if len(clients) == 0 {
		v.problem = "A payment belongs to an application, and this domain has none yet."
		return c.scenarios(v)
	}
	p, err := do.Play(v, v.domain, v.field("scenario"), clients[0])
	if known, is := told(err); is {
		v.problem = known
		return c.scenarios(v)
	}
	if err != nil {
		return err
	}
	web.Redirect(v.writer, v.path("/lab/scenarios?payment=%d", p.ID))
	return nil
}

// playLogin makes a connection that a login steers.
func (c *Console) playLogin(v *visit) error {
	do, err := c.audited(v, actPlay)
	if err != nil {
		return err
	}
	made, err := do.Connect(v, v.domain, v.field("login"))
	if known, is := told(err); is {
		v.problem = known
		return c.scenarios(v)
	}
	if err != nil {
		return err
	}
	web.Redirect(v.writer, v.path("/lab/scenarios?user=%d&connection=%d", made.User, made.ID))
	return nil
}
