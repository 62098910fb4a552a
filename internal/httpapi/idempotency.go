package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

// maxKey is the largest length of an Idempotency-Key in characters. The characters must be
// printable ASCII.
const maxKey = 255

// settleTimeout limits the time to record the end of an execution. It is shorter than the lease of
// a key.
const settleTimeout = 10 * time.Second

// repeatable executes a call, or returns the stored response of an earlier call with the same
// Idempotency-Key. A key has no effect on a route that takes no key. It has no effect on a call
// without a token, because the key would have no owner.
func (a *API) repeatable(ctx context.Context, x *exchange) (response, error) {
	keys := x.request.Header["Idempotency-Key"]
	if len(keys) == 0 || !x.endpoint.route.takesKey() || x.caller.Token == 0 {
		return a.run(ctx, x)
	}
	if len(keys) > 1 || !printable(keys[0]) {
		return response{}, passerelle.InvalidField("Idempotency-Key", "must be sent once, with 1 to %d printable ASCII characters", maxKey)
	}
	claim, err := a.config.Responses.ClaimKey(ctx, x.repeatKey(keys[0]))
	switch {
	case err != nil:
		return response{}, err
	case claim.Other:
		return response{}, passerelle.Conflicting("This Idempotency-Key was used with a different request.")
	case claim.Response != nil:
		return replayed(claim.Response)
	case claim.Wait > 0:
		return response{}, underWay(claim.Wait)
	}
	return a.execute(ctx, x, claim)
}

func printable(key string) bool {
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return key != "" && len(key) <= maxKey
}

// longestWait limits the Retry-After of a repetition. Most requests end long before their lease
// expires.
const longestWait = 5 * time.Second

func underWay(wait time.Duration) error {
	err := passerelle.Conflicting("Another request with this Idempotency-Key is still in progress.")
	err.RetryAfter = int(math.Ceil(min(wait, longestWait).Seconds()))
	return err
}

// repeatKey identifies a request by its method, path, parameters, media type and body. The order of
// the query parameters does not matter. The boundary of a multipart form does not matter either,
// because clients choose a new boundary for each request.
func (x *exchange) repeatKey(key string) store.RepeatKey {
	keyHash := sha256.Sum256([]byte(key))
	hash := sha256.New()
	media, body := x.request.Header.Get("Content-Type"), x.raw
	if kind, parameters, err := mime.ParseMediaType(media); err == nil && parameters["boundary"] != "" {
		media, body = kind, bytes.ReplaceAll(body, []byte(parameters["boundary"]), nil)
	}
	for _, part := range []string{x.request.Method, x.path, x.query.Encode(), media} {
		fmt.Fprintf(hash, "%d %s", len(part), part)
	}
	hash.Write(body)
	return store.RepeatKey{Domain: x.caller.Domain.ID, Token: x.caller.Token, Key: keyHash[:], Request: hash.Sum(nil)}
}

// execute runs the call, and ends the execution. A call whose key another execution has taken over
// is answered like a repetition, because all requests with the key get the same response.
func (a *API) execute(ctx context.Context, x *exchange, claim store.Claim) (response, error) {
	x.caller.Execution, x.caller.Made = claim.Execution, claim.Subject
	defer a.config.Responses.HoldKey(ctx, claim.Execution)()
	settled := false
	defer func() {
		if !settled { // happens only when the call panicked
			a.end(ctx, x, x.release)
		}
	}()
	if claim.Subject != 0 {
		a.showMade(x, claim.Subject)
	}
	result, err := a.run(store.Creating(ctx, claim.Execution, x.endpoint.route.Creates), x)
	settled = true
	switch {
	case errors.Is(err, store.ErrTakenOver):
		return a.stored(ctx, x)
	case err != nil:
		result = a.failed(ctx, err)
	case x.caller.kept != nil: // the endpoint has stored the response, see KeepResponse
		return result, nil
	}
	return a.settle(ctx, x, result)
}

// settle ends an execution with a response. It does not store the response when the input was
// refused, or when the API does not store such a response (see keeps).
func (a *API) settle(ctx context.Context, x *exchange, result response) (response, error) {
	record := x.release
	if x.entered && keeps(result.status, result.header) {
		kept, err := result.keep()
		if err != nil {
			return response{}, fmt.Errorf("keep a response: %w", err)
		}
		record = func(tx *store.Tx) error { return tx.KeepResponse(x.caller.Execution, kept) }
	}
	x.withdrawn = result.status == http.StatusBadRequest && x.caller.Made == 0
	if owner := a.end(ctx, x, record); !owner {
		return a.stored(ctx, x)
	}
	return result, nil
}

// stored returns the response of the execution that has taken over the key. It fails while that
// execution has stored none.
func (a *API) stored(ctx context.Context, x *exchange) (response, error) {
	kept, err := a.config.Responses.StoredResponse(ctx, x.caller.Execution)
	if errors.Is(err, store.ErrNotFound) {
		return response{}, underWay(longestWait)
	}
	if err != nil {
		return response{}, err
	}
	return replayed(kept)
}

// showMade replaces a call by the call that reads the object that an earlier execution has created.
// It keeps the parameters expand and sign_response. The object may be disabled, so the new call
// requests all if it can. showMade changes nothing for a route without Creates or with Resumes.
func (a *API) showMade(x *exchange, made int64) {
	if x.endpoint.route.Creates == "" || x.endpoint.route.Resumes {
		return
	}
	found, values := a.router.find(append(slices.Clone(x.segments), strconv.FormatInt(made, 10)), nil)
	h := found.methods[http.MethodGet]
	x.endpoint, x.pattern, x.names, x.values, x.raw = h.endpoint, h.pattern, h.names, values, nil
	maps.DeleteFunc(x.query, func(name string, _ []string) bool { return name != "expand" && name != signParameter })
	const all = "all" // the parameter of All
	if x.endpoint.plan.query.find(all) != nil {
		x.query.Set(all, "")
	}
}

// keeps reports whether repetitions receive the same response. The API does not store responses
// with status 400, with status 499 and above, or with Retry-After.
func keeps(status int, header http.Header) bool {
	return status != http.StatusBadRequest && status < statusClientGone && header.Get("Retry-After") == ""
}

// storedResponse is the stored form of a response.
type storedResponse struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// keep returns the stored form of a response.
func (res response) keep() ([]byte, error) {
	return json.Marshal(storedResponse{Status: res.status, Header: res.header, Body: res.body})
}

func replayed(kept []byte) (response, error) {
	var k storedResponse
	if err := json.Unmarshal(kept, &k); err != nil {
		return response{}, fmt.Errorf("read a stored response: %w", err)
	}
	k.Header.Set("Idempotency-Replayed", "true")
	return response{status: k.Status, header: k.Header, body: k.Body}, nil
}

// release ends the execution without a response to store.
func (x *exchange) release(tx *store.Tx) error {
	if x.withdrawn {
		tx.ForgetSubject(x.caller.Execution)
	}
	tx.ReleaseKey(x.caller.Execution)
	return nil
}

// end records the end of an execution, even when the client has left. It returns false when the
// execution no longer owns its key. When recording fails for another reason, the response to the
// call stays the same. The lease then expires, and a repetition finds the created object, if any.
func (a *API) end(ctx context.Context, x *exchange, record func(tx *store.Tx) error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	err := a.config.Responses.Write(ctx, record)
	if err != nil && !errors.Is(err, store.ErrTakenOver) {
		a.config.Log.LogAttrs(ctx, slog.LevelError, "could not record the end of an idempotent call",
			slog.String("request_id", x.caller.Request), slog.String("execution", strconv.FormatInt(x.caller.Execution.ID, 10)), slog.Any("error", err))
	}
	return !errors.Is(err, store.ErrTakenOver)
}
