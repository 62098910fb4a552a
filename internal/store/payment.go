package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/payment"
)

const paymentColumns = `id, domain_id, client_id, version, seq, state, state_detail, action, error_code, error_description,
	fields, validate_uri, connector_uuid, validate_mechanism, registered, validated, client_redirect_uri, client_state,
	webview_url, bank_payment_id, payer_scheme, payer_identification, payer_label, payer_issuer, currency, date_type`

// storedPayment is a payment row on its way in, with what the lines share.
type storedPayment struct {
	payment.Payment
	currency passerelle.Currency
	dateType payment.DateType
}

func scanPayment(row scanner) (*storedPayment, error) {
	var (
		p                                          storedPayment
		detail, action, code, why, fields, uri     *string
		connector, mechanism, webview, bankPayment *string
		scheme, identification, label, issuer      *string
		registered                                 int64
		validated                                  *int64
	)
	err := row.Scan(&p.ID, &p.Domain, &p.Client, &p.Version, &p.Seq, &p.State, &detail, &action, &code, &why,
		&fields, &uri, &connector, &mechanism, &registered, &validated, &p.ClientRedirectURI, &p.ClientState,
		&webview, &bankPayment, &scheme, &identification, &label, &issuer, &p.currency, &p.dateType)
	if err != nil {
		return nil, err
	}
	p.Detail, p.Action, p.ErrorCode, p.ErrorDescription = text[payment.Detail](detail), text[payment.Action](action), text[payment.ErrorCode](code), text[string](why)
	p.ValidateURI, p.Connector, p.Mechanism, p.WebviewURL = text[string](uri), text[string](connector), text[string](mechanism), text[string](webview)
	p.BankPaymentID, p.Created, p.Validated = text[string](bankPayment), instant(registered), optionalInstant(validated)
	if scheme != nil {
		p.Payer = &passerelle.Account{Scheme: text[passerelle.AccountScheme](scheme), Identification: text[string](identification), Label: text[string](label), Issuer: text[string](issuer)}
	}
	if fields != nil {
		err = json.Unmarshal([]byte(*fields), &p.Fields)
	}
	return &p, err
}

// Payment loads a payment of a domain with its lines, or ErrNotFound. The
// sensitive part of identities comes only when asked for.
func (r *Reader) Payment(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID, sensitive bool) (*payment.Payment, error) {
	p, err := one(ctx, r, scanPayment, `SELECT `+paymentColumns+` FROM payment WHERE domain_id = $1 AND id = $2`, int64(domain), int64(id))
	if err != nil {
		return nil, err
	}
	if err := r.loadParts(ctx, domain, []*storedPayment{p}, sensitive); err != nil {
		return nil, err
	}
	return &p.Payment, nil
}

// loadParts fills lines and identities of a page of payments, one query each.
func (r *Reader) loadParts(ctx context.Context, domain passerelle.DomainID, page []*storedPayment, sensitive bool) error {
	if len(page) == 0 {
		return nil
	}
	if err := r.loadInstructions(ctx, domain, page); err != nil {
		return err
	}
	return r.loadIdentities(ctx, domain, page, sensitive)
}

const instructionColumns = `payment_id, id, reference_id, amount, label, execution_date, start_date, end_date, frequency,
	beneficiary_scheme, beneficiary_identification, beneficiary_label, beneficiary_issuer, state, error_code, error_description, exec_date`

func scanInstruction(row scanner) (passerelle.PaymentID, payment.Instruction, error) {
	var (
		owner                                    passerelle.PaymentID
		in                                       payment.Instruction
		execution, start, end, frequency, issuer *string
		state, code, why, executed               *string
	)
	err := row.Scan(&owner, &in.ID, &in.ReferenceID, &in.Amount.Minor, &in.Label, &execution, &start, &end, &frequency,
		&in.Beneficiary.Scheme, &in.Beneficiary.Identification, &in.Beneficiary.Label, &issuer, &state, &code, &why, &executed)
	if err != nil {
		return 0, in, err
	}
	in.Frequency, in.Beneficiary.Issuer = text[payment.Frequency](frequency), text[string](issuer)
	in.State, in.ErrorCode, in.ErrorDescription = text[payment.InstructionState](state), text[payment.ErrorCode](code), text[string](why)
	for _, day := range []struct {
		from *string
		to   *passerelle.Date
	}{{execution, &in.ExecutionDate}, {start, &in.StartDate}, {end, &in.EndDate}, {executed, &in.Executed}} {
		if *day.to, err = storedDate(day.from); err != nil {
			return 0, in, fmt.Errorf("read a date of instruction %d: %w", in.ID, err)
		}
	}
	return owner, in, nil
}

func (r *Reader) loadInstructions(ctx context.Context, domain passerelle.DomainID, page []*storedPayment) error {
	list, args := idList(domain, page)
	byID := index(page)
	_, err := collect(ctx, r, func(row scanner) (struct{}, error) {
		id, in, err := scanInstruction(row)
		if err != nil {
			return struct{}{}, err
		}
		p := byID[id]
		in.Amount.Currency, in.DateType = p.currency, p.dateType
		p.Instructions = append(p.Instructions, in)
		return struct{}{}, nil
	}, `SELECT `+instructionColumns+` FROM instruction WHERE domain_id = $1 AND payment_id IN (`+list+`) ORDER BY payment_id, position`, args...)
	if err != nil {
		return fmt.Errorf("load instructions: %w", err)
	}
	return nil
}

func index(page []*storedPayment) map[passerelle.PaymentID]*storedPayment {
	byID := make(map[passerelle.PaymentID]*storedPayment, len(page))
	for _, p := range page {
		byID[p.ID] = p
	}
	return byID
}

// idList writes placeholders for the page's ids after $1, the domain. Its
// length is a power of two, the last id repeated, so that the databases see
// few different statements.
func idList(domain passerelle.DomainID, page []*storedPayment) (string, []any) {
	size := 1
	for size < len(page) {
		size *= 2
	}
	var list strings.Builder
	args := []any{int64(domain)}
	for i := range size {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, "$%d", i+2)
		args = append(args, int64(page[min(i, len(page)-1)].ID))
	}
	return list.String(), args
}

// CreatePayment stores a new payment, gives it and its lines their ids and
// counts it.
func (tx *Tx) CreatePayment(p *payment.Payment, first payment.Transition) error {
	id, err := tx.newID("payment")
	if err != nil {
		return err
	}
	p.ID, p.Version = passerelle.PaymentID(id), 1
	tx.insertTransition(p, first)
	if err := tx.insertPayment(p); err != nil {
		return err
	}
	if err := tx.insertInstructions(p); err != nil {
		return err
	}
	if err := tx.insertIdentities(p); err != nil {
		return err
	}
	tx.count(p.Domain, "payment", id, 1)
	return nil
}

func (tx *Tx) insertPayment(p *payment.Payment) error {
	payer := p.Payer
	if payer == nil {
		payer = &passerelle.Account{}
	}
	tx.execOne(ErrConflict, `INSERT INTO payment (id, domain_id, client_id, version, seq, state, registered, connector_uuid, client_redirect_uri, client_state,
			payer_scheme, payer_identification, payer_label, payer_issuer, currency, date_type, amount, instruction_count)
		VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		int64(p.ID), int64(p.Domain), int64(p.Client), p.Seq, string(p.State), micros(p.Created), optionalText(p.Connector), p.ClientRedirectURI, p.ClientState,
		optionalText(payer.Scheme), optionalText(payer.Identification), optionalText(payer.Label), optionalText(payer.Issuer),
		string(p.Currency()), string(p.DateType()), p.Total(), len(p.Instructions))
	return nil
}

func (tx *Tx) insertInstructions(p *payment.Payment) error {
	for i := range p.Instructions {
		in := &p.Instructions[i]
		id, err := tx.newID("instruction")
		if err != nil {
			return err
		}
		in.ID = id
		tx.execOne(ErrConflict, `INSERT INTO instruction (id, payment_id, position, domain_id, reference_id, amount, label, execution_date, start_date, end_date, frequency,
				beneficiary_scheme, beneficiary_identification, beneficiary_label, beneficiary_issuer)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
			id, int64(p.ID), i, int64(p.Domain), in.ReferenceID, in.Amount.Minor, in.Label,
			optionalDate(in.ExecutionDate), optionalDate(in.StartDate), optionalDate(in.EndDate), optionalText(in.Frequency),
			string(in.Beneficiary.Scheme), in.Beneficiary.Identification, in.Beneficiary.Label, optionalText(in.Beneficiary.Issuer))
	}
	return nil
}

// insertTransition appends to the history. A step that somebody else has taken
// already means that the payment was changed meanwhile.
func (tx *Tx) insertTransition(p *payment.Payment, t payment.Transition) {
	var previous *int64
	if t.Seq > 0 {
		before := t.Seq - 1
		previous = &before
	}
	tx.execOne(ErrConflict, `INSERT INTO payment_transition (payment_id, seq, domain_id, previous_seq, from_state, to_state, cause, actor, bank_status, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (payment_id, seq) DO NOTHING`,
		int64(p.ID), t.Seq, int64(p.Domain), previous, optionalText(t.From), string(t.To), string(t.Cause.Trigger), string(t.Cause.Actor), t.Cause.Bank, micros(t.At))
}

// UpdatePayment stores a changed payment over the version it was loaded at,
// with the transitions that led here. If somebody else changed it meanwhile,
// Write fails with ErrConflict. Check is when the bank is to be asked next, in
// the domain's time; nil for never.
func (tx *Tx) UpdatePayment(p *payment.Payment, transitions []payment.Transition, check *time.Time) error {
	for _, t := range transitions {
		tx.insertTransition(p, t)
	}
	fields, err := encodeFields(p.Fields)
	if err != nil {
		return err
	}
	payer := p.Payer
	if payer == nil {
		payer = &passerelle.Account{}
	}
	tx.execOne(ErrConflict, `UPDATE payment SET version = version + 1, seq = $1, state = $2, state_detail = $3, action = $4, error_code = $5,
			error_description = $6, fields = $7, validate_uri = $8, connector_uuid = $9, validate_mechanism = $10, validated = $11, webview_url = $12,
			bank_payment_id = $13, payer_scheme = $14, payer_identification = $15, payer_label = $16, payer_issuer = $17, next_check = $18, check_lease = 0
		WHERE domain_id = $19 AND id = $20 AND version = $21`,
		p.Seq, string(p.State), optionalText(p.Detail), optionalText(p.Action), optionalText(p.ErrorCode),
		optionalText(p.ErrorDescription), fields, optionalText(p.ValidateURI), optionalText(p.Connector), optionalText(p.Mechanism), optionalMicros(p.Validated),
		optionalText(p.WebviewURL), optionalText(p.BankPaymentID), optionalText(payer.Scheme), optionalText(payer.Identification),
		optionalText(payer.Label), optionalText(payer.Issuer), optionalMicros(check), int64(p.Domain), int64(p.ID), p.Version)
	p.Version++
	tx.updateInstructions(p)
	return nil
}

func encodeFields(fields []payment.Field) (*string, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode payment fields: %w", err)
	}
	text := string(raw)
	return &text, nil
}

// updateInstructions stores what became of the lines: in one statement when
// the same became of all, which is the common case.
func (tx *Tx) updateInstructions(p *payment.Payment) {
	const set = `UPDATE instruction SET state = $1, error_code = $2, error_description = $3, exec_date = $4 WHERE domain_id = $5 AND payment_id = $6`
	if alike(p.Instructions) {
		in := p.Instructions[0]
		tx.exec(set, optionalText(in.State), optionalText(in.ErrorCode), optionalText(in.ErrorDescription), optionalDate(in.Executed), int64(p.Domain), int64(p.ID))
		return
	}
	for i, in := range p.Instructions {
		tx.exec(set+` AND position = $7`, optionalText(in.State), optionalText(in.ErrorCode), optionalText(in.ErrorDescription), optionalDate(in.Executed),
			int64(p.Domain), int64(p.ID), i)
	}
}

func alike(lines []payment.Instruction) bool {
	first := lines[0]
	for _, in := range lines[1:] {
		if in.State != first.State || in.ErrorCode != first.ErrorCode || in.ErrorDescription != first.ErrorDescription || in.Executed != first.Executed {
			return false
		}
	}
	return true
}

// DuePayments takes over at most limit payments of a domain whose bank is to
// be asked at the domain's instant, for the length of a lease.
func (tx *Tx) DuePayments(domain passerelle.DomainID, now time.Time, lease time.Duration, limit int, into *[]int64) {
	tx.claim(into, `WITH due AS MATERIALIZED (
			SELECT id FROM payment WHERE domain_id = $1 AND next_check <= $2 AND check_lease < {now} ORDER BY next_check LIMIT $3 {skip locked})
		UPDATE payment SET check_lease = {now} + $4
		WHERE id IN (SELECT id FROM due) AND next_check <= $2 AND check_lease < {now}
		RETURNING id`, int64(domain), micros(now), limit, lease.Microseconds())
}

// PostponeCheck moves the next question to the bank, for an answer that
// changed nothing.
func (tx *Tx) PostponeCheck(p *payment.Payment, next time.Time) {
	tx.exec(`UPDATE payment SET next_check = $1, check_lease = 0 WHERE domain_id = $2 AND id = $3 AND version = $4`,
		micros(next), int64(p.Domain), int64(p.ID), p.Version)
}

// Transitions lists the history of a payment, oldest first.
func (r *Reader) Transitions(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID) ([]payment.Transition, error) {
	return collect(ctx, r, func(row scanner) (payment.Transition, error) {
		var (
			t    payment.Transition
			from *string
			at   int64
		)
		err := row.Scan(&t.Seq, &from, &t.To, &t.Cause.Trigger, &t.Cause.Actor, &t.Cause.Bank, &at)
		t.From, t.At = text[payment.State](from), instant(at)
		return t, err
	}, `SELECT seq, from_state, to_state, cause, actor, bank_status, at FROM payment_transition WHERE domain_id = $1 AND payment_id = $2 ORDER BY seq`,
		int64(domain), int64(id))
}
