// Package api is the JSON API: each endpoint is a row with its pattern and scopes, and a typed
// function that calls the use cases or reads the database.
//
// It owns the names and types of what requests carry, and the form of answers that show no
// resource of package wire. It does not own the conventions that all calls share (package
// httpapi has them) nor any rule of the business. It fails with *passerelle.Error, which names
// the field, where the caller is at fault. Other errors are passed on.
package api
