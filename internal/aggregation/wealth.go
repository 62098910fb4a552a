package aggregation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// maxAssets is how much an institution may say that an account holds.
const maxAssets = 2000

// Wealth takes a page of what an account holds.
func (in *intake) Wealth(key string, page passerelle.Wealth) error {
	a := in.accounts[key]
	if _, wanted := in.Wanted(key); !wanted || a.read {
		return fmt.Errorf("%w: what an account holds that was not asked for", errNonsense)
	}
	page.Complete(a.Currency)
	held, err := held(page)
	if err != nil {
		return err
	}
	if len(a.assets.seen)+len(held) > maxAssets {
		return fmt.Errorf("%w: an account holds at most %d things", errNonsense, maxAssets)
	}
	return a.assets.take(in, held)
}

// held are all things of a page in the form in which they are kept.
func held(page passerelle.Wealth) (all []store.NewAsset, err error) {
	for _, d := range page.Investments {
		one := store.NewAsset{Kind: store.Investments, Key: d.Key, Date: d.ValueDate, Details: d}
		if d.UnitValue != nil {
			one.Value = &passerelle.UnitValue{Value: *d.UnitValue, OriginalCurrency: d.OriginalCurrency, OriginalValue: d.OriginalUnitValue}
		}
		all, err = append(all, one), errors.Join(err, checkCurrencies(d.OriginalCurrency))
	}
	for _, d := range page.MarketOrders {
		all = append(all, store.NewAsset{Kind: store.MarketOrders, Key: d.Key, Date: d.Date, Details: d})
	}
	for _, d := range page.Pockets {
		all = append(all, store.NewAsset{Kind: store.Pockets, Key: d.Key, Investment: d.Investment, Date: d.Available, Details: d})
	}
	for _, d := range page.Amortizations {
		all = append(all, store.NewAsset{Kind: store.Amortizations, Key: d.Key, Date: d.Date, Details: d})
	}
	for _, one := range all {
		if !sound(one.Key) {
			err = errors.Join(err, fmt.Errorf("%w: what an account holds has a key of 1 to %d bytes", errNonsense, maxKeyLength))
		}
	}
	return all, err
}

// assetsOf is what an account holds.
func (in *intake) assetsOf(a *account) shelf[store.NewAsset] {
	return shelf[store.NewAsset]{
		seen:    map[uint64]struct{}{},
		key:     store.NewAsset.StoredKey,
		details: func(n store.NewAsset) any { return n.Details },
		stored:  store.AssetShelf(a.StoredAccount),
		create: each(func(tx *store.Tx, n store.NewAsset, at time.Time) error {
			return tx.CreateAsset(in.domain.ID, a.StoredAccount, n, at, a.NextReading())
		}),
		update: func(tx *store.Tx, id int64, n store.NewAsset, at time.Time) error {
			return tx.UpdateAsset(in.domain.ID, a.StoredAccount, passerelle.AssetID(id), n, at, a.NextReading())
		},
		lose: func(tx *store.Tx, id int64, at time.Time) {
			tx.LoseAsset(in.domain.ID, a.StoredAccount, passerelle.AssetID(id), at, a.NextReading())
		},
		count: func(tx *store.Tx, _, _ int64) { tx.KeepAccount(in.domain.ID, a.StoredAccount) },
	}
}

// assets selects those of an account of a kind.
func (v *visit) assets(a store.StoredAccount, kind store.AssetKind) store.AssetFilter {
	return store.AssetFilter{Domain: v.domain.ID, User: a.User, Account: a.ID, Kind: kind}
}

// value brings what the investments of an account are worth up to date, once all
// of them were handed over.
func (in *intake) value(a *account) error {
	if len(a.assets.seen) == 0 && a.Worth == nil {
		return nil
	}
	all, err := store.ReadAssets[passerelle.InvestmentDetails](in.ctx, &in.DB.Reader, in.assets(a.StoredAccount, store.Investments), store.Window{Limit: maxAssets})
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
	a.Worth, a.Changed = worth, in.sync
	return in.store(func(tx *store.Tx) error { return tx.SetAccountWorth(in.domain.ID, a.StoredAccount, worth) })
}

// newsOf are the assets of a kind that changed until the account was read to its
// end. One that has no investments, and had none, is not asked for them.
func newsOf[D any](ctx context.Context, v *visit, a store.StoredAccount, kind store.AssetKind) ([]passerelle.Asset[D], error) {
	invests := a.Type.Details().Invest || a.Worth != nil || a.Changed == v.sync
	if !invests || a.Readings == noReading {
		return nil, nil
	}
	f := v.assets(a, kind)
	f.Reading = a.NextReading()
	all, err := store.ReadAssets[D](ctx, &v.DB.Reader, f, store.Window{Limit: 2 * maxAssets})
	if err != nil {
		return nil, fmt.Errorf("list what changed in account %d: %w", a.ID, err)
	}
	return all, nil
}

// writeInvestments writes the positions that changed or have a pocket that did,
// each with those pockets.
func (v *visit) writeInvestments(ctx context.Context, l *letter, a store.StoredAccount) error {
	pockets, err := newsOf[passerelle.PocketDetails](ctx, v, a, store.Pockets)
	if err != nil {
		return err
	}
	of := map[passerelle.AssetID]*[]wire.Pocket{}
	for _, p := range pockets {
		if of[p.Investment] == nil {
			of[p.Investment] = &[]wire.Pocket{}
		}
		*of[p.Investment] = append(*of[p.Investment], wire.NewPocket(p, v.zone()))
	}
	changed, err := newsOf[passerelle.InvestmentDetails](ctx, v, a, store.Investments)
	if err != nil {
		return err
	}
	l.add("[")
	for i, one := range changed {
		shown := wire.NewInvestment(one, a.BankAccount, v.zone())
		if shown.Pockets = of[one.ID]; shown.Pockets == nil {
			shown.Pockets = &[]wire.Pocket{}
		}
		l.item(i)
		l.object(shown)
	}
	l.add("]")
	return nil
}

func (v *visit) writeMarketOrders(ctx context.Context, l *letter, a store.StoredAccount) error {
	orders, err := newsOf[passerelle.MarketOrderDetails](ctx, v, a, store.MarketOrders)
	l.add("[")
	for i, one := range orders {
		l.item(i)
		l.object(wire.NewMarketOrder(one, v.zone()))
	}
	l.add("]")
	return err
}
