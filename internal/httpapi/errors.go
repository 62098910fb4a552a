package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"

	"passerelle"
	"passerelle/internal/store"
)

// errorBody is the body of every error response. It always has exactly these four keys, because
// strict clients cannot parse an error object with other keys.
type errorBody struct {
	Code        string  `json:"code" doc:"error code, for programs to decide on"`
	Description string  `json:"description" doc:"fixed description of the code"`
	Message     *string `json:"message" doc:"what was wrong with this request; null when there is no more to say"`
	RequestID   string  `json:"request_id" doc:"identifier of the request, in decimal digits; equal to the X-Request-Id header"`
}

// kindStatus maps each kind of error to its HTTP status.
var kindStatus = map[passerelle.Kind]int{
	passerelle.Invalid:         http.StatusBadRequest,
	passerelle.Unauthenticated: http.StatusUnauthorized,
	passerelle.Forbidden:       http.StatusForbidden,
	passerelle.NotFound:        http.StatusNotFound,
	passerelle.Conflict:        http.StatusConflict,
	passerelle.TooLarge:        http.StatusRequestEntityTooLarge,
	passerelle.Unavailable:     http.StatusServiceUnavailable,
}

// codes lists the error codes that clients distinguish. Each code has its usual status and its
// description. When finer is set, the row's status applies to every kind of error with this code.
var codes = map[string]struct {
	status      int
	finer       bool
	description string
}{
	"missingParameter":    {400, false, "A required parameter is missing."},
	"invalidValue":        {400, false, "A parameter has a value that cannot be accepted."},
	"badRequest":          {400, false, "The request cannot be understood."},
	"wrongpass":           {400, false, "The institution refused the credentials."},
	"notSupported":        {400, false, "The connector does not support this operation."},
	"websiteUnavailable":  {400, false, "The bank cannot be reached."},
	"invalidToken":        {401, false, "A valid token is required."},
	"authFailure":         {401, false, "The credentials are not valid."},
	"forbidden":           {403, false, "The token does not permit this operation."},
	"notFound":            {404, false, "The resource was not found."},
	"methodNotAllowed":    {405, true, "The resource does not support this method."},
	"conflict":            {409, false, "The request does not fit the current state of the resource."},
	"noAccount":           {409, false, "The user has no account that fits the request."},
	"connectionLocked":    {409, false, "The connection is being synchronised."},
	"payloadTooLarge":     {413, false, "The request is too large."},
	"rangeNotSatisfiable": {416, true, "The file has no such range."},
	"rateLimited":         {429, true, "Too many requests in a short time."},
	"bug":                 {500, false, "An internal error occurred."},
	"maintenance":         {503, false, "The service is down for maintenance."},
	"unavailable":         {503, false, "The service cannot respond at the moment."},
}

// fallbackDescription is the description of a code that is not in the map codes.
const fallbackDescription = "The request failed."

// statusClientGone is the status of a request whose client left before the response. In logs and
// metrics, it distinguishes this case from a failure of the service.
const statusClientGone = 499

// unknownOutcome is the message for store.ErrUnknown.
const unknownOutcome = "The database did not confirm the change in time. Send the request again with the same Idempotency-Key, or check first whether the change exists."

// failure is the content of a response about an error.
type failure struct {
	status     int
	code       string
	message    string
	retryAfter int
}

// classify returns what a client may know about an error. Only the text of a *passerelle.Error is
// for clients.
func classify(err error) failure {
	var reported *passerelle.Error
	switch {
	case errors.As(err, &reported) && statusOf(reported) != 0:
		return failure{status: statusOf(reported), code: reported.Code, message: reported.Message, retryAfter: reported.RetryAfter}
	case errors.Is(err, store.ErrUnknown):
		// Retry-After is absent, because the client has to find out first whether the change exists.
		return failure{status: http.StatusServiceUnavailable, code: "unavailable", message: unknownOutcome}
	case errors.Is(err, context.Canceled):
		return failure{status: statusClientGone, code: "unavailable"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, passerelle.Unavailable):
		return failure{status: http.StatusServiceUnavailable, code: "unavailable", retryAfter: 1}
	}
	return failure{status: http.StatusInternalServerError, code: "bug"}
}

func statusOf(e *passerelle.Error) int {
	if code := codes[e.Code]; code.finer {
		return code.status
	}
	return kindStatus[e.Kind]
}

func (f failure) body(requestID string) errorBody {
	body := errorBody{Code: f.code, Description: codes[f.code].description, RequestID: requestID}
	if body.Description == "" {
		body.Description = fallbackDescription
	}
	if f.message != "" {
		body.Message = &f.message
	}
	return body
}

// response is the response to a request. Its status, headers and JSON body are complete before the
// API writes the first byte.
type response struct {
	status int
	header http.Header
	body   []byte
	// content or stream is set when the output is a Content or a Stream. body is then nil.
	content *Content
	stream  *Stream
}

// newResponse returns a response with the common headers.
func newResponse(status int, body []byte, requestID string) response {
	header := http.Header{
		"Cache-Control":          {"no-store"},
		"X-Content-Type-Options": {"nosniff"},
		"X-Request-Id":           {requestID},
	}
	if status != http.StatusNoContent {
		// The value has no charset, because clients of this API family parse JSON only when the
		// header has exactly this value.
		header["Content-Type"] = []string{"application/json"}
		header["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	return response{status: status, header: header, body: body}
}

// failed converts an error to a response. It logs an error with a status of 500 or more, except
// during maintenance.
func (a *API) failed(ctx context.Context, err error) response {
	f := classify(err)
	a.logFailure(ctx, f, err)
	id := a.config.RequestID(ctx)
	body, marshalling := encode(f.body(id))
	if marshalling != nil {
		// JSON can encode any four strings. The API needs this body only if a later change makes
		// the encoding fail.
		body = []byte(`{"code":"bug","description":"An internal error occurred.","message":null,"request_id":"` + id + `"}`)
	}
	failed := newResponse(f.status, body, id)
	if f.retryAfter > 0 {
		failed.header.Set("Retry-After", strconv.Itoa(f.retryAfter))
	}
	var method *methodError
	if errors.As(err, &method) {
		failed.header.Set("Allow", method.allow)
	}
	if f.status == http.StatusUnauthorized {
		failed.header.Set("WWW-Authenticate", `Bearer realm="passerelle"`)
	}
	return failed
}

// methodError is a 405 error. Its response lists the methods that the path has.
type methodError struct {
	allow string
	cause error
}

func (e *methodError) Error() string { return e.cause.Error() }
func (e *methodError) Unwrap() error { return e.cause }

func (a *API) logFailure(ctx context.Context, f failure, err error) {
	if f.status < http.StatusInternalServerError || f.code == "maintenance" {
		return
	}
	a.config.Log.LogAttrs(ctx, slog.LevelError, "request failed",
		slog.String("request_id", a.config.RequestID(ctx)), slog.Int("status", f.status), slog.Any("error", err))
}

func (res response) write(w http.ResponseWriter, r *http.Request, refuse func(error) response) {
	header := w.Header()
	for name, values := range res.header {
		header[name] = slices.Clone(values)
	}
	switch {
	case res.content != nil:
		res.writeContent(w, r, refuse)
		return
	case res.stream != nil:
		res.writeStream(w, r, refuse)
		return
	}
	w.WriteHeader(res.status)
	if r.Method != http.MethodHead {
		// An error only means that the client has left.
		_, _ = w.Write(res.body)
	}
}

// RawJSON is an output that is already JSON. The API sends it unchanged.
type RawJSON []byte

// encode renders a complete output before the API sends the first byte. A value that cannot be
// rendered then causes an error instead of an incomplete body.
func encode(out any) ([]byte, error) {
	if document, ok := out.(RawJSON); ok {
		return document, nil
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
