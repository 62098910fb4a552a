package banking

import (
	"context"
	"net/http"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/wire"
)

func (s *Service) connectionSourceRoutes() []httpapi.Route {
	const one = "/connections/{connectionId}/sources/{sourceId}"
	long, short := "/users/{userId}"+one, []string{one}
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: long, Aliases: short, Needs: ofUser, Endpoint: httpapi.Handle(s.oneConnectionSource),
			Summary: "Read a source of a connection",
		},
		{
			Method: httpapi.Update, Pattern: long, Aliases: short, Needs: ofUser, Endpoint: httpapi.Handle(s.changeConnectionSource), Errors: []string{"conflict"},
			Summary: "Enable a source of a connection", Doc: "A connection has one source, which is always enabled. Fails with conflict when disabled is true. To stop background synchronisation, set the connection's active to false.",
		},
	}
}

type oneConnectionSourceInput struct {
	connectionSourcesInput
	Source int64 `path:"sourceId"`
}

func (s *Service) oneConnectionSource(ctx context.Context, c *httpapi.Caller, in oneConnectionSourceInput) (wire.ConnectionSource, error) {
	all, err := s.listConnectionSources(ctx, c, in.connectionSourcesInput)
	if err != nil {
		return wire.ConnectionSource{}, err
	}
	for _, source := range all.Sources {
		if source.ID == in.Source {
			return source, nil
		}
	}
	return wire.ConnectionSource{}, passerelle.Missing()
}

type changeConnectionSourceInput struct {
	oneConnectionSourceInput
	Disabled bool `body:"disabled" doc:"false; true is refused"`
}

func (s *Service) changeConnectionSource(ctx context.Context, c *httpapi.Caller, in changeConnectionSourceInput) (wire.ConnectionSource, error) {
	source, err := s.oneConnectionSource(ctx, c, in.oneConnectionSourceInput)
	if err == nil && in.Disabled {
		return wire.ConnectionSource{}, passerelle.Conflicting("the connection has no other source; set active of the connection to false instead, or delete it")
	}
	return source, err
}
