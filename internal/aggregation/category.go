package aggregation

import (
	"context"
	"errors"
	"fmt"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// maxOwnCategories limits the categories that a user may create.
const maxOwnCategories = 100

// Category finds a category that a user may assign to a transaction: a built-in category, or a
// category that the user created.
func (a *Aggregation) Category(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.CategoryID) (passerelle.Category, error) {
	if c, known := passerelle.CategoryByID(id); known {
		return c, nil
	}
	own, err := bankstore.From(a.DB).OwnCategories(ctx, d.ID, user, []passerelle.CategoryID{id})
	if err != nil {
		return passerelle.Category{}, fmt.Errorf("load category %d: %w", id, err)
	}
	if len(own) == 0 {
		return passerelle.Category{}, passerelle.Missing()
	}
	return own[0], nil
}

// SaveCategory stores a user's own category. A category without a number is new, and SaveCategory
// gives it a number. For an existing category, SaveCategory stores only the fields that differ
// between former and c. SaveCategory fails with Invalid for an unknown parent, with Conflict when
// the user has too many categories, and with NotFound when the user or the category does not exist.
func (a *Aggregation) SaveCategory(ctx context.Context, d passerelle.Domain, former, c passerelle.Category) (passerelle.Category, error) {
	parent, known := passerelle.CategoryByID(c.Parent)
	if c.Parent != 0 && (!known || parent.ID == passerelle.Uncategorized) {
		return c, passerelle.InvalidField("id_parent_category", "must be the id of a standard category, such as 20")
	}
	full := &passerelle.Error{Kind: passerelle.Conflict, Code: "conflict", Message: fmt.Sprintf("A user has at most %d categories of their own; delete one first.", maxOwnCategories)}
	err := a.categories(ctx, d, c.User, func(tx *store.Tx) error {
		if c.ID == 0 {
			return bankstore.In(tx).CreateCategory(d.ID, &c, maxOwnCategories, full)
		}
		bankstore.In(tx).UpdateCategory(d.ID, former, c)
		return nil
	})
	c.Code = passerelle.OwnCode(c.ID, parent)
	return c, err
}

// DeleteCategory removes a category of a user.
func (a *Aggregation) DeleteCategory(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.CategoryID) error {
	return a.categories(ctx, d, user, func(tx *store.Tx) error { bankstore.In(tx).DeleteCategory(d.ID, user, id); return nil })
}

// categories executes `fn`, which changes the categories of an existing user, in one transaction.
func (a *Aggregation) categories(ctx context.Context, d passerelle.Domain, user passerelle.UserID, fn func(tx *store.Tx) error) error {
	err := a.DB.Write(ctx, func(tx *store.Tx) error {
		tx.HoldUser(d.ID, user)
		return fn(tx)
	})
	var refused *passerelle.Error
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
		return passerelle.Missing()
	case errors.As(err, &refused), err == nil:
		return err
	}
	return fmt.Errorf("change the categories of user %d: %w", user, err)
}
