package console

import (
	"fmt"

	"passerelle"
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

func (c *Console) accounts(v *visit) error { return c.showAccounts(v, false) }

// revealAccounts shows the accounts whole, and puts on record that they were
// looked at.
func (c *Console) revealAccounts(v *visit) error { return c.looked(v, (*Console).showAccounts) }

// looked shows something of the user of the address whole, on record.
func (c *Console) looked(v *visit, show func(c *Console, v *visit, revealed bool) error) error {
	if !c.mayReveal(v) {
		return errForbidden
	}
	id := v.numbers[1]
	if _, err := c.Aggregation.User(v, v.domain, passerelle.UserID(id)); err != nil {
		return err
	}
	err := c.DB.Write(v, func(tx *store.Tx) error { return tx.Audit(c.record(v, actReveal, "user", id)) })
	if err != nil {
		return fmt.Errorf("record a look at user %d: %w", id, err)
	}
	return show(c, v, true)
}

func (c *Console) showAccounts(v *visit, revealed bool) error {
	data, err := c.about(v, "Accounts")
	if err != nil {
		return err
	}
	w := v.window(1)
	rows, err := c.DB.BankAccounts(v, store.AccountFilter{Domain: v.domain.ID, User: data.ID, All: true}, w)
	if err != nil {
		return fmt.Errorf("list the accounts of user %d: %w", data.ID, err)
	}
	rows, data.Turn = page(v, w, rows, func(a store.StoredAccount) []any { return byID(a.ID) })
	for _, a := range rows {
		data.Accounts = append(data.Accounts, v.accountRow(a.BankAccount, revealed))
	}
	data.Revealable, data.Revealed = !revealed && len(rows) > 0 && c.mayReveal(v), revealed
	return c.send(v, "user-accounts", fmt.Sprintf("Accounts of user %d", data.ID), data)
}

func (v *visit) accountRow(a passerelle.BankAccount, revealed bool) accountRow {
	row := accountRow{
		ID: a.ID, Connection: a.Connection, Name: v.nameText(a.Name, revealed), Type: string(a.Type), Shared: a.Disabled == nil && a.Deleted == nil,
		Number: numberText(a.Number, "", revealed), IBAN: numberText(a.IBAN, passerelle.IBAN, revealed), Read: v.moment(a.LastUpdate), State: string(a.Error),
	}
	if a.CustomName != "" {
		row.Name = v.nameText(a.CustomName, revealed)
	}
	if a.Balance != nil && (revealed || v.domain.Kind == passerelle.Sandbox) {
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
