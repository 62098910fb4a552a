package bankstore

import (
	"context"
	"fmt"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// ClusterFilter selects clusters of a user. User is required: the filter selects nothing without
// it.
type ClusterFilter struct {
	Domain     passerelle.DomainID
	User       passerelle.UserID
	Connection passerelle.ConnectionID // zero for all
	Account    passerelle.AccountID    // zero for all
	ID         passerelle.ClusterID    // zero for all
	// All includes disabled clusters, and clusters of disabled and deleted accounts.
	All bool
}

const clusterSource = `transaction_cluster s CROSS JOIN bank_account a WHERE a.id = s.account_id AND a.epoch = s.epoch AND s.deleted IS NULL AND `

func (f ClusterFilter) where() *database.Clauses {
	var c database.Clauses
	TransactionFilter{Domain: f.Domain, User: f.User, Connection: f.Connection, Account: f.Account, All: f.All}.accounts(&c)
	c.And("s.domain_id = %s AND s.user_id = %s", int64(f.Domain), int64(f.User))
	if f.Account != 0 {
		c.And("s.account_id = %s", int64(f.Account))
	}
	if f.ID != 0 {
		c.And("s.id = %s", int64(f.ID))
	}
	if !f.All {
		c.And("s.enabled")
	}
	return &c
}

const clusterColumns = `s.id, s.account_id, s.key, s.wording, s.mean, s.increment, s.next_date, s.category, s.enabled, s.deleted IS NOT NULL`

// StoredCluster is a cluster in its stored form. Deleted is set when the user has removed the
// cluster.
type StoredCluster struct {
	passerelle.Cluster
	Deleted bool
}

func scanCluster(row database.Row) (StoredCluster, error) {
	var (
		c         StoredCluster
		key, next *string
		mean      string
	)
	err := row.Scan(&c.ID, &c.Account, &key, &c.Wording, &mean, &c.Increment, &next, &c.Category, &c.Enabled, &c.Deleted)
	if err != nil {
		return c, err
	}
	c.Key = database.Text[string](key)
	if c.Mean, err = decimal.Parse(mean); err != nil {
		return c, fmt.Errorf("read the amount of cluster %d: %w", c.ID, err)
	}
	c.Next, err = database.Date(next)
	return c, err
}

// Clusters lists clusters, ordered by id.
func (r Reader) Clusters(ctx context.Context, f ClusterFilter, w store.Window) ([]StoredCluster, error) {
	c, p := f.where(), w.ByID()
	c.And("s.id "+p.Sign+" %s", p.From)
	return database.Collect(ctx, r.rows, scanCluster, `SELECT `+clusterColumns+` FROM `+clusterSource+c.String()+` ORDER BY s.id `+p.Order+` LIMIT `+c.Bind(w.Limit)+` OFFSET `+c.Bind(w.Offset), c.Args...)
}

// CountClusters returns the number of clusters that a filter selects.
func (r Reader) CountClusters(ctx context.Context, f ClusterFilter) (int64, error) {
	c := f.where()
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM `+clusterSource+c.String(), c.Args...)
}

// ClustersOf lists at most limit clusters that syncs have found in an account, including clusters
// that the user removed.
func (r Reader) ClustersOf(ctx context.Context, a StoredAccount, limit int) ([]StoredCluster, error) {
	return database.Collect(ctx, r.rows, scanCluster, `SELECT `+clusterColumns+` FROM transaction_cluster s WHERE s.account_id = $1 AND s.epoch = $2 AND s.key IS NOT NULL ORDER BY s.id LIMIT $3`,
		int64(a.ID), a.Epoch, limit)
}

// CreateCluster stores a cluster of an account and sets its id. Write fails with the caller's error
// when the account already has the maximum number of clusters. Clusters that the user removed do
// not count. Write fails with ErrConflict when the user has stopped sharing the account since the
// account was read.
func (tx Tx) CreateCluster(domain passerelle.DomainID, a StoredAccount, c *passerelle.Cluster, most int, beyond error) error {
	id, err := tx.unit.NewID("transaction_cluster")
	if err != nil {
		return err
	}
	c.ID, c.Account = passerelle.ClusterID(id), a.ID
	tx.HoldAccount(domain, a)
	tx.unit.ExecOne(beyond, `INSERT INTO transaction_cluster (id, domain_id, user_id, account_id, epoch, key, wording, mean, increment, next_date, category, enabled)
		SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT), a.id, a.epoch, CAST($6 AS TEXT), CAST($7 AS TEXT), CAST($8 AS TEXT), CAST($9 AS BIGINT), CAST($10 AS TEXT), CAST($11 AS BIGINT), CAST($12 AS BOOLEAN)
		FROM bank_account a WHERE a.id = $4 AND a.epoch = $5 AND (SELECT count(*) FROM transaction_cluster s WHERE s.account_id = a.id AND s.epoch = a.epoch AND s.deleted IS NULL) < $13`,
		id, int64(domain), int64(a.User), int64(a.ID), a.Epoch, database.OptionalText(c.Key), c.Wording, c.Mean.String(), c.Increment, database.OptionalDate(c.Next), int64(c.Category), c.Enabled, most)
	return nil
}

// UpdateCluster stores a changed cluster. It writes only the fields that differ between former and
// c, so that it does not undo a concurrent change. Write fails with ErrNotFound when the user has
// no such cluster.
func (tx Tx) UpdateCluster(domain passerelle.DomainID, user passerelle.UserID, former, c passerelle.Cluster) {
	values := func(c passerelle.Cluster) []any {
		return []any{c.Wording, c.Mean.String(), c.Increment, database.OptionalDate(c.Next), int64(c.Category), c.Enabled}
	}
	var b database.Clauses
	set := database.Changed(&b, []string{"wording", "mean", "increment", "next_date", "category", "enabled"}, values(former), values(c))
	b.And("+domain_id = %s AND +user_id = %s AND id = %s AND deleted IS NULL", int64(domain), int64(user), int64(c.ID))
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE transaction_cluster SET `+set+` WHERE `+b.String(), b.Args...)
}

// RefreshCluster stores the values that a sync has computed for a cluster. It leaves the wording,
// the category and Enabled unchanged. It does nothing when the user has removed the cluster in the
// meantime.
func (tx Tx) RefreshCluster(domain passerelle.DomainID, c passerelle.Cluster) {
	tx.unit.Exec(`UPDATE transaction_cluster SET mean = $1, increment = $2, next_date = $3 WHERE +domain_id = $4 AND id = $5 AND deleted IS NULL`,
		c.Mean.String(), c.Increment, database.OptionalDate(c.Next), int64(domain), int64(c.ID))
}

// DeleteCluster removes a cluster. If a sync found the cluster, DeleteCluster records that the user
// removed it, so that no sync creates it again. The transactions of the cluster no longer belong to
// it.
func (tx Tx) DeleteCluster(domain passerelle.DomainID, user passerelle.UserID, id passerelle.ClusterID, at time.Time) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE transaction_cluster SET deleted = $1 WHERE +domain_id = $2 AND +user_id = $3 AND id = $4 AND deleted IS NULL`, database.Micros(at), int64(domain), int64(user), int64(id))
	tx.unit.Exec(`UPDATE bank_transaction SET cluster_id = NULL WHERE cluster_id = $1`, int64(id))
	tx.unit.Exec(`DELETE FROM transaction_cluster WHERE +domain_id = $1 AND id = $2 AND deleted IS NOT NULL AND key IS NULL`, int64(domain), int64(id))
}

// Cluster assigns transactions of an account to a cluster. It does nothing when the user has
// removed the cluster in the meantime.
func (tx Tx) Cluster(a StoredAccount, c passerelle.ClusterID, transactions []passerelle.TransactionID) {
	// The plus signs prevent SQLite from reading the whole account.
	s := database.Among(database.Selection{}.And("+account_id = $%d", int64(a.ID)).And("+epoch = $%d", a.Epoch), "id", transactions)
	cluster := s.Bind(int64(c))
	tx.unit.Exec(`UPDATE bank_transaction SET cluster_id = `+cluster+` WHERE `+s.Conditions()+
		` AND EXISTS (SELECT 1 FROM transaction_cluster s WHERE s.id = `+cluster+` AND s.deleted IS NULL)`, s.Args...)
}
