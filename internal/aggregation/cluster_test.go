package aggregation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/store/storetest"
)

func (h *fixture) clusters() []bankstore.StoredCluster {
	h.t.Helper()
	all, err := bankstore.From(h.DB).Clusters(h.t.Context(), bankstore.ClusterFilter{Domain: h.domain.ID, User: h.user.ID}, store.Window{Limit: 100})
	must(h.t, err)
	return all
}

// TestClusters checks that monthly series are found and reported with their transactions. A later
// sync must not write them again.
func TestClusters(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		c, err := h.connect("one", "1234")
		must(t, err)
		h.share(h.accounts(true)[0], true)
		h.events()
		if h.sync() != 1 {
			t.Fatal("nothing was read")
		}
		var found []string
		for _, one := range h.clusters() {
			found = append(found, fmt.Sprint(one.Wording, " ", one.Mean.Sign(), " ", int64(one.Category)))
			if one.Increment < 30 || one.Increment > 31 || !one.Enabled || one.Next.Compare(passerelle.DateOf(h.now, time.UTC)) < 0 {
				t.Errorf("%+v", one)
			}
		}
		want := "VIR SEPA ATELIER DU NORD SALAIRE 1 2, PRLV SEPA AGENCE DU PARC LOYER -1 11, PRLV SEPA ELECTRICITE DU PARC -1 14, PRLV SEPA MOBILE ET INTERNET -1 16"
		if diff := cmp.Diff(sortedWords(want), sortedWords(strings.Join(found, ", "))); diff != "" {
			t.Errorf("clusters (-want +got):\n%s", diff)
		}
		h.clusterEvents(len(found))
		h.sameClusters(c)
		unwanted := h.clusters()[0]
		must(t, h.DeleteCluster(t.Context(), h.domain, h.user.ID, unwanted.ID))
		h.now = h.now.Add(40 * 24 * time.Hour)
		if h.sync() != 1 || len(h.clusters()) != 3 {
			t.Errorf("%d clusters without the one that is unwanted", len(h.clusters()))
		}
		h.share(h.accounts(true)[0], false)
		must(t, h.EraseWithdrawn(t.Context()))
		if rows := storetest.Inspect(t, h.url).Rows(); rows["transaction_cluster"] != 0 || len(h.clusters()) != 0 {
			t.Errorf("%d clusters are left", rows["transaction_cluster"])
		}
	})
}

// TestClusterRemovedDuringASync removes a cluster and changes another, and then makes the writes of
// a sync that began earlier. These writes must not fail, and must undo neither the removal nor the
// change.
func TestClusterRemovedDuringASync(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		_, err := h.connect("one", "1234")
		must(t, err)
		account := h.accounts(true)[0]
		h.share(account, true)
		if h.sync() != 1 {
			t.Fatal("nothing was read")
		}
		before := h.clusters()
		removed, changed := before[0].Cluster, before[1].Cluster
		changed.Wording = "chosen by the user"
		must(t, h.DeleteCluster(t.Context(), h.domain, h.user.ID, removed.ID))
		_, err = h.SaveCluster(t.Context(), h.domain, account, before[1].Cluster, changed)
		must(t, err)
		recent, err := bankstore.From(h.DB).Transactions(t.Context(), bankstore.TransactionFilter{Domain: h.domain.ID, User: h.user.ID, Account: account.ID, Epoch: account.Epoch}, store.Window{Limit: 1})
		must(t, err)
		must(t, h.DB.Write(t.Context(), func(tx *store.Tx) error {
			for _, one := range before[:2] {
				one.Increment = 29
				bankstore.In(tx).RefreshCluster(h.domain.ID, one.Cluster)
			}
			bankstore.In(tx).Cluster(account, removed.ID, []passerelle.TransactionID{recent[0].ID})
			return nil
		}))
		after := h.clusters()
		if got := after[0]; len(after) != len(before)-1 || got.ID != changed.ID || got.Wording != changed.Wording || got.Increment != 29 {
			t.Errorf("%d clusters, the changed one is %+v", len(after), got)
		}
		if n := storetest.Inspect(t, h.url).Count(fmt.Sprintf(`SELECT count(*) FROM bank_transaction WHERE cluster_id = %d`, removed.ID)); n != 0 {
			t.Errorf("%d transactions belong to the removed cluster", n)
		}
	})
}

// TestCreatedClusters checks the largest number of clusters in an account. Removed clusters do not
// count.
func TestCreatedClusters(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		_, err := h.connect("one", "1234")
		must(t, err)
		account := h.share(h.accounts(true)[0], true)
		draft := passerelle.Cluster{Wording: "rent", Mean: decimal.MustNew(-780, 0), Enabled: true}
		create := func() (passerelle.Cluster, error) {
			return h.SaveCluster(t.Context(), h.domain, account, passerelle.Cluster{}, draft)
		}
		created, err := create()
		must(t, err)
		for range 299 {
			_, err := create()
			must(t, err)
		}
		if _, err := create(); !errors.Is(err, passerelle.Conflict) {
			t.Errorf("beyond the limit: %v", err)
		}
		must(t, h.DeleteCluster(t.Context(), h.domain, h.user.ID, created.ID))
		created, err = create()
		must(t, err)
		renamed, dearer := created, created
		renamed.Wording, dearer.Mean = "Loyer", decimal.MustNew(-790, 0)
		for _, changed := range []passerelle.Cluster{renamed, dearer} {
			_, err := h.SaveCluster(t.Context(), h.domain, account, created, changed)
			must(t, err)
		}
		all, err := bankstore.From(h.DB).Clusters(t.Context(), bankstore.ClusterFilter{Domain: h.domain.ID, User: h.user.ID, ID: created.ID}, store.Window{Limit: 2})
		if must(t, err); len(all) != 1 || all[0].Wording != renamed.Wording || all[0].Mean != dearer.Mean {
			t.Errorf("after two changes: %+v", all)
		}
		h.share(account, false)
		if _, err := create(); !errors.Is(err, passerelle.NotFound) {
			t.Errorf("of an account that is no longer shared: %v", err)
		}
	})
}

// TestChangesOfACategory checks that two changes of different fields do not undo each other.
func TestChangesOfACategory(t *testing.T) {
	onEachFixture(t, func(t *testing.T, h *fixture) {
		created, err := h.SaveCategory(t.Context(), h.domain, passerelle.Category{}, passerelle.Category{User: h.user.ID, Name: "Hobby"})
		must(t, err)
		renamed, coloured := created, created
		renamed.Name, coloured.Color = "Music", "2E7D32"
		for _, changed := range []passerelle.Category{renamed, coloured, coloured} {
			_, err := h.SaveCategory(t.Context(), h.domain, created, changed)
			must(t, err)
		}
		got, err := h.Category(t.Context(), h.domain, h.user.ID, created.ID)
		if must(t, err); got.Name != renamed.Name || got.Color != coloured.Color {
			t.Errorf("after two changes: %+v", got)
		}
		unknown := created
		unknown.ID++
		if _, err := h.SaveCategory(t.Context(), h.domain, unknown, unknown); !errors.Is(err, passerelle.NotFound) {
			t.Errorf("a category that does not exist: %v", err)
		}
	})
}

func sortedWords(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.SplitSeq(text, ", ") {
		words[word] = true
	}
	return words
}

func (h *fixture) clusterEvents(n int) {
	h.t.Helper()
	in := map[any]bool{}
	for _, t := range h.lastEventAccounts()[0].(map[string]any)["transactions"].([]any) {
		if id := t.(map[string]any)["id_cluster"]; id != nil {
			in[id] = true
		}
	}
	if len(in) != n {
		h.t.Errorf("transactions of %d clusters are told of, want %d", len(in), n)
	}
}

// sameClusters checks that a repeated read changes no clusters and no transactions.
func (h *fixture) sameClusters(c bankstore.Connection) {
	h.t.Helper()
	eyes := storetest.Inspect(h.t, h.url)
	kept := map[string]string{"clusters": `SELECT * FROM transaction_cluster`, "transactions": `SELECT * FROM bank_transaction`}
	before := eyes.Lines(kept)
	h.now = h.now.Add(time.Hour)
	_, err := h.Resume(h.t.Context(), h.domain, h.user.ID, c.ID, aggregation.Request{})
	must(h.t, err)
	if diff := cmp.Diff(before, eyes.Lines(kept)); diff != "" {
		h.t.Errorf("written (-before +after):\n%s", diff)
	}
	h.events()
}
