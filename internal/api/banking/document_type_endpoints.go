package banking

import (
	"context"
	"net/http"

	"passerelle"
	"passerelle/internal/access"
	"passerelle/internal/httpapi"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

func (s *Service) documentTypeRoutes() []httpapi.Route {
	const one = "/documenttypes/{typeId}"
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/documenttypes", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.listDocumentTypes),
			Summary: "List document types",
		},
		{
			Method: http.MethodGet, Pattern: one, Needs: httpapi.Public, Endpoint: httpapi.Handle(s.oneDocumentType),
			Summary: "Read a document type",
		},
		{
			Method: httpapi.Update, Pattern: one, Needs: httpapi.Needs{Kinds: []access.TokenKind{access.ConfigToken}}, Endpoint: httpapi.Handle(s.changeDocumentType),
			Summary: "Configure a document type", Doc: "Configures a document type for the caller's domain. Omitted members keep their values, and null restores the default. Documents that are already attached stay attached.",
		},
	}
}

// documentTypes returns the document types of the caller's domain.
func (s *Service) documentTypes(ctx context.Context, c *httpapi.Caller) ([]wire.DocumentType, error) {
	all, err := settings.DocumentTypes(ctx, &s.DB.Reader, c.Domain.ID)
	types := make([]wire.DocumentType, len(all))
	for i, t := range all {
		types[i] = wire.DocumentType(t)
	}
	return types, err
}

type listDocumentTypesOutput struct {
	Types []wire.DocumentType `json:"documenttypes"`
	Total int                 `json:"total"`
}

func (s *Service) listDocumentTypes(ctx context.Context, c *httpapi.Caller, _ httpapi.Nothing) (listDocumentTypesOutput, error) {
	types, err := s.documentTypes(ctx, c)
	return listDocumentTypesOutput{Types: types, Total: len(types)}, err
}

type whichDocumentType struct {
	ID int64 `path:"typeId"`
}

func (s *Service) oneDocumentType(ctx context.Context, c *httpapi.Caller, in whichDocumentType) (wire.DocumentType, error) {
	types, err := s.documentTypes(ctx, c)
	if err != nil {
		return wire.DocumentType{}, err
	}
	if in.ID > int64(len(types)) {
		return wire.DocumentType{}, passerelle.Missing()
	}
	return types[in.ID-1], nil
}

type changeDocumentTypeInput struct {
	whichDocumentType
	Name       httpapi.Nullable[string] `body:"name" max:"100" doc:"display name"`
	Attachable httpapi.Nullable[bool]   `body:"attacheable" doc:"whether documents of this type can be attached to a transaction"`
}

func (s *Service) changeDocumentType(ctx context.Context, c *httpapi.Caller, in changeDocumentTypeInput) (wire.DocumentType, error) {
	change := store.DocumentTypeChange{DocumentTypeSetting: store.DocumentTypeSetting{Number: in.ID}, SetName: in.Name.Present, SetAttachable: in.Attachable.Present}
	if in.Name.Present && !in.Name.Null {
		if err := checkTypeName(in.Name.Value); err != nil {
			return wire.DocumentType{}, err
		}
		change.Name = &in.Name.Value
	}
	if in.Attachable.Present && !in.Attachable.Null {
		change.Attachable = &in.Attachable.Value
	}
	if change.SetName || change.SetAttachable {
		if err := settings.ChangeDocumentType(ctx, s.DB, c.Domain.ID, change, c.By(), c.Now); err != nil {
			return wire.DocumentType{}, err
		}
	}
	return s.oneDocumentType(ctx, c, in.whichDocumentType)
}

// maxTypeName is the largest number of characters in the name of a type.
const maxTypeName = 100

func checkTypeName(name string) error {
	if name == "" {
		return passerelle.InvalidField("name", "must not be empty; null restores the original name")
	}
	return passerelle.CheckLine("name", name, maxTypeName)
}
