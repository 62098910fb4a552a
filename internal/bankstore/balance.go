package bankstore

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/govalues/decimal"

	"passerelle"
	"passerelle/internal/database"
)

// The database calculates a sum in two parts. It divides each value by this constant, and adds up
// the quotients and the remainders separately. No part can overflow.
const halves = 1_000_000_000

// partialSums are the two parts of the sum of incoming values, and the two parts of the sum of
// outgoing values.
const partialSums = `CAST(SUM(CASE WHEN t.value > 0 THEN t.value / 1000000000 ELSE 0 END) AS BIGINT), CAST(SUM(CASE WHEN t.value > 0 THEN t.value % 1000000000 ELSE 0 END) AS BIGINT),
	CAST(SUM(CASE WHEN t.value < 0 THEN t.value / 1000000000 ELSE 0 END) AS BIGINT), CAST(SUM(CASE WHEN t.value < 0 THEN t.value % 1000000000 ELSE 0 END) AS BIGINT)`

// Movements returns the sums of booked transactions of accounts in one currency. It returns one
// movement for each day with transactions in the period. The days are booking days, because an
// index contains them. If there are later transactions, one more movement, on the day after the
// period, contains all of them.
func (r Reader) Movements(ctx context.Context, accounts []StoredAccount, first, last passerelle.Date) ([]passerelle.Movement, error) {
	return r.movements(ctx, "", accounts, first, last)
}

// InstitutionMovements returns the movements without the transactions that clients created.
func (r Reader) InstitutionMovements(ctx context.Context, accounts []StoredAccount, first, last passerelle.Date) ([]passerelle.Movement, error) {
	return r.movements(ctx, "AND NOT t.manual", accounts, first, last)
}

// movements returns the movements of the transactions that meet another SQL condition.
func (r Reader) movements(ctx context.Context, condition string, accounts []StoredAccount, first, last passerelle.Date) ([]passerelle.Movement, error) {
	var c database.Clauses
	later := c.Bind(last.AddDays(1).String())
	ids := make([]string, len(accounts))
	for i, a := range accounts {
		ids[i] = c.Bind(int64(a.ID))
	}
	var all []passerelle.Movement
	err := r.rows.Each(ctx, fmt.Sprintf(`SELECT CASE WHEN t.date > %[1]s THEN %[1]s ELSE t.date END, t.value_scale, %s FROM bank_account a CROSS JOIN bank_transaction t
		WHERE a.id IN (%s) AND t.account_id = a.id AND t.epoch = a.epoch AND t.date >= %s AND t.deleted IS NULL AND NOT t.coming %s GROUP BY 1, 2 ORDER BY 1`,
		later, partialSums, strings.Join(ids, ", "), c.Bind(first.String()), condition), c.Args, func(row database.Row) (bool, error) {
		m, err := scanMovement(row)
		if n := len(all); err == nil && n > 0 && all[n-1].Day == m.Day {
			all[n-1].In, all[n-1].Out = passerelle.SumAmounts(all[n-1].In, m.In), passerelle.SumAmounts(all[n-1].Out, m.Out)
			return true, nil
		}
		all = append(all, m)
		return true, err
	})
	return all, err
}

func scanMovement(row database.Row) (passerelle.Movement, error) {
	var (
		m           passerelle.Movement
		day         string
		scale       int
		high, low   [2]int64
		readingDate error
	)
	if err := row.Scan(&day, &scale, &high[0], &low[0], &high[1], &low[1]); err != nil {
		return m, err
	}
	m.Day, readingDate = database.Date(&day)
	m.In, m.Out = whole(high[0], low[0], scale), whole(high[1], low[1], scale)
	return m, readingDate
}

// whole joins the parts of a sum. It returns nil when the sum has too many digits.
func whole(high, low int64, scale int) *decimal.Decimal {
	sum := new(big.Int).Mul(big.NewInt(high), big.NewInt(halves))
	if sum.Add(sum, big.NewInt(low)); !sum.IsInt64() {
		return nil
	}
	d, err := decimal.New(sum.Int64(), scale)
	if err != nil {
		return nil
	}
	return &d
}
