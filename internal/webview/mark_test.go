package webview_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"passerelle/connector"
	"passerelle/internal/picture"
	"passerelle/internal/store/storetest"
)

var marks = regexp.MustCompile(`<span class="mark ([^"]*)" aria-hidden="true">([^<]*)</span>`)

// Marks differ in shape, colour and letters. A page shows the same marks each time.
func TestMarksOfBanks(t *testing.T) {
	s := start(t, storetest.SQLite(t), crowd)
	page := s.open(t, s.create(t, nil).ID, nil)
	body := s.get(t, page+"&country=any").body
	classes, shapes, colors := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, found := range marks.FindAllStringSubmatch(body, -1) {
		shape, tint, _ := strings.Cut(found[1], " ")
		classes[found[1]], shapes[shape], colors[tint] = true, true, true
		if found[2] != "CR" {
			t.Errorf("a mark has the letters %q", found[2])
		}
	}
	if len(shapes) != 6 || len(colors) != 12 || len(classes) < 30 {
		t.Errorf("60 banks have %d shapes, %d colours, %d marks", len(shapes), len(colors), len(classes))
	}
	if again := s.get(t, page+"&country=any").body; again != body {
		t.Error("the page differs from one time to the next")
	}
	s.offer(t, s.simulated.Connectors()...)
	for _, letters := range []string{">BE</span>", ">Be</span>", ">SL</span>"} {
		if body := s.get(t, page).body; !strings.Contains(body, letters) {
			t.Errorf("there is no mark %s: %s", letters, body)
		}
	}
}

// If the operator has provided a logo for a bank, this logo replaces the bank's mark.
func TestLogosOfBanks(t *testing.T) {
	s := start(t, storetest.SQLite(t), func(p connector.Profile) []connector.Profile {
		all := several(2)(p)
		all[1].UUID = "00000000-0000-4000-8000-000000000001"
		return all
	})
	folder := t.TempDir()
	draw := func(name string, tint color.Color) {
		t.Helper()
		drawn := image.NewRGBA(image.Rect(0, 0, 300, 100))
		for x := range 300 {
			drawn.Set(x, 50, tint)
		}
		var raw bytes.Buffer
		must(t, png.Encode(&raw, drawn))
		must(t, os.WriteFile(filepath.Join(folder, name), raw.Bytes(), 0o600))
	}
	logo := regexp.MustCompile(`<img class="mark" src="([^"]*)" alt="" width="44" height="44"`)
	shown := func() string {
		t.Helper()
		must(t, s.logos.Load(folder))
		body := s.get(t, s.open(t, s.create(t, nil).ID, nil)).body
		if found := logo.FindAllStringSubmatch(body, -1); len(found) == 1 {
			return found[0][1]
		}
		t.Fatalf("there is no logo, or more than one: %s", body)
		return ""
	}
	draw("00000000-0000-4000-8000-000000000001.png", color.Black)
	first := shown()
	got := s.get(t, first)
	if got.status != http.StatusOK || got.header.Get("Content-Type") != picture.MediaType || !strings.Contains(got.header.Get("Cache-Control"), "immutable") {
		t.Errorf("the logo is answered with %d %v", got.status, got.header)
	}
	draw("00000000-0000-4000-8000-000000000001.png", color.White)
	if second := shown(); second == first || s.get(t, first).status != http.StatusNotFound {
		t.Errorf("another logo has the same address, or the old one is still there: %s", second)
	}
	must(t, os.WriteFile(filepath.Join(folder, "no-picture.jpg"), []byte("<svg onload=alert(1)>"), 0o600))
	if err := s.logos.Load(folder); err == nil || !strings.Contains(err.Error(), "no-picture.jpg: must be a picture in PNG or JPEG") {
		t.Errorf("a file that is no picture: %v", err)
	}
	if err := s.logos.Load(filepath.Join(folder, "absent")); err == nil {
		t.Error("a folder that is not there is read")
	}
	if s.get(t, strings.Replace(first, "000000000001", "000000000002", 1)).status != http.StatusNotFound {
		t.Error("a bank without a logo has one")
	}
}
