package httpapi

import (
	"maps"
	"slices"

	"passerelle"
)

// Known fails for unknown names in a field "*" when the caller is strict. Only the endpoint knows
// the names that such a field accepts. Callers that are not strict may send any name.
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
