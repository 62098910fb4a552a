package aggregation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"passerelle"
	"passerelle/connector"
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
	// Values are those of fields: of the connector's for a connection, or of
	// what it asked for.
	Values map[string]string
	// Resume says that the person has done what was asked of them elsewhere.
	Resume bool
	// Callback is what came with the person's browser from the institution.
	Callback map[string][]string
	// Back is where the institution is to send that browser.
	Back string
	// Absent says that the person takes no part.
	Absent bool
}

// Connect makes a connection and reads what there is. Credentials that the
// institution refuses leave nothing behind and are Invalid, code wrongpass;
// every other outcome is a state of the connection.
func (a *Aggregation) Connect(ctx context.Context, d passerelle.Domain, user passerelle.UserID, r Request) (store.Connection, error) {
	v, reader, err := a.open(ctx, d, user, r)
	if err != nil {
		return store.Connection{}, err
	}
	if err := v.create(ctx, r.Values); err != nil {
		return v.c, err
	}
	if err := v.read(ctx, reader, asked{attended: true, back: r.Back, callback: r.Callback}); err != nil {
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
	if !known || reader.Profile().Sandbox && d.Kind == passerelle.Live {
		return nil, nil, passerelle.InvalidField("connector_uuid", "no connector of that UUID reads accounts or documents")
	}
	profile := reader.Profile()
	source, mechanism, err := chooseSource(profile, r.Source)
	if err != nil {
		return nil, nil, err
	}
	if err := checkValues(profile.Data.Fields, mechanism, source.Name, r.Values); err != nil {
		return nil, nil, err
	}
	user, err := a.User(ctx, d, id)
	if err != nil {
		return nil, nil, err
	}
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
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
func (v *visit) create(ctx context.Context, values map[string]string) error {
	err := v.DB.Write(ctx, func(tx *store.Tx) error {
		tx.HoldUserAs(v.user)
		if err := tx.CreateConnection(&v.c, values, v.holder, visitLease); err != nil {
			return err
		}
		v.source.Connection = v.c.ID
		return tx.CreateSource(v.domain.ID, &v.source)
	})
	if errors.Is(err, store.ErrConflict) && v.kept(ctx) {
		return v.create(ctx, values)
	}
	if err != nil {
		return fmt.Errorf("store a connection: %w", err)
	}
	return nil
}

// Resume goes on with a connection: it gives new or further values, says that
// something was done elsewhere, or just reads.
func (a *Aggregation) Resume(ctx context.Context, d passerelle.Domain, user passerelle.UserID, id passerelle.ConnectionID, r Request) (store.Connection, error) {
	v, reader, err := a.again(ctx, d, user, id)
	if err != nil {
		return store.Connection{}, err
	}
	v.attended = !r.Absent
	answers, err := v.sort(ctx, r.Values)
	if err != nil {
		return v.c, errors.Join(err, v.release(ctx))
	}
	err = v.read(ctx, reader, asked{attended: v.attended, answers: answers, resumed: r.Resume, callback: r.Callback, back: r.Back})
	if err == nil && v.c.State == passerelle.Wrongpass && len(r.Values) > 0 {
		err = wrongpass(v.c.Message)
	}
	return v.c, err
}

// again takes the lease of a connection. One that is being read is locked.
func (a *Aggregation) again(ctx context.Context, d passerelle.Domain, id passerelle.UserID, connection passerelle.ConnectionID) (*visit, connector.DataReader, error) {
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
	v := a.visit(d, user, reader.Profile(), values)
	v.c = c
	if err := v.lock(ctx); err != nil {
		return nil, nil, err
	}
	return v, reader, nil
}

// lock takes the lease and reads the connection as it then stands.
func (v *visit) lock(ctx context.Context) error {
	err := v.DB.Write(ctx, func(tx *store.Tx) error {
		tx.LeaseConnection(v.domain.ID, v.c.ID, v.holder, visitLease)
		return nil
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

// locked is the answer while somebody reads.
func locked() error {
	e := passerelle.Conflicting("the connection is being synchronised; try again in a few seconds")
	e.Code = "connectionLocked"
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
	own, answers := map[string]string{}, map[string]string{}
	for name, value := range given {
		if isOwn(v.profile.Data.Fields, name) {
			own[name] = value
		} else {
			answers[name] = value
		}
	}
	if len(own) == 0 {
		return answers, nil
	}
	stored, _, err := v.DB.ConnectionSecrets(ctx, v.domain.ID, v.c.ID)
	if err != nil {
		return nil, fmt.Errorf("load the secrets of connection %d: %w", v.c.ID, err)
	}
	maps.Copy(stored, own)
	if err := checkValues(v.profile.Data.Fields, "", v.source.Name, stored); err != nil {
		return nil, err
	}
	return answers, v.write(ctx, func(tx *store.Tx) error { return tx.SetConnectionValues(v.c, stored) })
}

func isOwn(fields []connector.Field, name string) bool {
	for _, f := range fields {
		if f.Name == name {
			return true
		}
	}
	return false
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
// of sight at once, erased soon after. A visit under way comes to nothing.
func (a *Aggregation) Disconnect(ctx context.Context, d passerelle.Domain, id passerelle.UserID, connection passerelle.ConnectionID) error {
	for range attempts {
		user, err := a.User(ctx, d, id)
		if err != nil {
			return err
		}
		c, err := a.Connection(ctx, d, id, connection)
		if err != nil {
			return err
		}
		if err = a.disconnect(ctx, d, user, c); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return changing(id)
}

func (a *Aggregation) disconnect(ctx context.Context, d passerelle.Domain, user passerelle.User, c store.Connection) error {
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return err
	}
	now := a.now(d)
	err = a.DB.Write(ctx, func(tx *store.Tx) error {
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
