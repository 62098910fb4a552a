package webhooks

import (
	"slices"
	"strconv"

	"passerelle/internal/console/page"
	"passerelle/webhook"
)

// eventData is the content of the page that explains an event.
type eventData struct {
	webhook.Entry
	Facts []page.DetailRow
	// Sample is a sample of the payload.
	Sample   *page.JSONNode
	MaySetUp bool
}

// event explains the event with the number in the address.
func (h *hooks) event(pc *page.Context) error {
	all := webhook.Events()
	i := slices.IndexFunc(all, func(e webhook.Entry) bool { return int64(e.Number) == pc.Numbers[1] })
	if i < 0 {
		return page.ErrNoPage
	}
	one := all[i]
	whose := "no user"
	if one.OfUser() {
		whose = "a user"
	}
	data := eventData{
		Entry: one, MaySetUp: pc.MaySetUp(),
		Facts: page.Details("Payload", one.Payload, "In order with other events about the same", string(one.Subject), "Belongs to", whose),
	}
	data.Sample, _ = page.JSONTree(string(webhook.Sample(one.Event)))
	return pages.Send(pc, "event", string(one.Event), data)
}

// EventPath returns the path of the page that explains an event, below the path of the domain.
func EventPath(e webhook.Entry) string { return "/webhooks/events/" + strconv.Itoa(e.Number) }
