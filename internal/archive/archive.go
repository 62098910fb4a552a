// Package archive writes all stored data of an end user into one file.
//
// The package owns the lists in the file, and the names of these lists. It does not own the form of
// the objects (package wire), and does not decide who may get the file. The package fails with the
// errors of the stores and of the writer, and with NotFound when the user is deleted during the
// call. The file is then incomplete.
package archive

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/aggregation"
	"passerelle/internal/bankstore"
	"passerelle/internal/blob"
	"passerelle/internal/exports"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// archive is a user's archive during a call of Write.
type archive struct {
	*aggregation.Aggregation
	kept   blob.Store
	ctx    context.Context
	domain passerelle.Domain
	user   passerelle.UserID
	zone   *time.Location
	now    time.Time
	zip    *zip.Writer
}

// archivePage is the largest number of rows that one query reads.
const archivePage = 500

// Write writes all stored data of a user as a zip archive. The store `kept` contains the contents
// of the user's files. The user's data may change during the call. The archive may then contain a
// change in some lists and lack it in others. The archive contains no credentials for institutions.
// It contains no payments, because payments belong to the domain. Call [exports.Begin]
// before the response begins.
func Write(ctx context.Context, a *aggregation.Aggregation, kept blob.Store, d passerelle.Domain, user passerelle.User, zone *time.Location, w io.Writer) error {
	z := &archive{Aggregation: a, kept: kept, ctx: ctx, domain: d, user: user.ID, zone: zone, now: d.Clock.Now(a.Now()), zip: zip.NewWriter(w)}
	if err := z.one("user", wire.NewUser(user, zone)); err != nil {
		return err
	}
	for _, write := range []func() error{
		z.settings, z.consents, z.connections, z.connectionLogs, z.accounts, z.transactions, z.categories, z.clusters, z.subscriptions, z.documents, z.investments, z.history,
		func() error { return assets(z, "marketorders", bankstore.MarketOrders, wire.NewMarketOrder) },
		func() error { return assets(z, "pockets", bankstore.Pockets, wire.NewPocket) },
		func() error { return assets(z, "loanamortizations", bankstore.Amortizations, wire.NewAmortization) },
		z.files,
	} {
		if err := write(); err != nil {
			return fmt.Errorf("export the data of user %d: %w", user.ID, err)
		}
	}
	if _, err := a.User(ctx, d, user.ID); err != nil {
		return err
	}
	return z.zip.Close()
}

func (z *archive) entry(name string) (io.Writer, error) {
	return z.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: z.now})
}

// one writes a file with one object.
func (z *archive) one(name string, object any) error {
	w, err := z.entry(name + ".json")
	if err == nil {
		_, err = w.Write(wire.Encode(object))
	}
	return err
}

// pages reads a list page by page, and takes turns with other exports. The function place returns the
// position of an item in the list.
func pages[T any](ctx context.Context, read func(store.Window) ([]T, error), place func(T) []any, each func([]T) error) error {
	for w := (store.Window{Limit: archivePage}); ; {
		page, err := exports.InTurn(ctx, func() ([]T, error) { return read(w) })
		if err != nil {
			return err
		}
		if err := each(page); err != nil || len(page) < w.Limit {
			return err
		}
		w.From = place(page[len(page)-1])
	}
}

// listed writes a file with a list, in the form that lists of the API have.
func listed[T, W any](z *archive, file, key string, read func(store.Window) ([]T, error), place func(T) []any, show func([]T) ([]W, error)) error {
	w, err := z.entry(file + ".json")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, `{%q:[`, key); err != nil {
		return err
	}
	total := 0
	err = pages(z.ctx, read, place, func(page []T) error {
		shown, err := exports.InTurn(z.ctx, func() ([]W, error) { return show(page) })
		for _, one := range shown {
			if err != nil {
				return err
			}
			separator := ","
			if total == 0 {
				separator = ""
			}
			total++
			_, err = fmt.Fprintf(w, "%s%s", separator, wire.Encode(one))
		}
		return err
	})
	if err == nil {
		_, err = fmt.Fprintf(w, `],"total":%d}`, total)
	}
	return err
}

// each converts a function for one item to a function for a page of items.
func each[T, W any](show func(T) W) func([]T) ([]W, error) {
	return func(page []T) ([]W, error) {
		shown := make([]W, len(page))
		for i, one := range page {
			shown[i] = show(one)
		}
		return shown, nil
	}
}

func (z *archive) settings() error {
	values, err := z.DB.UserSettings(z.ctx, z.domain.ID, z.user)
	if err != nil {
		return err
	}
	return z.one("config", values)
}

func (z *archive) consents() error {
	filter := bankstore.ConsentFilter{Domain: z.domain.ID, User: z.user}
	return listed(z, "consents", "consents", func(w store.Window) ([]bankstore.Consent, error) {
		return bankstore.From(z.DB).Consents(z.ctx, filter, w)
	},
		bankstore.Consent.Place, each(func(c bankstore.Consent) wire.Consent { return aggregation.ShowConsent(c, z.zone) }))
}

func (z *archive) connections() error {
	read := func(w store.Window) ([]bankstore.Connection, error) {
		return bankstore.From(z.DB).Connections(z.ctx, z.domain.ID, z.user, w)
	}
	place := func(c bankstore.Connection) []any { return []any{int64(c.ID)} }
	return listed(z, "connections", "connections", read, place, func(page []bankstore.Connection) ([]wire.Connection, error) {
		ids, shown := make([]passerelle.ConnectionID, len(page)), make([]wire.Connection, len(page))
		for i, c := range page {
			ids[i] = c.ID
		}
		sources, err := bankstore.From(z.DB).SourcesOf(z.ctx, z.domain.ID, ids...)
		by := map[passerelle.ConnectionID][]bankstore.ConnectionSource{}
		for _, one := range sources {
			by[one.Connection] = append(by[one.Connection], one)
		}
		for i, c := range page {
			shown[i] = z.Show(c, z.zone)
			shown[i].Sources = aggregation.ShowSources(by[c.ID], z.zone)
		}
		return shown, err
	})
}

// connectionLogs writes the records of all syncs, ordered by connection.
func (z *archive) connectionLogs() error {
	return listed(z, "connectionlogs", "connectionlogs",
		func(w store.Window) ([]bankstore.ConnectionLog, error) {
			return bankstore.From(z.DB).ConnectionLogsOf(z.ctx, z.domain.ID, z.user, w)
		},
		func(l bankstore.ConnectionLog) []any { return append([]any{int64(l.Connection)}, l.Place()...) },
		func(page []bankstore.ConnectionLog) ([]wire.ConnectionLog, error) {
			ids, shown := make([]passerelle.ConnectionID, len(page)), make([]wire.ConnectionLog, len(page))
			for i, l := range page {
				ids[i] = l.Connection
			}
			of, err := bankstore.From(z.DB).ConnectionsByID(z.ctx, z.domain.ID, z.user, ids)
			for i, l := range page {
				shown[i] = z.ShowLog(of[l.Connection], l, z.zone)
			}
			return shown, err
		})
}

func (z *archive) accounts() error {
	filter := bankstore.AccountFilter{Domain: z.domain.ID, User: z.user, All: true}
	read := func(w store.Window) ([]bankstore.StoredAccount, error) {
		return bankstore.From(z.DB).BankAccounts(z.ctx, filter, w)
	}
	place := func(a bankstore.StoredAccount) []any { return []any{int64(a.ID)} }
	err := listed(z, "accounts", "accounts", read, place, each(func(a bankstore.StoredAccount) wire.BankAccount { return wire.NewBankAccount(a.BankAccount, z.zone) }))
	if err != nil {
		return err
	}
	return listed(z, "account_ownerships", "account_ownerships", read, place, func(page []bankstore.StoredAccount) ([]wire.Ownership, error) {
		return z.Ownerships(z.ctx, z.domain, z.user, page)
	})
}

// accountsByID returns the accounts with these ids. The ids may repeat.
func (z *archive) accountsByID(ids []passerelle.AccountID) (map[passerelle.AccountID]passerelle.BankAccount, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	found, err := bankstore.From(z.DB).BankAccounts(z.ctx, bankstore.AccountFilter{Domain: z.domain.ID, User: z.user, IDs: ids, All: true}, store.Window{Limit: len(ids)})
	accounts := map[passerelle.AccountID]passerelle.BankAccount{}
	for _, a := range found {
		accounts[a.ID] = a.BankAccount
	}
	return accounts, err
}

// transactions writes transactions, with the values that clients stored for them, and with their
// attachments and documents.
func (z *archive) transactions() error {
	filter := bankstore.TransactionFilter{Domain: z.domain.ID, User: z.user, All: true, Deleted: true}
	return listed(z, "transactions", "transactions",
		func(w store.Window) ([]passerelle.Transaction, error) {
			return bankstore.From(z.DB).Transactions(z.ctx, filter, w)
		},
		func(t passerelle.Transaction) []any { return []any{filter.DayOf(t).String(), int64(t.ID)} },
		func(page []passerelle.Transaction) ([]wire.Transaction, error) {
			ids := make([]passerelle.AccountID, len(page))
			for i, t := range page {
				ids[i] = t.Account
			}
			accounts, err := z.accountsByID(ids)
			if err != nil {
				return nil, err
			}
			shown, by := make([]wire.Transaction, len(page)), map[passerelle.TransactionID]*wire.Transaction{}
			for i, t := range page {
				shown[i] = wire.NewTransaction(t, accounts[t.Account].Currency, z.zone)
				shown[i].Attachments, shown[i].Documents = &[]wire.Attachment{}, &[]wire.Document{}
				by[t.ID] = &shown[i]
			}
			return shown, errors.Join(z.note(by), z.attach(by), z.addDocuments(by))
		})
}

func (z *archive) addDocuments(to map[passerelle.TransactionID]*wire.Transaction) error {
	found, err := bankstore.From(z.DB).DocumentsOf(z.ctx, bankstore.DocumentFilter{Domain: z.domain.ID, User: z.user, All: true}, slices.Collect(maps.Keys(to)))
	for _, d := range found {
		list := to[d.Transaction].Documents
		*list = append(*list, aggregation.ShowDocument(z.domain.BaseURL, d.Document, z.zone))
	}
	return err
}

// note adds the values that clients stored for transactions.
func (z *archive) note(of map[passerelle.TransactionID]*wire.Transaction) error {
	noted, err := bankstore.From(z.DB).Informations(z.ctx, z.domain.ID, slices.Collect(maps.Keys(of)))
	for _, n := range noted {
		of[n.Transaction].Information[n.Key] = n.Value
	}
	return err
}

func (z *archive) attach(to map[passerelle.TransactionID]*wire.Transaction) error {
	found, err := bankstore.From(z.DB).Attachments(z.ctx, z.domain.ID, z.user, slices.Collect(maps.Keys(to)))
	for _, a := range found {
		list := to[a.Transaction].Attachments
		*list = append(*list, wire.NewAttachment(a, z.domain.BaseURL, z.zone))
	}
	return err
}

// categories writes the user's own categories. They fit on one page.
func (z *archive) categories() error {
	return listed(z, "categories", "categories",
		func(store.Window) ([]passerelle.Category, error) {
			return bankstore.From(z.DB).OwnCategories(z.ctx, z.domain.ID, z.user, nil)
		},
		func(c passerelle.Category) []any { return []any{int64(c.ID)} }, each(wire.NewCategoryDetails))
}

func (z *archive) clusters() error {
	filter := bankstore.ClusterFilter{Domain: z.domain.ID, User: z.user, All: true}
	return listed(z, "transactionsclusters", "transactionsclusters",
		func(w store.Window) ([]bankstore.StoredCluster, error) {
			return bankstore.From(z.DB).Clusters(z.ctx, filter, w)
		},
		func(c bankstore.StoredCluster) []any { return []any{int64(c.ID)} },
		each(func(c bankstore.StoredCluster) wire.TransactionsCluster {
			return wire.NewTransactionsCluster(c.Cluster)
		}))
}

func (z *archive) subscriptions() error {
	filter := bankstore.SubscriptionFilter{Domain: z.domain.ID, User: z.user, All: true}
	return listed(z, "subscriptions", "subscriptions",
		func(w store.Window) ([]bankstore.StoredSubscription, error) {
			return bankstore.From(z.DB).Subscriptions(z.ctx, filter, w)
		},
		func(s bankstore.StoredSubscription) []any { return []any{int64(s.ID)} },
		each(func(s bankstore.StoredSubscription) wire.Subscription {
			return wire.NewSubscription(s.Subscription, z.zone)
		}))
}

func (z *archive) documents() error {
	filter := bankstore.DocumentFilter{Domain: z.domain.ID, User: z.user, All: true}
	return listed(z, "documents", "documents",
		func(w store.Window) ([]bankstore.StoredDocument, error) {
			return bankstore.From(z.DB).Documents(z.ctx, filter, w)
		}, bankstore.StoredDocument.Place,
		each(func(d bankstore.StoredDocument) wire.Document {
			return aggregation.ShowDocument(z.domain.BaseURL, d.Document, z.zone)
		}))
}

func (z *archive) investments() error {
	type position = passerelle.Asset[passerelle.InvestmentDetails]
	return listed(z, "investments", "investments", readAssets[passerelle.InvestmentDetails](z, bankstore.Investments), assetPlace[passerelle.InvestmentDetails],
		func(page []position) ([]wire.Investment, error) {
			ids := make([]passerelle.AccountID, len(page))
			for i, p := range page {
				ids[i] = p.Account
			}
			accounts, err := z.accountsByID(ids)
			shown := make([]wire.Investment, len(page))
			for i, p := range page {
				shown[i] = wire.NewInvestment(p, accounts[p.Account], z.zone)
			}
			return shown, err
		})
}

// history writes the daily values of all investments, ordered by investment.
func (z *archive) history() error {
	return listed(z, "investmentvalues", "investmentvalues",
		func(w store.Window) ([]passerelle.InvestmentValue, error) {
			return bankstore.From(z.DB).InvestmentValuesOf(z.ctx, z.domain.ID, z.user, w)
		},
		func(v passerelle.InvestmentValue) []any { return []any{int64(v.Investment), v.Date.String(), v.ID} }, each(wire.NewInvestmentValue))
}

func readAssets[D any](z *archive, kind bankstore.AssetKind) func(store.Window) ([]passerelle.Asset[D], error) {
	return func(w store.Window) ([]passerelle.Asset[D], error) {
		return bankstore.ReadAssets[D](z.ctx, bankstore.From(z.DB), bankstore.AssetFilter{Domain: z.domain.ID, User: z.user, Kind: kind, All: true}, w)
	}
}

func assetPlace[D any](a passerelle.Asset[D]) []any { return []any{int64(a.ID)} }

func assets[D, W any](z *archive, name string, kind bankstore.AssetKind, show func(passerelle.Asset[D], *time.Location) W) error {
	return listed(z, name, name, readAssets[D](z, kind), assetPlace[D], each(func(a passerelle.Asset[D]) W { return show(a, z.zone) }))
}

// endings maps media types to file name extensions.
var endings = map[string]string{"application/pdf": ".pdf", "image/png": ".png", "image/jpeg": ".jpg", "text/plain": ".txt"}

// files writes the stored files of documents and transactions. The name of a file is its id, with
// the extension for its media type.
func (z *archive) files() error {
	for after := passerelle.FileID(0); ; {
		page, err := exports.InTurn(z.ctx, func() ([]bankstore.StoredFile, error) {
			return bankstore.From(z.DB).Files(z.ctx, z.domain.ID, z.user, after, archivePage)
		})
		if err != nil {
			return err
		}
		for _, f := range page {
			after = f.ID
			if err := z.file(f); err != nil {
				return err
			}
		}
		if len(page) < archivePage {
			return nil
		}
	}
}

func (z *archive) file(f bankstore.StoredFile) error {
	body, err := z.kept.Open(z.ctx, f.ID)
	if errors.Is(err, blob.ErrNotFound) {
		return nil // a row may exist longer than the content of its file
	}
	if err != nil {
		return err
	}
	defer body.Close()
	w, err := z.entry(fmt.Sprintf("files/%d%s", f.ID, endings[f.MediaType]))
	if err == nil {
		_, err = io.Copy(w, body)
	}
	return err
}
