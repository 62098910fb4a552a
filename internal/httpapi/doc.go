// Package httpapi implements the conventions of the JSON API for all endpoints. It turns requests
// into calls of typed functions, and their results into answers.
//
// An endpoint is a function with a context, a Caller and an input struct. It returns an output or
// an error. A Route is a row of data with its pattern and the callers that it permits. Every
// convention of the interface specification is written once, in a file with its name: body formats,
// flags without a value, paging, periods, expansions, idempotency and errors. The OpenAPI document
// is made from the same rows.
//
// The package owns no endpoint except the one for that document, no business rule, no SQL and no
// listener. Errors are answered with the error body of the specification. An unknown error becomes
// a 500 without details, and its cause is logged. A wrongly declared route panics when the service
// starts.
package httpapi
