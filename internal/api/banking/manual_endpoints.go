package banking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// The endpoints of this file create and delete transactions that clients supply. A sync neither
// changes nor removes these transactions.

func (s *Service) manualRoutes() []httpapi.Route {
	const place = "/accounts/{accountId}/transactions"
	const within = "/connections/{connectionId}" + place
	pattern, aliases := "/users/{userId}"+place, []string{place, "/users/{userId}" + within, within}
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: pattern, Aliases: aliases, Needs: ofUser, Creates: "bank_transaction", Resumes: true, Endpoint: httpapi.Handle(s.createTransactions), Errors: []string{"conflict"},
			Summary: "Create transactions", Doc: "Creates up to 100 transactions that did not come from the institution. Creates all of them or none. Synchronisations do not change or remove them. The next ACCOUNT_SYNCED reports them. They count in the account's sums, but not in its balance, which comes from the institution.",
		},
		{
			Method: http.MethodDelete, Pattern: pattern, Aliases: aliases, Needs: ofUser, Endpoint: httpapi.Handle(s.deleteTransactions), Errors: []string{"conflict"},
			Summary: "Delete the transactions created through the API", Doc: "Marks the transactions created through the API as deleted. Transactions from the institution stay.",
		},
	}
}

type createTransactionsInput struct {
	anyPlace
	Transactions []newTransaction `body:"transactions,whole"`
}

// newTransaction contains the fields that an institution usually supplies, and the user's own
// fields.
type newTransaction struct {
	Original   string         `body:"original_wording" max:"2048" doc:"the institution's label; by default, the user's label"`
	Simplified string         `body:"simplified_wording" max:"2048"`
	Date       string         `body:"date,required" doc:"booking date, YYYY-MM-DD, from 1900 to 2099"`
	RDate      string         `body:"rdate" doc:"day of the transaction, YYYY-MM-DD, from 1900 to 2099; by default, date"`
	VDate      string         `body:"vdate" doc:"value date, YYYY-MM-DD, from 1900 to 2099"`
	Value      httpapi.Number `body:"value,required" doc:"amount with its sign; negative for outgoing money" example:"-12.50"`
	Type       string         `body:"type" max:"50" doc:"unknown when omitted" example:"card"`
	Coming     bool           `body:"coming" doc:"whether the transaction is still to be booked"`
	Country    string         `body:"country" max:"100"`
	Card       string         `body:"card" max:"100" doc:"card number"`
	transactionEdit
}

// maxCreated is the largest number of transactions that one call may create.
const maxCreated = 100

type createTransactionsOutput struct {
	Transactions []wire.Transaction `json:"transactions" doc:"in the order of the request"`
	Total        int                `json:"total"`
}

func (s *Service) createTransactions(ctx context.Context, c *httpapi.Caller, in createTransactionsInput) (createTransactionsOutput, error) {
	if n := len(in.Transactions); n < 1 || n > maxCreated {
		return createTransactionsOutput{}, passerelle.InvalidField("transactions", "must have from 1 to %d items", maxCreated)
	}
	at, err := s.settle(ctx, c, in.place())
	if err != nil {
		return createTransactionsOutput{}, err
	}
	all := make([]aggregation.ManualTransaction, len(in.Transactions))
	for i, supplied := range in.Transactions {
		if all[i], err = s.manualTransaction(ctx, c, at.user, supplied); err != nil {
			return createTransactionsOutput{}, below(fmt.Sprintf("transactions[%d].", i), err)
		}
	}
	ids := httpapi.MadeIDs[passerelle.TransactionID](c, len(all))
	if ids == nil {
		ids, err = s.Aggregation.CreateTransactions(ctx, c.Domain, *at.named, all)
	}
	if err != nil {
		return createTransactionsOutput{}, err
	}
	return s.createdTransactions(ctx, c, at, ids)
}

// below adds a prefix to the field of an error. It adds the prefix to the message too, because the
// message begins with the field.
func below(place string, err error) error {
	var about *passerelle.Error
	if !errors.As(err, &about) || about.Field == "" {
		return err
	}
	there := *about
	there.Field, there.Message = place+there.Field, place+there.Message
	return &there
}

// renamed replaces the field of an error, if it is the field `former`.
func renamed(err error, former, field string) error {
	var about *passerelle.Error
	if !errors.As(err, &about) || about.Field != former {
		return err
	}
	there := *about
	there.Field, there.Message = field, field+strings.TrimPrefix(there.Message, former)
	return &there
}

func (s *Service) manualTransaction(ctx context.Context, c *httpapi.Caller, user passerelle.UserID, supplied newTransaction) (aggregation.ManualTransaction, error) {
	var (
		out aggregation.ManualTransaction
		err error
	)
	if out.Details, err = supplied.details(); err != nil {
		return out, err
	}
	if out.Edit, err = supplied.edit(); err == nil && out.Edit.Categories == nil {
		out.Edit.Categories, err = s.numberedCategory(ctx, c, user, supplied.category())
	}
	return out, err
}

// details returns the fields that an institution usually supplies.
func (in newTransaction) details() (passerelle.TransactionDetails, error) {
	var (
		d   passerelle.TransactionDetails
		err error
	)
	wording := in.Original
	if wording == "" && in.Wording != nil {
		wording = *in.Wording
	}
	d = passerelle.TransactionDetails{
		Wording: wording, SimplifiedWording: in.Simplified, Coming: in.Coming,
		Type: cmp.Or(passerelle.TransactionType(in.Type), passerelle.UnknownTransaction), Country: in.Country, Card: in.Card,
	}
	switch {
	case d.Wording == "":
		return d, passerelle.MissingField("original_wording", "is required, unless wording is given")
	case !d.Type.Known():
		return d, passerelle.InvalidField("type", "must be a type of transaction, such as card or transfer")
	}
	for _, day := range []struct {
		field, text string
		into        *passerelle.Date
	}{{"date", in.Date, &d.Date}, {"rdate", in.RDate, &d.RDate}, {"vdate", in.VDate, &d.VDate}} {
		if day.text == "" && day.field != "date" {
			continue
		}
		if *day.into, err = transactionDay(day.field, day.text); err != nil {
			return d, err
		}
	}
	if d.RDate.IsZero() {
		d.RDate = d.Date
	}
	d.Value, err = amountOf("value", in.Value)
	return d, err
}

// createdTransactions renders transactions in the order of their ids.
func (s *Service) createdTransactions(ctx context.Context, c *httpapi.Caller, at settled, ids []passerelle.TransactionID) (createTransactionsOutput, error) {
	f := at.filter(c)
	f.IDs = ids
	rows, err := bankstore.From(s.DB).Transactions(ctx, f, store.Window{Limit: len(ids)})
	if err != nil {
		return createTransactionsOutput{}, fmt.Errorf("load %d transactions: %w", len(ids), err)
	}
	slices.SortFunc(rows, func(a, b passerelle.Transaction) int { return cmp.Compare(a.ID, b.ID) })
	shown, err := s.embedding(c).transactions(ctx, rows, bankstore.TransactionSpan{}, nil)
	return createTransactionsOutput{Transactions: shown.list, Total: len(shown.list)}, err
}

func (s *Service) deleteTransactions(ctx context.Context, c *httpapi.Caller, in anyPlace) (httpapi.Nothing, error) {
	at, err := s.settle(ctx, c, in.place())
	if err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.DeleteTransactions(ctx, c.Domain, *at.named)
}
