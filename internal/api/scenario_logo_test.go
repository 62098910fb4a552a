package api_test

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

// testLogo is the file of the large logo of the test connector.
const testLogo = "2000000401"

func TestLogoScenarios(t *testing.T) {
	get := func(path string) ask { return ask{method: "GET", path: path} }
	play(t, "logos", []scenario{
		{name: "all", status: 200, ask: get("/connectors/" + testConnector + "/logos")},
		{name: "large", status: 200, ask: get("/banks/40/logos/main")},
		{name: "small", status: 200, ask: get("/providers/" + provider + "/logos/thumbnail")},
		{name: "none", status: 404, ask: get("/connectors/9999/logos")},
		{name: "in a live domain", status: 404, ask: ask{domain: "live", method: "GET", path: "/connectors/40/logos"}},
		{name: "no size", status: 404, ask: get("/connectors/40/logos/huge")},
		{name: "no file", status: 404, ask: get("/files/1")},
		{name: "a file of no size", status: 404, ask: get("/files/2000000409")},
		{name: "a file of no connector", status: 404, ask: get("/files/2000099991")},
		{name: "a file in a live domain", status: 404, ask: ask{domain: "live", method: "GET", path: "/files/" + testLogo}},
	})
}

// A logo has the size of its type, and clients may cache it.
func TestLogoFiles(t *testing.T) {
	onEachFixture(t, func(t *testing.T, s *fixture) {
		var list struct {
			Logos []struct{ Type, URL string } `json:"connectorlogos"`
		}
		s.do(t, ask{method: "GET", path: "/connectors/" + testConnector + "/logos"}).decode(t, &list)
		sides := map[string]int{"main": 256, "thumbnail": 64}
		if len(list.Logos) != len(sides) {
			t.Fatalf("%+v", list)
		}
		for _, logo := range list.Logos {
			_, path, _ := strings.Cut(logo.URL, version)
			whole := s.do(t, ask{method: "GET", path: path})
			shown, err := png.Decode(bytes.NewReader(whole.body))
			must(t, err)
			if size := shown.Bounds().Size(); size.X != sides[logo.Type] || size.Y != sides[logo.Type] || whole.header.Get("Content-Type") != "image/png" {
				t.Errorf("%s: %v %v", logo.Type, size, whole.header)
			}
			if kept := whole.header.Get("Cache-Control"); kept != "public, max-age=86400" {
				t.Errorf("%s: Cache-Control %q", logo.Type, kept)
			}
			again := s.do(t, ask{method: "GET", path: path, header: map[string]string{"If-None-Match": whole.header.Get("ETag")}})
			if again.status != 304 || len(again.body) != 0 {
				t.Errorf("%s, again: %d, %d bytes", logo.Type, again.status, len(again.body))
			}
		}
	})
}
