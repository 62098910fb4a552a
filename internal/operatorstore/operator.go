package operatorstore

import (
	"context"
	"fmt"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
)

// Operator is a person who uses the console, in all domains.
type Operator struct {
	ID   store.OperatorID
	Name string
	// Role is viewer, developer, operator or administrator.
	Role string
	// Password is a slow hash of the password, with the parameters of the hash.
	Password string
	// SecondFactor means that sign-in requires a second factor.
	SecondFactor bool
	Created      time.Time
	Disabled     *time.Time
}

const operatorColumns = `operator.id, operator.name, operator.role, operator.password, operator.totp IS NOT NULL, operator.created, operator.disabled`

func scanOperator(row database.Row) (Operator, error) {
	var o Operator
	err := o.scan(row)
	return o, err
}

// scan reads the columns of an operator, and then further columns into the other arguments.
func (o *Operator) scan(row database.Row, more ...any) error {
	var (
		created  int64
		disabled *int64
	)
	err := row.Scan(append([]any{&o.ID, &o.Name, &o.Role, &o.Password, &o.SecondFactor, &created, &disabled}, more...)...)
	o.Created, o.Disabled = database.Instant(created), database.OptionalInstant(disabled)
	return err
}

// Operator loads an operator, even if the operator is disabled. It fails with ErrNotFound when the
// operator does not exist.
func (r Reader) Operator(ctx context.Context, id store.OperatorID) (Operator, error) {
	return database.One(ctx, r.rows, scanOperator, `SELECT `+operatorColumns+` FROM operator WHERE id = $1`, int64(id))
}

// OperatorByName loads an operator by name, even if the operator is disabled. It fails with
// ErrNotFound when no operator has the name.
func (r Reader) OperatorByName(ctx context.Context, name string) (Operator, error) {
	return database.One(ctx, r.rows, scanOperator, `SELECT `+operatorColumns+` FROM operator WHERE name = $1`, name)
}

// Operators lists at most limit operators in the order of their names.
func (r Reader) Operators(ctx context.Context, limit int) ([]Operator, error) {
	return database.Collect(ctx, r.rows, scanOperator, `SELECT `+operatorColumns+` FROM operator ORDER BY name LIMIT $1`, limit)
}

// CreateOperator stores an operator without a second factor and sets its id. Write fails with
// ErrDuplicate when the name is in use.
func (tx Tx) CreateOperator(o *Operator) error {
	id, err := tx.unit.NewID("operator")
	if err != nil {
		return err
	}
	o.ID = store.OperatorID(id)
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO operator (id, name, role, password, created) VALUES ($1, $2, $3, $4, $5)`,
		id, o.Name, o.Role, o.Password, database.Micros(o.Created))
	return nil
}

// SetOperatorPassword replaces the hash of a password.
func (tx Tx) SetOperatorPassword(id store.OperatorID, hash string) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE operator SET password = $1 WHERE id = $2`, hash, int64(id))
}

// SetOperatorRole replaces the role of an operator.
func (tx Tx) SetOperatorRole(id store.OperatorID, role string) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE operator SET role = $1 WHERE id = $2`, role, int64(id))
}

// DisableOperator disables an operator and ends the operator's sessions. A nil time enables the
// operator again.
func (tx Tx) DisableOperator(id store.OperatorID, at *time.Time) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE operator SET disabled = $1 WHERE id = $2`, database.OptionalMicros(at), int64(id))
	if at != nil {
		tx.RevokeSessions(id, 0, *at)
	}
}

func totpPlace(column string, id store.OperatorID) keys.Place {
	return keys.Place{Table: "operator", Column: column, Row: int64(id)}
}

// TOTP contains the present and the proposed secret of an operator's second factor. A secret that
// does not exist is nil. LastStep is the number of the last period with a used code.
type TOTP struct {
	Secret, Proposed []byte
	LastStep         int64
}

// TOTP loads the second factor of an operator. It fails with ErrNotFound when the operator is
// unknown.
func (r Reader) TOTP(ctx context.Context, id store.OperatorID) (TOTP, error) {
	t, err := database.One(ctx, r.rows, func(row database.Row) (TOTP, error) {
		var t TOTP
		err := row.Scan(&t.Secret, &t.Proposed, &t.LastStep)
		return t, err
	}, `SELECT totp, totp_proposed, totp_step FROM operator WHERE id = $1`, int64(id))
	if err != nil {
		return t, err
	}
	for column, secret := range map[string]*[]byte{"totp": &t.Secret, "totp_proposed": &t.Proposed} {
		if len(*secret) == 0 {
			continue
		}
		if *secret, err = r.source.Unseal(totpPlace(column, id), *secret); err != nil {
			return TOTP{}, fmt.Errorf("%w: the second factor of operator %d: %w", store.ErrSealed, id, err)
		}
	}
	return t, nil
}

// ProposeTOTP stores the encrypted secret of a new second factor. The secret stays proposed until
// the operator enters its first code. The present secret stays valid until then.
func (tx Tx) ProposeTOTP(id store.OperatorID, secret []byte) error {
	return tx.sealTOTP(id, "totp_proposed", secret, `UPDATE operator SET totp_proposed = $1 WHERE id = $2`)
}

// WithdrawTOTP drops a proposed second factor. The present second factor stays valid.
func (tx Tx) WithdrawTOTP(id store.OperatorID) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE operator SET totp_proposed = NULL WHERE id = $1`, int64(id))
}

// ConfirmTOTP replaces the present second factor with the proposed second factor. It marks the
// period of the first code as used.
func (tx Tx) ConfirmTOTP(id store.OperatorID, secret []byte, step int64) error {
	return tx.sealTOTP(id, "totp", secret, `UPDATE operator SET totp = $1, totp_proposed = NULL, totp_step = $3
		WHERE id = $2 AND totp_proposed IS NOT NULL`, step)
}

func (tx Tx) sealTOTP(id store.OperatorID, column string, secret []byte, sql string, more ...any) error {
	sealed, err := tx.units.Seal(totpPlace(column, id), secret)
	if err != nil {
		return fmt.Errorf("seal a second factor: %w", err)
	}
	tx.unit.ExecOne(store.ErrConflict, sql, append([]any{sealed, int64(id)}, more...)...)
	return nil
}

// UseTOTP marks a period and all earlier periods as used. Write fails with ErrConflict when the
// period is already used.
func (tx Tx) UseTOTP(id store.OperatorID, step int64) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE operator SET totp_step = $1 WHERE id = $2 AND totp_step < $1`, step, int64(id))
}

// ResetTOTP removes the second factor of an operator.
func (tx Tx) ResetTOTP(id store.OperatorID) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE operator SET totp = NULL, totp_proposed = NULL WHERE id = $1`, int64(id))
}
