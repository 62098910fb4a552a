package passerelle

import "fmt"

// Kind classifies an Error by what the caller can do about it. A Kind is
// itself an error, so errors.Is(err, Invalid) works on any error that wraps
// one.
type Kind string

// The kinds of error a client can meet. Everything else is an internal error.
const (
	// Invalid: the request is wrong, and repeating it does not help.
	Invalid Kind = "invalid"
	// Unauthenticated: no usable token came with the request.
	Unauthenticated Kind = "unauthenticated"
	// Forbidden: the token is known and lacks a scope.
	Forbidden Kind = "forbidden"
	// NotFound: the token reaches nothing of that name.
	NotFound Kind = "not found"
	// Conflict: the request does not fit the present state.
	Conflict Kind = "conflict"
	// TooLarge: the request exceeds a size limit.
	TooLarge Kind = "too large"
	// Unavailable: the request may succeed later, unchanged.
	Unavailable Kind = "unavailable"
)

// Error makes a Kind an error, so that it can be a target of errors.Is.
func (k Kind) Error() string { return string(k) }

// Error is a failure that clients may see. Code is a word of the error-code list
// ("invalidValue", "notFound"). Message is safe to show, and says which field is wrong and what
// would be right. Field is the field as the client wrote it, with a path for nested ones
// ("instructions[0].amount"), and may be empty. The cause is for logs only.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	Field   string
	// RetryAfter is in seconds; zero when waiting does not help.
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

// Unwrap yields the kind and the cause, so errors.Is and errors.As see both.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// InvalidField reports a value that cannot be accepted, as code invalidValue.
// The message begins with the field's name.
func InvalidField(field, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: "invalidValue", Field: field, Message: field + ": " + fmt.Sprintf(format, args...)}
}

// MissingField reports a required field that did not come, as code
// missingParameter.
func MissingField(field, why string) *Error {
	return &Error{Kind: Invalid, Code: "missingParameter", Field: field, Message: field + ": " + why}
}

// Missing reports that no such resource exists within the caller's reach. The text does not
// depend on the reason, so it reveals nothing about the resources of others.
func Missing() *Error {
	return &Error{Kind: NotFound, Code: "notFound", Message: "No such resource."}
}

// Conflicting reports a request that does not fit the present state.
func Conflicting(format string, args ...any) *Error {
	return &Error{Kind: Conflict, Code: "conflict", Message: fmt.Sprintf(format, args...)}
}
