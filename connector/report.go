package connector

import (
	"errors"
	"net/url"
	"slices"

	"passerelle/payment"
)

// These are the values that a report may contain.
var (
	statuses = []payment.Status{payment.Awaiting, payment.Processing, payment.Settled, payment.Declined}
	actions  = []payment.Action{payment.Redirect, payment.Decoupled, payment.FillFields, payment.Confirm, payment.PSUValidation}

	cancellations = []payment.Cancellation{"", payment.CancellationAwaiting, payment.CancellationGranted, payment.CancellationRefused}

	lineStates = []payment.InstructionState{
		payment.InstructionPending, payment.InstructionRejected, payment.InstructionDone, payment.InstructionAccepted,
	}
)

// CheckReport returns the faults of a report as an error, or nil. lines is the number of
// instructions of the order.
func CheckReport(r payment.Report, lines int) error {
	claims := []error{
		Unless(slices.Contains(statuses, r.Status), "unknown status %q", r.Status),
		Unless(r.CheckAfter >= 0, "the next check would be in the past: %s", r.CheckAfter),
		Unless(r.Status != payment.Awaiting || slices.Contains(actions, r.Action), "the payer has to do an unknown action: %q", r.Action),
		Unless(r.Status != payment.Awaiting || r.Action != payment.Redirect || isURL(r.ValidateURI), "a redirect without an address: %q", r.ValidateURI),
		Unless(r.Status != payment.Awaiting || r.Action != payment.FillFields || len(r.Fields) > 0, "the report requests fields but contains none"),
		Unless(r.Cancellation != payment.CancellationAwaiting || r.Action != "" && r.Action != payment.Redirect || isURL(r.ValidateURI), "a cancellation to be approved without an address: %q", r.ValidateURI),
		Unless(slices.Contains(cancellations, r.Cancellation), "unknown cancellation %q", r.Cancellation),
		Unless(r.Status != payment.Declined || slices.Contains(payment.ErrorCodes(), r.Code), "declined with an unknown code: %q", r.Code),
	}
	claims = append(claims, occurrencesFormed(r.Occurrences)...)
	return errors.Join(append(claims, linesFormed(r.Lines, lines)...)...)
}

func occurrencesFormed(list []payment.Occurrence) []error {
	var claims []error
	for _, one := range list {
		claims = append(claims, Unless(!one.Day.IsZero() && (one.Code == "" || slices.Contains(payment.ErrorCodes(), one.Code)), "an occurrence on %q with code %q", one.Day, one.Code))
	}
	return claims
}

func linesFormed(list []payment.Line, lines int) []error {
	var claims []error
	for _, l := range list {
		claims = append(claims,
			Unless(l.Position >= 0 && l.Position < lines, "line %d of %d", l.Position, lines),
			Unless(slices.Contains(lineStates, l.State), "line %d is in an unknown state: %q", l.Position, l.State),
			Unless((l.State == payment.InstructionRejected) == slices.Contains(payment.ErrorCodes(), l.Code), "line %d is %s with code %q", l.Position, l.State, l.Code))
	}
	return claims
}

func isURL(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
