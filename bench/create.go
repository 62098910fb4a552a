package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"passerelle/internal/service"
)

// creations returns the rows about creating payments over HTTP. Both sides respond when the payment
// is durable.
func creations() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		all = append(all, row{
			name: "create payment, 64 clients, " + kind, goal: map[string]float64{sqlite: 0.7, postgres: 0.5}[kind],
			limit: "decode, write the same rows through the bare driver, durably, encode; no authentication, no rules",
			open:  func(ctx context.Context, p *place) (side, side, error) { return createBesideLimit(ctx, p, kind) },
		})
	}
	return all
}

const (
	manyClients = 64
	creationsOf = 4000
)

func createBesideLimit(ctx context.Context, p *place, kind string) (side, side, error) {
	database, err := p.database(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	w, err := p.service(ctx, database)
	if err != nil {
		return nil, nil, err
	}
	bare, err := p.database(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	writer, err := p.bareWriter(ctx, kind, bare)
	if err != nil {
		return nil, nil, err
	}
	origin, err := p.serve(ctx, &creator{writer: writer})
	if err != nil {
		return nil, nil, err
	}
	return p.creating(w.base, w.token, manyClients), p.creating(origin, "", manyClients), nil
}

// creating returns a side in which clients create payments. The number of payments depends on the
// number of clients, so that measurements take about the same time.
func (p *place) creating(base, token string, clients int) side {
	c := newCaller(token, clients)
	return func(ctx context.Context) (measured, error) {
		return load(ctx, clients, p.amount(creationsOf*(clients+8)/(manyClients+8)), func(ctx context.Context, n int) error {
			answer, err := c.call(ctx, http.MethodPost, base+"/payments", draftOf(n))
			if err == nil && len(answer) < leastAnswer {
				err = fmt.Errorf("the response is too short for a payment: %s", answer)
			}
			return err
		})
	}
}

// leastAnswer is the minimum length, in bytes, of a response with a payment.
const leastAnswer = 900

const theBeneficiary = "FR7630006000011234567890189"

func draftOf(n int) []byte {
	return fmt.Appendf(nil, `{"client_redirect_uri":"https://shop.example/back","client_state":"order %d","instructions":[{"amount":12.50,"currency":"EUR",
		"label":"Invoice %d","execution_date_type":"instant","reference_id":"reference %d",
		"beneficiary":{"scheme_name":"iban","identification":"`+theBeneficiary+`","label":"Shop"}}]}`, n, n, n)
}

// creator is the limit program for creations.
type creator struct {
	writer bareWriter
	last   atomic.Int64
}

type bareDraft struct {
	ClientRedirectURI string            `json:"client_redirect_uri"`
	ClientState       string            `json:"client_state"`
	Instructions      []bareInstruction `json:"instructions"`
}

type bareInstruction struct {
	ReferenceID       string      `json:"reference_id"`
	Amount            json.Number `json:"amount"`
	Currency          string      `json:"currency"`
	Label             string      `json:"label"`
	ExecutionDateType string      `json:"execution_date_type"`
	Beneficiary       struct {
		SchemeName     string `json:"scheme_name"`
		Identification string `json:"identification"`
		Label          string `json:"label"`
	} `json:"beneficiary"`
}

func (c *creator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var d bareDraft
	if err := json.NewDecoder(r.Body).Decode(&d); err != nil || len(d.Instructions) != 1 {
		http.Error(w, "not a draft", http.StatusBadRequest)
		return
	}
	id, now := c.last.Add(1), time.Now()
	if err := c.writer.write(r.Context(), insertsOf(id, now.UnixMicro(), d)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answerOf(id, now, d))
}

// theNumbers has the length of the encrypted account numbers of one instruction. theBlind has the
// length of their index value.
var (
	theNumbers = make([]byte, 129)
	theBlind   = strings.Repeat("5ED4", 8) + "獛夽矉榴"
)

// insertsOf returns the statements for the rows that the service stores for a payment.
func insertsOf(id, now int64, d bareDraft) []statement {
	in := d.Instructions[0]
	return []statement{
		{insertTransition, []any{id, 0, bareDomain, nil, nil, "created", "", "client", "", now}},
		{insertPayment, []any{id, bareDomain, bareClient, 0, "created", now, nil, nil, d.ClientRedirectURI, d.ClientState, nil, nil, nil, nil, in.Currency, in.ExecutionDateType, 1250, 1, now, theNumbers}},
		{insertInstruction, []any{
			id, id, 0, bareDomain, in.ReferenceID, 1250, in.Label, nil, nil, nil, nil,
			in.Beneficiary.SchemeName, theBlind, in.Beneficiary.Label, nil, now, true, true, true, strings.ToLower(in.Label), 0,
		}},
		{countPayment, []any{bareDomain, id % 16}},
	}
}

const (
	insertTransition = `INSERT INTO payment_transition (payment_id, seq, domain_id, previous_seq, from_state, to_state, cause, actor, bank_status, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	insertPayment = `INSERT INTO payment (id, domain_id, client_id, version, seq, state, registered, connector_uuid, connector_name, client_redirect_uri, client_state,
			payer_scheme, payer_identification, payer_label, payer_issuer, currency, date_type, amount, instruction_count, expires_from, beneficiary_numbers)
		VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`
	insertInstruction = `INSERT INTO instruction (id, payment_id, position, domain_id, reference_id, amount, label, execution_date, start_date, end_date, frequency,
			beneficiary_scheme, beneficiary_identification, beneficiary_label, beneficiary_issuer, registered, new_beneficiary, new_reference,
			new_end, label_folded, label_shared)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`
	countPayment = `INSERT INTO counter (domain_id, name, shard, n) VALUES ($1, 'payment', $2, 1) ON CONFLICT (domain_id, name, shard) DO UPDATE SET n = counter.n + 1`
)

// answerOf returns a response of about the same size as the service's response.
func answerOf(id int64, now time.Time, d bareDraft) map[string]any {
	in := d.Instructions[0]
	return map[string]any{
		"id": id, "state": "created", "state_detail": nil, "action": nil, "fields": map[string]any{}, "error_code": nil, "error_description": nil,
		"client_redirect_uri": d.ClientRedirectURI, "client_state": d.ClientState, "connector_uuid": nil, "id_connector": nil, "payer": nil, "payer_identity": nil,
		"register_date": now.Format(time.DateTime), "validate_date": nil, "validate_mechanism": nil, "validate_uri": nil,
		"instructions": []any{map[string]any{
			"amount": in.Amount, "label": in.Label, "reference_id": in.ReferenceID, "execution_date_type": in.ExecutionDateType, "execution_date": nil, "exec_date": nil,
			"start_date": nil, "end_date": nil, "frequency": nil, "state": nil, "error_code": nil, "error_description": nil, "beneficiary_identity": nil,
			"currency": map[string]any{"id": in.Currency, "name": "Euro", "symbol": "€", "precision": 2, "prefix": false, "crypto": false, "datetime": nil, "marketcap": nil},
			"beneficiary": map[string]any{
				"id": id, "scheme_name": in.Beneficiary.SchemeName, "identification": in.Beneficiary.Identification, "label": in.Beneficiary.Label,
				"bic": nil, "issuer": nil, "disabled_date": nil, "id_account": nil, "merchant_identification": nil, "merchant_scheme_name": nil,
			},
		}},
	}
}

// groupings returns the rows that compare shared transactions with one transaction for each
// request. Sharing must make many concurrent requests faster, and must not make a single request
// much slower.
func groupings() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		for clients, goal := range map[int]float64{1: 0.9, manyClients: map[string]float64{sqlite: 2, postgres: 1.2}[kind]} {
			all = append(all, row{
				name: fmt.Sprintf("create payment, grouped, %d clients, %s", clients, kind), goal: goal,
				limit: "the same service with a transaction for each request",
				open: func(ctx context.Context, p *place) (side, side, error) {
					return groupedBesideAlone(ctx, p, kind, clients)
				},
			})
		}
	}
	slices.SortFunc(all, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return all
}

func groupedBesideAlone(ctx context.Context, p *place, kind string, clients int) (side, side, error) {
	return p.both(func(grouped bool) (side, error) {
		w, err := p.freshService(ctx, kind, func(c *service.Config) { c.Alone = !grouped })
		if err != nil {
			return nil, err
		}
		return p.creating(w.base, w.token, clients), nil
	})
}
