package wire

import (
	"encoding/json"
	"time"

	"github.com/govalues/decimal"

	"passerelle"
)

// Amount renders a decimal with all its digits.
func Amount(d *decimal.Decimal) *json.Number {
	if d == nil {
		return nil
	}
	text := json.Number(d.String())
	return &text
}

// Moment renders an instant in the zone. It returns nil for a nil instant.
func Moment(t *time.Time, zone *time.Location) *string {
	if t == nil {
		return nil
	}
	text := passerelle.FormatDateTime(*t, zone)
	return &text
}
