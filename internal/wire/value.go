package wire

import (
	"encoding/json"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
)

// Amount writes a decimal with all its digits.
func Amount(d *decimal.Decimal) *json.Number {
	if d == nil {
		return nil
	}
	text := json.Number(d.String())
	return &text
}

// Moment writes an instant in the zone. nil is null.
func Moment(t *time.Time, zone *time.Location) *string {
	if t == nil {
		return nil
	}
	text := passerelle.FormatDateTime(*t, zone)
	return &text
}
