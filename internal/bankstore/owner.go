package bankstore

import (
	"context"

	"passerelle"
	"passerelle/internal/database"
)

// UserOfConnection returns the user of a connection. It fails with ErrNotFound when the connection
// does not exist or is deleted.
func (r Reader) UserOfConnection(ctx context.Context, domain passerelle.DomainID, id passerelle.ConnectionID) (passerelle.UserID, error) {
	user, err := database.One(ctx, r.rows, database.ScanInt, `SELECT user_id FROM connection WHERE +domain_id = $1 AND id = $2 AND deleted IS NULL`, int64(domain), int64(id))
	return passerelle.UserID(user), err
}

// UserOfBankAccount returns the user of a bank account. It fails with ErrNotFound when the account
// does not exist.
func (r Reader) UserOfBankAccount(ctx context.Context, domain passerelle.DomainID, id int64) (passerelle.UserID, error) {
	user, err := database.One(ctx, r.rows, database.ScanInt, `SELECT user_id FROM bank_account WHERE +domain_id = $1 AND id = $2`, int64(domain), id)
	return passerelle.UserID(user), err
}
