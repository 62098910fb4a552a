package banking

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/picture"
	"passerelle/internal/store"
)

func (s *Service) thumbnailRoutes() []httpapi.Route {
	pattern, aliases := documentsAnywhere("/{documentId}/thumbnail")
	_, named := documentsAnywhere("/{documentId}/thumbnail/{name}")
	return []httpapi.Route{{
		Method: http.MethodGet, Pattern: pattern, Aliases: slices.Concat(aliases, []string{pattern + "/{name}"}, named), Needs: ofUser,
		Endpoint: httpapi.Handle(s.thumbnail), Errors: []string{"rangeNotSatisfiable"},
		Summary: "Get the thumbnail of a document", Doc: "Returns a PNG that shows the kind of the file, not its content. The path may end with a file name.",
	}}
}

func (s *Service) thumbnail(ctx context.Context, c *httpapi.Caller, in documentFileInput) (httpapi.Content, error) {
	d, err := s.document(ctx, c, in.whichDocument)
	if err != nil {
		return httpapi.Content{}, err
	}
	if d.File == 0 {
		return httpapi.Content{}, passerelle.Missing()
	}
	f, err := bankstore.From(s.DB).File(ctx, c.Domain.ID, d.User, d.File)
	if errors.Is(err, store.ErrNotFound) {
		return httpapi.Content{}, passerelle.Missing() // the user no longer shares the subscription or the account of the document
	}
	if err != nil {
		return httpapi.Content{}, fmt.Errorf("load file %d: %w", d.File, err)
	}
	return httpapi.Made(picture.MediaType, d.Name+".png", picture.Sheet(f.MediaType)), nil
}
