package aggregation

import (
	"passerelle"
	"passerelle/connector"
	"passerelle/internal/wire"
)

// Banks are the connectors of a domain, those that initiate payments and those
// that read, in the order they are shown.
func (a *Aggregation) Banks(d passerelle.Domain) []wire.Bank {
	var all []wire.Bank
	for _, c := range a.Connectors.All() {
		if p := c.Profile(); usable(d, p) {
			all = append(all, bank(p))
		}
	}
	return all
}

// usable keeps simulated institutions out of live domains.
func usable(d passerelle.Domain, p connector.Profile) bool {
	return d.Kind == passerelle.Sandbox || !p.Sandbox
}

// bank is what the public may know of a connector.
func bank(p connector.Profile) wire.Bank {
	b := wire.Bank{
		UUID: p.UUID, ID: p.ID, Name: p.Name, Countries: p.Countries, Hidden: p.Hidden, Restricted: p.Restricted, Payments: p.Payments, Fields: p.PaymentFields,
		Slug: p.Look.Slug, Code: p.Look.Code, Siret: p.Look.Siret, Color: p.Look.Color, URLs: p.Look.URLs, Beta: p.Look.Beta, Charged: p.Look.Charged,
	}
	for _, s := range p.Sources {
		b.Sources = append(b.Sources, wire.Source{ID: s.ID, Name: s.Name, Mechanisms: s.Mechanisms, Priority: s.Priority})
	}
	if p.Data != nil {
		b.Capabilities, b.AccountTypes, b.Usages, b.Documents = p.Data.Capabilities, p.Data.AccountTypes, p.Data.Usages, p.Data.Documents
		b.MonthsToFetch, b.ConnectionFields = p.Data.MonthsToFetch, shownFields(p.Data.Fields)
	}
	return b
}

// shownFields are fields as clients see them.
func shownFields(fields []connector.Field) []wire.ConnectorField {
	shown := make([]wire.ConnectorField, len(fields))
	for i, f := range fields {
		shown[i] = wire.ConnectorField{
			Name: f.Name, Type: f.Type, Label: f.Label, Required: f.Required, Regex: optional(f.Regex), Description: optional(f.Description),
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

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
