package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// groupLimit is the largest number of units that share a transaction.
	groupLimit = 256
	// unitLimit is the longest time that the statements of a unit may take.
	unitLimit = 30 * time.Second
	// waryGroups is the number of groups in which units that change rows get savepoints, after such
	// a unit has failed without a savepoint. Failed changes therefore make the writer execute at
	// most one in waryGroups groups twice.
	waryGroups = 64
)

// errLost means that the transaction has ended or is in an unexpected state. One statement can make
// SQLite roll back a whole transaction.
var errLost = errors.New("the transaction is lost")

// errBare means that a unit without a savepoint failed. The whole transaction must then be undone.
var errBare = errors.New("a unit without a savepoint failed")

// queued is a unit that waits for its execution.
type queued struct {
	unit *Unit
	done chan error
}

// writer owns the only writing connection. Its goroutine executes waiting units, and reports their
// outcomes after their common COMMIT. The goroutine uses separate contexts, so that no caller can
// interrupt the units of other callers.
type writer struct {
	open opener
	conn *sqliteConn // nil after a transaction was lost, until needed

	wary int // the remaining groups of waryGroups

	queue   chan *queued // unbuffered: a sent unit has already been taken
	stop    chan struct{}
	stopped chan struct{}

	most    int             // the largest number of units in a group
	limit   time.Duration   // the constant unitLimit, except in tests
	atLeast int             // the smallest number of units in a group; only tests set it
	ended   func(group int) // called with the number of units in a finished transaction; may be nil
}

func newWriter(ctx context.Context, open opener) (*writer, error) {
	w := &writer{
		open: open, most: groupLimit, limit: unitLimit,
		queue: make(chan *queued), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	go w.run() //nolint:contextcheck // the writer outlives the caller that opened it
	return w, nil
}

// submit waits until the writer takes the unit, and fails if the context ends first. After the
// writer has taken the unit, submit waits for the outcome, even if the context ends.
func (w *writer) submit(ctx context.Context, tx *Unit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := &queued{unit: tx, done: make(chan error, 1)}
	select {
	case w.queue <- u:
		return <-u.done
	case <-ctx.Done():
		return ctx.Err()
	case <-w.stop:
		return ErrClosed
	}
}

func (w *writer) close() {
	close(w.stop)
	<-w.stopped
	w.disconnect()
}

func (w *writer) run() {
	defer close(w.stopped)
	for {
		select {
		case first := <-w.queue:
			w.answer(gather(w.queue, first, w.atLeast, w.most))
		case <-w.stop:
			return
		}
	}
}

// gather adds waiting units to the first unit. It waits until the group has a minimum number of
// units.
func gather(queue <-chan *queued, first *queued, least, most int) []*queued {
	group := []*queued{first}
	for len(group) < least {
		group = append(group, <-queue)
	}
	for len(group) < most {
		select {
		case u := <-queue:
			group = append(group, u)
		default:
			return group
		}
	}
	return group
}

// answer executes a group in one transaction if possible. Otherwise it executes one unit after the
// other, so that a failing unit does not make others fail.
func (w *writer) answer(group []*queued) {
	for _, careful := range []bool{false, true} {
		if results, ok := w.together(group, careful); ok {
			w.reply(group, results)
			return
		}
	}
	for i, u := range group {
		w.reply(group[i:i+1], []error{w.alone(u)})
	}
}

func (w *writer) reply(group []*queued, results []error) {
	if w.ended != nil {
		w.ended(len(group))
	}
	for i, u := range group {
		u.done <- results[i]
	}
}

// together executes the group in one transaction. If careful is set, each unit has a savepoint. If
// the second result is false, nothing was written. When no transaction can begin, every unit fails
// immediately, because a separate attempt for each unit could wait for busyTimeout again.
func (w *writer) together(group []*queued, careful bool) ([]error, bool) {
	var results []error
	if len(group) == 1 {
		return nil, false
	}
	if err := w.begin(); err != nil {
		return slices.Repeat([]error{err}, len(group)), true
	}
	w.wary = max(w.wary-1, 0)
	var good []*Unit
	for _, u := range group {
		err := w.member(u, careful)
		switch {
		case errors.Is(err, errLost):
			w.disconnect()
			return nil, false
		case errors.Is(err, errBare):
			w.rollback()
			return nil, false
		}
		if err == nil {
			good = append(good, u.unit)
		}
		results = append(results, err)
	}
	if w.execute(tallies(good...)) != nil || w.conn.control("COMMIT") != nil {
		w.disconnect()
		return nil, false
	}
	return results, true
}

// member executes a unit, if possible without a savepoint. SQLite copies every page that is changed
// under a savepoint. A unit that only adds rows seldom fails. Other units get a savepoint if one of
// them has recently failed without a savepoint.
func (w *writer) member(u *queued, careful bool) error {
	if careful || w.wary > 0 && !u.unit.OnlyAdds() || u.unit.controls() {
		return w.guarded(u)
	}
	if guard(u.unit.reset) == nil && w.execute(u.unit.statements) == nil {
		return nil
	}
	if !u.unit.OnlyAdds() {
		w.wary = waryGroups
	}
	return errBare
}

// guarded executes a unit under a savepoint. If the savepoint still exists afterwards, the
// transaction exists too.
func (w *writer) guarded(u *queued) error {
	if err := guard(u.unit.reset); err != nil {
		return err
	}
	if w.conn.control("SAVEPOINT unit") != nil {
		return errLost
	}
	err := w.execute(u.unit.statements)
	if err != nil && w.conn.control("ROLLBACK TO unit") != nil {
		return errLost
	}
	if w.conn.control("RELEASE unit") != nil {
		return errLost
	}
	return err
}

// alone executes a unit in its own transaction.
func (w *writer) alone(u *queued) error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := guard(u.unit.reset); err != nil {
		w.disconnect()
		return err
	}
	if err := w.execute(u.unit.run()); err != nil {
		w.rollback()
		return err
	}
	if err := w.conn.control("COMMIT"); err != nil {
		w.disconnect()
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// execute executes statements within the time limit of a unit. A statement that must change one
// row, or that only adds the rows in its VALUES, runs without a context that can end. The
// connection would start a goroutine for such a context, so the limit is checked before the
// statement instead.
func (w *writer) execute(statements []statement) error {
	ctx, cancel := context.WithTimeout(context.Background(), w.limit)
	defer cancel()
	for i := range statements {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, within := &statements[i], ctx
		if s.mismatch != nil || s.isCertain() {
			within = context.Background()
		}
		if err := s.failed(w.statement(within, s)); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) statement(ctx context.Context, s *statement) error {
	if s.scan != nil {
		var found int64
		err := w.conn.query(ctx, s.sql, s.args, func(row Row) (bool, error) { found++; return true, s.take(row) })
		return cmp.Or(err, s.check(found))
	}
	touched, err := w.conn.exec(ctx, s.sql, s.args)
	return cmp.Or(err, s.check(touched))
}

func (w *writer) begin() error {
	if err := w.connect(context.Background()); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if err := w.conn.control("BEGIN IMMEDIATE"); err != nil {
		w.disconnect()
		return fmt.Errorf("begin: %w", err)
	}
	return nil
}

// rollback rolls the transaction back. If that fails, it closes the connection, whose state is then
// unknown.
func (w *writer) rollback() {
	if w.conn.control("ROLLBACK") != nil {
		w.disconnect()
	}
}

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.open(ctx)
	w.conn = conn
	return err
}

// disconnect closes the connection permanently. SQLite then rolls back all uncommitted changes on
// it.
func (w *writer) disconnect() {
	if w.conn != nil {
		_ = w.conn.close() // its error changes the outcome of no unit
	}
	w.conn = nil
}
