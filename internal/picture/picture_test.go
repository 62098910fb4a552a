package picture_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"passerelle/internal/picture"
)

func decoded(t *testing.T, raw []byte) image.Image {
	t.Helper()
	shown, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

func colours(shown image.Image) map[color.RGBA]int {
	all := map[color.RGBA]int{}
	for y := range shown.Bounds().Dy() {
		for x := range shown.Bounds().Dx() {
			r, g, b, a := shown.At(x, y).RGBA()
			all[color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}]++ //nolint:gosec // each is a byte
		}
	}
	return all
}

func TestLogo(t *testing.T) {
	white, ink := color.RGBA{0xff, 0xff, 0xff, 0xff}, color.RGBA{0x22, 0x22, 0x22, 0xff}
	for name, test := range map[string]struct {
		of, tint string
		side     int
		ground   color.RGBA
		letters  color.RGBA
	}{
		"dark":                  {"Connecteur de Test", "1f4e79", 256, color.RGBA{0x1f, 0x4e, 0x79, 0xff}, white},
		"light":                 {"Banque d'Île-de-France", "FFCC00", 64, color.RGBA{0xff, 0xcc, 0x00, 0xff}, ink},
		"a small one":           {"7 Seas", "000000", 8, color.RGBA{0, 0, 0, 0xff}, color.RGBA{}},
		"no letter of the font": {"銀行", "1f4e79", 64, color.RGBA{0x1f, 0x4e, 0x79, 0xff}, color.RGBA{}},
		"no name":               {"", "1f4e79", 64, color.RGBA{0x1f, 0x4e, 0x79, 0xff}, color.RGBA{}},
	} {
		t.Run(name, func(t *testing.T) {
			raw := picture.Logo(test.of, test.tint, test.side)
			if !bytes.Equal(raw, picture.Logo(test.of, test.tint, test.side)) {
				t.Error("another one for the same name")
			}
			keep(t, "logo "+name, raw)
			shown := decoded(t, raw)
			if size := shown.Bounds().Size(); size != image.Pt(test.side, test.side) {
				t.Errorf("it has %v pixels", size)
			}
			all := colours(shown)
			if n := all[test.ground]; n*2 < test.side*test.side {
				t.Errorf("%d pixels are of the ground", n)
			}
			if test.letters != (color.RGBA{}) && all[test.letters]*50 < test.side*test.side {
				t.Errorf("%d pixels are of letters", all[test.letters])
			}
		})
	}
}

// TestLogoWithoutColour checks that without a valid tint, only the name determines the colour of a
// logo.
func TestLogoWithoutColour(t *testing.T) {
	grounds := map[color.Color]bool{}
	for _, name := range []string{"Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta"} {
		ground := decoded(t, picture.Logo(name, "", 32)).At(0, 0)
		grounds[ground] = true
		for _, tint := range []string{"#123456", "12345", "1234567", "zzzzzz", "-12345"} {
			if got := decoded(t, picture.Logo(name, tint, 32)).At(0, 0); got != ground {
				t.Errorf("%s in %q has the ground %v, without %v", name, tint, got, ground)
			}
		}
	}
	if len(grounds) < 3 {
		t.Errorf("eight names have %d colours", len(grounds))
	}
}

// TestSheet checks that known kinds of files have different sheets, and that unknown kinds share a
// sheet.
func TestSheet(t *testing.T) {
	seen := map[string]string{}
	for _, media := range []string{"application/pdf", "image/png", "image/jpeg", "text/plain", "application/octet-stream"} {
		raw := picture.Sheet(media)
		keep(t, "sheet "+filepath.Base(media), raw)
		if size := decoded(t, raw).Bounds().Size(); size != image.Pt(120, 160) {
			t.Errorf("%s has %v pixels", media, size)
		}
		if other, twice := seen[string(raw)]; twice {
			t.Errorf("%s looks like %s", media, other)
		}
		seen[string(raw)] = media
	}
	if !bytes.Equal(picture.Sheet("application/x-thing"), picture.Sheet("")) {
		t.Error("two kinds that nobody knows look different")
	}
	if _, _, _, alpha := decoded(t, picture.Sheet("")).At(119, 0).RGBA(); alpha != 0 {
		t.Error("nothing is folded away")
	}
}

// keep saves a picture in a file, so that people can check it.
func keep(t *testing.T, name string, raw []byte) {
	t.Helper()
	if folder := os.Getenv("PASSERELLE_TEST_PICTURES"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, name+".png"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
