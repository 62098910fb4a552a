package aggregation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/jwe"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/tracing"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// Request is a client's request to create, continue or read a connection.
type Request struct {
	// Connector is a UUID or a number. It is used only for a new connection.
	Connector string
	// Source is the name of a source of the connector. Empty means the first suitable source.
	Source string
	// Mechanism is the way in which the user authenticates to the source of a new connection.
	// Empty means the default mechanism of the source.
	Mechanism passerelle.AuthMechanism
	// Values are values of the connector's fields, or of the fields that the institution asked for.
	Values map[string]string
	// Resume means that the user has finished an action in another app.
	Resume bool
	// Landing is the address to which the user is redirected after a page of the institution.
	Landing Landing
	// Absent means that the user is not present.
	Absent bool
	// File is a file for a connector that reads files. Unless FileCheck is nil, Resume calls it
	// while no other run can change the connection, and fails with its error.
	File      *connector.HandedFile
	FileCheck func(ctx context.Context) error
	// Active sets whether the connection is read in the background. Nil does not change it.
	Active *bool
	// Background makes the call return without waiting for the read.
	Background bool
	// Execution is the right to execute the request under its idempotency key, or for its form.
	Execution store.Execution
	// Seen is the number of the connection's last read that the user has seen, or nil. Resume reads
	// nothing when a request with the same Landing has led to a page of the institution since then.
	Seen *int64
	// Acts are acts of an operator. The service records them when it takes the lease, before it
	// calls the institution. A request for a new connection has no acts.
	Acts []store.Audit
}

// Connect creates a connection and reads it. When the institution refuses the credentials,
// Connect deletes the connection again and fails with Invalid and the code wrongpass. Every
// other outcome of the read is a state of the connection. With Background, refused credentials
// are also a state. Connect fails with Invalid for an unknown connector or a wrong value, and with
// NotFound when the user does not exist. It fails with Unavailable, and stores nothing, when too
// many requests wait for the institution.
func (a *Aggregation) Connect(ctx context.Context, d passerelle.Domain, user passerelle.UserID, r Request) (bankstore.Connection, error) {
	run, reader, err := a.open(ctx, d, user, r)
	if err != nil {
		return bankstore.Connection{}, err
	}
	leave, err := a.enterBank(run, r)
	if err != nil {
		return bankstore.Connection{}, err
	}
	defer leave()
	if r.Execution != (store.Execution{}) { // repetitions return this connection, so somebody must read it, even after a crash
		due := run.started.Add(runLease)
		run.lease.c.NextTry, run.lease.c.StoredTry = &due, &due
	}
	if err := run.lease.create(ctx, run.values, r.Execution); err != nil {
		_, gone := a.User(ctx, d, user) // somebody may have deleted the user in the meantime
		return run.lease.c, errors.Join(gone, err)
	}
	with := readRequest{attended: true, landing: r.Landing}
	if r.Background {
		c, err := a.firstRead(ctx, run, reader, with)
		if err != nil { // the read cannot begin
			err = errors.Join(err, a.Disconnect(context.WithoutCancel(ctx), d, user, run.lease.c.ID))
		}
		return c, err
	}
	if err := a.readOn(ctx, run, reader, with); err != nil {
		return run.lease.c, err
	}
	if run.lease.c.State != passerelle.Wrongpass {
		return run.lease.c, nil
	}
	if err := a.Disconnect(context.WithoutCancel(ctx), d, user, run.lease.c.ID); err != nil {
		return run.lease.c, err
	}
	return run.lease.c, wrongpass(run.lease.c.Message)
}

// enterBank counts a request that waits for the institution of a run, until the returned function is
// called. It fails with Unavailable when too many requests wait for the institution. A connector
// that reads files calls no institution.
func (a *Aggregation) enterBank(run *syncRun, r Request) (func(), error) {
	if r.Background || run.profile.Data.TakesFiles {
		return func() {}, nil
	}
	return a.callers.EnterBank(run.lease.c.Connector)
}

func wrongpass(message string) error {
	return &passerelle.Error{Kind: passerelle.Invalid, Code: string(passerelle.Wrongpass), Message: cmp.Or(message, "The institution refuses these credentials.")}
}

// open checks a request for a new connection. It decrypts only values of the connector's fields.
func (a *Aggregation) open(ctx context.Context, d passerelle.Domain, id passerelle.UserID, r Request) (*syncRun, connector.DataReader, error) {
	reader, known := a.Connectors.DataReader(r.Connector)
	if !known || !reader.Profile().UsableIn(d) {
		return nil, nil, passerelle.InvalidField("connector_uuid", "names no connector that reads accounts or documents")
	}
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return nil, nil, err
	}
	profile := values.Configured(reader.Profile())
	if profile.Restricted {
		return nil, nil, passerelle.InvalidField("connector_uuid", "%s accepts no new connections", profile.Name)
	}
	source, mechanism, err := profile.Choose(r.Source, r.Mechanism)
	if err != nil {
		return nil, nil, err
	}
	if r.Values, err = jwe.Open(ctx, &a.DB.Reader, d, "", own(profile.Data.Fields, r.Values)); err != nil {
		return nil, nil, err
	}
	if err := connector.CheckValues(profile.Data.Fields, mechanism, source.Name, r.Values); err != nil {
		return nil, nil, err
	}
	user, err := a.User(ctx, d, id)
	if err != nil {
		return nil, nil, err
	}
	run := a.newRun(d, user, profile, values)
	run.attended, run.values, run.lease.sync = true, r.Values, 1
	expire := run.started.Add(time.Duration(values.Int(settings.ConnectionExpire)) * time.Minute)
	run.lease.c = bankstore.Connection{Domain: d.ID, User: id, Connector: profile.UUID, Created: run.started, State: passerelle.Validating, Active: true, Expire: &expire}
	run.lease.source = bankstore.ConnectionSource{ConnectorSource: source.ID, Name: source.Name, Created: run.started}
	return run, reader, nil
}

func (a *Aggregation) newRun(d passerelle.Domain, user passerelle.User, profile connector.Profile, values settings.Values) *syncRun {
	now := func() time.Time { return a.now(d) }
	l := &lease{db: a.DB, now: now, wake: a.Wake, holder: fmt.Sprintf("%s/%d", a.Name, a.runs.Add(1)), domain: d, user: user}
	return &syncRun{
		lease: l, events: &reporter{lease: l, profile: profile, settings: values, connectors: a.Connectors, log: a.Log},
		profile: profile, settings: values, started: now(), fetch: a.Fetch, log: a.Log,
	}
}

// Resume continues a connection: with new values, after the user acted elsewhere, or to read the
// connection again. Without the user, the daily limit of the institution or an ended consent can
// prevent the read. Resume fails with NotFound when the user has no such connection, and with
// Invalid for a wrong value. It fails with Conflict when another run is reading the connection, or
// when its connector is no longer offered. It fails with Unavailable when too many requests wait for
// the institution.
func (a *Aggregation) Resume(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.ConnectionID, r Request) (bankstore.Connection, error) {
	take := a.awaitLease
	if r.Background {
		take = a.takeLease
	}
	run, reader, err := take(ctx, d, user, id, r.Acts...)
	if err != nil {
		return bankstore.Connection{}, err
	}
	if repeated, err := run.repeats(ctx, r); repeated || err != nil {
		return run.lease.c, errors.Join(err, run.lease.release(ctx))
	}
	leave, err := a.enterBank(run, r)
	if err != nil {
		return run.lease.c, errors.Join(err, run.lease.release(ctx))
	}
	defer leave()
	run.attended = !r.Absent
	answers, err := run.prepare(ctx, r)
	if err != nil {
		return run.lease.c, errors.Join(err, run.lease.release(ctx))
	}
	if barred, err := run.barred(ctx); barred {
		return run.lease.c, err
	}
	with := readRequest{attended: run.attended, answers: answers, resumed: r.Resume, landing: r.Landing, file: r.File}
	if r.Background {
		return a.firstRead(ctx, run, reader, with)
	}
	err = a.readOn(ctx, run, reader, with)
	if err == nil && run.lease.c.State == passerelle.Wrongpass && run.supplied {
		err = wrongpass(run.lease.c.Message)
	}
	return run.lease.c, err
}

// prepare applies a request to the connection. It returns the answers to the institution's
// questions.
func (run *syncRun) prepare(ctx context.Context, r Request) (map[string]string, error) {
	if r.Source != "" && r.Source != run.lease.source.Name {
		return nil, passerelle.InvalidField("source", "the connection goes through %s", run.lease.source.Name)
	}
	if r.FileCheck != nil {
		if err := r.FileCheck(ctx); err != nil {
			return nil, err
		}
	}
	if r.Active != nil {
		run.lease.c.Active = *r.Active
	}
	values, err := jwe.Open(ctx, &run.lease.db.Reader, run.lease.domain, "", r.Values)
	if err != nil {
		return nil, err
	}
	return run.sort(ctx, values)
}

// firstRead starts a read of a connection in the background. Until the read ends, the state of the
// connection is validating. If the process crashes, the connection becomes due.
func (a *Aggregation) firstRead(ctx context.Context, run *syncRun, reader connector.DataReader, r readRequest) (bankstore.Connection, error) {
	former, overdue := run.lease.c, run.started.Add(maxRunTime)
	run.former = former.State
	run.lease.c.State, run.lease.c.Message, run.lease.c.Fields, run.lease.c.URL, run.lease.c.NextTry = passerelle.Validating, "", "", "", &overdue
	if err := run.lease.save(ctx); err != nil {
		return run.lease.c, err
	}
	shown, of := run.lease.c, ctx
	begun := a.Background(shown.Connector, func(ctx context.Context) {
		ctx = tracing.Within(connector.WithDevice(ctx, connector.DeviceOf(of)), of)
		if err := a.read(ctx, run, reader, r); err != nil {
			run.log.ErrorContext(ctx, "a read in the background failed", "connection", shown.ID, "error", err)
		}
	})
	if begun {
		return shown, nil
	}
	former.StoredTry, run.lease.c = run.lease.c.StoredTry, former
	busy := &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: "Too many connections are being synchronised; try again later.", RetryAfter: 10}
	return former, errors.Join(busy, run.lease.save(ctx), run.lease.release(ctx))
}

// These are the pauses between two checks of a connection that is being read.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// awaitLease does the same as takeLease, but waits while another run reads the connection, for at
// most LeaseTimeout. A client can therefore share several accounts one after the other, although
// each change starts a read.
func (a *Aggregation) awaitLease(ctx context.Context, d passerelle.Domain, id passerelle.UserID, connection passerelle.ConnectionID, acts ...store.Audit) (*syncRun, connector.DataReader, error) {
	waiting, cancel := context.WithTimeout(ctx, a.LeaseTimeout)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		run, reader, err := a.takeLease(ctx, d, id, connection, acts...)
		var refused *passerelle.Error
		if !errors.As(err, &refused) || refused.Code != lockedCode {
			return run, reader, err
		}
		select {
		case <-waiting.Done():
			return nil, nil, err
		case <-time.After(pause):
		}
	}
}

// takeLease takes the lease of a connection and records the acts. It fails with the locked error
// while another run holds the lease.
func (a *Aggregation) takeLease(ctx context.Context, d passerelle.Domain, id passerelle.UserID, connection passerelle.ConnectionID, acts ...store.Audit) (*syncRun, connector.DataReader, error) {
	var user passerelle.User
	var c bankstore.Connection
	var values settings.Values
	err := a.DB.Together(ctx,
		store.Into(&user, func(r *store.Reader) (passerelle.User, error) { return a.userBy(ctx, r, d, id) }),
		store.Into(&c, func(r *store.Reader) (bankstore.Connection, error) { return connectionBy(ctx, r, d, id, connection) }),
		store.Into(&values, func(r *store.Reader) (settings.Values, error) { return settings.Load(ctx, r, d.ID) }))
	if err != nil {
		return nil, nil, err
	}
	reader, known := a.Connectors.DataReader(c.Connector)
	if !known {
		return nil, nil, passerelle.Conflicting("the connector of this connection is no longer offered")
	}
	run := a.newRun(d, user, values.Configured(reader.Profile()), values)
	run.lease.c = c
	leased, err := run.lease.take(ctx, acts)
	if err != nil {
		return nil, nil, err
	}
	run.values, run.memory, run.damage, run.secretless = bankstore.From(a.DB).Secrets(leased)
	if run.damage.Memory && run.profile.Data.TakesFiles { // without the memory, the read of a file would lose accounts
		run.secretless = store.ErrSealed
	}
	return run, reader, nil
}

// sort separates the supplied values. Values of the connector's own fields are stored. Values that
// answer questions of the institution are returned. sort drops all others.
func (run *syncRun) sort(ctx context.Context, supplied map[string]string) (map[string]string, error) {
	fields := run.profile.Data.Fields
	asked, err := run.lease.c.Asked()
	if err != nil {
		return nil, err
	}
	fresh, answers := own(fields, supplied), maps.Clone(supplied)
	maps.DeleteFunc(answers, func(name, _ string) bool { _, isOwn := fresh[name]; return isOwn || !slices.Contains(asked, name) })
	run.supplied = len(fresh)+len(answers) > 0
	if len(fresh) == 0 {
		return answers, nil
	}
	if run.secretless != nil {
		return nil, fmt.Errorf("load the secrets of connection %d: %w", run.lease.c.ID, run.secretless)
	}
	values := maps.Clone(run.values)
	maps.Copy(values, fresh)
	if err := connector.CheckValues(fields, run.mechanism(), run.lease.source.Name, values); err != nil {
		return nil, err
	}
	run.values = values
	return answers, run.lease.write(ctx, func(tx *store.Tx) error { return bankstore.In(tx).SetConnectionValues(run.lease.c, values) })
}

// own returns the values that belong to fields of the connector. It leaves out answers, which are
// not stored.
func own(fields []connector.Field, supplied map[string]string) map[string]string {
	kept := maps.Collect(maps.All(supplied)) // never nil
	maps.DeleteFunc(kept, func(name, _ string) bool {
		return !slices.ContainsFunc(fields, func(f connector.Field) bool { return f.Name == name })
	})
	return kept
}

// Connection returns a stored connection of a user. It fails with NotFound when the user has no
// such connection.
func (a *Aggregation) Connection(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.ConnectionID) (bankstore.Connection, error) {
	return connectionBy(ctx, &a.DB.Reader, d, user, id)
}

func connectionBy(ctx context.Context, r *store.Reader, d passerelle.Domain, user passerelle.UserID, id passerelle.ConnectionID) (bankstore.Connection, error) {
	c, err := bankstore.From(r).Connection(ctx, d.ID, user, id)
	if errors.Is(err, store.ErrNotFound) {
		return c, passerelle.Missing()
	}
	if err != nil {
		return c, fmt.Errorf("load connection %d: %w", id, err)
	}
	return c, nil
}

// Disconnect deletes a connection and hides its data immediately. The data is erased soon after. A
// read that is still running stores nothing after the deletion. Disconnect stores the acts of an
// operator in the audit log, in the same transaction.
func (a *Aggregation) Disconnect(ctx context.Context, d passerelle.Domain, id passerelle.UserID, connection passerelle.ConnectionID, acts ...store.Audit) error {
	return a.disconnectWhile(ctx, d, id, connection, func(bankstore.Tx) {}, acts...)
}

// disconnectWhile does the same as Disconnect, but only under a condition. The argument `hold`
// makes the database transaction fail if the condition is false.
func (a *Aggregation) disconnectWhile(ctx context.Context, d passerelle.Domain, id passerelle.UserID, connection passerelle.ConnectionID, hold func(bankstore.Tx), acts ...store.Audit) error {
	for range attempts {
		user, err := a.User(ctx, d, id)
		if err != nil {
			return err
		}
		c, err := a.Connection(ctx, d, id, connection)
		if err != nil {
			return err
		}
		if err = a.disconnect(ctx, d, user, c, hold, acts); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return changing(id)
}

// DisconnectAll deletes the connections of a user. It fails with NotFound when the user does not
// exist.
func (a *Aggregation) DisconnectAll(ctx context.Context, d passerelle.Domain, user passerelle.UserID) error {
	for {
		if _, err := a.User(ctx, d, user); err != nil {
			return err // otherwise the connections of an expired user would be listed without end
		}
		page, err := bankstore.From(a.DB).Connections(ctx, d.ID, user, store.Window{Limit: maxDue})
		if err != nil {
			return fmt.Errorf("list the connections of user %d: %w", user, err)
		}
		if len(page) == 0 {
			return nil
		}
		for _, c := range page {
			if err := a.Disconnect(ctx, d, user, c.ID); err != nil && !errors.Is(err, passerelle.NotFound) {
				return err
			}
		}
	}
}

func (a *Aggregation) disconnect(ctx context.Context, d passerelle.Domain, user passerelle.User, c bankstore.Connection, hold func(bankstore.Tx), acts []store.Audit) error {
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return err
	}
	now := a.now(d)
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Audit(acts...); err != nil {
			return err
		}
		tx.HoldUserAs(user)
		hold(bankstore.In(tx))
		bankstore.In(tx).VersionConnection(d.ID, c.ID, c.Version, c.Version+1)
		bankstore.In(tx).DeleteConnection(d.ID, user.ID, c.ID, now)
		tx.AfterCommit(a.Wake)
		tx.AfterCommit(a.Erase)
		return tx.Emit(store.EmittedEvent{
			Domain: d.ID, Name: webhook.ConnectionDeleted, Subject: string(webhook.SubjectConnection), SubjectID: int64(c.ID), Version: c.Version + 1,
			User: user.ID, Held: user.Permanent == nil, Created: now, Body: wire.Encode(a.Show(c, values.Location())),
		})
	})
	if err != nil {
		return fmt.Errorf("delete connection %d: %w", c.ID, err)
	}
	return nil
}
