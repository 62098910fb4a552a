package connector

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"passerelle"
)

// maxValue is the maximum length of a field's value, in code points.
const maxValue = 4096

// Choose returns the source for a connection, and the mechanism. It chooses the named source or,
// without a name, the first source by priority. The source must be enabled and support the wanted
// mechanism. Without a name and without a wanted mechanism, Choose prefers sources with the
// connector's default mechanism. The error is Invalid.
func (p Profile) Choose(name string, wanted passerelle.AuthMechanism) (Source, passerelle.AuthMechanism, error) {
	open := p.readable(wanted)
	if name == "" && wanted == "" && p.Mechanism != "" && len(p.readable(p.Mechanism)) > 0 {
		wanted, open = p.Mechanism, p.readable(p.Mechanism)
	}
	var names []string
	for _, s := range open {
		if name == "" || s.Name == name {
			return s, cmp.Or(wanted, s.Mechanisms[0]), nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return Source{}, "", passerelle.InvalidField("connector_uuid", "%s has no enabled source with the mechanism %s", p.Name, cmp.Or(string(wanted), "wanted"))
	}
	return Source{}, "", passerelle.InvalidField("source", "must be one of %s", strings.Join(names, ", "))
}

// readable returns the enabled sources that can read with the wanted mechanism, by priority.
func (p Profile) readable(wanted passerelle.AuthMechanism) []Source {
	open := slices.DeleteFunc(slices.Clone(p.Sources), func(s Source) bool {
		return !s.Data() || s.Disabled != nil || wanted != "" && !slices.Contains(s.Mechanisms, wanted)
	})
	slices.SortStableFunc(open, func(a, b Source) int { return a.Priority - b.Priority })
	return open
}

// CheckValues refuses impossible values before the connector calls the institution. The error is
// Invalid, with the code missingParameter for a missing value. The error names the field but not
// the value.
func CheckValues(fields []Field, mechanism passerelle.AuthMechanism, source string, values map[string]string) error {
	for _, f := range fields {
		value := values[f.Name]
		if value == "" && f.Required && f.AskedFor(mechanism, source) {
			return passerelle.MissingField(f.Name, required(f))
		}
		if err := checkValue(f, value); err != nil {
			return err
		}
	}
	return nil
}

func required(f Field) string {
	if strings.EqualFold(f.Label, f.Name) {
		return "is required"
	}
	return "is required: " + f.Label
}

// AskedFor reports whether a field is requested for a mechanism and a source. An empty mechanism
// means any.
func (f Field) AskedFor(mechanism passerelle.AuthMechanism, source string) bool {
	return (len(f.Mechanisms) == 0 || mechanism == "" || slices.Contains(f.Mechanisms, mechanism)) && (len(f.Sources) == 0 || slices.Contains(f.Sources, source))
}

func checkValue(f Field, value string) error {
	if value == "" {
		return nil
	}
	if err := passerelle.CheckText(f.Name, value, maxValue); err != nil {
		return err
	}
	among := func(v FieldValue) bool { return v.Value == value }
	if f.Type == "list" && !slices.ContainsFunc(f.Values, among) {
		return passerelle.InvalidField(f.Name, "must be one of the values listed for %s", f.Label)
	}
	// Only clients check a pattern that Go cannot compile, such as one with a PCRE lookahead.
	if pattern, err := regexp.Compile("^(?:" + f.Regex + ")$"); f.Regex != "" && err == nil && !pattern.MatchString(value) {
		return passerelle.InvalidField(f.Name, "does not have the form required for %s", f.Label)
	}
	return nil
}
