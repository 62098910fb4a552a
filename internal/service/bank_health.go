package service

import (
	"context"
	"time"

	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// Replicas tell each other so often which banks they leave alone. What one said holds for
// disturbanceHolds without being said again.
const (
	disturbanceEvery = 5 * time.Second
	disturbanceHolds = 20 * time.Second
)

// bankHealth is what this process said of its banks last.
type bankHealth struct {
	// process is its name, new with each start.
	process string
	said    bool
}

// ShareBankHealth tells other replicas which banks this process leaves alone, and learns the
// same of them. People see of a bank that it is disturbed wherever they are, but each process
// goes on calling it by what its own calls say: the way to a bank may be broken in one place
// alone.
func (s *Service) ShareBankHealth(ctx context.Context) error {
	now, own := s.config.Now(), s.registry.LeftAlone()
	if len(own) > 0 || s.bankHealth.said {
		err := s.DB.Write(ctx, func(tx *store.Tx) error {
			bankstore.In(tx).Disturb(s.bankHealth.process, own, now, now.Add(disturbanceHolds))
			return nil
		})
		if err != nil {
			return err
		}
		s.bankHealth.said = len(own) > 0
	}
	others, err := bankstore.From(s.DB).Disturbed(ctx, s.bankHealth.process, now)
	if err == nil {
		s.registry.NoteElsewhere(others)
	}
	return err
}
