package store

import (
	"errors"

	"passerelle"
	"passerelle/internal/database"
)

// These are errors that callers can distinguish.
var (
	// ErrNotFound reports that a row does not exist.
	ErrNotFound = database.ErrNotFound
	// ErrConflict reports that a row is not in the state that a write expects. For example, the row
	// has changed since it was read.
	ErrConflict = database.ErrConflict
	// ErrDuplicate reports the violation of a unique constraint.
	ErrDuplicate = database.ErrDuplicate
	// ErrConstraint reports that the schema refuses a row.
	ErrConstraint = database.ErrConstraint
	// ErrUnknown reports that the service cannot tell whether the unit was written.
	ErrUnknown = database.ErrUnknown
	// ErrUnread reports that the unit was written, but that the rows it returned were lost.
	ErrUnread = database.ErrUnread
	// ErrRepeated reports that an earlier unit has created the object of the same form.
	ErrRepeated = errors.New("the form was sent before")
	// ErrTakenOver reports that an execution does not own its idempotency key. Another execution has
	// taken over the key, or a response is stored already.
	ErrTakenOver = errors.New("the execution does not own its idempotency key")
	// ErrClosed reports a write after Close. On SQLite, it also reports a query after Close.
	ErrClosed = database.ErrClosed
	// ErrInUse reports that another server already uses the database.
	ErrInUse = database.ErrInUse
	// ErrNoClient reports that the client of a new token does not exist or is deleted, or that the
	// payment of the token has ended. Clients get the same error as for a token of a deleted client.
	ErrNoClient error = &passerelle.Error{Kind: passerelle.Unauthenticated, Code: "invalidToken", Message: "The application no longer exists."}
	// ErrManyLines reports that the payments of a page have more instructions together than
	// maxPageLines. Clients get this error as it is.
	ErrManyLines error = passerelle.InvalidField("limit", "the page and the payment after it have more than %d instructions; ask for at most %d payments at once", maxPageLines, fewEnough)
	// ErrWanted reports that a webhook is subscribed to an event that was emitted as Unwanted.
	ErrWanted = errors.New("a webhook has subscribed to the event in the meantime")
)
