package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/payment"
)

const paymentColumns = `id, domain_id, client_id, version, seq, state, state_detail, action, error_code, error_description,
	fields, validate_uri, connector_uuid, validate_mechanism, registered, validated, client_redirect_uri, client_state,
	webview_url, bank_payment_id, payer_scheme, payer_identification, payer_label, payer_issuer, currency, date_type,
	cancel_code, cancel_redirect_uri, cancel_state, website, terms_version, returned, source_id, payer_number, beneficiary_numbers`

// storedPayment is a payment's row, including the values that all instructions of the payment
// share.
type storedPayment struct {
	payment.Payment
	currency passerelle.Currency
	dateType payment.DateType
	// payerNumber and beneficiaryNumbers are the encrypted account numbers. They are nil when no
	// encrypted number is stored. numbers contains the decrypted numbers of the beneficiaries.
	payerNumber, beneficiaryNumbers []byte
	numbers                         []string
}

func scanPayment(row database.Row) (*storedPayment, error) {
	var (
		p                                          storedPayment
		detail, action, code, why, fields, uri     *string
		connector, mechanism, webview, bankPayment *string
		scheme, identification, label, issuer      *string
		cancelCode, cancelURI, cancelState         *string
		website, terms                             *string
		registered                                 int64
		validated, returned, source                *int64
	)
	err := row.Scan(&p.ID, &p.Domain, &p.Client, &p.Version, &p.Seq, &p.State, &detail, &action, &code, &why,
		&fields, &uri, &connector, &mechanism, &registered, &validated, &p.ClientRedirectURI, &p.ClientState,
		&webview, &bankPayment, &scheme, &identification, &label, &issuer, &p.currency, &p.dateType,
		&cancelCode, &cancelURI, &cancelState, &website, &terms, &returned, &source, &p.payerNumber, &p.beneficiaryNumbers)
	if err != nil {
		return nil, err
	}
	p.Detail, p.Action, p.ErrorCode, p.ErrorDescription = database.Text[payment.Detail](detail), database.Text[payment.Action](action), database.Text[payment.ErrorCode](code), database.Text[string](why)
	p.ValidateURI, p.Connector, p.Mechanism, p.WebviewURL = database.Text[string](uri), database.Text[string](connector), database.Text[string](mechanism), database.Text[string](webview)
	p.BankPaymentID, p.Created, p.Validated = database.Text[string](bankPayment), database.Instant(registered), database.OptionalInstant(validated)
	p.CancelCode, p.CancelRedirectURI, p.CancelState = database.Text[payment.ErrorCode](cancelCode), database.Text[string](cancelURI), database.Text[string](cancelState)
	p.Website, p.TermsVersion, p.Returned = database.Text[string](website), database.Text[string](terms), database.OptionalInstant(returned)
	if source != nil {
		p.Source = *source
	}
	if scheme != nil {
		p.Payer = &passerelle.Account{Scheme: database.Text[passerelle.AccountScheme](scheme), Identification: database.Text[string](identification), Label: database.Text[string](label), Issuer: database.Text[string](issuer)}
	}
	if fields != nil {
		err = json.Unmarshal([]byte(*fields), &p.Fields)
	}
	return &p, err
}

// Payment loads a domain's payment with its instructions. It reads the payment and the instructions
// in the same version. Payment fails with ErrNotFound when the payment does not exist. It returns
// the sensitive part of identities only if sensitive is true.
func (r *Reader) Payment(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID, sensitive bool) (*payment.Payment, error) {
	for range mostReads {
		p, err := r.paymentOnce(ctx, domain, id, sensitive)
		if !errors.Is(err, errTorn) {
			return p, err
		}
	}
	return nil, fmt.Errorf("load payment %d: %w: it changes too fast", id, passerelle.Unavailable)
}

// mostReads limits the repeated reads of a payment. A read is repeated when the payment changes
// between the query for it and the query for its instructions.
const mostReads = 100

// errTorn reports that the version of instructions differs from the version of their payment.
var errTorn = errors.New("the payment changed while it was read")

// wholePayment selects a payment with its first instruction, which every payment has. Most payments
// have only one instruction.
var wholePayment = `SELECT ` + qualified("payment", paymentColumns) + `, payment.instruction_count,
	CASE WHEN EXISTS (SELECT 1 FROM payment_identity i WHERE i.payment_id = payment.id) THEN TRUE ELSE FALSE END,
	` + qualified("line", lineColumns) + `
	FROM payment JOIN instruction line ON line.payment_id = payment.id AND line.position = 0 WHERE +payment.domain_id = $1 AND payment.id = $2`

// qualified puts the name of a table before columns.
func qualified(table, columns string) string {
	names := strings.Split(columns, ",")
	for i, name := range names {
		names[i] = table + "." + strings.TrimSpace(name)
	}
	return strings.Join(names, ", ")
}

func (r *Reader) paymentOnce(ctx context.Context, domain passerelle.DomainID, id passerelle.PaymentID, sensitive bool) (*payment.Payment, error) {
	var (
		line       lineRow
		lines      int
		identified bool
	)
	p, err := database.ByKey(ctx, r.rows, func(row database.Row) (*storedPayment, error) {
		return scanPayment(withMore{row, append([]any{&lines, &identified}, line.columns()...)})
	}, wholePayment, int64(domain), int64(id))
	if err == nil {
		err = r.openNumbers(p)
	}
	if err != nil {
		return nil, err
	}
	page := []*storedPayment{p}
	var torn []*storedPayment
	if lines == 1 {
		err = p.add(&line)
	} else {
		torn, err = r.loadInstructions(ctx, domain, page)
	}
	if err == nil && identified {
		err = r.loadIdentities(ctx, domain, page, sensitive)
	}
	if err == nil && len(torn) > 0 {
		err = errTorn
	}
	return &p.Payment, err
}

// loadParts loads the instructions of a page of payments with one query, and the identities with
// another. It returns the payments that changed since they were read.
func (r *Reader) loadParts(ctx context.Context, domain passerelle.DomainID, page []*storedPayment, sensitive bool) ([]*storedPayment, error) {
	var (
		torn []*storedPayment
		err  error
	)
	if len(page) == 0 {
		return nil, nil
	}
	err = r.Together(ctx,
		func(r *Reader) error {
			var err error
			torn, err = r.loadInstructions(ctx, domain, page)
			return err
		},
		func(r *Reader) error { return r.loadIdentities(ctx, domain, page, sensitive) })
	return torn, err
}

const (
	instructionColumns = `payment_id, (SELECT version FROM payment WHERE payment.id = payment_id), ` + lineColumns
	lineColumns        = `id, reference_id, amount, label, execution_date, start_date, end_date, frequency,
	beneficiary_scheme, beneficiary_identification, beneficiary_label, beneficiary_issuer, state, error_code, error_description, exec_date, occurred`
)

// lineRow is the row of an instruction. It includes the payment's id and version when instructions
// are read separately from their payment.
type lineRow struct {
	payment.Instruction
	owner                                    passerelle.PaymentID
	version                                  int64
	execution, start, end, frequency, issuer *string
	state, code, why, executed, occurred     *string
}

func (in *lineRow) columns() []any {
	return []any{
		&in.ID, &in.ReferenceID, &in.Amount.Minor, &in.Label, &in.execution, &in.start, &in.end, &in.frequency,
		&in.Beneficiary.Scheme, &in.Beneficiary.Identification, &in.Beneficiary.Label, &in.issuer, &in.state, &in.code, &in.why, &in.executed, &in.occurred,
	}
}

func scanInstruction(row database.Row) (lineRow, error) {
	var in lineRow
	err := row.Scan(append([]any{&in.owner, &in.version}, in.columns()...)...)
	return in, err
}

// add appends the next instruction to a payment.
func (p *storedPayment) add(in *lineRow) error {
	var err error
	in.Amount.Currency, in.DateType = p.currency, p.dateType
	in.Frequency, in.Beneficiary.Issuer = database.Text[payment.Frequency](in.frequency), database.Text[string](in.issuer)
	in.State, in.ErrorCode, in.ErrorDescription = database.Text[payment.InstructionState](in.state), database.Text[payment.ErrorCode](in.code), database.Text[string](in.why)
	for _, day := range []struct {
		from *string
		to   *passerelle.Date
	}{{in.execution, &in.ExecutionDate}, {in.start, &in.StartDate}, {in.end, &in.EndDate}, {in.executed, &in.Executed}, {in.occurred, &in.Occurred}} {
		if *day.to, err = database.Date(day.from); err != nil {
			return fmt.Errorf("read a date of instruction %d: %w", in.ID, err)
		}
	}
	if n := len(p.Instructions); n < len(p.numbers) {
		in.Beneficiary.Identification = p.numbers[n]
	}
	if isBlind(in.Beneficiary.Identification) { // without this check, the order would contain a wrong account number
		return fmt.Errorf("%w: instruction %d has lost its account number", ErrSealed, in.ID)
	}
	p.Instructions = append(p.Instructions, in.Instruction)
	return nil
}

// maxPageLines is the largest number of instructions in a page of payments. It bounds the memory
// of a request. A page of fewEnough payments always fits. Lists read one more payment than a page
// has.
const (
	maxPageLines = (fewEnough + 1) * payment.MaxInstructions
	fewEnough    = 100
)

// loadInstructions loads the instructions of a page of payments. It returns the payments that
// changed since they were read, and loads none of their instructions. It fails with ErrManyLines
// when the page has too many instructions.
func (r *Reader) loadInstructions(ctx context.Context, domain passerelle.DomainID, page []*storedPayment) ([]*storedPayment, error) {
	var torn []*storedPayment
	list, args := idList(domain, idsOf(page))
	read := 0
	scan := func(row database.Row) (lineRow, error) {
		if read++; read > maxPageLines {
			return lineRow{}, ErrManyLines
		}
		return scanInstruction(row)
	}
	lines, err := database.Collect(ctx, r.rows, scan,
		`SELECT `+instructionColumns+` FROM instruction WHERE +domain_id = $1 AND payment_id IN (`+list+`) ORDER BY payment_id, position`, args...)
	if err != nil {
		return nil, fmt.Errorf("load instructions: %w", err)
	}
	byID := index(page)
	for i := range lines {
		in := &lines[i]
		p := byID[in.owner]
		if in.version != p.Version {
			torn = append(torn, p)
			continue
		}
		if err := p.add(in); err != nil {
			return nil, err
		}
	}
	return slices.Compact(torn), nil
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

// idList returns a list of placeholders for ids, and the arguments: first the domain as $1, then
// the ids. The last id is repeated until the number of ids is a power of two. The databases
// therefore see few different statements.
func idList[T ~int64](domain passerelle.DomainID, ids []T) (string, []any) {
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
