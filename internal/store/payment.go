package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/payment"
)

const paymentColumns = `id, domain_id, client_id, version, seq, state, state_detail, action, error_code, error_description,
	fields, validate_uri, connector_uuid, validate_mechanism, registered, validated, client_redirect_uri, client_state,
	webview_url, bank_payment_id, payer_scheme, payer_identification, payer_label, payer_issuer, currency, date_type,
	cancel_code, cancel_redirect_uri, cancel_state, website, terms_version`

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
		cancelCode, cancelURI, cancelState         *string
		website, terms                             *string
		registered                                 int64
		validated                                  *int64
	)
	err := row.Scan(&p.ID, &p.Domain, &p.Client, &p.Version, &p.Seq, &p.State, &detail, &action, &code, &why,
		&fields, &uri, &connector, &mechanism, &registered, &validated, &p.ClientRedirectURI, &p.ClientState,
		&webview, &bankPayment, &scheme, &identification, &label, &issuer, &p.currency, &p.dateType,
		&cancelCode, &cancelURI, &cancelState, &website, &terms)
	if err != nil {
		return nil, err
	}
	p.Detail, p.Action, p.ErrorCode, p.ErrorDescription = text[payment.Detail](detail), text[payment.Action](action), text[payment.ErrorCode](code), text[string](why)
	p.ValidateURI, p.Connector, p.Mechanism, p.WebviewURL = text[string](uri), text[string](connector), text[string](mechanism), text[string](webview)
	p.BankPaymentID, p.Created, p.Validated = text[string](bankPayment), instant(registered), optionalInstant(validated)
	p.CancelCode, p.CancelRedirectURI, p.CancelState = text[payment.ErrorCode](cancelCode), text[string](cancelURI), text[string](cancelState)
	p.Website, p.TermsVersion = text[string](website), text[string](terms)
	if scheme != nil {
		p.Payer = &passerelle.Account{Scheme: text[passerelle.AccountScheme](scheme), Identification: text[string](identification), Label: text[string](label), Issuer: text[string](issuer)}
	}
	if fields != nil {
		err = json.Unmarshal([]byte(*fields), &p.Fields)
	}
	return &p, err
}

// Payment loads a payment of a domain with its lines, all of one version, or
// ErrNotFound. The sensitive part of identities comes only when asked for.
func (r *Reader) Payment(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID, sensitive bool) (*payment.Payment, error) {
	for range mostReads {
		p, err := r.paymentOnce(ctx, domain, id, sensitive)
		if !errors.Is(err, errTorn) {
			return p, err
		}
	}
	return nil, fmt.Errorf("load payment %d: %w: it changes too fast", id, passerelle.Unavailable)
}

// mostReads bounds how often a payment is read anew because it changed between
// the query for it and the one for its lines.
const mostReads = 100

// errTorn reports lines of another version than their payment.
var errTorn = errors.New("the payment changed while it was read")

func (r *Reader) paymentOnce(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID, sensitive bool) (*payment.Payment, error) {
	p, err := one(ctx, r, scanPayment, `SELECT `+paymentColumns+` FROM payment WHERE domain_id = $1 AND id = $2`, int64(domain), int64(id))
	if err != nil {
		return nil, err
	}
	torn, err := r.loadParts(ctx, domain, []*storedPayment{p}, sensitive)
	if err == nil && len(torn) > 0 {
		err = errTorn
	}
	return &p.Payment, err
}

// loadParts fills lines and identities of a page of payments, one query each,
// and answers which payments changed since they were read.
func (r *Reader) loadParts(ctx context.Context, domain passerelle.DomainID, page []*storedPayment, sensitive bool) (torn []*storedPayment, err error) {
	if len(page) == 0 {
		return nil, nil
	}
	if torn, err = r.loadInstructions(ctx, domain, page); err != nil {
		return nil, err
	}
	return torn, r.loadIdentities(ctx, domain, page, sensitive)
}

const instructionColumns = `payment_id, (SELECT version FROM payment WHERE payment.id = payment_id), id, reference_id, amount, label, execution_date, start_date, end_date, frequency,
	beneficiary_scheme, beneficiary_identification, beneficiary_label, beneficiary_issuer, state, error_code, error_description, exec_date, occurred`

// storedLine is a line on its way in, with the version of its payment.
type storedLine struct {
	payment.Instruction
	owner   passerelle.PaymentID
	version int64
}

func scanInstruction(row scanner) (storedLine, error) {
	var (
		in                                       storedLine
		execution, start, end, frequency, issuer *string
		state, code, why, executed, occurred     *string
	)
	err := row.Scan(&in.owner, &in.version, &in.ID, &in.ReferenceID, &in.Amount.Minor, &in.Label, &execution, &start, &end, &frequency,
		&in.Beneficiary.Scheme, &in.Beneficiary.Identification, &in.Beneficiary.Label, &issuer, &state, &code, &why, &executed, &occurred)
	if err != nil {
		return in, err
	}
	in.Frequency, in.Beneficiary.Issuer = text[payment.Frequency](frequency), text[string](issuer)
	in.State, in.ErrorCode, in.ErrorDescription = text[payment.InstructionState](state), text[payment.ErrorCode](code), text[string](why)
	for _, day := range []struct {
		from *string
		to   *passerelle.Date
	}{{execution, &in.ExecutionDate}, {start, &in.StartDate}, {end, &in.EndDate}, {executed, &in.Executed}, {occurred, &in.Occurred}} {
		if *day.to, err = storedDate(day.from); err != nil {
			return in, fmt.Errorf("read a date of instruction %d: %w", in.ID, err)
		}
	}
	return in, nil
}

func (r *Reader) loadInstructions(ctx context.Context, domain passerelle.DomainID, page []*storedPayment) (torn []*storedPayment, err error) {
	list, args := idList(domain, idsOf(page))
	lines, err := collect(ctx, r, scanInstruction,
		`SELECT `+instructionColumns+` FROM instruction WHERE domain_id = $1 AND payment_id IN (`+list+`) ORDER BY payment_id, position`, args...)
	if err != nil {
		return nil, fmt.Errorf("load instructions: %w", err)
	}
	byID := index(page)
	for _, in := range lines {
		p := byID[in.owner]
		in.Amount.Currency, in.DateType = p.currency, p.dateType
		p.Instructions = append(p.Instructions, in.Instruction)
		if in.version != p.Version && len(p.Instructions) == 1 {
			torn = append(torn, p)
		}
	}
	return torn, nil
}

func index(page []*storedPayment) map[passerelle.PaymentID]*storedPayment {
	byID := make(map[passerelle.PaymentID]*storedPayment, len(page))
	for _, p := range page {
		byID[p.ID] = p
	}
	return byID
}

func idsOf(page []*storedPayment) []passerelle.PaymentID {
	ids := make([]passerelle.PaymentID, len(page))
	for i, p := range page {
		ids[i] = p.ID
	}
	return ids
}

// idList writes placeholders for the ids of payments after $1, the domain. Its
// length is a power of two, the last id repeated, so that the databases see
// few different statements.
func idList(domain passerelle.DomainID, ids []passerelle.PaymentID) (string, []any) {
	size := 1
	for size < len(ids) {
		size *= 2
	}
	var list strings.Builder
	args := []any{int64(domain)}
	for i := range size {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, "$%d", i+2)
		args = append(args, int64(ids[min(i, len(ids)-1)]))
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
	tx.insertPayment(p)
	if err := tx.insertInstructions(p); err != nil {
		return err
	}
	if err := tx.insertIdentities(p); err != nil {
		return err
	}
	tx.count(p.Domain, "payment", id, 1)
	return nil
}

func (tx *Tx) insertPayment(p *payment.Payment) {
	payer := p.Payer
	if payer == nil {
		payer = &passerelle.Account{}
	}
	tx.execOne(ErrConflict, `INSERT INTO payment (id, domain_id, client_id, version, seq, state, registered, connector_uuid, connector_name, client_redirect_uri, client_state,
			payer_scheme, payer_identification, payer_label, payer_issuer, currency, date_type, amount, instruction_count, expires_from)
		VALUES ($1, $2, $3, 1, $4, $5, $6, $7, `+nameOf("$7")+`, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		int64(p.ID), int64(p.Domain), int64(p.Client), p.Seq, string(p.State), micros(p.Created), optionalText(p.Connector), p.ClientRedirectURI, p.ClientState,
		optionalText(payer.Scheme), optionalText(payer.Identification), optionalText(payer.Label), optionalText(payer.Issuer),
		string(p.Currency()), string(p.DateType()), p.Total(), len(p.Instructions), optionalMicros(p.ExpiresFrom()))
}

// nameOf is what the connector of a parameter is called, its UUID when nobody
// said.
func nameOf(parameter string) string {
	uuid := "CAST(" + parameter + " AS TEXT)"
	return "COALESCE((SELECT name FROM connector_name WHERE uuid = " + uuid + "), " + uuid + ")"
}

// NameConnector says what a connector is called, for the order of lists. It is
// to come before the payment that is stored with that connector.
func (tx *Tx) NameConnector(uuid, name string) {
	tx.exec(`INSERT INTO connector_name (uuid, name) VALUES ($1, $2)
		ON CONFLICT (uuid) DO UPDATE SET name = excluded.name WHERE connector_name.name <> excluded.name`, uuid, name)
}

func (tx *Tx) insertInstructions(p *payment.Payment) error {
	beneficiaries, references := map[string]bool{}, map[string]bool{}
	for i := range p.Instructions {
		in := &p.Instructions[i]
		id, err := tx.newID("instruction")
		if err != nil {
			return err
		}
		in.ID = id
		tx.execOne(ErrConflict, `INSERT INTO instruction (id, payment_id, position, domain_id, reference_id, amount, label, execution_date, start_date, end_date, frequency,
				beneficiary_scheme, beneficiary_identification, beneficiary_label, beneficiary_issuer, registered, new_beneficiary, new_reference)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
			id, int64(p.ID), i, int64(p.Domain), in.ReferenceID, in.Amount.Minor, in.Label,
			optionalDate(in.ExecutionDate), optionalDate(in.StartDate), optionalDate(in.EndDate), optionalText(in.Frequency),
			string(in.Beneficiary.Scheme), in.Beneficiary.Identification, in.Beneficiary.Label, optionalText(in.Beneficiary.Issuer),
			micros(p.Created), first(beneficiaries, in.Beneficiary.Identification), first(references, in.ReferenceID))
	}
	return nil
}

// first reports whether a value is seen for the first time.
func first(seen map[string]bool, value string) bool {
	again := seen[value]
	seen[value] = true
	return !again
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
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
		int64(p.ID), t.Seq, int64(p.Domain), previous, optionalText(t.From), string(t.To), string(t.Cause.Trigger), string(t.Cause.Actor), t.Cause.Bank, micros(t.At))
}

// UpdatePayment stores a changed payment over the version it was loaded at,
// with the transitions that led here and the notes made on the way, which it
// takes. If somebody else changed it meanwhile, Write fails with ErrConflict.
// Check is when the bank is to be asked next, in the domain's time; nil for
// never.
func (tx *Tx) UpdatePayment(p *payment.Payment, transitions []payment.Transition, check *time.Time) error {
	after := p.Seq - int64(len(transitions))
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
			error_description = $6, fields = $7, validate_uri = $8, connector_uuid = $9, connector_name = `+nameOf("$9")+`, validate_mechanism = $10,
			validated = $11, webview_url = $12, bank_payment_id = $13, payer_scheme = $14, payer_identification = $15, payer_label = $16,
			payer_issuer = $17, next_check = $18, check_lease = 0, cancel_code = $19, cancel_redirect_uri = $20, cancel_state = $21, website = $22,
			terms_version = $23, expires_from = $24
		WHERE domain_id = $25 AND id = $26 AND version = $27`,
		p.Seq, string(p.State), optionalText(p.Detail), optionalText(p.Action), optionalText(p.ErrorCode),
		optionalText(p.ErrorDescription), fields, optionalText(p.ValidateURI), optionalText(p.Connector), optionalText(p.Mechanism),
		optionalMicros(p.Validated), optionalText(p.WebviewURL), optionalText(p.BankPaymentID), optionalText(payer.Scheme), optionalText(payer.Identification),
		optionalText(payer.Label), optionalText(payer.Issuer), optionalMicros(check), optionalText(p.CancelCode), optionalText(p.CancelRedirectURI),
		optionalText(p.CancelState), optionalText(p.Website), optionalText(p.TermsVersion), optionalMicros(p.ExpiresFrom()),
		int64(p.Domain), int64(p.ID), p.Version)
	p.Version++
	tx.updateInstructions(p)
	for _, note := range p.TakeNotes() {
		tx.insertNote(p, after, note)
	}
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
	const set = `UPDATE instruction SET state = $1, error_code = $2, error_description = $3, exec_date = $4, occurred = $5 WHERE domain_id = $6 AND payment_id = $7`
	if alike(p.Instructions) {
		in := p.Instructions[0]
		tx.exec(set, optionalText(in.State), optionalText(in.ErrorCode), optionalText(in.ErrorDescription), optionalDate(in.Executed), optionalDate(in.Occurred),
			int64(p.Domain), int64(p.ID))
		return
	}
	for i, in := range p.Instructions {
		tx.exec(set+` AND position = $8`, optionalText(in.State), optionalText(in.ErrorCode), optionalText(in.ErrorDescription), optionalDate(in.Executed),
			optionalDate(in.Occurred), int64(p.Domain), int64(p.ID), i)
	}
}

func alike(lines []payment.Instruction) bool {
	first := lines[0]
	for _, in := range lines[1:] {
		if in.State != first.State || in.ErrorCode != first.ErrorCode || in.ErrorDescription != first.ErrorDescription ||
			in.Executed != first.Executed || in.Occurred != first.Occurred {
			return false
		}
	}
	return true
}

// DuePayments takes over at most limit payments of a domain whose bank is to
// be asked at the domain's instant, for the length of a lease. Those with an
// attempt that is not answered belong to who settles it.
func (tx *Tx) DuePayments(domain passerelle.DomainID, now time.Time, lease time.Duration, limit int, into *[]int64) {
	tx.claim(into, `WITH due AS MATERIALIZED (
			SELECT id FROM payment WHERE domain_id = $1 AND next_check <= $2 AND check_lease < {now}
				AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.payment_id = payment.id AND a.state <> 'answered')
			ORDER BY next_check LIMIT $3 {skip locked})
		UPDATE payment SET check_lease = {now} + $4
		WHERE id IN (SELECT id FROM due) AND next_check <= $2 AND check_lease < {now}
		RETURNING id`, int64(domain), micros(now), limit, lease.Microseconds())
}

// ExpiringPayments takes over at most limit payments of a domain that wait for
// a definitive status since before the domain's instant, for the length of a
// lease. Those whose bank may just be answering are not among them.
func (tx *Tx) ExpiringPayments(domain passerelle.DomainID, before time.Time, lease time.Duration, limit int, into *[]int64) {
	tx.claim(into, `WITH due AS MATERIALIZED (
			SELECT id FROM payment WHERE domain_id = $1 AND expires_from <= $2 AND check_lease < {now}
				AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.payment_id = payment.id AND a.state = 'open')
			ORDER BY expires_from LIMIT $3 {skip locked})
		UPDATE payment SET check_lease = {now} + $4
		WHERE id IN (SELECT id FROM due) AND expires_from <= $2 AND check_lease < {now}
		RETURNING id`, int64(domain), micros(before), limit, lease.Microseconds())
}

// PostponeCheck moves the next question to the bank, for an answer that
// changed nothing.
func (tx *Tx) PostponeCheck(p *payment.Payment, next time.Time) {
	tx.exec(`UPDATE payment SET next_check = $1, check_lease = 0 WHERE domain_id = $2 AND id = $3 AND version = $4`,
		micros(next), int64(p.Domain), int64(p.ID), p.Version)
}
