package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/background"
	"passerelle/internal/initiation"
	"passerelle/internal/search"
)

// longestFollow limits a pass that follows payments. Only tests change it.
var longestFollow = time.Minute

// followPayments asks banks about due payments, and expires payments. It handles one batch of each
// domain, and repeats this until no domain has anything to do. A domain with constant work
// therefore does not delay the others. The first round that ends after longestFollow ends the pass,
// and the next pass begins at once, so that metrics also count passes under constant work.
// followPayments waits for a slow bank only for a moment. It fails when one of these batches has
// failed. A failure in one domain does not affect the others.
func (s *Service) followPayments(ctx context.Context) error {
	var failed error
	for begun, more := time.Now(), true; more; {
		more = false
		err := s.eachDomain(func(ctx context.Context, d passerelle.Domain) error {
			done, err := s.Initiation.Follow(ctx, d)
			more = more || err == nil && done != (initiation.Done{})
			return err
		})(ctx)
		failed = cmp.Or(failed, err)
		if more && time.Since(begun) >= longestFollow {
			s.Initiation.FollowAgain()
			break
		}
	}
	return failed
}

// eraseUsers deletes the temporary users of a domain who have expired, and erases the data of
// deleted users.
func (s *Service) eraseUsers(ctx context.Context, d passerelle.Domain) error {
	return errors.Join(s.Aggregation.ExpireUsers(ctx, d), s.Aggregation.EraseUsers(ctx, d))
}

// erase erases the data of deleted users, the data that users withdrew, and their files. A failure
// with one kind of data does not affect the others.
func (s *Service) erase(ctx context.Context) error {
	return errors.Join(s.eachDomain(s.eraseUsers)(ctx), s.Aggregation.EraseWithdrawn(ctx), s.Documents.RemoveFiles(ctx))
}

// addEarlierWords adds the words for searches to payments that an earlier version of the service
// stored without words.
func (s *Service) addEarlierWords(ctx context.Context, d passerelle.Domain) error {
	return search.AddEarlier(ctx, s.DB, d.ID)
}

// terminateConsents ends consents of deleted connections at their institutions, in all domains.
func (s *Service) terminateConsents(ctx context.Context) error {
	all, err := s.DB.Domains(ctx)
	if err != nil {
		return fmt.Errorf("list the domains: %w", err)
	}
	return s.Aggregation.TerminateConsents(ctx, all...)
}

// synchronise begins to read a domain's connections that are due for a sync. It does not wait for
// slow institutions.
func (s *Service) synchronise(ctx context.Context, d passerelle.Domain) error {
	return s.Aggregation.BeginDue(ctx, d)
}

// fetchers returns the loops that fetch files, by the UUIDs of the connectors. Each connector in
// the list `all` that reads files has its own loop, so a slow connector does not delay the others.
func (s *Service) fetchers(all []connector.Connector) map[string]*background.Loop {
	loops := map[string]*background.Loop{}
	for _, c := range all {
		if _, able := c.(connector.FileReader); able {
			loops[c.Profile().UUID] = s.fetcher(c.Profile().UUID, time.Minute)
		}
	}
	return loops
}

// fetcher returns the loop that fetches the files of a connector.
func (s *Service) fetcher(uuid string, every time.Duration) *background.Loop {
	return &background.Loop{Name: "fetch files of " + uuid, Every: every, Pass: s.fetchFrom(uuid), Log: s.config.Log}
}

// fetchFrom returns a function that fetches the due files of a connector. The function fetches one
// batch for each domain, and repeats this until no domain has a due file or a batch fails.
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

// expiredKept is the time for which an expired token stays stored. During this time, operators can
// see why a program is refused.
const expiredKept = 24 * time.Hour

// A purge removes at most one million expired rows of each kind, in batches of purgeBatch rows.
const (
	purgeBatch   = 10_000
	purgeBatches = 100
)

// partBatch is the largest number of parts of large event bodies that a purge checks in one batch.
const partBatch = 100

// purge removes rows that the service no longer needs: expired rows, large bodies without an event,
// and old events. A failure with one kind of row or one domain does not affect the others.
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

// readCertificate uses a changed certificate for new connections. If the certificate cannot be
// used, the pass fails, and the service keeps the previous certificate.
func (s *Service) readCertificate(ctx context.Context) error {
	changed, err := s.config.Certificate.Reload()
	if changed {
		s.config.Log.InfoContext(ctx, "new connections get a new certificate", "expires", s.config.Certificate.Expires())
	}
	return err
}
