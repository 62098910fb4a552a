package overview

import (
	"fmt"
	"time"

	"passerelle/internal/console/page"
	"passerelle/internal/store"
	"passerelle/payment"
)

// A payment has waited too long when it has waited longer than a limit. The limit is the usual time
// of payments with the same bank, multiplied by manyTimes, but at least shortWait and at most
// longWait. The limit is longWait for a bank with fewer than fewPayments executed or accepted
// payments in the last 28 days.
const (
	manyTimes   = 20
	fewPayments = 20
	shortWait   = time.Hour
	longWait    = 48 * time.Hour
)

// usualTimes maps the UUID of each bank to the counts of its payments in the last 28 days.
type usualTimes map[string]*counts

// limit returns how long a payment with a bank may wait.
func (u usualTimes) limit(bank string) time.Duration {
	n := u[bank]
	if n == nil || n.final < fewPayments {
		return longWait
	}
	return min(max(manyTimes*(n.open/time.Duration(n.final)), shortWait), longWait)
}

// text describes how long payments with a bank usually take.
func (u usualTimes) text(bank string) string {
	if n := u[bank]; n != nil && n.final >= fewPayments {
		return "Payments with this bank usually take " + n.finalText() + "."
	}
	return "Few payments with this bank ended lately, so the usual time is not known."
}

// openConcerns returns a problem for each bank whose oldest validating payment has waited too long.
// It does the same for pending payments. If there are too many problems for a state, the last
// problem is the number of further banks.
func (h *handler) openConcerns(pc *page.Context) ([]concern, error) {
	var all []concern
	for _, state := range []payment.State{payment.Validating, payment.Pending} {
		queues, err := h.DB.Queues(pc, pc.Domain.ID, state)
		if err != nil {
			return nil, err
		}
		found, err := h.slow(pc, state, queues)
		if err != nil {
			return nil, err
		}
		rest := concern{Remedy: "See the payments", Address: pc.Path("/payments?state=%s", state)}
		all = append(all, worst(found, "%d more banks have payments that have been "+waits[state]+" longer than usual", rest)...)
	}
	return all, nil
}

// slow returns a problem for each queue whose oldest payment has waited too long. The queue that
// began first comes first.
func (h *handler) slow(pc *page.Context, state payment.State, queues []store.Queue) ([]concern, error) {
	if len(queues) == 0 || pc.Now().Sub(queues[0].Since) <= shortWait {
		return nil, nil // the payments of all other queues have waited less
	}
	usual, err := h.usualTimes(pc)
	if err != nil {
		return nil, err
	}
	var all []concern
	for _, q := range queues {
		if age := pc.Now().Sub(q.Since); age > usual.limit(q.ConnectorUUID) {
			all = append(all, stuck(pc, q, state, age, usual))
		}
	}
	return all, nil
}

var waits = map[payment.State]string{payment.Validating: "waiting for approval", payment.Pending: "in progress"}

func stuck(pc *page.Context, q store.Queue, state payment.State, age time.Duration, usual usualTimes) concern {
	return concern{
		What:   fmt.Sprintf("Payment %d has been %s at %s for %s", q.First, waits[state], q.Connector, page.Age(age)),
		Detail: "The oldest payment in this state at this bank. " + usual.text(q.ConnectorUUID), Remedy: "See what the payment is waiting for", Address: pc.Path("/payments/%d", q.First),
	}
}

// usualTimes counts the payments of the last 28 days, by bank.
func (h *handler) usualTimes(pc *page.Context) (usualTimes, error) {
	all, err := h.volumes.count(pc, spans[1])
	_, sums := grouped(all, bankOf)
	return sums, err
}
