package overview

import (
	"fmt"
	"strings"
	"time"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/console/page"
	"passerelle/internal/store"
)

// concern is a problem for the operator. Remedy is the text of a link, and Address is its target.
type concern struct {
	// Grave is set for a problem that stops payments or events.
	Grave                         bool
	What, Detail, Remedy, Address string
	// Ends is the time at which something stops working, if that time is known.
	Ends page.When
}

// These are limits for the first page of a domain.
const (
	maxConcerns  = 5
	fewWaiting   = 10_000
	consentsSoon = 7 // days
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

// unknownConcerns returns one problem for each of the first orders with an unknown outcome, and one
// problem that counts the others.
func (h *handler) unknownConcerns(pc *page.Context) ([]concern, error) {
	ids, err := h.DB.UnknownOutcomes(pc, pc.Domain.ID, maxConcerns)
	if err != nil {
		return nil, err
	}
	found, err := h.DB.CountUnknownOutcomes(pc, pc.Domain.ID)
	var all []concern
	for _, id := range ids {
		all = append(all, concern{
			Grave: true, What: fmt.Sprintf("Outcome unknown: the bank did not confirm payment %d", id), Detail: "The service asks again if it can. If the payment stays here, ask the bank, and settle the payment on its page.",
			Remedy: "See the payment", Address: pc.Path("/payments/%d", id),
		})
	}
	if more := moreText(found, "payment with an unknown outcome", "payments with an unknown outcome"); more != "" {
		all = append(all, concern{Grave: true, What: more, Remedy: "See the payments", Address: pc.Path("/payments/unknown")})
	}
	return all, err
}

// moreText says how many problems the page does not list. It returns an empty text when the page
// lists all problems.
func moreText(found int64, one, many string) string {
	more := found - maxConcerns
	switch {
	case more <= 0:
		return ""
	case more == 1:
		return "1 more " + one
	}
	return page.UpTo(more, store.MaxOverviewRows-maxConcerns) + " more " + many
}

// webhookConcerns returns one problem for each of the first failing webhooks, and one problem that
// counts the others.
func (h *handler) webhookConcerns(pc *page.Context) ([]concern, error) {
	failing, err := h.DB.Webhooks(pc, store.WebhookFilter{Domain: pc.Domain.ID, Failing: true}, store.Window{Limit: maxConcerns})
	if err != nil {
		return nil, err
	}
	more, err := h.otherWebhooks(pc, failing)
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
		all = append(all, webhookConcern(pc, w, waiting[w.ID], since))
	}
	if more.What != "" {
		all = append(all, more)
	}
	return all, nil
}

// otherWebhooks returns the line that counts the failing webhooks that the page does not list. The
// line is grave when one of these webhooks sends nothing.
func (h *handler) otherWebhooks(pc *page.Context, listed []store.Webhook) (concern, error) {
	found, err := h.DB.CountWebhooks(pc, store.WebhookFilter{Domain: pc.Domain.ID, Failing: true})
	if err != nil {
		return concern{}, err
	}
	silent, err := h.DB.CountWebhooks(pc, store.WebhookFilter{Domain: pc.Domain.ID, Silent: true})
	for _, w := range listed {
		if w.Stopped || w.AuthDeleted {
			silent--
		}
	}
	return concern{
		Grave: silent > 0, What: moreText(found, "failing webhook", "failing webhooks"), Remedy: "See the failing webhooks", Address: pc.Path("/webhooks?failing"),
	}, err
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

// webhookConcern returns the problem of a failing webhook. Events is the number of waiting events,
// which is zero if only tests failed. The oldest event has waited for the time since.
func webhookConcern(pc *page.Context, w store.Webhook, events int64, since string) concern {
	waiting, retries, later := waitingText(events, since), " The service retries each one.", " New events wait too."
	if events == 0 {
		retries, later = "", " New events wait."
	}
	one := concern{
		What: fmt.Sprintf("Webhook %d (%s): the last %d requests failed", w.ID, w.Event, w.ConsecutiveFailures), Detail: waiting + retries,
		Remedy: "See the endpoint's responses", Address: pc.Path("/webhooks/%d", w.ID),
	}
	switch {
	case w.AuthDeleted:
		one.Grave, one.What, one.Remedy = true, fmt.Sprintf("Webhook %d (%s) sends nothing: its authentication provider was deleted", w.ID, w.Event), "Choose another provider"
		one.Detail, one.Address = waiting, pc.Path("/webhooks/%d/edit", w.ID)
	case w.Stopped:
		one.Grave, one.Remedy = true, "Fix the endpoint, then send the waiting events"
		one.What = fmt.Sprintf("Webhook %d (%s) sends only retries after %s in a row", w.ID, w.Event, page.Counted(w.ConsecutiveFailures, "failure", "failures"))
		one.Detail = waiting + later + " At intervals, the service tries some events again. It sends all when the endpoint accepts one."
	case w.ConsecutiveFailures == 1:
		one.What = fmt.Sprintf("Webhook %d (%s): the last request failed", w.ID, w.Event)
	}
	return one
}

// waitingText describes how many events wait, and how long the oldest event has waited.
func waitingText(events int64, since string) string {
	text := page.UpTo(events, fewWaiting) + " events wait"
	switch events {
	case 0:
		return "No event waits."
	case 1:
		text = "1 event waits"
	}
	if since == "" {
		return text + "."
	}
	return text + ", the oldest for " + since + "."
}

// bankConcerns returns problems for banks that refuse the service, banks with failing calls, and
// banks with a certificate that has expired or expires soon.
func (h *handler) bankConcerns(pc *page.Context) ([]concern, error) {
	var all []concern
	for _, bank := range h.Aggregation.Connectors.Unhealthy(h.Now()) {
		if !bank.Profile.UsableIn(pc.Domain) {
			continue
		}
		address, health := pc.Path("/connectors/%d", bank.Profile.ID), bank.Health
		if health.Refused {
			all = append(all, concern{Grave: true, What: "Refused by the bank: " + bank.Profile.Name, Detail: "The bank does not accept the service's certificate, signature, role or clock. The log has its response.", Remedy: "Check the bank file and the clock", Address: address})
		} else if health.Disturbed() {
			all = append(all, concern{Grave: true, What: bank.Profile.Name + " does not answer", Detail: unanswered(health.Open, health.Failures), Remedy: "See its recent calls", Address: address})
		}
		if end, soon := health.Expires(h.Now()); soon {
			all = append(all, concern{
				Grave: end.Until.Before(h.Now()), What: fmt.Sprintf("The certificate %s for %s %s", end.Field, bank.Profile.Name, expiry(end.Until.Sub(h.Now()))), Ends: pc.RealWhen(end.Until),
				Remedy: "Renew it, then reload the bank files", Address: address,
			})
		}
	}
	return worst(all, "%d more problems with banks", concern{Remedy: "See all banks", Address: pc.Path("/connectors")}), nil
}

// expiry says whether a certificate has expired, or how soon it expires.
func expiry(left time.Duration) string {
	if left < 0 {
		return "has expired"
	}
	return "expires in " + page.Age(left)
}

// worst returns the first maxConcerns problems and the problem `rest`, which counts the others. The
// argument `words` is the format of its text. If there is at most one other problem, worst returns
// all problems.
func worst(all []concern, words string, rest concern) []concern {
	more := len(all) - maxConcerns
	if more <= 1 {
		return all
	}
	rest.Grave, rest.What = all[maxConcerns].Grave, fmt.Sprintf(words, more)
	return append(all[:maxConcerns:maxConcerns], rest)
}

// unanswered describes how calls to a bank fail. Either this replica or another one has seen the
// failures.
func unanswered(here bool, failures int) string {
	if !here {
		return "Reported by another replica; this one still reaches the bank. The service retries automatically."
	}
	return fmt.Sprintf("%d calls failed in a row. The service retries automatically.", failures)
}

// troubles lists the kinds of connections that cannot be read. Each kind says who can repair them.
// Connections in the state validating need no repair. A sync reads them now, or will do so soon.
var troubles = []struct {
	by                                 passerelle.Resolution
	filter, one, many, forOne, forMany string
}{
	{passerelle.ByPerson, page.UntilUser, "1 connection waits for its user", "%s connections wait for their users", "Ask the user to open the webview again.", "Ask these users to open the webview again."},
	{passerelle.ByRetry, page.UntilRetry, "1 connection cannot be read", "%s connections cannot be read", "The service retries automatically.", "The service retries automatically."},
}

// connectionConcerns returns a problem for each kind of connections that cannot be read.
func (h *handler) connectionConcerns(pc *page.Context) ([]concern, error) {
	all, err := bankstore.From(h.DB).Troubles(pc, pc.Domain.ID)
	if err != nil {
		return nil, err
	}
	var found []concern
	for _, kind := range troubles {
		count, states, counts := int64(0), []string(nil), []int64(nil)
		for _, one := range all {
			if passerelle.ConnectionState(one.State).Resolution() == kind.by {
				count += one.Count
				states, counts = append(states, page.ConnectionWord(one.State).Word()), append(counts, one.Count)
			}
		}
		if count == 0 {
			continue
		}
		what, detail := kind.one, states[0]+". "+kind.forOne
		if count > 1 {
			what, detail = fmt.Sprintf(kind.many, page.UpTo(count, store.MaxOverviewRows)), countedStates(states, counts)+". "+kind.forMany
		}
		found = append(found, concern{
			What: what, Detail: upperFirst(detail), Remedy: "See the connections", Address: pc.Path("/connections?state=%s", kind.filter),
		})
	}
	return found, nil
}

// countedStates returns the states in words with the number of connections in each state.
func countedStates(states []string, counts []int64) string {
	texts := make([]string, len(states))
	for i, state := range states {
		texts[i] = state + ": " + page.UpTo(counts[i], store.MaxOverviewRows)
	}
	return strings.Join(texts, ", ")
}

// upperFirst returns a text with a capital first letter. The first letter must be ASCII.
func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// consentConcerns returns a problem when consents end soon.
func (h *handler) consentConcerns(pc *page.Context) ([]concern, error) {
	n, err := bankstore.From(h.DB).ConsentsEnding(pc, pc.Domain.ID, pc.Now(), pc.Now().AddDate(0, 0, consentsSoon))
	if n == 0 || err != nil {
		return nil, err
	}
	return []concern{{
		What: fmt.Sprintf("Consents that expire within %d days: %s", consentsSoon, page.UpTo(n, store.MaxOverviewRows)), Detail: "After that, their users must give a new consent.",
		Remedy: "See the connections", Address: pc.Path("/connections?ends=%d", consentsSoon),
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

// operatorConcerns returns a problem in a live domain when the operator signed in without a second
// factor.
func (h *handler) operatorConcerns(pc *page.Context) ([]concern, error) {
	if pc.Certain() {
		return nil, nil
	}
	return []concern{{
		What: "You signed in without a second factor", Detail: "In a live domain you can look, but not change anything.", Remedy: "Turn it on", Address: page.Root + "account",
	}}, nil
}
