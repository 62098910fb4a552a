package api

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/settings"
	"passerelle/internal/wire"
)

func (s *Service) connectorConfigRoutes() []httpapi.Route {
	const one = "/connectors/{connectorId}"
	return []httpapi.Route{
		{
			Method: http.MethodPatch, Pattern: "/connectors", Needs: config, Endpoint: httpapi.Handle(s.configureConnectors),
			Summary: "Configure connectors", Errors: []string{"notFound"}, Doc: "Configures connectors for the caller's domain. Applies all changes or none. Each key of the body is the uuid of a connector.",
		},
		{
			Method: httpapi.Update, Pattern: one, Needs: config, Endpoint: httpapi.Handle(s.configureConnector),
			Summary: "Configure a connector", Doc: "Configures a connector for the caller's domain. null restores the connector's own value. Several ids, separated by commas, are deprecated and return a list.",
		},
		{
			Method: httpapi.Update, Pattern: one + "/sources/{sourceId}", Needs: config, Endpoint: httpapi.Handle(s.configureSource),
			Summary: "Configure a source of a connector", Doc: "Configures a source for the caller's domain. A disabled source accepts no new connections or payments. Existing connections keep using it.",
		},
	}
}

// connectorConfig contains the fields that configure a connector. The domain's configuration stores
// their values as text.
type connectorConfig struct {
	Hidden          httpapi.Nullable[bool]           `body:"hidden" doc:"whether the connector is hidden from end users"`
	AuthMechanism   httpapi.Nullable[string]         `body:"auth_mechanism" doc:"one of the available mechanisms; new connections use it unless they name a source"`
	SyncFrequency   httpapi.Nullable[httpapi.Number] `body:"sync_frequency" doc:"deprecated; days between two synchronisations"`
	SyncPeriodicity httpapi.Nullable[httpapi.Number] `body:"sync_periodicity" doc:"deprecated, see sync_frequency"`
}

func (in connectorConfig) change(connector string) (settings.ConnectorChange, error) {
	days := in.SyncFrequency
	if in.SyncPeriodicity.Present {
		if days.Present && days != in.SyncPeriodicity {
			return settings.ConnectorChange{}, passerelle.InvalidField("sync_periodicity", "is another name of sync_frequency, which is given with a different value")
		}
		days = in.SyncPeriodicity
	}
	change := settings.ConnectorChange{Connector: connector, Mechanism: wanted(in.AuthMechanism), SyncDays: wanted(days)}
	if in.Hidden.Present {
		text := map[bool]string{true: "1", false: "0"}[in.Hidden.Value]
		if in.Hidden.Null {
			text = ""
		}
		change.Hidden = &text
	}
	return change, nil
}

// wanted returns the supplied value, an empty text for null, or nil when the request omits the
// value.
func wanted[T ~string](value httpapi.Nullable[T]) *string {
	if !value.Present {
		return nil
	}
	text := string(value.Value)
	return &text
}

type configureConnectorsInput struct {
	Connectors map[string]connectorConfig `body:"*" doc:"configurations by uuid"`
}

type severalConnectors struct {
	Connectors []wire.Connector `json:"connectors" doc:"when the path names several"`
	Total      int              `json:"total"`
}

// configuredConnectors contains one configured connector, or a list when the path names several
// connectors.
type configuredConnectors struct {
	*wire.Connector
	*severalConnectors
}

func (s *Service) configureConnectors(ctx context.Context, c *httpapi.Caller, in configureConnectorsInput) (severalConnectors, error) {
	banks, err := s.banks(ctx, c, anything)
	if err != nil {
		return severalConnectors{}, err
	}
	names := slices.Sorted(maps.Keys(in.Connectors))
	changes := make([]settings.ConnectorChange, len(names))
	for i, name := range names {
		if !slices.ContainsFunc(banks, bankNamed(name)) {
			return severalConnectors{}, passerelle.InvalidField(name, "is not the uuid of a connector")
		}
		if changes[i], err = in.Connectors[name].change(name); err != nil {
			return severalConnectors{}, err
		}
	}
	return s.configured(ctx, c, names, changes)
}

type configureConnectorInput struct {
	connectorPath
	connectorConfig
}

// maxConfigured is the largest number of connectors in a path.
const maxConfigured = 1000

func (s *Service) configureConnector(ctx context.Context, c *httpapi.Caller, in configureConnectorInput) (configuredConnectors, error) {
	names := strings.SplitN(in.ID, ",", maxConfigured)
	changes := make([]settings.ConnectorChange, len(names))
	for i, name := range names {
		var err error
		if changes[i], err = in.change(name); err != nil {
			return configuredConnectors{}, err
		}
	}
	shown, err := s.configured(ctx, c, names, changes)
	if err != nil || len(names) > 1 {
		return configuredConnectors{severalConnectors: &shown}, err
	}
	return configuredConnectors{Connector: &shown.Connectors[0]}, nil
}

// configured stores the changes and renders the named connectors.
func (s *Service) configured(ctx context.Context, c *httpapi.Caller, names []string, changes []settings.ConnectorChange) (severalConnectors, error) {
	ctx = settings.Anew(ctx)
	if err := s.Aggregation.ConfigureConnectors(ctx, c.Domain, changes, c.By()); err != nil {
		return severalConnectors{}, err
	}
	banks, err := s.banks(ctx, c, anything)
	out := severalConnectors{Connectors: []wire.Connector{}}
	for _, name := range names {
		if i := slices.IndexFunc(banks, bankNamed(name)); i >= 0 {
			out.Connectors = append(out.Connectors, wire.NewConnector(banks[i], wire.ConnectorView{}))
		}
	}
	out.Total = len(out.Connectors)
	return out, err
}

type configureSourceInput struct {
	oneSourceInput
	AuthMechanism httpapi.Nullable[string] `body:"auth_mechanism" doc:"one of the mechanisms available to the source"`
	Disabled      httpapi.Nullable[bool]   `body:"disabled" doc:"whether the source is disabled"`
}

func (s *Service) configureSource(ctx context.Context, c *httpapi.Caller, in configureSourceInput) (wire.ConnectorSource, error) {
	ctx = settings.Anew(ctx)
	change := settings.SourceChange{Connector: in.ID, Source: in.Source, Mechanism: wanted(in.AuthMechanism)}
	if in.Disabled.Present {
		change.Disabled = &in.Disabled.Value
	}
	if err := s.Aggregation.ConfigureSource(ctx, c.Domain, change, c.By()); err != nil {
		return wire.ConnectorSource{}, err
	}
	return s.oneSource(ctx, c, readSourceInput{oneSourceInput: in.oneSourceInput, All: httpapi.All{WithDisabled: true}})
}
