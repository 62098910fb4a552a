package console_test

import (
	"bytes"
	"context"
	"fmt"
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

	"passerelle/connector/sandbox"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
	"passerelle/internal/store/storetest"
)

// pictured lists the main pages. A path is relative to the domain unless it begins with the
// console's root.
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
	{"receiver", "/simulation/receiver", "[data-live] .json"},
	{"account", "/console/account", "#present"},
}

// payerPages lists the payer's pages that the README shows on a phone.
var payerPages = []struct {
	name, follow, seen string
}{
	{"payer-banks", "", "#found"},
	{"payer-check", `#found a[href*="` + sandbox.TestConnector + `"]`, "main form button"},
	{"payer-approve", "main form button", ".buttons"},
}

const pictureFolder = "../../docs/pictures"

// sittings lists the pictures of each page: in a wide window in both colour schemes, and on a
// phone.
var sittings = []struct {
	name          string
	width, height int64
	scheme        string
}{{"light", 1280, 800, "light"}, {"dark", 1280, 800, "dark"}, {"phone", 390, 780, "light"}}

// TestPictures takes the pictures for the documentation when PASSERELLE_DOC_PICTURES is set. It
// checks that the documentation shows these pictures, that docs/pictures has no other files, and
// that the pictures are small.
func TestPictures(t *testing.T) {
	if os.Getenv("PASSERELLE_DOC_PICTURES") != "" {
		takePayerPictures(t)
		for _, sitting := range sittings {
			takePictures(t, sitting.name, sitting.width, sitting.height, sitting.scheme)
		}
	}
	var want, got []string
	total := int64(0)
	for _, page := range pictured {
		for _, sitting := range sittings {
			want = append(want, page.name+"-"+sitting.name+".png")
		}
	}
	mustShow(t, "docs/console.md", "pictures/", want)
	for _, page := range payerPages {
		want = append(want, page.name+".png")
	}
	mustShow(t, "README.md", "docs/pictures/", want[len(pictured)*len(sittings):])
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
		takePicture(p.ctx, t, page.name+"-"+name)
	}
}

func takePayerPictures(t *testing.T) {
	s := servicetest.Start(t, storetest.SQLite(t), servicetest.Options{})
	token := s.Token("payments:admin")
	id := s.Create(token, servicetest.Draft())
	var code struct{ Token string }
	s.JSON(s.OK(s.Call("POST", fmt.Sprintf("/payments/%d/scopedtoken", id), token, map[string]any{"scope": "payments:validate"})), &code)
	browser := servicetest.Browser(t, 390, 780)
	must(t, chromedp.Do(browser, servicetest.Navigate(s.Origin+"/webview/en/payment?code="+code.Token)))
	for _, page := range payerPages {
		if page.follow != "" {
			must(t, chromedp.Do(browser, servicetest.Follow(page.follow)))
		}
		must(t, chromedp.Do(browser, servicetest.Shown(page.seen)))
		takePicture(browser, t, page.name)
	}
}

func takePicture(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	must(t, err)
	must(t, os.MkdirAll(pictureFolder, 0o755))
	must(t, os.WriteFile(filepath.Join(pictureFolder, name+".png"), fewColours(t, shot), 0o644))
}

func mustShow(t *testing.T, page, folder string, names []string) {
	t.Helper()
	text, err := os.ReadFile("../../" + page)
	must(t, err)
	for _, name := range names {
		if !strings.Contains(string(text), "]("+folder+name+")") {
			t.Errorf("%s does not show %s", page, name)
		}
	}
}

func populate(t *testing.T, s *servicetest.Instance) {
	s.Subscribe("PAYMENT_STATE_UPDATED", "shop")
	clients, err := s.DB.Clients(t.Context(), s.Domain.ID)
	must(t, err)
	domain := s.Domain
	for _, scenario := range []string{"plain", "label-rejected", "refused-at-bank", "abandoned-by-client", "amount-7121", "amount-7124", "british", "beneficiary-227", "accept-only"} {
		_, err := s.Simulation.Play(t.Context(), domain, scenario, clients[0])
		must(t, err)
		domain, err = s.DB.Domain(t.Context(), domain.ID) // the clock of the domain may have changed
		must(t, err)
	}
	for _, login := range []string{"", "one", "otp"} {
		_, err := s.Simulation.Connect(t.Context(), domain, login)
		must(t, err)
	}
	newFixture(t, s).shop()
	s.Received("shop")
}

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
