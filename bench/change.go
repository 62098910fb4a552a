package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// changes returns the rows about changes of a payment after its creation, with few and with many
// stored payments.
func changes() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		for _, c := range []change{
			{"validate up to the redirect", act{[]step{(*customer).order}, (*customer).validate}, "validating"},
			{"return to a final state", act{[]step{(*customer).order, (*customer).validate}, (*customer).comeBack}, "done"},
			{"cancel", act{[]step{(*customer).order}, (*customer).cancel}, "rejected"},
		} {
			for _, n := range []int{fewPayments, manyPayments} {
				all = append(all, row{
					name: fmt.Sprintf("%s among %d payments, 64 clients, %s", c.name, n, kind), goal: 0.5,
					limit: "decode, write the same rows through the bare driver, durably, encode; no authentication, no reading, no rules, no bank",
					open:  func(ctx context.Context, p *place) (side, side, error) { return c.besideLimit(ctx, p, kind, n) },
				})
			}
			all = append(all, row{
				name: fmt.Sprintf("%s among %d payments, against %d, %s", c.name, manyPayments, fewPayments, kind), goal: 0.9, most: 1.1,
				limit: "itself, among fewer payments",
				open: func(ctx context.Context, p *place) (side, side, error) {
					return p.manyBesideFew(ctx, kind, func(w *instance) side { return p.changing(w, w.base, c) })
				},
			})
		}
	}
	return all
}

// changesOf is the number of payments that are changed in a measurement at scale 1. With half as
// many, a measurement takes half a second, and the first requests count too much.
const changesOf = 3000

// change is an act that moves a payment to another state.
type change struct {
	name string
	act
	state string
}

// act is the measured step of a payment, and the steps before it.
type act struct {
	before []step
	do     step
}

// ready prepares a number of payments for an act.
func (a act) ready(ctx context.Context, w *instance, payments int) ([]customer, error) {
	ready, c := make([]customer, payments), newCaller(w.token, manyClients)
	for _, before := range a.before {
		if _, err := load(ctx, manyClients, payments, func(ctx context.Context, n int) error { return before(&ready[n-1], ctx, c, w.base) }); err != nil {
			return nil, err
		}
	}
	return ready, nil
}

// step is an action on a customer's payment. The argument origin is the address of the service or
// of the program with which the row compares the service.
type step func(v *customer, ctx context.Context, c *caller, origin string) error

// customer has one payment and, after its validation, the bank's link.
type customer struct {
	payment int64
	link    string
}

// besideLimit returns a side that measures the service and a side that measures the limit program.
// Both change payments in the database of the same service.
func (c change) besideLimit(ctx context.Context, p *place, kind string, payments int) (side, side, error) {
	w, err := p.among(ctx, kind, payments)
	if err != nil {
		return nil, nil, err
	}
	writer, err := p.writerTo(ctx, kind, w.database)
	if err != nil {
		return nil, nil, err
	}
	origin, err := p.serve(ctx, newChanger(writer))
	if err != nil {
		return nil, nil, err
	}
	return p.changing(w, w.base, c), p.changing(w, origin, c), nil
}

// changing returns a side that creates payments at a service and changes them at an origin.
func (p *place) changing(w *instance, origin string, c change) side {
	changing := p.acting(w, origin, c.act, manyClients)
	return func(ctx context.Context) (measured, error) {
		m, err := changing(ctx)
		if err != nil {
			return m, err
		}
		return m, w.expect(ctx, p.amount(changesOf), c.state)
	}
}

// acting returns a side in which clients do an act at an origin.
func (p *place) acting(w *instance, origin string, a act, clients int) side {
	c := newCaller(w.token, clients)
	return func(ctx context.Context) (measured, error) {
		ready, err := a.ready(ctx, w, p.amount(changesOf))
		if err != nil {
			return measured{}, err
		}
		return load(ctx, clients, len(ready), func(ctx context.Context, n int) error { return a.do(&ready[n-1], ctx, c, origin) })
	}
}

// expect checks that the newest payments are in a state. It checks at most one page of them.
func (w *instance) expect(ctx context.Context, payments int, state string) error {
	payments = min(payments, listOf)
	answer, err := newCaller(w.token, 1).call(ctx, http.MethodGet, w.base+"/payments?reverse=true&limit="+number(int64(payments)), nil)
	if n := bytes.Count(answer, []byte(`"state":"`+state+`","state_detail"`)); err == nil && n != payments {
		err = fmt.Errorf("%d of %d payments are %s: %s", n, payments, state, answer)
	}
	return err
}

func (v *customer) order(ctx context.Context, c *caller, origin string) error {
	answer, err := c.call(ctx, http.MethodPost, origin+"/payments", draftOf(int(v.payment)))
	if err != nil {
		return err
	}
	var made struct {
		ID int64 `json:"id"`
	}
	err = json.Unmarshal(answer, &made)
	v.payment = made.ID
	return err
}

const theReturn = "https://shop.example/back"

func (v *customer) validate(ctx context.Context, c *caller, origin string) error {
	answer, err := c.call(ctx, http.MethodPut, v.address(origin), []byte(`{"connector_uuid":"`+promptBankUUID+`","webview_url":"`+theReturn+`","validated":true}`))
	if err != nil {
		return err
	}
	v.link, err = textIn(answer, "validate_uri")
	return err
}

// comeBack follows the bank's link at an origin.
func (v *customer) comeBack(ctx context.Context, c *caller, origin string) error {
	_, state, _ := strings.Cut(v.link, "?")
	leads, err := c.redirect(ctx, origin+"/webauth/callback?"+state)
	if err == nil && !strings.HasPrefix(leads, theReturn) {
		err = fmt.Errorf("the payer was sent to %q", leads)
	}
	return err
}

func (v *customer) cancel(ctx context.Context, c *caller, origin string) error {
	answer, err := c.call(ctx, http.MethodPut, v.address(origin), []byte(`{"cancel":true,"client_redirect_uri":"`+theReturn+`","client_state":"cancelled"}`))
	if err == nil && len(answer) < leastAnswer {
		err = fmt.Errorf("the response is too short for a payment: %s", answer)
	}
	return err
}

func (v *customer) fetchPage(ctx context.Context, c *caller, origin string) error {
	answer, err := c.call(ctx, http.MethodGet, v.address(origin), nil)
	if err == nil && len(answer) < leastAnswer {
		err = fmt.Errorf("the response is too short for a payment: %s", answer)
	}
	return err
}

func (v *customer) address(origin string) string { return origin + "/payments/" + number(v.payment) }
