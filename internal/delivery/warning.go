package delivery

import (
	"fmt"
	"strings"
	"time"

	"passerelle/internal/store"
	"passerelle/webhook"
)

// Warning reports a webhook when less than fewSuccesses percent of its requests in a day succeeded,
// or when requests took longer than slowRequest on average.
const (
	fewSuccesses = 95 // per hundred requests
	slowRequest  = 5 * time.Second
)

// Warning describes in sentences what an operator should know about a webhook. It says that too
// many requests fail, or that requests take too long. It also says that nothing is sent because the
// authentication provider was deleted, or that requests contain nothing that proves their sender. A
// user token of the webhook's application proves the sender too. Warning returns "" when there is
// nothing to report.
func Warning(w store.Webhook, h store.Health) string {
	var all []string
	if h.Successes*100 < h.Requests*fewSuccesses {
		all = append(all, fmt.Sprintf("In the last 24 hours, %[2]d of %[1]d requests failed.", h.Requests, h.Requests-h.Successes))
	}
	if h.Average() > slowRequest {
		all = append(all, fmt.Sprintf("A request takes %d ms on average.", h.Average().Milliseconds()))
	}
	entry, _ := webhook.Lookup(string(w.Event))
	switch {
	case w.AuthDeleted:
		all = append(all, "Nothing is sent, because the authentication provider was deleted. Events wait until the webhook has another one.")
	case w.Auth != 0:
	case entry.Subject == webhook.SubjectPayment:
		all = append(all, "Requests are not authenticated: the event belongs to no user, and the webhook has no authentication provider.")
	case w.Client == 0:
		all = append(all, "Requests are not authenticated: the webhook has neither an authentication provider nor an application whose user tokens it could send.")
	}
	return strings.Join(all, " ")
}
