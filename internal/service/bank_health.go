package service

import (
	"context"
	"time"

	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// The interval at which replicas exchange the list of banks that they do not call, and
// disturbanceHolds, the time for which an entry is valid without a repetition. What one said
// holds for disturbanceHolds without being said again.
const (
	disturbanceEvery = 5 * time.Second
	disturbanceHolds = 20 * time.Second
)

// bankHealth is the list that this process reported last.
type bankHealth struct {
	// process is the name of this process, different after each start.
	process string
	said    bool
}

// ShareBankHealth reports the banks that this process does not call to other replicas, and reads
// their lists. Users see at every replica that a bank fails, but each process decides by the
// results of its own calls whether it calls the bank, because the network of one machine may be
// the cause.
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
