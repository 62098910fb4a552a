package banking

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) clusterRoutes() []httpapi.Route {
	route := func(method, rest, summary, doc string, e httpapi.Endpoint, codes ...string) httpapi.Route {
		pattern, aliases := everywhere("/transactionsclusters" + rest)
		return httpapi.Route{Method: method, Pattern: pattern, Aliases: aliases, Needs: ofUser, Creates: map[string]string{http.MethodPost: "transaction_cluster"}[method], Endpoint: e, Summary: summary, Doc: doc, Errors: codes}
	}
	return []httpapi.Route{
		route(http.MethodGet, "", "List series of transactions", "Lists the series of recurring transactions of all accounts, or of the account in the path: those that the service found after the last synchronisation, and those created through the API. With all, also lists disabled ones.", httpapi.Handle(s.listClusters)),
		route(http.MethodPost, "", "Create a series of transactions", "Creates a cluster without transactions for the account named in the path or in id_account.", httpapi.Handle(s.createCluster), "conflict"),
		route(http.MethodGet, "/{clusterId}", "Read a series of transactions", "Add all to read a disabled series.", httpapi.Handle(s.oneCluster)),
		route(httpapi.Update, "/{clusterId}", "Change a series of transactions", "Omitted members keep their values. Add all to change a disabled series. Synchronisations overwrite amount, increment and date of clusters that the service found.", httpapi.Handle(s.changeCluster)),
		route(http.MethodDelete, "/{clusterId}", "Delete a series of transactions", "Deletes the cluster. Add all to delete a disabled series. Its transactions stay. Synchronisations do not find the same cluster again.", httpapi.Handle(s.deleteCluster)),
	}
}

type listClustersInput struct {
	anyPlace
	httpapi.All
	httpapi.Paging
}

type listClustersOutput struct {
	Clusters []wire.TransactionsCluster `json:"transactionsclusters"`
	httpapi.Listing
}

// clusters returns a filter for the clusters of a user, or only of a connection or an account.
func (at settled) clusters(c *httpapi.Caller, all bool) bankstore.ClusterFilter {
	return bankstore.ClusterFilter{Domain: c.Domain.ID, User: at.user, Connection: at.connection, Account: at.account, All: all}
}

func (s *Service) listClusters(ctx context.Context, c *httpapi.Caller, in listClustersInput) (listClustersOutput, error) {
	at, err := s.open(ctx, c, in.place(), in.WithDisabled)
	if err != nil {
		return listClustersOutput{}, err
	}
	filter := at.clusters(c, in.WithDisabled)
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]bankstore.StoredCluster, error) {
			return bankstore.From(r).Clusters(ctx, filter, w.OfRows())
		},
		func(one bankstore.StoredCluster) httpapi.Position { return httpapi.Position{int64(one.ID)} },
		func(ctx context.Context, r *store.Reader) (int64, error) {
			return bankstore.From(r).CountClusters(ctx, filter)
		})
	out := listClustersOutput{Clusters: make([]wire.TransactionsCluster, len(rows)), Listing: listing}
	for i, one := range rows {
		out.Clusters[i] = wire.NewTransactionsCluster(one.Cluster)
	}
	return out, err
}

type clusterFields struct {
	MeanAmount httpapi.Number `body:"mean_amount"`
	Increment  *int64         `body:"median_increment" min:"0" max:"3660" doc:"median number of days between two transactions"`
	Enabled    *bool          `body:"enabled"`
	NextDate   *string        `body:"next_date" doc:"YYYY-MM-DD; empty for none"`
	Wording    *string        `body:"wording" max:"2048"`
	IDCategory *int64         `body:"id_category" min:"1"`
}

// onto returns c with the fields of the request applied.
func (in clusterFields) onto(c passerelle.Cluster) (passerelle.Cluster, error) {
	mean, err := bound("mean_amount", string(in.MeanAmount))
	if err != nil {
		return c, err
	}
	if mean != nil {
		c.Mean = *mean
	}
	if in.Increment != nil {
		c.Increment = int(*in.Increment)
	}
	if in.Enabled != nil {
		c.Enabled = *in.Enabled
	}
	if in.Wording != nil {
		c.Wording = *in.Wording
	}
	if c.Wording == "" {
		return c, passerelle.InvalidField("wording", "must not be empty")
	}
	if in.NextDate == nil {
		return c, nil
	}
	if c.Next = (passerelle.Date{}); *in.NextDate != "" {
		c.Next, err = passerelle.ParseDate("next_date", *in.NextDate)
	}
	return c, err
}

// inCategory sets the category of a cluster. It fails when the user has no such category.
func (s *Service) inCategory(ctx context.Context, c *httpapi.Caller, user passerelle.UserID, id *int64, cluster *passerelle.Cluster) error {
	if id == nil {
		return nil
	}
	cluster.Category = passerelle.CategoryID(*id)
	_, err := s.Aggregation.Category(ctx, c.Domain, user, cluster.Category)
	if errors.Is(err, passerelle.NotFound) {
		return passerelle.InvalidField("id_category", "must be the id of a category of GET /users/me/categories")
	}
	return err
}

type createClusterInput struct {
	anyPlace
	IDAccount int64 `body:"id_account" min:"1" doc:"required, unless the path names an account"`
	clusterFields
}

func (s *Service) createCluster(ctx context.Context, c *httpapi.Caller, in createClusterInput) (wire.TransactionsCluster, error) {
	draft, err := in.onto(passerelle.Cluster{Enabled: true, Category: passerelle.Uncategorized})
	if err == nil && in.MeanAmount == "" {
		err = passerelle.MissingField("mean_amount", "is required")
	}
	at := in.place()
	if at.account == 0 {
		at.account = passerelle.AccountID(in.IDAccount)
	}
	if err == nil && at.account == 0 {
		err = passerelle.MissingField("id_account", "is required")
	}
	if err != nil {
		return wire.TransactionsCluster{}, err
	}
	place, err := s.open(ctx, c, at, false)
	if err == nil {
		err = s.inCategory(ctx, c, at.user, in.IDCategory, &draft)
	}
	if err != nil {
		return wire.TransactionsCluster{}, err
	}
	made, err := s.Aggregation.SaveCluster(ctx, c.Domain, *place.named, passerelle.Cluster{}, draft)
	return wire.NewTransactionsCluster(made), err
}

type whichCluster struct {
	anyPlace
	httpapi.All
	Cluster passerelle.ClusterID `path:"clusterId"`
}

func (s *Service) cluster(ctx context.Context, c *httpapi.Caller, in whichCluster) (passerelle.Cluster, error) {
	at, err := s.open(ctx, c, in.place(), in.WithDisabled)
	if err != nil {
		return passerelle.Cluster{}, err
	}
	f := at.clusters(c, in.WithDisabled)
	f.ID = in.Cluster
	found, err := bankstore.From(s.DB).Clusters(ctx, f, store.Window{Limit: 1})
	if err != nil {
		return passerelle.Cluster{}, fmt.Errorf("read cluster %d: %w", in.Cluster, err)
	}
	if len(found) == 0 {
		return passerelle.Cluster{}, passerelle.Missing()
	}
	return found[0].Cluster, nil
}

func (s *Service) oneCluster(ctx context.Context, c *httpapi.Caller, in whichCluster) (wire.TransactionsCluster, error) {
	found, err := s.cluster(ctx, c, in)
	if err != nil {
		return wire.TransactionsCluster{}, err
	}
	return wire.NewTransactionsCluster(found), nil
}

type changeClusterInput struct {
	whichCluster
	clusterFields
}

func (s *Service) changeCluster(ctx context.Context, c *httpapi.Caller, in changeClusterInput) (wire.TransactionsCluster, error) {
	found, err := s.cluster(ctx, c, in.whichCluster)
	if err != nil {
		return wire.TransactionsCluster{}, err
	}
	former := found
	if found, err = in.onto(found); err != nil {
		return wire.TransactionsCluster{}, err
	}
	if err := s.inCategory(ctx, c, in.ID, in.IDCategory, &found); err != nil {
		return wire.TransactionsCluster{}, err
	}
	saved, err := s.Aggregation.SaveCluster(ctx, c.Domain, bankstore.StoredAccount{BankAccount: passerelle.BankAccount{User: in.ID}}, former, found)
	return wire.NewTransactionsCluster(saved), err
}

func (s *Service) deleteCluster(ctx context.Context, c *httpapi.Caller, in whichCluster) (httpapi.Nothing, error) {
	if _, err := s.cluster(ctx, c, in); err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.DeleteCluster(ctx, c.Domain, in.ID, in.Cluster)
}
