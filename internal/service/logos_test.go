package service_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passerelle/connector/sandbox"
	"passerelle/internal/servicetest"
)

// TestLogosOfTheOperator checks that the API serves the operator's own logo of a bank in both
// sizes. For other banks, and after the removal of the logo, it must serve a drawn logo.
func TestLogosOfTheOperator(t *testing.T) {
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	file := filepath.Join(folder, sandbox.TestConnector+".png")
	own := color.RGBA{0xff, 0x00, 0xff, 0xff}
	drawn := image.NewRGBA(image.Rect(0, 0, 300, 300))
	for i := range drawn.Pix {
		drawn.Pix[i] = []byte{own.R, own.G, own.B, own.A}[i%4]
	}
	var raw bytes.Buffer
	must(t, png.Encode(&raw, drawn))
	must(t, os.WriteFile(file, raw.Bytes(), 0o600))
	servicetest.Each(t, servicetest.Options{Banks: folder}, func(t *testing.T, s *servicetest.Instance) {
		logos := func(bank string) (all map[string]image.Image) {
			t.Helper()
			var list struct {
				Logos []struct{ Type, URL string } `json:"connectorlogos"`
			}
			s.JSON(s.OK(s.Call("GET", "/connectors/"+bank+"/logos", "", nil)), &list)
			all = map[string]image.Image{}
			for _, one := range list.Logos {
				shown, err := png.Decode(bytes.NewReader(s.OK(s.Call("GET", strings.TrimPrefix(one.URL, s.Base), "", nil)).Body))
				must(t, err)
				all[one.Type] = shown
			}
			return all
		}
		sides := map[string]int{"main": 256, "thumbnail": 64}
		expect := func(bank string, mine bool) {
			t.Helper()
			all := logos(bank)
			for name, side := range sides {
				if all[name] == nil || all[name].Bounds().Size() != image.Pt(side, side) {
					t.Errorf("%s of %s is %v", name, bank, all[name])
				} else if got := color.RGBAModel.Convert(all[name].At(side/2, 3)) == own; got != mine {
					t.Errorf("%s of %s is the operator's: %t", name, bank, got)
				}
			}
		}
		expect(sandbox.TestConnector, true)
		expect("50", false)
		must(t, os.Remove(file))
		s.ReloadBanks(t.Context())
		expect(sandbox.TestConnector, false)
		must(t, os.WriteFile(file, raw.Bytes(), 0o600))
		s.ReloadBanks(t.Context())
		expect(sandbox.TestConnector, true)
	})
}
