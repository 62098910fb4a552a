// Package picture has the small pictures that the service shows: generated logos of connectors,
// logos that the operator provides in a folder, and thumbnails of documents.
//
// The package owns only the appearance of these pictures. A thumbnail shows a sheet with the kind
// of the file. It never shows the content, so the package reads no document. Equal input gives
// equal pictures. Drawing does not fail: it omits a letter that the font does not have. Logos.Load
// fails with an error that names the files that are not pictures.
package picture

import (
	"bytes"
	"hash/fnv"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// MediaType is the media type of all pictures.
const MediaType = "image/png"

// dark lists the colours for tiles without a colour of their own. White text is readable on each of
// them.
var dark = []color.RGBA{
	{0x1f, 0x4e, 0x79, 0xff},
	{0x2e, 0x6b, 0x4f, 0xff},
	{0x7a, 0x3b, 0x69, 0xff},
	{0x8a, 0x4b, 0x1f, 0xff},
	{0x3f, 0x51, 0x8f, 0xff},
	{0x6b, 0x2e, 0x2e, 0xff},
	{0x2f, 0x66, 0x73, 0xff},
	{0x55, 0x4a, 0x8c, 0xff},
}

var (
	white = color.RGBA{0xff, 0xff, 0xff, 0xff}
	ink   = color.RGBA{0x22, 0x22, 0x22, 0xff}
)

// Logo returns a square tile with the initials of a name. The side is the width and height in
// pixels, and the tint is the colour in hexadecimal. Without a valid tint, the name determines the
// colour.
func Logo(name, tint string, side int) []byte {
	ground, own := hexadecimal(tint)
	if !own {
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(name)) // a write to a hash does not fail
		ground = dark[sum.Sum32()%uint32(len(dark))]
	}
	tile := image.NewRGBA(image.Rect(0, 0, side, side))
	fill(tile, tile.Bounds(), ground)
	write(tile, tile.Bounds(), initials(name), side*9/20, readableOn(ground))
	return encoded(tile)
}

// hexadecimal parses a colour of six hexadecimal digits.
func hexadecimal(text string) (color.RGBA, bool) {
	value, err := strconv.ParseUint(text, 16, 24)
	if err != nil || len(text) != 6 {
		return color.RGBA{}, false
	}
	return color.RGBA{uint8(value >> 16), uint8(value >> 8), uint8(value), 0xff}, true //nolint:gosec // each conversion keeps one byte
}

// readableOn returns white for a dark colour, and a dark colour for a light colour.
func readableOn(ground color.RGBA) color.RGBA {
	if light := 299*int(ground.R) + 587*int(ground.G) + 114*int(ground.B); light > 150_000 {
		return ink
	}
	return white
}

// initials returns the first letters of the first two words that begin with a capital letter or a
// digit. Without such words, it returns the first letter of the first word.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	letters := ""
	for _, word := range words {
		if first, _ := utf8.DecodeRuneInString(word); utf8.RuneCountInString(letters) < 2 && (unicode.IsUpper(first) || unicode.IsDigit(first)) {
			letters += string(first)
		}
	}
	if letters == "" && len(words) > 0 {
		first, _ := utf8.DecodeRuneInString(words[0])
		letters = string(unicode.ToUpper(first))
	}
	return letters
}

// These are the sizes of a document's thumbnail, in pixels.
const (
	sheetWidth  = 120
	sheetHeight = 160
	fold        = 32
	edge        = 2
)

// kinds maps media types to the text on a sheet and the colour of the band behind the text.
var kinds = map[string]struct {
	word string
	band color.RGBA
}{
	"application/pdf":                         {"PDF", color.RGBA{0xa8, 0x2a, 0x2a, 0xff}},
	"application/vnd.oasis.opendocument.text": {"ODT", color.RGBA{0x1f, 0x4e, 0x79, 0xff}},
	"image/gif":                               {"GIF", color.RGBA{0x2e, 0x6b, 0x4f, 0xff}},
	"image/jpeg":                              {"JPG", color.RGBA{0x2e, 0x6b, 0x4f, 0xff}},
	"image/png":                               {"PNG", color.RGBA{0x2e, 0x6b, 0x4f, 0xff}},
	"image/webp":                              {"WEBP", color.RGBA{0x2e, 0x6b, 0x4f, 0xff}},
	"text/plain":                              {"TXT", color.RGBA{0x55, 0x55, 0x55, 0xff}},
}

// Sheet returns a picture of a sheet of paper with a folded corner. The text on the sheet is the
// kind of file that the media type means.
func Sheet(mediaType string) []byte {
	var (
		sheet  = image.NewRGBA(image.Rect(0, 0, sheetWidth, sheetHeight))
		border = color.RGBA{0x8c, 0x8c, 0x8c, 0xff}
		paper  = sheet.Bounds().Inset(edge)
	)
	fill(sheet, sheet.Bounds(), border)
	fill(sheet, paper, white)
	for _, at := range []int{40, 54, 68} {
		fill(sheet, image.Rect(18, at, sheetWidth-18, at+5), color.RGBA{0xd8, 0xd8, 0xd8, 0xff})
	}
	for y := range fold {
		left := sheetWidth - fold + y
		fill(sheet, image.Rect(left, y, sheetWidth, y+1), color.RGBA{}) // the folded corner
		fill(sheet, image.Rect(left-edge, y, left, y+1), border)
	}
	kind, known := kinds[mediaType]
	if !known {
		kind.word, kind.band = "FILE", color.RGBA{0x55, 0x55, 0x55, 0xff}
	}
	band := image.Rect(edge, 96, sheetWidth-edge, 138)
	fill(sheet, band, kind.band)
	write(sheet, band, kind.word, 30, white)
	return encoded(sheet)
}

func fill(on draw.Image, area image.Rectangle, c color.RGBA) {
	draw.Draw(on, area, image.NewUniform(c), image.Point{}, draw.Src)
}

// letters is the font of all pictures.
var letters = sync.OnceValue(func() *sfnt.Font {
	parsed, err := opentype.Parse(gobold.TTF)
	if err != nil {
		panic("picture: the font of the program cannot be read: " + err.Error())
	}
	return parsed
})

// write draws a text into the middle of an area. The size is the height of the letters in pixels.
func write(on draw.Image, area image.Rectangle, text string, size int, c color.RGBA) {
	face, err := opentype.NewFace(letters(), &opentype.FaceOptions{Size: float64(size), DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic("picture: the font of the program has no such size: " + err.Error())
	}
	defer face.Close()
	text = strings.Map(func(r rune) rune {
		if at, err := letters().GlyphIndex(nil, r); err != nil || at == 0 {
			return -1
		}
		return r
	}, text)
	bounds, width := font.BoundString(face, text)
	middle := fixed.P(area.Min.X+area.Max.X, area.Min.Y+area.Max.Y)
	pen := font.Drawer{Dst: on, Src: image.NewUniform(c), Face: face}
	pen.Dot = fixed.Point26_6{X: (middle.X - width) / 2, Y: (middle.Y - bounds.Min.Y - bounds.Max.Y) / 2}
	pen.DrawString(text)
}

func encoded(picture image.Image) []byte {
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		panic("picture: a picture of this size cannot be written: " + err.Error())
	}
	return out.Bytes()
}
