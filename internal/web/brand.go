package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"passerelle"
)

// Brand has the colours and the logo that the pages for an application's users show. Without
// colours, the pages have the product's own colours.
type Brand struct {
	Name string
	// Primary is the colour of buttons and links. Secondary is the colour of selected and focused
	// elements. An empty text means no colour.
	Primary, Secondary string
	// Logo is the address of the application's logo on the service's host. It is empty when there
	// is no logo.
	Logo string
}

// These are colours of the common style sheet. The package adapts brands to them.
var (
	white     = passerelle.Color{Red: 255, Green: 255, Blue: 255}
	black     = passerelle.Color{}
	nightCard = passerelle.Color{Red: 0x18, Green: 0x21, Blue: 0x1f}
)

// brandName is the beginning of the addresses of brands' style sheets. Each address contains the
// colours, so the service can respond without a lookup.
const brandName = AssetPath + "brand-"

// Sheet returns the address of a style sheet with the colours of the brand. It returns an empty
// text when the brand has no colours. Sheet ignores a colour with too little contrast.
func (b Brand) Sheet() string {
	primary, secondary := seen(b.Primary, passerelle.TextContrast), seen(b.Secondary, passerelle.GraphicContrast)
	if primary == nil && secondary == nil {
		return ""
	}
	return sheetOf(primary, secondary).address
}

func seen(text string, needed float64) *passerelle.Color {
	color, err := passerelle.ParseColor("", text)
	if err != nil || color.CheckSeen("", needed) != nil {
		return nil
	}
	return &color
}

// sheetOf returns the style sheet for two colours. Either colour may be nil.
func sheetOf(primary, secondary *passerelle.Color) asset {
	name, rules := brandName, ""
	if primary != nil {
		name += hexOf(*primary)
		rules += primaryRules(*primary)
	}
	name += "-"
	if secondary != nil {
		name += hexOf(*secondary)
		rules += rule("accent", *secondary, visible(*secondary, passerelle.GraphicContrast))
	}
	content := []byte(":root {\n" + rules + "}\n")
	sum := sha256.Sum256(content)
	return asset{
		name: "brand.css", address: name + "." + hex.EncodeToString(sum[:6]) + ".css", kind: assetKinds[".css"], content: content,
	}
}

func hexOf(c passerelle.Color) string { return strings.TrimPrefix(c.String(), "#") }

func rule(name string, day, night passerelle.Color) string {
	return fmt.Sprintf("  --%s: light-dark(%s, %s);\n", name, day, night)
}

// primaryRules returns the colours that follow from the primary colour. The light scheme uses the
// colour itself, which has enough contrast with white. The dark scheme uses a lighter colour with
// black text.
func primaryRules(day passerelle.Color) string {
	night := visible(day, passerelle.TextContrast)
	return rule("brand", day, night) + rule("brand-strong", day.Mix(black, 25), night.Mix(white, 35)) +
		rule("on-brand", white, black) + rule("tint", white.Mix(day, 8), nightCard.Mix(night, 15))
}

// visible lightens a colour until it has enough contrast in the dark scheme.
func visible(c passerelle.Color, needed float64) passerelle.Color {
	for hundredths := 0; ; hundredths += 2 {
		if lighter := c.Mix(white, hundredths); hundredths == 100 || lighter.Contrast(nightCard) >= needed {
			return lighter
		}
	}
}

// serveBrand serves the style sheet of a brand. It reports whether the address belongs to a brand.
func serveBrand(w http.ResponseWriter, r *http.Request) bool {
	colours, ours := strings.CutPrefix(r.URL.Path, brandName)
	colours, _, _ = strings.Cut(colours, ".")
	first, second, two := strings.Cut(colours, "-")
	if !ours || !two {
		return false
	}
	sheet := sheetOf(seen(first, passerelle.TextContrast), seen(second, passerelle.GraphicContrast))
	if sheet.address != r.URL.Path {
		return false
	}
	sheet.serve(w, r)
	return true
}
