// Package httpapi has the conventions of the JSON interface for every subject: it turns requests
// into calls of typed functions and their results into answers.
//
// An endpoint is a function with a context, a Caller and an input struct. It returns an output
// or an error. A Route is a row of data with its pattern and who may call it. Every convention
// of the interface specification is written once, in the file with its name: body formats,
// value-less flags, paging, periods, expansions, idempotency, errors, and the OpenAPI document
// from the same rows.
//
// The package owns no endpoint except that document's, no business rule, no SQL and no
// listener. It fails by answering with the error body of the specification. An unknown error
// becomes a 500 without detail, and the log has its cause. A route that is declared wrongly
// panics when the service starts.
package httpapi
