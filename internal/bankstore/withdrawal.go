package bankstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// withdrawal is a withdrawn object with data that must still be erased.
type withdrawal struct {
	id, domain, subject int64
	user                int64
	kind                string
	epoch               *int64
	// at is the time of the withdrawal, in the domain's time.
	at int64
}

func scanWithdrawal(row database.Row) (withdrawal, error) {
	var (
		e    withdrawal
		user *int64
	)
	err := row.Scan(&e.id, &e.domain, &user, &e.kind, &e.subject, &e.epoch, &e.at)
	e.user = database.ID[int64](user)
	return e, err
}

// Holding returns the name of the account's data that was read since the user last began to share
// the account.
func (a StoredAccount) Holding() store.Holding {
	return store.HoldingOf("account", int64(a.ID), &a.Epoch)
}

// Holding returns the name of the subscription's data that was read since the user last began to
// share the subscription.
func (s StoredSubscription) Holding() store.Holding {
	return store.HoldingOf("subscription", int64(s.ID), &s.Epoch)
}

// Holding returns the one name that covers the connection and all its data.
func (c Connection) Holding() store.Holding { return store.HoldingOf("connection", int64(c.ID), nil) }

// A withdrawn object is hidden immediately. Its rows are erased soon after, in steps. The bodies of
// events that contain the object are erased first.

// maxVoided is the largest number of bodies that one call of withdraw or EraseWithdrawn erases. If
// a receiver was unreachable for a long time, there may be more undelivered bodies. Later calls of
// EraseWithdrawn erase the remaining bodies.
const maxVoided = 500

// withdraw records a withdrawal, and erases some bodies of events that contain the object.
// EraseWithdrawn erases the remaining data.
func (tx Tx) withdraw(e withdrawal) {
	tx.unit.Exec(`INSERT INTO withdrawal (domain_id, user_id, kind, subject_id, epoch, created) VALUES ($1, $2, $3, $4, $5, $6)`,
		e.domain, e.user, e.kind, e.subject, e.epoch, e.at)
	tx.void(e, maxVoided, func() {})
}

// withdrawAll withdraws accounts or subscriptions of one connection, or a whole connection, of which
// the rows are already hidden.
func (tx Tx) withdrawAll(gone []withdrawal) {
	for some := range slices.Chunk(gone, maxPatterns) {
		tx.repeatReports(some)
	}
	for _, e := range gone {
		tx.withdraw(e)
	}
}

// maxPatterns is the number of withdrawn objects in one query. SQLite accepts at most 1000
// conditions.
const maxPatterns = 128

// reported lists the tables of accounts and subscriptions, with the kind of their holdings, and the
// tables of the rows that reports contain, with the column of their owner.
var reported = []struct {
	table, kind, owner string
	rows               []string
}{
	{"bank_account", "account", "account_id", []string{"bank_transaction", "asset"}},
	{"subscription", "subscription", "subscription_id", []string{"document"}},
}

// Read returns the name of the rows that the next complete read of the account reports. An event
// that contains these rows has this name and the name of the account's data.
func (a StoredAccount) Read() store.Holding { return readOf(a.Holding(), a.NextReading()) }

// Reported returns the names of what a report contains about the account: its data, its rows if it
// was read completely, and its change if the sync with this number changed it.
func (a StoredAccount) Reported(sync int64) []store.Holding {
	return reportOf(a.Holding(), a.NextReading(), a.Changed, sync)
}

// Reported does the same as the method of StoredAccount for a subscription.
func (s StoredSubscription) Reported(sync int64) []store.Holding {
	return reportOf(s.Holding(), s.NextReading(), s.Changed, sync)
}

func reportOf(data store.Holding, reading, changed, sync int64) []store.Holding {
	names := []store.Holding{data}
	if reading > 0 {
		names = append(names, readOf(data, reading))
	}
	if changed == sync {
		names = append(names, store.Holding(fmt.Sprintf("%s@%d", data, changed)))
	}
	return names
}

// readDigits is the number of digits of a reading in the result of readOf. SQL can therefore cut
// the reading out of the list of an event's names.
const readDigits = 12

func readOf(data store.Holding, reading int64) store.Holding {
	return store.Holding(fmt.Sprintf("%s#%0*d", data, readDigits, reading))
}

// lostReports returns the source of a query, and its arguments. The source contains the undelivered
// events e with withdrawn data, each with the accounts or subscriptions o of the same user.
func lostReports(table string, gone []withdrawal) (string, database.Clauses) {
	var c database.Clauses
	c.And("e.domain_id = %s AND e.user_id = %s", gone[0].domain, gone[0].user)
	var contains []string
	for _, e := range database.Padded(gone) {
		contains = append(contains, "e.holds LIKE "+c.Bind("% "+string(e.holding())+" %"))
	}
	c.All = append(c.All, "e.holds IS NOT NULL AND e.erased IS NULL", "("+strings.Join(contains, " OR ")+")",
		"(e.held OR (SELECT d.id FROM delivery d WHERE d.event_id = e.id AND COALESCE(d.delivered, d.dropped) IS NULL LIMIT 1) IS NOT NULL)")
	c.And("o.domain_id = %s AND o.user_id = %s", gone[0].domain, gone[0].user)
	return "event e CROSS JOIN " + table + " o WHERE " + c.String(), c
}

// repeatReports makes the next sync repeat what undelivered events say of other data, because these
// events are dropped. The rows of the reads in these events get the number Unreported. So do changed
// accounts and subscriptions, if no later sync changed them again. Connections with such data become
// due, if the service reads them without a request, and due again after a read that is under way.
func (tx Tx) repeatReports(gone []withdrawal) {
	for _, of := range reported {
		from, c := lostReports(of.table, gone)
		named := `' ` + of.kind + `:' || CAST(o.id AS TEXT) || '/' || CAST(o.epoch AS TEXT)` // as in store.HoldingOf
		read, changed := `{position}(e.holds, `+named+` || '#') > 0`, `{position}(e.holds, `+named+` || '@' || CAST(o.changed AS TEXT) || ' ') > 0`
		due := c
		at := due.Bind(gone[0].at)
		tx.unit.Exec(`UPDATE connection SET next_try = `+at+` WHERE active AND next_try IS NOT NULL AND (next_try > `+at+` OR lease_until >= {now}) AND `+database.Opaque("state IS NULL AND deleted IS NULL")+`
			AND id IN (SELECT o.connection_id FROM `+from+` AND (`+read+` OR `+changed+`))`, due.Args...)
		reading := fmt.Sprintf(`o.id AS owner, o.epoch AS since, CAST(substr(e.holds, {position}(e.holds, %[1]s || '#') + length(%[1]s || '#'), %[2]d) AS BIGINT) AS reading`, named, readDigits)
		for _, rows := range of.rows {
			if rows == "bank_transaction" {
				tx.unit.Exec(fmt.Sprintf(stateAgain, Unreported, reading, from, read), c.Args...)
			}
			tx.unit.Exec(fmt.Sprintf(`UPDATE %[1]s SET changed = %[2]d%[3]s FROM (SELECT %[4]s, MAX(CASE WHEN e.held AND e.name = 'CONNECTION_SYNCED' THEN 1 ELSE 0 END) AS unsent
				FROM %[5]s AND %[6]s GROUP BY 1, 2, 3) AS lost WHERE %[1]s.%[7]s = lost.owner AND %[1]s.epoch = lost.since AND %[1]s.changed = lost.reading`,
				rows, Unreported, unstated[rows], reading, from, read, of.owner), c.Args...)
		}
		tx.unit.Exec(fmt.Sprintf(`UPDATE %[1]s SET changed = %[2]d WHERE id IN (SELECT o.id FROM %[3]s AND %[4]s)`, of.table, Unreported, from, changed), c.Args...)
	}
}

// unstated contains, for a table of rows that statements contain, what repeatReports also stores. A
// receiver may already have a movement of a lost statement: from another event, or from an attempt
// that seemed to fail. It would book the movement twice, so the column booked keeps the number of
// the lost read, and no later statement contains the movement.
var unstated = map[string]string{"bank_transaction": `, booked = CASE WHEN lost.unsent = 0 THEN COALESCE(booked, CASE WHEN NOT coming THEN bank_transaction.changed END) ELSE booked END`}

// stateAgain makes the next statement contain the movements of a temporary user's lost
// CONNECTION_SYNCED, because no event of such a user was ever sent. The column booked may have the
// number of the lost read although a later read, or an earlier withdrawal, has changed the row. A
// USER_SYNCED that also contained these movements is lost together with the CONNECTION_SYNCED.
const stateAgain = `UPDATE bank_transaction SET changed = %d, booked = NULL FROM (SELECT DISTINCT %s FROM %s AND %s AND e.held AND e.name = 'CONNECTION_SYNCED') AS lost
	WHERE bank_transaction.account_id = lost.owner AND bank_transaction.epoch = lost.since AND bank_transaction.booked = lost.reading`

// holding returns the name of the object's data in events.
func (e withdrawal) holding() store.Holding { return store.HoldingOf(e.kind, e.subject, e.epoch) }

// void erases at most limit bodies of events that contain the object.
func (tx Tx) void(e withdrawal, limit int, voided func()) {
	tx.units.VoidBodiesWith(passerelle.DomainID(e.domain), passerelle.UserID(e.user), e.holding(), database.Instant(e.at), limit, voided)
}

// erasable lists, for each kind of object, the tables with its rows, in the order of erasure. In
// the condition, $1 is the object and, for accounts and subscriptions, $2 is the last epoch.
var erasable = map[string][]struct{ table, condition string }{
	"account": {
		{"investment_value", "account_id = $1 AND epoch <= $2"},
		{"asset", "account_id = $1 AND epoch <= $2"},
		{"transaction_information", "account_id = $1 AND epoch <= $2"},
		{"transaction_cluster", "account_id = $1 AND epoch <= $2"},
		{"attachment", "account_id = $1 AND epoch <= $2"},
		{"transaction_document", "account_id = $1 AND account_epoch <= $2"},
		{"bank_transaction", "account_id = $1 AND epoch <= $2"},
	},
	"subscription": {
		{"transaction_document", "subscription_id = $1 AND subscription_epoch <= $2"},
		{"document", "subscription_id = $1 AND epoch <= $2"},
	},
	"connection": {
		{"transaction_document", "subscription_id IN (SELECT id FROM subscription WHERE connection_id = $1)"},
		{"transaction_document", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"document", "connection_id = $1"},
		{"subscription", "connection_id = $1"},
		{"investment_value", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"asset", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"transaction_information", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"transaction_cluster", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"attachment", "account_id IN (SELECT id FROM bank_account WHERE connection_id = $1)"},
		{"bank_transaction", "connection_id = $1"},
		{"bank_account", "connection_id = $1"},
		{"connection_log", "connection_id = $1"},
		{"connection_source", "connection_id = $1"},
		{"connection", "id = $1 AND terminate IS NULL"},
	},
}

// EraseWithdrawn erases some data of the oldest withdrawal: at most maxVoided bodies of events, or
// at most limit rows of one table. It returns false when no withdrawal is left. Concurrent calls
// wait for each other.
func EraseWithdrawn(ctx context.Context, db *store.DB, limit int) (bool, error) {
	e, err := database.One(ctx, db.Rows(), scanWithdrawal, `SELECT id, domain_id, user_id, kind, subject_id, epoch, created FROM withdrawal ORDER BY id LIMIT 1`)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = e.eraseStep(ctx, db, limit)
	if errors.Is(err, store.ErrConflict) {
		err = nil // another process has ended the withdrawal
	}
	return true, err
}

// eraseStep erases some rows of a withdrawal. It ends the withdrawal when no rows are left.
func (e withdrawal) eraseStep(ctx context.Context, db *store.DB, limit int) error {
	if voided, err := e.voidSome(ctx, db, maxVoided); err != nil || voided > 0 {
		return err
	}
	for _, below := range erasable[e.kind] {
		if gone, err := e.eraseSome(ctx, db, below.table, below.condition, limit); err != nil || gone > 0 {
			return err
		}
	}
	return db.Write(ctx, func(tx *store.Tx) error {
		tx.Unit().ExecOne(store.ErrConflict, `DELETE FROM withdrawal WHERE id = $1`, e.id)
		return nil
	})
}

// holdWithdrawal makes other processes that erase the same object wait until the unit ends.
// Otherwise a process could see an empty table while another process has not yet committed the
// removal of the rows. The first process would then continue with the next table, and could erase
// rows that are needed to find the remaining rows. Write fails with ErrConflict when the withdrawal
// has ended.
func (tx Tx) holdWithdrawal(e withdrawal) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE withdrawal SET created = created WHERE id = $1`, e.id)
}

// args returns the arguments of the conditions.
func (e withdrawal) args() []any {
	if e.epoch == nil {
		return []any{e.subject}
	}
	return []any{e.subject, *e.epoch}
}

func (e withdrawal) voidSome(ctx context.Context, db *store.DB, limit int) (int, error) {
	var voided int
	found, err := db.AnyBodyWith(ctx, passerelle.DomainID(e.domain), passerelle.UserID(e.user), e.holding())
	if err != nil || !found {
		return 0, err
	}
	err = write(ctx, db, func(tx Tx) error {
		tx.unit.OnRetry(func() { voided = 0 })
		tx.holdWithdrawal(e)
		tx.void(e, limit, func() { voided++ })
		return nil
	})
	if err != nil {
		return voided, fmt.Errorf("erase bodies of events: %w", err)
	}
	return voided, nil
}

func (e withdrawal) eraseSome(ctx context.Context, db *store.DB, table, condition string, limit int) (int, error) {
	var gone int
	args, which := e.args(), condition
	if holdFiles[table] {
		which += noFile(table)
	}
	err := write(ctx, db, func(tx Tx) error {
		tx.unit.OnRetry(func() { gone = 0 })
		tx.holdWithdrawal(e)
		if holdFiles[table] {
			tx.forgetFilesOf(table, condition, limit, args)
		}
		tx.unit.Returning(func(row database.Row) error {
			gone++
			var id int64
			return row.Scan(&id)
		}, fmt.Sprintf(`DELETE FROM %s WHERE id IN (SELECT id FROM %[1]s WHERE %s%s) RETURNING id`, table, which, database.UpTo(limit)), args...)
		return nil
	})
	if err != nil {
		return gone, fmt.Errorf("erase from %s: %w", table, err)
	}
	return gone, nil
}

// HoldAccount keeps an account shared until the unit ends. Write fails with ErrConflict when the
// user has stopped sharing the account since the account was read.
func (tx Tx) HoldAccount(domain passerelle.DomainID, a StoredAccount) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE bank_account SET epoch = epoch WHERE +domain_id = $1 AND id = $2 AND epoch = $3 AND disabled IS NULL`, int64(domain), int64(a.ID), a.Epoch)
}

// HoldSubscription does the same as HoldAccount for a subscription.
func (tx Tx) HoldSubscription(domain passerelle.DomainID, s StoredSubscription) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE subscription SET epoch = epoch WHERE +domain_id = $1 AND id = $2 AND epoch = $3 AND disabled IS NULL`, int64(domain), int64(s.ID), s.Epoch)
}

// DeleteUser removes a user. It hides all of the user's data, and removes the events of a temporary
// user. Erase and EraseWithdrawn then erase the other data. Write fails with ErrConflict when an
// event changed the user's version, or the user became permanent, after the caller read u. The
// argument now is in the domain's time, and realNow is the real time.
func (tx Tx) DeleteUser(u passerelle.User, now, realNow time.Time) {
	tx.units.RemoveUser(u, realNow)
	tx.withdrawUser(u.Domain, u.ID, now)
}

// withdrawUser hides all connections of a deleted user. EraseWithdrawn then erases the data of
// these connections.
func (tx Tx) withdrawUser(domain passerelle.DomainID, user passerelle.UserID, now time.Time) {
	tx.unit.Exec(`INSERT INTO withdrawal (domain_id, user_id, kind, subject_id, created) SELECT domain_id, user_id, 'connection', id, $1 FROM connection WHERE domain_id = $2 AND user_id = $3 AND deleted IS NULL ORDER BY id`,
		database.Micros(now), int64(domain), int64(user))
	tx.unit.Exec(`UPDATE connection SET deleted = $1, credentials = $2, `+keptForTermination+`, message = NULL, fields = NULL, url = NULL, next_try = NULL WHERE domain_id = $3 AND user_id = $4 AND deleted IS NULL`,
		database.Micros(now), []byte{}, int64(domain), int64(user))
	for _, withdrawn := range []string{withdrawnAccounts, withdrawnSubscriptions} {
		tx.unit.Exec(withdrawn+`domain_id = $2 AND user_id = $3`, database.Micros(now), int64(domain), int64(user))
	}
	tx.unit.Exec(`DELETE FROM connection_return WHERE domain_id = $1 AND user_id = $2`, int64(domain), int64(user))
}
