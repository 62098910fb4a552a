// Package api is the JSON API. Each endpoint is a row that has a pattern, scopes and a typed
// function. The function calls the use cases or reads the database.
//
// The package owns the names and types of request fields, and the form of answers without a
// resource of package wire. Package httpapi owns the conventions that all calls share. The use
// cases own the business rules. An error that the caller caused is a *passerelle.Error that names
// the field. Other errors are returned unchanged.
package api
