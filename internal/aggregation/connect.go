package aggregation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/jwe"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

// Request is what a client gives for a connection, as it came.
type Request struct {
	// Connector is a UUID or a number; only for a new connection.
	Connector string
	// Source names one of the connector's, empty for the first that fits.
	Source string
	// Mechanism is how the person authenticates to the source of a new
	// connection; empty for its usual way.
	Mechanism passerelle.AuthMechanism
	// Values are those of fields: of the connector's for a connection, or of
	// what it asked for.
	Values map[string]string
	// Resume says that the person has done what was asked of them elsewhere.
	Resume bool
	// Landing is where the person goes after a page of the institution's.
	Landing Landing
	// Absent says that the person takes no part.
	Absent bool
	// Active says whether the connection is read in the background from now on;
	// nil leaves it as it is.
	Active *bool
	// Background asks for an answer before anything is read.
	Background bool
	// Execution is the idempotency key the request came with, if any.
	Execution store.Execution
	// Acts of an operator go on record once nobody else reads the connection, before
	// the institution hears of them; those on a new connection are none.
	Acts []store.Audit
}

// Connect makes a connection and reads what there is. Credentials that the
// institution refuses leave nothing behind and are Invalid, code wrongpass;
// every other outcome is a state of the connection. In the background nobody
// waits for an answer, and a refusal is a state as well.
func (a *Aggregation) Connect(ctx context.Context, d passerelle.Domain, user passerelle.UserID, r Request) (store.Connection, error) {
	var err error
	if r.Values, err = jwe.Open(ctx, &a.DB.Reader, d, "", r.Values); err != nil {
		return store.Connection{}, err
	}
	v, reader, err := a.open(ctx, d, user, r)
	if err != nil {
		return store.Connection{}, err
	}
	if err := v.create(ctx, own(v.profile.Data.Fields, r.Values), r.Execution); err != nil {
		return v.c, err
	}
	if r.Background {
		return v.start(ctx, reader, asked{attended: true, landing: r.Landing})
	}
	if err := v.read(ctx, reader, asked{attended: true, landing: r.Landing}); err != nil {
		return v.c, err
	}
	if v.c.State != passerelle.Wrongpass {
		return v.c, nil
	}
	if err := a.Disconnect(context.WithoutCancel(ctx), d, user, v.c.ID); err != nil {
		return v.c, err
	}
	return v.c, wrongpass(v.c.Message)
}

func wrongpass(message string) error {
	if message == "" {
		message = "The institution refuses these credentials."
	}
	return &passerelle.Error{Kind: passerelle.Invalid, Code: string(passerelle.Wrongpass), Message: message}
}

// open checks a request for a new connection.
func (a *Aggregation) open(ctx context.Context, d passerelle.Domain, id passerelle.UserID, r Request) (*visit, connector.DataReader, error) {
	reader, known := a.Connectors.DataReader(r.Connector)
	if !known || !usable(d, reader.Profile()) {
		return nil, nil, passerelle.InvalidField("connector_uuid", "no connector of that UUID reads accounts or documents")
	}
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return nil, nil, err
	}
	profile := values.Configured(reader.Profile())
	if profile.Restricted {
		return nil, nil, passerelle.InvalidField("connector_uuid", "%s takes no new connections", profile.Name)
	}
	source, mechanism, err := profile.Choose(r.Source, r.Mechanism)
	if err != nil {
		return nil, nil, err
	}
	if err := connector.CheckValues(profile.Data.Fields, mechanism, source.Name, r.Values); err != nil {
		return nil, nil, err
	}
	user, err := a.User(ctx, d, id)
	if err != nil {
		return nil, nil, err
	}
	v := a.visit(d, user, profile, values)
	v.attended, v.sync = true, 1
	expire := v.started.Add(time.Duration(values.Int(settings.ConnectionExpire)) * time.Minute)
	v.c = store.Connection{Domain: d.ID, User: id, Connector: profile.UUID, Created: v.started, State: passerelle.Validating, Active: true, Expire: &expire}
	v.source = store.ConnectionSource{ConnectorSource: source.ID, Name: source.Name, Created: v.started}
	return v, reader, nil
}

func (a *Aggregation) visit(d passerelle.Domain, user passerelle.User, profile connector.Profile, values settings.Values) *visit {
	return &visit{
		Aggregation: a, domain: d, user: user, profile: profile, settings: values, started: a.now(d),
		holder: fmt.Sprintf("%s/%d", a.Name, a.visits.Add(1)),
	}
}

// create stores the connection, locked, before the institution is asked: what
// it does is on record however the visit ends.
func (v *visit) create(ctx context.Context, values map[string]string, e store.Execution) error {
	err := v.DB.Write(ctx, func(tx *store.Tx) error {
		tx.HoldUserAs(v.user)
		if err := tx.CreateConnection(&v.c, values, v.holder, visitLease); err != nil {
			return err
		}
		v.source.Connection = v.c.ID
		tx.Executed(e, int64(v.c.ID))
		return tx.CreateSource(v.domain.ID, &v.source)
	})
	if errors.Is(err, store.ErrConflict) && v.kept(ctx) {
		return v.create(ctx, values, e)
	}
	if err != nil {
		return fmt.Errorf("store a connection: %w", err)
	}
	return nil
}

// Resume goes on with a connection: it gives new or further values, says that
// something was done elsewhere, or just reads. Without the person an institution
// is not read more often than it allows, nor after the end of the consent: the
// connection is then left as it is.
func (a *Aggregation) Resume(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.ConnectionID, r Request) (store.Connection, error) {
	take := a.await
	if r.Background {
		take = a.again
	}
	v, reader, err := take(ctx, d, user, id, r.Acts...)
	if err != nil {
		return store.Connection{}, err
	}
	v.attended = !r.Absent
	answers, err := v.prepare(ctx, r)
	if err != nil {
		return v.c, errors.Join(err, v.release(ctx))
	}
	if r.Absent {
		if barred, err := v.barred(ctx); barred {
			return v.c, err
		}
	}
	with := asked{attended: v.attended, answers: answers, resumed: r.Resume, landing: r.Landing}
	if r.Background {
		return v.begin(ctx, reader, with)
	}
	err = v.read(ctx, reader, with)
	if err == nil && v.c.State == passerelle.Wrongpass && len(r.Values) > 0 {
		err = wrongpass(v.c.Message)
	}
	return v.c, err
}

// prepare brings a request into the connection, and gives what in it answers the
// institution.
func (v *visit) prepare(ctx context.Context, r Request) (answers map[string]string, err error) {
	if r.Source != "" && r.Source != v.source.Name {
		return nil, passerelle.InvalidField("source", "the connection goes through %s", v.source.Name)
	}
	if r.Active != nil {
		v.c.Active = *r.Active
	}
	values, err := jwe.Open(ctx, &v.DB.Reader, v.domain, "", r.Values)
	if err != nil {
		return nil, err
	}
	return v.sort(ctx, values)
}

// begin reads in the background. Until that ends the connection is validating;
// should it never end, the connection is read as one that is due.
func (v *visit) begin(ctx context.Context, reader connector.DataReader, a asked) (store.Connection, error) {
	former, overdue := v.c, v.started.Add(visitTime)
	v.c.State, v.c.Message, v.c.Fields, v.c.URL, v.c.NextTry = passerelle.Validating, "", "", "", &overdue
	if err := v.save(ctx); err != nil {
		return v.c, err
	}
	shown := v.c
	begun := v.Background(func(ctx context.Context) {
		if err := v.read(ctx, reader, a); err != nil {
			v.Log.Error("a visit in the background failed", "connection", shown.ID, "error", err)
		}
	})
	if begun {
		return shown, nil
	}
	v.c = former
	busy := &passerelle.Error{Kind: passerelle.Unavailable, Code: "unavailable", Message: "Too many connections are being read; try again later.", RetryAfter: 10}
	return former, errors.Join(busy, v.save(ctx), v.release(ctx))
}

// start is begin for a new connection, of which nothing is left when there is too
// much to do.
func (v *visit) start(ctx context.Context, reader connector.DataReader, a asked) (store.Connection, error) {
	c, err := v.begin(ctx, reader, a)
	if err != nil {
		err = errors.Join(err, v.Disconnect(context.WithoutCancel(ctx), v.domain, v.user.ID, v.c.ID))
	}
	return c, err
}

func (v *visit) save(ctx context.Context) error {
	return v.write(ctx, func(tx *store.Tx) error {
		tx.SaveConnection(v.c, v.c.Version)
		return nil
	})
}

// The pauses between two looks at a connection that is being read.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// await is again for somebody who can wait: while the connection is being read,
// and no longer than Patience. Sharing one account after the other, each of which
// has the connection read, is thus nothing that fails.
func (a *Aggregation) await(ctx context.Context, d passerelle.Domain, id passerelle.UserID, connection passerelle.ConnectionID, acts ...store.Audit) (*visit, connector.DataReader, error) {
	waiting, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		v, reader, err := a.again(ctx, d, id, connection, acts...)
		var refused *passerelle.Error
		if !errors.As(err, &refused) || refused.Code != lockedCode {
			return v, reader, err
		}
		select {
		case <-waiting.Done():
			return nil, nil, err
		case <-time.After(pause):
		}
	}
}

// again takes the lease of a connection, with acts on record. One that is being
// read is locked.
func (a *Aggregation) again(ctx context.Context, d passerelle.Domain, id passerelle.UserID, connection passerelle.ConnectionID, acts ...store.Audit) (*visit, connector.DataReader, error) {
	user, err := a.User(ctx, d, id)
	if err != nil {
		return nil, nil, err
	}
	c, err := a.Connection(ctx, d, id, connection)
	if err != nil {
		return nil, nil, err
	}
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return nil, nil, err
	}
	reader, known := a.Connectors.DataReader(c.Connector)
	if !known {
		return nil, nil, passerelle.Conflicting("the connector of this connection is no longer offered")
	}
	v := a.visit(d, user, values.Configured(reader.Profile()), values)
	v.c = c
	if err := v.lock(ctx, acts); err != nil {
		return nil, nil, err
	}
	return v, reader, nil
}

// lock takes the lease and reads the connection as it then stands.
func (v *visit) lock(ctx context.Context, acts []store.Audit) error {
	err := v.DB.Write(ctx, func(tx *store.Tx) error {
		tx.LeaseConnection(v.domain.ID, v.c.ID, v.holder, visitLease)
		return tx.Audit(acts...)
	})
	if errors.Is(err, store.ErrConflict) {
		return locked()
	}
	if err != nil {
		return fmt.Errorf("lock connection %d: %w", v.c.ID, err)
	}
	c, err := v.Connection(ctx, v.domain, v.user.ID, v.c.ID)
	if err != nil {
		return errors.Join(err, v.release(ctx))
	}
	sources, err := v.DB.SourcesOf(ctx, v.domain.ID, c.ID)
	if err != nil || len(sources) == 0 {
		return errors.Join(fmt.Errorf("list the sources of connection %d: %w", c.ID, err), v.release(ctx))
	}
	v.c, v.source, v.sync = c, sources[0], c.Sync+1
	return nil
}

const lockedCode = "connectionLocked"

// locked is the answer while somebody reads.
func locked() error {
	e := passerelle.Conflicting("the connection is being synchronised; try again in a few seconds")
	e.Code = lockedCode
	return e
}

func (v *visit) release(ctx context.Context) error {
	return v.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		tx.ReleaseConnection(v.domain.ID, v.c.ID, v.holder)
		return nil
	})
}

// sort tells values of the connector's own fields, which replace those that are
// stored, from answers to what the institution asks for now.
func (v *visit) sort(ctx context.Context, given map[string]string) (answers map[string]string, err error) {
	fields := v.profile.Data.Fields
	news := own(fields, given)
	answers = maps.Clone(given)
	maps.DeleteFunc(answers, func(name, _ string) bool { _, isOwn := news[name]; return isOwn })
	if len(news) == 0 {
		return answers, nil
	}
	stored, _, err := v.DB.ConnectionSecrets(ctx, v.domain.ID, v.c.ID)
	if err != nil {
		return nil, fmt.Errorf("load the secrets of connection %d: %w", v.c.ID, err)
	}
	maps.Copy(stored, news)
	if err := connector.CheckValues(fields, "", v.source.Name, stored); err != nil {
		return nil, err
	}
	return answers, v.write(ctx, func(tx *store.Tx) error { return tx.SetConnectionValues(v.c, stored) })
}

// own are the values that are of fields of the connector. What the institution
// has no use for is not kept.
func own(fields []connector.Field, given map[string]string) map[string]string {
	kept := map[string]string{}
	for _, f := range fields {
		if value, there := given[f.Name]; there {
			kept[f.Name] = value
		}
	}
	return kept
}

// Connection reads a connection of a user.
func (a *Aggregation) Connection(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.ConnectionID) (store.Connection, error) {
	c, err := a.DB.Connection(ctx, d.ID, user, id)
	if errors.Is(err, store.ErrNotFound) {
		return c, passerelle.Missing()
	}
	if err != nil {
		return c, fmt.Errorf("load connection %d: %w", id, err)
	}
	return c, nil
}

// Disconnect deletes a connection with everything that was read through it: out
// of sight at once, erased soon after. A visit under way comes to nothing. Acts of
// an operator go on record with it.
func (a *Aggregation) Disconnect(ctx context.Context, d passerelle.Domain, id passerelle.UserID, connection passerelle.ConnectionID, acts ...store.Audit) error {
	for range attempts {
		user, err := a.User(ctx, d, id)
		if err != nil {
			return err
		}
		c, err := a.Connection(ctx, d, id, connection)
		if err != nil {
			return err
		}
		if err = a.disconnect(ctx, d, user, c, acts); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return changing(id)
}

// DisconnectAll deletes the connections of a user.
func (a *Aggregation) DisconnectAll(ctx context.Context, d passerelle.Domain, user passerelle.UserID) error {
	for {
		page, err := a.DB.Connections(ctx, d.ID, user, store.Window{Limit: maxDue})
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

func (a *Aggregation) disconnect(ctx context.Context, d passerelle.Domain, user passerelle.User, c store.Connection, acts []store.Audit) error {
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
		tx.VersionConnection(d.ID, c.ID, c.Version, c.Version+1)
		tx.DeleteConnection(d.ID, user.ID, c.ID, now)
		tx.AfterCommit(a.Wake)
		tx.AfterCommit(a.Erase)
		return tx.Emit(store.Event{
			Domain: d.ID, Name: webhook.ConnectionDeleted, Subject: string(webhook.SubjectConnection), SubjectID: int64(c.ID), Version: c.Version + 1,
			User: user.ID, Held: user.Permanent == nil, Created: now, Body: wire.Encode(a.Show(c, values.Location())),
		})
	})
	if err != nil {
		return fmt.Errorf("delete connection %d: %w", c.ID, err)
	}
	return nil
}
