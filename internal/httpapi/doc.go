// Package httpapi is how the JSON interface is spoken, whatever about: it turns
// requests into calls of typed functions and their results into answers.
//
// An endpoint is a function of a context, a Caller and an input struct that
// returns an output or an error; a Route is a row of data that says where it
// answers and who may call it. Every convention of the interface specification
// is written once, in the file of its name: body formats, value-less flags,
// paging, periods, expansions, idempotency, errors, and the OpenAPI document
// that is derived from the same rows.
//
// The package owns no endpoint but the one of that document, no rule of the
// business, no SQL and no listener. It fails
// by answering with the error body of the specification; an error it does not
// know becomes a plain 500 without detail, and its cause goes to the log. A
// route that is declared wrongly panics when the service starts.
package httpapi
