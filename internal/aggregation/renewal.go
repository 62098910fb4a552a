package aggregation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/wire"
)

// A consent ends after the connector's number of days, or at a time that the institution reports.
// From then on, the connection's state asks for the user. The service reads the connection without
// the user only after a notification of the institution.

// LapseConsents finds a domain's connections with an ended consent. For each of them, it emits
// CONNECTION_SYNCED and sets a state that asks for the user, unless the state already asks for the
// user. It skips connections that are being read. The next call handles them.
func (a *Aggregation) LapseConsents(ctx context.Context, d passerelle.Domain) error {
	var (
		last bankstore.Connection
		errs []error
	)
	for {
		page, err := bankstore.From(a.DB).ConnectionsLapsing(ctx, d.ID, a.now(d), last, maxDue)
		if err != nil {
			return fmt.Errorf("list connections whose consent has ended: %w", err)
		}
		for _, c := range page {
			errs = append(errs, a.lapse(ctx, d, c))
			last = c
		}
		if len(page) < maxDue {
			return errors.Join(errs...)
		}
	}
}

func (a *Aggregation) lapse(ctx context.Context, d passerelle.Domain, c bankstore.Connection) error {
	run, _, err := a.takeLease(ctx, d, c.User, c.ID)
	var refused *passerelle.Error
	if errors.As(err, &refused) {
		return nil // the connection was deleted, another run is reading it, or its connector was removed
	}
	if err == nil && (!run.lapsed() || run.waits()) {
		err = run.lease.release(ctx)
	} else if err == nil {
		err = run.lapse(ctx)
	}
	if err != nil {
		return fmt.Errorf("end the consent of connection %d: %w", c.ID, err)
	}
	return nil
}

func (run *syncRun) lapsed() bool {
	return run.lease.c.ConsentUntil != nil && !run.started.Before(*run.lease.c.ConsentUntil)
}

// waits reports whether the state asks for the user. The user may be renewing the consent.
func (run *syncRun) waits() bool { return run.lease.c.State.Resolution() == passerelle.ByPerson }

// lapse ends a run before its read begins, because the consent has ended. It keeps a state that
// already asks for the user. After lapse, the connection is not due.
func (run *syncRun) lapse(ctx context.Context) error {
	if run.waits() && run.lease.c.NextTry == nil {
		return run.lease.release(ctx)
	}
	if run.waits() {
		return run.leave(ctx, nil)
	}
	return run.end(ctx, newImporter(ctx, run), connector.Outcome{State: run.renewal()})
}

// renewal returns the state that asks a user for a new consent. The user consents on a page of the
// institution if the source has such a page.
func (run *syncRun) renewal() passerelle.ConnectionState {
	if hasPage(run.profile, run.lease.source.Name) {
		return passerelle.WebauthRequired
	}
	return passerelle.SCARequired
}

// ShowConsent renders the record of a consent.
func ShowConsent(c bankstore.Consent, zone *time.Location) wire.Consent {
	return wire.Consent{
		ID: c.ID, IDUser: int64(c.User), IDConnection: int64(c.Connection), IDAccount: optional(int64(c.Account)), IDSubscription: optional(int64(c.Subscription)),
		TextVersion: c.TextVersion, Origin: c.Origin, Granted: passerelle.FormatDateTime(c.Granted, zone), Withdrawn: wire.Moment(c.Withdrawn, zone),
	}
}
