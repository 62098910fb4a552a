package ledger

import "database/sql"

// These are the kinds of accounts.
const (
	// Cash is a customer's payment account.
	Cash = "cash"
	// Card is the account of a customer's credit card.
	Card = "card"
	// Own is the kind of the bank's own accounts.
	Own = "own"
)

// Account is an account in the books. Amounts are in minor units.
type Account struct {
	ID string `json:"id"`
	// Number is the IBAN, the masked number of a card, or the id of one of the bank's own accounts.
	Number   string `json:"number"`
	Kind     string `json:"kind"`
	Customer string `json:"customer"`
	Owner    string `json:"owner"`
	Name     string `json:"name"`
	Currency string `json:"currency"`
	// Overdraft is how far the balance may go below zero.
	Overdraft int64 `json:"overdraft"`
	// Booked is the balance of the booked entries. Expected is the balance of all entries.
	Booked   int64 `json:"booked"`
	Expected int64 `json:"expected"`
}

const accountColumns = `id, number, kind, customer, owner, name, currency, overdraft, booked, expected`

func (a *Account) fields() []any {
	return []any{&a.ID, &a.Number, &a.Kind, &a.Customer, &a.Owner, &a.Name, &a.Currency, &a.Overdraft, &a.Booked, &a.Expected}
}

// AddAccount opens an account without money. It does not change an existing account.
func (t *Tx) AddAccount(a Account) error {
	return t.exec("open an account", `INSERT INTO account (id, number, kind, customer, owner, name, currency, overdraft)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, a.ID, a.Number, a.Kind, a.Customer, a.Owner, a.Name, a.Currency, a.Overdraft)
}

// AccountByID finds an account by its id.
func (t *Tx) AccountByID(id string) (Account, error) {
	var a Account
	err := t.row("find an account", `SELECT `+accountColumns+` FROM account WHERE id = ?`, []any{id}, a.fields())
	return a, err
}

// AccountByNumber finds an account by its Number.
func (t *Tx) AccountByNumber(number string) (Account, error) {
	var a Account
	err := t.row("find an account", `SELECT `+accountColumns+` FROM account WHERE number = ?`, []any{number}, a.fields())
	return a, err
}

// Accounts lists the accounts of a customer, or all accounts when customer is empty.
func (t *Tx) Accounts(customer string) ([]Account, error) {
	var all []Account
	err := t.each("list accounts", `SELECT `+accountColumns+` FROM account WHERE ? = '' OR customer = ? ORDER BY id`, []any{customer, customer},
		func(rows *sql.Rows) error {
			var a Account
			err := rows.Scan(a.fields()...)
			all = append(all, a)
			return err
		})
	return all, err
}
