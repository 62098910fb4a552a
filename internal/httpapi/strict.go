package httpapi

import (
	"maps"
	"slices"

	"passerelle"
)

// Known refuses a strict caller names that are not known, where only the
// endpoint can tell which are: those of a field "*". Others may send what they
// like.
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
