package api

import (
	"cmp"
	"context"
	"net/http"

	"passerelle"
	"passerelle/internal/httpapi"
	"passerelle/internal/settings"
	"passerelle/internal/store"
)

func (s *Service) configRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/config", Needs: config, Endpoint: httpapi.Handle(s.readConfig),
			Summary: "Read the configuration",
			Doc:     "Returns the value of every key as a string, whether set or default. Booleans are 0 and 1. Some keys of this API family are stored but have no effect. The command passerelle config list names them.",
		},
		{
			Method: httpapi.Update, Pattern: "/config", Needs: config, Endpoint: httpapi.Handle(s.changeConfig),
			Summary: "Change the configuration", Errors: []string{"conflict"},
			Doc: "Sets all given values, or none if one is invalid. Omitted keys keep their values, and null restores the default. Returns the configuration, or the part of it that search selects.",
		},
		{
			Method: http.MethodGet, Pattern: "/config/logs", Needs: config, Endpoint: httpapi.Handle(s.configLogs),
			Summary: "List the changes of the configuration", Doc: "Lists changes, newest first. The range includes both dates.",
		},
	}
}

type searchInput struct {
	Search string `query:"search" max:"100" doc:"only keys whose name contains this text"`
}

// searchParameter is the name of searchInput.Search. No key has this name.
const searchParameter = "search"

type changeConfigInput struct {
	searchInput
	Values map[string]httpapi.Nullable[string] `body:"*" max:"32768" doc:"values by key; null restores the default"`
}

func (s *Service) readConfig(_ context.Context, c *httpapi.Caller, in searchInput) (map[string]string, error) {
	return c.Settings.Flat(in.Search), nil
}

func (s *Service) changeConfig(ctx context.Context, c *httpapi.Caller, in changeConfigInput) (map[string]string, error) {
	changes := make(map[string]*string, len(in.Values))
	for name, value := range in.Values {
		if name == searchParameter { // older programs send it beside the keys
			in.Search = cmp.Or(in.Search, value.Value)
			continue
		}
		changes[name] = &value.Value
		if value.Null {
			changes[name] = nil
		}
	}
	if err := settings.Change(ctx, s.DB, c.Domain.ID, changes, c.By(), c.Now); err != nil {
		return nil, err
	}
	values, err := settings.Load(settings.Anew(ctx), &s.DB.Reader, c.Domain.ID)
	return values.Flat(in.Search), err
}

type configLogsInput struct {
	httpapi.Paging
	httpapi.DateRange
	searchInput
	Type string `query:"type" enum:"add,update,delete" doc:"only changes of this type"`
}

type configLogOutput struct {
	ID       int64   `json:"id"`
	Key      string  `json:"key"`
	Previous *string `json:"previous_value" doc:"null when the key had its default"`
	New      *string `json:"new_value" doc:"null when the default was restored"`
	Type     string  `json:"type" enum:"add,update,delete"`
	At       string  `json:"timestamp"`
	By       string  `json:"changed_by" doc:"who made the change: the id of a token, or the command line"`
}

type configLogsOutput struct {
	Logs []configLogOutput `json:"configlogs"`
	httpapi.Listing
}

func (s *Service) configLogs(ctx context.Context, c *httpapi.Caller, in configLogsInput) (configLogsOutput, error) {
	filter := store.SettingChanges{
		Domain: c.Domain.ID, Name: in.Search, Keys: settings.Matching(in.Search), Type: in.Type, From: in.From(), Until: in.Until(),
	}
	rows, listing, err := httpapi.Turn(ctx, &s.DB.Reader, in.Paging,
		func(ctx context.Context, r *store.Reader, w httpapi.PageWindow) ([]store.SettingChange, error) {
			return r.SettingChanges(ctx, filter, w.OfRows())
		},
		func(change store.SettingChange) httpapi.Position { return change.Place() },
		func(ctx context.Context, r *store.Reader) (int64, error) { return r.CountSettingChanges(ctx, filter) })
	out := configLogsOutput{Logs: make([]configLogOutput, len(rows)), Listing: listing}
	for i, change := range rows {
		out.Logs[i] = configLogOutput{
			ID: change.ID, Key: change.Key, Previous: change.Previous, New: change.New, Type: change.Type,
			At: passerelle.FormatDateTime(change.At, c.Location), By: change.By,
		}
	}
	return out, err
}
