package passerelle

import "time"

// Platform is how a user came to be, a word of the interface.
type Platform string

// SharedAccess is the platform of users that applications create, the only
// ones there are; programs of this API family know others.
const SharedAccess Platform = "sharedAccess"

// User is an end user of a domain: whoever owns connections. One that an
// application vouches for with its credentials is permanent; any other is
// temporary and, unless an application takes it over, gone when it expires.
type User struct {
	ID       UserID
	Domain   DomainID
	Platform Platform
	// Created and Permanent are instants of the domain's time; Permanent is nil
	// as long as the user is temporary.
	Created   time.Time
	Permanent *time.Time
	// Expires is when a temporary user ends, in real time like everything that
	// credentials depend on; nil for a permanent one.
	Expires *time.Time
	// Version counts the events about the user, which are delivered in its
	// order.
	Version int64
}
