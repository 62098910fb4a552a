package aggregation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/failpoint"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/webhook"
)

const (
	// visitTime bounds a visit, visitLease what a crash keeps locked: every
	// page that is stored renews it, and so does time while the connector is asked.
	visitTime  = 15 * time.Minute
	visitLease = time.Minute
)

// visit is one conversation with an institution under the lease of a
// connection, and everything that is written because of it.
type visit struct {
	*Aggregation
	domain   passerelle.Domain
	user     passerelle.User
	c        store.Connection
	source   store.ConnectionSource
	profile  connector.Profile
	settings settings.Values
	holder   string
	attended bool
	started  time.Time
	// sync numbers what this visit changes.
	sync int64
	// back is how the person returns who is sent to a page of the institution's.
	back store.ConnectionReturn
	// heard are the events that webhooks want, nil before that was asked; listened
	// says that one came since, and that every body is written.
	heard    map[webhook.Event]bool
	listened bool
	// told is what it has to tell of, once it has ended.
	told told
	// ended is true when how it ended is on record.
	ended bool
}

// asked is what a visit is begun with.
type asked struct {
	attended bool
	answers  map[string]string
	resumed  bool
	callback map[string][]string
	landing  Landing
}

// zone is that of times in the bodies of events.
func (v *visit) zone() *time.Location { return v.settings.Location() }

// instant is the present one of the domain.
func (v *visit) instant() time.Time { return v.now(v.domain) }

// write executes a unit of the visit, unless the lease has lapsed: then somebody
// else may be at work, and a late reader writes nothing. Events get the next
// versions of the connection, in their order; those of a temporary user are
// held.
func (v *visit) write(ctx context.Context, fn func(tx *store.Tx) error, events ...store.Event) error {
	version := v.c.Version + int64(len(events))
	err := v.DB.Write(ctx, func(tx *store.Tx) error {
		tx.KeepConnection(v.domain.ID, v.c.ID, v.holder, visitLease)
		tx.HoldUserAs(v.user)
		if err := fn(tx); err != nil {
			return err
		}
		return v.tell(tx, version, events)
	})
	if errors.Is(err, store.ErrConflict) && v.kept(ctx) {
		return v.write(ctx, fn, events...)
	}
	if err != nil {
		return fmt.Errorf("store what connection %d gave: %w", v.c.ID, err)
	}
	v.c.Version = version
	return nil
}

func (v *visit) tell(tx *store.Tx, version int64, events []store.Event) error {
	if len(events) == 0 {
		return nil
	}
	tx.VersionConnection(v.domain.ID, v.c.ID, v.c.Version, version)
	tx.AfterCommit(v.Wake)
	for i, e := range events {
		e.Domain, e.Subject, e.SubjectID, e.Version = v.domain.ID, string(webhook.SubjectConnection), int64(v.c.ID), v.c.Version+int64(i)+1
		e.User, e.Held, e.Created = v.user.ID, v.user.Permanent == nil, v.instant()
		if err := tx.Emit(e); err != nil {
			return err
		}
	}
	return nil
}

// kept reports that the user became permanent since it was read, which undoes a
// unit and lets the next one through.
func (v *visit) kept(ctx context.Context) bool {
	u, err := v.DB.User(ctx, v.domain.ID, v.user.ID)
	changed := err == nil && (u.Permanent == nil) != (v.user.Permanent == nil)
	if changed {
		v.user = u
	}
	return changed
}

// read visits the institution and stores what it gives and how it ended. The
// lease is held and is released.
func (v *visit) read(ctx context.Context, reader connector.DataReader, a asked) error {
	ctx, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	values, memory, err := v.DB.ConnectionSecrets(ctx, v.domain.ID, v.c.ID)
	if err != nil {
		return fmt.Errorf("load the secrets of connection %d: %w", v.c.ID, err)
	}
	back, err := v.wayBack(ctx, a.landing)
	if err != nil {
		return err
	}
	in := &intake{visit: v, ctx: ctx}
	out := &sink{intake: in}
	failpoint.Before("bank")
	outcome, err := v.converse(ctx, reader, connector.Visit{
		Domain: v.domain.ID, Connection: v.c.ID, Source: v.source.Name, Values: values, Answers: a.answers, Resumed: a.resumed,
		Callback: a.callback, ReturnURL: back, Memory: memory, Present: a.attended, Now: v.started,
	}, out)
	failpoint.After("bank")
	if broken := out.close(); broken != nil {
		err = broken
	}
	late := ctx.Err() != nil
	ended := v.end(context.WithoutCancel(ctx), in, v.settled(outcome, err, late))
	if errors.Is(err, errStore) && !late {
		ended = errors.Join(err, ended)
	}
	return v.lost(context.WithoutCancel(ctx), ended)
}

// end stores how a visit ended, with the account of it and its last events.
func (v *visit) end(ctx context.Context, in *intake, o connector.Outcome) error {
	now := v.instant()
	first := v.c.Established == nil && o.State == ""
	v.close(now, o)
	err := v.telling(ctx, func() ([]store.Event, error) { return v.finalEvents(ctx, in, first) }, func(tx *store.Tx) error {
		c := v.c
		tx.SaveConnection(c, c.Version)
		tx.SaveSource(v.domain.ID, v.source)
		tx.SetUpdateError(c)
		v.expect(tx)
		if o.Memory != nil {
			if err := tx.SetConnectionMemory(c, o.Memory); err != nil {
				return err
			}
		}
		tx.ReleaseConnection(v.domain.ID, c.ID, v.holder)
		if o.State == "" {
			tx.ResumeFiles(c)
			tx.AfterCommit(func() { v.Fetch(c.Connector) })
		}
		return tx.LogVisit(v.domain.ID, store.ConnectionLog{
			User: v.user.ID, Connection: c.ID, Source: v.source.ID, Started: v.started, At: now, NextTry: c.NextTry,
			State: o.State, Message: o.Message, Accounts: int64(len(in.accounts)), Attended: v.attended,
		})
	})
	v.ended = err == nil
	return err
}

// close brings an outcome into the connection.
func (v *visit) close(now time.Time, o connector.Outcome) {
	c := &v.c
	c.State, c.Message, c.URL, c.Fields = o.State, o.Message, o.URL, ""
	if len(o.Fields) > 0 {
		c.Fields = string(wire.Encode(shownFields(o.Fields)))
	}
	c.Sync, c.Soon, v.source.State = v.sync, false, o.State
	v.source.LastUpdate = &now
	if o.State == "" {
		c.LastUpdate, c.LastPush, c.Expire, c.Failures = &now, &now, nil, 0
		if c.Established == nil {
			c.Established = &now
		}
		v.agree(now, o)
	} else {
		c.Failures++
	}
	c.NextTry = v.next(now, o)
	v.source.NextTry = c.NextTry
}

// consentDays is how long a consent lasts when neither the institution nor its
// connector says otherwise.
const consentDays = 180

// agree moves the end of the consent when the institution gave one, and when
// the person took part and it is the connector that knows.
func (v *visit) agree(now time.Time, o connector.Outcome) {
	until := o.ConsentUntil
	if until == nil && (v.attended || v.c.ConsentUntil == nil) {
		days := consentDays
		if v.profile.Data.ConsentDays > 0 {
			days = v.profile.Data.ConsentDays
		}
		end := now.AddDate(0, 0, days)
		until = &end
	}
	if until != nil {
		v.c.ConsentUntil, v.source.AccessExpire = until, until
	}
}
