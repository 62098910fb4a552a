package httpapi

import (
	"maps"
	"slices"

	"passerelle"
)

// Known returns an error for unknown names in a field "*" when the caller is strict. Only the
// endpoint knows which names such a field accepts. Other callers may send any name.
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
