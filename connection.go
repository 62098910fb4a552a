package passerelle

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ConnectionState is the reason why a connection cannot be synchronised. The zero value means
// success. The API writes the zero value as null.
type ConnectionState string

// These are the states of a connection. Existing clients know only these codes.
const (
	SCARequired                 ConnectionState = "SCARequired"
	WebauthRequired             ConnectionState = "webauthRequired"
	AdditionalInformationNeeded ConnectionState = "additionalInformationNeeded"
	Decoupled                   ConnectionState = "decoupled"
	Validating                  ConnectionState = "validating"
	ActionNeeded                ConnectionState = "actionNeeded"
	PasswordExpired             ConnectionState = "passwordExpired"
	Wrongpass                   ConnectionState = "wrongpass"
	RateLimiting                ConnectionState = "rateLimiting"
	WebsiteUnavailable          ConnectionState = "websiteUnavailable"
	Bug                         ConnectionState = "bug"
	NotSupported                ConnectionState = "notSupported"
)

// Resolution says who can end a state.
type Resolution int

// These are the resolutions.
const (
	// ByNobody is for success and for a state that ends by itself.
	ByNobody Resolution = iota
	// ByPerson means that usually only the user can end the state.
	ByPerson
	// ByRetry means that a later attempt of the service may end the state.
	ByRetry
)

var connectionStates = map[ConnectionState]Resolution{
	"": ByNobody, Validating: ByNobody,
	SCARequired: ByPerson, WebauthRequired: ByPerson, AdditionalInformationNeeded: ByPerson, Decoupled: ByPerson,
	ActionNeeded: ByPerson, PasswordExpired: ByPerson, NotSupported: ByPerson,
	Wrongpass: ByPerson, RateLimiting: ByRetry, WebsiteUnavailable: ByRetry, Bug: ByRetry,
}

// ConnectionStates lists all states except success, by name.
func ConnectionStates() []ConnectionState {
	all := slices.Sorted(maps.Keys(connectionStates))
	return slices.DeleteFunc(all, func(s ConnectionState) bool { return s == "" })
}

// FailureStates lists the states of connections that fail, by name. A connection that is being read
// does not fail.
func FailureStates() []ConnectionState {
	return slices.DeleteFunc(ConnectionStates(), func(s ConnectionState) bool { return s.Resolution() == ByNobody })
}

// NamedConnector is the UUID of a connector, or its numeric id in decimal, and the field of a request
// that contains it.
type NamedConnector struct{ Field, Name string }

// NamesConnector reports whether a name is the UUID of a connector, or its numeric id in decimal.
// The case of letters does not matter (RFC 9562, section 4): some libraries write UUIDs in capitals.
func NamesConnector(name, uuid string, id int64) bool {
	return strings.EqualFold(name, uuid) || name == strconv.FormatInt(id, 10)
}

// Known reports whether the API has the state.
func (s ConnectionState) Known() bool {
	_, known := connectionStates[s]
	return known
}

// Resolution returns who can end the state. For a wrong password, this is the user. The service
// still retries from time to time, because institutions sometimes refuse a correct password.
func (s ConnectionState) Resolution() Resolution { return connectionStates[s] }

// AuthMechanism is the way in which a user authenticates to an institution.
type AuthMechanism string

// These are the mechanisms: secrets that pass through the service, or a page of the institution.
const (
	ByCredentials AuthMechanism = "credentials"
	ByWebauth     AuthMechanism = "webauth"
)
