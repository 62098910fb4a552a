package overview

import (
	"fmt"
	"net/url"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/payment"
)

// concern is a problem for the operator. Address is the page on which the operator can solve it.
type concern struct {
	// Grave is set for a problem that stops payments or events.
	Grave                         bool
	What, Detail, Remedy, Address string
}

// These are limits for the first page of a domain.
const (
	maxConcerns  = 5
	fewWaiting   = 10_000
	longOpen     = 48 * time.Hour
	consentsSoon = 7 * 24 * time.Hour
	backupOld    = 48 * time.Hour
)

// concerns returns the problems in the domain, most serious first.
func (h *handler) concerns(pc *page.Context) ([]concern, error) {
	var grave, other []concern
	for _, find := range []func(*page.Context) ([]concern, error){
		h.unknownConcerns, h.webhookConcerns, h.bankConcerns, h.openConcerns, h.connectionConcerns, h.consentConcerns, h.backupConcerns, h.operatorConcerns,
	} {
		found, err := find(pc)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			if one.Grave {
				grave = append(grave, one)
			} else {
				other = append(other, one)
			}
		}
	}
	return append(grave, other...), nil
}

// unknownConcerns returns one problem for each order with an unknown outcome.
func (h *handler) unknownConcerns(pc *page.Context) ([]concern, error) {
	ids, err := h.DB.UnknownOutcomes(pc, pc.Domain.ID, maxConcerns)
	var all []concern
	for _, id := range ids {
		all = append(all, concern{
			Grave: true, What: fmt.Sprintf("Outcome unknown: the bank did not confirm payment %d", id), Detail: "The service keeps asking the bank. If the bank cannot tell, ask it, and settle the payment on its page.",
			Remedy: "See the payment", Address: pc.Path("/payments/%d", id),
		})
	}
	return all, err
}

// webhookConcerns returns one problem for each webhook whose receiver accepts nothing now.
func (h *handler) webhookConcerns(pc *page.Context) ([]concern, error) {
	failing, err := h.DB.Webhooks(pc, store.WebhookFilter{Domain: pc.Domain.ID, Failing: true}, store.Window{Limit: maxConcerns})
	if err != nil {
		return nil, err
	}
	ids := make([]passerelle.WebhookID, len(failing))
	for i, w := range failing {
		ids[i] = w.ID
	}
	waiting, err := h.DB.Pending(pc, pc.Domain.ID, fewWaiting, ids...)
	if err != nil {
		return nil, err
	}
	var all []concern
	for _, w := range failing {
		since, err := h.waitingSince(pc, w)
		if err != nil {
			return nil, err
		}
		all = append(all, webhookConcern(pc, w, waitingText(waiting[w.ID], since)))
	}
	return all, nil
}

// waitingSince returns the time for which the oldest undelivered event of a webhook has waited. It
// returns an empty text when no event waits, and for waits of less than a minute.
func (h *handler) waitingSince(pc *page.Context, w store.Webhook) (string, error) {
	first, err := h.DB.WebhookData(pc, store.WebhookDataFilter{Domain: pc.Domain.ID, Webhook: w.ID, State: store.WebhookPending}, store.Window{Backward: true, Limit: 1})
	if err != nil || len(first) == 0 {
		return "", err
	}
	age := pc.Now().Sub(first[0].Created)
	if age < time.Minute {
		return "", nil
	}
	return page.Age(age), nil
}

func webhookConcern(pc *page.Context, w store.Webhook, waiting string) concern {
	one := concern{
		What: fmt.Sprintf("Webhook %d (%s): the last %d requests failed", w.ID, w.Event, w.ConsecutiveFailures), Detail: waiting + " The service retries each one.",
		Remedy: "See what the endpoint answers", Address: pc.Path("/webhooks/%d", w.ID),
	}
	switch {
	case w.AuthDeleted:
		one.Grave, one.What, one.Remedy = true, fmt.Sprintf("Webhook %d (%s) sends nothing: its authentication provider was deleted", w.ID, w.Event), "Choose another provider"
		one.Detail, one.Address = waiting, pc.Path("/webhooks/%d/edit", w.ID)
	case w.Stopped:
		one.Grave, one.What, one.Remedy = true, fmt.Sprintf("Webhook %d (%s) is stopped after %d failures", w.ID, w.Event, w.ConsecutiveFailures), "Fix the endpoint, then send the waiting events"
	case w.ConsecutiveFailures == 1:
		one.What = fmt.Sprintf("Webhook %d (%s): the last request failed", w.ID, w.Event)
	}
	return one
}

// waitingText describes how many events wait, and how long the oldest event has waited.
func waitingText(events int64, since string) string {
	text := page.UpTo(events, fewWaiting) + " events wait"
	if events == 1 {
		text = "1 event waits"
	}
	if since == "" {
		return text + "."
	}
	return text + ", the oldest for " + since + "."
}

// bankConcerns returns one problem for each bank whose calls fail, and one for each certificate
// that expires soon.
func (h *handler) bankConcerns(pc *page.Context) ([]concern, error) {
	banks, err := h.Aggregation.Banks(pc, pc.Domain)
	var all []concern
	for _, b := range banks {
		health, monitored := h.Aggregation.Connectors.Health(b.UUID)
		if !monitored {
			continue
		}
		address := pc.Path("/connectors/%d", b.ID)
		if health.Disturbed() {
			all = append(all, concern{Grave: true, What: b.Name + " does not answer", Detail: unanswered(health.Open, health.Failures), Remedy: "See its recent calls", Address: address})
		}
		if end, soon := health.Expires(h.Now()); soon {
			all = append(all, concern{
				Grave: end.Until.Before(h.Now()), What: fmt.Sprintf("The certificate %s for %s expires on %s", end.Field, b.Name, end.Until.UTC().Format(time.DateOnly)),
				Remedy: "Renew it, then reload the bank files", Address: address,
			})
		}
	}
	return all[:min(len(all), maxConcerns)], err
}

// unanswered describes how calls to a bank fail. With here, this replica has seen the failures.
// Otherwise another replica has seen them.
func unanswered(here bool, failures int) string {
	if !here {
		return "Reported by another replica; this one still reaches the bank. The service retries automatically."
	}
	return fmt.Sprintf("%d calls failed in a row. The service retries automatically.", failures)
}

// openConcerns returns a problem when the oldest open payment has been open for a long time.
func (h *handler) openConcerns(pc *page.Context) ([]concern, error) {
	var all []concern
	for _, state := range []payment.State{payment.Validating, payment.Pending} {
		open, found, err := h.DB.OldestIn(pc, pc.Domain.ID, state)
		if err != nil {
			return nil, err
		}
		if age := pc.Now().Sub(open.Registered); found && age > longOpen {
			all = append(all, concern{
				What:   fmt.Sprintf("Payment %d has been %s for %s", open.ID, state, page.Age(age)),
				Detail: "The oldest payment in this state.", Remedy: "See what the payment is waiting for", Address: pc.Path("/payments/%d", open.ID),
			})
		}
	}
	return all, nil
}

// troubles has the texts about connections that cannot be read. The key says who can repair such a
// connection.
var troubles = map[passerelle.Resolution]struct{ one, many, detail string }{
	passerelle.ByNobody: {"1 connection is waiting for its bank", "%s connections are waiting for their banks", "No action is needed."},
	passerelle.ByPerson: {"1 connection is waiting for its user", "%s connections are waiting for their users", "Ask them to come back to the webview."},
	passerelle.ByRetry:  {"1 connection could not be read", "%s connections could not be read", "The service retries automatically."},
}

// connectionConcerns returns one problem for each state in which a connection cannot be read.
func (h *handler) connectionConcerns(pc *page.Context) ([]concern, error) {
	all, err := bankstore.From(h.DB).Troubles(pc, pc.Domain.ID)
	var found []concern
	for _, one := range all[:min(len(all), maxConcerns)] {
		trouble := troubles[passerelle.ConnectionState(one.State).Resolution()]
		what := trouble.one
		if one.Count > 1 {
			what = fmt.Sprintf(trouble.many, page.UpTo(one.Count, store.MaxOverviewRows))
		}
		found = append(found, concern{
			What: what, Detail: one.State + ". " + trouble.detail, Remedy: "See the connections", Address: pc.Path("/connections?state=%s", url.QueryEscape(one.State)),
		})
	}
	return found, err
}

// consentConcerns returns a problem when consents end soon.
func (h *handler) consentConcerns(pc *page.Context) ([]concern, error) {
	n, err := bankstore.From(h.DB).ConsentsEnding(pc, pc.Domain.ID, pc.Now(), pc.Now().Add(consentsSoon))
	if n == 0 || err != nil {
		return nil, err
	}
	return []concern{{
		What: "Consents that expire within 7 days: " + page.UpTo(n, store.MaxOverviewRows), Detail: "After that, their users must give a new consent.",
		Remedy: "See the users", Address: pc.Path("/users"),
	}}, nil
}

// backupGuide is the address of the guide that describes how to copy a database.
const backupGuide = "/docs/guides/operating#9-back-up-and-restore"

// backupConcerns returns a problem when the last copy of the database is old or missing. A sandbox
// never has this problem, because the operator can create a new sandbox.
func (h *handler) backupConcerns(pc *page.Context) ([]concern, error) {
	if pc.Domain.Kind != passerelle.Live {
		return nil, nil
	}
	begun, err := h.DB.LastBackup(pc)
	if err != nil {
		return nil, err
	}
	one := concern{
		What: "No backup was made yet", Detail: "What happened since the service began would be lost with the database.",
		Remedy: "Read how to back up", Address: backupGuide,
	}
	if begun == nil {
		return []concern{one}, nil
	}
	age := h.Now().Sub(*begun)
	if age <= backupOld {
		return nil, nil
	}
	one.What = fmt.Sprintf("The last backup is %d days old", age/(24*time.Hour))
	one.Detail = "What happened since then would be lost with the database."
	return []concern{one}, nil
}

// operatorConcerns returns a problem when the operator's own account has no second factor.
func (h *handler) operatorConcerns(pc *page.Context) ([]concern, error) {
	if pc.Certain() {
		return nil, nil
	}
	return []concern{{
		What: "You signed in without a second factor", Detail: "In a live domain you can look, but not change anything.", Remedy: "Turn it on", Address: page.Root + "account",
	}}, nil
}
