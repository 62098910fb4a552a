package aggregation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/failpoint"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// maxRunTime limits the duration of a run. Only tests change it.
var maxRunTime = 15 * time.Minute

// syncRun is one read of an institution under the lease of a connection.
type syncRun struct {
	lease  *lease
	events *reporter
	// values contains the values of the connector's fields. memory is the stored memory of the
	// connector. damage says which of them are missing because they cannot be decrypted. secretless
	// is any other error from decrypting them.
	values     map[string]string
	memory     []byte
	damage     bankstore.Damage
	secretless error
	profile    connector.Profile
	settings   settings.Values
	attended   bool
	// supplied means that the request has values that the connector or the institution asks for.
	supplied bool
	// terminable means that the connector can end consents at the institution.
	terminable bool
	started    time.Time
	// former is the state before a read in the background sets it to validating.
	former passerelle.ConnectionState
	// back is the return address for a user who is sent to a page of the institution.
	back bankstore.ConnectionReturn
	// ended is true once the end of the run is stored. lost means that the end was stored without
	// the connector's memory of the read.
	ended, lost bool
	// fetch wakes the loop that fetches the files of a connector.
	fetch func(connector string)
	log   *slog.Logger
}

type readRequest struct {
	attended bool
	answers  map[string]string
	resumed  bool
	callback map[string][]string
	landing  Landing
	file     *connector.HandedFile
}

// readOn calls read for a client's request. The read continues when the client disconnects, because
// a later read would only repeat the same calls to the institution.
func (a *Aggregation) readOn(ctx context.Context, run *syncRun, reader connector.DataReader, r readRequest) error {
	ctx, end := a.outlast(ctx)
	defer end()
	return a.read(ctx, run, reader, r)
}

func (a *Aggregation) outlast(ctx context.Context) (context.Context, func()) {
	if a.Outlast == nil {
		return context.WithoutCancel(ctx), func() {}
	}
	return a.Outlast(ctx)
}

// read reads the institution, and stores the data and the outcome. The caller must hold the lease.
// read releases it. When ctx is cancelled and the read has no usable outcome, the connection keeps
// its state. A connection that is read in the background is then due at once.
func (a *Aggregation) read(ctx context.Context, run *syncRun, reader connector.DataReader, r readRequest) error {
	wanted := ctx
	ctx, cancel := context.WithTimeout(ctx, maxRunTime)
	defer cancel()
	back, err := run.prepareReturn(ctx, r.landing)
	if run.secretless != nil {
		err = fmt.Errorf("load the secrets of connection %d: %w", run.lease.c.ID, run.secretless)
	}
	if err != nil && wanted.Err() == nil {
		err = errors.Join(err, a.delay(ctx, run.lease.domain, run.lease.c))
	}
	if err != nil {
		return errors.Join(err, run.lease.release(ctx))
	}
	_, run.terminable = reader.(connector.Terminator)
	im := newImporter(ctx, run)
	out := &sink{importer: im}
	failpoint.Before("bank")
	outcome, needed := run.signIn()
	if !needed {
		outcome, err = run.callConnector(ctx, reader, a.request(ctx, run, out, back, r), out)
	}
	failpoint.After("bank")
	if broken := out.close(); broken != nil {
		err = broken
	}
	if im.lostRows > 0 {
		run.log.Warn("a connector gave different rows the same key, and only the first was stored", "connection", run.lease.c.ID, "connector", run.lease.c.Connector, "rows", im.lostRows)
	}
	if wanted.Err() != nil && unread(outcome, err) {
		return errors.Join(wanted.Err(), run.interrupt(context.WithoutCancel(ctx), outcome.Memory))
	}
	ended := run.conclude(ctx, im, outcome, err)
	return a.errorOfLostLease(context.WithoutCancel(ctx), run.lease, ended)
}

// signIn reports whether the user must sign in again before the connector is called, because stored
// secrets are damaged. It also returns the outcome that asks the user to do so.
func (run *syncRun) signIn() (connector.Outcome, bool) {
	fields, mechanism, source, o := run.profile.Data.Fields, run.mechanism(), run.lease.source.Name, connector.Outcome{}
	switch {
	case run.damage.Values && connector.CheckValues(fields, mechanism, source, run.values) != nil:
		o.State = passerelle.Wrongpass
		o.Fields = slices.DeleteFunc(slices.Clone(fields), func(f connector.Field) bool { return !f.AskedFor(mechanism, source) })
	case run.damage.Memory && !run.attended:
		o.State = run.renewal()
	default:
		return o, false
	}
	run.log.Error("stored secrets of a connection are damaged, so its user must sign in again", "connection", run.lease.c.ID)
	return o, true
}

// mechanism returns the only mechanism of the source. It returns "" if the source has several.
func (run *syncRun) mechanism() passerelle.AuthMechanism {
	for _, s := range run.profile.Sources {
		if s.Name == run.lease.source.Name && len(s.Mechanisms) == 1 {
			return s.Mechanisms[0]
		}
	}
	return ""
}

// request returns the request to the connector. With the function Save, the connector can store its
// memory before the read ends.
func (a *Aggregation) request(ctx context.Context, run *syncRun, out *sink, back string, r readRequest) connector.DataRequest {
	request := connector.DataRequest{
		Domain: run.lease.domain.ID, Connection: run.lease.c.ID, Source: run.lease.source.Name, Values: run.values, Answers: r.answers, Resumed: r.resumed,
		Callback: r.callback, ReturnURL: back, NotificationURL: a.Notifications.OfConsent(run.lease.domain, run.lease.c.ID), Memory: run.memory, Present: r.attended, BrokenOff: run.lease.brokenOff, File: r.file, Now: run.started,
	}
	request.Save = func(_ context.Context, memory []byte) {
		_ = out.pass(func() error {
			err := out.importer.store(func(tx *store.Tx) error {
				return bankstore.In(tx).SetConnectionMemory(run.lease.c, memory, run.terminable)
			})
			run.damage.Memory = run.damage.Memory && err != nil
			return err
		}) // the sink reports the failure, if any
	}
	if shared := a.devices.Take(run.lease.c.ID, a.Now()); run.lease.c.Soon {
		request.Device = shared
	}
	if request.Present {
		request.Device = connector.DeviceOf(ctx)
	}
	return request
}

// conclude stores the outcome of a read. The argument err is the error of the read, or nil.
// conclude also returns a failure of the store during the read.
func (run *syncRun) conclude(ctx context.Context, im *importer, outcome connector.Outcome, err error) error {
	late := ctx.Err() != nil
	stored := run.outcomeOf(outcome, err, late)
	run.lost = stored.Memory == nil && (err != nil || outcome.Memory != nil)
	ended := run.end(context.WithoutCancel(ctx), im, stored)
	if errors.Is(err, errStore) && !late {
		return errors.Join(err, ended)
	}
	return ended
}

// interrupt ends a run that this process broke off. It stores the memory that the connector
// returned. A connection in the state validating becomes due even without a schedule, because
// otherwise it would keep this state until the next request.
func (run *syncRun) interrupt(ctx context.Context, memory []byte) error {
	if run.lease.c.NextTry != nil || run.lease.c.State == passerelle.Validating {
		now := run.lease.now()
		run.lease.c.NextTry = &now
	}
	return run.lease.write(ctx, func(tx *store.Tx) error {
		c := run.lease.c
		bankstore.In(tx).SaveConnection(c, c.Version)
		bankstore.In(tx).ReleaseConnection(run.lease.domain.ID, c.ID, run.lease.holder, true)
		if memory == nil || len(memory) > maxMemory {
			return nil
		}
		return bankstore.In(tx).SetConnectionMemory(c, memory, run.terminable)
	})
}

// end stores the end of a run, including its record and its last events. Large events take long to
// write, so end renews the lease.
func (run *syncRun) end(ctx context.Context, im *importer, o connector.Outcome) error {
	defer run.lease.hold(ctx)()
	now := run.lease.now()
	first := run.lease.c.Established == nil && o.State == ""
	run.applyOutcome(now, o)
	err := run.events.writeWithEvents(ctx, func() ([]store.EmittedEvent, error) { return run.events.finalEvents(ctx, im, first) }, func(tx *store.Tx) error {
		c := run.lease.c
		bankstore.In(tx).SaveConnection(c, c.Version)
		bankstore.In(tx).SaveSource(run.lease.domain.ID, run.lease.source)
		bankstore.In(tx).SetUpdateError(c)
		bankstore.In(tx).CountReadings(run.lease.domain.ID, run.events.report.accounts, run.events.report.subscriptions)
		run.storeReturn(tx)
		if err := run.storeSecrets(bankstore.In(tx), o); err != nil {
			return err
		}
		bankstore.In(tx).ReleaseConnection(run.lease.domain.ID, c.ID, run.lease.holder, run.lost)
		if o.State == "" {
			bankstore.In(tx).ResumeFiles(c)
			tx.AfterCommit(func() { run.fetch(c.Connector) })
		}
		return bankstore.In(tx).LogSync(run.lease.domain.ID, bankstore.ConnectionLog{
			User: run.lease.user.ID, Connection: c.ID, Source: run.lease.source.ID, Started: run.started, At: now, NextTry: c.NextTry,
			State: o.State, Message: o.Message, Accounts: int64(len(im.accounts)), Attended: run.attended,
		})
	})
	run.ended = err == nil
	return err
}

// storeSecrets stores the memory of an outcome. After a successful read, it also replaces damaged
// secrets, because the next read in the background, the reads of files and keys rewrap would fail.
func (run *syncRun) storeSecrets(tx bankstore.Tx, o connector.Outcome) error {
	c, damage := run.lease.c, run.damage
	if o.State != "" {
		damage = bankstore.Damage{}
	}
	if damage.Values {
		run.log.Warn("damaged credentials of a connection are replaced by those of its last read", "connection", c.ID, "fields", len(run.values))
		if err := tx.SetConnectionValues(c, run.values); err != nil {
			return err
		}
	}
	if o.Memory != nil || damage.Memory {
		return tx.SetConnectionMemory(c, o.Memory, run.terminable)
	}
	return nil
}

func (run *syncRun) applyOutcome(now time.Time, o connector.Outcome) {
	c := &run.lease.c
	if o.State == passerelle.Wrongpass && cmp.Or(run.former, c.State) != passerelle.Wrongpass {
		c.Failures = 0 // earlier failures had other reasons
	}
	c.State, c.Message, c.URL, c.Fields = o.State, o.Message, o.URL, ""
	if len(o.Fields) > 0 {
		c.Fields = string(wire.Encode(shownFields(o.Fields)))
	}
	c.Sync, c.Soon, run.lease.source.State = run.lease.sync, false, o.State
	run.lease.source.LastUpdate = &now
	if o.State == "" {
		c.LastUpdate, c.LastPush, c.Expire, c.Failures = &now, &now, nil, 0
		if c.Established == nil {
			c.Established = &now
		}
		run.setConsentEnd(now, o)
	} else {
		c.Failures++
	}
	c.NextTry = run.next(now, o)
	run.lease.source.NextTry = c.NextTry
}

// consentDays is the number of days of a consent when neither the institution nor the connector
// reports a different number.
const consentDays = 180

// setConsentEnd sets the end of the consent to the time that the institution reports. Without such
// a report, it counts the connector's number of days from now. It sets the counted end only when
// the user was present, no end is stored, or the stored end is over.
func (run *syncRun) setConsentEnd(now time.Time, o connector.Outcome) {
	until := o.ConsentUntil
	if until == nil && (run.attended || run.lease.c.ConsentUntil == nil || run.lapsed()) {
		days := consentDays
		if run.profile.Data.ConsentDays > 0 {
			days = run.profile.Data.ConsentDays
		}
		end := now.AddDate(0, 0, days)
		until = &end
	}
	if until != nil {
		run.lease.c.ConsentUntil, run.lease.source.AccessExpire = until, until
	}
}
