package service

import (
	"context"
	"time"

	"passerelle"
)

// followPayments asks banks about what is due in a domain and lets payments
// expire, until a pass finds nothing more.
func (s *Service) followPayments(ctx context.Context, d passerelle.Domain) error {
	for {
		done, err := s.Initiation.RunDue(ctx, d)
		if err != nil || done.Checked+done.Recovered+done.Expired == 0 {
			return err
		}
	}
}

// expiredKept is how long an expired token is remembered, for operators who
// wonder why a program is refused.
const expiredKept = 24 * time.Hour

// A purge removes a million rows at most, in units of this size.
const (
	purgeBatch  = 10_000
	purgeRounds = 100
)

func (s *Service) purge(ctx context.Context) error {
	return s.DB.PurgeExpired(ctx, s.config.Now().Add(-expiredKept), purgeBatch, purgeRounds)
}

// maintenance reports whether the interface is closed.
func (s *Service) maintenance(ctx context.Context) (bool, error) {
	since, err := s.DB.Maintenance(ctx)
	return since != nil, err
}
