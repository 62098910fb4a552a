package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/payment"
)

// CreatePayment stores a new payment, sets the ids of the payment and its instructions, and counts
// the payment.
func (tx *Tx) CreatePayment(p *payment.Payment, first payment.Transition) error {
	id, err := tx.unit.NewID("payment")
	if err != nil {
		return err
	}
	p.ID, p.Version = passerelle.PaymentID(id), 1
	tx.insertTransition(p, first)
	numbers, sealed, err := tx.beneficiaryNumbers(p)
	if err != nil {
		return err
	}
	if err := tx.insertPayment(p, sealed); err != nil {
		return err
	}
	if err := tx.insertInstructions(p, numbers); err != nil {
		return err
	}
	if err := tx.insertIdentities(p); err != nil {
		return err
	}
	tx.unit.Count(int64(p.Domain), "payment", id, 1)
	return nil
}

func (tx *Tx) insertPayment(p *payment.Payment, beneficiaryNumbers []byte) error {
	payer := p.Payer
	if payer == nil {
		payer = &passerelle.Account{}
	}
	number, sealed, err := tx.payerNumber(p)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO payment (id, domain_id, client_id, version, seq, state, registered, connector_uuid, connector_name, client_redirect_uri, client_state,
			payer_scheme, payer_identification, payer_label, payer_issuer, currency, date_type, amount, instruction_count, expires_from, payer_number, beneficiary_numbers)
		VALUES ($1, $2, $3, 1, $4, $5, $6, $7, `+nameOf("$7")+`, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
		int64(p.ID), int64(p.Domain), int64(p.Client), p.Seq, string(p.State), database.Micros(p.Created), database.OptionalText(p.Connector), p.ClientRedirectURI, p.ClientState,
		database.OptionalText(payer.Scheme), number, database.OptionalText(payer.Label), database.OptionalText(payer.Issuer),
		string(p.Currency()), string(p.DateType()), p.Total(), len(p.Instructions), database.OptionalMicros(p.ExpiresFrom()), sealed, beneficiaryNumbers)
	return nil
}

// nameOf returns an SQL expression for the name of the connector whose UUID is in a parameter. The
// expression returns the UUID itself when no name is stored.
func nameOf(parameter string) string {
	uuid := "CAST(" + parameter + " AS TEXT)"
	return "COALESCE((SELECT name FROM connector_name WHERE uuid = " + uuid + "), " + uuid + ")"
}

// NameConnector stores the name of a connector. Lists can be sorted by this name. A unit must call
// NameConnector before it stores a payment with the connector. If the name is already stored,
// NameConnector only reads the name. On PostgreSQL, a conflicting INSERT locks the existing row
// even if it updates nothing. With an INSERT for each payment, all orders to one bank would
// therefore commit one after the other. Once this process has stored the name, NameConnector does
// nothing, so that creations share transactions (see [database.Unit.OnlyAdds]).
func (tx *Tx) NameConnector(uuid, name string) {
	if stored, _ := tx.db.connectorNames.Load(uuid); stored == name {
		return
	}
	tx.unit.Exec(`INSERT INTO connector_name (uuid, name) SELECT CAST($1 AS TEXT), CAST($2 AS TEXT)
		WHERE NOT EXISTS (SELECT 1 FROM connector_name WHERE uuid = CAST($1 AS TEXT) AND name = CAST($2 AS TEXT))
		ON CONFLICT (uuid) DO UPDATE SET name = excluded.name`, uuid, name)
	tx.unit.AfterCommit(func() { tx.db.connectorNames.Store(uuid, name) })
}

// insertInstructions stores the instructions of a payment, with the stored forms of their account
// numbers.
func (tx *Tx) insertInstructions(p *payment.Payment, numbers []string) error {
	beneficiaries, references, ends := map[string]bool{}, map[string]bool{}, map[string]bool{}
	labels := foldLabels(p.Instructions)
	for i := range p.Instructions {
		in := &p.Instructions[i]
		id, err := tx.unit.NewID("instruction")
		if err != nil {
			return err
		}
		in.ID = id
		tx.unit.ExecOne(ErrConflict, `INSERT INTO instruction (id, payment_id, position, domain_id, reference_id, amount, label, execution_date, start_date, end_date, frequency,
				beneficiary_scheme, beneficiary_identification, beneficiary_label, beneficiary_issuer, registered, new_beneficiary, new_reference, new_end, label_folded, label_shared)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
			id, int64(p.ID), i, int64(p.Domain), in.ReferenceID, in.Amount.Minor, in.Label,
			database.OptionalDate(in.ExecutionDate), database.OptionalDate(in.StartDate), database.OptionalDate(in.EndDate), database.OptionalText(in.Frequency),
			string(in.Beneficiary.Scheme), numbers[i], in.Beneficiary.Label, database.OptionalText(in.Beneficiary.Issuer),
			database.Micros(p.Created), first(beneficiaries, in.Beneficiary.Identification), first(references, in.ReferenceID),
			first(ends, end(in.Beneficiary.Identification)), labels[i].text, labels[i].shared)
	}
	return nil
}

// end returns the last four characters of an account number.
func end(number string) string { return number[max(0, len(number)-4):] }

// foldedLabel is a label in the form that searches use. When the payment's labels are sorted, the
// field `shared` is the length in bytes of the beginning that a label shares with the previous one.
type foldedLabel struct {
	text   string
	shared int
}

func foldLabels(lines []payment.Instruction) []foldedLabel {
	labels, order := make([]foldedLabel, len(lines)), make([]int, len(lines))
	for i := range lines {
		labels[i].text, order[i] = database.Fold(lines[i].Label), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(labels[a].text, labels[b].text) })
	for n := 1; n < len(order); n++ {
		labels[order[n]].shared = sharedBytes(labels[order[n-1]].text, labels[order[n]].text)
	}
	return labels
}

// sharedBytes returns the length in bytes of the common beginning of two texts.
func sharedBytes(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// first reports whether a value is new, and adds it to the map `seen`.
func first(seen map[string]bool, value string) bool {
	again := seen[value]
	seen[value] = true
	return !again
}

// insertTransition appends a transition to the history. The unit fails with ErrConflict if the
// history already has a transition with this Seq: another process has changed the payment. The first
// transition has no rival, and no condition, so that creations share transactions (see OnlyAdds).
func (tx *Tx) insertTransition(p *payment.Payment, t payment.Transition) {
	var previous *int64
	conflict := ""
	if t.Seq > 0 {
		before := t.Seq - 1
		previous, conflict = &before, " ON CONFLICT DO NOTHING"
	}
	tx.unit.ExecOne(ErrConflict, `INSERT INTO payment_transition (payment_id, seq, domain_id, previous_seq, from_state, to_state, cause, actor, bank_status, at, bank_requests)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`+conflict,
		int64(p.ID), t.Seq, int64(p.Domain), previous, database.OptionalText(t.From), string(t.To), string(t.Cause.Trigger), string(t.Cause.Actor), t.Cause.Bank, database.Micros(t.At), database.OptionalText(t.Cause.Requests))
}

// UpdatePayment stores a changed payment in place of the loaded version, with its transitions and
// its notes. It then removes the notes from p. It does not store the choices that [Tx.UpdateChoice]
// stores: SQLite deletes and inserts the row's entry in each index with a column that the statement
// names, even if the value stays the same. Write fails with ErrConflict when another process has changed the payment since
// it was loaded. The argument `check` is the time of the next request to the bank, in the domain's
// time. It is nil when no such request is planned.
func (tx *Tx) UpdatePayment(p *payment.Payment, transitions []payment.Transition, check *time.Time) error {
	for _, t := range transitions {
		tx.insertTransition(p, t)
		if t.From == payment.Created && chosen(p) {
			tx.forgetEarlyData(p)
		}
	}
	set, args := "", []any(nil)
	if len(transitions) > 0 {
		set, args = setState, []any{p.Seq, string(p.State)}
		if transitions[0].From == payment.Created {
			set, args = setFirstState, append(args, database.OptionalMicros(p.Validated))
		}
	}
	if err := tx.updateColumns(p, check, set, args...); err != nil {
		return err
	}
	tx.updateInstructions(p)
	tx.insertNotes(p, p.Seq-int64(len(transitions)))
	return nil
}

// UpdateChoice stores a payment whose state and instructions have not changed since it was loaded.
// Unlike UpdatePayment, it stores what a client or payer has chosen: the connector, its source and
// mechanism, the payer's account, the website, the address of the webview and the accepted terms.
// Notes, failures and the argument `check` are those of UpdatePayment.
func (tx *Tx) UpdateChoice(p *payment.Payment, check *time.Time) error {
	payer := p.Payer
	if payer == nil {
		payer = &passerelle.Account{}
	}
	number, sealed, err := tx.payerNumber(p)
	if err != nil {
		return err
	}
	err = tx.updateColumns(p, check, setChoice,
		database.OptionalText(p.Connector), database.OptionalText(p.Mechanism), database.OptionalText(p.WebviewURL), database.OptionalText(payer.Scheme), number,
		database.OptionalText(payer.Label), database.OptionalText(payer.Issuer), sealed, database.OptionalText(p.Website), database.OptionalText(p.TermsVersion), database.OptionalID(p.Source))
	if err != nil {
		return err
	}
	tx.insertNotes(p, p.Seq)
	return nil
}

// The parameters of these columns follow the parameters of updateColumns. The time in `validated`
// changes only when a payment leaves the state `created`.
const (
	setState      = `, seq = $16, state = $17`
	setFirstState = setState + `, validated = $18`
)

var setChoice = `, connector_uuid = $16, connector_name = ` + nameOf("$16") + `, validate_mechanism = $17, webview_url = $18, payer_scheme = $19,
	payer_identification = $20, payer_label = $21, payer_issuer = $22, payer_number = $23, website = $24, terms_version = $25, source_id = $26`

// updateColumns stores the columns that every change may affect, and the columns in `set`. It
// increases the version.
func (tx *Tx) updateColumns(p *payment.Payment, check *time.Time, set string, args ...any) error {
	fields, err := encodeFields(p.Fields)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrConflict, `UPDATE payment SET version = version + 1, state_detail = $1, action = $2, error_code = $3, error_description = $4, fields = $5,
			validate_uri = $6, bank_payment_id = $7, next_check = $8, check_lease = 0, cancel_code = $9, cancel_redirect_uri = $10, cancel_state = $11,
			expires_from = $12`+set+`
		WHERE +domain_id = $13 AND id = $14 AND version = $15`,
		append([]any{
			database.OptionalText(p.Detail), database.OptionalText(p.Action), database.OptionalText(p.ErrorCode), database.OptionalText(p.ErrorDescription), fields,
			database.OptionalText(p.ValidateURI), database.OptionalText(p.BankPaymentID), database.OptionalMicros(check),
			database.OptionalText(p.CancelCode), database.OptionalText(p.CancelRedirectURI), database.OptionalText(p.CancelState),
			database.OptionalMicros(p.ExpiresFrom()), int64(p.Domain), int64(p.ID), p.Version,
		}, args...)...)
	p.Version++
	return nil
}

// chosen reports whether a payment may have attempts and stored field values. Both are stored
// together with the payment's connector, or later.
func chosen(p *payment.Payment) bool { return p.Connector != "" }

// forgetEarlyData removes personal data that a payment needs only in the state `created`. It
// removes the field values from before the validation. It also removes the payer's device, which
// the service needs only if it sends the order again.
func (tx *Tx) forgetEarlyData(p *payment.Payment) {
	tx.unit.Exec(`DELETE FROM payment_given WHERE +domain_id = $1 AND payment_id = $2`, int64(p.Domain), int64(p.ID))
	tx.unit.Exec(`UPDATE attempt SET device = NULL WHERE +domain_id = $1 AND payment_id = $2 AND device IS NOT NULL`, int64(p.Domain), int64(p.ID))
}

// PayerReturned records that the payer of a payment was redirected to the client, if the payment
// still has the version that was loaded. Write fails with ErrConflict when another process has
// changed the payment since, or when the payer has already returned.
func (tx *Tx) PayerReturned(p *payment.Payment, now time.Time) {
	tx.unit.ExecOne(ErrConflict, `UPDATE payment SET returned = $1, version = version + 1 WHERE +domain_id = $2 AND id = $3 AND version = $4 AND returned IS NULL`,
		database.Micros(now), int64(p.Domain), int64(p.ID), p.Version)
	p.Version, p.Returned = p.Version+1, &now
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

// updateInstructions stores the states of the instructions. One statement is enough in the common
// case, in which all states are equal.
func (tx *Tx) updateInstructions(p *payment.Payment) {
	const set = `UPDATE instruction SET state = $1, error_code = $2, error_description = $3, exec_date = $4, occurred = $5 WHERE +domain_id = $6 AND payment_id = $7`
	if alike(p.Instructions) {
		in := p.Instructions[0]
		tx.unit.Exec(set, database.OptionalText(in.State), database.OptionalText(in.ErrorCode), database.OptionalText(in.ErrorDescription), database.OptionalDate(in.Executed), database.OptionalDate(in.Occurred),
			int64(p.Domain), int64(p.ID))
		return
	}
	for i, in := range p.Instructions {
		tx.unit.Exec(set+` AND position = $8`, database.OptionalText(in.State), database.OptionalText(in.ErrorCode), database.OptionalText(in.ErrorDescription), database.OptionalDate(in.Executed),
			database.OptionalDate(in.Occurred), int64(p.Domain), int64(p.ID), i)
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
