// Package conformance checks whether a program that speaks the connector protocol keeps the rules
// for every connector and the rules for signatures.
//
// It owns the test of a program: only this package makes the call "test", with which the program
// under test acts as the payer or the user. The rules are in package connectortest, and the
// protocol is in package remote. Run returns an error when the program does not describe itself. A
// broken rule is a result, not an error.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"passerelle/connector"
	"passerelle/connector/connectortest"
	"passerelle/connector/remote"
	"passerelle/payment"
)

// Run returns the result of each rule.
func Run(ctx context.Context, address, secret string) ([]connectortest.Result, error) {
	c := candidate{address: address, secret: secret}
	_, built, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	report := connectortest.NewReport(ctx)
	report.Run("requests of others are refused", c.checkRefusals)
	if _, pays := built.(connector.Initiator); pays {
		connectortest.Run(report, c.subject)
	}
	if _, reads := built.(connector.DataReader); reads {
		connectortest.RunReader(report, c.customer)
	}
	return report.Results, nil
}

// candidate is a program under test.
type candidate struct{ address, secret string }

// open returns the program and its connector, without any memory of earlier calls.
func (c candidate) open(ctx context.Context) (*remote.Program, connector.Connector, error) {
	p, err := remote.NewProgram(c.address, c.secret)
	if err != nil {
		return nil, nil, err
	}
	p = p.Strict()
	described, err := p.Describe(ctx)
	if err != nil {
		return nil, nil, err
	}
	built, err := p.Connector(described, 1)
	return p, built, err
}

func (c candidate) checkRefusals(r *connectortest.Report) {
	p, err := remote.NewProgram(c.address, c.secret)
	if err == nil {
		defer p.Close()
		err = p.CheckRefusals(r.Context())
	}
	if err != nil {
		r.Error(connectortest.Breach{Err: err, Right: "a request with a wrong signature, an old timestamp or a used nonce gets a 401, and has no effect"})
	}
}

// begin opens the program for one rule. It asks for the data that the orders and requests of the
// rule need.
func (c candidate) begin(r *connectortest.Report) (*remote.Program, connector.Connector, remote.Acted) {
	p, built, err := c.open(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	begun, err := p.Test(r.Context(), remote.Act{Act: remote.ActBegin})
	if err != nil && !errors.Is(err, remote.ErrNoTest) {
		r.Fatal(fmt.Errorf("begin a test: %w", err))
	}
	return p, built, begun
}

// subject returns the program as a bank that accepts payments.
func (c candidate) subject(r *connectortest.Report) connectortest.Subject {
	p, built, begun := c.begin(r)
	initiator, _ := built.(connector.Initiator)
	h := &hand{program: p, initiator: initiator}
	s := connectortest.Subject{
		Initiator: initiator, Approve: h.acting(remote.ActApprove), Agree: h.acting(remote.ActApprove), Refuse: h.acting(remote.ActRefuse), Keep: h.acting(remote.ActRefuse),
		Submissions: func() int {
			now, err := p.Test(r.Context(), remote.Act{Act: remote.ActBegin})
			if err != nil {
				r.Fatal(fmt.Errorf("count the orders of the bank: %w", err))
			}
			return now.Orders - begun.Orders
		},
	}
	with := connectortest.Parties{Payer: begun.Payer, Beneficiary: begun.Beneficiary, Fields: begun.Fields}
	now := time.Now().UTC()
	orders, err := connectortest.Orders(built.Profile(), with, false, now)
	if err != nil {
		r.Fatal(err)
	}
	lasting, err := connectortest.Orders(built.Profile(), with, true, now)
	if err != nil {
		r.Fatal(err)
	}
	s.Order = orders
	s.Lasting = func() connector.Order {
		o := lasting()
		h.lasting.Store(o.Key, true)
		return o
	}
	return s
}

// hand acts as the payer, with the call "test".
type hand struct {
	program   *remote.Program
	initiator connector.Initiator
	// lasting holds the keys of orders that are not executed for some time.
	lasting sync.Map
}

// maxAnswers is the maximum number of times that a payer may be asked for values.
const maxAnswers = 12

func (h *hand) acting(act string) func(context.Context, connector.Order, payment.Report) error {
	return func(ctx context.Context, o connector.Order, asked payment.Report) error {
		_, lasts := h.lasting.Load(o.Key)
		for range maxAnswers {
			did, err := h.program.Test(ctx, remote.Act{Act: act, Order: o, Report: asked, Lasting: lasts})
			if err != nil || did.Answers == nil {
				return err
			}
			if asked, err = h.answer(ctx, &o, did.Answers); err != nil || asked.Action != payment.FillFields {
				return err
			}
		}
		return errors.New("the program requests values of the payer too often")
	}
}

// answer passes on the values that the payer entered.
func (h *hand) answer(ctx context.Context, o *connector.Order, values map[string]string) (payment.Report, error) {
	responder, able := h.initiator.(connector.Responder)
	if !able {
		return payment.Report{}, errors.New("the call test returns values, but the profile has no answers")
	}
	next, err := responder.Answer(ctx, *o, connector.Answer{Action: payment.FillFields, Fields: values})
	if next.Memory != nil {
		o.Memory = next.Memory
	}
	return next, err
}

// customer returns a user whose data the program reads.
func (c candidate) customer(r *connectortest.Report) connectortest.Customer {
	p, built, begun := c.begin(r)
	reader, _ := built.(connector.DataReader)
	profile := built.Profile()
	does := func(act string) func(context.Context, connector.Outcome, *connector.DataRequest) error {
		return func(ctx context.Context, asked connector.Outcome, next *connector.DataRequest) error {
			did, err := p.Test(ctx, remote.Act{Act: act, Request: *next, Outcome: asked})
			if err == nil {
				next.Answers, next.Callback, next.Resumed = did.Answers, did.Callback, did.Resumed
			}
			return err
		}
	}
	return connectortest.Customer{
		Reader: reader, Agree: does(remote.ActApprove), Refuse: does(remote.ActRefuse),
		Request: func() connector.DataRequest {
			return connector.DataRequest{
				Domain: 1, Connection: 1, Source: source(profile), Values: begun.Values, Present: true,
				ReturnURL: "https://service.example/2.0/webauth/callback?state=abc", Now: time.Now().UTC(),
			}
		},
	}
}

func source(p connector.Profile) string {
	chosen, _, err := p.Choose("", "")
	if err != nil {
		return "" // the rule about the profile reports this
	}
	return chosen.Name
}
