// Package api is the JSON API. Each endpoint is a row that has a pattern, scopes and a typed
// function. The function calls the use cases or reads the database.
//
// The package owns the names and types of request fields, and of the responses that package wire
// does not define. It does not own the conventions that all calls share (package httpapi) or the
// business rules (the use cases). An error that the caller caused is a *passerelle.Error, which
// names the field if there is one. Endpoints wrap other errors.
package api
