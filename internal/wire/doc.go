// Package wire is the form in which resources leave the service: the JSON objects of the API,
// field by field, with masked fields for callers without the right to see them.
//
// It owns names, order and null-ness of answered fields. It does not own what
// the values mean, and it reads no requests. It is pure and cannot fail: every
// value it is given has been checked before it was stored.
package wire
