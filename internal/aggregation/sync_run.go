package aggregation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/failpoint"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

const (
	// maxRunTime limits a run, and runLease limits how long a connection stays locked after a
	// crash. Each stored page, and a timer during a call, renew the lease.
	maxRunTime = 15 * time.Minute
	runLease   = time.Minute
)

// syncRun is one read of an institution under the lease of a connection, with all writes that it
// causes.
type syncRun struct {
	*Aggregation
	domain passerelle.Domain
	user   passerelle.User
	c      bankstore.Connection
	source bankstore.ConnectionSource
	// sources are all sources of the connection before the run.
	sources []bankstore.ConnectionSource
	// values contains the values of the connector's fields, and memory the memory that the last
	// run returned. secretless is the reason why they could not be decrypted.
	values     map[string]string
	memory     []byte
	secretless error
	profile    connector.Profile
	settings   settings.Values
	holder     string
	attended   bool
	// terminable means that the connector can end consents at the institution.
	terminable bool
	// brokenOff means that the last run was interrupted.
	brokenOff bool
	started   time.Time
	// sync is the number of this run in the rows that it changes.
	sync int64
	// back is the return address for a user who is sent to a page of the institution.
	back bankstore.ConnectionReturn
	// wantedEvents are the events that webhooks are subscribed to, nil before they were read.
	// writeAll means that a webhook was added since, so that every body is written.
	wantedEvents map[webhook.Event]bool
	writeAll     bool
	// report has the content of the final events, once the run has ended.
	report report
	// ended is true once the end of the run is stored.
	ended bool
}

// readRequest contains the input of a run.
type readRequest struct {
	attended bool
	answers  map[string]string
	resumed  bool
	callback map[string][]string
	landing  Landing
	file     *connector.HandedFile
}

// zone is the time zone of the times in event bodies.
func (run *syncRun) zone() *time.Location { return run.settings.Location() }

// instant returns the present instant of the domain.
func (run *syncRun) instant() time.Time { return run.now(run.domain) }

// write executes a unit of the run. It fails when the lease has lapsed, so that a late run does
// not write at the same time as another one. Events get the next versions of the connection, in
// order. Events of a temporary user are held.
func (run *syncRun) write(ctx context.Context, fn func(tx *store.Tx) error, events ...store.EmittedEvent) error {
	version := run.c.Version + int64(len(events))
	err := run.DB.Write(ctx, func(tx *store.Tx) error {
		bankstore.In(tx).KeepConnection(run.domain.ID, run.c.ID, run.holder, runLease)
		bankstore.In(tx).HoldUserAs(run.user)
		if err := fn(tx); err != nil {
			return err
		}
		return run.emit(tx, version, events)
	})
	if errors.Is(err, store.ErrConflict) && run.userBecamePermanent(ctx) {
		return run.write(ctx, fn, events...)
	}
	if err != nil {
		return fmt.Errorf("store what connection %d gave: %w", run.c.ID, err)
	}
	run.c.Version = version
	return nil
}

func (run *syncRun) emit(tx *store.Tx, version int64, events []store.EmittedEvent) error {
	if len(events) == 0 {
		return nil
	}
	bankstore.In(tx).VersionConnection(run.domain.ID, run.c.ID, run.c.Version, version)
	tx.AfterCommit(run.Wake)
	for i, e := range events {
		e.Domain, e.Subject, e.SubjectID, e.Version = run.domain.ID, string(webhook.SubjectConnection), int64(run.c.ID), run.c.Version+int64(i)+1
		e.User, e.Held, e.Created = run.user.ID, run.user.Permanent == nil, run.instant()
		if err := tx.Emit(e); err != nil {
			return err
		}
	}
	return nil
}

// userBecamePermanent reports whether the user became permanent since it was read. Such a change
// undoes a unit, and the next attempt succeeds.
func (run *syncRun) userBecamePermanent(ctx context.Context) bool {
	u, err := run.DB.User(ctx, run.domain.ID, run.user.ID)
	changed := err == nil && (u.Permanent == nil) != (run.user.Permanent == nil)
	if changed {
		run.user = u
	}
	return changed
}

// read reads the institution, and stores the data and the outcome. The caller must hold the
// lease, and read releases it.
func (run *syncRun) read(ctx context.Context, reader connector.DataReader, a readRequest) error {
	ctx, cancel := context.WithTimeout(ctx, maxRunTime)
	defer cancel()
	if run.secretless != nil {
		return fmt.Errorf("load the secrets of connection %d: %w", run.c.ID, run.secretless)
	}
	back, err := run.prepareReturn(ctx, a.landing)
	if err != nil {
		return err
	}
	_, run.terminable = reader.(connector.Terminator)
	im := &importer{syncRun: run, ctx: ctx}
	out := &sink{importer: im}
	failpoint.Before("bank")
	request := connector.DataRequest{
		Domain: run.domain.ID, Connection: run.c.ID, Source: run.source.Name, Values: run.values, Answers: a.answers, Resumed: a.resumed,
		Callback: a.callback, ReturnURL: back, NotificationURL: run.Notifications.OfConsent(run.domain, run.c.ID), Memory: run.memory, Present: a.attended, BrokenOff: run.brokenOff, File: a.file, Now: run.started,
	}
	if shared, known := run.devices.LoadAndDelete(run.c.ID); known && run.c.Soon {
		request.Device, _ = shared.(connector.Device)
	}
	if request.Present {
		request.Device = connector.DeviceOf(ctx)
	}
	outcome, err := run.callConnector(ctx, reader, request, out)
	failpoint.After("bank")
	if broken := out.close(); broken != nil {
		err = broken
	}
	late := ctx.Err() != nil
	ended := run.end(context.WithoutCancel(ctx), im, run.outcomeOf(outcome, err, late))
	if errors.Is(err, errStore) && !late {
		ended = errors.Join(err, ended)
	}
	return run.errorOfLostLease(context.WithoutCancel(ctx), ended)
}

// end stores the end of a run, with its record and its last events.
func (run *syncRun) end(ctx context.Context, im *importer, o connector.Outcome) error {
	now := run.instant()
	first := run.c.Established == nil && o.State == ""
	run.applyOutcome(now, o)
	err := run.writeWithEvents(ctx, func() ([]store.EmittedEvent, error) { return run.finalEvents(ctx, im, first) }, func(tx *store.Tx) error {
		c := run.c
		bankstore.In(tx).SaveConnection(c, c.Version)
		bankstore.In(tx).SaveSource(run.domain.ID, run.source)
		bankstore.In(tx).SetUpdateError(c)
		run.storeReturn(tx)
		if o.Memory != nil {
			remember := bankstore.In(tx).SetConnectionMemory
			if run.terminable {
				remember = bankstore.In(tx).TerminableMemory
			}
			if err := remember(c, o.Memory); err != nil {
				return err
			}
		}
		bankstore.In(tx).ReleaseConnection(run.domain.ID, c.ID, run.holder, false)
		if o.State == "" {
			bankstore.In(tx).ResumeFiles(c)
			tx.AfterCommit(func() { run.Fetch(c.Connector) })
		}
		return bankstore.In(tx).LogSync(run.domain.ID, bankstore.ConnectionLog{
			User: run.user.ID, Connection: c.ID, Source: run.source.ID, Started: run.started, At: now, NextTry: c.NextTry,
			State: o.State, Message: o.Message, Accounts: int64(len(im.accounts)), Attended: run.attended,
		})
	})
	run.ended = err == nil
	return err
}

// applyOutcome applies an outcome to the connection.
func (run *syncRun) applyOutcome(now time.Time, o connector.Outcome) {
	c := &run.c
	c.State, c.Message, c.URL, c.Fields = o.State, o.Message, o.URL, ""
	if len(o.Fields) > 0 {
		c.Fields = string(wire.Encode(shownFields(o.Fields)))
	}
	c.Sync, c.Soon, run.source.State = run.sync, false, o.State
	run.source.LastUpdate = &now
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
	run.source.NextTry = c.NextTry
}

// consentDays is how many days a consent lasts when neither the institution nor the connector
// reports another number.
const consentDays = 180

// setConsentEnd sets the end of the consent to the end that the institution reports. Without a
// report, it counts the days of the connector when the user was present or no end is stored.
func (run *syncRun) setConsentEnd(now time.Time, o connector.Outcome) {
	until := o.ConsentUntil
	if until == nil && (run.attended || run.c.ConsentUntil == nil) {
		days := consentDays
		if run.profile.Data.ConsentDays > 0 {
			days = run.profile.Data.ConsentDays
		}
		end := now.AddDate(0, 0, days)
		until = &end
	}
	if until != nil {
		run.c.ConsentUntil, run.source.AccessExpire = until, until
	}
}
