package database

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"

	"github.com/jackc/pgx/v5/pgconn"
	"zombiezen.com/go/sqlite"

	"passerelle"
)

// These are the errors that callers can distinguish. Every other error is a fault of the program
// or of the database.
var (
	// ErrNotFound reports that a query for one row found no row.
	ErrNotFound = errors.New("no such row")
	// ErrConflict reports that the row has changed since it was read.
	ErrConflict = errors.New("the row has changed meanwhile")
	// ErrDuplicate reports the violation of a unique constraint.
	ErrDuplicate = errors.New("a row with this key exists")
	// ErrConstraint reports that the schema refuses a row because of a check, a reference, a
	// mandatory column or a trigger.
	ErrConstraint = errors.New("the schema refuses the row")
	// ErrUnknown reports that the connection was lost during COMMIT, and that the server did not
	// report the outcome in time. The unit may have been written.
	ErrUnknown = errors.New("the outcome of the transaction is unknown")
	// ErrUnread reports that the unit was written, but the rows of [Unit.Returning] were lost with
	// the connection or could not be read. It is an error of the kind passerelle.Unavailable.
	ErrUnread = errors.New("the unit was written, but its result was lost")
	// ErrClosed reports a write after Close. On SQLite, it also reports a query after Close.
	ErrClosed = errors.New("the database is closed")
)

// sqliteKinds maps result codes of SQLite to kinds of errors. For other codes, the primary code
// decides.
var sqliteKinds = map[sqlite.ResultCode]error{
	sqlite.ResultConstraintPrimaryKey: ErrDuplicate,
	sqlite.ResultConstraintUnique:     ErrDuplicate,
	sqlite.ResultConstraintRowID:      ErrDuplicate,
	sqlite.ResultConstraint:           ErrConstraint,
	sqlite.ResultBusy:                 passerelle.Unavailable,
	sqlite.ResultLocked:               passerelle.Unavailable,
	sqlite.ResultReadOnly:             passerelle.Unavailable,
	sqlite.ResultIOErr:                passerelle.Unavailable,
	sqlite.ResultFull:                 passerelle.Unavailable,
	sqlite.ResultCantOpen:             passerelle.Unavailable,
}

// postgresKinds maps error codes of PostgreSQL to kinds of errors. For other codes, the class
// decides.
var postgresKinds = map[string]error{
	"23505": ErrDuplicate,
	"23":    ErrConstraint,
	"25006": passerelle.Unavailable, // read only, for example on a standby
	"08":    passerelle.Unavailable, // connection exception
	"53":    passerelle.Unavailable, // insufficient resources
	"57":    passerelle.Unavailable, // operator intervention
}

// classify wraps a driver's error with the kind of its code.
func classify(err error) error {
	if kind := kindOf(err); kind != nil {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}

func kindOf(err error) error {
	switch {
	case errors.Is(err, ErrUnknown):
		return nil // the caller must not simply run the unit again, whatever the cause
	case errors.Is(err, errAgain), errors.Is(err, ErrUnread):
		return passerelle.Unavailable
	}
	code := sqlite.ErrCode(err)
	if kind := firstOf(sqliteKinds, code, code.ToPrimary()); kind != nil {
		return kind
	}
	var fromPostgres *pgconn.PgError
	if errors.As(err, &fromPostgres) && len(fromPostgres.Code) == 5 {
		return firstOf(postgresKinds, fromPostgres.Code, fromPostgres.Code[:2])
	}
	if isCut(err) {
		return passerelle.Unavailable
	}
	return nil
}

// IsDamaged reports whether SQLite found that a file is damaged, or that it is not a database.
func IsDamaged(err error) bool {
	code := sqlite.ErrCode(err).ToPrimary()
	return code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB
}

// isCut reports whether the connection to the server failed or was lost.
func isCut(err error) bool {
	var unreachable *pgconn.ConnectError
	var network *net.OpError
	return errors.As(err, &unreachable) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}

func firstOf[K comparable](kinds map[K]error, keys ...K) error {
	for _, key := range keys {
		if kind := kinds[key]; kind != nil {
			return kind
		}
	}
	return nil
}

// panicked carries a panic to the goroutine of the caller whose function panicked. guard catches
// the panic where it would do damage: in the writer, or in the middle of a result.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n\n%s", p.value, p.stack) }

// guard turns a panic of fn into an error.
func guard(fn func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicked{value, debug.Stack()}
		}
	}()
	return fn()
}

// resume continues a panic that guard has caught.
func resume(err error) error {
	var p *panicked
	if errors.As(err, &p) {
		panic(p)
	}
	return err
}
