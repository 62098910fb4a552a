// Package wire has the form in which resources leave the service: the JSON objects of the API,
// field by field, with masked fields for callers without the right to see them.
//
// It owns the names and the order of answered fields, and which of them can be null. It does not
// own the meaning of the values, and it reads no requests. It is pure and cannot fail: every
// value it is given has been checked before it was stored.
package wire
