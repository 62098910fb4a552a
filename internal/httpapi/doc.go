// Package httpapi implements the conventions of the JSON API for all endpoints. It converts
// requests to calls of typed functions, and their results to responses.
//
// An endpoint is a function with a context, a Caller and an input struct. It returns an output or
// an error. A Route is a row of data with a pattern and the callers that the endpoint permits. Each
// convention of the interface specification has one implementation: body formats, flags without a
// value, paging, periods, expansions, idempotency and errors. The OpenAPI document comes from the
// same rows.
//
// The package owns the endpoint for the OpenAPI document, and no other endpoint. It owns no
// business rules, no SQL and no listener. The response to an error has the error body of the
// specification. An unknown error becomes a 500 without details, and the log contains its cause. A
// wrongly declared route panics when the service starts.
package httpapi
