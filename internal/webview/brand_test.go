package webview_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"passerelle/internal/access"
)

func drawn(t *testing.T, width, height int) []byte {
	t.Helper()
	drawing := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			drawing.Set(x, y, color.NRGBA{R: 0x15, G: uint8(x * 255 / width), B: uint8(y * 255 / height), A: 0xff})
		}
	}
	var out bytes.Buffer
	must(t, png.Encode(&out, drawing))
	return out.Bytes()
}

func (s *stack) brand(t *testing.T, primary, secondary string) {
	t.Helper()
	var err error
	s.client, _, err = s.access.Update(t.Context(), s.domain.ID, s.client.ID, access.ClientUpdate{PrimaryColor: &primary, SecondaryColor: &secondary})
	must(t, err)
	_, err = s.access.SetLogo(t.Context(), s.domain.ID, s.client.ID, drawn(t, 1200, 300))
	must(t, err)
	s.client, err = s.DB.Client(t.Context(), s.domain.ID, s.client.ID)
	must(t, err)
}

func TestPagesShowWhoAsks(t *testing.T) {
	each(t, nil, func(t *testing.T, s *stack) {
		plain := s.get(t, s.open(t, s.create(t, nil).ID, nil)).body
		if strings.Contains(plain, "brand-") || strings.Contains(plain, "<img") {
			t.Errorf("without a look of its own the page has one: %s", plain)
		}
		s.brand(t, "#7a1f5c", "#0f62ac")
		body := s.get(t, s.open(t, s.create(t, nil).ID, nil)).body
		logo := fmt.Sprintf("/assets/logos/%d-%d", s.client.ID, s.client.Logo)
		for _, want := range []string{`href="/assets/brand-7a1f5c-0f62ac.`, `<img src="` + logo + `" alt="Maison Dupont">`} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %s: %s", want, body)
			}
		}
		got := s.get(t, logo)
		shown, form, err := image.DecodeConfig(strings.NewReader(got.body))
		if err != nil || form != "png" || shown.Width != 320 || shown.Height != 80 || len(got.body) > 32<<10 {
			t.Errorf("the logo is %d × %d of %d bytes as %s (%v)", shown.Width, shown.Height, len(got.body), form, err)
		}
		for name, want := range map[string]string{
			"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s of the logo is %q, want %q", name, got.header.Get(name), want)
			}
		}
		for _, other := range []string{
			logo + "0", fmt.Sprintf("/assets/logos/%d-%d", s.client.ID+1, s.client.Logo), "/assets/logos/", "/assets/logos/x-y", "/assets/logos/0-0",
		} {
			if got := s.get(t, other); got.status != http.StatusNotFound {
				t.Errorf("%s answers %d", other, got.status)
			}
		}
	})
}
