package passerelle

import (
	"log/slog"
	"slices"
	"strings"
)

// IdentityKind says whether an Identity is a person or a kind of organisation.
type IdentityKind string

// These are the kinds of the interface specification. Individual is the default.
const (
	Individual IdentityKind = "individual"
	Corporate  IdentityKind = "corporate"
	NonProfit  IdentityKind = "non_profit"
	Government IdentityKind = "government"
)

var identityKinds = []IdentityKind{Individual, Corporate, NonProfit, Government}

// IdentitySchemeName is the kind of number that identifies an Identity.
type IdentitySchemeName string

// These are the identity schemes of the interface specification.
const (
	NationalIDNumber    IdentitySchemeName = "national_id_number"
	PassportNumber      IdentitySchemeName = "passport_number"
	AlienRegNumber      IdentitySchemeName = "alien_reg_number"
	SIREN               IdentitySchemeName = "siren"
	IncorporationNumber IdentitySchemeName = "incorporation_number"
	EUID                IdentitySchemeName = "euid"
	RNA                 IdentitySchemeName = "rna"
)

// identitySchemes maps kinds to the schemes that may identify them.
var identitySchemes = map[IdentityKind][]IdentitySchemeName{
	Individual: {NationalIDNumber, PassportNumber, AlienRegNumber},
	Corporate:  {SIREN, IncorporationNumber, EUID},
	NonProfit:  {SIREN, IncorporationNumber, EUID, RNA},
	Government: {IncorporationNumber},
}

// Identity describes who pays, receives or operates a payment. It is valid after Check.
type Identity struct {
	// IDUser is the related user, zero when there is no such user.
	IDUser         UserID
	Kind           IdentityKind
	ExternalRef    string
	OrgName        string
	OrgLegalStatus string
	// Sensitive is nil when it was not loaded, or when there is no sensitive data.
	Sensitive *Sensitive
}

// Sensitive contains the fields of an Identity that only permitted callers get, on request.
// Logs, errors and webhooks never contain them.
type Sensitive struct {
	FirstName              string
	LastName               string
	BirthCity              string
	BirthCountry           string
	BirthDate              Date
	Nationality            string
	PostalAddress          string
	Email                  string
	SchemeName             IdentitySchemeName
	Identification         string
	Issuer                 string
	UltimateOwnerText      string
	UltimateOwnerExtraText string
	PEP                    bool
	OrgHQAddress           string
	OrgBusinessAddress     string
}

// String returns a fixed text, so that printed identities show no sensitive data.
func (Sensitive) String() string { return "[sensitive]" }

// LogValue returns a fixed text for logs.
func (s Sensitive) LogValue() slog.Value { return slog.StringValue(s.String()) }

// audience is the set of kinds that a field applies to.
type audience uint8

const (
	everyone audience = iota
	individuals
	organisations
)

func (a audience) includes(kind IdentityKind) bool {
	return a == everyone || (a == individuals) == (kind == Individual)
}

// identityField is a row of the interface specification's table of identity fields. limit is in
// code points, and zero means no limit. The audience contains the kinds to which the field applies,
// and required says whether these kinds require it.
type identityField struct {
	name     string
	limit    int
	of       audience
	required bool
	text     func(*Identity, *Sensitive) *string
}

// For individuals, the specification lists schemes but requires no identification, so
// identification is optional.
var identityFields = []identityField{
	{"external_ref", 255, everyone, false, func(i *Identity, _ *Sensitive) *string { return &i.ExternalRef }},
	{"first_name", 255, individuals, true, func(_ *Identity, s *Sensitive) *string { return &s.FirstName }},
	{"last_name", 255, individuals, true, func(_ *Identity, s *Sensitive) *string { return &s.LastName }},
	{"birth_city", 0, individuals, false, func(_ *Identity, s *Sensitive) *string { return &s.BirthCity }},
	{"birth_country", 0, individuals, false, func(_ *Identity, s *Sensitive) *string { return &s.BirthCountry }},
	{"nationality", 0, everyone, false, func(_ *Identity, s *Sensitive) *string { return &s.Nationality }},
	{"postal_address", 512, everyone, false, func(_ *Identity, s *Sensitive) *string { return &s.PostalAddress }},
	{"email", 255, everyone, false, func(_ *Identity, s *Sensitive) *string { return &s.Email }},
	{"org_name", 255, organisations, true, func(i *Identity, _ *Sensitive) *string { return &i.OrgName }},
	{"org_legal_status", 128, organisations, true, func(i *Identity, _ *Sensitive) *string { return &i.OrgLegalStatus }},
	{"org_hq_address", 512, organisations, true, func(_ *Identity, s *Sensitive) *string { return &s.OrgHQAddress }},
	{"org_business_address", 512, organisations, true, func(_ *Identity, s *Sensitive) *string { return &s.OrgBusinessAddress }},
	{"scheme_name", 0, everyone, false, func(_ *Identity, s *Sensitive) *string { return (*string)(&s.SchemeName) }},
	{"identification", 255, everyone, false, func(_ *Identity, s *Sensitive) *string { return &s.Identification }},
	{"issuer", 255, everyone, false, func(_ *Identity, s *Sensitive) *string { return &s.Issuer }},
	{"ultimate_owner_text", 0, everyone, false, func(_ *Identity, s *Sensitive) *string { return &s.UltimateOwnerText }},
	{"ultimate_owner_extra_text", 0, everyone, false, func(_ *Identity, s *Sensitive) *string { return &s.UltimateOwnerExtraText }},
}

// Check checks that an identity at path meets the requirements of its kind. The default kind is
// Individual. Check reports all absent required fields in one missingParameter error. Check empties
// the fields that do not apply to the kind or, if strict is true, refuses them with an Invalid
// error. Unknown kinds, schemes of other kinds, texts that CheckText refuses and unknown countries
// of birth are Invalid errors for the field below path. The errors do not contain the value.
func (i *Identity) Check(path string, strict bool) error {
	if i.Kind == "" {
		i.Kind = Individual
	}
	if !slices.Contains(identityKinds, i.Kind) {
		return InvalidField(nested(path, "kind"), "must be one of %s", list(identityKinds))
	}
	c := identityCheck{identity: i, sensitive: i.Sensitive, path: path, strict: strict}
	if c.sensitive == nil {
		c.sensitive = new(Sensitive)
	}
	for _, check := range []func() error{c.applicability, c.presence, c.texts, c.country, c.scheme} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// identityCheck is one run of Check. Its sensitive part is never nil.
type identityCheck struct {
	identity  *Identity
	sensitive *Sensitive
	path      string
	strict    bool
}

func (c identityCheck) text(field identityField) *string {
	return field.text(c.identity, c.sensitive)
}

func (c identityCheck) applicability() error {
	for _, field := range identityFields {
		text := c.text(field)
		if *text == "" || field.of.includes(c.identity.Kind) {
			continue
		}
		if c.strict {
			return c.inapplicable(field.name)
		}
		*text = ""
	}
	if c.sensitive.BirthDate.IsZero() || individuals.includes(c.identity.Kind) {
		return nil
	}
	if c.strict {
		return c.inapplicable("birth_date")
	}
	c.sensitive.BirthDate = Date{}
	return nil
}

func (c identityCheck) inapplicable(name string) error {
	return InvalidField(nested(c.path, name), "does not apply to kind %s; omit it", c.identity.Kind)
}

func (c identityCheck) presence() error {
	var names []string
	for _, field := range identityFields {
		if c.requires(field) && blank(*c.text(field)) {
			names = append(names, field.name)
		}
	}
	if names != nil {
		return missingFields(c.path, " for kind "+string(c.identity.Kind), names)
	}
	if c.sensitive.Identification != "" && c.sensitive.SchemeName == "" {
		return MissingField(nested(c.path, "scheme_name"), "is required because an identification was given")
	}
	return nil
}

// requires reports whether the identity must have the field. The table cannot express one rule:
// organisations need a number and its scheme.
func (c identityCheck) requires(field identityField) bool {
	if field.name == "scheme_name" || field.name == "identification" {
		return organisations.includes(c.identity.Kind)
	}
	return field.required && field.of.includes(c.identity.Kind)
}

func (c identityCheck) texts() error {
	for _, field := range identityFields {
		if fault := textFault(*c.text(field), field.limit); fault != "" {
			return InvalidField(nested(c.path, field.name), "%s", fault)
		}
	}
	return nil
}

func (c identityCheck) country() error {
	if c.sensitive.BirthCountry == "" {
		return nil
	}
	_, err := ParseCountry(nested(c.path, "birth_country"), c.sensitive.BirthCountry)
	return err
}

func (c identityCheck) scheme() error {
	schemes := identitySchemes[c.identity.Kind]
	if c.sensitive.SchemeName == "" || slices.Contains(schemes, c.sensitive.SchemeName) {
		return nil
	}
	return InvalidField(nested(c.path, "scheme_name"), "must be one of %[2]s for kind %[1]s", c.identity.Kind, list(schemes))
}

func list[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}
