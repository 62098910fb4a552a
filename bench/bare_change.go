package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// changer is the limit program for changes of a payment. It does not read the payment's state.
type changer struct {
	writer bareWriter
	last   atomic.Int64 // the last id, which is far from the ids of sequences
}

func newChanger(writer bareWriter) http.Handler {
	c := &changer{writer: writer}
	c.last.Store(time.Now().UnixMicro()) // two changers of a run use different ids
	handler := http.NewServeMux()
	handler.HandleFunc("PUT /payments/{id}", c.put)
	handler.HandleFunc("GET /webauth/callback", c.comeBack)
	return handler
}

type bareChange struct {
	Connector  string `json:"connector_uuid"`
	WebviewURL string `json:"webview_url"`
	Cancel     bool   `json:"cancel"`
}

func (c *changer) put(w http.ResponseWriter, r *http.Request) {
	var asked bareChange
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err := errors.Join(err, json.NewDecoder(r.Body).Decode(&asked)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	do := c.validate
	if asked.Cancel {
		do = c.cancel
	}
	answer, err := do(r.Context(), id, asked)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// validate records the intention to call the bank and then, in a second transaction, the bank's
// response.
func (c *changer) validate(ctx context.Context, id int64, asked bareChange) ([]byte, error) {
	now, attempt, link := time.Now(), c.last.Add(1), theReturn+"?state=0123456789012345678901234567890123456789"
	intended := []statement{
		{`UPDATE payment SET version = version + 1, connector_uuid = $1, connector_name = 'Prompt', validate_mechanism = 'webauth', webview_url = $2, check_lease = 0 WHERE id = $3`, []any{asked.Connector, asked.WebviewURL, id}},
		{insertAttempt, []any{attempt, id, bareDomain, fmt.Sprintf("%032d", attempt), asked.Connector, theFields, now.UnixMicro(), now.Add(30 * time.Second).UnixMicro()}},
	}
	if err := c.writer.write(ctx, intended); err != nil {
		return nil, err
	}
	answer, err := json.Marshal(stateOf(id, now, "validating", link))
	if err != nil {
		return nil, err
	}
	return answer, c.writer.write(ctx, []statement{
		{insertTransition, []any{id, 1, bareDomain, 0, "created", "validating", "validated", "payer", "awaiting", now.UnixMicro()}},
		{
			`UPDATE payment SET version = version + 1, seq = 1, state = 'validating', action = 'redirect', validate_uri = $1, validated = $2, expires_from = $3, next_check = $4 WHERE id = $5`,
			[]any{link, now.UnixMicro(), now.UnixMicro(), now.Add(24 * time.Hour).UnixMicro(), id},
		},
		{`UPDATE instruction SET state = 'pending' WHERE payment_id = $1 AND position = 0`, []any{id}},
		{`UPDATE attempt SET state = 'answered' WHERE id = $1`, []any{attempt}},
		c.event(id, 1, now, answer),
	})
}

func (c *changer) cancel(ctx context.Context, id int64, _ bareChange) ([]byte, error) {
	now := time.Now()
	answer, err := json.Marshal(stateOf(id, now, "rejected", ""))
	if err != nil {
		return nil, err
	}
	return answer, c.writer.write(ctx, []statement{
		{insertTransition, []any{id, 1, bareDomain, 0, "created", "rejected", "refused", "client", "", now.UnixMicro()}},
		{`UPDATE payment SET version = version + 1, seq = 1, state = 'rejected', error_code = 'CancelledByClient', expires_from = NULL WHERE id = $1`, []any{id}},
		{`UPDATE instruction SET state = 'rejected', error_code = 'CancelledByClient' WHERE payment_id = $1 AND position = 0`, []any{id}},
		c.event(id, 1, now, answer),
	})
}

func (c *changer) comeBack(w http.ResponseWriter, r *http.Request) {
	state, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("state"))
	if err != nil || len(state) < 8 {
		http.Error(w, "not a state", http.StatusBadRequest)
		return
	}
	if err := c.end(r.Context(), int64(binary.BigEndian.Uint64(state))); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	http.Redirect(w, r, theReturn, http.StatusSeeOther)
}

func (c *changer) end(ctx context.Context, id int64) error {
	now := time.Now()
	var notice [2][]byte
	for i, state := range []string{"pending", "done"} {
		var err error
		if notice[i], err = json.Marshal(stateOf(id, now, state, "")); err != nil {
			return err
		}
	}
	return c.writer.write(ctx, []statement{
		{insertTransition, []any{id, 2, bareDomain, 1, "validating", "pending", "approved", "payer", "executed", now.UnixMicro()}},
		{insertTransition, []any{id, 3, bareDomain, 2, "pending", "done", "executed", "bank", "executed", now.UnixMicro()}},
		{`UPDATE payment SET version = version + 1, seq = 3, state = 'done', action = NULL, validate_uri = NULL, next_check = NULL, expires_from = NULL WHERE id = $1`, []any{id}},
		{`UPDATE instruction SET state = 'done', exec_date = $1 WHERE payment_id = $2 AND position = 0`, []any{now.Format(time.DateOnly), id}},
		c.event(id, 2, now, notice[0]),
		c.event(id, 3, now, notice[1]),
	})
}

func (c *changer) event(id, version int64, now time.Time, body []byte) statement {
	return statement{insertEvent, []any{c.last.Add(1), bareDomain, id, version, body, now.UnixMicro()}}
}

// theFields is as long as the encrypted value that the service stores in the column `fields` for an
// attempt without fields.
var theFields = make([]byte, 100)

const (
	insertAttempt = `INSERT INTO attempt (id, payment_id, domain_id, number, kind, key, connector_uuid, mechanism, waits, fields, state, created, lease_until)
		VALUES ($1, $2, $3, 1, 'initiation', $4, $5, 'webauth', FALSE, $6, 'open', $7, $8)`
	insertEvent = `INSERT INTO event (id, domain_id, name, subject, subject_id, version, held, media_type, omitted, body, parted, created)
		VALUES ($1, $2, 'PAYMENT_STATE_UPDATED', 'payment', $3, $4, FALSE, 'application/json', 0, $5, 0, $6)`
)

// stateOf returns a response with a payment in a state. It is about as large as the service's
// response.
func stateOf(id int64, now time.Time, state, link string) map[string]any {
	var d bareDraft
	d.Instructions = make([]bareInstruction, 1)
	d.ClientRedirectURI, d.ClientState = theReturn, "order 1234567"
	d.Instructions[0].Amount, d.Instructions[0].Label, d.Instructions[0].ReferenceID, d.Instructions[0].Currency = "12.50", "Invoice 1234567", "reference 1234567", "EUR"
	d.Instructions[0].Beneficiary.SchemeName, d.Instructions[0].Beneficiary.Identification = "iban", theBeneficiary
	answer := answerOf(id, now, d)
	answer["state"], answer["validate_uri"], answer["connector_uuid"], answer["validate_mechanism"] = state, link, promptBankUUID, "webauth"
	return answer
}
