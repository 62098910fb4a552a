package service

import (
	"context"
	"errors"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/background"
	"passerelle/internal/search"
)

// followPayments asks banks about due payments of a domain and expires payments, until a pass
// has nothing to do.
func (s *Service) followPayments(ctx context.Context, d passerelle.Domain) error {
	for {
		done, err := s.Initiation.RunDue(ctx, d)
		if err != nil || done.Checked+done.Recovered+done.Expired == 0 {
			return err
		}
	}
}

// eraseUsers deletes the temporary users of a domain who have expired, and erases the data of
// deleted users.
func (s *Service) eraseUsers(ctx context.Context, d passerelle.Domain) error {
	return errors.Join(s.Aggregation.ExpireUsers(ctx, d), s.Aggregation.EraseUsers(ctx, d))
}

// erase erases data that users withdrew, and data of deleted users. A failure for one kind of
// data does not affect the other.
func (s *Service) erase(ctx context.Context) error {
	return errors.Join(s.eachDomain(s.eraseUsers)(ctx), s.Aggregation.EraseWithdrawn(ctx), s.Documents.RemoveFiles(ctx))
}

// addEarlierWords adds the words of payments that were registered before words were stored, so
// that searches find these payments too.
func (s *Service) addEarlierWords(ctx context.Context, d passerelle.Domain) error {
	return search.AddEarlier(ctx, s.DB, d.ID)
}

// terminateConsents ends consents of deleted connections at their institutions.
func (s *Service) terminateConsents(ctx context.Context, d passerelle.Domain) error {
	return s.Aggregation.TerminateConsents(ctx, d)
}

// synchronise reads the connections of a domain that are due.
func (s *Service) synchronise(ctx context.Context, d passerelle.Domain) error {
	_, err := s.Aggregation.RunDue(ctx, d)
	return err
}

// fetchers returns the loops that fetch files, by the UUIDs of the connectors. Each connector
// that has files gets its own loop, so that a slow one does not delay the others.
func (s *Service) fetchers(all []connector.Connector) map[string]*background.Loop {
	loops := map[string]*background.Loop{}
	for _, c := range all {
		if _, able := c.(connector.FileReader); able {
			uuid := c.Profile().UUID
			loops[uuid] = &background.Loop{Name: "fetch files of " + uuid, Every: time.Minute, Pass: s.fetchFrom(uuid), Log: s.config.Log}
		}
	}
	return loops
}

// fetchFrom fetches the due files of a connector, in rounds with a batch for each domain.
func (s *Service) fetchFrom(connector string) func(context.Context) error {
	return func(ctx context.Context) error {
		for more := true; more; {
			more = false
			err := s.eachDomain(func(ctx context.Context, d passerelle.Domain) error {
				n, err := s.Documents.FetchFiles(ctx, d, connector)
				more = more || n > 0
				return err
			})(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// expiredKept is how long an expired token stays stored, so that operators can see why a program
// is refused.
const expiredKept = 24 * time.Hour

// A purge removes at most a million rows, in units of purgeBatch rows.
const (
	purgeBatch   = 10_000
	purgeBatches = 100
)

// partBatch is how many large pieces of bodies are removed at once.
const partBatch = 100

// purge removes rows that are no longer needed: expired rows, large bodies without an event, and
// old events. A failure for one kind or domain does not affect the others.
func (s *Service) purge(ctx context.Context) error {
	return errors.Join(
		s.DB.PurgeExpired(ctx, s.config.Now().Add(-expiredKept), purgeBatch, purgeBatches),
		s.DB.PurgeParts(ctx, partBatch, purgeBatches),
		s.eachDomain(s.Delivery.Purge)(ctx),
	)
}

// maintenance reports whether the API is closed.
func (s *Service) maintenance(ctx context.Context) (bool, error) {
	since, err := s.DB.Maintenance(ctx)
	return since != nil, err
}
