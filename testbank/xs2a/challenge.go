package xs2a

import (
	"bytes"
	"crypto/sha256"
	"image"
	"image/color"
	"image/png"

	"passerelle/testbank/bank"
)

// challenge is the data that the customer needs to generate a code.
type challenge struct {
	Image       []byte   `json:"image,omitempty"`
	Data        []string `json:"data,omitempty"`
	MaxLength   int      `json:"otpMaxLength"`
	Format      string   `json:"otpFormat"`
	Information string   `json:"additionalInformation"`
}

// challengeOf makes the challenge of the chosen method.
func challengeOf(auth *bank.Authorisation) *challenge {
	c := &challenge{MaxLength: len(bank.Code), Format: "integer"}
	switch auth.Method {
	case "photo":
		c.Image, c.Information = picture(auth.ID), "Take a picture of the pattern with the photo code app, and type in what it shows: "+bank.Code+"."
	case "chip":
		c.Data, c.Information = []string{"1234 5678"}, "Type the number into the card reader, and its answer in here: "+bank.Code+"."
	default:
		c.Information = "A text message has the code: " + bank.Code + "."
	}
	return c
}

const (
	squares    = 16
	squareSize = 12
)

// picture draws a pattern as PNG. Each authorisation has a different pattern.
func picture(of string) []byte {
	bits := sha256.Sum256([]byte(of))
	img := image.NewPaletted(image.Rect(0, 0, squares*squareSize, squares*squareSize), color.Palette{color.White, color.Black})
	for y := range squares * squareSize {
		for x := range squares * squareSize {
			square := y/squareSize*squares + x/squareSize
			img.SetColorIndex(x, y, bits[square/8]>>(square%8)&1)
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		panic(err) // writing to a buffer cannot fail
	}
	return out.Bytes()
}
