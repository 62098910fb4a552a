package webview

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/store"
	"passerelle/internal/web"
)

// logoPath is the beginning of the addresses of applications' logos. The number of the application
// and the number of its picture follow. A new picture therefore has a new address.
const logoPath = web.AssetPath + "logos/"

// brandOf returns the name, colours and logo of an application for pages.
func brandOf(c store.Client) web.Brand {
	brand := web.Brand{Name: c.Name, Primary: c.PrimaryColor, Secondary: c.SecondaryColor}
	if c.Logo != 0 {
		brand.Logo = fmt.Sprintf("%s%d-%d", logoPath, c.ID, c.Logo)
	}
	return brand
}

// logo serves the picture of an application to everybody. The address of a former picture counts as
// a missing asset.
func (w *Webview) logo(writer http.ResponseWriter, request *http.Request) {
	first, second, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, logoPath), "-")
	client, _ := strconv.ParseInt(first, 10, 64)
	number, _ := strconv.ParseInt(second, 10, 64) // text that is not a number becomes 0, and no logo has that number
	domain, err := w.Domain(request.Context(), request.Host)
	if err == nil && client > 0 && number > 0 {
		logo, err := w.DB.Logo(request.Context(), domain.ID, passerelle.ClientID(client))
		if err == nil && logo.ID == number {
			web.Picture(writer, request, logo.MediaType, logo.Content)
			return
		}
	}
	w.assets.ServeHTTP(writer, request)
}
