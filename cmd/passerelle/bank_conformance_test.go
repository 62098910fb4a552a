package main

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/berlingroup"
	"passerelle/connector/connectortest"
	"passerelle/payment"
)

func TestConnectorsOfBanksConform(t *testing.T) {
	banks := newBanks(t, "redirect,redirect-explicit,oauth,embedded,passwords,decoupled,idempotent,signed,old,company")
	banks.with("redirect-explicit", `last_status = "ACSC"`, `last_status = "ACTC"`)
	for _, name := range []string{"redirect", "redirect-explicit", "oauth", "embedded", "passwords", "decoupled", "idempotent", "signed", "old", "company"} {
		t.Run(name, func(t *testing.T) {
			bank, err := berlingroup.Load(filepath.Join(banks.Folder, name+".toml"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(bank.Close)
			initiator, able := bank.Connector().(connector.Initiator)
			if !able {
				t.Fatal("it initiates no payments")
			}
			connectortest.Run(t, func(t *testing.T) connectortest.Subject {
				h := &hand{t: t, banks: banks, bank: name, initiator: initiator}
				before := h.orders()
				return connectortest.Subject{
					Initiator: initiator, Submissions: func() int { return h.orders() - before },
					Order: h.order(payment.FirstOpenDay), Lasting: h.order(payment.Deferred),
					Approve: h.decides("approve"), Agree: h.decides("approve"), Refuse: h.decides("refuse"), Keep: h.decides("refuse"),
				}
			})
		})
	}
}

// hand acts as the customer Anna at a bank.
type hand struct {
	t         *testing.T
	banks     *banksOf
	bank      string
	initiator connector.Initiator
}

func (h *hand) orders() int {
	var out struct{ Orders []any }
	h.banks.steer("GET", h.bank+"/orders", nil, &out)
	return len(out.Orders)
}

var conformanceKeys atomic.Int64

func (h *hand) order(dates payment.DateType) func() connector.Order {
	now := time.Now().UTC()
	var payer passerelle.Account
	for _, account := range h.banks.books(h.bank) {
		if payer.Identification == "" && account.Number[:2] == "DE" {
			payer = passerelle.Account{Scheme: passerelle.IBAN, Identification: account.Number, Label: "Anna"}
		}
	}
	p := payment.Payment{State: payment.Created, Created: now, Payer: &payer, Instructions: []payment.Instruction{{
		ReferenceID: "ORDER-1", Amount: passerelle.Money{Minor: 1250, Currency: "EUR"}, Label: "Order", DateType: dates,
		Beneficiary: passerelle.Account{Scheme: passerelle.IBAN, Identification: creditor, Label: "Shop"},
	}}}
	if h.initiator.Profile().Payments.PayerAccount == payment.PayerNotUsed {
		p.Payer = nil
	}
	if dates == payment.Deferred {
		p.Instructions[0].ExecutionDate = passerelle.DateOf(now, time.UTC).AddDays(200)
	}
	return func() connector.Order {
		key := fmt.Sprintf("%s-%d", h.bank, conformanceKeys.Add(1))
		return connector.Order{
			Domain: 1, Key: key, Payment: p, Mechanism: "webauth", Fields: map[string]string{"psu_id": "anna"}, Now: now,
			ReturnURL: "https://service.test/webauth/callback?state=abc", Device: connector.Device{Address: netip.MustParseAddr("192.0.2.7")},
		}
	}
}

// decides returns a function with which the suite makes Anna approve or refuse. When Anna refuses
// to cancel a deferred order, the function also advances the bank's time by 201 days, so that the
// bank executes the order.
func (h *hand) decides(decision string) func(context.Context, connector.Order, payment.Report) error {
	return func(ctx context.Context, o connector.Order, asked payment.Report) error {
		for asked.Action == payment.FillFields {
			values := map[string]string{"psu_id": "anna", "password": "1234", "additional_password": "5678", "method": "sms", "code": "123456"}
			if decision == "refuse" {
				values["code"] = "999999"
			}
			next, err := h.initiator.(connector.Responder).Answer(ctx, o, connector.Answer{Action: payment.FillFields, Fields: values})
			if err != nil {
				return err
			}
			if next.Memory != nil {
				o.Memory = next.Memory
			}
			asked = next
			if asked.Cancellation == "" && asked.Status != payment.Awaiting {
				break
			}
		}
		if asked.Action == payment.Redirect || asked.Action == payment.Decoupled {
			if err := h.decide(asked, decision); err != nil {
				return err
			}
		}
		if o.Payment.DateType() == payment.Deferred && asked.Cancellation != "" && decision == "refuse" {
			h.banks.steer("POST", h.bank+"/clock", map[string]any{"advance": "201d"}, nil)
		}
		h.banks.steer("POST", h.bank+"/clock", map[string]any{"advance": "1m"}, nil)
		return nil
	}
}

type openAuthorisation struct {
	ID, Approach string
	Next         time.Time
}

func (h *hand) decide(asked payment.Report, decision string) error {
	var open struct{ Authorisations []openAuthorisation }
	h.banks.steer("GET", h.bank+"/authorisations", nil, &open)
	// The newest authorisation comes last, because the recurring consent that Anna approves last
	// replaces her other recurring consents.
	slices.SortFunc(open.Authorisations, func(a, b openAuthorisation) int { return a.Next.Compare(b.Next) })
	if asked.Action == payment.Decoupled {
		for _, one := range open.Authorisations {
			h.banks.steer("POST", h.bank+"/authorisations/"+one.ID, map[string]any{"decision": decision}, nil)
		}
		return nil
	}
	_, err := onPage(asked.ValidateURI, decision)
	return err
}

func onPage(page, decision string) (url.Values, error) {
	answer, err := http.Get(page)
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err = stay.PostForm(answer.Request.URL.String(), url.Values{"decision": {decision}, "customer": {"anna"}})
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	back, err := answer.Location()
	if answer.StatusCode != http.StatusSeeOther || err != nil {
		return nil, fmt.Errorf("the page answers %d, %w", answer.StatusCode, err)
	}
	query := back.Query()
	query.Del("state")
	return query, nil
}

func TestReadersOfBanksConform(t *testing.T) {
	names := []string{"redirect", "oauth", "embedded-3", "passwords", "decoupled", "signed", "old", "company", "delta"}
	banks := newBanks(t, strings.Join(names, ","))
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			bank, err := berlingroup.Load(filepath.Join(banks.Folder, name+".toml"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(bank.Close)
			reader, able := bank.Connector().(connector.DataReader)
			if !able {
				t.Fatal("it reads nothing")
			}
			h := &hand{t: t, banks: banks, bank: name}
			connectortest.RunReader(t, func(*testing.T) connectortest.Customer {
				return connectortest.Customer{Reader: reader, Request: readRequest, Agree: h.consents("approve"), Refuse: h.consents("refuse")}
			})
		})
	}
}

func readRequest() connector.DataRequest {
	return connector.DataRequest{
		Domain: 1, Connection: 7, Source: "openapi", Values: map[string]string{"psu_id": "anna"}, Present: true, Device: connector.Device{Address: netip.MustParseAddr("192.0.2.7")},
		ReturnURL: "https://service.test/webauth/callback?state=abc", Now: time.Now(),
	}
}

func (h *hand) consents(decision string) func(context.Context, connector.Outcome, *connector.DataRequest) error {
	return func(_ context.Context, asked connector.Outcome, next *connector.DataRequest) error {
		values := map[string]string{"password": "1234", "additional_password": "5678", "method": "sms", "code": "123456"}
		if decision == "refuse" {
			values["code"] = "999999"
		}
		next.Answers = map[string]string{}
		for _, f := range asked.Fields {
			next.Answers[f.Name] = values[f.Name]
		}
		switch asked.State {
		case passerelle.WebauthRequired:
			var err error
			next.Answers = nil
			next.Callback, err = onPage(asked.URL, decision)
			return err
		case passerelle.Decoupled:
			next.Answers, next.Resumed = nil, true
			return h.decide(payment.Report{Action: payment.Decoupled}, decision)
		default:
			return nil
		}
	}
}
