package aggregation

import (
	"context"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/settings"
	"passerelle/internal/store"
	"passerelle/internal/wire"
)

// Banks lists the connectors of a domain in display order, with the domain's settings applied. It
// includes connectors that initiate payments and connectors that read data.
func (a *Aggregation) Banks(ctx context.Context, d passerelle.Domain) ([]wire.Bank, error) {
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	var all []wire.Bank
	for _, c := range a.Connectors.All() {
		if p := c.Profile(); p.UsableIn(d) {
			all = append(all, bank(values.Configured(p), values.Location()))
		}
	}
	return all, nil
}

// ConfigureConnectors changes the settings of all connectors in the list, or changes nothing. It
// records each change with the actor. ConfigureConnectors fails with NotFound for a connector that
// the domain does not have, and with Invalid for a wrong value. It stores the acts of an operator
// in the audit log, in the transaction of the changes.
func (a *Aggregation) ConfigureConnectors(ctx context.Context, d passerelle.Domain, list []settings.ConnectorChange, by string, acts ...store.Audit) error {
	wanted := map[string]*string{}
	for _, change := range list {
		p, known := a.profile(d, change.Connector)
		if !known {
			return passerelle.Missing()
		}
		if err := change.Want(p, wanted); err != nil {
			return err
		}
	}
	return settings.ConfigureConnectors(ctx, a.DB, d.ID, wanted, by, a.now(d), acts...)
}

// ConfigureSource changes a source. It fails with the errors of ConfigureConnectors. A source that
// is already disabled keeps the time at which it was disabled.
func (a *Aggregation) ConfigureSource(ctx context.Context, d passerelle.Domain, change settings.SourceChange, by string, acts ...store.Audit) error {
	values, err := settings.Load(ctx, &a.DB.Reader, d.ID)
	if err != nil {
		return err
	}
	p, _ := a.profile(d, change.Connector)
	wanted := map[string]*string{}
	if err := change.Want(values.Configured(p), a.now(d), wanted); err != nil {
		return err
	}
	return settings.ConfigureConnectors(ctx, a.DB, d.ID, wanted, by, a.now(d), acts...)
}

// profile returns the profile of the connector with this UUID or number, without the settings of
// the domain.
func (a *Aggregation) profile(d passerelle.Domain, name string) (connector.Profile, bool) {
	c, known := a.Connectors.Find(name)
	if !known || !c.Profile().UsableIn(d) {
		return connector.Profile{}, false
	}
	return c.Profile(), true
}

// bank returns the public part of a connector.
func bank(p connector.Profile, zone *time.Location) wire.Bank {
	b := wire.Bank{
		UUID: p.UUID, ID: p.ID, Name: p.Name, Countries: p.Countries, Hidden: p.Hidden, Restricted: p.Restricted, Disturbed: p.Disturbed, Peculiar: p.Peculiar, Mechanism: p.Mechanism, SyncDays: p.SyncDays, Payments: p.Payments, Fields: p.PaymentFields,
		Slug: p.Labels.Slug, Code: p.Labels.Code, Siret: p.Labels.Siret, Color: p.Labels.Color, URLs: p.Labels.URLs, Beta: p.Labels.Beta, Charged: p.Labels.Charged,
	}
	for _, s := range p.Sources {
		b.Sources = append(b.Sources, wire.Source{ID: s.ID, Name: s.Name, Mechanisms: s.Mechanisms, Priority: s.Priority, Disabled: wire.Moment(s.Disabled, zone)})
	}
	if p.Data != nil {
		b.Capabilities, b.AccountTypes, b.Usages, b.Documents = p.Data.Capabilities, p.Data.AccountTypes, p.Data.Usages, p.Data.Documents
		b.MonthsToFetch, b.ConnectionFields = p.Data.MonthsToFetch, shownFields(p.Data.Fields)
	}
	return b
}

// shownFields converts fields for clients.
func shownFields(fields []connector.Field) []wire.ConnectorField {
	shown := make([]wire.ConnectorField, len(fields))
	for i, f := range fields {
		shown[i] = wire.ConnectorField{
			Name: f.Name, Type: f.Type, Label: f.Label, Required: f.Required, Regex: optional(f.Regex), Description: optional(f.Description), Image: f.Picture(),
			AuthMechanisms: append([]passerelle.AuthMechanism{}, f.Mechanisms...), ConnectorSources: append([]string{}, f.Sources...),
		}
		if f.Type == "list" {
			shown[i].Values = choices(f.Values)
		}
	}
	return shown
}

func choices(values []connector.FieldValue) *[]wire.FieldValue {
	shown := make([]wire.FieldValue, len(values))
	for i, v := range values {
		shown[i] = wire.FieldValue(v)
	}
	return &shown
}

// optional returns a value, or nil for the zero value.
func optional[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}
