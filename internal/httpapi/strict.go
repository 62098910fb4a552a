package httpapi

import (
	"maps"
	"slices"

	"passerelle"
)

// Known fails for unknown names from a strict caller, for fields "*" whose names only the
// endpoint knows. Other callers may send any.
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
