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
	"passerelle/internal/settings"
)

// ratePeriod is the time for which a limit counts requests. A source without requests during a
// period may use the whole limit immediately.
const ratePeriod = time.Minute

// networkBits is the length of the IPv6 prefix that network providers assign to one customer. All
// addresses with the same prefix share one quota.
const networkBits = 64

// source is the sender of counted requests: a token or an address, in a domain. limit is the key of
// the setting that contains the largest number of requests per minute.
type source struct {
	domain  passerelle.DomainID
	token   int64
	address netip.Prefix
	limit   string
}

// addressSource returns the source for an address. All callers without a valid address share one
// quota.
func addressSource(domain passerelle.DomainID, text, limit string) source {
	address, _ := netip.ParseAddr(text)
	address = address.Unmap()
	bits := address.BitLen()
	if address.Is6() {
		bits = networkBits
	}
	network, _ := address.Prefix(bits)
	return source{domain: domain, address: network, limit: limit}
}

func (x *exchange) fromAddress() source {
	return addressSource(x.caller.Domain.ID, x.caller.Address, settings.AddressRate)
}

func (x *exchange) fromToken() source {
	return source{domain: x.caller.Domain.ID, token: x.caller.Token, limit: settings.TokenRate}
}

// quota holds the values that responses show about a source's limit. The zero value is for a source
// without a limit.
type quota struct {
	limit, remaining int64
	// reset is the time until the source has its whole limit again. wait is zero for a counted
	// request. For a refused request, it is the time until the source may send another one.
	reset, wait time.Duration
}

// show sets the headers of a response that describe the quota.
func (q quota) show(header http.Header) {
	if q.limit == 0 {
		return
	}
	header.Set("RateLimit-Limit", strconv.FormatInt(q.limit, 10))
	header.Set("RateLimit-Remaining", strconv.FormatInt(q.remaining, 10))
	header.Set("RateLimit-Reset", strconv.Itoa(seconds(q.reset)))
}

// seconds returns a number of whole seconds, rounded up.
func seconds(length time.Duration) int { return int(math.Ceil(length.Seconds())) }

// maxSources is the largest number of sources that a meter stores. This keeps a meter below a few
// megabytes.
const maxSources = 50_000

// meter counts the requests of sources in this process. The zero value is ready for use.
type meter struct {
	mu sync.Mutex
	// whole maps each source to the time at which the source has its whole limit again. After that
	// time, the meter treats the source as absent.
	whole map[source]time.Time
}

// take counts a request. A request beyond the limit must wait, and take does not count it. Repeated
// attempts therefore do not make the wait longer.
func (m *meter) take(from source, limit int64, now time.Time) quota {
	m.mu.Lock()
	defer m.mu.Unlock()
	whole := m.whole[from]
	if whole.Before(now) || whole.After(now.Add(ratePeriod)) { // a time later than possible means that the clock was set back
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

// evicted limits the random sources that one call of note inspects.
const evicted = 8

// note stores a source. Above half of maxSources, it inspects some sources and drops those that
// have their whole limit again. Above maxSources, it drops all the sources that it inspects.
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

// take counts a request of a source. It returns the zero quota for a source without a limit.
func (a *API) take(domain passerelle.DomainKind, values settings.Values, from source) quota {
	rate := values.Int(from.limit)
	if rate == 0 || !values.Limited(domain) {
		return quota{}
	}
	return a.meter.take(from, rate, a.config.Now())
}

// Count counts a request that another handler serves, such as one for a page. If limit is
// settings.AddressRate, such requests and API calls from one address share one quota. Count returns
// the time for which the address must wait, or zero.
func (a *API) Count(r *http.Request, domain passerelle.Domain, values settings.Values, limit string) time.Duration {
	return a.take(domain.Kind, values, addressSource(domain.ID, Address(r, a.config.TrustedProxies), limit)).wait
}

// limit fails for a request of a source that has used its whole quota.
func (a *API) limit(x *exchange, from source, whose string) error {
	q := a.take(x.caller.Domain.Kind, x.caller.Settings, from)
	if q.limit == 0 {
		return nil
	}
	if x.quota.limit == 0 || q.remaining <= x.quota.remaining {
		x.quota = q
	}
	if q.wait == 0 {
		return nil
	}
	return &passerelle.Error{
		Kind: passerelle.Unavailable, Code: "rateLimited", RetryAfter: seconds(q.wait),
		Message: fmt.Sprintf("More than %d requests a minute %s; try again after the number of seconds in Retry-After.", q.limit, whose),
	}
}
