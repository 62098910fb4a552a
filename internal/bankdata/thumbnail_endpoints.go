package bankdata

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"passerelle"
	"passerelle/internal/picture"
	"passerelle/internal/protocol"
	"passerelle/internal/store"
)

func (s *Service) thumbnailRoutes() []protocol.Route {
	pattern, aliases := documentsAnywhere("/{documentId}/thumbnail")
	_, named := documentsAnywhere("/{documentId}/thumbnail/{name}")
	return []protocol.Route{{
		Method: http.MethodGet, Pattern: pattern, Aliases: slices.Concat(aliases, []string{pattern + "/{name}"}, named), Needs: ofUser,
		Endpoint: protocol.Handle(s.thumbnail), Errors: []string{"rangeNotSatisfiable"},
		Summary: "Get the thumbnail of a document", Doc: "A drawing of a sheet with the kind of the file on it, in PNG: not what the file shows, which nobody reads for it. A name may follow, for programs that go by it.",
	}}
}

func (s *Service) thumbnail(ctx context.Context, c *protocol.Caller, in documentFileInput) (protocol.Content, error) {
	d, err := s.document(ctx, c, in.whichDocument)
	if err != nil {
		return protocol.Content{}, err
	}
	if d.File == 0 {
		return protocol.Content{}, passerelle.Missing()
	}
	f, err := s.DB.File(ctx, c.Domain.ID, d.User, d.File)
	if errors.Is(err, store.ErrNotFound) {
		return protocol.Content{}, passerelle.Missing() // withdrawn meanwhile
	}
	if err != nil {
		return protocol.Content{}, fmt.Errorf("load file %d: %w", d.File, err)
	}
	return protocol.Made(picture.MediaType, d.Name+".png", picture.Sheet(f.MediaType)), nil
}
