package connector

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"passerelle/payment"
)

// CheckReport returns the faults of a report as an error, or nil. lines is the number of
// instructions of the order.
func CheckReport(r payment.Report, lines int) error {
	claims := []error{
		oneOf("status", r.Status, r.Status.Values()),
		Unless(r.CheckAfter >= 0, "the next check would be in the past: %s", r.CheckAfter),
		oneOf("action", r.Action, actions(r)),
		Unless(r.Status != payment.Awaiting || r.Action != payment.Redirect || isURL(r.ValidateURI), "a redirect without an address: %q", r.ValidateURI),
		Unless(r.Status != payment.Awaiting || r.Action != payment.FillFields || len(r.Fields) > 0, "the report requests fields but contains none"),
		Unless(r.Cancellation != payment.CancellationAwaiting || r.Action != "" && r.Action != payment.Redirect || isURL(r.ValidateURI), "a cancellation to be approved without an address: %q", r.ValidateURI),
		oneOf("cancellation", r.Cancellation, append(r.Cancellation.Values(), "")),
		oneOf("by", r.By, append(texts(payment.Actors()), "")),
	}
	if r.Status == payment.Declined {
		claims = append(claims, oneOf("code", r.Code, r.Code.Values()))
	}
	claims = append(claims, occurrencesFormed(r.Occurrences)...)
	return errors.Join(append(claims, linesFormed(r.Lines, lines)...)...)
}

// actions returns the allowed actions of a report. Only an order that waits for its payer needs an
// action.
func actions(r payment.Report) []string {
	if r.Status == payment.Awaiting {
		return r.Action.Values()
	}
	return append(r.Action.Values(), "")
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
			oneOf(fmt.Sprintf("state of line %d", l.Position), l.State, l.State.Values()),
			Unless((l.State == payment.InstructionRejected) == slices.Contains(payment.ErrorCodes(), l.Code), "line %d is %s with code %q", l.Position, l.State, l.Code))
	}
	return claims
}

func isURL(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
