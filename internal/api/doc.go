// Package api is the JSON interface: every endpoint as a row that says where it
// answers and who may call it, and as a typed function that calls the use cases
// or reads the database.
//
// It owns the names and types of what requests carry, and the form of answers
// that show no resource of package wire. It does not own the conventions that all
// calls share (package httpapi has them) nor any rule of the business. It fails
// with *passerelle.Error where the caller is at fault, on the field at fault;
// whatever else fails is passed on as it is.
package api
