package bankstore

import (
	"context"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// OwnCategories lists the categories that a user created, by number. The argument ids selects some
// of them. Nil means all.
func (r Reader) OwnCategories(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, ids []passerelle.CategoryID) ([]passerelle.Category, error) {
	s := database.Selection{From: "category"}.And("domain_id = $%d", int64(domain)).And("user_id = $%d", int64(user))
	if ids != nil {
		s = database.Among(s, "id", ids)
	}
	return database.Collect(ctx, r.rows, func(row database.Row) (passerelle.Category, error) {
		c := passerelle.Category{User: user}
		var parent *int64
		var color *string
		err := row.Scan(&c.ID, &parent, &c.Name, &c.Income, &c.Refundable, &color)
		c.Parent, c.Color = database.ID[passerelle.CategoryID](parent), database.Text[string](color)
		above, _ := passerelle.CategoryByID(c.Parent)
		c.Code = passerelle.OwnCode(c.ID, above)
		return c, err
	}, `SELECT id, parent_id, name, income, refundable, color FROM category WHERE `+s.Conditions()+` ORDER BY id`, s.Args...)
}

// CreateCategory stores a category of a user and sets its number. The same unit must call HoldUser.
// Write fails with the error `beyond` when the user already has `most` categories.
func (tx Tx) CreateCategory(domain passerelle.DomainID, c *passerelle.Category, most int, beyond error) error {
	id, err := tx.unit.NewID("category")
	if err != nil {
		return err
	}
	c.ID = CategoryNumbered(id)
	tx.unit.ExecOne(beyond, `INSERT INTO category (id, domain_id, user_id, parent_id, name, income, refundable, color)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE (SELECT count(*) FROM category WHERE domain_id = $2 AND user_id = $3) < $9`,
		int64(c.ID), int64(domain), int64(c.User), database.OptionalID(c.Parent), c.Name, c.Income, c.Refundable, database.OptionalText(c.Color), most)
	return nil
}

// UpdateCategory stores a user's changes of a category that the user created. It writes only the
// fields that differ between former and c, so that it does not undo a concurrent change.
func (tx Tx) UpdateCategory(domain passerelle.DomainID, former, c passerelle.Category) {
	values := func(c passerelle.Category) []any {
		return []any{database.OptionalID(c.Parent), c.Name, c.Income, c.Refundable, database.OptionalText(c.Color)}
	}
	var b database.Clauses
	set := database.Changed(&b, []string{"parent_id", "name", "income", "refundable", "color"}, values(former), values(c))
	b.And("+domain_id = %s AND +user_id = %s AND id = %s", int64(domain), int64(c.User), int64(c.ID))
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE category SET `+set+` WHERE `+b.String(), b.Args...)
}

// DeleteCategory removes a category of a user. Transactions in the category keep its number.
func (tx Tx) DeleteCategory(domain passerelle.DomainID, user passerelle.UserID, id passerelle.CategoryID) {
	tx.unit.ExecOne(store.ErrNotFound, `DELETE FROM category WHERE +domain_id = $1 AND +user_id = $2 AND id = $3`, int64(domain), int64(user), int64(id))
}

// CategoryNumbered converts a number of the category sequence to the id of a user's own category.
func CategoryNumbered(number int64) passerelle.CategoryID {
	return passerelle.CategoryID(number + int64(passerelle.FirstOwnCategory) - 1)
}
