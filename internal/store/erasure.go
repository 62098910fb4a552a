package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
)

// Erasure is a deleted user with data that must still be erased.
type Erasure struct {
	Domain passerelle.DomainID
	User   passerelle.UserID
	Since  time.Time
}

// erasureGrace is how long the erasure of a deleted user continues to search for data, because a
// concurrent write may commit late.
const erasureGrace = time.Minute

// farewellPending is the condition that a delivery of the event about the user's deletion is
// pending. This event carries the user's token. The event and the token stay until no delivery of
// the event is pending. A deleted webhook may be restored, so its delivery is pending until
// PurgeUndeliverable drops it. $1 is the domain, $2 the user.
const farewellPending = `EXISTS (SELECT 1 FROM event f JOIN delivery d ON d.event_id = f.id
	WHERE f.domain_id = $1 AND f.subject = 'user' AND f.subject_id = $2 AND f.name = 'USER_DELETED'
	AND COALESCE(d.delivered, d.dropped) IS NULL)`

const eventsOfUser = `FROM event e WHERE e.domain_id = $1 AND e.user_id = $2 AND (e.name <> 'USER_DELETED' OR NOT ` + farewellPending + `)`

// ForgottenFile marks a row of stored_file, so that its file is removed once no other row refers to
// it. The lease of a running fetch delays the removal, because the fetch could store the file
// again.
const ForgottenFile = `next_fetch = NULL, due = CASE WHEN lease_until > {now} THEN lease_until ELSE 0 END`

// remains lists the tables and columns with data of a user, in the order of erasure. The field
// `rows` is a query for keys. The field `erase` is a statement that erases the rows with these
// keys. In this statement, {rows} stands for the query, and $3 is the domain's present instant.
var remains = []struct{ rows, erase string }{
	{
		// The responses that are stored for repeated requests contain data of the user. The query
		// begins with the tokens, because a user has fewer tokens than a domain has responses.
		rows: `SELECT i.id FROM token t CROSS JOIN idempotency i WHERE t.domain_id = $1 AND t.user_id = $2
			AND i.domain_id = +t.domain_id AND i.token_id = t.id`,
		erase: `DELETE FROM idempotency WHERE id IN ({rows})`,
	},
	{
		rows: `SELECT id FROM token WHERE domain_id = $1 AND user_id = $2
			AND (SELECT i.id FROM idempotency i WHERE i.domain_id = token.domain_id AND i.token_id = token.id LIMIT 1) IS NULL`,
		erase: `DELETE FROM token WHERE id IN ({rows})`,
	},
	{
		rows: `SELECT d.id FROM event e JOIN delivery d ON d.event_id = e.id WHERE e.domain_id = $1 AND e.user_id = $2
			AND e.name <> 'USER_DELETED' AND COALESCE(d.delivered, d.dropped) IS NULL`,
		erase: `UPDATE delivery SET dropped = $3, drop_reason = 'the user was deleted' WHERE id IN ({rows})`,
	},
	{
		// A receiver's response may repeat the request, and may therefore contain data of the user.
		rows: `SELECT a.id FROM event e JOIN delivery d ON d.event_id = e.id JOIN delivery_attempt a ON a.delivery_id = d.id
			WHERE e.domain_id = $1 AND e.user_id = $2 AND (a.answer IS NOT NULL OR a.detail IS NOT NULL)`,
		erase: `UPDATE delivery_attempt SET answer = NULL, detail = NULL WHERE id IN ({rows})`,
	},
	{
		rows:  `SELECT e.id ` + eventsOfUser + ` AND EXISTS (SELECT 1 FROM event_part p WHERE p.event_id = e.id)`,
		erase: `DELETE FROM event_part WHERE event_id IN ({rows})`,
	},
	{
		rows:  `SELECT e.id ` + eventsOfUser + ` AND e.erased IS NULL`,
		erase: `UPDATE event SET body = CAST('{}' AS {bytes}), holds = NULL, erased = $3 WHERE id IN ({rows})`,
	},
	{
		rows:  `SELECT id FROM consent WHERE domain_id = $1 AND user_id = $2`,
		erase: `DELETE FROM consent WHERE id IN ({rows})`,
	},
	{
		// The contents of files are not in the database. A loop removes each content together with
		// its row, and the erasure waits for this removal.
		rows:  `SELECT id FROM stored_file WHERE domain_id = $1 AND user_id = $2 AND due IS NULL`,
		erase: `UPDATE stored_file SET ` + ForgottenFile + ` WHERE id IN ({rows})`,
	},
	{
		rows:  `SELECT token_id FROM user_token WHERE domain_id = $1 AND user_id = $2 AND NOT ` + farewellPending,
		erase: `DELETE FROM user_token WHERE token_id IN ({rows})`,
	},
}

// EachPending calls the function `do` with each row that the function `list` returns. It ends when
// `list` returns no row or an error, or after `list` was called `passes` times. After a success,
// the row must no longer be in the list. A failing row stays in the list. It does not delay other
// rows, because `list` skips as many rows as have failed. EachPending returns the first failure,
// with the number of failures if there are several.
func EachPending[Row any](ctx context.Context, passes int, list func(skip int) ([]Row, error), do func(Row) error) error {
	var (
		failed int
		first  error
	)
	for range passes {
		rows, err := list(failed)
		if err != nil {
			return errors.Join(first, err)
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			err := do(row)
			if err == nil {
				continue
			}
			if failed++; failed == 1 {
				first = err
			}
			if ctx.Err() != nil {
				return first
			}
		}
	}
	if failed > 1 {
		return fmt.Errorf("%d failures, the first: %w", failed, first)
	}
	return first
}

// ErasuresDue lists at most `limit` deleted users with an erasure that is due at the instant
// realNow, in real time. It leaves out the first `skip` users.
func (r *Reader) ErasuresDue(ctx context.Context, domain passerelle.DomainID, realNow time.Time, skip, limit int) ([]Erasure, error) {
	return database.Collect(ctx, r.rows, func(row database.Row) (Erasure, error) {
		var (
			e     Erasure
			since int64
		)
		err := row.Scan(&e.Domain, &e.User, &since)
		e.Since = database.Instant(since)
		return e, err
	}, `SELECT domain_id, user_id, since FROM erasure WHERE domain_id = $1 AND due <= $2 ORDER BY due LIMIT $3 OFFSET $4`, int64(domain), database.Micros(realNow), limit, skip)
}

// Erase erases a deleted user's data that may be erased now. Package bankstore erases the user's
// bank data. The argument `batch` limits the rows of each kind that a unit erases. Until all data
// is erased and erasureGrace has passed, the erasure is due again at the instant `next`. The
// argument `now` is in the domain's time; realNow and `next` are real time.
func (db *DB) Erase(ctx context.Context, e Erasure, batch int, now, realNow, next time.Time) error {
	for {
		if err := db.Write(ctx, func(tx *Tx) error { tx.erase(e, batch, now); return nil }); err != nil {
			return fmt.Errorf("erase the data of user %d: %w", e.User, err)
		}
		more, err := db.anyRemains(ctx, e)
		if err != nil {
			return fmt.Errorf("find remaining data of user %d: %w", e.User, err)
		}
		if !more {
			return db.Write(ctx, func(tx *Tx) error { tx.endErasure(e, realNow, next); return nil })
		}
	}
}

func (tx *Tx) erase(e Erasure, batch int, now time.Time) {
	for _, kind := range remains {
		statement := strings.Replace(kind.erase, "{rows}", kind.rows+database.UpTo(batch), 1)
		args := []any{int64(e.Domain), int64(e.User)}
		if strings.Contains(statement, "$3") {
			args = append(args, database.Micros(now))
		}
		tx.unit.Exec(statement, args...)
	}
}

func (r *Reader) anyRemains(ctx context.Context, e Erasure) (bool, error) {
	any := make([]string, len(remains))
	for i, kind := range remains {
		any[i] = "EXISTS (" + kind.rows + ")"
	}
	_, err := database.One(ctx, r.rows, database.ScanInt, `SELECT 1 WHERE `+strings.Join(any, " OR "), int64(e.Domain), int64(e.User))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (tx *Tx) endErasure(e Erasure, realNow, next time.Time) {
	tx.unit.Exec(`DELETE FROM erasure WHERE domain_id = $1 AND user_id = $2 AND since <= $3 AND NOT `+farewellPending+`
			AND NOT EXISTS (SELECT 1 FROM stored_file WHERE domain_id = $1 AND user_id = $2)`,
		int64(e.Domain), int64(e.User), database.Micros(realNow.Add(-erasureGrace)))
	tx.unit.Exec(`UPDATE erasure SET due = $1 WHERE domain_id = $2 AND user_id = $3`, database.Micros(next), int64(e.Domain), int64(e.User))
}
