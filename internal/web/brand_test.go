package web_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"passerelle"
	"passerelle/internal/web"
)

var declared = regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`)

// colours returns the colours that a style sheet declares, by name and scheme ("day" or "night").
func colours(t interface{ Fatal(...any) }, sheet string) map[string]passerelle.Color {
	all := map[string]passerelle.Color{}
	for _, found := range declared.FindAllStringSubmatch(sheet, -1) {
		for i, when := range []string{"day", "night"} {
			colour, err := passerelle.ParseColor(found[1], found[i+2])
			if err != nil {
				t.Fatal(err)
			}
			all[found[1]+" by "+when] = colour
		}
	}
	return all
}

func fetch(address string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	web.Assets().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address, nil))
	return answer
}

// Text on the colours of an application, and text in these colours, has enough contrast in both
// schemes.
func TestBrandsCanBeReadByEverybody(t *testing.T) {
	raw, err := os.ReadFile("static/passerelle.css")
	if err != nil {
		t.Fatal(err)
	}
	base := colours(t, string(raw))
	if base["ground by day"] != passerelle.Ground {
		t.Fatalf("colours are held against %s, and the ground of pages is %s", passerelle.Ground, base["ground by day"])
	}
	part := rapid.Uint8()
	rapid.Check(t, func(t *rapid.T) {
		primary := passerelle.Color{Red: part.Draw(t, "red"), Green: part.Draw(t, "green"), Blue: part.Draw(t, "blue")}
		brand := web.Brand{Primary: primary.String(), Secondary: primary.String()}
		if primary.CheckSeen("", passerelle.TextContrast) != nil {
			brand.Primary = ""
		}
		if primary.CheckSeen("", passerelle.GraphicContrast) != nil {
			if address := brand.Sheet(); address != "" {
				t.Fatalf("%s is not seen, and has the sheet %s", primary, address)
			}
			return
		}
		answer := fetch(brand.Sheet())
		if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != "text/css; charset=utf-8" {
			t.Fatalf("%s answers %d, %v", brand.Sheet(), answer.Code, answer.Header())
		}
		all := colours(t, string(raw)+answer.Body.String())
		for _, when := range []string{" by day", " by night"} {
			for _, pair := range []struct {
				what, on string
				needed   float64
			}{
				{"brand", "card", passerelle.TextContrast},
				{"brand", "ground", passerelle.TextContrast},
				{"on-brand", "brand", passerelle.TextContrast},
				{"brand-strong", "tint", passerelle.TextContrast},
				{"on-brand", "brand-strong", passerelle.TextContrast},
				{"text", "tint", passerelle.TextContrast},
				{"faint", "tint", passerelle.TextContrast},
				{"accent", "card", passerelle.GraphicContrast},
				{"accent", "ground", passerelle.GraphicContrast},
			} {
				if got := all[pair.what+when].Contrast(all[pair.on+when]); got < pair.needed {
					t.Errorf("%s: %s on %s%s has a contrast of %.3f", primary, pair.what, pair.on, when, got)
				}
			}
		}
	})
}

func TestSheetsOfBrands(t *testing.T) {
	if address := (web.Brand{Name: "Shop", Primary: "red;}", Secondary: "#ffffff"}).Sheet(); address != "" {
		t.Errorf("without a colour that is seen there is the sheet %s", address)
	}
	brand := web.Brand{Primary: "155E63"}
	address := brand.Sheet()
	answer := fetch(address)
	if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), "--brand: light-dark(#155e63") || strings.Contains(answer.Body.String(), "--accent") {
		t.Errorf("%s answers %d: %s", address, answer.Code, answer.Body)
	}
	if !strings.Contains(answer.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("the sheet is fetched again and again: %v", answer.Header())
	}
	for _, other := range []string{
		strings.Replace(address, "155e63", "155e64", 1), strings.Replace(address, "155e63", "ff8800", 1), web.AssetPath + "brand-155e63-.css", web.AssetPath + "brand-",
	} {
		if answer := fetch(other); answer.Code != http.StatusNotFound {
			t.Errorf("%s answers %d", other, answer.Code)
		}
	}
}
