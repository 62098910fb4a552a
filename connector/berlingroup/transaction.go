package berlingroup

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"passerelle"
	"passerelle/connector/identity"
)

// transaction is a transaction of an account or card account, as the standard represents it.
type transaction struct {
	ID             string `json:"transactionId"`
	CardID         string `json:"cardTransactionId"`
	EntryReference string `json:"entryReference"`
	EndToEndID     string `json:"endToEndId"`
	MandateID      string `json:"mandateId"`
	CreditorID     string `json:"creditorId"`

	BookingDate     string `json:"bookingDate"`
	ValueDate       string `json:"valueDate"`
	TransactionDate string `json:"transactionDate"`

	Amount         amount            `json:"transactionAmount"`
	OriginalAmount amount            `json:"originalAmount"`
	Creditor       string            `json:"creditorName"`
	CreditorNumber *accountReference `json:"creditorAccount"`
	Debtor         string            `json:"debtorName"`
	DebtorNumber   *accountReference `json:"debtorAccount"`

	Remittance      string   `json:"remittanceInformationUnstructured"`
	RemittanceLines []string `json:"remittanceInformationUnstructuredArray"`
	Reference       any      `json:"remittanceInformationStructured"`
	References      []any    `json:"remittanceInformationStructuredArray"`
	CardDetails     string   `json:"transactionDetails"`
	Additional      string   `json:"additionalInformation"`
	Code            string   `json:"bankTransactionCode"`
	Card            string   `json:"maskedPAN"`

	// debitAccounting is the same as in bankAccount.
	pending, debitAccounting bool
}

// readAccount passes on the transactions of an account, if the sink wants them.
func (v *reading) readAccount(ctx context.Context, a *bankAccount) error {
	from, wanted := v.out.Wanted(a.key)
	if !wanted || a.Links["transactions"].Href == "" && len(a.Links) > 0 || v.file.Profile.Accounts.kind() == availableConsent {
		return nil
	}
	earliest := v.day().AddDays(1 - v.file.Profile.Accounts.HistoryDays)
	from = later(from, earliest)
	if more := v.sinceLast(a, from); more != nil {
		if done, err := v.readSince(ctx, a, more); done || err != nil {
			return err
		}
	}
	s, complete, err := v.readByDate(ctx, a, later(from.AddDays(-overlapDays), earliest))
	if err != nil {
		return err
	}
	if s.sieve.open && !s.sieve.again { // the account does not count as read, so the next read begins as early as this one
		return nil
	}
	if err := v.settle(s); err != nil {
		return err
	}
	v.remember(s, v.day(), s.names.Remember(complete))
	return v.out.AccountRead(a.key, later(from, complete))
}

// unapprovedDays is the number of days of past transactions that a bank returns without a recent
// approval by the customer (Delegated Regulation (EU) 2018/389, article 10).
const unapprovedDays = 90

// readByDate passes on the transactions since the day begin, as readCertain does. If the bank refuses
// older ones, it passes on those of unapprovedDays. Later reads without the customer then begin
// there, because the refused call may have been the last that the bank permits in a day. readByDate
// returns the first complete day.
func (v *reading) readByDate(ctx context.Context, a *bankAccount, begin passerelle.Date) (*history, passerelle.Date, error) {
	last, recent := v.memory.Accounts[a.key], later(begin, v.day().AddDays(1-unapprovedDays))
	if last.Recent && !v.Device.Address.IsValid() {
		begin = recent
	}
	s, err := v.readCertain(ctx, a, begin)
	if refused, is := errors.AsType[*readRefusal](err); is && refused.code == "PERIOD_INVALID" && begin != recent {
		last.Recent, begin = true, recent
		v.memory.keep(a.key, last)
		s, err = v.readCertain(ctx, a, begin)
	}
	if !last.Read.IsZero() && s.names.Unnamed() { // an earlier read has numbered equal transactions from an earlier day on
		begin = begin.AddDays(overlapDays)
	}
	return s, begin, err
}

func (v *reading) history(a *bankAccount) *history {
	last := v.memory.Accounts[a.key]
	return &history{sieve: newSieve(), account: a, today: v.day(), names: identity.New(last.Names, last.Read, v.day())}
}

// history is one pass of a read over an account's transactions.
type history struct {
	sieve   sieve
	account *bankAccount
	names   *identity.Names
	today   passerelle.Date
	// booked is the latest day before today with an entry that has a reference. reference is the
	// reference of that entry.
	reference string
	booked    passerelle.Date
}

// noteReference records the entry after which a later read continues.
func (s *history) noteReference(reference string, day passerelle.Date) {
	if reference != "" && day.Compare(s.today) < 0 && day.Compare(s.booked) > 0 {
		s.reference, s.booked = reference, day
	}
}

// readHistory passes on the pages of all reports.
func (v *reading) readHistory(ctx context.Context, s *history, selected url.Values) error {
	link, path := s.account.path("transactions")
	for _, status := range v.file.Profile.Accounts.reports(s.account.family) {
		if err := v.count("transactions " + s.account.key); err != nil {
			return err
		}
		r, err := v.requestTo(request{call: strings.TrimPrefix(s.account.family, "/v1/") + " transactions", path: path, most: largeAnswer}, link)
		if err != nil {
			return err
		}
		selected.Set("bookingStatus", status)
		if err := v.readReport(ctx, s, query(r, selected)); err != nil {
			return err
		}
	}
	return nil
}

// overlapDays is the number of additional days that a read covers. The connector numbers
// transactions that have equal contents and no id. The bank may have booked them a few days apart,
// and their numbers stay the same only if each read covers all of them.
const overlapDays = 7

// query adds parameters to the address of a request.
func query(r request, more url.Values) request {
	place := &r.path
	if r.address != "" {
		place = &r.address
	}
	separator := "?"
	if strings.Contains(*place, "?") {
		separator = "&"
	}
	*place += separator + more.Encode()
	return r
}

func (v *reading) transactionDetails(t *transaction) (passerelle.TransactionDetails, error) {
	value, err := t.Amount.signed(t.debitAccounting)
	if err != nil {
		return passerelle.TransactionDetails{}, err
	}
	booking, valued, made := date(t.BookingDate), date(t.ValueDate), date(t.TransactionDate)
	d := passerelle.TransactionDetails{
		BDate: booking, VDate: valued, RDate: made,
		Date: cmp.Or(booking, valued, made, v.day()), Value: value, Coming: t.pending, Type: t.kind(), Wording: t.wording(), Card: bounded(t.Card),
	}
	if original, err := t.OriginalAmount.signed(t.debitAccounting); err == nil && known(t.OriginalAmount.Currency) != "" && t.OriginalAmount.Currency != t.Amount.Currency {
		d.OriginalValue, d.OriginalCurrency = &original, known(t.OriginalAmount.Currency)
	}
	d.Counterparty = t.counterparty(value.IsNeg())
	return d, nil
}

// date returns the day at the beginning of a text, or no day.
func date(text string) passerelle.Date {
	d, _ := passerelle.ParseDate("date", text[:min(len(text), len("2006-01-02"))])
	return d
}

func later(days ...passerelle.Date) passerelle.Date {
	return slices.MaxFunc(days, passerelle.Date.Compare)
}

// maxWording is the maximum length of a label, in bytes.
const maxWording = 1000

// wording returns the label: the remittance information or, without it, another text of the bank.
func (t *transaction) wording() string {
	text := cmp.Or(t.Remittance, strings.Join(t.RemittanceLines, " "), t.references(), t.CardDetails, t.Additional, t.Creditor, t.Debtor, t.EndToEndID)
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	return strings.ToValidUTF8(text[:min(len(text), maxWording)], "")
}

// references returns the structured remittance information. The bank sends one reference or several.
func (t *transaction) references() string {
	var all []string
	for _, reported := range append([]any{t.Reference}, t.References...) {
		if text := referenceOf(reported); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

// referenceOf returns the text of a reference. The bank sends a text or, in newer versions of the
// standard, an object with a text.
func referenceOf(reported any) string {
	switch reported := reported.(type) {
	case string:
		return reported
	case map[string]any:
		text, _ := reported["reference"].(string)
		return text
	}
	return ""
}

func (t *transaction) counterparty(leaves bool) *passerelle.Counterparty {
	name, number, side := t.Debtor, t.DebtorNumber, "debtor"
	if leaves {
		name, number, side = t.Creditor, t.CreditorNumber, "creditor"
	}
	if name == "" && number == nil {
		return nil
	}
	c := &passerelle.Counterparty{Label: bounded(name), Type: side}
	switch {
	case number == nil:
	case number.IBAN != "":
		c.Scheme, c.Identification = "iban", bounded(number.IBAN)
	case number.BBAN != "":
		c.Scheme, c.Identification = "bban", bounded(number.BBAN)
	}
	return c
}

func (t *transaction) kind() passerelle.TransactionType {
	if kind := passerelle.TypeOfBankCode(t.Code); kind != "" {
		return kind
	}
	if t.Card != "" || t.CardID != "" || t.CardDetails != "" {
		return "card"
	}
	return passerelle.UnknownTransaction
}

// identity returns the data that distinguishes the transaction from others.
func (t *transaction) identity(a *Accounts) identity.Transaction {
	value, _ := t.Amount.decimal()
	sum, other := value.Trim(0).String(), t.DebtorNumber // keys contain the sum as the bank reports it
	if signed, _ := t.Amount.signed(t.debitAccounting); signed.IsNeg() {
		other = t.CreditorNumber
	}
	one := identity.Transaction{
		Pending: t.pending, Booked: date(t.BookingDate), Sum: sum + t.Amount.Currency, EndToEnd: t.EndToEndID, Number: other.number(),
		Text: strings.Join([]string{t.wording(), t.Creditor, t.Debtor}, " "),
		Content: []string{
			sum, t.Amount.Currency, cmp.Or(t.ValueDate, t.TransactionDate, t.BookingDate), t.EndToEndID, t.MandateID,
			t.Creditor, t.CreditorNumber.number(), t.Debtor, t.DebtorNumber.number(), t.wording(),
		},
	}
	switch id := cmp.Or(t.ID, t.CardID); {
	case !a.TransactionIDs:
	case a.mixed() && t.EntryReference != "":
		one.ID = entryID(sum, t.EntryReference)
	case a.mixed() && t.pending: // its reference, which all formats contain, comes with the booking
	case id != "":
		one.ID = named("id", id)
	}
	return one
}

// entryID identifies an entry by its reference, which all formats contain. The id includes the
// amount, because banks repeat references.
func entryID(sum, reference string) string { return named("entry", sum+"/"+reference) }

// named returns the bank's id with its kind as prefix. An id that is too long or contains invalid
// characters is replaced with its hash.
func named(kind, name string) string {
	if len(name) > maxText || bounded(name) != name {
		return kind + "-hash/" + identity.Hash(name)
	}
	return kind + "/" + name
}

func (a *accountReference) number() string {
	if a == nil {
		return ""
	}
	return cmp.Or(a.IBAN, a.BBAN, a.MaskedPAN, a.MSISDN)
}
