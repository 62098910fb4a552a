// Package api is the JSON API: each endpoint is a row with its pattern and scopes, and a typed
// function that calls the use cases or reads the database.
//
// It owns the names and types of request fields, and the form of answers that contain no
// resource of package wire. It does not own the conventions that all calls share (package
// httpapi owns them) nor any business rule. Errors of the caller are *passerelle.Error, which
// name the field. Other errors are passed on.
package api
