package passerelle

import (
	"maps"
	"slices"
)

// ConnectionState says what keeps a connection from being synchronised. The
// zero value is success, null on the wire.
type ConnectionState string

// The states of a connection (the family's codes; old programs know no others).
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

// Resolution is who can bring a connection out of a state.
type Resolution int

// The resolutions.
const (
	// ByNobody is success, or a state that ends by itself.
	ByNobody Resolution = iota
	// ByPerson needs the person: unattended reads are of no use.
	ByPerson
	// ByRetry is tried again without anybody.
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

// Known reports whether the state is one of the interface.
func (s ConnectionState) Known() bool {
	_, known := connectionStates[s]
	return known
}

// Resolution says who can end the state. A wrong password is the person's,
// although it is tried again now and then, because institutions err as well.
func (s ConnectionState) Resolution() Resolution { return connectionStates[s] }

// AuthMechanism is how a person proves to an institution who they are.
type AuthMechanism string

// The mechanisms: secrets that pass through the service, or a page of the
// institution's.
const (
	ByCredentials AuthMechanism = "credentials"
	ByWebauth     AuthMechanism = "webauth"
)
