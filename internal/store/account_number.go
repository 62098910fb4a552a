package store

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/payment"
)

// In new databases, the store encrypts the account numbers of payments. In older databases, it does
// so after SealAccountNumbers was called. The searched columns then contain a blind value instead.
// Equal numbers of a domain have equal blind values in a column. Nobody can compute a number from
// its blind value without the key file. The last four characters of a blind value represent the
// last four characters of the number. Lists can therefore search for a whole number and for its
// last four characters. Each of these searches has an index. The account numbers of banking data
// are not encrypted, because a page of transactions would have to decrypt a number for each row.

// These are the columns of account numbers. A blind value depends on the name of its column, so the
// same number has different blind values in different columns.
const (
	payerColumn       = "payment.payer_identification"
	beneficiaryColumn = "instruction.beneficiary_identification"
)

// sealsNumbers reports whether the store encrypts account numbers.
func (r *Reader) sealsNumbers(ctx context.Context) (bool, error) {
	if r.keys == nil {
		return false, nil
	}
	if r.sealing.Load() {
		return true, nil
	}
	on, err := database.One(ctx, r.rows, func(row database.Row) (bool, error) {
		var on bool
		err := row.Scan(&on)
		return on, err
	}, `SELECT account_numbers FROM sealing`)
	if err != nil {
		return false, fmt.Errorf("read whether account numbers are sealed: %w", err)
	}
	if on { // sealing is never switched off, so the result is cached
		r.sealing.Store(true)
	}
	return on, nil
}

// blind returns the blind value of an account number in a column.
func (r *Reader) blind(domain passerelle.DomainID, column, number string) string {
	if number == "" {
		return ""
	}
	index := r.keys.Index(int64(domain), column, number)
	return strings.ToUpper(hex.EncodeToString(index[:16])) + r.blindEnd(domain, column, end(number))
}

// firstOfEnd is the first of 2^14 consecutive characters. Each of them represents 14 bits. No
// account number contains one of them.
const firstOfEnd = 0x4E00

// isBlind reports whether a text is the blind value of an account number.
func isBlind(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return last >= firstOfEnd && last != utf8.RuneError
}

// blindEnd returns the blind value of the last four characters of a number. The value has four
// characters of 14 bits each.
func (r *Reader) blindEnd(domain passerelle.DomainID, column, last string) string {
	if last == "" {
		return ""
	}
	const bits = 1<<14 - 1
	index := r.keys.Index(int64(domain), column+" end", last)
	out := make([]rune, 4)
	for i := range out {
		out[i] = firstOfEnd + rune(binary.BigEndian.Uint16(index[2*i:])&bits)
	}
	return string(out)
}

// blinded returns the filter with blind values in place of account numbers, if the store encrypts
// account numbers.
func (r *Reader) blinded(ctx context.Context, f PaymentFilter) (PaymentFilter, error) {
	if f.Payer == "" && f.PayerEnd == "" && f.Beneficiary == "" && f.BeneficiaryEnd == "" {
		return f, nil
	}
	sealed, err := r.sealsNumbers(ctx)
	if err != nil || !sealed {
		return f, err
	}
	f.Payer, f.PayerEnd = r.blind(f.Domain, payerColumn, number(f.Payer)), r.blindEnd(f.Domain, payerColumn, number(f.PayerEnd))
	f.Beneficiary, f.BeneficiaryEnd = r.blind(f.Domain, beneficiaryColumn, number(f.Beneficiary)), r.blindEnd(f.Domain, beneficiaryColumn, number(f.BeneficiaryEnd))
	return f, nil
}

func payerPlace(domain passerelle.DomainID, id passerelle.PaymentID) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "payment", Column: "payer_number", Row: int64(id)}
}

func beneficiaryPlace(domain passerelle.DomainID, id passerelle.PaymentID) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "payment", Column: "beneficiary_numbers", Row: int64(id)}
}

// payerNumber returns the blind value of the payer's account number, and the encrypted number. If
// the store does not encrypt account numbers, payerNumber returns the number itself and nil.
func (tx *Tx) payerNumber(p *payment.Payment) (*string, []byte, error) {
	var (
		column *string
		sealed []byte
		err    error
	)
	if p.Payer == nil || p.Payer.Identification == "" {
		return nil, nil, nil
	}
	column = &p.Payer.Identification
	if on, err := tx.db.sealsNumbers(tx.ctx); err != nil || !on {
		return column, nil, err
	}
	if sealed, err = tx.Seal(payerPlace(p.Domain, p.ID), []byte(*column)); err != nil {
		return nil, nil, fmt.Errorf("seal the payer's account number: %w", err)
	}
	blind := tx.db.blind(p.Domain, payerColumn, *column)
	return &blind, sealed, nil
}

// beneficiaryNumbers returns the blind value of each beneficiary's account number, and the
// encrypted form of all numbers together. If the store does not encrypt account numbers,
// beneficiaryNumbers returns the numbers themselves and nil.
func (tx *Tx) beneficiaryNumbers(p *payment.Payment) ([]string, []byte, error) {
	var (
		sealed []byte
		err    error
	)
	columns := make([]string, len(p.Instructions))
	for i, in := range p.Instructions {
		columns[i] = in.Beneficiary.Identification
	}
	if on, err := tx.db.sealsNumbers(tx.ctx); err != nil || !on {
		return columns, nil, err
	}
	if sealed, err = tx.sealJSON(beneficiaryPlace(p.Domain, p.ID), columns); err != nil {
		return nil, nil, fmt.Errorf("seal the beneficiaries' account numbers: %w", err)
	}
	for i, number := range columns {
		columns[i] = tx.db.blind(p.Domain, beneficiaryColumn, number)
	}
	return columns, sealed, nil
}

// openNumbers decrypts the account numbers of a payment. It replaces the payer's blind value with
// the number, and stores the beneficiaries' numbers in p.numbers. It must run before the payment's
// instructions are loaded, because loading takes the numbers from p.numbers.
func (r *Reader) openNumbers(p *storedPayment) error {
	if r.keys == nil && (p.payerNumber != nil || p.beneficiaryNumbers != nil) {
		return fmt.Errorf("%w: there is no key file at hand", ErrSealed)
	}
	if p.payerNumber != nil && p.Payer != nil {
		plain, err := r.keys.Open(payerPlace(p.Domain, p.ID), p.payerNumber)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSealed, err)
		}
		p.Payer.Identification = string(plain)
	}
	if p.Payer != nil && isBlind(p.Payer.Identification) {
		return fmt.Errorf("%w: payment %d has lost the payer's account number", ErrSealed, p.ID)
	}
	if p.beneficiaryNumbers == nil {
		return nil
	}
	plain, err := r.keys.Open(beneficiaryPlace(p.Domain, p.ID), p.beneficiaryNumbers)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSealed, err)
	}
	return json.Unmarshal(plain, &p.numbers)
}

// SealAccountNumbers makes the store encrypt the account numbers of new payments from now on. It
// then encrypts the numbers of older payments, with a separate call of Write for each payment.
// Until SealAccountNumbers finishes, a search by number does not find payments with unencrypted
// numbers. A call of Write that began before SealAccountNumbers may still store unencrypted
// numbers. SealAccountNumbers calls the function progress after each batch, with the number of
// payments encrypted so far. After an error, another call of SealAccountNumbers encrypts the
// remaining numbers.
func (db *DB) SealAccountNumbers(ctx context.Context, batch int, progress func(seen int64)) (int64, error) {
	var sealed int64
	err := db.Write(ctx, func(tx *Tx) error {
		tx.unit.ExecOne(ErrConflict, `UPDATE sealing SET account_numbers = TRUE`)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("have account numbers sealed: %w", err)
	}
	for after, seen := int64(0), int64(0); ; {
		page, err := database.Collect(ctx, db.rows, scanClear, `SELECT id, domain_id FROM payment WHERE id > $1
			AND (beneficiary_numbers IS NULL OR payer_number IS NULL AND payer_identification IS NOT NULL) ORDER BY id LIMIT $2`, after, batch)
		if err != nil {
			return sealed, fmt.Errorf("list payments whose account numbers are clear: %w", err)
		}
		if len(page) == 0 {
			return sealed, nil
		}
		for _, p := range page {
			if err := db.sealNumbersOf(ctx, p); err != nil {
				return sealed, fmt.Errorf("seal the account numbers of payment %d: %w", p.id, err)
			}
			sealed, after = sealed+1, int64(p.id)
		}
		seen += int64(len(page))
		progress(seen)
	}
}

type clearPayment struct {
	id     passerelle.PaymentID
	domain passerelle.DomainID
}

func scanClear(row database.Row) (clearPayment, error) {
	var p clearPayment
	err := row.Scan(&p.id, &p.domain)
	return p, err
}

// sealNumbersOf seals the account numbers of a payment. It tries again when another writer changes
// the payment at the same time.
func (db *DB) sealNumbersOf(ctx context.Context, which clearPayment) error {
	err := ErrConflict
	for try := 0; try < mostReads && errors.Is(err, ErrConflict); try++ {
		var p *payment.Payment
		if p, err = db.Payment(ctx, which.domain, which.id, false); err != nil {
			return err
		}
		err = db.Write(ctx, func(tx *Tx) error { return tx.sealNumbers(p) })
	}
	return err
}

func (tx *Tx) sealNumbers(p *payment.Payment) error {
	payer, payerSealed, err := tx.payerNumber(p)
	if err != nil {
		return err
	}
	lines, sealed, err := tx.beneficiaryNumbers(p)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(ErrConflict, `UPDATE payment SET payer_identification = $1, payer_number = $2, beneficiary_numbers = $3, version = version + 1
		WHERE +domain_id = $4 AND id = $5 AND version = $6`, payer, payerSealed, sealed, int64(p.Domain), int64(p.ID), p.Version)
	for i, blind := range lines {
		tx.unit.ExecOne(ErrConflict, `UPDATE instruction SET beneficiary_identification = $1 WHERE +domain_id = $2 AND payment_id = $3 AND position = $4`,
			blind, int64(p.Domain), int64(p.ID), i)
	}
	return nil
}
