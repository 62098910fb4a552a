package httpapi

import (
	"maps"
	"slices"

	"passerelle"
)

// Known checks the members of a body for a field "*". Only the endpoint knows the names that such a
// field accepts. Known fails for a known name whose value is a list, an object or a file, because
// the field did not receive the value. It ignores a boolean, because clients of this API family send
// flags for fields that they do not fill in. It fails for an unknown name when the request has
// "Prefer: handling=strict". Known calls names only when there is something to check.
func (c *Caller) Known(supplied map[string]string, names func() ([]string, error)) error {
	if len(c.unread) == 0 && (!c.Strict || len(supplied) == 0) {
		return nil
	}
	known, err := names()
	if err != nil {
		return err
	}
	for i := range c.unread {
		if n := &c.unread[i]; n.shape >= list && slices.Contains(known, n.name) {
			at := path{steps: []step{memberStep(n.name)}}
			return at.wrong("a string", n)
		}
	}
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
