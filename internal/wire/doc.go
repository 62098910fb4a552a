// Package wire defines the JSON objects of the API, field by field. It leaves out fields that the
// caller may not see.
//
// The package owns the names and the order of the fields in responses, and it decides which fields
// can be null. It does not own the meaning of the values, and it reads no requests. Rendering
// cannot fail, because the service stores only checked values. A Payload, which writes the body of
// an event, fails when its writer or one of its lists fails.
package wire
