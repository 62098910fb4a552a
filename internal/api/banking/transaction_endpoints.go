package banking

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// transactionRoutes returns three routes for each place, and the routes of manualRoutes. The places
// are a user, an account, a connection, and an account of a connection.
func (s *Service) transactionRoutes() []httpapi.Route {
	return slices.Concat(
		transactionsBelow("", httpapi.Handle(listTransactions[transactionsOfUser](s)), httpapi.Handle(oneTransaction[transactionOfUser](s)), httpapi.Handle(editTransaction[editOfUser](s))),
		transactionsBelow("/accounts/{accountId}", httpapi.Handle(listTransactions[transactionsOfAccount](s)),
			httpapi.Handle(oneTransaction[transactionOfAccount](s)), httpapi.Handle(editTransaction[editOfAccount](s))),
		transactionsBelow("/connections/{connectionId}", httpapi.Handle(listTransactions[transactionsOfConnection](s)),
			httpapi.Handle(oneTransaction[transactionOfConnection](s)), httpapi.Handle(editTransaction[editOfConnection](s))),
		transactionsBelow("/connections/{connectionId}/accounts/{accountId}", httpapi.Handle(listTransactions[transactionsOfBoth](s)),
			httpapi.Handle(oneTransaction[transactionOfBoth](s)), httpapi.Handle(editTransaction[editOfBoth](s))),
		s.manualRoutes(),
	)
}

func transactionsBelow(place string, list, one, edit httpapi.Endpoint) []httpapi.Route {
	short := place + "/transactions"
	long := "/users/{userId}" + short
	const item = "/{transactionId}"
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: long, Aliases: []string{short}, Needs: ofUser, Endpoint: list, Errors: []string{"noAccount"},
			Summary: "List transactions", Doc: "Lists transactions, newest first. Fails with noAccount when no account is enabled.",
		},
		{
			Method: http.MethodGet, Pattern: long + item, Aliases: []string{short + item}, Needs: ofUser, Endpoint: one,
			Summary: "Read a transaction", Doc: "Returns the transaction. A transaction that the institution has removed is marked as deleted.",
		},
		{
			Method: httpapi.Update, Pattern: long + item, Aliases: []string{short + item}, Needs: ofUser, Endpoint: edit,
			Summary: "Change the user's data of a transaction", Doc: "Omitted members keep their values. Synchronisations do not overwrite the changes.",
		},
	}
}

// transactionPlace selects the transactions that a call is about.
type transactionPlace struct {
	user       passerelle.UserID
	connection passerelle.ConnectionID // zero means all connections
	account    passerelle.AccountID    // zero means all accounts
}

type (
	inAccount struct {
		oneUserInput
		Account passerelle.AccountID `path:"accountId"`
	}
	inConnection struct {
		oneUserInput
		Connection passerelle.ConnectionID `path:"connectionId"`
	}
	inBoth struct {
		inConnection
		Account passerelle.AccountID `path:"accountId"`
	}
	whichTransaction struct {
		Transaction passerelle.TransactionID `path:"transactionId"`
	}
)

func (in oneUserInput) place() transactionPlace { return transactionPlace{user: in.ID} }

func (in inAccount) place() transactionPlace {
	return transactionPlace{user: in.ID, account: in.Account}
}

func (in inConnection) place() transactionPlace {
	return transactionPlace{user: in.ID, connection: in.Connection}
}

func (in inBoth) place() transactionPlace {
	return transactionPlace{user: in.ID, connection: in.Connection, account: in.Account}
}

// These are the inputs of the calls. Each input has a place, and the fields of one call.
type (
	transactionsOfUser struct {
		oneUserInput
		transactionQuery
	}
	transactionsOfAccount struct {
		inAccount
		transactionQuery
	}
	transactionsOfConnection struct {
		inConnection
		transactionQuery
	}
	transactionsOfBoth struct {
		inBoth
		transactionQuery
	}
	transactionOfUser struct {
		oneUserInput
		whichTransaction
		httpapi.Expand[wire.Transaction]
	}
	transactionOfAccount struct {
		inAccount
		whichTransaction
		httpapi.Expand[wire.Transaction]
	}
	transactionOfConnection struct {
		inConnection
		whichTransaction
		httpapi.Expand[wire.Transaction]
	}
	transactionOfBoth struct {
		inBoth
		whichTransaction
		httpapi.Expand[wire.Transaction]
	}
	editOfUser struct {
		oneUserInput
		whichTransaction
		transactionEdit
	}
	editOfAccount struct {
		inAccount
		whichTransaction
		transactionEdit
	}
	editOfConnection struct {
		inConnection
		whichTransaction
		transactionEdit
	}
	editOfBoth struct {
		inBoth
		whichTransaction
		transactionEdit
	}
)

// settled is a place that settle has checked. named is the account of the place. It is nil when the
// place has no account.
type settled struct {
	transactionPlace
	named *bankstore.StoredAccount
}

// settle checks the connection and the account that a place names. Both must belong to the user,
// and the account must belong to the connection.
func (s *Service) settle(ctx context.Context, c *httpapi.Caller, at transactionPlace) (settled, error) {
	out := settled{transactionPlace: at}
	if _, err := (oneUserInput{at.user}).theirs(c); err != nil {
		return out, err
	}
	if at.account == 0 {
		return out, s.settleConnection(ctx, c, at)
	}
	account, err := s.Aggregation.Account(ctx, c.Domain, at.user, at.account)
	if err != nil {
		return out, err
	}
	if at.connection != 0 && account.Connection != at.connection {
		return out, passerelle.Missing()
	}
	out.named = &account
	return out, nil
}

// open settles a place. It fails for a disabled or deleted account, unless all is true.
func (s *Service) open(ctx context.Context, c *httpapi.Caller, at transactionPlace, all bool) (settled, error) {
	out, err := s.settle(ctx, c, at)
	if err == nil && !all && out.named != nil && (out.named.Disabled != nil || out.named.Deleted != nil) {
		err = passerelle.Missing()
	}
	return out, err
}

// settleConnection checks that the connection belongs to the user, if the place names a connection.
func (s *Service) settleConnection(ctx context.Context, c *httpapi.Caller, at transactionPlace) error {
	if at.connection == 0 {
		return nil
	}
	_, err := s.Aggregation.Connection(ctx, c.Domain, at.user, at.connection)
	return err
}

// filter returns a filter for all transactions at the place that the path names.
func (at settled) filter(c *httpapi.Caller) bankstore.TransactionFilter {
	f := bankstore.TransactionFilter{Domain: c.Domain.ID, User: at.user, Connection: at.connection, Account: at.account}
	if at.named != nil {
		f.Epoch = at.named.Epoch
	}
	return f
}

// accounts returns a filter for the accounts at the place that the path names.
func (at settled) accounts(c *httpapi.Caller, all bool) bankstore.AccountFilter {
	f := bankstore.AccountFilter{Domain: c.Domain.ID, User: at.user, Connection: at.connection, All: all}
	if at.account != 0 {
		f.IDs = []passerelle.AccountID{at.account}
	}
	return f
}

type transactionQuery struct {
	httpapi.Paging
	httpapi.DateRange
	httpapi.All
	httpapi.Expand[wire.Transaction]
	Filter     string         `query:"filter" enum:"application_date,date" default:"application_date" doc:"the date that min_date and max_date apply to and that the list is ordered by"`
	LastUpdate string         `query:"last_update" doc:"only transactions that changed after this DateTime"`
	Deleted    bool           `query:"deleted" doc:"include transactions that the institution has removed"`
	Income     *bool          `query:"income" doc:"true for incoming transactions only, false for outgoing ones only"`
	Wording    string         `query:"wording" max:"200" doc:"part of the label"`
	Search     string         `query:"search" max:"200" doc:"part of the label, the date or a category, or the value"`
	MinValue   httpapi.Number `query:"min_value" doc:"lowest value, signed"`
	MaxValue   httpapi.Number `query:"max_value" doc:"highest value, signed"`
	Value      string         `query:"value" max:"50" doc:"exact value; write 12.50|-12.50 or ±12.50 to match either sign" example:"-12.50"`
}

type listTransactionsOutput struct {
	Transactions  []wire.Transaction `json:"transactions"`
	FirstDate     string             `json:"first_date" doc:"of all stored transactions"`
	LastDate      string             `json:"last_date" doc:"of all stored transactions"`
	ResultMinDate string             `json:"result_min_date" doc:"of the transactions on this page"`
	ResultMaxDate string             `json:"result_max_date" doc:"of the transactions on this page"`
	httpapi.Listing
}

// listOfTransactions is the interface of transactionsOfUser and the three other list inputs.
type listOfTransactions interface {
	place() transactionPlace
	query() transactionQuery
}

func (q transactionQuery) query() transactionQuery { return q }

func listTransactions[In listOfTransactions](s *Service) func(context.Context, *httpapi.Caller, In) (listTransactionsOutput, error) {
	return func(ctx context.Context, c *httpapi.Caller, in In) (listTransactionsOutput, error) {
		q := in.query()
		if err := q.RequireLimit(c); err != nil {
			return listTransactionsOutput{}, err
		}
		at, err := s.settle(ctx, c, in.place())
		if err != nil {
			return listTransactionsOutput{}, err
		}
		filter, err := q.filter(c, at.filter(c))
		if err != nil {
			return listTransactionsOutput{}, err
		}
		span, err := bankstore.From(s.DB).TransactionSpan(ctx, filter)
		if err != nil {
			return listTransactionsOutput{}, fmt.Errorf("find the first and the last transaction of user %d: %w", at.user, err)
		}
		if span.Accounts == 0 {
			return listTransactionsOutput{}, &passerelle.Error{Kind: passerelle.Conflict, Code: "noAccount", Message: "No account is enabled; enable one before listing its transactions."}
		}
		return s.transactionPage(ctx, c, q, filter.Within(span), span)
	}
}

// filter narrows f by the query parameters.
func (q transactionQuery) filter(c *httpapi.Caller, f bankstore.TransactionFilter) (bankstore.TransactionFilter, error) {
	f.All, f.Deleted, f.ByDate, f.Income, f.Wording, f.Search = q.WithDisabled, q.Deleted || q.WithDisabled, q.Filter == "date", q.Income, q.Wording, q.Search
	if !q.From().IsZero() {
		f.From = passerelle.DateOf(q.From(), c.Location)
	}
	if !q.Until().IsZero() {
		f.Until = passerelle.DateOf(q.Until(), c.Location).AddDays(-1)
	}
	if q.LastUpdate != "" {
		since, err := passerelle.ParseInstant("last_update", q.LastUpdate, c.Location)
		if err != nil {
			return f, err
		}
		f.Since = &since
	}
	var err error
	if f.Least, err = bound("min_value", string(q.MinValue)); err != nil {
		return f, err
	}
	if f.Most, err = bound("max_value", string(q.MaxValue)); err != nil {
		return f, err
	}
	f.Values, err = valuesNamed(q.Value)
	return f, err
}

// bound returns the value of a parameter, or nil when the parameter is missing.
func bound(field, text string) (*decimal.Decimal, error) {
	if text == "" {
		return nil, nil
	}
	d, err := decimal.Parse(text)
	if err != nil || !passerelle.IsDecimal(text) || d.Prec() > 18 || d.Scale() > bankstore.ValueDigits {
		return nil, passerelle.InvalidField(field, "must be a number of at most 18 digits, such as -12.50")
	}
	return &d, nil
}

// valuesNamed parses a text such as 12.50, -12.50, 12.50|-12.50 or ±12.50. An empty text gives nil.
func valuesNamed(text string) ([]decimal.Decimal, error) {
	if text == "" {
		return nil, nil
	}
	if size, either := strings.CutPrefix(text, "±"); either {
		text = size + "|-" + size
	}
	var values []decimal.Decimal
	for word := range strings.SplitSeq(text, "|") {
		d, err := bound("value", word)
		if err != nil || d == nil || len(values) == 2 {
			return nil, passerelle.InvalidField("value", "must be a number such as -12.50, two as in 12.50|-12.50, or one with either sign as in ±12.50")
		}
		values = append(values, *d)
	}
	return values, nil
}

func (s *Service) transactionPage(ctx context.Context, c *httpapi.Caller, q transactionQuery, f bankstore.TransactionFilter, span bankstore.TransactionSpan) (listTransactionsOutput, error) {
	fetch := func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]passerelle.Transaction, error) {
		return bankstore.From(r).Transactions(ctx, f, store.Window{Limit: w.Limit, Offset: w.Offset, From: w.From, Backward: w.Backward})
	}
	position := func(t passerelle.Transaction) httpapi.Position {
		return httpapi.Position{f.DayOf(t).String(), int64(t.ID)}
	}
	count := func(ctx context.Context, r *store.Reader) (int64, error) {
		if f.Plain() {
			return span.Transactions, nil
		}
		return bankstore.From(r).CountTransactions(ctx, f)
	}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, q.Paging, fetch, position, count)
	if err != nil {
		return listTransactionsOutput{}, fmt.Errorf("list transactions of user %d: %w", f.User, err)
	}
	out := listTransactionsOutput{Listing: listing}
	s.writeDates(c, f, span, rows, &out)
	shown, err := s.embedding(c).transactions(ctx, rows, span, q.Expansion())
	out.Transactions = shown.list
	return out, err
}

// writeDates sets the four dates of the response. A date that the transactions do not supply is the
// requested date, or today.
func (s *Service) writeDates(c *httpapi.Caller, f bankstore.TransactionFilter, span bankstore.TransactionSpan, page []passerelle.Transaction, out *listTransactionsOutput) {
	today := passerelle.DateOf(c.Domain.Clock.Now(s.Now()), c.Location)
	low, high := or(f.From, today), or(f.Until, today)
	out.FirstDate, out.LastDate = or(span.First, low).String(), or(span.Last, high).String()
	out.ResultMinDate, out.ResultMaxDate = low.String(), high.String()
	if len(page) > 0 {
		out.ResultMinDate, out.ResultMaxDate = f.DayOf(page[len(page)-1]).String(), f.DayOf(page[0]).String()
	}
}

func or(d, otherwise passerelle.Date) passerelle.Date {
	if d.IsZero() {
		return otherwise
	}
	return d
}

// withInformations embeds the notes about each transaction, with one query.
func (s *Service) withInformations(ctx context.Context, c *httpapi.Caller, rows []passerelle.Transaction, shown []wire.Transaction) error {
	place, ids := map[passerelle.TransactionID]map[string]string{}, make([]passerelle.TransactionID, len(rows))
	for i, t := range rows {
		ids[i], place[t.ID] = t.ID, shown[i].Information
	}
	noted, err := bankstore.From(s.DB).Informations(ctx, c.Domain.ID, ids)
	if err != nil {
		return fmt.Errorf("list the information about %d transactions: %w", len(rows), err)
	}
	for _, n := range noted {
		place[n.Transaction][n.Key] = n.Value
	}
	return nil
}

// withCategory embeds the category of each transaction, with one query.
func (s *Service) withCategory(ctx context.Context, c *httpapi.Caller, user passerelle.UserID, shown []wire.Transaction) error {
	own, err := bankstore.From(s.DB).OwnCategories(ctx, c.Domain.ID, user, nil)
	if err != nil {
		return fmt.Errorf("list the categories of user %d: %w", user, err)
	}
	all := map[int64]wire.CategoryDetails{}
	for _, category := range append(passerelle.Categories(), own...) {
		all[int64(category.ID)] = wire.NewCategoryDetails(category)
	}
	for i := range shown {
		if category, there := all[shown[i].IDCategory]; there {
			shown[i].Category = &category
		}
	}
	return nil
}

// namedTransaction is the interface of inputs whose path names a transaction.
type namedTransaction interface {
	place() transactionPlace
	which() passerelle.TransactionID
}

func (in whichTransaction) which() passerelle.TransactionID { return in.Transaction }

// readOfTransaction is the interface of transactionOfUser and the three other read inputs.
type readOfTransaction interface {
	namedTransaction
	Expansion() httpapi.Expansion
}

func oneTransaction[In readOfTransaction](s *Service) func(context.Context, *httpapi.Caller, In) (wire.Transaction, error) {
	return func(ctx context.Context, c *httpapi.Caller, in In) (wire.Transaction, error) {
		return s.readTransaction(ctx, c, in, in.Expansion())
	}
}

func (s *Service) readTransaction(ctx context.Context, c *httpapi.Caller, in namedTransaction, asked httpapi.Expansion) (wire.Transaction, error) {
	at, err := s.settle(ctx, c, in.place())
	if err != nil {
		return wire.Transaction{}, err
	}
	f := at.filter(c)
	f.IDs, f.All, f.Deleted = []passerelle.TransactionID{in.which()}, true, true
	found, err := bankstore.From(s.DB).Transactions(ctx, f, store.Window{Limit: 1})
	if err != nil {
		return wire.Transaction{}, fmt.Errorf("load transaction %d: %w", in.which(), err)
	}
	if len(found) == 0 {
		return wire.Transaction{}, passerelle.Missing()
	}
	shown, err := s.embedding(c).transactions(ctx, found, bankstore.TransactionSpan{}, asked)
	if err != nil {
		return wire.Transaction{}, err
	}
	return shown.list[0], nil
}

type transactionEdit struct {
	Wording         *string          `body:"wording" max:"2048" doc:"the user's own label; empty restores the institution's label"`
	ApplicationDate *string          `body:"application_date" doc:"day that the user assigns the transaction to, YYYY-MM-DD, from 1900 to 2099"`
	Categories      *[]categoryInput `body:"categories" doc:"at most 10, the most specific first; an empty array for none"`
	IDCategory      *int64           `body:"id_category" min:"1" doc:"deprecated, see categories; 9998 for none"`
	Comment         *string          `body:"comment" max:"2048" doc:"empty for none"`
	Active          *bool            `body:"active" doc:"false excludes the transaction from sums"`
}

type categoryInput struct {
	Code       string `body:"code,required" max:"60" doc:"letters, digits, - and _" example:"groceries"`
	ParentCode string `body:"parent_code" max:"60" doc:"letters, digits, - and _; by default, the parent of the built-in category" example:"food"`
}

// editOfTransaction is the interface of editOfUser and the three other edit inputs.
type editOfTransaction interface {
	namedTransaction
	edit() (bankstore.TransactionEdit, error)
	category() *int64
}

func editTransaction[In editOfTransaction](s *Service) func(context.Context, *httpapi.Caller, In) (wire.Transaction, error) {
	return func(ctx context.Context, c *httpapi.Caller, in In) (wire.Transaction, error) {
		edit, err := in.edit()
		if err != nil {
			return wire.Transaction{}, err
		}
		before, err := s.readTransaction(ctx, c, in, nil)
		if err == nil && edit.Categories == nil {
			edit.Categories, err = s.numberedCategory(ctx, c, in.place().user, in.category())
		}
		if err != nil {
			return before, err
		}
		if err := s.Aggregation.EditTransaction(ctx, c.Domain, in.place().user, in.which(), edit); err != nil {
			return before, err
		}
		return s.readTransaction(ctx, c, in, nil)
	}
}

func (in transactionEdit) category() *int64 { return in.IDCategory }

// numberedCategory returns a list with the code of the category that has this id. The list is nil
// without an id. It is empty for the id of uncategorized transactions.
func (s *Service) numberedCategory(ctx context.Context, c *httpapi.Caller, user passerelle.UserID, id *int64) ([]string, error) {
	if id == nil {
		return nil, nil
	}
	found, err := s.Aggregation.Category(ctx, c.Domain, user, passerelle.CategoryID(*id))
	switch {
	case errors.Is(err, passerelle.NotFound):
		return nil, passerelle.InvalidField("id_category", "must be the id of a category of GET /users/me/categories")
	case found.ID == passerelle.Uncategorized:
		return []string{}, nil
	}
	return []string{found.Code}, err
}

// transactionDay reads a day of a transaction. The years are those of imported files.
func transactionDay(field, text string) (passerelle.Date, error) {
	day, err := passerelle.ParseDate(field, text)
	if err == nil && (text < "1900" || text > "2100") {
		err = passerelle.InvalidField(field, "must be from 1900 to 2099")
	}
	return day, err
}

func (in transactionEdit) edit() (bankstore.TransactionEdit, error) {
	e := bankstore.TransactionEdit{Wording: in.Wording, Comment: in.Comment, Active: in.Active}
	if in.ApplicationDate != nil {
		day, err := transactionDay("application_date", *in.ApplicationDate)
		if err != nil {
			return e, err
		}
		e.ApplicationDate = &day
	}
	if in.Categories == nil {
		return e, nil
	}
	if len(*in.Categories) > aggregation.MaxCategories {
		return e, passerelle.InvalidField("categories", "must have at most %d items", aggregation.MaxCategories)
	}
	e.Categories = []string{}
	for i, category := range *in.Categories {
		code, err := category.code(fmt.Sprintf("categories[%d]", i))
		if err != nil {
			return e, err
		}
		e.Categories = append(e.Categories, code)
	}
	return e, nil
}

// code returns the category's full code. With a parent, this is the parent's code, a dot and the
// category's own code. A built-in category has its parent even if the input does not name it.
func (in categoryInput) code(field string) (string, error) {
	for name, code := range map[string]string{".code": in.Code, ".parent_code": in.ParentCode} {
		if strings.Trim(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return "", passerelle.InvalidField(field+name, "must be letters, digits, - and _")
		}
	}
	if in.Code == "" {
		return "", passerelle.MissingField(field+".code", "is required")
	}
	if in.ParentCode == "" {
		return passerelle.WithParent(in.Code), nil
	}
	return in.ParentCode + "." + in.Code, nil
}
