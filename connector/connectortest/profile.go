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

// coherentProfile checks that the profile is complete, stable and consistent, because clients
// choose a connector by its profile.
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

func checkCarries(s payment.Settings, o connector.Order) error {
	if reasons := o.Payment.Incompatibilities(s, o.Now); !payment.Eligible(reasons) {
		return fmt.Errorf("the settings exclude the subject's own order: %+v", reasons)
	}
	if !slices.Contains(s.Mechanisms, o.Mechanism) {
		return fmt.Errorf("mechanism %q is none of %v", o.Mechanism, s.Mechanisms)
	}
	return nil
}
