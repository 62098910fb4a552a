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
	var faults []error
	for _, reason := range o.Payment.Incompatibilities(s, o.Now) {
		faults = append(faults, connector.Unless(reason.Severity != payment.Incompatible, "the profile excludes the order of the test: %s: %s", reason.Code, reason.Description))
	}
	faults = append(faults, connector.Unless(slices.Contains(s.Mechanisms, o.Mechanism), "payments.mechanisms %q: add %q, which the order of the test uses", s.Mechanisms, o.Mechanism))
	return errors.Join(faults...)
}
