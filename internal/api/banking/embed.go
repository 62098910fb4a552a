package banking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// These are the limits of expansions. maxBelow, multiplied by the number of connections in the
// response, limits the accounts or subscriptions of all these connections together. maxRecent
// limits the new transactions of all accounts together. maxEmbedded limits the objects in a
// response. An object counts each time it is written, because nested expansions multiply.
const (
	maxBelow    = 1000
	maxRecent   = 1000
	maxEmbedded = 50_000
)

// rendered is a list of objects that are being rendered. embedded holds the number of objects
// inside each object of the list. embedded is nil when the call requested no expansion of these
// objects.
type rendered[W any] struct {
	list     []W
	embedded []int
}

func show[R, W any](rows []R, asked httpapi.Expansion, render func(R) W) rendered[W] {
	out := rendered[W]{list: make([]W, len(rows))}
	if len(asked) > 0 {
		out.embedded = make([]int, len(rows))
	}
	for i, row := range rows {
		out.list[i] = render(row)
	}
	return out
}

// weight returns how many objects the response contains for one object: the object itself and all
// objects inside it.
func (s rendered[W]) weight(i int) int {
	if s.embedded == nil {
		return 1
	}
	return 1 + s.embedded[i]
}

// bounded fails when the response would contain more than maxEmbedded objects, or when the service
// has no memory for the embedded objects now.
func (s rendered[W]) bounded(ctx context.Context) (rendered[W], error) {
	embedded := 0
	for _, n := range s.embedded {
		embedded += n
	}
	if len(s.list)+embedded > maxEmbedded {
		return s, errTooMany
	}
	return s, httpapi.Reserve(ctx, embedded)
}

// errTooMany says that a response would contain more than maxEmbedded objects.
var errTooMany error = passerelle.InvalidField("expand", "would embed more than %d objects; ask for fewer at once with limit, or nest less", maxEmbedded)

// afterChange renders objects that a call has just changed. It embeds nothing when the response
// would contain too many objects, or when the service has no memory for them now, because a refusal
// would say that the call changed nothing.
func afterChange[R, W any](ctx context.Context, rows []R, asked httpapi.Expansion, render func(context.Context, []R, httpapi.Expansion) (rendered[W], error)) ([]W, error) {
	out, err := render(ctx, rows, asked)
	if errors.Is(err, errTooMany) || errors.Is(err, passerelle.Unavailable) {
		out, err = render(ctx, rows, nil)
	}
	return out.list, err
}

// embedBelow embeds a list of items in the objects that own them. An object without items gets an
// empty list.
func embedBelow[A, B any](above rendered[A], id func(*A) int64, below rendered[B], of func(*B) int64, into func(*A) **[]B) {
	place := make(map[int64]int, len(above.list))
	for i := range above.list {
		*into(&above.list[i]) = &[]B{}
		place[id(&above.list[i])] = i
	}
	for i := range below.list {
		at, there := place[of(&below.list[i])]
		if !there {
			continue
		}
		own := *into(&above.list[at])
		*own = append(*own, below.list[i])
		above.embedded[at] += below.weight(i)
	}
}

// embedAbove embeds the owner of each object.
func embedAbove[A, B any](below rendered[B], of func(*B) int64, above rendered[A], id func(*A) int64, into func(*B) **A) {
	place := make(map[int64]int, len(above.list))
	for i := range above.list {
		place[id(&above.list[i])] = i
	}
	for i := range below.list {
		at, there := place[of(&below.list[i])]
		if !there {
			continue
		}
		*into(&below.list[i]) = &above.list[at]
		below.embedded[i] += above.weight(at)
	}
}

// embedding renders the calling user's objects with expansions. The number of queries does not
// depend on the number of objects.
type embedding struct {
	*Service
	c *httpapi.Caller
}

func (s *Service) embedding(c *httpapi.Caller) embedding { return embedding{s, c} }

// embeds is one possible expansion. It has a name and the function that embeds the objects.
type embeds struct {
	name string
	with func(asked httpapi.Expansion) error
}

// embed runs the requested expansions in the order of the table.
func embed[W any](ctx context.Context, out rendered[W], asked httpapi.Expansion, table ...embeds) (rendered[W], error) {
	for _, e := range table {
		if len(out.list) == 0 || !asked.Has(e.name) {
			continue
		}
		if err := e.with(asked.In(e.name)); err != nil {
			return out, err
		}
	}
	return out.bounded(ctx)
}

func (e embedding) connections(ctx context.Context, rows []bankstore.Connection, asked httpapi.Expansion) (rendered[wire.Connection], error) {
	ids := make([]passerelle.ConnectionID, len(rows))
	for i, one := range rows {
		ids[i] = one.ID
	}
	out := show(rows, asked, func(one bankstore.Connection) wire.Connection { return e.Aggregation.Show(one, e.c.Location) })
	accounts := func(all bool, into func(*wire.Connection) **[]wire.BankAccount) func(httpapi.Expansion) error {
		return func(asked httpapi.Expansion) error { return e.accountsBelow(ctx, out, ids, all, asked, into) }
	}
	subscriptions := func(all bool, into func(*wire.Connection) **[]wire.Subscription) func(httpapi.Expansion) error {
		return func(asked httpapi.Expansion) error {
			return e.subscriptionsBelow(ctx, out, ids, all, asked, into)
		}
	}
	return embed(ctx, out, asked,
		embeds{"connector", e.connectors(out, func(one *wire.Connection) **wire.Connector { return &one.Connector })},
		embeds{"bank", e.connectors(out, func(one *wire.Connection) **wire.Connector { return &one.Bank })},
		embeds{"sources", func(httpapi.Expansion) error { return e.sources(ctx, out, ids) }},
		embeds{"accounts", accounts(false, func(one *wire.Connection) **[]wire.BankAccount { return &one.Accounts })},
		embeds{"all_accounts", accounts(true, func(one *wire.Connection) **[]wire.BankAccount { return &one.AllAccounts })},
		embeds{"subscriptions", subscriptions(false, func(one *wire.Connection) **[]wire.Subscription { return &one.Subscriptions })},
		embeds{"all_subscriptions", subscriptions(true, func(one *wire.Connection) **[]wire.Subscription { return &one.AllSubscriptions })})
}

func (e embedding) connectors(of rendered[wire.Connection], into func(*wire.Connection) **wire.Connector) func(httpapi.Expansion) error {
	return func(asked httpapi.Expansion) error {
		for i := range of.list {
			*into(&of.list[i]) = e.Aggregation.Connector(of.list[i].ConnectorUUID, e.c.Settings, ConnectorView(asked))
			of.embedded[i]++
		}
		return nil
	}
}

func (e embedding) sources(ctx context.Context, of rendered[wire.Connection], ids []passerelle.ConnectionID) error {
	sources, err := bankstore.From(e.DB).SourcesOf(ctx, e.c.Domain.ID, ids...)
	if err != nil {
		return fmt.Errorf("list the sources of connections: %w", err)
	}
	by := map[int64][]bankstore.ConnectionSource{}
	for _, source := range sources {
		by[int64(source.Connection)] = append(by[int64(source.Connection)], source)
	}
	for i := range of.list {
		own := by[of.list[i].ID]
		of.list[i].Sources = aggregation.ShowSources(own, e.c.Location)
		of.embedded[i] += len(own)
	}
	return nil
}

func connectionID(one *wire.Connection) int64 { return one.ID }

func (e embedding) accountsBelow(ctx context.Context, of rendered[wire.Connection], ids []passerelle.ConnectionID, all bool, asked httpapi.Expansion, into func(*wire.Connection) **[]wire.BankAccount) error {
	filter := bankstore.AccountFilter{Domain: e.c.Domain.ID, User: e.c.User, Connections: ids, All: all}
	rows, err := bankstore.From(e.DB).BankAccounts(ctx, filter, store.Window{Limit: maxBelow * len(ids)})
	if err != nil {
		return fmt.Errorf("list the accounts of connections: %w", err)
	}
	below, err := e.accounts(ctx, rows, asked)
	if err == nil {
		embedBelow(of, connectionID, below, func(a *wire.BankAccount) int64 { return a.IDConnection }, into)
	}
	return err
}

func (e embedding) subscriptionsBelow(ctx context.Context, of rendered[wire.Connection], ids []passerelle.ConnectionID, all bool, asked httpapi.Expansion, into func(*wire.Connection) **[]wire.Subscription) error {
	filter := bankstore.SubscriptionFilter{Domain: e.c.Domain.ID, User: e.c.User, Connections: ids, All: all}
	rows, err := bankstore.From(e.DB).Subscriptions(ctx, filter, store.Window{Limit: maxBelow * len(ids)})
	if err != nil {
		return fmt.Errorf("list the subscriptions of connections: %w", err)
	}
	below, err := e.subscriptions(ctx, rows, asked)
	if err == nil {
		embedBelow(of, connectionID, below, func(one *wire.Subscription) int64 { return one.IDConnection }, into)
	}
	return err
}

func (e embedding) accounts(ctx context.Context, rows []bankstore.StoredAccount, asked httpapi.Expansion) (rendered[wire.BankAccount], error) {
	ids := make([]passerelle.ConnectionID, len(rows))
	for i, a := range rows {
		ids[i] = a.Connection
	}
	out := show(rows, asked, func(a bankstore.StoredAccount) wire.BankAccount {
		return wire.NewBankAccount(a.BankAccount, e.c.Location)
	})
	return embed(ctx, out, asked,
		embeds{"connection", func(asked httpapi.Expansion) error {
			above, err := e.connectionsAbove(ctx, ids, asked)
			embedAbove(out, func(a *wire.BankAccount) int64 { return a.IDConnection }, above, connectionID, func(a *wire.BankAccount) **wire.Connection { return &a.Connection })
			return err
		}},
		embeds{"transactions", func(asked httpapi.Expansion) error { return e.recentTransactions(ctx, out, ids, asked) }},
		embeds{"investments", func(asked httpapi.Expansion) error { return e.investmentsBelow(ctx, out, rows, asked) }})
}

// investmentsBelow embeds in each account its positions.
func (e embedding) investmentsBelow(ctx context.Context, of rendered[wire.BankAccount], rows []bankstore.StoredAccount, asked httpapi.Expansion) error {
	at, accounts := settled{transactionPlace: transactionPlace{user: e.c.User}}, map[passerelle.AccountID]passerelle.BankAccount{}
	for _, a := range rows {
		accounts[a.ID] = a.BankAccount
	}
	held, err := readBelow[passerelle.InvestmentDetails](ctx, e.Service, at.assets(e.c, bankstore.Investments, false), slices.Sorted(maps.Keys(accounts)))
	if err != nil {
		return fmt.Errorf("list the investments of %d accounts: %w", len(rows), err)
	}
	shown, err := e.showInvestments(ctx, e.c, at, held, accounts, asked)
	if err == nil {
		embedBelow(of, func(a *wire.BankAccount) int64 { return a.ID }, rendered[wire.Investment]{list: shown}, func(i *wire.Investment) int64 { return i.IDAccount },
			func(a *wire.BankAccount) **[]wire.Investment { return &a.Investments })
	}
	return err
}

// readBelow reads the assets of accounts, to embed them. A query names at most maxBelow accounts.
func readBelow[D any](ctx context.Context, s *Service, f bankstore.AssetFilter, accounts []passerelle.AccountID) ([]passerelle.Asset[D], error) {
	var all []passerelle.Asset[D]
	for f.Accounts = range slices.Chunk(accounts, maxBelow) {
		some, err := bankstore.ReadAssets[D](ctx, bankstore.From(s.DB), f, store.Window{Limit: maxEmbedded + 1})
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(all) > maxEmbedded {
			return nil, errTooMany
		}
	}
	return all, nil
}

// connectionsAbove returns connections by id, for accounts or subscriptions that embed them.
func (e embedding) connectionsAbove(ctx context.Context, ids []passerelle.ConnectionID, asked httpapi.Expansion) (rendered[wire.Connection], error) {
	found, err := bankstore.From(e.DB).ConnectionsByID(ctx, e.c.Domain.ID, e.c.User, ids)
	if err != nil {
		return rendered[wire.Connection]{}, fmt.Errorf("load connections by id: %w", err)
	}
	return e.connections(ctx, slices.Collect(maps.Values(found)), asked)
}

// recentTransactions embeds in each account the transactions that the last complete read added or
// changed.
func (e embedding) recentTransactions(ctx context.Context, of rendered[wire.BankAccount], connections []passerelle.ConnectionID, asked httpapi.Expansion) error {
	distinct := slices.Compact(slices.Sorted(slices.Values(connections)))
	rows, err := bankstore.From(e.DB).NewTransactions(ctx, e.c.Domain.ID, e.c.User, distinct, maxRecent)
	if err != nil {
		return fmt.Errorf("list new transactions of connections: %w", err)
	}
	wanted := make(map[int64]bool, len(of.list))
	for i := range of.list {
		wanted[of.list[i].ID] = true
	}
	rows = slices.DeleteFunc(rows, func(t passerelle.Transaction) bool { return !wanted[int64(t.Account)] })
	below, err := e.transactions(ctx, rows, bankstore.TransactionSpan{}, asked)
	if err == nil {
		embedBelow(of, func(a *wire.BankAccount) int64 { return a.ID }, below, func(t *wire.Transaction) int64 { return t.IDAccount },
			func(a *wire.BankAccount) **[]wire.Transaction { return &a.Transactions })
	}
	return err
}

func (e embedding) subscriptions(ctx context.Context, rows []bankstore.StoredSubscription, asked httpapi.Expansion) (rendered[wire.Subscription], error) {
	ids := make([]passerelle.ConnectionID, len(rows))
	for i, one := range rows {
		ids[i] = one.Connection
	}
	out := show(rows, asked, func(one bankstore.StoredSubscription) wire.Subscription {
		return wire.NewSubscription(one.Subscription, e.c.Location)
	})
	return embed(ctx, out, asked, embeds{"connection", func(asked httpapi.Expansion) error {
		above, err := e.connectionsAbove(ctx, ids, asked)
		embedAbove(out, func(one *wire.Subscription) int64 { return one.IDConnection }, above, connectionID, func(one *wire.Subscription) **wire.Connection { return &one.Connection })
		return err
	}})
}

// transactions renders transactions with the currencies of their accounts. span may already contain
// these currencies.
func (e embedding) transactions(ctx context.Context, rows []passerelle.Transaction, span bankstore.TransactionSpan, asked httpapi.Expansion) (rendered[wire.Transaction], error) {
	accounts, err := e.accountsAbove(ctx, rows, span, asked.Has("account"))
	if err != nil {
		return rendered[wire.Transaction]{}, fmt.Errorf("load the accounts of %d transactions: %w", len(rows), err)
	}
	out := show(rows, asked, func(t passerelle.Transaction) wire.Transaction {
		return wire.NewTransaction(t, accounts[t.Account].Currency, e.c.Location)
	})
	return embed(ctx, out, asked,
		embeds{"account", func(asked httpapi.Expansion) error {
			above, err := e.accounts(ctx, slices.Collect(maps.Values(accounts)), asked)
			embedAbove(out, func(t *wire.Transaction) int64 { return t.IDAccount }, above, func(a *wire.BankAccount) int64 { return a.ID },
				func(t *wire.Transaction) **wire.BankAccount { return &t.Account })
			return err
		}},
		embeds{"documents", func(asked httpapi.Expansion) error { return e.documentsBelow(ctx, out, asked) }},
		embeds{"informations", func(httpapi.Expansion) error { return e.withInformations(ctx, e.c, rows, out.list) }},
		embeds{"attachments", func(httpapi.Expansion) error { return e.attachmentsBelow(ctx, out) }},
		embeds{"category", func(httpapi.Expansion) error { return e.withCategory(ctx, e.c, e.c.User, out.list) }})
}

// accountsAbove returns the accounts of transactions. It makes no query when the caller needs only
// currencies and span contains all of them.
func (e embedding) accountsAbove(ctx context.Context, rows []passerelle.Transaction, span bankstore.TransactionSpan, whole bool) (map[passerelle.AccountID]bankstore.StoredAccount, error) {
	accounts := map[passerelle.AccountID]bankstore.StoredAccount{}
	ids, known := []passerelle.AccountID{}, !whole
	for _, t := range rows {
		if _, seen := accounts[t.Account]; seen {
			continue
		}
		currency, noted := span.Currency(t.Account)
		accounts[t.Account] = bankstore.StoredAccount{BankAccount: passerelle.BankAccount{AccountDetails: passerelle.AccountDetails{Currency: currency}}}
		ids, known = append(ids, t.Account), known && noted
	}
	if known || len(ids) == 0 {
		return accounts, nil
	}
	found, err := bankstore.From(e.DB).BankAccounts(ctx, bankstore.AccountFilter{Domain: e.c.Domain.ID, User: e.c.User, IDs: ids, All: true}, store.Window{Limit: len(ids)})
	for _, a := range found {
		accounts[a.ID] = a
	}
	return accounts, err
}

// documentsBelow embeds the attached documents of each transaction.
func (e embedding) documentsBelow(ctx context.Context, of rendered[wire.Transaction], asked httpapi.Expansion) error {
	ids := make([]passerelle.TransactionID, len(of.list))
	for i := range of.list {
		ids[i], of.list[i].Documents = passerelle.TransactionID(of.list[i].ID), &[]wire.Document{}
	}
	found, err := bankstore.From(e.DB).DocumentsOf(ctx, bankstore.DocumentFilter{Domain: e.c.Domain.ID, User: e.c.User}, ids)
	if err != nil {
		return fmt.Errorf("list the documents of %d transactions: %w", len(ids), err)
	}
	rows, place := make([]bankstore.StoredDocument, len(found)), make(map[passerelle.TransactionID]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	for i, d := range found {
		rows[i] = d.StoredDocument
	}
	below, err := e.documents(ctx, rows, asked)
	if err != nil {
		return err
	}
	// One document can be attached to several transactions.
	for i, d := range found {
		at := place[d.Transaction]
		*of.list[at].Documents = append(*of.list[at].Documents, below.list[i])
		of.embedded[at] += below.weight(i)
	}
	return nil
}

func (e embedding) attachmentsBelow(ctx context.Context, of rendered[wire.Transaction]) error {
	if err := e.withAttachments(ctx, e.c, e.c.User, of.list); err != nil {
		return err
	}
	for i := range of.list {
		of.embedded[i] += len(*of.list[i].Attachments)
	}
	return nil
}

func (e embedding) documents(ctx context.Context, rows []bankstore.StoredDocument, asked httpapi.Expansion) (rendered[wire.Document], error) {
	out := show(rows, asked, func(d bankstore.StoredDocument) wire.Document {
		return aggregation.ShowDocument(e.c.Base, d.Document, e.c.Location)
	})
	return embed(ctx, out, asked, embeds{"type", func(httpapi.Expansion) error {
		types, err := e.documentTypes(ctx, e.c)
		if err != nil {
			return err
		}
		for i, d := range rows {
			out.list[i].Type = &types[passerelle.DocumentTypeNumber(d.Type)-1]
		}
		return nil
	}})
}

// ConnectorView returns the view of a connector with the requested expansions.
func ConnectorView(asked httpapi.Expansion) wire.ConnectorView {
	return wire.ConnectorView{
		Fields: asked.Has("fields"), PaymentFields: asked.Has("payment_fields"), Countries: asked.Has("countries"), Sources: asked.Has("sources"), URLs: asked.Has("urls"),
	}
}
