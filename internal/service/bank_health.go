package service

import (
	"context"
	"time"

	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// Replicas exchange the lists of banks that they do not call, at the interval disturbanceEvery.
// An entry that is not repeated stays valid for disturbanceHolds.
const (
	disturbanceEvery = 5 * time.Second
	disturbanceHolds = 20 * time.Second
)

// bankHealth is the list that this process reported last.
type bankHealth struct {
	// process is the name of this process. It differs after each start.
	process string
	said    bool
}

// ShareBankHealth tells other replicas which banks this process does not call, and reads their
// lists, so that users of every replica see that a bank fails. Each process still decides by the
// results of its own calls whether to call a bank, because the cause may be the network of one
// machine.
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
