package bankstore

import (
	"context"
	"errors"
	"fmt"
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

// withdrawShared withdraws an account or a subscription of a connection. The caller must have
// disabled it, and hold the lease of the connection.
func (tx Tx) withdrawShared(e withdrawal, connection passerelle.ConnectionID) {
	tx.repeatReports(e, connection)
	tx.withdraw(e)
}

// reported lists the tables of accounts and subscriptions, with the kind of their holdings, and the
// tables of the rows that events report, with the column of their owner.
var reported = []struct {
	table, kind, owner string
	rows               []string
}{
	{"bank_account", "account", "account_id", []string{"bank_transaction", "attachment", "asset"}},
	{"subscription", "subscription", "subscription_id", []string{"document"}},
}

// lostReports is a query for a connection's accounts or subscriptions, with the number of
// undelivered reports that contain both the account or subscription and a holding. It builds the
// names of holdings like store.HoldingOf.
const lostReports = `SELECT o.id AS id, count(*) AS n FROM event e CROSS JOIN %[1]s o
	WHERE e.domain_id = $1 AND e.user_id = $2 AND e.holds IS NOT NULL AND e.erased IS NULL AND e.holds LIKE $3 AND e.name = 'CONNECTION_SYNCED'
	AND (e.held OR (SELECT d.id FROM delivery d WHERE d.event_id = e.id AND COALESCE(d.delivered, d.dropped) IS NULL LIMIT 1) IS NOT NULL)
	AND o.connection_id = $4 AND o.disabled IS NULL AND e.holds LIKE '%% %[2]s:' || CAST(o.id AS TEXT) || '/' || CAST(o.epoch AS TEXT) || ' %%' GROUP BY o.id`

// repeatReports makes the next sync repeat the other data of undelivered reports that contain a
// withdrawn object, because these reports are dropped. The reads of these reports no longer count
// as reported, and their rows get the number of the next complete read. A report after a failed
// sync counts no read, so the next sync may also repeat older rows. Accounts and subscriptions that
// the institution no longer lists get the number of the next sync, which reports them again.
func (tx Tx) repeatReports(e withdrawal, connection passerelle.ConnectionID) {
	for _, of := range reported {
		tx.unit.Exec(fmt.Sprintf(`UPDATE %[1]s SET readings = CASE WHEN readings > counted.n THEN readings - counted.n ELSE 0 END,
				changed = CASE WHEN deleted IS NULL THEN changed ELSE (SELECT c.sync + 1 FROM connection c WHERE c.id = $4) END
			FROM (`+lostReports+`) AS counted WHERE %[1]s.id = counted.id`, of.table, of.kind),
			e.domain, e.user, "% "+string(e.holding())+" %", int64(connection))
		for _, rows := range of.rows {
			booked := ""
			if rows == "bank_transaction" {
				booked = ", booked = CASE WHEN booked > o.readings + 1 THEN o.readings + 1 ELSE booked END"
			}
			tx.unit.Exec(fmt.Sprintf(`UPDATE %[1]s SET changed = o.readings + 1%[4]s FROM %[2]s o
				WHERE o.connection_id = $1 AND o.disabled IS NULL AND %[1]s.%[3]s = o.id AND %[1]s.epoch = o.epoch AND %[1]s.changed > o.readings + 1`,
				rows, of.table, of.owner, booked), int64(connection))
		}
	}
}

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
