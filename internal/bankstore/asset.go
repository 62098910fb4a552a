package bankstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// AssetKind is the kind of an asset.
type AssetKind string

// These are the kinds of assets.
const (
	Investments   AssetKind = "investment"
	MarketOrders  AssetKind = "market_order"
	Pockets       AssetKind = "pocket"
	Amortizations AssetKind = "amortization"
)

// NewAsset is an asset as an institution reports it. The type of Details depends on Kind.
type NewAsset struct {
	Kind AssetKind
	// Key is the institution's key of the asset. It is unique among the assets of the same kind.
	// Investment is the key of the position to which the asset belongs, or empty.
	Key, Investment string
	// Date is the day of a position's value, of an order or of an amortization, or the day on which
	// a pocket becomes available. It may be zero.
	Date    passerelle.Date
	Details any
	// Value is the value of one unit on the day in Date, nil when unknown.
	Value *passerelle.UnitValue
}

// StoredKey returns a key that is unique within the account, among assets of all kinds.
func (a NewAsset) StoredKey() string { return string(a.Kind) + ":" + a.Key }

func (a NewAsset) parent() *string {
	if a.Investment == "" {
		return nil
	}
	return database.OptionalText(NewAsset{Kind: Investments, Key: a.Investment}.StoredKey())
}

// CreateAsset stores an asset. The argument reading is the number of the read that found the asset.
func (tx Tx) CreateAsset(domain passerelle.DomainID, a StoredAccount, n NewAsset, at time.Time, reading int64) error {
	id, err := tx.unit.NewID("asset")
	if err != nil {
		return err
	}
	details, err := EncodeDetails(n.Details)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO asset (id, domain_id, user_id, account_id, epoch, kind, key, parent_key, date, details, digest, created, last_update, changed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13)`,
		id, int64(domain), int64(a.User), int64(a.ID), a.Epoch, string(n.Kind), n.StoredKey(), n.parent(), database.OptionalDate(n.Date), details.text, details.Digest, database.Micros(at), reading)
	return tx.value(domain, a, passerelle.AssetID(id), n)
}

// UpdateAsset stores an asset's new details. If the stored details are from an earlier day, they
// become the previous details. UpdateAsset also restores a deleted asset.
func (tx Tx) UpdateAsset(domain passerelle.DomainID, a StoredAccount, id passerelle.AssetID, n NewAsset, at time.Time, reading int64) error {
	details, err := EncodeDetails(n.Details)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(store.ErrConflict, `UPDATE asset SET previous = CASE WHEN date < $1 THEN details ELSE previous END, date = $1, parent_key = $2, details = $3, digest = $4, last_update = $5,
			deleted = NULL, changed = $6 WHERE domain_id = $7 AND account_id = $8 AND epoch = $9 AND id = $10`,
		database.OptionalDate(n.Date), n.parent(), details.text, details.Digest, database.Micros(at), reading, int64(domain), int64(a.ID), a.Epoch, int64(id))
	return tx.value(domain, a, id, n)
}

// value stores the value of one unit on the day of the asset.
func (tx Tx) value(domain passerelle.DomainID, a StoredAccount, investment passerelle.AssetID, n NewAsset) error {
	if n.Value == nil || n.Date.IsZero() {
		return nil
	}
	id, err := tx.unit.NewID("investment_value")
	if err != nil {
		return err
	}
	var original *string
	if n.Value.OriginalValue != nil {
		original = database.OptionalText(n.Value.OriginalValue.String())
	}
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO investment_value (id, domain_id, account_id, epoch, investment_id, date, value, original_currency, original_value)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (investment_id, date) DO UPDATE
		SET value = excluded.value, original_currency = excluded.original_currency, original_value = excluded.original_value`,
		id, int64(domain), int64(a.ID), a.Epoch, int64(investment), n.Date.String(), n.Value.Value.String(), database.OptionalText(n.Value.OriginalCurrency), original)
	return nil
}

// LoseAsset marks an asset as deleted, because the institution no longer lists it.
func (tx Tx) LoseAsset(domain passerelle.DomainID, a StoredAccount, id passerelle.AssetID, at time.Time, reading int64) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE asset SET deleted = $1, last_update = $1, changed = $2 WHERE domain_id = $3 AND account_id = $4 AND epoch = $5 AND id = $6 AND deleted IS NULL`,
		database.Micros(at), reading, int64(domain), int64(a.ID), a.Epoch, int64(id))
}

// KeepAccount makes Write fail with ErrConflict when the account's data was withdrawn since the
// account was read.
func (tx Tx) KeepAccount(domain passerelle.DomainID, a StoredAccount) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE bank_account SET epoch = epoch WHERE +domain_id = $1 AND id = $2 AND epoch = $3`, int64(domain), int64(a.ID), a.Epoch)
}

// SetAccountWorth stores the total value of an account's investments. Nil means that the account
// has no investments.
func (tx Tx) SetAccountWorth(domain passerelle.DomainID, a StoredAccount, w *passerelle.Worth) error {
	var text *string
	if w != nil {
		encoded, err := json.Marshal(w)
		if err != nil {
			return fmt.Errorf("encode the worth of account %d: %w", a.ID, err)
		}
		text = database.OptionalText(string(encoded))
	}
	tx.unit.ExecOne(store.ErrConflict, `UPDATE bank_account SET worth = $1, changed = $2 WHERE +domain_id = $3 AND id = $4 AND epoch = $5`, text, a.Changed, int64(domain), int64(a.ID), a.Epoch)
	return nil
}

// AssetFilter selects a user's assets of one kind. Domain, User and Kind are required: the filter
// selects nothing without them.
type AssetFilter struct {
	Domain     passerelle.DomainID
	User       passerelle.UserID
	Connection passerelle.ConnectionID // zero for all
	Account    passerelle.AccountID    // zero for all
	Accounts   []passerelle.AccountID  // nil for all
	// Investment selects the assets that belong to a position. Zero means all.
	Investment passerelle.AssetID
	IDs        []passerelle.AssetID // nil for all
	Kind       AssetKind
	// Reading is the number of a read. It selects assets that this read created, changed or marked
	// as deleted. If such an asset is a pocket, Reading also selects its position. Zero means all.
	Reading int64
	// All includes assets of disabled and deleted accounts, and assets that the institution no
	// longer lists.
	All bool
}

const assetSource = `asset s CROSS JOIN bank_account a LEFT JOIN asset p ON p.account_id = s.account_id AND p.epoch = s.epoch AND p.key = s.parent_key
	WHERE a.id = s.account_id AND a.epoch = s.epoch AND `

func (f AssetFilter) where() *database.Clauses {
	var c database.Clauses
	TransactionFilter{Domain: f.Domain, User: f.User, Connection: f.Connection, Account: f.Account, All: f.All}.accounts(&c)
	c.And("s.domain_id = %s AND s.user_id = %s AND s.kind = %s", int64(f.Domain), int64(f.User), string(f.Kind))
	if f.Account != 0 {
		c.And("s.account_id = %s", int64(f.Account))
	}
	if f.Accounts != nil {
		c.All = append(c.All, "s.account_id IN ("+database.AnyOf(&c, f.Accounts)+")")
	}
	if f.Investment != 0 {
		c.And("p.id = %s", int64(f.Investment))
	}
	if f.IDs != nil {
		c.All = append(c.All, "s.id IN ("+database.AnyOf(&c, f.IDs)+")")
	}
	if f.Reading != 0 {
		c.And("(s.changed = %s OR s.key IN (SELECT q.parent_key FROM asset q WHERE q.account_id = s.account_id AND q.epoch = s.epoch AND q.kind = 'pocket' AND q.changed = %s))", f.Reading, f.Reading)
	}
	if !f.All && f.Reading == 0 {
		c.And("s.deleted IS NULL")
	}
	return &c
}

// ReadAssets lists assets of one kind, ordered by id. D is the type of the assets' details.
func ReadAssets[D any](ctx context.Context, r Reader, f AssetFilter, w store.Window) ([]passerelle.Asset[D], error) {
	c, p := f.where(), w.ByID()
	c.And("s.id "+p.Sign+" %s", p.From)
	sql := `SELECT s.id, s.account_id, p.id, s.details, s.previous, s.created, s.last_update, s.deleted FROM ` + assetSource + c.String() +
		` ORDER BY s.id ` + p.Order + ` LIMIT ` + c.Bind(w.Limit) + ` OFFSET ` + c.Bind(w.Offset)
	return database.Collect(ctx, r.rows, scanAsset[D], sql, c.Args...)
}

func scanAsset[D any](row database.Row) (passerelle.Asset[D], error) {
	var (
		a               passerelle.Asset[D]
		parent, deleted *int64
		details         string
		previous        *string
		created, update int64
	)
	if err := row.Scan(&a.ID, &a.Account, &parent, &details, &previous, &created, &update, &deleted); err != nil {
		return a, err
	}
	if err := decodeDetails(details, &a.Details); err != nil {
		return a, fmt.Errorf("read the details of asset %d: %w", a.ID, err)
	}
	if previous != nil {
		a.Previous = new(D)
		if err := decodeDetails(*previous, a.Previous); err != nil {
			return a, fmt.Errorf("read the previous details of asset %d: %w", a.ID, err)
		}
	}
	a.Investment, a.Created, a.LastUpdate, a.Deleted = database.ID[passerelle.AssetID](parent), database.Instant(created), database.Instant(update), database.OptionalInstant(deleted)
	return a, nil
}

// CountAssets returns the number of assets that a filter selects.
func (r Reader) CountAssets(ctx context.Context, f AssetFilter) (int64, error) {
	c := f.where()
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM `+assetSource+c.String(), c.Args...)
}

// InvestmentValues lists the stored unit values of an investment, newest first. A position in the
// list consists of the day and the id.
func (r Reader) InvestmentValues(ctx context.Context, domain passerelle.DomainID, investment passerelle.AssetID, w store.Window) ([]passerelle.InvestmentValue, error) {
	order, sign := "DESC", "<"
	if w.Backward {
		order, sign = "ASC", ">"
	}
	var c database.Clauses
	c.And("domain_id = %s AND investment_id = %s", int64(domain), int64(investment))
	if len(w.From) == 2 {
		c.And("(date, id) "+sign+" (%s, %s)", w.From[0], w.From[1])
	}
	sql := fmt.Sprintf(`SELECT id, investment_id, date, value, original_currency, original_value FROM investment_value WHERE %s ORDER BY date %s, id %[2]s LIMIT %[3]s OFFSET %[4]s`,
		c.String(), order, c.Bind(w.Limit), c.Bind(w.Offset))
	return database.Collect(ctx, r.rows, scanInvestmentValue, sql, c.Args...)
}

// InvestmentValuesOf lists the unit values of all investments of a user, ordered by investment
// and then by day. It includes investments of disabled and deleted accounts. A position in the
// list consists of the investment, the day and the id.
func (r Reader) InvestmentValuesOf(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, w store.Window) ([]passerelle.InvestmentValue, error) {
	from := w.From
	if len(from) == 0 {
		from = []any{int64(0), "", int64(0)}
	}
	return database.Collect(ctx, r.rows, scanInvestmentValue, `SELECT v.id, v.investment_id, v.date, v.value, v.original_currency, v.original_value
		FROM asset s CROSS JOIN bank_account a CROSS JOIN investment_value v
		WHERE s.domain_id = $1 AND s.user_id = $2 AND s.kind = 'investment' AND s.id >= $3 AND a.id = s.account_id AND a.epoch = s.epoch AND v.investment_id = s.id
			AND v.date >= CASE WHEN s.id = $3 THEN CAST($4 AS TEXT) ELSE '' END AND (s.id > $3 OR (v.date, v.id) > ($4, $5))
		ORDER BY s.id, v.date, v.id LIMIT $6`, append([]any{int64(domain), int64(user)}, append(slices.Clone(from), w.Limit)...)...)
}

func scanInvestmentValue(row database.Row) (passerelle.InvestmentValue, error) {
	var (
		v                  passerelle.InvestmentValue
		day, value         string
		currency, original *string
	)
	if err := row.Scan(&v.ID, &v.Investment, &day, &value, &currency, &original); err != nil {
		return v, err
	}
	v.OriginalCurrency = database.Text[passerelle.Currency](currency)
	var err error
	if v.Date, err = database.Date(&day); err != nil {
		return v, err
	}
	if v.Value, err = decimal.Parse(value); err != nil {
		return v, err
	}
	if original != nil {
		var d decimal.Decimal
		d, err = decimal.Parse(*original)
		v.OriginalValue = &d
	}
	return v, err
}

// CountInvestmentValues returns the number of days with a stored value of the investment.
func (r Reader) CountInvestmentValues(ctx context.Context, domain passerelle.DomainID, investment passerelle.AssetID) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM investment_value WHERE domain_id = $1 AND investment_id = $2`, int64(domain), int64(investment))
}
