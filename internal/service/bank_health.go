package service

import (
	"context"
	"time"

	"passerelle/internal/bankstore"
	"passerelle/internal/store"
)

// Replicas exchange lists of the failing banks that they do not call, at the interval
// disturbanceEvery. An entry stays valid for disturbanceHolds after its last repetition.
const (
	disturbanceEvery = 5 * time.Second
	disturbanceHolds = 20 * time.Second
)

// bankHealth describes the lists that this process reports. said is set when the last list was not
// empty.
type bankHealth struct {
	// process is the name of this process. Each start makes a new name.
	process string
	said    bool
}

// ShareBankHealth tells other replicas which failing banks this process does not call, and reads
// their lists. Users of every replica then see that a bank fails. Each process still uses only the
// results of its own calls to decide whether to call a bank. The reason is that a failure may come
// from the network of one machine, and not from the bank.
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
