package initiation

import (
	"context"
	"slices"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/settings"
	"passerelle/payment"
)

// Compatibility is a connector, with the rules of this connector that a payment breaks. Severity is
// payment.Incompatible if the connector cannot make the payment. There are no reasons if only a
// label is too long, because the interface specification has no code for this rule.
type Compatibility struct {
	Profile  connector.Profile
	Severity payment.Severity
	Reasons  []payment.Reason
}

// Compatibility lists, in display order, the domain's connectors that cannot make the payment or
// have a warning about it. If hidden is true, the list includes hidden connectors.
func (i *Initiation) Compatibility(ctx context.Context, d passerelle.Domain, p *payment.Payment, hidden bool) ([]Compatibility, error) {
	profiles, err := i.initiatorsFor(ctx, d, p)
	var list []Compatibility
	for _, profile := range profiles {
		if profile.Hidden && !hidden {
			continue
		}
		reasons := p.Incompatibilities(*profile.Payments, i.now(d))
		switch {
		case !p.Carries(*profile.Payments, i.now(d)):
			list = append(list, Compatibility{profile, payment.Incompatible, reasons})
		case len(reasons) > 0:
			list = append(list, Compatibility{profile, payment.Warning, reasons})
		}
	}
	return list, err
}

// Able reports for each connector of the domain, including hidden connectors, whether it can make
// the payment.
func (i *Initiation) Able(ctx context.Context, d passerelle.Domain, p *payment.Payment) (map[string]bool, error) {
	profiles, err := i.initiatorsFor(ctx, d, p)
	able := map[string]bool{}
	for _, profile := range profiles {
		able[profile.UUID] = p.Carries(*profile.Payments, i.now(d))
	}
	return able, err
}

// Initiators lists the connectors that initiate payments in the domain, in display order. It
// applies the domain's settings and includes hidden connectors.
func (i *Initiation) Initiators(ctx context.Context, d passerelle.Domain) ([]connector.Profile, error) {
	values, err := settings.Load(ctx, &i.DB.Reader, d.ID)
	if err != nil {
		return nil, err
	}
	var list []connector.Profile
	for _, c := range i.Connectors.Initiators() {
		if profile := values.Configured(c.Profile()); profile.UsableIn(d) && reachable(profile) {
			list = append(list, profile)
		}
	}
	return list, nil
}

// initiatorsFor returns the result of Initiators with the account ranges that apply to one payment.
// Account ranges exclude banks only when some bank's ranges contain the payer's account. If no
// ranges contain the account, the ranges of the payer's bank may be incomplete, and the payer must
// be able to choose that bank.
func (i *Initiation) initiatorsFor(ctx context.Context, d passerelle.Domain, p *payment.Payment) ([]connector.Profile, error) {
	profiles, err := i.Initiators(ctx, d)
	if p.Payer == nil || slices.ContainsFunc(profiles, func(profile connector.Profile) bool {
		at, _ := profile.Payments.Accounts.Contain(*p.Payer)
		return at
	}) {
		return profiles, err
	}
	for n := range profiles {
		settings := *profiles[n].Payments
		settings.Accounts = payment.AccountRanges{}
		profiles[n].Payments = &settings
	}
	return profiles, err
}

// reachable reports whether the connector has an enabled source for payments, or has no sources.
func reachable(profile connector.Profile) bool {
	_, open := paymentSource(profile)
	return open
}

// paymentSource returns the id of the source that payments use: the first enabled source for
// payments, by priority. The id is zero when a connector has no sources. The second result is false
// when all sources for payments are disabled.
func paymentSource(profile connector.Profile) (int64, bool) {
	sources := paymentSources(profile)
	for _, s := range sources {
		if s.Disabled == nil {
			return s.ID, true
		}
	}
	return 0, len(sources) == 0
}

// paymentSources returns the sources for payments in the order of priority. Payers validate
// payments on a page of the bank. A source for reading accounts is therefore used for payments only
// if it has the mechanism webauth. At a connector with no suitable source, payments use the same
// sources as reading: a domain that disables all of them also stops payments.
func paymentSources(profile connector.Profile) []connector.Source {
	all := slices.SortedStableFunc(slices.Values(profile.Sources), func(a, b connector.Source) int { return a.Priority - b.Priority })
	suited := slices.DeleteFunc(slices.Clone(all), func(s connector.Source) bool {
		return s.Data() && !slices.Contains(s.Mechanisms, passerelle.ByWebauth)
	})
	if len(suited) == 0 {
		return all
	}
	return suited
}

// ConnectorUUIDs returns the UUIDs of the connectors that initiate payments in one of the
// countries. Lists of payments filter by these UUIDs. Countries are ISO 3166-1 alpha-2 codes. The
// result is never nil, because a nil list would not filter.
func (i *Initiation) ConnectorUUIDs(countries []string) []string {
	in := func(country string) bool { return slices.Contains(countries, country) }
	return i.uuids(func(p connector.Profile) bool { return slices.ContainsFunc(p.Countries, in) })
}

// SourceUUIDs returns the UUID of the connector to which the source belongs. For an unknown source,
// it returns an empty list. Lists of payments filter by the result. The result is never nil,
// because a nil list would not filter.
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
