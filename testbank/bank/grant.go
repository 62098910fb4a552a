package bank

import (
	"cmp"
	"context"
	"slices"
	"time"

	"passerelle/testbank/ledger"
)

// chooseShown stores the accounts that the customer shares. An empty choice means all accounts.
func (b *Bank) chooseShown(tx *ledger.Tx, a *Authorisation, c *Consent, chosen []string) error {
	if len(c.Shown) > 0 {
		return nil // this customer or an earlier signatory has already chosen
	}
	c.PSU = cmp.Or(c.PSU, a.PSU)
	if err := b.show(tx, c, chosen); err != nil {
		return err
	}
	if len(c.Shown) == 0 {
		return wrongFormat("account", "the customer has none of these accounts")
	}
	return tx.Put(c)
}

// show sets which of the customer's accounts a consent covers.
func (b *Bank) show(tx *ledger.Tx, c *Consent, chosen []string) error {
	accounts, err := tx.Accounts(c.PSU)
	if err != nil {
		return err
	}
	c.Shown, c.Balances, c.Transactions = nil, nil, nil
	for _, account := range accounts {
		if account.Kind == ledger.Card && !b.Profile.CardAccounts || len(chosen) > 0 && !slices.Contains(chosen, account.ID) {
			continue
		}
		c.add(account)
	}
	return nil
}

// add adds an account to a consent, to the extent of the requested access.
func (c *Consent) add(account ledger.Account) {
	names := func(list []Reference) bool {
		return slices.ContainsFunc(list, func(r Reference) bool { return r.Number() == account.Number })
	}
	balances, transactions, shown := false, false, true
	switch c.Kind {
	case AllPSD2:
		balances, transactions = true, true
	case Global:
		balances, transactions = c.Access.Balances != nil, c.Access.Transactions != nil
	case Available:
		balances = c.Access.AvailableWithBalance != ""
	case Detailed:
		// A consent for the balances or transactions of an account includes the account's details.
		balances, transactions = names(c.Access.Balances), names(c.Access.Transactions)
		shown = names(c.Access.Accounts) || balances || transactions
	}
	if !shown {
		return
	}
	c.Shown = append(c.Shown, account.ID)
	if balances {
		c.Balances = append(c.Balances, account.ID)
	}
	if transactions {
		c.Transactions = append(c.Transactions, account.ID)
	}
}

// grant makes a consent valid once all signatories have authorised it. A recurring consent then
// ends the customer's earlier recurring consents for the third party, as the standard requires.
func (b *Bank) grant(tx *ledger.Tx, a *Authorisation) error {
	var c Consent
	if err := tx.Get(consentKind, a.Subject.ID, &c); err != nil {
		return err
	}
	switch {
	case c.Status != "received" && c.Status != "partiallyAuthorised":
		return Refuse("STATUS_INVALID", "", "the consent is "+c.Status)
	case c.PSU != "" && c.PSU != a.PSU && b.Profile.Signatories == 1:
		return Refuse("PSU_CREDENTIALS_INVALID", "PSU-ID", "it is another customer's consent")
	}
	if err := b.chooseShown(tx, a, &c, nil); err != nil {
		return err
	}
	if !slices.Contains(c.Signed, a.PSU) {
		c.Signed = append(c.Signed, a.PSU)
	}
	c.LastAction = b.Now().Format(dayLayout)
	if len(c.Signed) < b.Profile.Signatories {
		c.Status = "partiallyAuthorised"
		return tx.Put(&c)
	}
	if err := b.replace(tx, &c); err != nil {
		return err
	}
	last := b.LastDay(&c)
	c.Status, c.ValidUntil, c.Next = "valid", last.Format(dayLayout), last.AddDate(0, 0, 1)
	if c.Notify != "" {
		b.note(tx, Note{To: c.Notify, ConsentID: c.ID, Status: c.Status})
	}
	return tx.Put(&c)
}

// LastDay returns the last day of a consent. It is the requested day, limited to the longest
// duration that the bank allows.
func (b *Bank) LastDay(c *Consent) time.Time {
	last := day(b.Now()).AddDate(0, 0, b.Profile.ConsentDays)
	if until, err := time.Parse(dayLayout, c.ValidUntil); err == nil && until.Before(last) {
		return until
	}
	return last
}

func (b *Bank) replace(tx *ledger.Tx, by *Consent) error {
	if !by.Recurring {
		return nil
	}
	all, err := ledger.List[Consent](tx, consentKind, by.Party)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.ID == by.ID || c.PSU != by.PSU || !c.Recurring || c.Status != "valid" {
			continue
		}
		if err := b.endConsent(tx, c, "expired"); err != nil {
			return err
		}
	}
	return nil
}

// Granted returns the access that a consent gives. This is the requested access. If the customer
// chose the accounts, the result names these accounts.
func (b *Bank) Granted(ctx context.Context, c *Consent) (Access, error) {
	access := c.Access
	if c.Kind != Global || len(c.Shown) == 0 {
		return access, nil
	}
	err := b.book.Update(ctx, func(tx *ledger.Tx) error {
		for _, granted := range []struct {
			ids []string
			to  *[]Reference
		}{{c.Shown, &access.Accounts}, {c.Balances, &access.Balances}, {c.Transactions, &access.Transactions}} {
			references, err := references(tx, granted.ids)
			if err != nil {
				return err
			}
			*granted.to = references
		}
		return nil
	})
	return access, err
}

func references(tx *ledger.Tx, ids []string) ([]Reference, error) {
	var all []Reference
	for _, id := range ids {
		account, err := tx.AccountByID(id)
		if err != nil {
			return nil, err
		}
		all = append(all, ReferenceTo(account))
	}
	return all, nil
}

// ReferenceTo returns the reference of an account.
func ReferenceTo(account ledger.Account) Reference {
	if account.Kind == ledger.Card {
		return Reference{MaskedPAN: account.Number, Currency: account.Currency}
	}
	return Reference{IBAN: account.Number, Currency: account.Currency}
}
