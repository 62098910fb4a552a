package bankdata

import (
	"context"
	"fmt"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/protocol"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// maxBelow is how many accounts or subscriptions a connection can have, and
// maxNews how many transactions are embedded in an answer.
const (
	maxBelow = 1000
	maxNews  = 1000
)

// shownConnections are connections of one user on their way into an answer.
type shownConnections struct {
	user passerelle.UserID
	ids  []passerelle.ConnectionID
	list []wire.Connection
}

// embed is what can be embedded in connections. Each costs one query for all of
// them, and so does each name below it.
func (s *Service) embed() map[string]func(context.Context, *protocol.Caller, shownConnections, protocol.Expansion) error {
	return map[string]func(context.Context, *protocol.Caller, shownConnections, protocol.Expansion) error{
		"connector":         s.withConnectors,
		"sources":           s.withSources,
		"accounts":          s.withAccounts(false, func(one *wire.Connection) **[]wire.BankAccount { return &one.Accounts }),
		"all_accounts":      s.withAccounts(true, func(one *wire.Connection) **[]wire.BankAccount { return &one.AllAccounts }),
		"subscriptions":     s.withSubscriptions(false, func(one *wire.Connection) **[]wire.Subscription { return &one.Subscriptions }),
		"all_subscriptions": s.withSubscriptions(true, func(one *wire.Connection) **[]wire.Subscription { return &one.AllSubscriptions }),
	}
}

func (s *Service) withConnectors(_ context.Context, c *protocol.Caller, of shownConnections, asked protocol.Expansion) error {
	for i := range of.list {
		of.list[i].Connector = s.Aggregation.Connector(of.list[i].ConnectorUUID, c.Settings, ConnectorView(asked))
	}
	return nil
}

// connections renders connections of one user with what was asked for besides.
func (s *Service) connections(ctx context.Context, c *protocol.Caller, list []store.Connection, asked protocol.Expansion) ([]wire.Connection, error) {
	of := shownConnections{ids: make([]passerelle.ConnectionID, len(list)), list: make([]wire.Connection, len(list))}
	for i, one := range list {
		of.user, of.ids[i], of.list[i] = one.User, one.ID, s.Aggregation.Show(one, c.Location)
	}
	if len(list) == 0 {
		return of.list, nil
	}
	for name, embed := range s.embed() {
		if !asked.Has(name) {
			continue
		}
		if err := embed(ctx, c, of, asked.In(name)); err != nil {
			return nil, err
		}
	}
	return of.list, nil
}

func (s *Service) withSources(ctx context.Context, c *protocol.Caller, of shownConnections, _ protocol.Expansion) error {
	sources, err := s.DB.SourcesOf(ctx, c.Domain.ID, of.ids...)
	if err != nil {
		return fmt.Errorf("list the sources of connections: %w", err)
	}
	by := map[int64][]store.ConnectionSource{}
	for _, source := range sources {
		by[int64(source.Connection)] = append(by[int64(source.Connection)], source)
	}
	for i := range of.list {
		of.list[i].Sources = aggregation.ShowSources(by[of.list[i].ID], c.Location)
	}
	return nil
}

func (s *Service) withAccounts(all bool, into func(*wire.Connection) **[]wire.BankAccount) func(context.Context, *protocol.Caller, shownConnections, protocol.Expansion) error {
	return func(ctx context.Context, c *protocol.Caller, of shownConnections, asked protocol.Expansion) error {
		filter := store.AccountFilter{Domain: c.Domain.ID, User: of.user, Connections: of.ids, All: all}
		rows, err := s.DB.BankAccounts(ctx, filter, store.Window{Limit: maxBelow * len(of.ids)})
		if err != nil {
			return fmt.Errorf("list the accounts of connections: %w", err)
		}
		shown := shownAccounts(c, rows)
		if asked.Has("transactions") {
			if err := s.withNews(ctx, c, of, rows, shown); err != nil {
				return err
			}
		}
		spread(of.list, shown, into, func(a wire.BankAccount) int64 { return a.IDConnection })
		return nil
	}
}

// withNews puts into accounts what the last synchronisation of their connections
// brought or changed.
func (s *Service) withNews(ctx context.Context, c *protocol.Caller, of shownConnections, rows []store.StoredAccount, shown []wire.BankAccount) error {
	news, err := s.DB.NewTransactions(ctx, c.Domain.ID, of.user, of.ids, maxNews)
	if err != nil {
		return fmt.Errorf("list what is new in connections: %w", err)
	}
	place := map[passerelle.AccountID]int{}
	for i := range rows {
		place[rows[i].ID], shown[i].Transactions = i, &[]wire.Transaction{}
	}
	for _, t := range news {
		if i, there := place[t.Account]; there {
			*shown[i].Transactions = append(*shown[i].Transactions, wire.NewTransaction(t, rows[i].Currency, c.Location))
		}
	}
	return nil
}

func (s *Service) withSubscriptions(all bool, into func(*wire.Connection) **[]wire.Subscription) func(context.Context, *protocol.Caller, shownConnections, protocol.Expansion) error {
	return func(ctx context.Context, c *protocol.Caller, of shownConnections, _ protocol.Expansion) error {
		filter := store.SubscriptionFilter{Domain: c.Domain.ID, User: of.user, Connections: of.ids, All: all}
		rows, err := s.DB.Subscriptions(ctx, filter, store.Window{Limit: maxBelow * len(of.ids)})
		if err != nil {
			return fmt.Errorf("list the subscriptions of connections: %w", err)
		}
		shown := make([]wire.Subscription, len(rows))
		for i, row := range rows {
			shown[i] = wire.NewSubscription(row.Subscription, c.Location)
		}
		spread(of.list, shown, into, func(one wire.Subscription) int64 { return one.IDConnection })
		return nil
	}
}

// spread gives each connection its own of what belongs to several; one without
// any has an empty list.
func spread[T any](list []wire.Connection, below []T, into func(*wire.Connection) **[]T, of func(T) int64) {
	by := map[int64]*[]T{}
	for i := range list {
		by[list[i].ID] = &[]T{}
		*into(&list[i]) = by[list[i].ID]
	}
	for _, one := range below {
		own := by[of(one)]
		*own = append(*own, one)
	}
}

// ConnectorView shows in a connector what was asked for.
func ConnectorView(asked protocol.Expansion) wire.ConnectorView {
	return wire.ConnectorView{
		Fields: asked.Has("fields"), PaymentFields: asked.Has("payment_fields"), Countries: asked.Has("countries"), Sources: asked.Has("sources"), URLs: asked.Has("urls"),
	}
}
