package passerelle

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// Color is an opaque colour of the sRGB space.
type Color struct{ Red, Green, Blue uint8 }

// These are the minimum contrast ratios of WCAG 2.2 between text of normal size and its background
// (success criterion 1.4.3), and between a control or graphic and its surroundings (1.4.11).
const (
	TextContrast    = 4.5
	GraphicContrast = 3
)

// Ground is the usual background of pages in the light colour scheme.
var Ground = Color{0xf2, 0xf5, 0xf4}

// ParseColor reads six hexadecimal digits with or without #. Any other text is an Invalid error for
// the field.
func ParseColor(field, s string) (Color, error) {
	digits := strings.TrimPrefix(s, "#")
	if parts, err := hex.DecodeString(digits); err == nil && len(parts) == 3 {
		return Color{parts[0], parts[1], parts[2]}, nil
	}
	return Color{}, InvalidField(field, "must be six hexadecimal digits, as #1a2b3c")
}

// String returns the colour in the notation of CSS, such as #1a2b3c.
func (c Color) String() string { return fmt.Sprintf("#%02x%02x%02x", c.Red, c.Green, c.Blue) }

// CheckSeen returns an Invalid error for the field when the colour has too little contrast with
// Ground. The message contains the contrast ratio and the required ratio.
func (c Color) CheckSeen(field string, needed float64) error {
	has := c.Contrast(Ground)
	if has >= needed {
		return nil
	}
	// Rounding up could show a refused ratio as sufficient.
	return InvalidField(field, "%s has a contrast of %.2f:1 with the background of the pages, %s, and needs %.1f:1 to be visible (WCAG 2.2): choose a darker colour",
		c, math.Floor(has*100)/100, Ground, needed)
}

// Contrast returns the contrast ratio of two colours as WCAG 2.2 defines it, from 1 (the same) to
// 21 (black and white).
func (c Color) Contrast(other Color) float64 {
	a, b := c.luminance(), other.luminance()
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// luminance returns the relative luminance as WCAG 2.2 defines it.
func (c Color) luminance() float64 {
	return 0.2126*linear(c.Red) + 0.7152*linear(c.Green) + 0.0722*linear(c.Blue)
}

func linear(part uint8) float64 {
	share := float64(part) / 255
	if share <= 0.04045 {
		return share / 12.92
	}
	return math.Pow((share+0.055)/1.055, 2.4)
}

// Mix returns a mixture of two colours. hundredths is the share of the second colour.
func (c Color) Mix(other Color, hundredths int) Color {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*(100-hundredths) + int(b)*hundredths) / 100) }
	return Color{mix(c.Red, other.Red), mix(c.Green, other.Green), mix(c.Blue, other.Blue)}
}
