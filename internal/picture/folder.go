package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // operators may have JPEG logos
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/image/draw"
)

// maxLogoFile is the largest size of a logo file, in bytes. maxLogoSide is the largest width and
// height of its picture, in pixels. pageLogoSide is the side of a logo on pages, in pixels.
const (
	maxLogoFile  = 1 << 20
	maxLogoSide  = 2048
	pageLogoSide = 128
)

// logoSides lists the stored sizes of a logo in pixels. The package encodes each size once and
// keeps the PNG, because many requests need the same logo.
var logoSides = []int{64, pageLogoSide, 256}

// Logos has the institutions' logos that the operator provides. The zero value and nil contain no
// logos. Logos is safe for concurrent use.
type Logos struct {
	set atomic.Pointer[map[string]ownLogo]
}

// ownLogo is one logo. It has the PNG for each size. Its version changes with the logo.
type ownLogo struct {
	version string
	content map[int][]byte
}

// Load reads the logos in a folder: UUID.png, UUID.jpg or UUID.jpeg, with at most 1 MiB, and at
// most 2048 pixels in each direction. They replace all earlier logos. Load ignores files with other
// extensions. It omits files that it cannot read as such a picture, and its error names these
// files.
func (l *Logos) Load(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("read the logos of a folder: %w", err)
	}
	all, faults := map[string]ownLogo{}, []error{}
	for _, file := range files {
		ending := filepath.Ext(file.Name())
		if file.IsDir() || !slices.Contains([]string{".png", ".jpg", ".jpeg"}, ending) {
			continue
		}
		logo, err := readLogo(filepath.Join(folder, file.Name()))
		if err != nil {
			faults = append(faults, fmt.Errorf("logo %s: %w", file.Name(), err))
			continue
		}
		all[strings.ToLower(strings.TrimSuffix(file.Name(), ending))] = logo
	}
	l.set.Store(&all)
	return errors.Join(faults...)
}

// Find returns the logo of an institution as PNG, and a version that changes with the logo. Both
// are empty when there is no logo.
func (l *Logos) Find(uuid string) ([]byte, string) {
	logo := l.find(uuid)
	return logo.content[pageLogoSide], logo.version
}

// Sized returns the logo of an institution as PNG. The side, which is the width and height in
// pixels, must be 64, 128 or 256. Sized returns nil when there is no logo.
func (l *Logos) Sized(uuid string, side int) []byte { return l.find(uuid).content[side] }

func (l *Logos) find(uuid string) ownLogo {
	if l == nil || l.set.Load() == nil {
		return ownLogo{}
	}
	return (*l.set.Load())[uuid]
}

func readLogo(path string) (ownLogo, error) {
	about, err := os.Stat(path)
	if err != nil {
		return ownLogo{}, fmt.Errorf("open it: %w", err)
	}
	if about.Size() > maxLogoFile {
		return ownLogo{}, fmt.Errorf("has more than %d bytes", maxLogoFile)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return ownLogo{}, fmt.Errorf("open it: %w", err)
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil || size.Width > maxLogoSide || size.Height > maxLogoSide {
		return ownLogo{}, fmt.Errorf("must be a picture in PNG or JPEG with at most %d pixels in each direction", maxLogoSide)
	}
	picture, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return ownLogo{}, fmt.Errorf("must be a whole picture: %w", err)
	}
	content := map[int][]byte{}
	for _, side := range logoSides {
		content[side] = encoded(fitted(picture, side))
	}
	sum := sha256.Sum256(content[pageLogoSide])
	return ownLogo{hex.EncodeToString(sum[:6]), content}, nil
}

// fitted returns a square with the picture in its middle. The rest of the square is transparent.
func fitted(picture image.Image, side int) *image.RGBA {
	square, from := image.NewRGBA(image.Rect(0, 0, side, side)), picture.Bounds()
	longest := max(from.Dx(), from.Dy())
	width, height := max(1, from.Dx()*side/longest), max(1, from.Dy()*side/longest)
	left, top := (side-width)/2, (side-height)/2
	draw.CatmullRom.Scale(square, image.Rect(left, top, left+width, top+height), picture, from, draw.Src, nil)
	return square
}
