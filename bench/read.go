package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// reads returns the rows about reading one payment.
func reads() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		all = append(all, row{
			name: "get payment, 16 clients, " + kind, goal: 0.5,
			limit: "the same reads (token, payment, lines) by the bare driver, encode",
			open:  func(ctx context.Context, p *place) (side, side, error) { return getBesideLimit(ctx, p, kind) },
		})
	}
	return all
}

const (
	fewClients = 16
	getsOf     = 10_000
	storedGets = 1000
)

// getBesideLimit returns two sides that read the same database.
func getBesideLimit(ctx context.Context, p *place, kind string) (side, side, error) {
	database, err := p.database(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	w, err := p.service(ctx, database)
	if err != nil {
		return nil, nil, err
	}
	c := newCaller(w.token, manyClients)
	if _, err := load(ctx, manyClients, storedGets, func(ctx context.Context, n int) error {
		_, err := c.call(ctx, http.MethodPost, w.base+"/payments", draftOf(n))
		return err
	}); err != nil {
		return nil, nil, err
	}
	reader, err := p.bareReader(ctx, kind, database)
	if err != nil {
		return nil, nil, err
	}
	g := &getter{reader: reader}
	if g.ids, err = g.payments(ctx); err != nil {
		return nil, nil, err
	}
	origin, err := p.serve(ctx, g)
	if err != nil {
		return nil, nil, err
	}
	return p.getting(w.base, w.token, g.ids), p.getting(origin, w.token, g.ids), nil
}

func (p *place) getting(base, token string, ids []int64) side {
	c := newCaller(token, fewClients)
	return func(ctx context.Context) (measured, error) {
		return load(ctx, fewClients, p.amount(getsOf), func(ctx context.Context, n int) error {
			answer, err := c.call(ctx, http.MethodGet, base+"/payments/"+number(ids[n%len(ids)]), nil)
			if err == nil && len(answer) < leastAnswer {
				err = fmt.Errorf("the response is too short for a payment: %s", answer)
			}
			return err
		})
	}
}

// getter is the limit program for reading one payment.
type getter struct {
	reader bareReader
	ids    []int64
}

const (
	readPayments = `SELECT id FROM payment ORDER BY id`
	readToken    = `SELECT id, scopes, expires, revoked FROM token WHERE domain_id = $1 ORDER BY id DESC LIMIT 1`
	readPayment  = `SELECT state, registered, client_redirect_uri, client_state, currency, date_type, amount FROM payment WHERE domain_id = $1 AND id = $2`
	readLines    = `SELECT reference_id, amount, label, beneficiary_scheme, beneficiary_identification, beneficiary_label FROM instruction
		WHERE domain_id = $1 AND payment_id = $2 ORDER BY position`
)

func (g *getter) payments(ctx context.Context) ([]int64, error) {
	var ids []int64
	err := g.reader.each(ctx, readPayments, nil, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

func (g *getter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var id int64
	if _, err := fmt.Sscanf(r.URL.Path, "/payments/%d", &id); err != nil {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	answer, err := g.get(r.Context(), id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (g *getter) get(ctx context.Context, id int64) (map[string]any, error) {
	var (
		token, registered, amount, lineAmount int64
		scopes, state                         string
		expires, revoked                      *int64
		d                                     bareDraft
		in                                    bareInstruction
	)
	err := g.reader.each(ctx, readToken, []any{bareDomain}, func(scan func(...any) error) error { return scan(&token, &scopes, &expires, &revoked) })
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	err = g.reader.each(ctx, readPayment, []any{bareDomain, id}, func(scan func(...any) error) error {
		return scan(&state, &registered, &d.ClientRedirectURI, &d.ClientState, &in.Currency, &in.ExecutionDateType, &amount)
	})
	if err != nil {
		return nil, fmt.Errorf("read the payment: %w", err)
	}
	err = g.reader.each(ctx, readLines, []any{bareDomain, id}, func(scan func(...any) error) error {
		err := scan(&in.ReferenceID, &lineAmount, &in.Label, &in.Beneficiary.SchemeName, &in.Beneficiary.Identification, &in.Beneficiary.Label)
		in.Amount = json.Number(fmt.Sprintf("%d.%02d", lineAmount/100, lineAmount%100))
		d.Instructions = append(d.Instructions, in)
		return err
	})
	if err != nil || len(d.Instructions) == 0 {
		return nil, fmt.Errorf("read the lines: %w", err)
	}
	return answerOf(id, time.UnixMicro(registered), d), nil
}
