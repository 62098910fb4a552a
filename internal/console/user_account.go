package console

import (
	"fmt"

	"passerelle"
	"passerelle/internal/desk"
	"passerelle/internal/store"
)

// accountRow is a bank account. What may name a person, and what they have, is
// hidden until it is asked for.
type accountRow struct {
	ID                                             passerelle.AccountID
	Connection                                     passerelle.ConnectionID
	Name, Type, Number, IBAN, Balance, Read, State string
	// Shared accounts are those that the person consents to have read.
	Shared bool
}

func (c *Console) accounts(v *desk.Visit) error { return c.showAccounts(v, false) }

// revealAccounts shows the accounts whole, and puts on record that they were
// looked at.
func (c *Console) revealAccounts(v *desk.Visit) error { return c.looked(v, c.showAccounts) }

// looked shows something of the user of the address whole, on record.
func (c *Console) looked(v *desk.Visit, show func(v *desk.Visit, revealed bool) error) error {
	if !v.MayReveal() {
		return desk.ErrForbidden
	}
	id := v.Numbers[1]
	if _, err := c.Aggregation.User(v, v.Domain, passerelle.UserID(id)); err != nil {
		return err
	}
	if err := v.RecordNow(desk.ActReveal, "user", id); err != nil {
		return err
	}
	return show(v, true)
}

func (c *Console) showAccounts(v *desk.Visit, revealed bool) error {
	data, err := c.about(v, "Accounts")
	if err != nil {
		return err
	}
	w := v.Window(1)
	rows, err := c.DB.BankAccounts(v, store.AccountFilter{Domain: v.Domain.ID, User: data.ID, All: true}, w)
	if err != nil {
		return fmt.Errorf("list the accounts of user %d: %w", data.ID, err)
	}
	rows, data.Turn = desk.Paged(v, w, rows, func(a store.StoredAccount) []any { return desk.ByID(a.ID) })
	for _, a := range rows {
		data.Accounts = append(data.Accounts, newAccountRow(v, a.BankAccount, revealed))
	}
	data.Revealable, data.Revealed = !revealed && len(rows) > 0 && v.MayReveal(), revealed
	return pages.Send(v, "user-accounts", fmt.Sprintf("Accounts of user %d", data.ID), data)
}

func newAccountRow(v *desk.Visit, a passerelle.BankAccount, revealed bool) accountRow {
	row := accountRow{
		ID: a.ID, Connection: a.Connection, Name: nameText(v, a.Name, revealed), Type: string(a.Type), Shared: a.Disabled == nil && a.Deleted == nil,
		Number: numberText(a.Number, "", revealed), IBAN: numberText(a.IBAN, passerelle.IBAN, revealed), Read: v.Moment(a.LastUpdate), State: string(a.Error),
	}
	if a.CustomName != "" {
		row.Name = nameText(v, a.CustomName, revealed)
	}
	if a.Balance != nil && (revealed || v.Domain.Kind == passerelle.Sandbox) {
		row.Balance = a.Balance.String() + " " + string(a.Currency)
	}
	return row
}

// numberText is a number of an account or a contract, masked unless it was asked
// for; none stays none.
func numberText(number string, scheme passerelle.AccountScheme, revealed bool) string {
	if number == "" {
		return ""
	}
	return accountText(passerelle.Account{Scheme: scheme, Identification: number}, revealed)
}
