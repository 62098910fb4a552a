package httpd

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"passerelle/internal/tracing"
)

// RequestIDHeader is the header with the request's id in every response. The server ignores a value
// that a client sends under this name.
const RequestIDHeader = "X-Request-Id"

// exchange is the state of one request during its handling. It belongs to the goroutine of the
// request.
type exchange struct {
	id             string
	route          string
	responseHeader http.Header
	// encrypted is set when the response tells browsers to use only https.
	encrypted bool
	// body is the state of the request's body. It is nil for a request without a limiter.
	body *holding
	// span is the request's span in its trace.
	span tracing.TraceSpan
}

type exchangeKey struct{}

// RequestID returns the id of the context's request. The id consists of decimal digits and fits
// into 63 bits. RequestID returns an empty text outside of a request.
func RequestID(ctx context.Context) string {
	return exchangeOf(ctx).id
}

// SetRoute reports the matched route to the access log and the metrics. A handler calls it when it
// passes a copy of the request to its mux, because the mux sets the pattern only on the copy. The
// route must be a pattern of the program. It must never be a path that a client sent.
func SetRoute(ctx context.Context, pattern string) {
	exchangeOf(ctx).route = pattern
}

// RequireTLS makes the response tell browsers to use only https from now on (RFC 6797). The caller
// must not have written anything yet.
func RequireTLS(ctx context.Context) {
	x := exchangeOf(ctx)
	x.encrypted = true
	x.demandTLS()
}

// strictTransport is valid for a year.
const strictTransport = "max-age=31536000"

func (x *exchange) demandTLS() {
	if x.encrypted && x.responseHeader != nil {
		x.responseHeader.Set("Strict-Transport-Security", strictTransport)
	}
}

func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{}
}

// attach returns the request with a context that contains the exchange and its trace.
func (x *exchange) attach(tracer *tracing.Tracer, r *http.Request) *http.Request {
	ctx, span := tracer.Serve(r.Context(), r.Header)
	x.span = span
	return r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
}

// matched returns the route of a handled request.
func (x *exchange) matched(r *http.Request) string {
	return cmp.Or(x.route, r.Pattern, "unmatched")
}

// endSpan adds the request's data to the span, and ends the span. All data except request_id have
// the names of OpenTelemetry.
func (x *exchange) endSpan(method, route string, status int) {
	if !x.span.Recorded() {
		return
	}
	x.span.Rename(method + " " + route)
	x.span.Text("http.request.method", method)
	x.span.Text("http.route", route)
	x.span.Text("request_id", x.id)
	x.span.Number("http.response.status_code", int64(status))
	if status >= http.StatusInternalServerError || status == 0 {
		x.span.End(tracing.ErrFailed)
		return
	}
	x.span.End(nil)
}

// methodLabel returns the method of a request, as spans and metrics name it. Clients can invent
// methods.
func methodLabel(method string) string {
	if !methods[method] {
		return "_OTHER"
	}
	return method
}

// methods lists the methods that spans and metrics may name.
var methods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true,
}

// sequence makes request ids. An id contains the time in milliseconds and 20 random bits. The
// random bits distinguish the ids of replicas and of restarted processes. Within a process, ids
// always increase, even when the clock is set back.
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
