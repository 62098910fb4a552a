package operatorstore

import (
	"context"
	"time"

	"passerelle/internal/database"
	"passerelle/internal/store"
)

// OperatorIdentity is an operator's account at an identity provider.
type OperatorIdentity struct {
	Operator store.OperatorID
	// Issuer is the provider, and Subject is the operator's permanent id at the provider.
	Issuer, Subject string
	Created         time.Time
}

// OperatorByIdentity loads the operator with an identity, even if the operator is disabled. It
// fails with ErrNotFound when no operator has the identity.
func (r Reader) OperatorByIdentity(ctx context.Context, issuer, subject string) (Operator, error) {
	return database.One(ctx, r.rows, scanOperator, `SELECT `+operatorColumns+` FROM operator_identity i JOIN operator ON operator.id = i.operator_id
		WHERE i.issuer = $1 AND i.subject = $2`, issuer, subject)
}

// Identities lists an operator's identities in the order of their issuers.
func (r Reader) Identities(ctx context.Context, operator store.OperatorID) ([]OperatorIdentity, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (OperatorIdentity, error) {
		var (
			i       OperatorIdentity
			created int64
		)
		err := row.Scan(&i.Operator, &i.Issuer, &i.Subject, &created)
		i.Created = database.Instant(created)
		return i, err
	}, `SELECT operator_id, issuer, subject, created FROM operator_identity WHERE operator_id = $1 ORDER BY issuer`, int64(operator))
}

// LinkOperator stores an identity. Write fails with ErrDuplicate when the subject already belongs
// to an operator, or when the operator already has a subject at this issuer.
func (tx Tx) LinkOperator(i OperatorIdentity) error {
	id, err := tx.unit.NewID("operator_identity")
	if err != nil {
		return err
	}
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO operator_identity (id, operator_id, issuer, subject, created) VALUES ($1, $2, $3, $4, $5)`,
		id, int64(i.Operator), i.Issuer, i.Subject, database.Micros(i.Created))
	return nil
}

// HoldIdentity keeps an operator linked to an identity until the unit ends. Write fails with
// ErrConflict when the operator and the identity are no longer linked.
func (tx Tx) HoldIdentity(i OperatorIdentity) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE operator_identity SET created = created WHERE operator_id = $1 AND issuer = $2 AND subject = $3`,
		int64(i.Operator), i.Issuer, i.Subject)
}

// UnlinkOperator removes all identities of an operator.
func (tx Tx) UnlinkOperator(operator store.OperatorID) {
	tx.unit.Exec(`DELETE FROM operator_identity WHERE operator_id = $1`, int64(operator))
}
