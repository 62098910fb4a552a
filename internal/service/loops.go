package service

import (
	"context"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
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

// purgeBatch bounds one purge, so that it never holds the database for long.
const purgeBatch = 10_000

func (s *Service) purge(ctx context.Context) error {
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		tx.PurgeTokens(s.config.Now().Add(-expiredKept), purgeBatch)
		tx.PurgeAnswers(purgeBatch)
		return nil
	})
	if err != nil {
		return fmt.Errorf("purge expired tokens and answers: %w", err)
	}
	return nil
}

// maintenance reports whether the interface is closed.
func (s *Service) maintenance(ctx context.Context) (bool, error) {
	since, err := s.DB.Maintenance(ctx)
	return since != nil, err
}
