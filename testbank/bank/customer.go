package bank

import (
	"fmt"
	"slices"
	"time"

	"passerelle/testbank/ledger"
)

// Customer is a person with accounts at the bank. The person signs in with ID and Password.
type Customer struct {
	ID   string
	Name string
	// Corporate is the PSU-Corporate-ID of the company for which the person acts, or empty.
	Corporate string
}

// These values are the same for all customers. Code is valid for each authentication method.
const (
	Password       = "1234"
	SecondPassword = "5678"
	Code           = "123456"
)

// Customers lists the customers. Every bank has the same customers.
func Customers() []Customer {
	return []Customer{{"anna", "Anna Amsel", ""}, {"bert", "Bert Buchfink", ""}, {"clara", "Clara Company GmbH", "CLARA-1"}}
}

// CustomerByID finds a customer.
func CustomerByID(id string) (Customer, bool) {
	all := Customers()
	i := slices.IndexFunc(all, func(c Customer) bool { return c.ID == id })
	if i < 0 {
		return Customer{}, false
	}
	return all[i], true
}

// checkCustomer checks that the bank has the customer that a third party names. With CorporateID,
// the customer must also act for the named company.
func (b *Bank) checkCustomer(c Caller) error {
	customer, known := CustomerByID(c.PSU)
	return firstBroken(
		rule{c.PSU != "" && !known, Refuse("PSU_CREDENTIALS_INVALID", "PSU-ID", "The bank does not know this user name.")},
		rule{b.Profile.CorporateID && c.PSU != "" && c.Corporate != customer.Corporate, Refuse("CORPORATE_ID_INVALID", "PSU-Corporate-ID", "the customer does not act for this company")},
	)
}

// These are the ids of the bank's own accounts.
const (
	// capital is the account from which the opening balances of accounts are paid.
	capital = "own-capital"
	// clearing is the account that represents all other banks.
	clearing = "own-clearing"
)

// opening lists the initial accounts of a bank and their balances in euros.
var opening = []struct {
	ledger.Account
	euros int64
}{
	{ledger.Account{ID: "anna-current", Customer: "anna", Kind: ledger.Cash, Name: "Current account", Overdraft: 1_000_00}, 25_000},
	{ledger.Account{ID: "anna-savings", Customer: "anna", Kind: ledger.Cash, Name: "Savings account"}, 5_000},
	{ledger.Account{ID: "anna-card", Customer: "anna", Kind: ledger.Card, Name: "Credit card", Overdraft: 2_000_00}, 0},
	{ledger.Account{ID: "bert-current", Customer: "bert", Kind: ledger.Cash, Name: "Current account"}, 50},
	{ledger.Account{ID: "clara-current", Customer: "clara", Kind: ledger.Cash, Name: "Business account", Overdraft: 50_000_00}, 1_000_000},
}

// BankCode returns the bank code of the profile's bank. No real bank code begins with a nine.
func (p Profile) BankCode() string { return fmt.Sprintf("999010%02d", p.Number()) }

// places contains the letters with which the location code in a BIC may end: all except O.
const places = "ABCDEFGHIJKLMNPQRSTUVWXYZ"

// BIC returns the BIC of a profile's bank.
func (p Profile) BIC() string { return "EXBKDE2" + places[p.Number()-1:][:1] + "XXX" }

// openAccounts opens the accounts of a new bank.
func (b *Bank) openAccounts(tx *ledger.Tx, now time.Time) error {
	for _, id := range []string{capital, clearing} {
		if err := tx.AddAccount(ledger.Account{ID: id, Number: id, Kind: ledger.Own, Owner: "Example Bank", Name: id, Currency: currency}); err != nil {
			return err
		}
	}
	for i, open := range opening {
		account := open.Account
		holder, _ := CustomerByID(account.Customer)
		account.Owner, account.Currency, account.Number = holder.Name, currency, germanIBAN(b.Profile.BankCode(), i+1)
		if account.Kind == ledger.Card {
			account.Number = fmt.Sprintf("525412******%04d", 1000+i)
		}
		if err := tx.AddAccount(account); err != nil {
			return err
		}
		if open.euros > 0 {
			if err := deposit(tx, account, open.euros*100, "Opening balance", "opening:"+account.ID, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// deposit moves money from the bank's capital account to another account and books the movement.
func deposit(tx *ledger.Tx, to ledger.Account, amount int64, text, cause string, now time.Time) error {
	err := tx.Enter(ledger.Movement{
		Cause: cause, From: capital, To: to.ID, Amount: amount, FromName: "Example Bank", ToName: to.Owner, ToNumber: to.Number, Text: text, Day: now,
	})
	if err != nil {
		return err
	}
	return tx.Post(cause, now)
}
