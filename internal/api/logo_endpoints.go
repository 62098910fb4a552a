package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/picture"
	"passerelle/internal/wire"
)

func (s *Service) logoRoutes() []httpapi.Route {
	below := func(rest string) (string, []string) {
		return "/connectors/{connectorId}/logos" + rest, []string{"/banks/{connectorId}/logos" + rest, "/providers/{connectorId}/logos" + rest}
	}
	all, alls := below("")
	one, ones := below("/main")
	small, smalls := below("/thumbnail")
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: all, Aliases: alls, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.logosOf(logoSizes...)),
			Summary: "List the logos of a connector", Doc: "Lists the logos of a connector: the operator's own logo of the institution or, without one, the initials of its name on its colour.",
		},
		{
			Method: http.MethodGet, Pattern: one, Aliases: ones, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.logosOf(logoSizes[0])),
			Summary: "List the large logos of a connector", Doc: "Returns a list with the connector's only logo of this size.",
		},
		{
			Method: http.MethodGet, Pattern: small, Aliases: smalls, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.logosOf(logoSizes[1])),
			Summary: "List the small logos of a connector", Doc: "Returns a list with the connector's only logo of this size.",
		},
		{
			Method: http.MethodGet, Pattern: "/files/{fileId}", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.logoFile), Errors: []string{"rangeNotSatisfiable"},
			Summary: "Download a logo", Doc: "Returns the file of a logo, by its id_file. The file may be cached for a day. Files of documents and transactions have their own paths.",
		},
	}
}

// logoSize is a size of logos. A logo's id contains the number of its size.
type logoSize struct {
	name   string
	number int64
	side   int
}

var logoSizes = []logoSize{{"main", 1, 256}, {"thumbnail", 2, 64}}

// A logo's id is logosOfOne times the connector's number, plus the number of the size. The id of
// its file is larger by firstLogoFile. Logos are not stored files, and stored files have smaller
// ids.
const (
	logosOfOne    = 10
	firstLogoFile = 2_000_000_000
)

type connectorLogo struct {
	ID          int64  `json:"id"`
	IDConnector int64  `json:"id_connector" doc:"deprecated number of the connector"`
	IDFile      int64  `json:"id_file"`
	Type        string `json:"type" doc:"main (256 × 256 pixels) or thumbnail (64 × 64)"`
	URL         string `json:"url" doc:"address of the PNG file"`
}

type listLogosOutput struct {
	Logos []connectorLogo `json:"connectorlogos"`
	Total int             `json:"total"`
}

// logosOf returns an endpoint that lists a connector's logos in these sizes.
func (s *Service) logosOf(sizes ...logoSize) func(context.Context, *httpapi.Caller, connectorPath) (listLogosOutput, error) {
	return func(ctx context.Context, c *httpapi.Caller, in connectorPath) (listLogosOutput, error) {
		b, err := s.bank(ctx, c, in.ID, anything)
		if err != nil {
			return listLogosOutput{}, err
		}
		out := listLogosOutput{Logos: make([]connectorLogo, len(sizes)), Total: len(sizes)}
		for i, size := range sizes {
			id := b.ID*logosOfOne + size.number
			file := firstLogoFile + id
			out.Logos[i] = connectorLogo{ID: id, IDConnector: b.ID, IDFile: file, Type: size.name, URL: fmt.Sprintf("%s/files/%d", c.Base, file)}
		}
		return out, nil
	}
}

type fileInput struct {
	ID passerelle.FileID `path:"fileId"`
}

func (s *Service) logoFile(ctx context.Context, c *httpapi.Caller, in fileInput) (httpapi.Content, error) {
	id := int64(in.ID) - firstLogoFile
	i := slices.IndexFunc(logoSizes, func(size logoSize) bool { return size.number == id%logosOfOne })
	if id < 0 || i < 0 {
		return httpapi.Content{}, passerelle.Missing()
	}
	b, err := s.bank(ctx, c, strconv.FormatInt(id/logosOfOne, 10), anything)
	if err != nil {
		return httpapi.Content{}, err
	}
	return s.logoOf(b, logoSizes[i]), nil
}

// logoOf returns the operator's logo for a connector, or a generated one.
func (s *Service) logoOf(b wire.Bank, size logoSize) httpapi.Content {
	content := s.Logos.Sized(b.UUID, size.side)
	if content == nil {
		content = picture.Logo(b.Name, b.Color, size.side)
	}
	logo := httpapi.Made(picture.MediaType, fmt.Sprintf("%s %s.png", b.Name, size.name), content)
	logo.Public = true
	return logo
}
