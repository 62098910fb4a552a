package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"passerelle"
	"passerelle/internal/wire"
)

// pages returns the rows about long lists of transactions.
func pages() []row {
	var all []row
	for _, kind := range []string{sqlite, postgres} {
		for _, which := range []string{firstPage, lastPage} {
			all = append(all, row{
				name: which + " page of 100 transactions out of a million, " + kind, goal: 0.6,
				limit: "the rows of the page by the bare driver and a key, encode; no authentication, no total, no first and last day",
				open:  func(ctx context.Context, p *place) (side, side, error) { return pageBesideLimit(ctx, p, kind, which) },
			})
		}
	}
	return all
}

const (
	firstPage = "first"
	lastPage  = "last"

	manyTransactions = 1_000_000
	pageOf           = 100
	pagesOf          = 1000
)

func pageBesideLimit(ctx context.Context, p *place, kind, which string) (side, side, error) {
	w, err := p.freshService(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	l, err := w.longList(ctx, p, p.amount(manyTransactions))
	if err != nil {
		return nil, nil, err
	}
	address, err := l.address(ctx, which)
	if err != nil {
		return nil, nil, err
	}
	t := &turner{day: "9999"}
	if t.reader, err = p.bareReader(ctx, kind, w.database); err != nil {
		return nil, nil, err
	}
	if which == lastPage {
		const before = `SELECT application_date, id FROM bank_transaction WHERE domain_id = $1 AND user_id = $2 ORDER BY application_date, id LIMIT 1 OFFSET $3`
		if err := t.reader.each(ctx, before, []any{bareDomain, theUser, pageOf}, func(scan func(...any) error) error { return scan(&t.day, &t.after) }); err != nil {
			return nil, nil, err
		}
	}
	origin, err := p.serve(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	return p.paging(address, l.token), p.paging(origin, ""), nil
}

func (p *place) paging(address, token string) side {
	c := newCaller(token, fewClients)
	return func(ctx context.Context) (measured, error) {
		return load(ctx, fewClients, p.amount(pagesOf), func(ctx context.Context, _ int) error {
			answer, err := c.call(ctx, http.MethodGet, address, nil)
			if n := bytes.Count(answer, []byte(`"id_account":`)); err == nil && n != pageOf {
				err = fmt.Errorf("%d transactions on a page", n)
			}
			return err
		})
	}
}

// longList is a user with many transactions, and the user's token.
type longList struct {
	*instance
	token string
	total int
}

// theUser is the id of the first user of a database.
const theUser = 1

// longList creates a user with a connection, and copies one of the connection's transactions many
// times.
func (w *instance) longList(ctx context.Context, p *place, total int) (longList, error) {
	l := longList{instance: w, total: total}
	answer, err := newCaller("", 1).call(ctx, http.MethodPost, w.base+"/auth/init", fmt.Appendf(nil, `{"client_id":%q,"client_secret":%q}`, w.clientID, w.clientSecret))
	if err != nil {
		return l, err
	}
	if l.token, err = textIn(answer, "auth_token"); err != nil {
		return l, err
	}
	if err := l.connect(ctx); err != nil {
		return l, err
	}
	stored, err := p.numberIn(ctx, w.kind, w.database, `SELECT count(*) FROM bank_transaction`)
	if err != nil {
		return l, err
	}
	one, err := p.numberIn(ctx, w.kind, w.database, `SELECT MAX(id) FROM bank_transaction`)
	if err != nil {
		return l, err
	}
	return l, w.multiply(ctx, p, one, max(pageOf, total-int(stored)), copyTransaction...)
}

func (l longList) connect(ctx context.Context) error {
	c := newCaller(l.token, 1)
	_, err := c.call(ctx, http.MethodPost, l.base+"/users/me/connections",
		[]byte(`{"connector_uuid":"338178e6-3d01-564f-9a7b-52ca442459bf","source":"directaccess","login":"anna","password":"1234"}`))
	if err != nil {
		return err
	}
	if _, err := c.call(ctx, http.MethodPut, l.base+"/users/me/accounts?all", []byte(`{"disabled":false}`)); err != nil {
		return err
	}
	return l.awaitFirst(ctx, c)
}

// awaitFirst waits until the service lists a transaction.
func (l longList) awaitFirst(ctx context.Context, c *caller) error {
	for range 300 {
		answer, err := c.call(ctx, http.MethodGet, l.base+"/users/me/transactions?limit=1", nil)
		if err != nil {
			return err
		}
		if bytes.Contains(answer, []byte(`"id_account":`)) {
			return nil
		}
		pause(ctx, time.Second/10)
	}
	return errors.New("no transactions came")
}

// address returns the address of a page. For the last page, this is the link in the previous page.
func (l longList) address(ctx context.Context, which string) (string, error) {
	list := l.base + "/users/me/transactions?limit=" + number(pageOf)
	if which == firstPage {
		return list, nil
	}
	c := newCaller(l.token, 1)
	var turned struct {
		Total int `json:"total"`
		Links struct {
			Next struct {
				Href string `json:"href"`
			} `json:"next"`
		} `json:"_links"`
	}
	read := func(address string) error {
		answer, err := c.call(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		return json.Unmarshal(answer, &turned)
	}
	if err := read(list); err != nil {
		return "", err
	}
	if err := read(list + "&offset=" + number(int64(turned.Total-2*pageOf))); err != nil {
		return "", err
	}
	return turned.Links.Next.Href, nil
}

// turner is the limit program for a page. It reads the transactions that follow the position (day,
// after) in the list.
type turner struct {
	reader bareReader
	day    string
	after  int64
}

const readPage = `SELECT id, account_id, application_date, categories, details, scraped, last_update FROM bank_transaction
	WHERE domain_id = $1 AND user_id = $2 AND deleted IS NULL AND (application_date, id) < ($3, $4) ORDER BY application_date DESC, id DESC LIMIT $5`

func (t *turner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var shown []wire.Transaction
	err := t.reader.each(r.Context(), readPage, []any{bareDomain, theUser, t.day, t.after, pageOf}, func(scan func(...any) error) error {
		one, err := bareTransaction(scan)
		shown = append(shown, one)
		return err
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"transactions": shown})
}

func bareTransaction(scan func(...any) error) (wire.Transaction, error) {
	var (
		out wire.Transaction
		err error
	)
	var (
		day, details        string
		categories          *string
		scraped, lastUpdate int64
		d                   struct {
			Date, Wording, SimplifiedWording string
			Value                            json.Number
			Type                             passerelle.TransactionType
		}
	)
	if err := scan(&out.ID, &out.IDAccount, &day, &categories, &details, &scraped, &lastUpdate); err != nil {
		return out, err
	}
	err = json.Unmarshal([]byte(details), &d)
	out.ApplicationDate, out.Date, out.RDate, out.Value, out.FormattedValue, out.Type, out.Nature = &day, &d.Date, &d.Date, &d.Value, &d.SimplifiedWording, d.Type, d.Type
	out.OriginalWording, out.SimplifiedWording, out.StemmedWording, out.Wording, out.Active, out.State = d.Wording, d.SimplifiedWording, d.Wording, d.SimplifiedWording, true, "parsed"
	return out, err
}
