package database

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// refusedParameter is the error code with which PgBouncer refuses a setting of a session.
const refusedParameter = "08P01"

// examine opens a connection. It reports whether the connection goes through a pooler. It fails
// when the settings of the session do not suit the service. A pooler may use another server process
// for each transaction. This process then differs from the process at the start of the connection,
// and may lack the settings of the connection.
func examine(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if fault := (*pgconn.PgError)(nil); errors.As(err, &fault) && fault.Code == refusedParameter && strings.Contains(fault.Message, "startup parameter") {
		return true, fmt.Errorf("open the PostgreSQL database: a pooler refuses settings of the session; have it ignore them, with ignore_startup_parameters = %s", settingNames(config))
	}
	if err != nil {
		return false, fmt.Errorf("open the PostgreSQL database: %w", classify(err))
	}
	defer conn.Close(ctx) //nolint:errcheck // the connection only read settings
	process, found, err := settingsOf(ctx, conn, append(slices.Collect(maps.Keys(config.RuntimeParams)), committing))
	if err != nil {
		return false, fmt.Errorf("open the PostgreSQL database: %w", classify(err))
	}
	// The server must not respond to COMMIT before the transaction is on its disk. Otherwise
	// acknowledged data could be lost. The operator decides whether a standby must also have the
	// transaction.
	if found[committing] == "off" {
		return false, errNotDurable
	}
	pooled := process != conn.PgConn().PID()
	if wrong := differing(config.RuntimeParams, found); pooled && len(wrong) > 0 {
		return pooled, fmt.Errorf("open the PostgreSQL database: a pooler is in between, and its sessions lack settings: give it connect_query = '%s'", strings.Join(wrong, "; "))
	}
	return pooled, nil
}

// nameOfProgram is the setting that contains the program's name. Poolers pass this setting on.
const nameOfProgram = "application_name"

// committing is the setting that decides when the server responds to COMMIT.
const committing = "synchronous_commit"

// settingsOf reads the settings and the number of the server process. It uses one statement,
// because the next statement may run in another process.
func settingsOf(ctx context.Context, conn *pgx.Conn, names []string) (uint32, map[string]string, error) {
	const ask = `SELECT pg_backend_pid(), name, current_setting(name, TRUE) FROM unnest(string_to_array($1, ',')) name`
	rows, err := conn.Query(ctx, ask, pgx.QueryExecModeSimpleProtocol, strings.Join(names, ","))
	if err != nil {
		return 0, nil, err
	}
	var (
		process uint32
		name    string
		value   *string
	)
	found := map[string]string{}
	_, err = pgx.ForEachRow(rows, []any{&process, &name, &value}, func() error {
		found[name] = Text[string](value)
		return nil
	})
	return process, found, err
}

// differing returns statements that correct the settings of a session. It compares the settings
// with the wanted values. A timeout may have any value except 0, which means no timeout.
func differing(wanted, found map[string]string) []string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		value := wanted[name]
		limit := strings.HasSuffix(name, "_timeout")
		if name != nameOfProgram && (limit && found[name] == "0" || !limit && found[name] != value) {
			wrong = append(wrong, "SET "+name+" = "+value)
		}
	}
	return wrong
}

// settingNames lists the names of the settings that a session must have.
func settingNames(config *pgx.ConnConfig) string {
	names := slices.Sorted(maps.Keys(config.RuntimeParams))
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == nameOfProgram }), ", ")
}
