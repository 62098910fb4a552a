package simulation

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/connector/sandbox"
	"passerelle/connector/sandbox/customers"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/initiation"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/payment"
)

// shop is the path of the page to which payers return if the application has no redirect URI.
const shop = "/sandbox/shop/"

// play is a running scenario.
type play struct {
	*Simulation
	domain   passerelle.Domain
	settings settings.Values
	scenario sandbox.Scenario
	payment  passerelle.PaymentID
	// back is the address to which the payer returns.
	back string
}

// Play creates the payment of a scenario for a client, and makes the moves of the scenario. Some
// moves advance the clock. Play returns the payment after the last move. If the result of a move
// differs from the scenario, Play fails with an error that names the move. The payment then stays
// in its state.
func (l *Simulation) Play(ctx context.Context, d passerelle.Domain, name string, by store.Client, acts ...store.Audit) (*payment.Payment, error) {
	leave, err := l.enter(d)
	if err != nil {
		return nil, err
	}
	defer leave()
	p, err := l.prepare(ctx, d, name, by)
	if err != nil {
		return nil, err
	}
	if err := p.create(ctx, by.ID, acts); err != nil {
		return nil, err
	}
	for n, move := range p.scenario.Moves {
		if err := refusedAs(move, p.make(ctx, move)); err != nil {
			return nil, fmt.Errorf("move %d of scenario %s, %s: %w", n+1, name, move.Do, err)
		}
	}
	if _, err := l.runUntilIdle(ctx, p.domain); err != nil {
		return nil, err
	}
	return l.DB.Payment(ctx, d.ID, p.payment, false)
}

func (l *Simulation) prepare(ctx context.Context, d passerelle.Domain, name string, by store.Client) (*play, error) {
	all := sandbox.Scenarios()
	i := slices.IndexFunc(all, func(s sandbox.Scenario) bool { return s.Name == name })
	if i < 0 {
		return nil, passerelle.InvalidField("scenario", "there is no scenario with this name")
	}
	values, err := settings.Load(ctx, &l.DB.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	for key, value := range all[i].Settings {
		if got := values.Text(key); got != value {
			return nil, passerelle.Conflicting("Scenario %s needs the configuration key %s to be %q, but it is %q.", name, key, value, got)
		}
	}
	back := strings.TrimSuffix(d.BaseURL, "/2.0") + shop
	if len(by.RedirectURIs) > 0 {
		back = by.RedirectURIs[0]
	}
	return &play{Simulation: l, domain: d, settings: values, scenario: all[i], back: back}, nil
}

// refusedAs compares the result of a move with the result that the scenario expects.
func refusedAs(move sandbox.Move, err error) error {
	var reported *passerelle.Error
	switch {
	case move.Refused == "":
		return err
	case err == nil:
		return passerelle.Conflicting("The step should have been refused with %s, but was not.", move.Refused)
	case errors.As(err, &reported) && reported.Code == move.Refused:
		return nil
	}
	return err
}

func (p *play) create(ctx context.Context, by passerelle.ClientID, acts []store.Audit) error {
	today := passerelle.DateOf(p.domain.Clock.Now(p.Now()), time.UTC)
	draft := payment.Draft{ClientRedirectURI: p.back, ClientState: p.scenario.Name, Instructions: p.scenario.Instructions(today)}
	if p.scenario.Payer != nil {
		account := p.scenario.Payer.Account()
		draft.Payer = &account
	}
	created, err := p.Initiation.Create(ctx, p.domain, initiation.Creation{By: by, Settings: p.settings, Draft: draft}, acts...)
	if err != nil {
		return err
	}
	p.payment = created.ID
	return nil
}

// make makes one move, and does the work that the move makes due.
func (p *play) make(ctx context.Context, move sandbox.Move) error {
	if move.Do == sandbox.Advance {
		return p.advance(ctx, time.Duration(move.Seconds)*time.Second)
	}
	if move.Do == sandbox.Check {
		return p.advance(ctx, time.Minute)
	}
	if err := p.report(ctx, move); err != nil {
		return err
	}
	_, err := p.runUntilIdle(ctx, p.domain) // asks again if a bank did not respond in time
	return err
}

func (p *play) report(ctx context.Context, move sandbox.Move) error {
	var err error
	answer := func(a initiation.ActionAnswer, by payment.Actor) error {
		_, err := p.Initiation.Answer(ctx, p.domain, p.payment, by, a)
		return err
	}
	switch move.Do {
	case sandbox.Validate:
		_, err = p.Initiation.Validate(ctx, p.domain, p.payment, initiation.Choice{
			Connector: p.scenario.Connector, Fields: move.Fields, WebviewURL: p.back, Validated: true,
		})
	case sandbox.Decide:
		err = p.decide(ctx, move)
	case sandbox.Resume:
		err = answer(initiation.ActionAnswer{Action: payment.Decoupled, Yes: true}, payment.ByPayer)
	case sandbox.Submit:
		err = answer(initiation.ActionAnswer{Action: payment.FillFields, Fields: move.Fields}, payment.ByPayer)
	case sandbox.PSUValidate:
		err = answer(initiation.ActionAnswer{Action: payment.PSUValidation, Yes: move.Yes}, payment.ByPayer)
	case sandbox.ConfirmOrder:
		err = answer(initiation.ActionAnswer{Action: payment.Confirm, Yes: move.Yes}, payment.ByClient)
	case sandbox.CancelOrder:
		_, err = p.Initiation.Cancel(ctx, p.domain, p.payment, initiation.CancelRequest{By: payment.ByClient, RedirectURI: p.back})
	default:
		err = fmt.Errorf("unknown move %s", move.Do)
	}
	return err
}

// decide makes the payer's decision on the bank's page, and then returns the payer to the service.
func (p *play) decide(ctx context.Context, move sandbox.Move) error {
	attempt, err := p.DB.Attempt(ctx, p.domain.ID, p.payment)
	if err != nil {
		return fmt.Errorf("find the order of payment %d: %w", p.payment, err)
	}
	back, err := p.Bank.Decide(ctx, p.domain.ID, attempt.Key, move.Decision, move.Account)
	if err != nil {
		return err
	}
	address, err := url.Parse(back)
	if err != nil {
		return fmt.Errorf("read where the payer returns to: %w", err)
	}
	if state := address.Query().Get("state"); state != "" {
		_, err = p.Initiation.Return(ctx, p.domain, state, address.Query())
	}
	return err
}

// advance advances the clock in steps of at most maxAdvance.
func (p *play) advance(ctx context.Context, length time.Duration) error {
	for length > 0 {
		piece := min(length, maxAdvance)
		moved, _, err := p.move(ctx, p.domain, ClockChange{Advance: piece.String(), Zone: time.UTC}, nil)
		if err != nil {
			return err
		}
		p.domain = moved
		length -= piece
	}
	return nil
}

// password is the password that simulated institutions accept.
const password = "1234"

// Connect creates a user with a connection. The word selects the behaviour of the connection. It
// must be the Word of one of customers.Logins.
func (l *Simulation) Connect(ctx context.Context, d passerelle.Domain, word string, acts ...store.Audit) (bankstore.Connection, error) {
	if err := Open(d); err != nil {
		return bankstore.Connection{}, err
	}
	known := func(one customers.Login) bool { return one.Word == word }
	if !slices.ContainsFunc(customers.Logins(), known) {
		return bankstore.Connection{}, passerelle.InvalidField("login", "no login begins with this word")
	}
	user, err := l.Aggregation.CreateUser(ctx, d, true, func(tx *store.Tx, u passerelle.User) error {
		return tx.AuditOf(int64(u.ID), acts...)
	})
	if err != nil {
		return bankstore.Connection{}, err
	}
	if word == "" {
		word = "ordinary"
	}
	return l.Aggregation.Connect(ctx, d, user.ID, aggregation.Request{
		Connector: sandbox.TestConnector, Values: map[string]string{"login": word, "password": password},
	})
}
