package banking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/statementfile"
)

// maxExported is how many transactions a statement has at most. One in CFONB 120 is held in
// memory.
const maxExported = 100_000

// exportPage is how many transactions one query reads.
const exportPage = 1000

func (s *Service) statementRoutes() []httpapi.Route {
	const place = "/accounts/{accountId}/statement"
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: "/users/{userId}" + place, Aliases: []string{place}, Needs: ofUser, Endpoint: httpapi.Handle(s.exportStatement), Errors: []string{"conflict", "noAccount"},
		Summary: "Get a statement of an account",
		Doc:     "Answers with a file: the booked transactions of a period by their booking days, at most 100,000, the oldest first, with the balances before and after. Without dates it begins with the first transaction and ends today. A reference is the id of the transaction. CFONB 120 takes only accounts with a French IBAN.",
	}}
}

type exportStatementInput struct {
	inAccount
	httpapi.DateRange
	Format string `query:"format" enum:"camt.053,mt940,cfonb120,ofx,csv" default:"camt.053" doc:"the format of the file: camt.053.001.08, MT940, CFONB 120, OFX 2 or CSV"`
}

// exportFormats are the formats by the words of the parameter.
var exportFormats = map[string]struct {
	format            statementfile.Format
	mediaType, ending string
}{
	"camt.053": {statementfile.CAMT, "application/xml", "xml"}, "mt940": {statementfile.MT940, "text/plain; charset=us-ascii", "sta"},
	"cfonb120": {statementfile.CFONB, "text/plain; charset=us-ascii", "txt"}, "ofx": {statementfile.OFX, "application/x-ofx", "ofx"},
	"csv": {statementfile.CSV, "text/csv; charset=utf-8", "csv"},
}

func (s *Service) exportStatement(ctx context.Context, c *httpapi.Caller, in exportStatementInput) (httpapi.Stream, error) {
	at, err := s.settle(ctx, c, in.place())
	if err != nil {
		return httpapi.Stream{}, err
	}
	account := *at.named
	if account.Disabled != nil || account.Deleted != nil {
		return httpapi.Stream{}, &passerelle.Error{Kind: passerelle.Conflict, Code: "noAccount", Message: "The account is not enabled; enable it before exporting its transactions."}
	}
	e := statementExport{db: s.DB, account: account, filter: at.filter(c)}
	if err := e.bound(ctx, in.DateRange, c, passerelle.DateOf(c.Domain.Clock.Now(s.Now()), c.Location)); err != nil {
		return httpapi.Stream{}, err
	}
	written, err := e.statement(ctx)
	if err != nil {
		return httpapi.Stream{}, err
	}
	to := exportFormats[in.Format]
	if to.format == statementfile.CFONB && !statementfile.French(written.Account) {
		return httpapi.Stream{}, passerelle.InvalidField("format", "%s", statementfile.ErrFrench)
	}
	written.Created = c.Domain.Clock.Now(s.Now())
	name := fmt.Sprintf("account-%d-%s-%s.%s", account.ID, written.From, written.To, to.ending)
	return httpapi.Stream{MediaType: to.mediaType, Name: name, Write: func(w io.Writer) error { return statementfile.Write(w, to.format, written) }}, nil
}

// statementExport is a statement of an account for a period, which filter has.
type statementExport struct {
	db      *store.DB
	account store.StoredAccount
	filter  store.TransactionFilter
}

// bound sets the period, and refuses one with too many transactions.
func (e *statementExport) bound(ctx context.Context, asked httpapi.DateRange, c *httpapi.Caller, today passerelle.Date) error {
	f := &e.filter
	f.ByDate, f.Until = true, today
	if !asked.Until().IsZero() {
		f.Until = passerelle.DateOf(asked.Until(), c.Location).AddDays(-1)
	}
	if !asked.From().IsZero() {
		f.From = passerelle.DateOf(asked.From(), c.Location)
	} else {
		span, err := e.db.TransactionSpan(ctx, *f)
		if err != nil {
			return fmt.Errorf("find the first transaction of account %d: %w", e.account.ID, err)
		}
		f.From = or(span.First, f.Until)
	}
	if f.From.Compare(f.Until) > 0 {
		return passerelle.InvalidField("max_date", "must not be before min_date or the first transaction, %s", f.From)
	}
	n, err := e.db.CountTransactions(ctx, *f)
	if err != nil {
		return fmt.Errorf("count the transactions of account %d: %w", e.account.ID, err)
	}
	if n > maxExported {
		return passerelle.InvalidField("min_date", "must be later: the period has %d transactions, and a statement at most %d", n, maxExported)
	}
	return nil
}

// statement has the balances of the period: the one after it is the present balance without
// what was booked later.
func (e *statementExport) statement(ctx context.Context) (statementfile.Written, error) {
	a, f := e.account, e.filter
	w := statementfile.Written{FileStatement: statementfile.FileStatement{
		ID: strconv.FormatInt(int64(a.ID), 10) + "-" + f.Until.String(), From: f.From, To: f.Until,
		Account: statementfile.StatementAccount{IBAN: a.IBAN, Number: cmp.Or(a.Number, strconv.FormatInt(int64(a.ID), 10)), Bank: a.BIC, Name: cmp.Or(a.CustomName, a.Name), Currency: a.Currency, Type: a.Type},
	}}
	if a.Balance == nil || !a.Currency.Known() {
		return w, passerelle.Conflicting("the institution gave no balance or no currency of account %d, which a statement needs", a.ID)
	}
	movements, err := e.db.Movements(ctx, []store.StoredAccount{a}, f.From, f.Until)
	if err != nil {
		return w, fmt.Errorf("sum the transactions of account %d: %w", a.ID, err)
	}
	within, later := new(decimal.Decimal), new(decimal.Decimal)
	for _, m := range movements {
		sum := &within
		if m.Day.Compare(f.Until) > 0 {
			sum = &later
		}
		*sum = passerelle.SumAmounts(*sum, passerelle.SumAmounts(m.In, m.Out))
	}
	closing := without(a.Balance, later)
	opening := without(closing, within)
	if opening == nil {
		return w, passerelle.Conflicting("the sums of account %d have too many digits for a statement", a.ID)
	}
	w.Opening = &statementfile.StatementBalance{Date: f.From.AddDays(-1), Amount: *opening}
	w.Closing = &statementfile.StatementBalance{Date: f.Until, Amount: *closing}
	w.Entries = func(yield func(statementfile.StatementEntry, error) bool) { e.entries(ctx, *opening, *closing, yield) }
	return w, nil
}

// without is an amount less another, nil when one is or when there are too many digits.
func without(amount, less *decimal.Decimal) *decimal.Decimal {
	if less == nil {
		return nil
	}
	negative := less.Neg()
	return passerelle.SumAmounts(amount, &negative)
}

var errMoved = errors.New("the transactions changed while the statement was written")

// entries reads the booked transactions page by page, the oldest first. They must lead from one
// balance to the other.
func (e *statementExport) entries(ctx context.Context, opening, closing decimal.Decimal, yield func(statementfile.StatementEntry, error) bool) {
	balance := &opening
	w := store.Window{Limit: exportPage, Descending: true}
	for {
		page, err := e.db.Transactions(ctx, e.filter, w)
		if err != nil {
			yield(statementfile.StatementEntry{}, fmt.Errorf("list the transactions of account %d: %w", e.account.ID, err))
			return
		}
		for _, t := range page {
			if w.From = []any{e.filter.DayOf(t).String(), int64(t.ID)}; t.Coming {
				continue
			}
			balance = passerelle.SumAmounts(balance, &t.Value)
			if !yield(exported(t), nil) {
				return
			}
		}
		if len(page) < w.Limit {
			break
		}
	}
	if balance == nil || !balance.Equal(closing) {
		yield(statementfile.StatementEntry{}, errMoved)
	}
}

func exported(t passerelle.Transaction) statementfile.StatementEntry {
	e := statementfile.StatementEntry{
		Booked: t.Date, Value: t.VDate, Amount: t.Value, Type: t.Type, Wording: t.TransactionDetails.Wording, Reference: strconv.FormatInt(int64(t.ID), 10),
		OriginalAmount: t.OriginalValue, OriginalCurrency: t.OriginalCurrency,
	}
	if t.Counterparty != nil {
		e.Name, e.Number = t.Counterparty.Label, t.Counterparty.Identification
	}
	return e
}
