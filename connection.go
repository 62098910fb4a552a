package passerelle

import (
	"maps"
	"slices"
)

// ConnectionState is the reason why a connection cannot be synchronised. The zero value is
// success, null on the wire.
type ConnectionState string

// The states of a connection. These are the codes of the API family; old programs know no
// others.
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

// Resolution is who can end a state.
type Resolution int

// The resolutions.
const (
	// ByNobody is success, or a state that ends by itself.
	ByNobody Resolution = iota
	// ByPerson needs the person: unattended reads do not help.
	ByPerson
	// ByRetry needs nobody: a later attempt of the service may end the state.
	ByRetry
)

var connectionStates = map[ConnectionState]Resolution{
	"": ByNobody, Validating: ByNobody,
	SCARequired: ByPerson, WebauthRequired: ByPerson, AdditionalInformationNeeded: ByPerson, Decoupled: ByPerson,
	ActionNeeded: ByPerson, PasswordExpired: ByPerson, NotSupported: ByPerson,
	Wrongpass: ByPerson, RateLimiting: ByRetry, WebsiteUnavailable: ByRetry, Bug: ByRetry,
}

// ConnectionStates lists the states that keep a connection from being read, by
// name.
func ConnectionStates() []ConnectionState {
	all := slices.Sorted(maps.Keys(connectionStates))
	return slices.DeleteFunc(all, func(s ConnectionState) bool { return s == "" })
}

// Known reports whether the state is in the interface.
func (s ConnectionState) Known() bool {
	_, known := connectionStates[s]
	return known
}

// Resolution returns who can end the state. The person resolves a wrong password. The service
// still tries again now and then, because institutions err as well.
func (s ConnectionState) Resolution() Resolution { return connectionStates[s] }

// AuthMechanism is how a person proves to an institution who they are.
type AuthMechanism string

// The mechanisms: secrets that pass through the service, or a page of the
// institution's.
const (
	ByCredentials AuthMechanism = "credentials"
	ByWebauth     AuthMechanism = "webauth"
)
