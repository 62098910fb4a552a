package webhook

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

// beyondSamples are members that bodies begin with and samples leave out: what is new
// here, what only some connections have, and what only accounts of investments have.
var beyondSamples = []string{
	"covered_from", "fields", "id_provider",
	"calculated", "diff", "diff_percent", "prev_diff", "prev_diff_percent", "valuation",
}

// Members are the names of the members that the bodies of events begin with, of all
// events together, in alphabetical order.
var Members = sync.OnceValue(func() []string {
	all := map[string]struct{}{}
	for _, name := range beyondSamples {
		all[name] = struct{}{}
	}
	for _, entry := range Events() {
		var body map[string]json.RawMessage
		if err := json.Unmarshal(Sample(entry.Event), &body); err != nil {
			panic("webhook: the sample of " + string(entry.Event) + " is no object: " + err.Error())
		}
		for name := range body {
			all[name] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(all))
})
