package passerelle

import "fmt"

// Kind classifies an Error by the caller's possible reactions. A Kind is itself an error, so
// errors.Is(err, Invalid) works on any error that wraps a Kind.
type Kind string

// These are the kinds of error that a client can get. Every other error is internal.
const (
	// Invalid means that the request is wrong, so a repetition does not help.
	Invalid Kind = "invalid"
	// Unauthenticated means that the request has no valid token, code or secret.
	Unauthenticated Kind = "unauthenticated"
	// Forbidden means that the caller is known but may not do this, for example because the token
	// lacks a scope.
	Forbidden Kind = "forbidden"
	// NotFound means that the caller has access to no such object.
	NotFound Kind = "not found"
	// Conflict means that the request does not fit the present state.
	Conflict Kind = "conflict"
	// TooLarge means that the request exceeds a size limit.
	TooLarge Kind = "too large"
	// Unavailable means that the same request may succeed later.
	Unavailable Kind = "unavailable"
)

// Error makes a Kind an error, so that it can be a target of errors.Is.
func (k Kind) Error() string { return string(k) }

// Error is an error that clients may see. Code is an error code of the API ("invalidValue",
// "notFound"). Message is safe to show to clients. Field is the field in the client's spelling,
// with a path for nested fields ("instructions[0].amount"), and may be empty. Cause is only for
// logs.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	Field   string
	// RetryAfter is in seconds. Zero means that no delay is known.
	RetryAfter int
	Cause      error
}

// Error returns the full text with its cause, for logs only.
func (e *Error) Error() string {
	text := e.Code + ": " + e.Message
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the kind and the cause, so errors.Is and errors.As see both.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// InvalidField returns an error about an invalid value, with code invalidValue. The message begins
// with the field's name.
func InvalidField(field, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: "invalidValue", Field: field, Message: field + ": " + fmt.Sprintf(format, args...)}
}

// MissingField returns an error about an absent required field, with code missingParameter.
func MissingField(field, why string) *Error {
	return &Error{Kind: Invalid, Code: "missingParameter", Field: field, Message: field + ": " + why}
}

// Missing returns an error which says that the caller has access to no such resource. The text does
// not depend on the reason, so it reveals nothing about other owners' resources.
func Missing() *Error {
	return &Error{Kind: NotFound, Code: "notFound", Message: "No such resource."}
}

// Conflicting returns an error about a request that does not fit the present state.
func Conflicting(format string, args ...any) *Error {
	return &Error{Kind: Conflict, Code: "conflict", Message: fmt.Sprintf(format, args...)}
}
