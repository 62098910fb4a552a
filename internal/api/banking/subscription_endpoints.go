package banking

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) subscriptionRoutes() []httpapi.Route {
	const consentDoc = `With disabled false, records the end user's consent, and the service reads the subscription soon afterwards. With disabled true, ends the consent and deletes the documents. Add all to change a disabled subscription. Several ids, separated by commas, return a list. The subscriptions of one connection change together or not at all.`
	changing := []string{"conflict", "connectionLocked"}
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/subscriptions", Aliases: []string{"/subscriptions"}, Needs: ofUser, Endpoint: httpapi.Handle(s.listSubscriptions),
			Summary: "List subscriptions", Doc: "Lists the subscriptions that the user shares. With all, also lists disabled and deleted ones.",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/connections/{connectionId}/subscriptions", Aliases: []string{"/connections/{connectionId}/subscriptions"},
			Needs: ofUser, Endpoint: httpapi.Handle(s.listSubscriptionsOf), Summary: "List the subscriptions of a connection",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/subscriptions/{subscriptionId}", Aliases: []string{"/subscriptions/{subscriptionId}"},
			Needs: ofUser, Endpoint: httpapi.Handle(s.oneSubscription), Summary: "Read a subscription", Doc: "Add all to read a disabled or deleted subscription.",
		},
		{
			Method: http.MethodGet, Pattern: "/users/{userId}/connections/{connectionId}/subscriptions/{subscriptionId}", Aliases: []string{"/connections/{connectionId}/subscriptions/{subscriptionId}"},
			Needs: ofUser, Endpoint: httpapi.Handle(s.oneSubscriptionOf), Summary: "Read a subscription of a connection", Doc: "Add all to read a disabled or deleted subscription.",
		},
		{
			Method: httpapi.Update, Pattern: "/users/{userId}/subscriptions/{subscriptionId}", Aliases: []string{"/subscriptions/{subscriptionId}"}, Needs: ofUser, Errors: changing,
			Endpoint: httpapi.Handle(s.changeSubscriptions), Summary: "Share or stop sharing a subscription", Doc: consentDoc,
		},
		{
			Method: httpapi.Update, Pattern: "/users/{userId}/subscriptions", Aliases: []string{"/subscriptions"}, Needs: ofUser, Errors: changing, Endpoint: httpapi.Handle(s.changeAllSubscriptions),
			Summary: "Share or stop sharing all subscriptions", Doc: "Changes all subscriptions and returns the list. Disabled subscriptions are included only with all, so add all to share them again. Fails with conflict for more than 1,000 subscriptions.",
		},
	}
}

type subscriptionsOfInput struct {
	Connection passerelle.ConnectionID `path:"connectionId"`
	listSubscriptionsInput
}

type listSubscriptionsInput struct {
	oneUserInput
	httpapi.All
	httpapi.Paging
	httpapi.Expand[wire.Subscription]
}

type listSubscriptionsOutput struct {
	Subscriptions []wire.Subscription `json:"subscriptions"`
	httpapi.Listing
}

func (s *Service) listSubscriptionsOf(ctx context.Context, c *httpapi.Caller, in subscriptionsOfInput) (listSubscriptionsOutput, error) {
	user, err := in.theirs(c)
	if err != nil {
		return listSubscriptionsOutput{}, err
	}
	if _, err := s.Aggregation.Connection(ctx, c.Domain, user, in.Connection); err != nil {
		return listSubscriptionsOutput{}, err
	}
	return s.subscriptionsOf(ctx, c, in.Connection, in.listSubscriptionsInput)
}

func (s *Service) listSubscriptions(ctx context.Context, c *httpapi.Caller, in listSubscriptionsInput) (listSubscriptionsOutput, error) {
	return s.subscriptionsOf(ctx, c, 0, in)
}

// subscriptionsOf lists the subscriptions of a connection. A zero connection means all connections.
func (s *Service) subscriptionsOf(ctx context.Context, c *httpapi.Caller, connection passerelle.ConnectionID, in listSubscriptionsInput) (listSubscriptionsOutput, error) {
	user, err := in.theirs(c)
	if err != nil {
		return listSubscriptionsOutput{}, err
	}
	filter := bankstore.SubscriptionFilter{Domain: c.Domain.ID, User: user, Connection: connection, All: in.WithDisabled}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]bankstore.StoredSubscription, error) {
			return bankstore.From(r).Subscriptions(ctx, filter, w.OfRows())
		},
		func(one bankstore.StoredSubscription) httpapi.Position { return httpapi.Position{int64(one.ID)} },
		func(ctx context.Context, r *store.Reader) (int64, error) {
			return bankstore.From(r).CountSubscriptions(ctx, filter)
		})
	if err != nil {
		return listSubscriptionsOutput{}, err
	}
	shown, err := s.showSubscriptions(ctx, c, rows, in.Expansion())
	return listSubscriptionsOutput{Subscriptions: shown, Listing: listing}, err
}

// showSubscriptions renders one user's subscriptions with the requested expansions.
func (s *Service) showSubscriptions(ctx context.Context, c *httpapi.Caller, rows []bankstore.StoredSubscription, e httpapi.Expansion) ([]wire.Subscription, error) {
	shown, err := s.embedding(c).subscriptions(ctx, rows, e)
	return shown.list, err
}

type subscriptionPath struct {
	oneUserInput
	ID passerelle.SubscriptionID `path:"subscriptionId"`
	httpapi.All
}

type oneSubscriptionInput struct {
	subscriptionPath
	httpapi.Expand[wire.Subscription]
}

type oneSubscriptionOfInput struct {
	Connection passerelle.ConnectionID `path:"connectionId"`
	subscriptionPath
	httpapi.Expand[wire.Subscription]
}

func (s *Service) oneSubscription(ctx context.Context, c *httpapi.Caller, in oneSubscriptionInput) (wire.Subscription, error) {
	return s.subscription(ctx, c, 0, in.subscriptionPath, in.Expansion())
}

func (s *Service) oneSubscriptionOf(ctx context.Context, c *httpapi.Caller, in oneSubscriptionOfInput) (wire.Subscription, error) {
	return s.subscription(ctx, c, in.Connection, in.subscriptionPath, in.Expansion())
}

// subscription reads a subscription of a connection. A zero connection means any connection.
func (s *Service) subscription(ctx context.Context, c *httpapi.Caller, connection passerelle.ConnectionID, in subscriptionPath, e httpapi.Expansion) (wire.Subscription, error) {
	found, err := s.subscriptions(ctx, c, in.oneUserInput, bankstore.SubscriptionFilter{Connection: connection, IDs: []passerelle.SubscriptionID{in.ID}, All: in.WithDisabled})
	if err != nil {
		return wire.Subscription{}, err
	}
	shown, err := s.showSubscriptions(ctx, c, found, e)
	if err != nil {
		return wire.Subscription{}, err
	}
	return shown[0], nil
}

// subscriptions loads those subscriptions of a user that the filter names. It fails when a named
// subscription is missing.
func (s *Service) subscriptions(ctx context.Context, c *httpapi.Caller, u oneUserInput, f bankstore.SubscriptionFilter) ([]bankstore.StoredSubscription, error) {
	user, err := u.theirs(c)
	if err != nil {
		return nil, err
	}
	f.Domain, f.User, f.IDs = c.Domain.ID, user, slices.Compact(slices.Sorted(slices.Values(f.IDs)))
	found, err := bankstore.From(s.DB).Subscriptions(ctx, f, store.Window{Limit: len(f.IDs)})
	if err != nil {
		return nil, fmt.Errorf("load subscriptions: %w", err)
	}
	if len(found) < len(f.IDs) {
		return nil, passerelle.Missing()
	}
	return found, nil
}

type changeSubscriptionsInput struct {
	oneUserInput
	IDs []passerelle.SubscriptionID `path:"subscriptionId" doc:"id of the subscription, or several ids separated by commas"`
	httpapi.All
	httpapi.Expand[wire.Subscription]
	Disabled *bool `body:"disabled" doc:"false shares the subscription, true stops sharing it"`
}

type changeAllSubscriptionsInput struct {
	oneUserInput
	httpapi.All
	httpapi.Expand[wire.Subscription]
	Disabled *bool `body:"disabled" doc:"false shares the subscriptions, true stops sharing them"`
}

func (s *Service) changeAllSubscriptions(ctx context.Context, c *httpapi.Caller, in changeAllSubscriptionsInput) (severalSubscriptions, error) {
	user, err := in.theirs(c)
	if err != nil {
		return severalSubscriptions{}, err
	}
	rows, err := bankstore.From(s.DB).Subscriptions(ctx, bankstore.SubscriptionFilter{Domain: c.Domain.ID, User: user, All: in.WithDisabled}, store.Window{Limit: maxChanged + 1})
	if err != nil {
		return severalSubscriptions{}, fmt.Errorf("load subscriptions: %w", err)
	}
	if len(rows) > maxChanged {
		return severalSubscriptions{}, passerelle.Conflicting("there are more than %d subscriptions; name those to change, separated by commas", maxChanged)
	}
	filter := bankstore.SubscriptionFilter{All: true}
	for _, one := range rows {
		filter.IDs = append(filter.IDs, one.ID)
	}
	if len(rows) == 0 {
		return severalSubscriptions{Subscriptions: []wire.Subscription{}}, nil
	}
	err = s.Aggregation.ChangeSubscriptions(ctx, c.Domain, user, filter.IDs, aggregation.SubscriptionChange{Disabled: in.Disabled, Origin: "api"})
	if err != nil {
		return severalSubscriptions{}, err
	}
	changed, err := s.subscriptions(ctx, c, in.oneUserInput, filter)
	if err != nil {
		return severalSubscriptions{}, err
	}
	shown, err := afterChange(ctx, changed, in.Expansion(), s.embedding(c).subscriptions)
	return severalSubscriptions{Subscriptions: shown, Total: len(shown)}, err
}

// changedSubscriptions contains one changed subscription, or a list when the path names several
// subscriptions.
type changedSubscriptions struct {
	*wire.Subscription
	*severalSubscriptions
}

type severalSubscriptions struct {
	Subscriptions []wire.Subscription `json:"subscriptions" doc:"when the path names several"`
	Total         int                 `json:"total"`
}

func (s *Service) changeSubscriptions(ctx context.Context, c *httpapi.Caller, in changeSubscriptionsInput) (changedSubscriptions, error) {
	filter := bankstore.SubscriptionFilter{IDs: in.IDs, All: in.WithDisabled}
	if _, err := s.subscriptions(ctx, c, in.oneUserInput, filter); err != nil {
		return changedSubscriptions{}, err
	}
	err := s.Aggregation.ChangeSubscriptions(ctx, c.Domain, c.User, in.IDs, aggregation.SubscriptionChange{Disabled: in.Disabled, Origin: "api"})
	if err != nil {
		return changedSubscriptions{}, err
	}
	filter.All = true
	found, err := s.subscriptions(ctx, c, in.oneUserInput, filter)
	if err != nil {
		return changedSubscriptions{}, err
	}
	shown, err := afterChange(ctx, found, in.Expansion(), s.embedding(c).subscriptions)
	if err != nil || len(in.IDs) > 1 {
		return changedSubscriptions{severalSubscriptions: &severalSubscriptions{Subscriptions: shown, Total: len(shown)}}, err
	}
	return changedSubscriptions{Subscription: &shown[0]}, nil
}
