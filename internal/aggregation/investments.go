package aggregation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// maxInvestments limits the assets of an account.
const maxInvestments = 2000

// Assets stores a page of an account's assets.
func (im *importer) Assets(key string, page passerelle.Assets) error {
	a := im.accounts[key]
	if _, wanted := im.Wanted(key); !wanted || a.read {
		return fmt.Errorf("%w: assets of an account that was not requested", errInvalidData)
	}
	page.Complete(a.Currency)
	held, err := assetsOf(page)
	if err != nil {
		return err
	}
	if len(a.investments.seen)+len(held) > maxInvestments {
		return fmt.Errorf("%w: an account has at most %d assets", errInvalidData, maxInvestments)
	}
	return a.investments.reconcile(im, held)
}

// assetsOf converts a page to stored form.
func assetsOf(page passerelle.Assets) ([]bankstore.NewAsset, error) {
	var all []bankstore.NewAsset
	var err error
	for _, d := range page.Investments {
		one := bankstore.NewAsset{Kind: bankstore.Investments, Key: d.Key, Date: d.ValueDate, Details: d}
		if d.UnitValue != nil {
			one.Value = &passerelle.UnitValue{Value: *d.UnitValue, OriginalCurrency: d.OriginalCurrency, OriginalValue: d.OriginalUnitValue}
		}
		all, err = append(all, one), errors.Join(err, checkCurrencies(d.OriginalCurrency))
	}
	for _, d := range page.MarketOrders {
		all = append(all, bankstore.NewAsset{Kind: bankstore.MarketOrders, Key: d.Key, Date: d.Date, Details: d})
	}
	for _, d := range page.Pockets {
		all = append(all, bankstore.NewAsset{Kind: bankstore.Pockets, Key: d.Key, Investment: d.Investment, Date: d.Available, Details: d})
	}
	for _, d := range page.Amortizations {
		all = append(all, bankstore.NewAsset{Kind: bankstore.Amortizations, Key: d.Key, Date: d.Date, Details: d})
	}
	for _, one := range all {
		if !validKey(one.Key) {
			err = errors.Join(err, fmt.Errorf("%w: an asset has a key of %s", errInvalidData, keyForm))
		}
	}
	return all, err
}

func (im *importer) investmentsReconciler(a *syncedAccount) reconciler[bankstore.NewAsset] {
	return reconciler[bankstore.NewAsset]{
		seen:    map[uint64]int64{},
		key:     bankstore.NewAsset.StoredKey,
		details: func(n bankstore.NewAsset) any { return n.Details },
		rows:    bankstore.SyncedAssets(a.StoredAccount),
		create: each(func(tx *store.Tx, n bankstore.NewAsset, at time.Time) error {
			return bankstore.In(tx).CreateAsset(im.lease.domain.ID, a.StoredAccount, n, at, a.NextReading())
		}),
		update: func(tx *store.Tx, id int64, n bankstore.NewAsset, at time.Time) error {
			return bankstore.In(tx).UpdateAsset(im.lease.domain.ID, a.StoredAccount, passerelle.AssetID(id), n, at, a.NextReading())
		},
		markDeleted: func(tx *store.Tx, id int64, at time.Time) {
			bankstore.In(tx).LoseAsset(im.lease.domain.ID, a.StoredAccount, passerelle.AssetID(id), at, a.NextReading())
		},
		count: func(tx *store.Tx, _, _ int64) { bankstore.In(tx).KeepAccount(im.lease.domain.ID, a.StoredAccount) },
	}
}

// assets returns the filter for the assets of one kind in an account.
func (r *reporter) assets(a bankstore.StoredAccount, kind bankstore.AssetKind) bankstore.AssetFilter {
	return bankstore.AssetFilter{Domain: r.lease.domain.ID, User: a.User, Account: a.ID, Kind: kind}
}

// value updates the value of an account's investments. It runs after all investments were reported.
func (im *importer) value(a *syncedAccount) error {
	if len(a.investments.seen) == 0 && a.Worth == nil {
		return nil
	}
	all, err := bankstore.ReadAssets[passerelle.InvestmentDetails](im.ctx, bankstore.From(im.lease.db), im.events.assets(a.StoredAccount, bankstore.Investments), store.Window{Limit: maxInvestments})
	if err != nil {
		return fmt.Errorf("%w: list the investments of account %d: %w", errStore, a.ID, err)
	}
	var worth *passerelle.Worth
	if len(all) > 0 {
		total := passerelle.TotalWorth(all)
		worth = &total
	}
	if a.Worth == worth || a.Worth != nil && worth != nil && a.Worth.Equal(*worth) {
		return nil
	}
	a.Worth, a.Changed = worth, im.lease.sync
	return im.store(func(tx *store.Tx) error {
		return bankstore.In(tx).SetAccountWorth(im.lease.domain.ID, a.StoredAccount, worth)
	})
}

// changedAssets returns the changed assets of a kind in an account that was read completely. It
// reads nothing for an account that has no investments and did not change in the run.
func changedAssets[D any](ctx context.Context, r *reporter, a bankstore.StoredAccount, kind bankstore.AssetKind) ([]passerelle.Asset[D], error) {
	invests := a.Type.Details().Invest || a.Worth != nil || a.Changed == r.lease.sync
	if !invests || a.Readings == noReadingNumber {
		return nil, nil
	}
	f := r.assets(a, kind)
	f.Reading = a.NextReading()
	all, err := bankstore.ReadAssets[D](ctx, bankstore.From(r.lease.db), f, store.Window{Limit: 2 * maxInvestments})
	if err != nil {
		return nil, fmt.Errorf("list the changes in account %d: %w", a.ID, err)
	}
	return all, nil
}

// changedInvestments returns the positions that changed or have a changed pocket, each with its
// changed pockets.
func (r *reporter) changedInvestments(ctx context.Context, a bankstore.StoredAccount) wire.Each[wire.Investment] {
	return func(write func(wire.Investment)) error {
		pockets, err := changedAssets[passerelle.PocketDetails](ctx, r, a, bankstore.Pockets)
		if err != nil {
			return err
		}
		of := map[passerelle.AssetID]*[]wire.Pocket{}
		for _, p := range pockets {
			if of[p.Investment] == nil {
				of[p.Investment] = &[]wire.Pocket{}
			}
			*of[p.Investment] = append(*of[p.Investment], wire.NewPocket(p, r.zone()))
		}
		changed, err := changedAssets[passerelle.InvestmentDetails](ctx, r, a, bankstore.Investments)
		for _, one := range changed {
			shown := wire.NewInvestment(one, a.BankAccount, r.zone())
			if shown.Pockets = of[one.ID]; shown.Pockets == nil {
				shown.Pockets = &[]wire.Pocket{}
			}
			write(shown)
		}
		return err
	}
}

func (r *reporter) changedOrders(ctx context.Context, a bankstore.StoredAccount) wire.Each[wire.MarketOrder] {
	return func(write func(wire.MarketOrder)) error {
		orders, err := changedAssets[passerelle.MarketOrderDetails](ctx, r, a, bankstore.MarketOrders)
		for _, one := range orders {
			write(wire.NewMarketOrder(one, r.zone()))
		}
		return err
	}
}
