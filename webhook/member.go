package webhook

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

// DeliveryMember is the member of each JSON body that contains the delivery's id. The service adds
// it to the body of the event.
const DeliveryMember = "id_webhook_data"

// beyondSamples lists the top-level members that bodies can have and samples omit: covered_from,
// and members that only some connections or only investment accounts have.
var beyondSamples = []string{
	"covered_from", "fields", "id_provider",
	"calculated", "diff", "diff_percent", "prev_diff", "prev_diff_percent", "valuation",
}

// Members lists the names of the top-level members of all event bodies, in alphabetical order.
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
