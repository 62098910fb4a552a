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

// exchange is what is known of a request while it is handled. It belongs to
// the goroutine of the request.
type exchange struct {
	id    string
	route string
	// answer is where headers of the answer are set.
	answer http.Header
	// encrypted says that browsers are told to come over https alone.
	encrypted bool
	// body is the state of its body, nil for a request without a limiter.
	body *holding
}

type exchangeKey struct{}

// RequestID is the id of the request that a context belongs to, in decimal
// digits that fit 63 bits; empty outside of a request.
func RequestID(ctx context.Context) string {
	return exchangeOf(ctx).id
}

// SetRoute tells the access log and the metrics which route matched. A handler
// calls it when it gives a copy of the request to its mux, for then the
// pattern stays on the copy. The route is a pattern of the program's own,
// never a path that a client sent.
func SetRoute(ctx context.Context, pattern string) {
	exchangeOf(ctx).route = pattern
}

// RequireTLS tells browsers to come over https alone from now on (RFC 6797), with
// the answer to the request, whatever that is. It is called before anything is
// written.
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

// sequence makes request ids. An id is the time in milliseconds, followed by
// 20 random bits that keep restarts and replicas apart; within a process ids
// only grow, also when the clock is set back.
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
