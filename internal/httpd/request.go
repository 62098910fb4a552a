package httpd

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// RequestIDHeader carries the request id in every answer. What a client sends
// under this name is ignored.
const RequestIDHeader = "X-Request-Id"

// exchange is what is known about a request while it is handled. It belongs to the goroutine of
// the request.
type exchange struct {
	id    string
	route string
	// answer is where headers of the answer are set.
	answer http.Header
	// encrypted means that the answer tells browsers to use https only.
	encrypted bool
	// body is the state of its body, nil for a request without a limiter.
	body *holding
}

type exchangeKey struct{}

// RequestID returns the id of the context's request in decimal digits that fit 63 bits, and
// empty outside of a request.
func RequestID(ctx context.Context) string {
	return exchangeOf(ctx).id
}

// SetRoute reports the matched route to the access log and the metrics. A handler calls it when
// it passes a copy of the request to its mux, because the pattern then stays on the copy. The
// route is a pattern of the program's own, never a path that a client sent.
func SetRoute(ctx context.Context, pattern string) {
	exchangeOf(ctx).route = pattern
}

// RequireTLS tells browsers to use https only from now on (RFC 6797), with any answer to the
// request. It is called before anything is written.
func RequireTLS(ctx context.Context) {
	x := exchangeOf(ctx)
	x.encrypted = true
	x.demandTLS()
}

// strictTransport is for a year.
const strictTransport = "max-age=31536000"

func (x *exchange) demandTLS() {
	if x.encrypted && x.answer != nil {
		x.answer.Set("Strict-Transport-Security", strictTransport)
	}
}

func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{}
}

func (x *exchange) attach(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
}

// matched is the route of a request that has been handled.
func (x *exchange) matched(r *http.Request) string {
	return cmp.Or(x.route, r.Pattern, "unmatched")
}

// sequence makes request ids. An id is the time in milliseconds and 20 random bits, which keep
// restarts and replicas apart. Within a process ids only grow, even when the clock is set back.
type sequence struct{ last atomic.Int64 }

func (s *sequence) next(now time.Time) string {
	fresh := now.UnixMilli()<<20 | rand.Int64N(1<<20)
	for {
		last := s.last.Load()
		id := max(fresh, last+1)
		if s.last.CompareAndSwap(last, id) {
			return strconv.FormatInt(id, 10)
		}
	}
}
