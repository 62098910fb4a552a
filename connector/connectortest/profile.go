package connectortest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"passerelle/connector"
	"passerelle/payment"
)

// coherentProfile: clients choose by the profile, so it must be complete, stable and
// consistent.
func coherentProfile(_ context.Context, s Subject) error {
	p := s.Initiator.Profile()
	if _, err := connector.NewRegistry(s.Initiator); err != nil {
		return err
	}
	return errors.Join(checkStable(s.Initiator, p), p.Check(), checkCarries(*p.Payments, s.Order()))
}

func checkStable(c connector.Connector, p connector.Profile) error {
	if again := c.Profile(); !reflect.DeepEqual(p, again) {
		return fmt.Errorf("the profile changed from %+v to %+v", p, again)
	}
	return nil
}

// claim is one statement of a connector and whether it holds.
type claim struct {
	holds bool
	fault string
}

func failures(claims []claim) error {
	var faults []error
	for _, c := range claims {
		if !c.holds {
			faults = append(faults, errors.New(c.fault))
		}
	}
	return errors.Join(faults...)
}

func checkCarries(s payment.Settings, o connector.Order) error {
	reasons := o.Payment.Incompatibilities(s, o.Now)
	return failures([]claim{
		{payment.Eligible(reasons), fmt.Sprintf("the settings exclude the subject's own order: %+v", reasons)},
		{slices.Contains(s.Mechanisms, o.Mechanism), fmt.Sprintf("mechanism %q is none of %v", o.Mechanism, s.Mechanisms)},
	})
}
