package statementfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"passerelle"
)

// camtEntry is an entry that is being read.
type camtEntry struct {
	StatementEntry
	debit, directed, booked, hasAmount bool
	// returned means that the bank returns an earlier payment. The parties are those of that
	// payment.
	returned bool
	// currency is the currency of the amount.
	currency string
	// transactions counts the transaction details, because an entry may be a batch.
	transactions int
	// counterparty holds both sides of the transaction: the debtor, then the creditor.
	counterparty         [2]side
	domain, family, sub  string
	remittance           []string
	structured           string
	entryText, moreText  string
	endToEnd, entryRef   string
	transactionReference string
}

type side struct{ name, number string }

const (
	debtor = iota
	creditor
)

// entry returns the entry, or the name of the wrong field and an error. own is the account of the
// statement. day is the day of the statement, for entries without a day.
func (e *camtEntry) entry(own *StatementAccount, day passerelle.Date) (*StatementEntry, string, error) {
	e.Booked = cmp.Or(e.Booked, e.Value, day)
	if !e.hasAmount {
		return nil, "Ntry/Amt", errRequired
	}
	if !e.directed {
		return nil, "Ntry/CdtDbtInd", errDirection
	}
	if e.Booked.IsZero() {
		return nil, "Ntry/BookgDt", errRequired
	}
	other := e.counterparty[e.other(own)]
	if e.debit {
		e.Amount = e.Amount.Neg()
	}
	if e.transactions <= 1 {
		e.Name, e.Number = tidy(other.name), number(other.number)
		e.EndToEnd = e.endToEnd
	} else {
		e.OriginalAmount, e.OriginalCurrency = nil, ""
	}
	if e.Reference == "" && e.transactions <= 1 {
		e.Reference = e.transactionReference
	}
	e.Type = passerelle.TypeOfBankCode(code(e.domain, e.family, e.sub))
	e.Wording = e.wording()
	return &e.StatementEntry, "", nil
}

// other returns the index of the other party in e.counterparty. The direction of the entry
// determines this party, unless the account numbers show that it is the owner of the account. For a
// returned or reversed payment, the direction is inverted.
func (e *camtEntry) other(own *StatementAccount) int {
	isOwn := func(which int) bool {
		text := number(e.counterparty[which].number)
		return text != "" && (text == own.IBAN || text == own.Number)
	}
	owner, counterparty := creditor, debtor
	if e.debit != (e.returned || e.Reversal) {
		owner, counterparty = debtor, creditor
	}
	if isOwn(counterparty) && !isOwn(owner) {
		return owner
	}
	return counterparty
}

// wording returns the remittance information or, without it, another text about the entry. For a
// batch, the bank's text has priority over the remittance information.
func (e *camtEntry) wording() string {
	if e.transactions > 1 {
		return tidy(cmp.Or(e.entryText, strings.Join(e.remittance, " "), e.entryRef))
	}
	return tidy(cmp.Or(strings.Join(e.remittance, " "), e.structured, e.moreText, e.entryText, e.Name, e.endToEnd, e.entryRef))
}

// reference returns a text as a reference, or "" for a word that stands for a missing reference.
func reference(text string) string {
	switch text = tidy(text); strings.ToUpper(text) {
	case "NOTPROVIDED", "NONREF", "NOREF":
		return ""
	}
	return text
}

func (c *camt) addRemittance(text string) error {
	if size := len(strings.Join(c.entry.remittance, " ")); size < maxText {
		c.entry.remittance = append(c.entry.remittance, text)
	}
	return nil
}

// camtFields maps paths in the statement to the functions that read the elements.
var camtFields = map[string]func(c *camt, text string) error{
	"CreDtTm": func(c *camt, text string) error {
		c.statement.Created = timeOf(text)
		return into(&c.created, dateOf, text)
	},
	"Id":       func(c *camt, text string) error { c.statement.ID = tidy(text); return nil },
	"Acct/Nm":  func(c *camt, text string) error { c.statement.Account.Name = tidy(text); return nil },
	"Acct/Ccy": func(c *camt, text string) error { return into(&c.statement.Account.Currency, currencyOf, text) },
	"Acct/Id/IBAN": func(c *camt, text string) error {
		c.statement.Account.setNumber(text)
		return nil
	},
	"Acct/Id/Othr/Id": func(c *camt, text string) error { c.statement.Account.setNumber(text); return nil },
	"Acct/Id/PrtryAcct/Id": func(c *camt, text string) error {
		c.statement.Account.setNumber(text)
		return nil
	},
	"Acct/Ownr/Nm":               func(c *camt, text string) error { c.statement.Account.Owner = tidy(text); return nil },
	"Acct/Svcr/FinInstnId/BIC":   func(c *camt, text string) error { c.statement.Account.Bank = number(text); return nil },
	"Acct/Svcr/FinInstnId/BICFI": func(c *camt, text string) error { c.statement.Account.Bank = number(text); return nil },
	"Acct/Tp/Cd":                 func(c *camt, text string) error { c.statement.Account.Type = camtAccounts[text]; return nil },
	"FrToDt/FrDtTm":              func(c *camt, text string) error { return into(&c.statement.From, dateOf, text) },
	"FrToDt/ToDtTm":              func(c *camt, text string) error { return into(&c.statement.To, dateOf, text) },
	"Bal/Tp/CdOrPrtry/Cd":        func(c *camt, text string) error { c.balance.kind = text; return nil },
	"Bal/CdtDbtInd":              func(c *camt, text string) error { return direction(text, &c.balance.debit, &c.balance.directed) },
	"Bal/Dt/Dt":                  func(c *camt, text string) error { return into(&c.balance.Date, dateOf, text) },
	"Bal/Dt/DtTm":                func(c *camt, text string) error { return into(&c.balance.Date, dateOf, text) },
	"Bal/Amt":                    (*camt).balanceAmount,
	"Ntry/Amt":                   (*camt).entryAmount,
	"Ntry/RvslInd":               func(c *camt, text string) error { c.entry.Reversal = text == "true" || text == "1"; return nil },
	"Ntry/CdtDbtInd":             func(c *camt, text string) error { return direction(text, &c.entry.debit, &c.entry.directed) },
	"Ntry/Sts":                   (*camt).status,
	"Ntry/Sts/Cd":                (*camt).status,
	"Ntry/BookgDt/Dt":            func(c *camt, text string) error { return into(&c.entry.Booked, dateOf, text) },
	"Ntry/BookgDt/DtTm":          func(c *camt, text string) error { return into(&c.entry.Booked, dateOf, text) },
	"Ntry/ValDt/Dt":              func(c *camt, text string) error { return into(&c.entry.Value, dateOf, text) },
	"Ntry/ValDt/DtTm":            func(c *camt, text string) error { return into(&c.entry.Value, dateOf, text) },
	"Ntry/NtryRef":               func(c *camt, text string) error { c.entry.entryRef = tidy(text); return nil },
	"Ntry/AcctSvcrRef":           func(c *camt, text string) error { c.entry.Reference = reference(text); return nil },
	"Ntry/AddtlNtryInf":          func(c *camt, text string) error { c.entry.entryText = tidy(text); return nil },
	"Ntry/BkTxCd/Domn/Cd":        func(c *camt, text string) error { c.entry.domain = text; return nil },
	"Ntry/BkTxCd/Domn/Fmly/Cd":   func(c *camt, text string) error { c.entry.family = text; return nil },
	transaction + "AddtlTxInf":   func(c *camt, text string) error { c.entry.moreText = tidy(text); return nil },
	transaction + "RmtInf/Ustrd": (*camt).addRemittance,
	transaction + "Refs/EndToEndId": func(c *camt, text string) error {
		c.entry.endToEnd = reference(text)
		return nil
	},
	transaction + "Refs/AcctSvcrRef": func(c *camt, text string) error { c.entry.transactionReference = reference(text); return nil },
	transaction + "RmtInf/Strd/CdtrRefInf/Ref": func(c *camt, text string) error {
		c.entry.structured = tidy(text)
		return nil
	},
	transaction + "RmtInf/Strd/CdtrRefInf/CdtrRef": func(c *camt, text string) error {
		c.entry.structured = tidy(text)
		return nil
	},
	transaction + "AmtDtls/InstdAmt/Amt": (*camt).originalAmount,

	transaction + "RtrInf/Rsn/Cd":       (*camt).markReturned,
	transaction + "RtrInf/RtrRsn/Cd":    (*camt).markReturned,
	transaction + "RtrInf/Rsn/Prtry":    (*camt).markReturned,
	transaction + "RtrInf/RtrRsn/Prtry": (*camt).markReturned,

	"Ntry/BkTxCd/Domn/Fmly/SubFmlyCd": func(c *camt, text string) error { c.entry.sub = text; return nil },

	parties + "Dbtr/Nm":             nameOf(debtor),
	parties + "Dbtr/Pty/Nm":         nameOf(debtor),
	parties + "DbtrAcct/Id/IBAN":    numberOf(debtor),
	parties + "DbtrAcct/Id/Othr/Id": numberOf(debtor),
	parties + "Cdtr/Nm":             nameOf(creditor),
	parties + "Cdtr/Pty/Nm":         nameOf(creditor),
	parties + "CdtrAcct/Id/IBAN":    numberOf(creditor),
	parties + "CdtrAcct/Id/Othr/Id": numberOf(creditor),
}

const (
	debit       = "DBIT"
	transaction = "Ntry/NtryDtls/TxDtls/"
	parties     = transaction + "RltdPties/"
)

func into[T any](to *T, read func(string) (T, error), text string) error {
	value, err := read(text)
	if err == nil {
		*to = value
	}
	return err
}

func direction(text string, isDebit, directed *bool) error {
	if *directed {
		return errRepeated
	}
	if text != debit && text != "CRDT" {
		return errDirection
	}
	*isDebit, *directed = text == debit, true
	return nil
}

// unsignedAmount parses an amount. It refuses a negative amount, because its direction is unclear:
// the element CdtDbtInd has the direction.
func unsignedAmount(text string) (decimal.Decimal, error) {
	d, err := pointAmount(text)
	if err == nil && d.IsNeg() {
		err = errNegative
	}
	return d, err
}

func (c *camt) markReturned(string) error {
	c.entry.returned = true
	return nil
}

// entryStatuses lists the codes of ISO 20022 for the status of an entry.
var entryStatuses = []string{"BOOK", "PDNG", "INFO", "FUTR"}

func (c *camt) status(text string) error {
	if !slices.Contains(entryStatuses, text) {
		return errStatus
	}
	c.entry.booked = text == "BOOK"
	return nil
}

// balanceAmount stores the amount of a booked balance. Other balances, such as the available
// one, may be in any currency.
func (c *camt) balanceAmount(text string) error {
	if !slices.Contains(bookedBalances, c.balance.kind) {
		c.other = cmp.Or(c.other, c.currency)
		return nil
	}
	if err := c.setCurrency(c.currency); err != nil {
		return err
	}
	if c.balance.hasAmount {
		return errRepeated
	}
	c.balance.hasAmount = true
	return into(&c.balance.Amount, unsignedAmount, text)
}

// entryAmount stores an amount. The currency is checked later, and only if the entry is booked.
func (c *camt) entryAmount(text string) error {
	if c.entry.hasAmount {
		return errRepeated
	}
	c.entry.hasAmount, c.entry.currency = true, c.currency
	return into(&c.entry.Amount, unsignedAmount, text)
}

// originalAmount stores the amount if its currency differs from the currency of the entry's amount.
// It does not use the account's currency, which may not be known yet.
func (c *camt) originalAmount(text string) error {
	currency, err := currencyOf(c.currency)
	if err != nil || string(currency) == c.entry.currency {
		return nil //nolint:nilerr // without a known currency, no original amount is shown
	}
	amount, err := pointAmount(text)
	if err != nil {
		return err
	}
	if c.entry.debit {
		amount = amount.Neg()
	}
	c.entry.OriginalAmount, c.entry.OriginalCurrency = &amount, currency
	return nil
}

func nameOf(which int) func(*camt, string) error {
	return func(c *camt, text string) error {
		if c.entry.transactions == 1 {
			c.entry.counterparty[which].name = text
		}
		return nil
	}
}

func numberOf(which int) func(*camt, string) error {
	return func(c *camt, text string) error {
		if c.entry.transactions == 1 {
			c.entry.counterparty[which].number = text
		}
		return nil
	}
}
