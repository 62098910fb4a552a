package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"passerelle"
)

// Brand is how an application presents itself on the pages that its people see.
// Without colours they have the product's own.
type Brand struct {
	Name string
	// Primary is the colour of buttons and links, Secondary the colour of what is selected or
	// has the focus. Empty is none.
	Primary, Secondary string
	// Logo is the address of its picture on our own host, empty for none.
	Logo string
}

// The colours of the common style sheet that brands are fitted to.
var (
	white     = passerelle.Color{Red: 255, Green: 255, Blue: 255}
	black     = passerelle.Color{}
	nightCard = passerelle.Color{Red: 0x18, Green: 0x21, Blue: 0x1f}
)

// brandName is how the addresses of the style sheets of brands begin. The address contains the
// colours, so that nothing has to be looked up to serve it.
const brandName = AssetPath + "brand-"

// Sheet is the address of a style sheet with the colours of the brand, empty when it has none. It
// ignores a colour that not everybody would see.
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

// sheetOf returns the style sheet of two colours, either of which may be missing.
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

// primaryRules are the colours that follow from the primary one. In the light scheme the colour
// is dark enough to be read on white and to have white text on it. In the dark scheme it is made
// light enough, and has black text on it.
func primaryRules(day passerelle.Color) string {
	night := visible(day, passerelle.TextContrast)
	return rule("brand", day, night) + rule("brand-strong", day.Mix(black, 25), night.Mix(white, 35)) +
		rule("on-brand", white, black) + rule("tint", white.Mix(day, 8), nightCard.Mix(night, 15))
}

// visible is a colour made so light that it is seen by night.
func visible(c passerelle.Color, needed float64) passerelle.Color {
	for hundredths := 0; ; hundredths += 2 {
		if lighter := c.Mix(white, hundredths); hundredths == 100 || lighter.Contrast(nightCard) >= needed {
			return lighter
		}
	}
}

// serveBrand serves the style sheet of a brand, and reports whether the address is one.
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
