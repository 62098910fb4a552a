package bankstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/store"
)

// ConnectionLog is the record of one sync.
type ConnectionLog struct {
	ID          int64
	User        passerelle.UserID
	Connection  passerelle.ConnectionID
	Source      passerelle.SourceID
	Started, At time.Time
	NextTry     *time.Time
	State       passerelle.ConnectionState
	Message     string
	Accounts    int64
	Attended    bool
}

// LogSync stores the record of a sync.
func (tx Tx) LogSync(domain passerelle.DomainID, l ConnectionLog) error {
	id, err := tx.unit.NewID("connection_log")
	if err != nil {
		return err
	}
	tx.unit.Exec(`INSERT INTO connection_log (id, domain_id, user_id, connection_id, source_id, started, at, next_try, state, message, accounts, attended)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		id, int64(domain), int64(l.User), int64(l.Connection), database.OptionalID(l.Source), database.Micros(l.Started), database.Micros(l.At), database.OptionalMicros(l.NextTry),
		database.OptionalText(l.State), database.OptionalText(l.Message), l.Accounts, l.Attended)
	return nil
}

// ConnectionLogFilter selects syncs of a user's connections.
type ConnectionLogFilter struct {
	Domain passerelle.DomainID
	User   passerelle.UserID
	// Connection selects the syncs of a connection. Zero means all.
	Connection passerelle.ConnectionID
	// Source selects the syncs of a source. Zero means all.
	Source passerelle.SourceID
	// From is inclusive and Until exclusive. Zero means no limit.
	From, Until time.Time
}

func (f ConnectionLogFilter) selection() database.Selection {
	s := database.Selection{From: "connection_log"}
	if f.Connection != 0 { // the + prevents SQLite from reading all syncs of the user; a connection has few syncs
		s = s.And("connection_id = $%d", int64(f.Connection)).And("+domain_id = $%d", int64(f.Domain)).And("+user_id = $%d", int64(f.User))
	} else { // excludes syncs of deleted connections that are not erased yet
		s = s.And("domain_id = $%d", int64(f.Domain)).And("user_id = $%d", int64(f.User))
		s.Where = append(s.Where, standing("connection_id"))
	}
	if f.Source != 0 {
		s = s.And("source_id = $%d", int64(f.Source))
	}
	return s.During("at", f.From, f.Until)
}

// ConnectionLogs reads a window of syncs, the newest first. A position consists of the instant
// and the id.
func (r Reader) ConnectionLogs(ctx context.Context, f ConnectionLogFilter, w store.Window) ([]ConnectionLog, error) {
	sql, args := f.selection().Newest(connectionLogColumns, "at", "id", w)
	return database.Collect(ctx, r.rows, scanConnectionLog, sql, args...)
}

const connectionLogColumns = `id, user_id, connection_id, source_id, started, at, next_try, state, message, accounts, attended`

// ConnectionLogsOf lists the syncs of all connections of a user, ordered by connection and then
// by time. A position consists of the connection, the instant and the id.
func (r Reader) ConnectionLogsOf(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, w store.Window) ([]ConnectionLog, error) {
	from := w.From
	if len(from) == 0 {
		from = []any{int64(0), int64(0), int64(0)}
	}
	// An instant limits the range of the index for each connection. For the connection at which the
	// page begins, this is the instant of the position. For the other connections, it is zero.
	return database.Collect(ctx, r.rows, scanConnectionLog, `SELECT l.`+strings.ReplaceAll(connectionLogColumns, ", ", ", l.")+` FROM connection c CROSS JOIN connection_log l
		WHERE c.domain_id = $1 AND c.user_id = $2 AND c.deleted IS NULL AND c.id >= $3 AND l.connection_id = c.id
			AND l.at >= CASE WHEN c.id = $3 THEN CAST($4 AS BIGINT) ELSE 0 END AND (c.id > $3 OR (l.at, l.id) > ($4, $5))
		ORDER BY c.id, l.at, l.id LIMIT $6`, append([]any{int64(domain), int64(user)}, append(slices.Clone(from), w.Limit)...)...)
}

// CountConnectionLogs returns the exact number of syncs that a filter selects.
func (r Reader) CountConnectionLogs(ctx context.Context, f ConnectionLogFilter) (int64, error) {
	return f.selection().Count(ctx, r.rows)
}

// Place returns the position of a sync in the list of ConnectionLogs.
func (l ConnectionLog) Place() []any { return []any{database.Micros(l.At), l.ID} }

func scanConnectionLog(row database.Row) (ConnectionLog, error) {
	var (
		l              ConnectionLog
		source, next   *int64
		started, at    int64
		state, message *string
	)
	err := row.Scan(&l.ID, &l.User, &l.Connection, &source, &started, &at, &next, &state, &message, &l.Accounts, &l.Attended)
	l.Source, l.Started, l.At, l.NextTry = database.ID[passerelle.SourceID](source), database.Instant(started), database.Instant(at), database.OptionalInstant(next)
	l.State, l.Message = database.Text[passerelle.ConnectionState](state), database.Text[string](message)
	return l, err
}
