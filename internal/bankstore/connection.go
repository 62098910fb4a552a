package bankstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"passerelle"
	"passerelle/internal/database"
	"passerelle/internal/keys"
	"passerelle/internal/store"
)

// Connection is a user's connection to an institution, without its secrets.
type Connection struct {
	ID        passerelle.ConnectionID
	Domain    passerelle.DomainID
	User      passerelle.UserID
	Connector string // the UUID of the connector
	Created   time.Time
	State     passerelle.ConnectionState
	// Message is a text from the institution. Fields are the fields that the institution asks for,
	// as JSON. URL is the institution's page for the user. State determines which of the three are
	// set.
	Message string
	Fields  string
	URL     string
	// Active is set when the service reads the connection in the background.
	Active bool
	// Established is the time of the first complete read.
	Established, LastUpdate, LastPush *time.Time
	// Expire is the time at which the connection is removed unless it has been established.
	Expire       *time.Time
	NextTry      *time.Time
	ConsentUntil *time.Time
	// StoredTry is the stored NextTry. SaveConnection compares it with the row, to find a change by
	// HastenRead.
	StoredTry *time.Time
	// Failures counts consecutive failures.
	Failures int64
	// Unattended is the number of reads without the user since UnattendedFrom.
	UnattendedFrom time.Time
	Unattended     int64
	// Soon is true when the user has shared data that is not read yet.
	Soon bool
	// Version is the version of the last event about the connection. Sync is the number of the
	// connection's last read.
	Version, Sync int64
	// Locked is true while a process has the lease of the connection.
	Locked bool
}

// Asked returns the names of the fields that the institution asks for.
func (c Connection) Asked() ([]string, error) {
	if c.Fields == "" {
		return nil, nil
	}
	var asked []struct{ Name string }
	if err := json.Unmarshal([]byte(c.Fields), &asked); err != nil {
		return nil, fmt.Errorf("read the fields that connection %d needs: %w", c.ID, err)
	}
	names := make([]string, len(asked))
	for i, f := range asked {
		names[i] = f.Name
	}
	return names, nil
}

const connectionColumns = `id, domain_id, user_id, connector_uuid, created, state, message, fields, url, active, established,
	last_update, last_push, expire, next_try, consent_until, failures, unattended_from, unattended, read_soon, version, sync, lease_until >= {now}`

func scanConnection(row database.Row) (Connection, error) {
	var (
		c                                                  Connection
		state, message, fields, url                        *string
		created, unattended                                int64
		established, update, push, expire, next, agreement *int64
	)
	err := row.Scan(&c.ID, &c.Domain, &c.User, &c.Connector, &created, &state, &message, &fields, &url, &c.Active, &established,
		&update, &push, &expire, &next, &agreement, &c.Failures, &unattended, &c.Unattended, &c.Soon, &c.Version, &c.Sync, &c.Locked)
	c.State, c.Message = database.Text[passerelle.ConnectionState](state), database.Text[string](message)
	c.Fields, c.URL = database.Text[string](fields), database.Text[string](url)
	c.Created, c.UnattendedFrom = database.Instant(created), database.Instant(unattended)
	c.Established, c.LastUpdate, c.LastPush = database.OptionalInstant(established), database.OptionalInstant(update), database.OptionalInstant(push)
	c.Expire, c.NextTry, c.ConsentUntil = database.OptionalInstant(expire), database.OptionalInstant(next), database.OptionalInstant(agreement)
	c.StoredTry = c.NextTry
	return c, err
}

// Connection loads a connection of a user. It fails with ErrNotFound when the user has no such
// connection.
func (r Reader) Connection(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, id passerelle.ConnectionID) (Connection, error) {
	return database.One(ctx, r.rows, scanConnection, `SELECT `+connectionColumns+` FROM connection
		WHERE +domain_id = $1 AND +user_id = $2 AND id = $3 AND deleted IS NULL`, int64(domain), int64(user), int64(id))
}

// Connections lists a window of a user's connections, ordered by id. A position is an id.
func (r Reader) Connections(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, w store.Window) ([]Connection, error) {
	p := w.ByID()
	return database.Collect(ctx, r.rows, scanConnection, `SELECT `+connectionColumns+` FROM connection
		WHERE domain_id = $1 AND user_id = $2 AND deleted IS NULL AND id `+p.Sign+` $3 ORDER BY id `+p.Order+` LIMIT $4 OFFSET $5`,
		int64(domain), int64(user), p.From, w.Limit, w.Offset)
}

// standing returns the condition that a connection is not deleted. The condition looks up the
// connection by its id. With EXISTS instead, PostgreSQL might build a hash of all connections. The
// + keeps the planner from the index of present connections, which does not support a search by id.
func standing(id string) string {
	return "(SELECT c.id FROM connection c WHERE c.id = " + id + " AND +c.deleted IS NULL) IS NOT NULL"
}

// SomeConnections returns up to n connections of all users, ordered by id. It begins at a random
// id. After the last id, it continues with the first id. The argument uuid selects a connector. An
// empty uuid selects all connectors. The argument state selects a state: nil selects any state, and
// an empty state selects healthy connections.
func (r Reader) SomeConnections(ctx context.Context, domain passerelle.DomainID, uuid string, state *passerelle.ConnectionState, n int) ([]Connection, error) {
	s := database.Selection{From: "connection"}.And("domain_id = $%d", int64(domain))
	well := "state IS NULL"
	if uuid != "" {
		s, well = s.And("connector_uuid = $%d", uuid), database.Opaque("state IS NULL") // keeps the planner from the index of all healthy connections
	}
	s.Where = append(s.Where, "deleted IS NULL")
	switch {
	case state != nil && *state == "":
		s.Where = append(s.Where, well)
	case state != nil:
		s = s.And("state = $%d", string(*state))
	}
	ids := func(row database.Row) ([2]int64, error) {
		var ends [2]int64
		return ends, row.Scan(&ends[0], &ends[1])
	}
	ends, err := database.One(ctx, r.rows, ids, `SELECT COALESCE((SELECT id FROM connection WHERE `+s.Conditions()+` ORDER BY id LIMIT 1), 0),
		COALESCE((SELECT id FROM connection WHERE `+s.Conditions()+` ORDER BY id DESC LIMIT 1), 0)`, s.Args...)
	if err != nil || ends[0] == 0 {
		return nil, err
	}
	from := ends[0] + rand.Int64N(ends[1]-ends[0]+1) //nolint:gosec // a predictable number does no harm here
	all, err := r.someConnections(ctx, s.And("id >= $%d", from), n)
	if err != nil || len(all) == n {
		return all, err
	}
	more, err := r.someConnections(ctx, s.And("id < $%d", from), n-len(all))
	return append(all, more...), err
}

func (r Reader) someConnections(ctx context.Context, s database.Selection, n int) ([]Connection, error) {
	return database.Collect(ctx, r.rows, scanConnection, `SELECT `+connectionColumns+` FROM connection WHERE `+s.Conditions()+` ORDER BY id LIMIT `+s.Bind(n), s.Args...)
}

// ConnectionsByID returns a user's connections with these ids. The form of the conditions
// makes the database search by the ids alone. PostgreSQL 18 would otherwise choose an index of
// connectors.
func (r Reader) ConnectionsByID(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID, ids []passerelle.ConnectionID) (map[passerelle.ConnectionID]Connection, error) {
	var c database.Clauses
	c.And("+domain_id = %s AND +user_id = %s AND CASE WHEN deleted IS NULL THEN TRUE ELSE FALSE END", int64(domain), int64(user))
	c.All = append(c.All, "id IN ("+database.AnyOf(&c, slices.Compact(slices.Sorted(slices.Values(ids))))+")")
	all, err := database.Collect(ctx, r.rows, scanConnection, `SELECT `+connectionColumns+` FROM connection WHERE `+c.String(), c.Args...)
	found := map[passerelle.ConnectionID]Connection{}
	for _, one := range all {
		found[one.ID] = one
	}
	return found, err
}

// ConnectionsWithAccounts returns those of the connections that have accounts. Disabled and deleted
// accounts count.
func (r Reader) ConnectionsWithAccounts(ctx context.Context, domain passerelle.DomainID, ids ...passerelle.ConnectionID) (map[passerelle.ConnectionID]bool, error) {
	var c database.Clauses
	c.And("+c.domain_id = %s AND EXISTS (SELECT 1 FROM bank_account a WHERE a.connection_id = c.id)", int64(domain))
	c.All = append(c.All, "c.id IN ("+database.AnyOf(&c, ids)+")")
	all, err := database.Collect(ctx, r.rows, database.ScanInt, `SELECT c.id FROM connection c WHERE `+c.String(), c.Args...)
	found := map[passerelle.ConnectionID]bool{}
	for _, id := range all {
		found[passerelle.ConnectionID(id)] = true
	}
	return found, err
}

// CountConnections returns the number of connections of a user.
func (r Reader) CountConnections(ctx context.Context, domain passerelle.DomainID, user passerelle.UserID) (int64, error) {
	return database.One(ctx, r.rows, database.ScanInt, `SELECT count(*) FROM connection WHERE domain_id = $1 AND user_id = $2 AND deleted IS NULL`, int64(domain), int64(user))
}

// ConnectionSecrets loads the two secrets that a connector needs: the values that the user entered,
// and the memory of the last sync. It fails with ErrSealed when they cannot be decrypted.
func (r Reader) ConnectionSecrets(ctx context.Context, domain passerelle.DomainID, id passerelle.ConnectionID) (map[string]string, []byte, error) {
	sealed, err := database.One(ctx, r.rows, scanSecrets, `SELECT credentials, memory FROM connection WHERE +domain_id = $1 AND id = $2 AND deleted IS NULL`, int64(domain), int64(id))
	if err != nil {
		return nil, nil, err
	}
	values, err := r.openValues(domain, id, sealed)
	if err != nil {
		return nil, nil, err
	}
	memory, err := r.openMemory(domain, id, sealed)
	return values, memory, err
}

// sealedSecrets contains the encrypted secrets of a connection.
type sealedSecrets struct{ credentials, memory []byte }

func scanSecrets(row database.Row) (sealedSecrets, error) {
	var s sealedSecrets

	err := row.Scan(&s.credentials, &s.memory)
	return s, err
}

func (r Reader) openValues(domain passerelle.DomainID, id passerelle.ConnectionID, sealed sealedSecrets) (map[string]string, error) {
	plain, err := r.source.Unseal(connectionPlace(domain, id, "credentials"), sealed.credentials)
	if err != nil {
		return nil, fmt.Errorf("%w: the credentials of connection %d: %w", store.ErrSealed, id, err)
	}
	var values map[string]string
	if err := json.Unmarshal(plain, &values); err != nil {
		return nil, fmt.Errorf("read the credentials of connection %d: %w", id, err)
	}
	return values, nil
}

func (r Reader) openMemory(domain passerelle.DomainID, id passerelle.ConnectionID, sealed sealedSecrets) ([]byte, error) {
	if sealed.memory == nil {
		return nil, nil
	}
	memory, err := r.source.Unseal(connectionPlace(domain, id, "memory"), sealed.memory)
	if err != nil {
		return nil, fmt.Errorf("%w: the memory of connection %d: %w", store.ErrSealed, id, err)
	}
	return memory, nil
}

func connectionPlace(domain passerelle.DomainID, id passerelle.ConnectionID, column string) keys.Place {
	return keys.Place{Domain: int64(domain), Table: "connection", Column: column, Row: int64(id)}
}

func (tx Tx) sealValues(c Connection, values map[string]string) ([]byte, error) {
	plain, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode credentials: %w", err)
	}
	return tx.sealFor(c, "credentials", plain)
}

func (tx Tx) sealFor(c Connection, column string, plain []byte) ([]byte, error) {
	sealed, err := tx.units.Seal(connectionPlace(c.Domain, c.ID, column), plain)
	if err != nil {
		return nil, fmt.Errorf("seal the %s of a connection: %w", column, err)
	}
	return sealed, nil
}

// CreateConnection stores a connection with the user's values, and sets its id. From the start,
// holder has the lease of the connection. The argument lease is the duration of the lease.
func (tx Tx) CreateConnection(c *Connection, values map[string]string, holder string, lease time.Duration) error {
	id, err := tx.unit.NewID("connection")
	if err != nil {
		return err
	}
	c.ID = passerelle.ConnectionID(id)
	sealed, err := tx.sealValues(*c, values)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(store.ErrConflict, `INSERT INTO connection (id, domain_id, user_id, connector_uuid, created, state, active, expire, next_try, credentials, holder, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, {now} + $12)`,
		id, int64(c.Domain), int64(c.User), c.Connector, database.Micros(c.Created), database.OptionalText(c.State), c.Active, database.OptionalMicros(c.Expire), database.OptionalMicros(c.NextTry), sealed,
		holder, lease.Microseconds())
	return nil
}

// LeaseConnection makes holder the only reader of a connection. Write fails with ErrConflict when
// another holder has the lease, or when the connection is deleted.
func (tx Tx) LeaseConnection(domain passerelle.DomainID, id passerelle.ConnectionID, holder string, lease time.Duration) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE connection SET holder = $1, lease_until = {now} + $2
		WHERE +domain_id = $3 AND id = $4 AND deleted IS NULL AND lease_until < {now}`, holder, lease.Microseconds(), int64(domain), int64(id))
}

// BrokenOff reads whether the last read of a connection was interrupted, for example by a crash.
// Call it before LeaseConnection in a unit, because LeaseConnection replaces the holder.
func (tx Tx) BrokenOff(domain passerelle.DomainID, id passerelle.ConnectionID, into *Leased) {
	tx.unit.Returning(func(row database.Row) error { return row.Scan(&into.BrokenOff) },
		`SELECT holder <> '' FROM connection WHERE +domain_id = $1 AND id = $2`, int64(domain), int64(id))
}

// Leased is a connection at the moment when its lease was taken.
type Leased struct {
	Connection
	// BrokenOff is set only if the unit called [Tx.BrokenOff].
	BrokenOff bool
	// Sources are the sources of the connection, oldest first.
	Sources []ConnectionSource
	sealed  sealedSecrets
}

// Leased reads the connection that the unit leases, with its sources and secrets, in the same
// round trip.
func (tx Tx) Leased(domain passerelle.DomainID, id passerelle.ConnectionID, into *Leased) {
	tx.unit.OnRetry(func() { *into = Leased{} })
	tx.unit.Returning(func(row database.Row) error {
		var err error

		into.Connection, err = scanConnection(row)
		return err
	}, `SELECT `+connectionColumns+` FROM connection WHERE +domain_id = $1 AND id = $2`, int64(domain), int64(id))
	tx.unit.Returning(func(row database.Row) error {
		var err error

		into.sealed, err = scanSecrets(row)
		return err
	}, `SELECT credentials, memory FROM connection WHERE +domain_id = $1 AND id = $2`, int64(domain), int64(id))
	tx.unit.Returning(func(row database.Row) error {
		s, err := scanSource(row)
		into.Sources = append(into.Sources, s)
		return err
	}, `SELECT `+sourceColumns+` FROM connection_source WHERE domain_id = $1 AND connection_id = $2 ORDER BY id`, int64(domain), int64(id))
}

// Damage says which secrets of a connection are damaged, so that no key can decrypt them.
type Damage struct{ Values, Memory bool }

// Secrets returns the same values as ConnectionSecrets, but from data that was read with the lease.
// It leaves out damaged secrets. It fails with ErrSealed when this process lacks the key of a
// secret.
func (r Reader) Secrets(l Leased) (map[string]string, []byte, Damage, error) {
	var d Damage
	values, err := r.openValues(l.Domain, l.ID, l.sealed)
	if d.Values = Damaged(err); d.Values {
		values, err = map[string]string{}, nil
	}
	if err != nil {
		return nil, nil, d, err
	}
	memory, err := r.openMemory(l.Domain, l.ID, l.sealed)
	if d.Memory = Damaged(err); d.Memory {
		err = nil
	}
	return values, memory, d, err
}

// Damaged reports whether an error means that no key can decrypt a value.
func Damaged(err error) bool {
	return errors.Is(err, store.ErrSealed) && !errors.Is(err, keys.ErrNoMaster)
}

// KeepConnection renews the lease of a connection. Write fails with ErrConflict when the lease has
// lapsed or the connection is deleted. A late read then writes nothing.
func (tx Tx) KeepConnection(domain passerelle.DomainID, id passerelle.ConnectionID, holder string, lease time.Duration) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE connection SET lease_until = {now} + $1
		WHERE +domain_id = $2 AND id = $3 AND holder = $4 AND lease_until >= {now} AND deleted IS NULL`, lease.Microseconds(), int64(domain), int64(id), holder)
}

// ReleaseConnection ends the lease of a connection. It does nothing when another holder has the
// lease. If brokenOff is true, the connection keeps the name of its holder. The name marks the read
// as interrupted.
func (tx Tx) ReleaseConnection(domain passerelle.DomainID, id passerelle.ConnectionID, holder string, brokenOff bool) {
	left := ""
	if brokenOff {
		left = holder
	}
	tx.unit.Exec(`UPDATE connection SET lease_until = 0, holder = $1 WHERE +domain_id = $2 AND id = $3 AND holder = $4`, left, int64(domain), int64(id), holder)
}

// SaveConnection stores the changeable fields of a connection, if the connection still has the
// version in the argument former. Write fails with ErrConflict when the connection has a different
// version. HastenRead may have set an earlier next try since the connection was loaded.
// SaveConnection keeps this time if c has no state, or the state webauthRequired or decoupled.
func (tx Tx) SaveConnection(c Connection, former int64) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE connection SET state = $1, message = $2, fields = $3, url = $4, active = $5, established = $6,
			last_update = $7, last_push = $8, expire = $9, next_try = `+kept("$10", "$21", "$1")+`, consent_until = $11, failures = $12,
			unattended_from = $13, unattended = $14, read_soon = $15, version = $16, sync = $17
		WHERE +domain_id = $18 AND id = $19 AND version = $20 AND deleted IS NULL`,
		database.OptionalText(c.State), database.OptionalText(c.Message), database.OptionalText(c.Fields), database.OptionalText(c.URL), c.Active, database.OptionalMicros(c.Established),
		database.OptionalMicros(c.LastUpdate), database.OptionalMicros(c.LastPush), database.OptionalMicros(c.Expire), database.OptionalMicros(c.NextTry), database.OptionalMicros(c.ConsentUntil), c.Failures,
		database.Micros(c.UnattendedFrom), c.Unattended, c.Soon, c.Version, c.Sync,
		int64(c.Domain), int64(c.ID), former, database.OptionalMicros(c.StoredTry))
}

// kept returns the SQL expression for the time of the next try that SaveConnection stores: the new
// time, or an earlier time that HastenRead has set since the connection was loaded.
func kept(next, former, state string) string {
	return `CASE WHEN next_try IS DISTINCT FROM ` + former + ` AND next_try < COALESCE(` + next + `, 9223372036854775807)
		AND COALESCE(` + state + `, 'decoupled') IN ('webauthRequired', 'decoupled') THEN next_try ELSE ` + next + ` END`
}

// SetUpdateError stores the state of a connection as the error of its enabled accounts and
// subscriptions. It clears these errors when the connection has no state.
func (tx Tx) SetUpdateError(c Connection) {
	for _, table := range []string{"bank_account", "subscription"} {
		tx.unit.Exec(`UPDATE `+table+` SET error = $1 WHERE connection_id = $2 AND domain_id = $3 AND disabled IS NULL AND error IS DISTINCT FROM $1`,
			database.OptionalText(c.State), int64(c.ID), int64(c.Domain))
	}
}

// SetConnectionValues replaces the values that the user entered for a connection.
func (tx Tx) SetConnectionValues(c Connection, values map[string]string) error {
	sealed, err := tx.sealValues(c, values)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE connection SET credentials = $1 WHERE +domain_id = $2 AND id = $3 AND deleted IS NULL`, sealed, int64(c.Domain), int64(c.ID))
	return nil
}

// SetConnectionMemory replaces the memory of the last sync. If terminable is true, the service ends
// the consent at the institution after the connection is deleted.
func (tx Tx) SetConnectionMemory(c Connection, memory []byte, terminable bool) error {
	if terminable {
		tx.unit.Exec(`UPDATE connection SET terminate = 0 WHERE +domain_id = $1 AND id = $2 AND deleted IS NULL`, int64(c.Domain), int64(c.ID))
	}
	sealed, err := tx.sealFor(c, "memory", memory)
	if err != nil {
		return err
	}
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE connection SET memory = $1 WHERE +domain_id = $2 AND id = $3 AND deleted IS NULL`, sealed, int64(c.Domain), int64(c.ID))
	return nil
}

// keptForTermination contains assignments for deleting connections at the instant $1. They keep the
// data that the service needs to end the consent at the institution. If terminate is NULL, there is
// no consent to end, and the memory is removed. If terminate is zero, it becomes the instant of the
// deletion. The memory then stays.
const keptForTermination = `memory = CASE WHEN terminate IS NULL THEN NULL ELSE memory END, terminate = terminate + $1, failures = 0`

// withdrawnAccounts and withdrawnSubscriptions withdraw the data of accounts and subscriptions at
// the instant $1. A unit that still adds such data either commits first, or fails because of the
// epoch.
const (
	withdrawnAccounts = `UPDATE bank_account SET epoch = epoch + 1, disabled = COALESCE(disabled, $1), deleted = COALESCE(deleted, $1),
		transactions = 0, deleted_transactions = 0 WHERE `
	withdrawnSubscriptions = `UPDATE subscription SET epoch = epoch + 1, disabled = COALESCE(disabled, $1), deleted = COALESCE(deleted, $1), documents = 0 WHERE `
)

// DeleteConnection hides a connection and all its data, and records the consents as withdrawn. It
// removes the secrets, except the memory that the service needs to end the consent at the
// institution. EraseWithdrawn erases the other data later. Write fails with ErrNotFound when the
// user has no such connection.
func (tx Tx) DeleteConnection(domain passerelle.DomainID, user passerelle.UserID, id passerelle.ConnectionID, now time.Time) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE connection SET deleted = $1, credentials = $2, `+keptForTermination+`, message = NULL, fields = NULL, url = NULL, next_try = NULL
		WHERE +domain_id = $3 AND +user_id = $4 AND id = $5 AND deleted IS NULL`, database.Micros(now), []byte{}, int64(domain), int64(user), int64(id))
	tx.EndReturn(domain, id)
	tx.unit.Exec(withdrawnAccounts+`connection_id = $2`, database.Micros(now), int64(id))
	tx.unit.Exec(withdrawnSubscriptions+`connection_id = $2`, database.Micros(now), int64(id))
	tx.unit.Exec(`UPDATE consent SET withdrawn = $1 WHERE +domain_id = $2 AND connection_id = $3 AND withdrawn IS NULL`, database.Micros(now), int64(domain), int64(id))
	tx.withdrawAll([]withdrawal{{domain: int64(domain), user: int64(user), kind: "connection", subject: int64(id), at: database.Micros(now)}})
}

// ConnectionsDue lists the active connections of a domain that are due and that no process is
// reading. The argument now is in the domain's time. ConnectionsDue also lists inactive connections
// whose read a process broke off, because they would stay in the state validating. It leaves out
// the connections of the connectors in the argument except. Connections that have been overdue for
// the longest time come first.
func (r Reader) ConnectionsDue(ctx context.Context, domain passerelle.DomainID, now time.Time, except []string, limit int) ([]Connection, error) {
	return r.connectionsDue(ctx, domain, now, except, "", limit)
}

// ConnectionsAwaited does the same as ConnectionsDue, for connections whose users wait for a read.
// Either the institution has sent a notification while the user was there, or a process broke off a
// read that the user had requested. The condition on the state hides the column from the planner of
// PostgreSQL 18, which would otherwise search the states of all connectors.
func (r Reader) ConnectionsAwaited(ctx context.Context, domain passerelle.DomainID, now time.Time, except []string, limit int) ([]Connection, error) {
	return r.connectionsDue(ctx, domain, now, except, " AND COALESCE(state, '') IN ('validating', 'webauthRequired', 'decoupled')", limit)
}

func (r Reader) connectionsDue(ctx context.Context, domain passerelle.DomainID, now time.Time, except []string, condition string, limit int) ([]Connection, error) {
	others, args := database.Without(except, "connector_uuid", []any{int64(domain), database.Micros(now)})
	return database.Collect(ctx, r.rows, scanConnection, `SELECT `+connectionColumns+` FROM connection
		WHERE domain_id = $1 AND next_try <= $2 AND deleted IS NULL AND (active OR state = 'validating') AND lease_until < {now}`+condition+others+` ORDER BY next_try, id`+database.UpTo(limit),
		args...)
}

// PostponeConnection moves the next try of a connection to a later time. It changes nothing when
// the next try is already at that time or later, or when the connection was read since it was
// loaded.
func (tx Tx) PostponeConnection(c Connection, next time.Time) {
	tx.unit.Exec(`UPDATE connection SET next_try = $1 WHERE +domain_id = $2 AND id = $3 AND next_try < $1 AND sync = $4 AND deleted IS NULL`,
		database.Micros(next), int64(c.Domain), int64(c.ID), c.Sync)
}

// ConnectionsExpired lists the connections of a domain that have expired, because they were not
// established in time. The argument now is in the domain's time. ConnectionsExpired leaves out
// connections that a process is reading.
func (r Reader) ConnectionsExpired(ctx context.Context, domain passerelle.DomainID, now time.Time, limit int) ([]Connection, error) {
	return database.Collect(ctx, r.rows, scanConnection, `SELECT `+connectionColumns+` FROM connection
		WHERE domain_id = $1 AND expire <= $2 AND deleted IS NULL AND lease_until < {now} ORDER BY expire, id LIMIT $3`,
		int64(domain), database.Micros(now), limit)
}

// HoldExpired makes Write fail with ErrNotFound when ConnectionsExpired no longer lists the
// connection.
func (tx Tx) HoldExpired(domain passerelle.DomainID, id passerelle.ConnectionID, now time.Time) {
	tx.unit.ExecOne(store.ErrNotFound, `UPDATE connection SET expire = expire WHERE +domain_id = $1 AND id = $2 AND expire <= $3 AND deleted IS NULL AND lease_until < {now}`,
		int64(domain), int64(id), database.Micros(now))
}

// ConnectionsLapsing lists a domain's connections with a consent that has ended. The argument now
// is in the domain's time. ConnectionsLapsing leaves out connections whose state asks for the user,
// because the user may be renewing the consent. It also leaves out connections that a process is
// reading. The list begins with the consents that ended first. The argument after is the last
// connection of the previous batch. The first condition on the state repeats the condition of the
// index.
func (r Reader) ConnectionsLapsing(ctx context.Context, domain passerelle.DomainID, now time.Time, after Connection, limit int) ([]Connection, error) {
	var since, id int64
	if after.ConsentUntil != nil {
		since, id = database.Micros(*after.ConsentUntil), int64(after.ID)
	}
	return database.Collect(ctx, r.rows, scanConnection, `SELECT `+connectionColumns+` FROM connection
		WHERE domain_id = $1 AND consent_until <= $2 AND (consent_until, id) > ($3, $4) AND consent_until IS NOT NULL AND deleted IS NULL
			AND (state IS NULL OR state NOT IN ('SCARequired', 'webauthRequired'))
			AND (state IS NULL OR state NOT IN ('additionalInformationNeeded', 'decoupled', 'actionNeeded', 'passwordExpired', 'wrongpass', 'notSupported')) AND lease_until < {now}
		ORDER BY consent_until, id LIMIT $5`,
		int64(domain), database.Micros(now), since, id, limit)
}

// VersionConnection stores the version of the last event about a connection. Write fails with
// ErrConflict when the connection no longer has the version in the argument former.
func (tx Tx) VersionConnection(domain passerelle.DomainID, id passerelle.ConnectionID, former, version int64) {
	tx.unit.ExecOne(store.ErrConflict, `UPDATE connection SET version = $1 WHERE +domain_id = $2 AND id = $3 AND version = $4`, version, int64(domain), int64(id), former)
}

// HastenRead makes a healthy connection due at the time in the argument now. If the user is at the
// institution, or a read in the background is under way, the connection is due at the time in the
// argument later. It does not change a connection that is inactive or in a different state, or that
// is due earlier. But if a process is reading such a due connection, it is due again at the time
// later. An institution that notifies because of a read then causes no reads without a pause.
func (tx Tx) HastenRead(domain passerelle.DomainID, id passerelle.ConnectionID, now, later time.Time) {
	for states, at := range map[string]time.Time{"state IS NULL": now, "state IN ('webauthRequired', 'decoupled', 'validating')": later} {
		tx.unit.Exec(`UPDATE connection SET next_try = CASE WHEN next_try <= $1 THEN CAST($2 AS BIGINT) ELSE CAST($1 AS BIGINT) END
			WHERE +domain_id = $3 AND id = $4 AND active AND (next_try IS NULL OR next_try > $1 OR lease_until >= {now}) AND `+database.Opaque(states+" AND deleted IS NULL"),
			database.Micros(at), database.Micros(later), int64(domain), int64(id))
	}
}

// ReadSoon makes the service read a connection soon, in the background, on behalf of its user. It
// does nothing when the connection is inactive or has a state.
func (tx Tx) ReadSoon(domain passerelle.DomainID, id passerelle.ConnectionID, now time.Time) {
	tx.unit.Exec(`UPDATE connection SET next_try = $1, read_soon = TRUE WHERE +domain_id = $2 AND id = $3 AND active AND `+database.Opaque("state IS NULL AND deleted IS NULL"), database.Micros(now), int64(domain), int64(id))
}
