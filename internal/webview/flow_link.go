package webview

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/wire"
)

// These are limits for the parameters of a link. All parameters together must also fit into a
// cookie.
const (
	maxState       = 2000
	maxNamed       = 500
	maxConnections = 20
)

// filter selects the institutions that a client offers, and the data that the client wants users to
// share. Except for Capabilities, empty fields select everything.
type filter struct {
	// Connectors lists the numbers of the connectors to choose from. The number 0 means an unknown
	// connector.
	Connectors []int64 `json:"c,omitempty"`
	// Capabilities lists the capabilities that a connector must have.
	Capabilities []string `json:"p,omitempty"`
	Country      string   `json:"o,omitempty"`
	// IBANs, Types and Usages select accounts.
	IBANs  []string `json:"i,omitempty"`
	Types  []string `json:"t,omitempty"`
	Usages []string `json:"u,omitempty"`
	// Values maps the number of a connector and the name of a field to the field's prefilled value.
	Values map[int64]map[string]string `json:"v,omitempty"`
}

// usualCapability is required when the client names no capability.
const usualCapability = "bank"

// connectorLists are the parameters with institutions. Older programs send the last one.
var connectorLists = []string{"connector_ids", "connector_uuids", "connectors"}

// olderTypes maps the values of the parameter types, which older programs send instead of
// connector_capabilities, to capabilities.
var olderTypes = map[string][]string{"banks": {usualCapability}, "providers": {documentCapability}}

// readFilter reads the filter of a link to a flow. Unknown institutions match nothing.
func readFilter(flow string, query url.Values, banks []wire.Bank) (filter, error) {
	f := filter{
		Capabilities: listOf(query, "connector_capabilities"), Country: strings.ToUpper(strings.TrimSpace(query.Get("connector_country"))),
		Types: listOf(query, "account_types"), Usages: listOf(query, "account_usages"), Values: prefilled(query, banks),
	}
	if len(f.Capabilities) == 0 {
		f.Capabilities = olderTypes[query.Get("types")]
	}
	for _, number := range listOf(query, "account_ibans") {
		f.IBANs = append(f.IBANs, plainNumber(number))
	}
	for _, name := range listOf(query, connectorLists...) {
		f.Connectors = append(f.Connectors, numberOf(banks, name))
	}
	for _, named := range []struct {
		parameters string
		count      int
	}{{"connector_ids, connector_uuids", len(f.Connectors)}, {"account_ibans", len(f.IBANs)}} {
		if named.count > maxNamed {
			return f, passerelle.InvalidField(named.parameters, "must have at most %d values", maxNamed)
		}
	}
	if f.Country != "" && flow == flowConnect {
		if _, err := passerelle.ParseCountry("connector_country", f.Country); err != nil {
			return f, err
		}
	}
	return f, f.checkLists(flow, query)
}

var (
	connectorName = regexp.MustCompile(`^([0-9]+|(?i:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}))$`)
	ibanForm      = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}[0-9A-Z]{8,30}$`)
)

// lists describes the allowed values of the lists in a link. Without these checks, a spelling
// mistake would show pages on which nothing can be chosen. An unknown connector is no mistake: the
// service may have offered it when the link was made. Every capability must match, so one wrong
// capability leaves nothing to choose. In the other lists any match is enough, so a wrong value
// beside a right one is ignored: links of existing clients contain such values. A list that the
// flow does not use is not checked, for the same reason. Parameters on one line are one list.
var lists = []struct {
	parameters []string
	used       func(flow string, f filter) bool
	every      bool
	allows     func(value string) bool
	right      string
}{
	{connectorLists, choosesConnector, false, connectorName.MatchString, "must be numbers or UUIDs of connectors"},
	{[]string{"connector_capabilities"}, choosesData, true, func(value string) bool { return slices.Contains(connector.Capabilities(), value) }, "must be one or more of " + strings.Join(connector.Capabilities(), ", ")},
	{[]string{"account_types"}, choosesAccounts, false, func(value string) bool { t := passerelle.AccountType(value); return t.Details().Type == t }, "must be names of account types, such as checking; GET /account_types lists them"},
	{[]string{"account_usages"}, choosesAccounts, false, func(value string) bool { return slices.Contains(passerelle.Usages(), passerelle.Usage(value)) }, "must be one or more of PRIV, ORGA, ASSO"},
	{[]string{"account_ibans"}, choosesAccounts, false, func(value string) bool { return ibanForm.MatchString(plainNumber(value)) }, "must be IBANs"},
}

func choosesConnector(flow string, _ filter) bool { return flow == flowConnect }

func choosesData(flow string, _ filter) bool { return flow != flowReconnect }

func choosesAccounts(flow string, f filter) bool { return choosesData(flow, f) && f.accounts() }

// checkLists returns an error for the first list that matches nothing because of its wrong values.
func (f filter) checkLists(flow string, query url.Values) error {
	for _, l := range lists {
		values := listOf(query, l.parameters...)
		wrong := len(slices.DeleteFunc(slices.Clone(values), l.allows))
		if wrong > 0 && l.used(flow, f) && (l.every || wrong == len(values)) {
			sent := slices.IndexFunc(l.parameters, func(name string) bool { return len(listOf(query, name)) > 0 })
			return passerelle.InvalidField(l.parameters[sent], "%s", l.right)
		}
	}
	return nil
}

// listOf reads parameters with one list. The items are separated by commas, or the parameters are
// repeated.
func listOf(query url.Values, names ...string) []string {
	var all []string
	for _, name := range names {
		for _, one := range strings.Split(strings.Join(query[name], ","), ",") {
			if one = strings.TrimSpace(one); one != "" {
				all = append(all, one)
			}
		}
	}
	return all
}

// plainNumber returns an account number without spaces, in capitals.
func plainNumber(number string) string {
	return strings.ToUpper(strings.Join(strings.Fields(number), ""))
}

// numberOf returns the number of the connector that a number or UUID names. It returns 0 for an
// unknown connector.
func numberOf(banks []wire.Bank, name string) int64 {
	i := slices.IndexFunc(banks, func(b wire.Bank) bool { return b.Named(name) })
	if i < 0 {
		return 0
	}
	return banks[i].ID
}

// prefilled reads the parameters {connector_uuid}.{field}. It ignores unknown fields.
func prefilled(query url.Values, banks []wire.Bank) map[int64]map[string]string {
	values := map[int64]map[string]string{}
	for name := range query {
		uuid, field, dotted := strings.Cut(name, ".")
		i := slices.IndexFunc(banks, func(b wire.Bank) bool { return dotted && strings.EqualFold(b.UUID, uuid) })
		if i < 0 || !slices.ContainsFunc(banks[i].ConnectionFields, func(f wire.ConnectorField) bool { return f.Name == field }) {
			continue
		}
		if values[banks[i].ID] == nil {
			values[banks[i].ID] = map[string]string{}
		}
		values[banks[i].ID][field] = query.Get(name)
	}
	return values
}

// offers reports whether an institution matches the filter and can be offered. Hidden institutions
// are never offered. Institutions that accept no new connections are never offered either.
func (f filter) offers(b wire.Bank) bool {
	wanted := f.Capabilities
	if len(wanted) == 0 {
		wanted = []string{usualCapability}
	}
	for _, capability := range wanted {
		if !slices.Contains(b.Capabilities, capability) {
			return false
		}
	}
	return !b.Hidden && !b.Restricted && len(waysOf(b)) > 0 && f.suits(b)
}

// suits reports whether an institution matches the filter. It does not check the capabilities.
func (f filter) suits(b wire.Bank) bool {
	return (len(f.Connectors) == 0 || slices.Contains(f.Connectors, b.ID)) &&
		(f.Country == "" || slices.Contains(b.Countries, f.Country)) &&
		overlap(f.Types, b.AccountTypes) && overlap(f.Usages, b.Usages)
}

// overlap reports whether at least one wanted value exists. It returns true when no value is
// wanted, and when the existing values are unknown.
func overlap[T ~string](wanted []string, there []T) bool {
	return len(wanted) == 0 || len(there) == 0 || slices.ContainsFunc(there, func(one T) bool { return slices.Contains(wanted, string(one)) })
}

// account reports whether the filter lets users share an account.
func (f filter) account(a passerelle.BankAccount) bool {
	among := func(wanted []string, one string) bool { return len(wanted) == 0 || slices.Contains(wanted, one) }
	return f.accounts() && among(f.IBANs, plainNumber(a.IBAN)) && among(f.Types, string(a.Type)) && among(f.Usages, string(a.Usage))
}

// accounts reports whether the filter lets users share accounts at all. It returns false when the
// client requests only documents.
func (f filter) accounts() bool {
	return len(f.Capabilities) == 0 || slices.ContainsFunc(f.Capabilities, func(c string) bool { return c != documentCapability })
}

func (f filter) subscriptions() bool {
	return len(f.Capabilities) == 0 || slices.Contains(f.Capabilities, documentCapability)
}

// promise returns the key of the text about the data that a new connection can read.
func (f filter) promise() string {
	if f.accounts() {
		return "credentials.promise"
	}
	return "credentials.promise.documents"
}

const documentCapability = "document"
