package console

import (
	"fmt"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
)

// accountRow is a bank account. The page masks numbers and, in a live domain, also names and
// balances, until the operator reveals them.
type accountRow struct {
	ID                                passerelle.AccountID
	Connection                        passerelle.ConnectionID
	Name, Type, Number, IBAN, Balance string
	State                             page.ConnectionWord
	Read                              page.When
	// Shared is set when the user has consented to reading the account.
	Shared bool
}

func (c *Console) accounts(pc *page.Context) error { return c.showAccounts(pc, false) }

// revealAccounts shows the accounts without masks, and records this act.
func (c *Console) revealAccounts(pc *page.Context) error { return c.revealUser(pc, c.showAccounts) }

// revealUser shows a page about a user without masks, and records this act.
func (c *Console) revealUser(pc *page.Context, show func(pc *page.Context, revealed bool) error) error {
	if !pc.MayReveal() {
		return page.ErrForbidden
	}
	id := pc.Numbers[1]
	if _, err := c.Aggregation.User(pc, pc.Domain, passerelle.UserID(id)); err != nil {
		return err
	}
	if err := pc.RecordNow(page.ActReveal, "user", id); err != nil {
		return err
	}
	return show(pc, true)
}

func (c *Console) showAccounts(pc *page.Context, revealed bool) error {
	data, err := c.about(pc, "Accounts")
	if err != nil {
		return err
	}
	w := pc.Window(1)
	rows, err := bankstore.From(c.DB).BankAccounts(pc, bankstore.AccountFilter{Domain: pc.Domain.ID, User: data.ID, All: true}, w)
	if err != nil {
		return fmt.Errorf("list the accounts of user %d: %w", data.ID, err)
	}
	rows, data.Pager = page.Paged(pc, w, rows, func(a bankstore.StoredAccount) []any { return page.ByID(a.ID) })
	for _, a := range rows {
		data.Accounts = append(data.Accounts, newAccountRow(pc, a.BankAccount, revealed))
	}
	data.Revealable, data.Revealed = !revealed && len(rows) > 0 && pc.MayReveal(), revealed
	return pages.Send(pc, "user-accounts", fmt.Sprintf("Accounts of user %d", data.ID), data)
}

func newAccountRow(pc *page.Context, a passerelle.BankAccount, revealed bool) accountRow {
	row := accountRow{
		ID: a.ID, Connection: a.Connection, Name: nameText(pc, a.Name, revealed), Type: string(a.Type), Shared: a.Disabled == nil && a.Deleted == nil,
		Number: numberText(a.Number, "", revealed), IBAN: numberText(a.IBAN, passerelle.IBAN, revealed), Read: pc.WhenEver(a.LastUpdate), State: page.ConnectionWord(a.Error),
	}
	if a.CustomName != "" {
		row.Name = nameText(pc, a.CustomName, revealed)
	}
	if a.Balance != nil && (revealed || pc.Domain.Kind == passerelle.Sandbox) {
		row.Balance = page.Grouped(a.Balance.String()) + " " + string(a.Currency)
	}
	return row
}

// numberText returns the number of an account or contract. It masks the number unless the number is
// revealed. It returns an empty text when there is no number.
func numberText(number string, scheme passerelle.AccountScheme, revealed bool) string {
	if number == "" {
		return ""
	}
	return accountText(passerelle.Account{Scheme: scheme, Identification: number}, revealed)
}
