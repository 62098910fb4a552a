package service

import (
	"context"
	"math"
	"strconv"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// newestIDs returns the ids of a domain's newest objects, and of its first connector. The keys are
// the names of these ids as parameters in paths of the API. newestIDs omits the id of an
// object that does not exist or cannot be read. The examples in the reference have a placeholder
// instead.
func (s *Service) newestIDs(ctx context.Context, d passerelle.Domain) map[string]string {
	newest, ids := store.Window{Descending: true, Limit: 1}, map[string]string{}
	if one, is := first(s.DB.Payments(ctx, store.PaymentFilter{Domain: d.ID}, store.Window{Order: "register_date", Descending: true, Limit: 1}, false)); is {
		ids["paymentId"] = number(one.Payment.ID)
	}
	if one, is := first(s.DB.Webhooks(ctx, store.WebhookFilter{Domain: d.ID}, newest)); is {
		ids["webhookId"] = number(one.ID)
	}
	if one, is := first(s.DB.AuthProviders(ctx, store.ProviderFilter{Domain: d.ID}, newest)); is {
		ids["authId"] = number(one.ID)
	}
	if one, is := first(s.DB.ClientPage(ctx, d.ID, newest)); is {
		ids["clientId"] = number(one.ID)
	}
	if one, is := first(s.Aggregation.Banks(ctx, d)); is {
		ids["connectorId"] = number(one.ID)
	}
	if one, is := first(s.DB.Users(ctx, d.ID, store.UserWindow{Limit: 1, From: math.MaxInt64, Backward: true})); is {
		s.addNewestOf(ctx, d.ID, one.ID, ids)
	}
	return ids
}

// addNewestOf adds the ids of a user's newest objects. The id of the user is "me", because the
// examples use the user's own token.
func (s *Service) addNewestOf(ctx context.Context, d passerelle.DomainID, user passerelle.UserID, ids map[string]string) {
	data, newest := bankstore.From(s.DB), store.Window{Descending: true, Limit: 1}
	ids["userId"] = "me"
	if one, is := first(data.Connections(ctx, d, user, newest)); is {
		ids["connectionId"] = number(one.ID)
	}
	if one, is := first(data.BankAccounts(ctx, bankstore.AccountFilter{Domain: d, User: user}, newest)); is {
		ids["accountId"] = number(one.ID)
	}
	if one, is := first(data.Subscriptions(ctx, bankstore.SubscriptionFilter{Domain: d, User: user}, newest)); is {
		ids["subscriptionId"] = number(one.ID)
	}
}

// first returns the first element of a list. It returns false when reading the list failed, or when
// the list is empty.
func first[T any](all []T, err error) (T, bool) {
	var none T
	if err != nil || len(all) == 0 {
		return none, false
	}
	return all[0], true
}

func number[T ~int64](id T) string { return strconv.FormatInt(int64(id), 10) }
