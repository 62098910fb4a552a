package webview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/bankstore"
	"passerelle/internal/store"
	"passerelle/internal/wire"
	"passerelle/payment"
)

// way is one way to give access to an institution: an authentication mechanism of a source.
type way struct {
	Mechanism passerelle.AuthMechanism
	source    string
}

// waysOf returns the ways to give access to an institution. New connections use the first one.
func waysOf(b wire.Bank) []way {
	var all []way
	sources := slices.SortedStableFunc(slices.Values(b.Sources), func(a, b wire.Source) int { return a.Priority - b.Priority })
	for _, s := range sources {
		for _, m := range s.Mechanisms {
			if s.Disabled == nil && !slices.ContainsFunc(all, func(w way) bool { return w.Mechanism == m }) {
				all = append(all, way{m, s.Name})
			}
		}
	}
	if usual := slices.IndexFunc(all, func(w way) bool { return w.Mechanism == b.Mechanism }); usual > 0 {
		all[0], all[usual] = all[usual], all[0]
	}
	return all
}

// wayBy returns the way with a mechanism. Without such a way, it returns the default.
func wayBy(b wire.Bank, mechanism string) way {
	all := waysOf(b)
	i := slices.IndexFunc(all, func(w way) bool { return string(w.Mechanism) == mechanism })
	return all[max(i, 0)]
}

// asked returns the fields that the form for a way must have.
func asked(b wire.Bank, w way) []payment.Field {
	return asForms(slices.DeleteFunc(slices.Clone(b.ConnectionFields), func(f wire.ConnectorField) bool {
		other := w.Mechanism != "" && len(f.AuthMechanisms) > 0 && !slices.Contains(f.AuthMechanisms, w.Mechanism)
		return other || len(f.ConnectorSources) > 0 && !slices.Contains(f.ConnectorSources, w.source)
	}))
}

// asForms converts fields for forms. The pattern of a converted field matches the whole value.
func asForms(fields []wire.ConnectorField) []payment.Field {
	shown := make([]payment.Field, len(fields))
	for i, f := range fields {
		shown[i] = payment.Field{Name: f.Name, Type: f.Type, Label: f.Label, Required: f.Required, Image: payment.Picture(f.Image)}
		if f.Regex != nil && *f.Regex != "" {
			shown[i].Regex = "^" + *f.Regex + "$"
		}
		if f.Values != nil {
			for _, v := range *f.Values {
				shown[i].Values = append(shown[i].Values, payment.FieldValue(v))
			}
		}
	}
	return shown
}

// offered returns the institutions of the domain that match the client's filter.
func (w *Webview) offered(pc *pageContext, f filter) ([]wire.Bank, error) {
	all, err := w.Aggregation.Banks(pc.context(), pc.domain)
	if err != nil {
		return nil, fmt.Errorf("list the institutions: %w", err)
	}
	return slices.DeleteFunc(all, func(b wire.Bank) bool { return !f.offers(b) }), nil
}

// bankOf returns the institution of a connection. For an institution that no longer exists, it sets
// only the name.
func (w *Webview) bankOf(pc *pageContext, c bankstore.Connection) (wire.Bank, error) {
	all, err := w.Aggregation.Banks(pc.context(), pc.domain)
	if err != nil {
		return wire.Bank{}, fmt.Errorf("list the institutions: %w", err)
	}
	i := slices.IndexFunc(all, func(b wire.Bank) bool { return b.UUID == c.Connector })
	if i < 0 {
		return wire.Bank{Name: pc.words.Say("bank")}, nil
	}
	all[i].Name = pc.institutionName(all[i])
	return all[i], nil
}

// institutionName returns the translation of an institution's name, if there is one, and otherwise
// the name itself.
func (pc *pageContext) institutionName(b wire.Bank) string {
	key := "institution." + strings.ToLower(b.Name)
	if said := pc.words.Say(key); said != key {
		return said
	}
	return b.Name
}

// providerWords is the variant of the texts about providers that have documents and no accounts.
const providerWords = "provider"

// If provider is true, nameInstitutions makes later texts speak of a provider. Otherwise they speak
// of a bank.
func (pc *pageContext) nameInstitutions(provider bool) {
	pc.words = pc.words.As("")
	if provider {
		pc.words = pc.words.As(providerWords)
	}
}

// nameInstitutionsLike makes the following texts speak of a provider if b reads only documents.
func (pc *pageContext) nameInstitutionsLike(b wire.Bank) {
	data := connector.DataSettings{Capabilities: b.Capabilities}
	pc.nameInstitutions(data.OnlyDocuments())
}

// wanted returns the fields that a connection waits for: the fields that the institution named, or
// all fields of the connection's first source.
func (w *Webview) wanted(pc *pageContext, c bankstore.Connection, b wire.Bank) ([]payment.Field, error) {
	if c.Fields != "" {
		var fields []wire.ConnectorField
		if err := json.Unmarshal([]byte(c.Fields), &fields); err != nil {
			return nil, fmt.Errorf("read the fields of connection %d: %w", c.ID, err)
		}
		return asForms(fields), nil
	}
	sources, err := bankstore.From(w.DB).SourcesOf(pc.context(), pc.domain.ID, c.ID)
	if err == nil && len(sources) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("list the sources of connection %d: %w", c.ID, err)
	}
	i := slices.IndexFunc(waysOf(b), func(w way) bool { return w.source == sources[0].Name })
	if i < 0 {
		return asked(b, way{source: sources[0].Name}), nil
	}
	return asked(b, waysOf(b)[i]), nil
}
