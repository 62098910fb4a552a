// Package api is the JSON API. Each endpoint is a row with its pattern and scopes, and a typed
// function that calls the use cases or reads the database.
//
// It owns the names and types of request fields, and the form of answers that contain no resource
// of package wire. It does not own the conventions that all calls share (package httpapi owns them)
// nor any business rule. Errors that the caller caused are *passerelle.Error and name the field.
// Other errors are returned unchanged.
package api
