package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"passerelle"
)

// ratePeriod is the time for which a limit counts requests. A source that sent nothing during a
// period may use the whole limit at once.
const ratePeriod = time.Minute

// networkBits is the length of the IPv6 prefix that identifies a customer. A customer has all
// addresses with that prefix.
const networkBits = 64

// source is where counted requests come from: a token or an address, in a domain.
type source struct {
	domain  passerelle.DomainID
	token   int64
	address netip.Prefix
}

func (x *exchange) fromAddress() source {
	address, _ := netip.ParseAddr(x.caller.Address) // callers without a valid address share one quota
	address = address.Unmap()
	bits := address.BitLen()
	if address.Is6() {
		bits = networkBits
	}
	network, _ := address.Prefix(bits)
	return source{domain: x.caller.Domain.ID, address: network}
}

func (x *exchange) fromToken() source {
	return source{domain: x.caller.Domain.ID, token: x.caller.Token}
}

// quota is what answers show of a source's limit. The zero value is for a source without a limit.
type quota struct {
	limit, remaining int64
	// reset is the time until the whole limit is available again. wait is the time until one more
	// request is possible.
	reset, wait time.Duration
}

// show sets the headers of an answer.
func (q quota) show(header http.Header) {
	if q.limit == 0 {
		return
	}
	header.Set("RateLimit-Limit", strconv.FormatInt(q.limit, 10))
	header.Set("RateLimit-Remaining", strconv.FormatInt(q.remaining, 10))
	header.Set("RateLimit-Reset", strconv.Itoa(seconds(q.reset)))
}

// seconds returns whole seconds, rounded up.
func seconds(length time.Duration) int { return int(math.Ceil(length.Seconds())) }

// maxSources is how many sources a meter stores, which limits it to a few megabytes.
const maxSources = 50_000

// meter counts the requests of sources, for this process only. The zero value is ready for use.
type meter struct {
	mu sync.Mutex
	// whole is when each source has its whole limit again. A source counts as absent once that time
	// has passed.
	whole map[source]time.Time
}

// take counts a request. A request beyond the limit must wait and is not counted, so repeated
// attempts do not make the wait longer.
func (m *meter) take(from source, limit int64, now time.Time) quota {
	m.mu.Lock()
	defer m.mu.Unlock()
	whole := m.whole[from]
	if whole.Before(now) || whole.After(now.Add(ratePeriod)) { // a time later than possible shows that the clock was set back
		whole = now
	}
	each := ratePeriod / time.Duration(limit)
	after := whole.Add(each)
	if wait := after.Sub(now) - ratePeriod; wait > 0 {
		return quota{limit: limit, reset: whole.Sub(now), wait: wait}
	}
	m.note(from, after, now)
	return quota{limit: limit, remaining: int64((ratePeriod - after.Sub(now)) / each), reset: after.Sub(now)}
}

// evicted is how many random sources each call of note inspects.
const evicted = 8

// note stores a source. Above half of maxSources, it inspects some sources and drops those that
// have their whole limit again. Above maxSources, it drops all that it inspects.
func (m *meter) note(from source, whole, now time.Time) {
	if m.whole == nil {
		m.whole = map[source]time.Time{}
	}
	m.whole[from] = whole
	looked := 0
	for other, at := range m.whole {
		if looked == evicted || len(m.whole) <= maxSources/2 {
			return
		}
		if looked++; at.Before(now) || len(m.whole) > maxSources {
			delete(m.whole, other)
		}
	}
}

// limit returns an error for a request of a source that has used up its quota. The setting key
// defines the quota.
func (a *API) limit(x *exchange, from source, key, whose string) error {
	rate := x.caller.Settings.Int(key)
	if rate == 0 || !x.caller.Settings.Limited(x.caller.Domain.Kind) {
		return nil
	}
	q := a.meter.take(from, rate, a.config.Now())
	if x.quota.limit == 0 || q.remaining <= x.quota.remaining {
		x.quota = q
	}
	if q.wait == 0 {
		return nil
	}
	return &passerelle.Error{
		Kind: passerelle.Unavailable, Code: "rateLimited", RetryAfter: seconds(q.wait),
		Message: fmt.Sprintf("More than %d requests a minute %s; try again after the seconds that Retry-After tells.", rate, whose),
	}
}
