package aggregation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

const (
	// clusterDepth limits the search for series to this number of an account's last transactions.
	clusterDepth = 1000
	// maxClusters limits the series that the service finds in an account, including series that the
	// user removed. A client can create a cluster while the account has fewer than maxClusters
	// clusters.
	maxClusters = 300
)

// cluster finds the series among the last transactions of an account. It does nothing when no
// transaction is new, changed or deleted.
func (im *importer) cluster(a *syncedAccount) error {
	if !a.changedTransactions {
		return nil
	}
	recent, err := bankstore.From(im.lease.db).Transactions(im.ctx, bankstore.TransactionFilter{Domain: im.lease.domain.ID, User: a.User, Account: a.ID, Epoch: a.Epoch, ByDate: true}, store.Window{Limit: clusterDepth})
	if err != nil {
		return fmt.Errorf("%w: list the last transactions of account %d: %w", errStore, a.ID, err)
	}
	stored, err := bankstore.From(im.lease.db).ClustersOf(im.ctx, a.StoredAccount, maxClusters)
	if err != nil {
		return fmt.Errorf("%w: list the clusters of account %d: %w", errStore, a.ID, err)
	}
	c := clustering{known: map[string]bankstore.StoredCluster{}, in: map[passerelle.TransactionID]passerelle.ClusterID{}}
	for _, one := range stored {
		c.known[one.Key] = one
	}
	for _, t := range recent {
		c.in[t.ID] = passerelle.ClusterID(t.Cluster)
	}
	for _, r := range passerelle.Recurrences(recent) {
		c.compare(r, maxClusters-len(stored))
	}
	if len(c.added) == 0 {
		return nil
	}
	return im.store(func(tx *store.Tx) error { return c.write(tx, im, a.StoredAccount) })
}

// clustering contains the known series of an account, and the series that are new or changed.
type clustering struct {
	known map[string]bankstore.StoredCluster
	in    map[passerelle.TransactionID]passerelle.ClusterID
	added []passerelle.Recurrence
	made  int
}

// compare adds a new or changed series, with the transactions that do not belong to it yet. It
// leaves out each series that the user removed, and each series beyond the limit.
func (c *clustering) compare(r passerelle.Recurrence, room int) {
	before, isKnown := c.known[r.Key]
	if before.Deleted || !isKnown && c.made >= room {
		return
	}
	r.Transactions = slices.DeleteFunc(r.Transactions, func(id passerelle.TransactionID) bool { return isKnown && c.in[id] == before.ID })
	same := isKnown && before.Mean == r.Mean && before.Increment == r.Increment && before.Next == r.Next
	if same && len(r.Transactions) == 0 {
		return
	}
	if isKnown {
		r.ID = before.ID
	} else {
		c.made++
	}
	c.added = append(c.added, r)
}

func (c *clustering) write(tx *store.Tx, im *importer, a bankstore.StoredAccount) error {
	for _, r := range c.added {
		if r.ID != 0 {
			bankstore.In(tx).RefreshCluster(im.lease.domain.ID, r.Cluster)
		} else if err := bankstore.In(tx).CreateCluster(im.lease.domain.ID, a, &r.Cluster, 2*maxClusters, store.ErrConflict); err != nil {
			return err
		}
		if len(r.Transactions) > 0 {
			bankstore.In(tx).Cluster(a, r.ID, r.Transactions)
		}
	}
	return nil
}

// SaveCluster stores a cluster of a user. A cluster without an id is new, and SaveCluster gives it
// an id. For an existing cluster, SaveCluster stores only the fields that differ between the
// arguments former and c. SaveCluster fails with Conflict when the account has too many clusters.
// It fails with NotFound when the cluster does not exist, or when the account is no longer shared.
func (a *Aggregation) SaveCluster(ctx context.Context, d passerelle.Domain, account bankstore.StoredAccount, former, c passerelle.Cluster) (passerelle.Cluster, error) {
	full := &passerelle.Error{Kind: passerelle.Conflict, Code: "conflict", Message: fmt.Sprintf("An account has at most %d clusters; delete one first.", maxClusters)}
	err := a.clusters(ctx, account.User, func(tx *store.Tx) error {
		if c.ID == 0 {
			return bankstore.In(tx).CreateCluster(d.ID, account, &c, maxClusters, full)
		}
		bankstore.In(tx).UpdateCluster(d.ID, account.User, former, c)
		return nil
	})
	return c, err
}

// DeleteCluster deletes a cluster and removes its transactions from it. The service does not
// find the same series again.
func (a *Aggregation) DeleteCluster(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.ClusterID) error {
	return a.clusters(ctx, user, func(tx *store.Tx) error { bankstore.In(tx).DeleteCluster(d.ID, user, id, a.now(d)); return nil })
}

func (a *Aggregation) clusters(ctx context.Context, user passerelle.UserID, fn func(tx *store.Tx) error) error {
	err := a.DB.Write(ctx, fn)
	var refused *passerelle.Error
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
		return passerelle.Missing()
	case err == nil, errors.As(err, &refused):
		return err
	}
	return fmt.Errorf("change the clusters of user %d: %w", user, err)
}
