package console_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// pictured lists the main pages: their paths, relative to the domain unless they begin with the
// console's root, and an element that must be shown.
var pictured = []struct {
	name, path, seen string
}{
	{"home", "", ".figures"},
	{"search", "/search?q=0033", "main table"},
	{"payments", "/payments", "[data-live] table"},
	{"payment", "/payments/1", ".timeline"},
	{"webhooks", "/webhooks", "main table"},
	{"webhook", "/webhooks/1", "main table"},
	{"users", "/users", "main table"},
	{"connectors", "/connectors", "main table"},
	{"configuration", "/configuration", "main table"},
	{"simulation", "/simulation", "#advance"},
	{"scenarios", "/simulation/scenarios", `button[value="plain"]`},
	{"receiver", "/simulation/receiver", "[data-live] pre"},
	{"account", "/console/account", "#present"},
}

// pictureFolder is the folder with the pictures of the documentation.
const pictureFolder = "../../docs/pictures"

// The pictures of a page: in a wide window in both colour schemes, and on a phone.
var sittings = []struct {
	name          string
	width, height int64
	scheme        string
}{{"light", 1280, 800, "light"}, {"dark", 1280, 800, "dark"}, {"phone", 390, 780, "light"}}

// TestPictures takes the pictures of the documentation when PASSERELLE_DOC_PICTURES is set, and
// checks that the documentation pages show all of them and no others, and that they are small.
func TestPictures(t *testing.T) {
	if os.Getenv("PASSERELLE_DOC_PICTURES") != "" {
		for _, sitting := range sittings {
			takePictures(t, sitting.name, sitting.width, sitting.height, sitting.scheme)
		}
	}
	text, err := os.ReadFile("../../docs/console.md")
	must(t, err)
	var want, got []string
	total := int64(0)
	for _, page := range pictured {
		for _, sitting := range sittings {
			name := page.name + "-" + sitting.name + ".png"
			want = append(want, name)
			if !strings.Contains(string(text), "](pictures/"+name+")") {
				t.Errorf("docs/console.md does not show %s", name)
			}
		}
	}
	files, err := os.ReadDir(pictureFolder)
	must(t, err)
	for _, file := range files {
		info, err := file.Info()
		must(t, err)
		got, total = append(got, file.Name()), total+info.Size()
	}
	slices.Sort(want)
	if !slices.Equal(want, got) {
		t.Errorf("docs/pictures has %q, want %q: make pictures", got, want)
	}
	if total > 1_500_000 {
		t.Errorf("the pictures have %d bytes", total)
	}
}

func takePictures(t *testing.T, name string, width, height int64, scheme string) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	populate(t, s)
	p := arriveAt(t, s, operators.Administrator, width, height)
	for _, page := range pictured {
		path := page.path
		if !strings.HasPrefix(path, "/console/") {
			path = p.domainPath(path)
		}
		p.open(path)
		p.do(servicetest.Shown(page.seen))
		servicetest.Scheme(p.ctx, t, scheme)
		shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		must(t, err)
		must(t, os.MkdirAll(pictureFolder, 0o755))
		must(t, os.WriteFile(filepath.Join(pictureFolder, page.name+"-"+name+".png"), fewColours(t, shot), 0o644))
	}
}

// populate creates an example of everything that the pages show.
func populate(t *testing.T, s *servicetest.Instance) {
	s.Subscribe("PAYMENT_STATE_UPDATED", "shop")
	clients, err := s.DB.Clients(t.Context(), s.Domain.ID)
	must(t, err)
	domain := s.Domain
	for _, scenario := range []string{"plain", "label-rejected", "refused-at-bank", "abandoned-by-client", "amount-7121", "amount-7124", "british", "beneficiary-227", "accept-only"} {
		_, err := s.Simulation.Play(t.Context(), domain, scenario, clients[0])
		must(t, err)
		domain, err = s.DB.Domain(t.Context(), domain.ID) // its clock may have changed
		must(t, err)
	}
	for _, login := range []string{"", "one", "otp"} {
		_, err := s.Simulation.Connect(t.Context(), domain, login)
		must(t, err)
	}
	newFixture(t, s).shop()
	s.Received("shop")
}

// fewColours reduces a picture to its most frequent colours.
func fewColours(t *testing.T, shot []byte) []byte {
	t.Helper()
	whole, err := png.Decode(bytes.NewReader(shot))
	must(t, err)
	counts := map[color.RGBA]int{}
	bounds := whole.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(whole.At(x, y)).(color.RGBA)]++
		}
	}
	var all []color.RGBA
	for one := range counts {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	var palette color.Palette
	for _, one := range all[:min(len(all), 64)] {
		palette = append(palette, one)
	}
	few := image.NewPaletted(bounds, palette)
	draw.Draw(few, bounds, whole, bounds.Min, draw.Src)
	var out bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few))
	return out.Bytes()
}
