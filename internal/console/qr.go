package console

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// drawing is a picture that consists of squares. Size is the number of squares on each side. Path
// is the SVG path of the black squares.
type drawing struct {
	Size int
	Path string
}

// quietZone is the width of the white border around a code, in squares.
const quietZone = 4

// drawQR returns the QR code of a text.
func drawQR(text string) (drawing, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return drawing{}, fmt.Errorf("draw a QR code: %w", err)
	}
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			begin := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > begin {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", begin+quietZone, y+quietZone, x-begin, x-begin)
			}
		}
	}
	return drawing{code.Size + 2*quietZone, path.String()}, nil
}
