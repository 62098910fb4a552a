package initiation

import (
	"slices"

	"passerelle"
	"passerelle/connector"
	"passerelle/payment"
)

// Compatibility is a connector with the rules that a payment breaks.
type Compatibility struct {
	Profile connector.Profile
	Reasons []payment.Reason
}

// Compatibility lists the connectors of the domain that have a reason not to
// carry the payment, or to warn of it, in the order they are shown; with hidden
// also those that are not offered to payers.
func (i *Initiation) Compatibility(d passerelle.Domain, p *payment.Payment, hidden bool) []Compatibility {
	var list []Compatibility
	for _, profile := range i.Initiators(d) {
		if profile.Hidden && !hidden {
			continue
		}
		if reasons := p.Incompatibilities(*profile.Payments, i.now(d)); len(reasons) > 0 {
			list = append(list, Compatibility{profile, reasons})
		}
	}
	return list
}

// Initiators lists the connectors that initiate payments in the domain, hidden
// ones too, in the order they are shown.
func (i *Initiation) Initiators(d passerelle.Domain) []connector.Profile {
	var list []connector.Profile
	for _, c := range i.Connectors.Initiators() {
		if profile := c.Profile(); usable(d, profile) {
			list = append(list, profile)
		}
	}
	return list
}

// ConnectorUUIDs names the connectors with an ability in one of the countries,
// ISO 3166-1 alpha-2 codes, for a filter of payments. It is never nil.
func (i *Initiation) ConnectorUUIDs(countries []string) []string {
	in := func(country string) bool { return slices.Contains(countries, country) }
	return i.uuids(func(p connector.Profile) bool { return slices.ContainsFunc(p.Countries, in) })
}

// SourceUUIDs names the connector that has the source of that number, if there
// is one, for a filter of payments. It is never nil.
func (i *Initiation) SourceUUIDs(source int64) []string {
	is := func(s connector.Source) bool { return s.ID == source }
	return i.uuids(func(p connector.Profile) bool { return slices.ContainsFunc(p.Sources, is) })
}

func (i *Initiation) uuids(keeps func(connector.Profile) bool) []string {
	uuids := []string{}
	for _, c := range i.Connectors.Initiators() {
		if profile := c.Profile(); keeps(profile) {
			uuids = append(uuids, profile.UUID)
		}
	}
	return uuids
}
