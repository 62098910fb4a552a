package wire

import (
	"encoding/json"

	"passerelle"
)

// TransactionsCluster is a series of recurring transactions.
type TransactionsCluster struct {
	ID              int64       `json:"id"`
	IDAccount       int64       `json:"id_account"`
	MeanAmount      json.Number `json:"mean_amount"`
	MedianIncrement *int        `json:"median_increment" doc:"median number of days between two transactions"`
	Enabled         bool        `json:"enabled"`
	NextDate        *string     `json:"next_date" doc:"date when the next transaction is expected"`
	Wording         string      `json:"wording"`
	IDCategory      int64       `json:"id_category"`
	CreatedBy       string      `json:"created_by" doc:"clustering or user"`
}

// NewTransactionsCluster renders a cluster.
func NewTransactionsCluster(c passerelle.Cluster) TransactionsCluster {
	out := TransactionsCluster{
		ID: int64(c.ID), IDAccount: int64(c.Account), MeanAmount: json.Number(c.Mean.String()), MedianIncrement: optional(c.Increment), Enabled: c.Enabled,
		NextDate: date(c.Next), Wording: c.Wording, IDCategory: int64(c.Category), CreatedBy: "clustering",
	}
	if c.Key == "" {
		out.CreatedBy = "user"
	}
	return out
}
