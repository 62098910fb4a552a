package httpapi

import (
	"maps"
	"slices"

	"passerelle"
)

// Known checks the names that the field "*" of a body has received. It fails for an unknown name
// when the request has "Prefer: handling=strict". Only the endpoint knows the names that such a
// field accepts.
func (c *Caller) Known(supplied map[string]string, known []string) error {
	if !c.Strict {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(supplied)) {
		if !slices.Contains(known, name) {
			return passerelle.InvalidField(shown(name), "unknown%s", hint(name, known))
		}
	}
	return nil
}
